"""Enhanced graphs from trees: candidate arcs from paths in the tree, labels from templates, a classifier of both.

A path is the labels of the arcs between the ends of an enhanced arc, ``^`` up and ``v`` down, as in ``^conj ^obl``.  A
template builds a label from texts, joined by colons: ``0.deprel 0.case.all 0.Case`` is the label of word 0 of the path,
the lemmas of its words with the label ``case``, and its case.  Words are 0 for the lower end of the arc, and so on to
the upper one; ``r`` for a relative word below the upper end, and ``n`` for the next conjunct with a conjunction;
``=text`` is a text itself.  A linear classifier scores the label that each template makes.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.columns import FEATS, FORM, LEMMA, UPOS
from nonproj.io.graphs import Graph, connected
from nonproj.io.strings import SCRIPT, check_strings
from nonproj.linear.hashing import hash_texts, hash_words
from nonproj.linear.state import Fitted, Schema, State
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.linear.weights import check_table
from nonproj.types import Int32s, Sentence

LONGEST = 4
"""Maximum number of steps of a path."""

NEAREST = 16
"""Maximum number of a node's children considered on each side of a word, which makes time linear in length."""

MARKERS = ("case", "mark", "cc")
"""Labels of words whose lemmas may be in labels of enhanced arcs."""

_PATH = re.compile(rf"([\^v]\S+)( [\^v]\S+){{0,{LONGEST - 1}}}")
_LABEL_TEMPLATE = re.compile(r"(=[^\s|]+|[0-4rn]\.\S+)( (=[^\s|]+|[0-4rn]\.\S+))*")

N_CONTEXTS = 43
_ATTRIBUTES = [*(f"c{number}" for number in range(N_CONTEXTS)), "path", "template", "label"]
_GRAMMAR = Grammar("graphs", ("a",), _ATTRIBUTES, (0, 0))
_FEATURES = (("path", N_CONTEXTS), ("template", 30), ("label", 12))
"""Second attribute of a feature and the number of first contexts paired with it; ``path`` is path and template."""

_TEMPLATES = [f"a.c{number} a.{name}" for name, count in _FEATURES for number in range(count)]
_WINDOW = window_of(compile_templates(_TEMPLATES, _GRAMMAR), _GRAMMAR)


