"""Enhanced graphs from trees: candidate arcs by their paths in the tree, labels by templates, and their scores.

A path is the labels of the arcs between the ends of an enhanced arc, ``^`` up and ``v`` down, as in ``^conj ^obl``.  A
template makes a label of texts, joined by colons: ``0.deprel 0.case.all 0.Case`` is the label of word 0 of the path,
the lemmas of its words with the label ``case``, and its case.  Words are 0 for the lower end of the arc, and so on to
the upper one; ``r`` for a relative word below the upper end, and ``n`` for the next conjunct with a conjunction;
``=text`` is a text itself.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.columns import FEATS, FORM, LEMMA, UPOS
from nonproj.io.graphs import Graph, connected
from nonproj.io.strings import SCRIPT, check_strings
from nonproj.linear.hashing import coefficient, hash_texts
from nonproj.linear.state import Fitted, Schema, State
from nonproj.linear.weights import check_table
from nonproj.types import Bools, Int32s, Int64s, Sentence

LONGEST = 4
"""Maximum number of steps of a path."""

UNIT = 1 << 16
"""Unit of log-odds."""

MARKERS = ("case", "mark", "cc")
"""Labels of words whose lemmas labels may have."""

_PATH = re.compile(rf"(\^\S+)( \^\S+){{0,{LONGEST - 1}}}( v\S+){{0,{LONGEST - 1}}}|v\S+( v\S+){{0,{LONGEST - 1}}}")
_SOURCE = re.compile(r"=\S+|[0-4rn]\.\S+")


def _is_of_letters(text: str) -> bool:
    """Return whether a text may be part of a label: words of letters, separated by ``_``."""
    return all(part and all(unicodedata.category(each)[0] in "LM" for each in part) for part in text.split("_"))


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
        self.lemmas = ["", *((row[FORM if row[LEMMA] == "_" else LEMMA]).lower() for row in rows)]
        self.tags, self.feats = ["", *(row[UPOS] for row in rows)], ["", *(row[FEATS] for row in rows)]
        self.below = ["+".join(sorted({self.labels[child] for child in own})) for own in self.children]
        self._relative, self._texts = relative, dict[int, dict[str, str]]()

    def texts(self, word: int) -> dict[str, str]:
        """Return the texts of a word of which labels are made, by name."""
        if word not in self._texts:
            found = {"deprel": self.labels[word], "udeprel": self.labels[word].partition(":")[0]}
            for marker in MARKERS:
                if own := [child for child in self.children[word] if self.labels[child] == marker]:
                    lemmas = [self._fixed(child, self.lemmas) for child in own]
                    texts = {"last": lemmas[-1], "first": lemmas[0], "all": "_".join(lemmas)}
                    texts["form"] = self._fixed(own[0], self.forms)
                    found |= {f"{marker}.{name}": text for name, text in texts.items() if _is_of_letters(text)}
            items = (item.partition("=") for item in self.feats[word].split("|"))
            found |= {name: value.lower() for name, _, value in items if value}
            self._texts[word] = found
        return self._texts[word]

    def _fixed(self, word: int, texts: Sequence[str]) -> str:
        """Return the text of a word with those of its words with the label fixed."""
        more = [child for child in self.children[word] if self.labels[child] == "fixed"]
        return "_".join(texts[each] for each in (word, *more))

    def named(self, nodes: Sequence[int]) -> dict[str, int]:
        """Return the words that templates name, given the nodes of a path."""
        down, up = nodes[0], nodes[-1]
        found = {str(place): node for place, node in enumerate(nodes) if node}
        inner = [*self.children[up], *(low for child in self.children[up] for low in self.children[child])]
        relative = (word for word in inner if word not in nodes and self.lemmas[word] in self._relative)
        beside = (word for word in self.children[self.heads[down]] if self.labels[word] == self.labels[down])
        following = (word for word in beside if word > down and "cc" in self.below[word].split("+"))
        found |= {"r": next(relative, 0) if up else 0, "n": next(following, 0)}
        return {name: word for name, word in found.items() if word}

    def walk(self, trie: Mapping[str, Any], word: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the numbers of the paths from a word that are in a trie, and the nodes of each."""
        waiting: list[tuple[Mapping[str, Any], tuple[int, ...], bool]] = [(trie, (word,), False)]
        while waiting:
            own, nodes, is_down = waiting.pop()
            last = nodes[-1]
            if "" in own:
                yield own[""], nodes
            if not last:  # no path goes through the root
                continue
            if not is_down and (found := own.get(f"^{self.labels[last]}")):
                waiting.append((found, (*nodes, self.heads[last]), False))
            steps = [(own.get(f"v{self.labels[child]}"), child) for child in self.children[last] if child not in nodes]
            waiting += [(found, (*nodes, child), True) for found, child in steps if found]

    def contexts(self, nodes: Sequence[int], named: Mapping[str, int]) -> list[str]:
        """Return what the features of an arc are made of, as `N_CONTEXTS` texts, the most general ones first."""
        down, up, middle, other = nodes[0], nodes[-1], nodes[1] if len(nodes) > 2 else 0, named.get("r", 0)
        lemmas, tags, feats, below, labels = self.lemmas, self.tags, self.feats, self.below, self.labels
        order = "".join("<" if first < second else ">" for first, second in zip(nodes, nodes[1:], strict=False))
        label, above = labels[down].partition(":")[0], self.heads[up] if up else 0
        rivals = [each for each in self.children[up] if each != down and labels[each].partition(":")[0] == label]
        sides = f"{any(each < up for each in rivals)} {any(each > up for each in rivals)} {order}"
        own, high = self.texts(down), self.texts(up)
        return [
            *("", tags[down], tags[up], f"{tags[down]} {tags[up]}", lemmas[down], lemmas[up]),
            *(f"{lemmas[down]} {lemmas[up]}", feats[down], feats[up], order, str(min(abs(down - up), 10)), below[down]),
            *(below[up], below[middle], lemmas[middle], tags[middle] + feats[middle], f"{lemmas[middle]} {tags[down]}"),
            *(f"{order} {tags[down]} {tags[up]}", f"{len(rivals)} {order}", sides, labels[up], order + labels[up]),
            *(f"{lemmas[other]} {labels[other]}", lemmas[other] + feats[other], labels[other] + tags[down]),
            " ".join(tags[node] for node in nodes),
            *(self.texts(word).get(f"{marker}.all", "") for word in (down, middle, up) for marker in MARKERS),
            *(self.forms[down], tags[down] + order + below[up], tags[down] + feats[up], high.get("VerbForm", "")),
            *(
                high.get("Voice", ""),
                own.get("Case", "") + order,
                labels[above],
                lemmas[above],
                own.get("PronType", ""),
            ),
            *(feats[down] + feats[up], lemmas[up] + below[up], lemmas[middle] + below[middle]),
        ]


