"""Variation nuclei: the same words in the same context whose annotation differs.

A *nucleus* is a word, or two words, that occurs several times with the same words around it.  Where the annotation of
its occurrences differs, one of them is likely to be an error: for tags and lemmas see Dickinson and Meurers (2003),
"Detecting errors in part-of-speech annotation", sections 3 and 4; for dependencies Boyd, Dickinson and Meurers (2008),
"On detecting errors in dependency treebanks", sections 3 and 4.  Contexts are those of their most precise heuristic,
without the fringe: the words next to a nucleus must be equal, as must all words between its two words, so an occurrence
without a dependency (NIL) is compared with those that look the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from nonproj.io.columns import DEPREL, FEATS, LEMMA, UPOS, XPOS
from nonproj.types import Sentence

LONGEST = 8
"""Maximum distance of the two words of a nucleus."""

NIL = ("", "")
"""The annotation of two words without a dependency."""

ABSENT = ""
"""The value of a column that is not annotated; it differs from no other value."""

_BORDER = ""
"""Form of the borders of a sentence, before the first and after the last word."""

Annotation: TypeAlias = tuple[str, ...]


class Variation(NamedTuple):
    """An occurrence of a nucleus whose annotation differs from another one that is at least as frequent.

    Attributes
    ----------
    kind : {"head", "label", "tag", "lemma"}
    sentence, word : int
        The place of the word, from 0 and from 1.
    annotation : tuple of str
        The most frequent other annotation, with `ABSENT` columns; of a head: its number, label and direction.
    own, others : int
        Number of occurrences with the word's annotation, itself included, and with the other one.
    """

    kind: str
    sentence: int
    word: int
    annotation: Annotation
    own: int
    others: int

    @property
    def share(self) -> float:
        """The share of the other annotation, with one added to the count of the word's own.

        Examples
        --------
        >>> Variation("tag", 0, 1, ("NOUN", "_", "_"), 1, 8).share
        0.8
        """
        return self.others / (self.own + self.others + 1)


def word_variations(sentences: Sequence[Sentence], audited: int) -> Iterator[Variation]:
    """Yield the words of the first ``audited`` sentences whose tags or lemmas differ from others of the same nucleus.

    Examples
    --------
    >>> def sentence(tag):
    ...     rows = [["1", "we", "we", "PRON"], ["2", "run", "run", tag], ["3", "fast", "fast", "ADV"]]
    ...     return Sentence([[*row, *"______"] for row in rows])
    >>> [each[:4] for each in word_variations([sentence("NOUN"), sentence("VERB"), sentence("VERB")], 3)]
    [('tag', 0, 2, ('VERB', '', ''))]
    """
    forms = [_forms(sentence) for sentence in sentences]
    for kind, values in (("tag", tags_of), ("lemma", _lemmas_of)):
        known: dict[Annotation, Counter[Annotation]] = {}
        for sentence, words in zip(sentences, forms, strict=True):
            for m, value in enumerate(values(sentence), 1):
                known.setdefault(tuple(words[m - 1 : m + 2]), Counter())[value] += 1
        for i in range(audited):
            for m, own in enumerate(values(sentences[i]), 1):
                counts = known[tuple(forms[i][m - 1 : m + 2])]
                if len(counts) > 1 and (other := _rival(counts, own)):
                    yield Variation(kind, i, m, other, counts[own], counts[other])


def pair_variations(sentences: Sequence[Sentence], audited: int) -> Iterator[Variation]:
    """Yield the words of the first ``audited`` sentences whose heads or labels differ from others of the same nucleus.

    Examples
    --------
    >>> import numpy as np
    >>> def sentence(*heads):
    ...     rows = [["0", form, *"____", str(head), "dep", *"__"] for form, head in zip("abc", heads)]
    ...     return Sentence(rows, np.array([-1, *heads], np.int32))
    >>> found = list(pair_variations([sentence(2, 0, 2), sentence(2, 0, 2), sentence(3, 0, 2)], 3))
    >>> found[:1]
    [Variation(kind='head', sentence=2, word=1, annotation=('2', 'dep', '<'), own=1, others=2)]
    """
    forms = [_forms(sentence) for sentence in sentences]
    linked = {
        tuple(words[low - 1 : high + 2])
        for sentence, words in zip(sentences, forms, strict=True)
        for low, high in _annotations(sentence)
    }
    known: dict[Annotation, Counter[Annotation]] = {}
    for sentence, words in zip(sentences, forms, strict=True):
        for key, annotation, _ in _occurrences(sentence, words, linked):
            known.setdefault(key, Counter())[annotation] += 1
    for i in range(audited):
        for key, annotation, (low, high) in _occurrences(sentences[i], forms[i], linked):
            counts = known[key]
            if len(counts) > 1 and (other := _rival(counts, annotation)):
                numbers = counts[annotation], counts[other]
                yield from _as_variations(i, low, high, (annotation, other), numbers)


def variations(sentences: Sequence[Sentence], audited: int) -> dict[tuple[str, int, int], Variation]:
    """Return the variation with the highest share of each kind, sentence and word; see `word_variations`."""
    found: dict[tuple[str, int, int], Variation] = {}
    for make in (word_variations, pair_variations):
        for each in make(sentences, audited):
            place = each[:3]
            before = found.get(place)
            if before is None or (before.share, before.annotation[0]) < (each.share, each.annotation[0]):
                found[place] = each
    return found


def _forms(sentence: Sentence) -> list[str]:
    """Return the forms of a sentence by node, from the border before the first to that after the last."""
    return [_BORDER, *sentence.forms, _BORDER]


def present(value: str) -> str:
    """Return the value of a column, or `ABSENT` if it is not annotated."""
    return ABSENT if value == "_" else value


def tags_of(sentence: Sentence) -> list[Annotation]:
    """Return UPOS, XPOS and FEATS of each word; FEATS is `ABSENT` if no word of the sentence has any.

    Examples
    --------
    >>> tags_of(Sentence([["1", "we", "_", "PRON", "_", "_"], ["2", "run", "_", "VERB", "V", "Number=Plur"]]))
    [('PRON', '', '_'), ('VERB', 'V', 'Number=Plur')]
    """
    without = all(row[FEATS] == "_" for row in sentence.rows)
    return [(present(row[UPOS]), present(row[XPOS]), ABSENT if without else row[FEATS]) for row in sentence.rows]


def _lemmas_of(sentence: Sentence) -> list[Annotation]:
    return [(present(row[LEMMA]),) for row in sentence.rows]


def _rival(counts: Counter[Annotation], own: Annotation) -> Annotation | None:
    """Return the most frequent other annotation, if it is at least as frequent as the word's own."""
    others = [(count, annotation) for annotation, count in counts.items() if _differ(annotation, own)]
    if not others:
        return None
    count, annotation = min(others, key=lambda each: (-each[0], each[1]))
    return annotation if count >= counts[own] else None