class TreeWords:
    """The words of a sentence and its tree; node 0 is the root, and all lists have an entry for it.

    Parameters
    ----------
    rows : sequence of sequence of str
        The columns of each word.
    heads : sequence of int
        The head of each word.
    labels : sequence of str
        The label of each word's arc.
    relative : collection of str
        The lemmas of relative words.
    """

    def __init__(
        self, rows: Sequence[Sequence[str]], heads: Sequence[int], labels: Sequence[str], relative: Collection[str] = ()
    ):
        self.heads, self.labels = [-1, *heads], ["", *labels]
        self.children = [list[int]() for _ in self.heads]
        for word, head in enumerate(heads, 1):
            self.children[head].append(word)
        self.forms = ["", *(row[FORM].lower() for row in rows)]
        self.lemmas = ["", *(row[FORM if row[LEMMA] == "_" else LEMMA].lower() for row in rows)]
        self.tags, self.feats = ["", *(row[UPOS] for row in rows)], ["", *(row[FEATS] for row in rows)]
        self.below = ["+".join(sorted({self.labels[child] for child in own})) for own in self.children]
        self._relative, self._texts = relative, dict[int, dict[str, str]]()

    def texts(self, word: int) -> dict[str, str]:
        """Return the texts of a word from which labels are built, by name."""
        if word not in self._texts:
            found = {"deprel": self.labels[word], "udeprel": self.labels[word].partition(":")[0]}
            for marker in MARKERS:
                if own := [child for child in self.children[word] if self.labels[child] == marker]:
                    lemmas = [self._fixed(child, self.lemmas) for child in own]
                    texts = {"last": lemmas[-1], "first": lemmas[0], "all": "_".join(lemmas)}
                    texts["form"] = self._fixed(own[0], self.forms)
                    found |= {f"{marker}.{name}": text for name, text in texts.items() if _is_of_letters(text)}
            items = (item.partition("=") for item in self.feats[word].split("|"))
            self._texts[word] = found | {name: value.lower() for name, _, value in items if _is_of_letters(value)}
        return self._texts[word]

    def _fixed(self, word: int, texts: Sequence[str]) -> str:
        """Return the text of a word, joined with those of its modifiers with the label ``fixed``."""
        more = [child for child in self.children[word] if self.labels[child] == "fixed"]
        return "_".join(texts[each] for each in (word, *more))

    def near(self, node: int, word: int) -> Sequence[int]:
        """Return the children of a node, at most the `NEAREST` ones on each side of a word."""
        children = self.children[node]
        if len(children) <= 2 * NEAREST:
            return children
        place = bisect_left(children, word)
        return children[max(0, place - NEAREST) : place + NEAREST]

    def named(self, nodes: Sequence[int]) -> dict[str, int]:
        """Return the words that templates can name, given a path's nodes: these by place, and ``r`` and ``n``."""
        down, up = nodes[0], nodes[-1]
        inner = [*self.near(up, down), *(low for child in self.near(up, down) for low in self.near(child, down))]
        relative = (word for word in inner if up and word not in nodes and self.lemmas[word] in self._relative)
        beside = (word for word in self.near(self.heads[down], down) if self.labels[word] == self.labels[down])
        following = (word for word in beside if word > down and "cc" in self.below[word].split("+"))
        found = {str(place): node for place, node in enumerate(nodes)} | {
            "r": next(relative, 0),
            "n": next(following, 0),
        }
        return {name: word for name, word in found.items() if word}

    def walk(self, trie: Mapping[str, Any], word: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield each path from a word that is in a trie, and its nodes."""
        waiting: list[tuple[Mapping[str, Any] | None, tuple[int, ...], bool]] = [(trie, (word,), False)]
        while waiting:
            own, nodes, is_down = waiting.pop()
            if own and "" in own:
                yield own[""], nodes
            if own and (last := nodes[-1]):  # no path goes through the root
                lower = [child for child in self.near(last, word) if child not in nodes]
                waiting += [(own.get(f"v{self.labels[child]}"), (*nodes, child), True) for child in lower]
                if not is_down:
                    waiting.append((own.get(f"^{self.labels[last]}"), (*nodes, self.heads[last]), False))

    def contexts(self, nodes: Sequence[int], named: Mapping[str, int]) -> list[str]:
        """Return the `N_CONTEXTS` texts for the features of an arc, given its path, general ones first."""
        down, up, middle, other = nodes[0], nodes[-1], nodes[1] if len(nodes) > 2 else 0, named.get("r", 0)
        order = "".join("<" if first < second else ">" for first, second in zip(nodes, nodes[1:], strict=False))
        label, above = self.texts(down)["udeprel"], max(self.heads[up], 0)
        rivals = [each for each in self.near(up, down) if each != down and self.texts(each)["udeprel"] == label]
        sides = f"{any(each < up for each in rivals)} {any(each > up for each in rivals)} {order}"
        columns = self.tags, self.lemmas, self.feats, self.below
        return [
            *("", order, sides, str(min(abs(down - up), 10))),
            *(own[node] for node in (down, up, middle) for own in columns),
            *(f"{own[down]} {own[node]}" for node in (up, middle) for own in columns),
            *(self.texts(word).get(f"{marker}.all", "") for word in (down, middle, up) for marker in MARKERS),
            *(order + self.labels[up], f"{order} {self.tags[down]} {self.tags[up]}", order + self.below[up]),
            *(f"{len(rivals)} {order}", " ".join(self.tags[node] for node in nodes), self.forms[down]),
            *(self.labels[above], self.lemmas[above], self.lemmas[other] + self.labels[other]),
            self.lemmas[other] + self.feats[other],
        ]


def _is_of_letters(text: str) -> bool:
    """Return whether a text may be part of a label: words of letters, separated by ``_``."""
    return all(part and all(unicodedata.category(each)[0] in "LM" for each in part) for part in text.split("_"))


class Candidate(NamedTuple):
    """A possible arc of an enhanced graph.

    Attributes
    ----------
    nodes : tuple of int
        Nodes of the path, from the lower end.
    path : str
    named : dict of str to int
        See `TreeWords.named`.
    labels : dict of str to str
        The labels that templates make, by template.
    """

    nodes: tuple[int, ...]
    path: str
    named: dict[str, int]
    labels: dict[str, str]


def fill(words: TreeWords, named: Mapping[str, int], template: str) -> str | None:
    """Return the label that a template makes; None if a text is missing.

    Examples
    --------
    >>> words = TreeWords([["", "in", "in", *"____"], ["", "Rome", *"_____"]], [2, 0], ["case", "obl"])
    >>> fill(words, {"0": 2}, "0.deprel 0.case.all"), fill(words, {"0": 2}, "0.deprel 0.Case")
    ('obl:in', None)
    """
    found = []
    for source in template.split(" "):
        name, _, text = source.partition(".")
        value = source[1:] if source[0] == "=" else words.texts(named[name]).get(text) if name in named else None
        if value is None:
            return None
        found.append(value)
    return ":".join(found)


@dataclass(frozen=True, eq=False)
class GraphModel(Fitted):
    """A model of enhanced graphs, given trees.

    Attributes
    ----------
    paths : dict of str to list of str
        The templates of each path.
    plain : list of str
        Labels whose tree arcs are in the graph unchanged.
    relative : list of str
        The lemmas of relative words.
    weights : ndarray, int16
        The weights of the classifier, their number a power of two.
    """

    name: ClassVar[str] = "graphs"
    schema: ClassVar[Schema] = Schema({"paths": dict, "plain": list, "relative": list}, {"weights": ("int16", 1)})
    paths: dict[str, list[str]]
    plain: list[str]
    relative: list[str]
    weights: np.ndarray

    @cached_property
    def _trie(self) -> dict[str, Any]:
        """The paths as a trie of steps, each path under an empty step."""
        root: dict[str, Any] = {}
        for path in self.paths:
            own = root
            for step in path.split(" "):
                own = own.setdefault(step, {})
            own[""] = path
        return root

    def candidates(self, words: TreeWords) -> Iterator[Candidate]:
        """Yield the possible arcs of a sentence for which a template makes a label, ordered by their lower ends."""
        for word in range(1, len(words.forms)):
            for path, nodes in words.walk(self._trie, word):
                named = words.named(nodes)
                labels = {template: fill(words, named, template) for template in self.paths[path]}
                if own := {template: label for template, label in labels.items() if label}:
                    yield Candidate(nodes, path, named, own)

    def graph(self, sentence: Sentence, heads: Sequence[int], labels: Sequence[str]) -> Graph:
        """Return the graph of a sentence, given the heads and the labels of its tree."""
        words, names = TreeWords(sentence.rows, heads, labels, self.relative), list(labels)
        graph = [[pair] if pair[1] in self.plain else [] for pair in zip(heads, labels, strict=True)]
        candidates = list(self.candidates(words))
        places = features(((words, own) for own in candidates), self.weights)
        scores = iter(self.weights[places].sum(axis=1, dtype=np.int64).tolist())
        for own in candidates:
            word, head = own.nodes[0], own.nodes[-1]
            score, label = max(((next(scores), label) for label in own.labels.values()), key=lambda pair: pair[0])
            if score > 0:
                graph[word - 1].append((head, label))
            if head == heads[word - 1]:
                names[word - 1] = label
        return connected([sorted(arcs) for arcs in graph], heads, names)

    def state(self) -> State:
        """Return the state from which `from_state` restores the model."""
        return {"paths": self.paths, "plain": self.plain, "relative": self.relative}, {"weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> GraphModel:
        """Return the model of a state; raise `ModelError` if it is invalid."""
        owner = f"the component '{cls.name}'"
        for texts in (list(values["paths"]), values["plain"], values["relative"], *values["paths"].values()):
            check_strings(texts, SCRIPT, owner)
        for path, templates in values["paths"].items():
            if not _PATH.fullmatch(path) or not all(map(_LABEL_TEMPLATE.fullmatch, templates)):
                raise ModelError(f"{owner} has a path {path[:40]!r}, or a template of it, that is none")
        return cls(**values, weights=check_table(arrays["weights"], ("int16",), 8, owner, 28))


def features(candidates: Iterable[tuple[TreeWords, Candidate]], weights: np.ndarray) -> Int32s:
    """Return the places, in a table of weights, of the features of each label of candidates, int32[m, F]."""
    contexts, keys, numbers = list[str](), list[str](), list[int]()
    for number, (words, (nodes, path, named, labels)) in enumerate(candidates):
        contexts += words.contexts(nodes, named)
        for template, label in labels.items():
            keys += [f"{path} {template}", template, label]
            numbers.append(number)
    atoms = hash_texts(contexts).reshape(-1, N_CONTEXTS)[numbers], hash_texts(keys).reshape(-1, len(_FEATURES))
    places, shift = np.empty((len(numbers), len(_TEMPLATES)), np.int32), np.uint32(33 - len(weights).bit_length())
    hash_words(_WINDOW, np.concatenate(atoms, axis=1).reshape(-1), len(_ATTRIBUTES), shift, places)
    return places
