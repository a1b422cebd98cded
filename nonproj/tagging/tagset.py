"""The tags of a treebank: triples of UPOS, XPOS and FEATS, and the parts that a tag's score is summed over.

A tag shares its parts with similar tags: its UPOS, its XPOS, the triple itself and each single morphological feature,
such as ``Case=Acc`` (Müller, Schmid and Schütze 2013, section 3).  So similar tags share weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.columns import FEATS, UPOS, XPOS
from nonproj.io.strings import FEATURES, TAG, check_strings
from nonproj.kernels.threads import PerThread
from nonproj.scoring.vocabulary import MAX_FEATURES
from nonproj.types import Sentence

MAX_TAGS = 20_000
"""Maximum number of tags, the most frequent ones; their numbers are int16 in files."""

_MAX_ATTRIBUTES = 1000

TAG_COLUMNS = (UPOS, XPOS, FEATS)
"""Indices of UPOS, XPOS and FEATS among the ten columns."""

LEVELS = ("upos", "pos", "full")
"""Levels of a tag in templates: its UPOS; UPOS and XPOS; the whole triple."""


class TagSet:
    """The known tags, numbered by decreasing frequency, as arrays for the kernels.

    Parameters
    ----------
    tags : sequence of (str, str, str)
        UPOS, XPOS and FEATS, all different.
    first : int, optional
        The number of tags that determine the numbers of parts, by default all; continuing a model adds later ones.

    Attributes
    ----------
    levels : ndarray of shape (n_tags + 1, 3), int32
        The number of each tag at each of `LEVELS`, from 1; the last row, 0, stands for the ends of a sentence.
    unit_start, units : ndarray, int32 and uint32
        The parts of tag ``t`` are ``units[unit_start[t]:unit_start[t + 1]]``, from 1.
    unit_attribute : ndarray, int32
        Parallel to ``units``: the morphological attribute, such as Case, of a part that is a single feature, or -1.
    named : dict
        The number of each part by its kind, ``upos``, ``xpos``, ``full`` or ``feature``, and its name.
    values : ndarray of shape (n_tags + 1, n_attributes), int32
        The number of each tag's value of each attribute, from 1; 0 where it has none.

    Examples
    --------
    >>> tags = TagSet([("NOUN", "N", "Case=Acc|Number=Sing"), ("NOUN", "N", "Case=Nom|Number=Sing")])
    >>> tags.levels.tolist()
    [[1, 1, 1], [1, 1, 2], [0, 0, 0]]
    >>> tags.values.tolist()
    [[1, 1], [1, 2], [0, 0]]
    """

    def __init__(self, tags: Sequence[tuple[str, str, str]], first: int | None = None):
        self.tags = [(*tag,) for tag in tags]
        self.first = len(tags) if first is None else first
        self.number = {tag: i for i, tag in enumerate(self.tags)}
        n = len(self.tags)
        self.levels = np.zeros((n + 1, len(LEVELS)), np.int32)
        for level in range(len(LEVELS)):
            numbers: dict[tuple[str, ...], int] = {}
            for t, tag in enumerate(self.tags):
                self.levels[t, level] = numbers.setdefault(tag[: level + 1], len(numbers) + 1)
        self._split()
        columns = list(zip(*self.tags, strict=True))
        self._strings = [{string: i for i, string in enumerate(dict.fromkeys(column))} for column in columns]
        pairs = zip(self._strings, columns, strict=True)
        self._columns = np.array([[strings[string] for string in column] for strings, column in pairs], np.int32)
        self._allowed: PerThread[dict[tuple[Any, ...], np.ndarray]] = PerThread(dict)

    def _split(self) -> None:
        """Number the parts of all tags; parts that occur in the same tags, among the first ones, share a number."""
        owners: dict[tuple[Any, ...], list[int]] = {}
        for t, (upos, xpos, feats) in enumerate(self.tags):
            names = [("upos", upos), ("xpos", xpos), ("full", t)]
            for name in dict.fromkeys([*names, *(("feature", feature) for feature in features_of(feats))]):
                owners.setdefault(name, []).append(t)
        attributes: dict[str, int] = {}
        numbers: dict[tuple[Any, ...], int] = {}
        self.named: dict[tuple[str, Any], int] = {}
        parts: list[list[tuple[int, int]]] = [[] for _ in self.tags]
        values: list[tuple[int, int, int]] = []
        counts: Counter[Any] = Counter()
        early = {name: tuple(t for t in tags if t < self.first) for name, tags in owners.items()}
        for (kind, name), tags in sorted(owners.items(), key=lambda item: -len(early[item[0]])):
            attribute = -1
            if kind == "feature" and len(attributes) < _MAX_ATTRIBUTES:
                attribute = attributes.setdefault(name.partition("=")[0], len(attributes))
            if attribute >= 0:
                counts[attribute] += 1
                values += [(t, attribute, counts[attribute]) for t in tags]
            known = (attribute, *(early[kind, name] or (kind, name)))
            if len(early[kind, name]) == self.first:
                continue
            if kind == "feature" or known not in numbers:
                numbers[known] = len(numbers) + 1
            self.named[kind, self.tags[name] if kind == "full" else name] = numbers[known]
            for t in tags:
                if (numbers[known], attribute) not in parts[t]:
                    parts[t].append((numbers[known], attribute))
        flat = [part for listed in parts for part in listed]
        self.unit_start = np.cumsum([0, *map(len, parts)], dtype=np.int32)
        self.units = np.array([unit for unit, _ in flat], np.uint32)
        self.unit_attribute = np.array([attribute for _, attribute in flat], np.int32)
        self.n_units = len(numbers) + 1
        self.values = np.zeros((len(self.tags) + 1, max(len(attributes), 1)), np.int32)
        for t, attribute, value in values:
            self.values[t, attribute] = value

    def __len__(self) -> int:
        return len(self.tags)

    @classmethod
    def from_sentences(cls, sentences: Iterable[Sentence], known: TagSet | None = None) -> TagSet:
        """Return the tags of a treebank, after those that are known, whose numbers and parts stay the same.

        Examples
        --------
        >>> known = TagSet([("NOUN", "N", "Case=Acc"), ("NOUN", "N", "Case=Nom")])
        >>> both = TagSet.from_sentences([Sentence([["1", "Hus", "_", "NOUN", "N", "Case=Gen", *"____"]])], known)
        >>> both.tags[-1], both.first, np.split(both.units, both.unit_start[1:-1])
        (('NOUN', 'N', 'Case=Gen'), 2, [array([1, 2], dtype=uint32), array([3, 4], dtype=uint32),
        array([5, 6], dtype=uint32)])
        """
        counts = Counter((row[3], row[4], row[5]) for sentence in sentences for row in sentence.rows)
        tags = [tag for tag, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        tags = list(dict.fromkeys([*known.tags, *tags] if known else tags))[:MAX_TAGS]
        return cls(tags, known.first if known else None)

    def allowed(self, given: tuple[str | None, str | None, str | None]) -> np.ndarray:
        """Return the tags with the given columns, int32; None is any.  Columns that no tag has are ignored from the
        last to the first.

        Examples
        --------
        >>> TagSet([("NOUN", "N", "_"), ("NOUN", "NP", "_"), ("VERB", "V", "_")]).allowed(("NOUN", None, "?")).tolist()
        [0, 1]
        """
        known = self._allowed.own
        found = known.get(given)
        if found is None:
            pairs = zip(given, self._strings, self._columns, strict=True)
            match = [column == strings.get(string, -1) for string, strings, column in pairs if string is not None]
            while match and not np.logical_and.reduce(match).any():
                match.pop()
            everything = np.ones(len(self.tags), np.bool_)
            if len(known) > 10_000:
                known.clear()
            found = known[given] = np.flatnonzero(np.logical_and.reduce([everything, *match])).astype(np.int32)
        return found


def features_of(feats: str) -> list[str]:
    """Return the first 32 single morphological features of a column FEATS, none for ``_``."""
    return [] if feats == "_" else feats.split("|")[:MAX_FEATURES]


def check_tags(tags: list[Any]) -> list[tuple[str, str, str]]:
    """Return the tags in a model's header; raise `ModelError` unless they are different triples of strings."""
    if not 1 <= len(tags) <= MAX_TAGS:
        raise ModelError(f"the tagger has {len(tags)} tags; 1 to {MAX_TAGS} are expected")
    if not all(type(tag) is list and list(map(type, tag)) == [str, str, str] for tag in tags):
        raise ModelError("a tag is not a UPOS, an XPOS and a FEATS")
    for column, kind in enumerate((TAG, TAG, FEATURES)):
        check_strings([tag[column] for tag in tags], kind, "the tagger")
    found = [tuple(tag) for tag in tags]
    if len(set(found)) < len(found):
        raise ModelError("a tag is listed twice")
    return found