def _differ(one: Annotation, other: Annotation) -> bool:
    """Return whether two annotations differ in a column that both have."""
    if NIL in (one, other):
        return one != other
    return any(a != b and ABSENT not in (a, b) for a, b in zip(one, other, strict=True))


def _annotations(sentence: Sentence) -> dict[tuple[int, int], Annotation]:
    """Return label and direction of the dependencies between words at most `LONGEST` apart, by the two words."""
    found: dict[tuple[int, int], Annotation] = {}
    assert sentence.tree is not None
    for m, head in enumerate(sentence.tree.tolist()):
        if m and head and abs(m - head) <= LONGEST:
            found[min(m, head), max(m, head)] = (present(sentence.rows[m - 1][DEPREL]), "<" if m < head else ">")
    return found


def _occurrences(
    sentence: Sentence, words: Sequence[str], linked: Iterable[Annotation]
) -> Iterator[tuple[Annotation, Annotation, tuple[int, int]]]:
    """Yield the occurrences of nuclei of two words: their words with the context, annotation and place."""
    own, n = _annotations(sentence), len(sentence)
    for low in range(1, n):
        for high in range(low + 1, min(n, low + LONGEST) + 1):
            key = tuple(words[low - 1 : high + 2])
            if key in linked:
                yield key, own.get((low, high), NIL), (low, high)


def _as_variations(
    sentence: int, low: int, high: int, annotations: tuple[Annotation, Annotation], numbers: tuple[int, int]
) -> Iterator[Variation]:
    """Yield the variation of a pair of words: at the modifier in its own annotation, or else in the other one."""
    own, other = annotations
    if other == NIL:  # the others have another head, which is not known
        word, head = (low, "") if own[1] == "<" else (high, "")
        yield Variation("head", sentence, word, (head, *other), *numbers)
    elif own != NIL and own[1] == other[1]:
        yield Variation("label", sentence, low if own[1] == "<" else high, other[:1], *numbers)
    else:
        word, head = (low, str(high)) if other[1] == "<" else (high, str(low))
        yield Variation("head", sentence, word, (head, *other), *numbers)
