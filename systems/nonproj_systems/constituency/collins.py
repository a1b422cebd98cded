"""Model 1 of Collins (1997, 1999, 2003): head-driven probabilities of trees with three levels of back-off.

A phrase with category P and lexical head (w, t) generates its head child H, then on each side modifiers, going outward,
up to STOP.  Each modifier is generated as category and tag (M, mt), then as a word mw, at a distance d:

=================  ===========================  =======================  ============
decision           most specific context        back-off                 last
=================  ===========================  =======================  ============
head child H       P, w, t                      P, t                     P
modifier M, mt     side, P, H, w, t, d          side, P, H, t, d         side, P, H, d
its word mw        side, P, H, w, t, d, M, mt   side, P, H, t, d, M, mt  mt
=================  ===========================  =======================  ============

An estimate is ``lambda e1 + (1 - lambda) (back-off)`` with ``lambda = c / (c + factor u)``: c occurrences of the
context, with u different outcomes (Witten and Bell 1991; factor 5 in Collins 1999, page 185).  The root generates the
tag of its word, then the word.

Differences from Collins: tags are given.  In a base noun phrase the context is not the previous modifier, but the word
next to the new one, which is the same unless the previous modifier has several words.  Punctuation and conjunctions are
modifiers like any others.  Distance ignores commas.  Each tag has one more occurrence with an unknown word than in the
treebank, so that no tag in training forbids an unknown word; a word with a new tag is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nonproj.errors import ModelError, SizeError
from nonproj.io.strings import WORD as KNOWN_WORD
from nonproj.io.strings import problem
from nonproj_systems import models
from nonproj_systems.constituency.brackets import TOP, Tree
from nonproj_systems.constituency.collins_tables import (
    HEAD,
    MAX_SYMBOLS,
    MAX_WORDS,
    MODIFIER,
    ROOT,
    WORD,
    kind_of,
    make_tables,
    pack,
)
from nonproj_systems.constituency.collins_trees import STOP, VERBS, Event, events, with_base_phrases

KIND, VERSION = "lexicalised phrase structure", 2

UNKNOWN = "<unknown>"
"""The word that stands for all rare and unknown words."""

FACTOR = 5.0

MAX_COUNT, MAX_STATES = 2**40, 4096
"""Limits of the count of an event, and of the number of states (category and head child): charts grow with it."""


class Collins:
    """A model of lexicalised trees.

    Parameters
    ----------
    symbols : sequence of str
        Tags and categories; the first is ``STOP``.
    words : sequence of str
        Known words; the first is `UNKNOWN`.
    counts : Counter
        Occurrences of pairs of a packed context and an outcome.
    factor : float
        Weight in lambda of the number of different outcomes of a context.

    Attributes
    ----------
    tables : Tables
    states : ndarray of shape (S, 2), int64
        Categories and head children that were seen together.
    tags : frozenset of str
        The tags of words.
    tagged : dict
        The word of each pair (word, tag) that was seen in training; all as numbers.
    """

    def __init__(self, symbols: Sequence[str], words: Sequence[str], counts: Counter[Any], factor: float = FACTOR):
        self.symbols, self.words, self.factor = list(symbols), list(words), float(factor)
        self.symbol_ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        self.word_ids = {word: i for i, word in enumerate(self.words)}
        keys = np.array(sorted(counts), np.int64).reshape(-1, 2)
        occurrences = [counts[context, outcome] for context, outcome in keys.tolist()]
        self.events = np.column_stack([keys, np.array(occurrences, np.int64)])
        self.tables = make_tables(self.events, self.factor)
        heads = self.events[kind_of(self.events[:, 0]) == HEAD + 2]
        self.states = np.column_stack([heads[:, 0] & (MAX_SYMBOLS - 1), heads[:, 1]])
        given = self.events[kind_of(self.events[:, 0]) == WORD + 2]
        self.tags = frozenset(self.symbols[i] for i in (given[:, 0] & (MAX_SYMBOLS - 1)).tolist())
        self.tagged = {(w, t & (MAX_SYMBOLS - 1)): w for t, w in given[:, :2].tolist()}

    @classmethod
    def train(cls, trees: Iterable[Tree], min_count: int = 3, factor: float = FACTOR) -> Collins:
        """Return the model of plain trees; words with a count below ``min_count`` are unknown.

        Raises
        ------
        SizeError
            There are more than 127 categories and tags, 131071 words, or 4096 pairs of a category and its head child.
        """
        trees = [with_base_phrases(tree) for tree in trees]
        frequency = Counter(word for tree in trees for word in tree.words())
        words = [UNKNOWN, *sorted(word for word, count in frequency.items() if count >= min_count)]
        symbols = [STOP, *sorted({symbol for tree in trees for symbol in _symbols(tree)} | {TOP})]
        for what, found, limit in (("categories and tags", symbols, MAX_SYMBOLS), ("words", words, MAX_WORDS)):
            if len(found) > limit:
                raise SizeError(f"{len(found)} different {what}; at most {limit} can be numbered")
        model = cls(symbols, words, Counter(), factor)
        counts: Counter[Any] = Counter()
        for tree in trees:
            model.count(tree, counts)
        for tag in {leaf.label for tree in trees for leaf in tree.leaves()}:
            counts[pack(WORD + 2, 0, model.symbol_ids[tag]), 0] += 1
        found = cls(symbols, words, counts, factor)
        if len(found.states) > MAX_STATES:
            raise SizeError(f"{len(found.states)} pairs of a category and its head child; {MAX_STATES} are the limit")
        return found

    def count(self, tree: Tree, counts: Counter[Any]) -> None:
        """Add the events of a tree with base phrases to ``counts``."""
        words = [self.word_ids.get(word, 0) for word in tree.words()]
        tags = [self.symbol_ids[tag] for tag in tree.tags()]
        head, found = events(tree)
        for context, outcome in self.root_contexts(words[head], tags[head]):
            counts[context, outcome] += 1
        for event in found:
            for context, outcome in self.contexts(event, words, tags):
                counts[context, outcome] += 1

    def root_contexts(self, word: int, tag: int) -> list[tuple[int, int]]:
        """Return the pairs of packed context and outcome of the root's decision for a word with a tag."""
        return [(pack(ROOT, 0, 0), tag), (pack(ROOT + 1, 0, tag), word), (pack(WORD + 2, 0, tag), word)]

    def contexts(self, event: Event, words: Sequence[int], tags: Sequence[int]) -> list[tuple[int, int]]:
        """Return the pairs of packed context and outcome of an event, at all levels of back-off."""
        p, h = self.symbol_ids[event.parent], self.symbol_ids.get(event.head, 0)
        w, t = words[event.word], tags[event.word]
        if event.kind == "head":
            keys = pack(HEAD, 0, p, 0, w, t), pack(HEAD + 1, 0, p, 0, 0, t), pack(HEAD + 2, 0, p)
            return [(key, h) for key in keys]
        side, d, m = event.side, event.distance, self.symbol_ids[event.modifier]
        mt = tags[event.modifier_word] if event.modifier_word >= 0 else 0
        keys = (
            pack(MODIFIER, side, p, h, w, t, d),
            pack(MODIFIER + 1, side, p, h, 0, t, d),
            pack(MODIFIER + 2, side, p, h, 0, 0, d),
        )
        found = [(key, m * MAX_SYMBOLS + mt) for key in keys]
        if event.modifier_word >= 0:
            keys = (
                pack(WORD, side, p, h, w, t, d, m, mt),
                pack(WORD + 1, side, p, h, 0, t, d, m, mt),
                pack(WORD + 2, 0, mt),
            )
            found += [(key, words[event.modifier_word]) for key in keys]
        return found

    def word_numbers(self, words: Sequence[str], tags: Sequence[int]) -> np.ndarray:
        """Return the numbers of tagged words, int64[n]; 0 for words that are unknown with these tags."""
        return np.array([self.tagged.get((self.word_ids.get(w, 0), t), 0) for w, t in zip(words, tags, strict=True)])

    def tag_numbers(self, tags: Sequence[str]) -> np.ndarray:
        """Return the numbers of tags, int64[n]; 0 for those that did not occur in training."""
        return np.array([self.symbol_ids[tag] if tag in self.tags else 0 for tag in tags], np.int64)

    def save(self, path: str | Path) -> None:
        """Write the model to a file."""
        values = {"symbols": self.symbols, "words": self.words, "factor": self.factor}
        models.write(path, KIND, VERSION, values, {"events": self.events})

    @classmethod
    def load(cls, path: str | Path) -> Collins:
        """Read a model that `save` wrote.

        Raises
        ------
        ModelError
            The file is not such a model.
        """
        values, arrays = models.read(path, KIND, VERSION)
        if not _is_sound(values, arrays.get("events")):
            raise ModelError(f"{path}: a damaged model for {KIND}; train it again")
        counts = Counter({(c, o): n for c, o, n in arrays["events"].tolist()})
        return cls(values["symbols"], values["words"], counts, values["factor"])

    @property
    def verbs(self) -> np.ndarray:
        """Mask of the symbols that are tags of verbs, bool[number of symbols]."""
        return np.array([symbol in VERBS for symbol in self.symbols])