N_CONTEXTS = 47
_SHARES = ((N_CONTEXTS, 0), (30, 1), (12, 2))
"""Features: how many of the contexts go with the path and the template, the template, and the label itself."""

_FACTORS = np.array([[coefficient(f"graphs {a} {b}") for b in range(N_CONTEXTS)] for a in range(4)], np.uint64)


class Candidate(NamedTuple):
    """A possible arc, and its labels.

    Attributes
    ----------
    nodes : tuple of int
        Those of the path, from the lower end.
    path : int
        The path's number.
    labels : list of str or None
        The label that each template of the path makes; None where a text is missing.
    named : dict of str to int
        See `TreeWords.named`.
    """

    nodes: tuple[int, ...]
    path: int
    labels: list[str | None]
    named: dict[str, int]


@dataclass(frozen=True, eq=False)
class Inventory:
    """Paths of enhanced arcs, templates of their labels, and lemmas of relative words.

    Attributes
    ----------
    paths : list of str
    templates : list of list of str
        Of each path.
    relative : list of str
    """

    paths: list[str]
    templates: list[list[str]]
    relative: list[str]

    @property
    def starts(self) -> Int64s:
        """Where the templates of each path begin among those of all, and the end."""
        return np.cumsum([0, *map(len, self.templates)])

    @cached_property
    def _trie(self) -> dict[str, Any]:
        """The paths as a trie of steps, with the number of each path under an empty step."""
        root: dict[str, Any] = {}
        for number, path in enumerate(self.paths):
            own = root
            for step in path.split(" "):
                own = own.setdefault(step, {})
            own[""] = number
        return root

    def candidates(self, words: TreeWords) -> Iterator[Candidate]:
        """Yield the possible arcs of a sentence, ordered by their lower ends."""
        for word in range(1, len(words.forms)):
            for path, nodes in words.walk(self._trie, word):
                named = words.named(nodes)
                yield Candidate(nodes, path, [fill(words, named, each) for each in self.templates[path]], named)


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
    inventory : Inventory
    odds : ndarray of shape (n_templates,), int32
        How often each template of a path makes the right label, as log-odds times `UNIT`.
    is_sure : ndarray of shape (n_paths,), bool
        Whether the classifier does not score a path, because its templates are always right.
    weights : ndarray, int16, or None
        Those of the classifier; None if the odds decide.
    """

    name: ClassVar[str] = "graphs"
    schema: ClassVar[Schema] = Schema(
        {"paths": list, "templates": list, "relative": list},
        {"count": ("int32", 1), "odds": ("int32", 1), "is_sure": ("uint8", 1)},
        [Schema({}, {"weights": ("int16", 1)})],
    )
    inventory: Inventory
    odds: Int32s
    is_sure: Bools
    weights: np.ndarray | None = None

    def graphs(
        self, sentences: Sequence[Sentence], heads: Sequence[Sequence[int]], labels: Sequence[Sequence[str]]
    ) -> list[Graph]:
        """Return the graphs of sentences, given the heads and the labels of their trees."""
        relative, found = frozenset(self.inventory.relative), list[Graph]()
        own = zip(sentences, heads, labels, strict=True)
        trees = [TreeWords(sentence.rows, tree, names, relative) for sentence, tree, names in own]
        listed = [list(self.inventory.candidates(words)) for words in trees]
        scores = iter(self._scores(trees, listed))
        for words, candidates in zip(trees, listed, strict=True):
            graph: Graph = [[] for _ in words.forms[1:]]
            names = words.labels[1:]
            for candidate in candidates:
                pairs = [(s, label) for s, label in zip(next(scores), candidate.labels, strict=True) if label]
                score, label = max(pairs, key=lambda pair: pair[0], default=(0, ""))
                word, head = candidate.nodes[0], candidate.nodes[-1]
                if score > 0:
                    graph[word - 1].append((head, label))
                if head == words.heads[word] and label:
                    names[word - 1] = label
            found.append(connected([sorted(arcs) for arcs in graph], words.heads[1:], names))
        return found

    def _scores(self, trees: Sequence[TreeWords], listed: Sequence[Sequence[Candidate]]) -> Iterator[Sequence[int]]:
        """Yield the scores of the labels of each candidate; those above 0 are more probable than not."""
        starts, flat = self.inventory.starts, [own for each in listed for own in each]
        if self.weights is None:
            yield from (self.odds[starts[own.path] : starts[own.path + 1]].tolist() for own in flat)
            return
        features = Features(self.inventory, self.is_sure, len(self.weights))
        for words, each in zip(trees, listed, strict=True):
            features.add(words, each)
        sums = iter(self.weights[features.places()].sum(axis=1, dtype=np.int64).tolist())
        for own in flat:
            if self.is_sure[own.path]:
                yield [1] * len(own.labels)
            else:
                yield [next(sums) if label else 0 for label in own.labels]

    def state(self) -> State:
        """Return the state from which `from_state` restores it."""
        own = self.inventory
        values = {"paths": own.paths, "templates": [*itertools.chain(*own.templates)], "relative": own.relative}
        arrays: dict[str, np.ndarray] = {"count": np.diff(own.starts).astype(np.int32), "odds": self.odds}
        arrays["is_sure"] = self.is_sure.astype(np.uint8)
        return values, arrays if self.weights is None else arrays | {"weights": self.weights}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> GraphModel:
        """Return the model of a state; raise `ModelError` if it is unsound."""
        owner = f"the component '{cls.name}'"
        paths, templates, relative = (check_strings(values[name], SCRIPT, owner) for name in cls.schema.values)
        for text in templates:
            if not all(map(_SOURCE.fullmatch, text.split(" "))):
                raise ModelError(f"{owner} has a template {text[:40]!r}")
        for path in paths:
            if not _PATH.fullmatch(path) or path.count(" ") >= LONGEST:
                raise ModelError(f"{owner} has a path {path[:40]!r}")
        count, odds, is_sure = (arrays[name] for name in cls.schema.arrays)
        fits = len(count) == len(paths) == len(is_sure) and len(odds) == len(templates) and (count > 0).all()
        if not fits or count.sum(dtype=np.int64) != len(templates):
            raise ModelError(f"{owner} has paths, templates and odds that do not fit each other")
        if (weights := arrays.get("weights")) is not None:
            check_table(weights, ("int16",), 8, owner, 28)
        ends = np.cumsum(count).tolist()
        own = [templates[end - size : end] for end, size in zip(ends, count.tolist(), strict=True)]
        return cls(Inventory(paths, own, relative), odds, is_sure != 0, weights)


class Features:
    """The features of candidates' labels.

    Parameters
    ----------
    inventory : Inventory
    is_sure : ndarray of shape (n_paths,), bool
        Paths without features.
    n_weights : int
        A power of two.
    """

    def __init__(self, inventory: Inventory, is_sure: Bools, n_weights: int):
        self._inventory, self._is_sure, self._shift = inventory, is_sure, np.uint64(65 - n_weights.bit_length())
        self._contexts, self._keys, self._numbers = list[str](), list[str](), list[int]()

    def add(self, words: TreeWords, candidates: Sequence[Candidate]) -> None:
        """Add the labels of a sentence's candidates."""
        for nodes, path, labels, named in candidates:
            if self._is_sure[path] or not any(labels):
                continue
            number = len(self._contexts) // N_CONTEXTS
            self._contexts += words.contexts(nodes, named)
            for template, label in zip(self._inventory.templates[path], labels, strict=True):
                if label:
                    self._keys += [f"{self._inventory.paths[path]} {template}", template, label]
                    self._numbers.append(number)

    def places(self) -> Int32s:
        """Return the places of the features of each label, int32[m, F], and forget them."""
        contexts = hash_texts(self._contexts).astype(np.uint64).reshape(-1, N_CONTEXTS)[self._numbers]
        keys, found = hash_texts(self._keys).astype(np.uint64).reshape(-1, 3), list[np.ndarray]()
        for size, column in _SHARES:
            mixed = contexts[:, :size] * _FACTORS[column, :size] + keys[:, column, None] * _FACTORS[3, column]
            mixed ^= mixed >> np.uint64(32)
            found.append((mixed * _FACTORS[3, 3] >> self._shift).astype(np.int32))
        self._contexts, self._keys, self._numbers = [], [], []
        return np.concatenate(found, axis=1)