def _is_sound(values: dict[str, Any], events: np.ndarray | None) -> bool:
    """Return whether the contents of a file are a model whose indices are all in range."""
    symbols, words, factor = (values.get(name) for name in ("symbols", "words", "factor"))
    for names, limit in ((symbols, MAX_SYMBOLS), (words, MAX_WORDS)):
        if problem(names, KNOWN_WORD) or not 0 < len(names) <= limit or len(set(names)) < len(names):
            return False
    if any(set(name) & set("()") for name in symbols):
        return False
    if symbols[0] != STOP or TOP not in symbols or not isinstance(factor, float) or not 1e-6 <= factor <= 1e6:
        return False
    if events is None or events.ndim != 2 or events.shape[1] != 3 or events.dtype != np.int64 or not len(events):
        return False
    context, outcome, count = events.T
    if (
        context.min() < 0
        or outcome.min() < 0
        or count.min() < 1
        or count.max() > MAX_COUNT
        or kind_of(context).max() > ROOT + 1
    ):
        return False
    fields = [context >> shift & (MAX_SYMBOLS - 1) for shift in (0, 7, 14, 21, 28)]
    of_words = np.isin(kind_of(context), (WORD, WORD + 1, WORD + 2, ROOT + 1))
    numbers = np.concatenate([*fields, outcome[~of_words] & (MAX_SYMBOLS - 1), outcome[~of_words] >> 7])
    known = np.concatenate([context >> 35 & (MAX_WORDS - 1), outcome[of_words]])
    states = np.count_nonzero(kind_of(np.unique(events[:, :2], axis=0)[:, 0]) == HEAD + 2)
    return bool(numbers.max() < len(symbols) and known.max() < len(words) and states <= MAX_STATES)


def _symbols(tree: Tree) -> set[str]:
    """Return all categories and tags of a tree."""
    return {tree.label}.union(*map(_symbols, tree.children))
