"""Alignment of the words of a parsed text with gold words, by their characters, and the correctness of their arcs.

Words are aligned as by the official evaluation of the CoNLL 2018 shared task (Zeman et al. 2018): by the characters of
their tokens; the words of multiword tokens, which share these, by the longest common subsequence of their forms.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nonproj.errors import DataError
from nonproj.io.copies import surface_tokens
from nonproj.text.output import BLANKS
from nonproj.types import Sentence


class CorrectArcs(NamedTuple):
    """The correct arcs of a parsed sentence of ``n`` words, given a gold standard with other words and sentences.

    Attributes
    ----------
    heads : ndarray of shape (n,), bool
        Whether each word is aligned with a gold word, and its head with that word's head (or both are roots).
    labels : ndarray of shape (n,), bool
        Whether its label is correct, too.
    tree : bool
        Whether all heads are correct and the sentence is a gold sentence.
    """

    heads: np.ndarray
    labels: np.ndarray
    tree: bool


class WordSpans(NamedTuple):
    """The words of sentences, and their text without blanks.

    Attributes
    ----------
    start, end : list of int
        Start and end (exclusive) of each word's token in ``characters``.
    several : list of bool
        Whether that token has several words.
    forms : list of str
        In lower case.
    first : list of int
        The number of words before each sentence, and that of all words.
    characters : str
        The text.
    """

    start: list[int]
    end: list[int]
    several: list[bool]
    forms: list[str]
    first: list[int]
    characters: str

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Start and end (exclusive) of each sentence in ``characters``."""
        return [(self.start[a], self.end[b - 1]) for a, b in pairwise(self.first)]


def judge_text(
    gold: Sequence[Sentence],
    system: Sequence[Sentence],
    heads: Sequence[np.ndarray],
    labels: Sequence[Sequence[str]],
) -> list[CorrectArcs]:
    """Return the correct arcs of parsed sentences, whose words and sentences may differ from the gold standard.

    Parameters
    ----------
    gold : sequence of Sentence
        With gold heads.
    system : sequence of Sentence
        Parsed sentences of the same text.
    heads, labels : sequence
        The trees of the parsed sentences: int32[n], and ``n`` strings.

    Raises
    ------
    DataError
        The characters of the two differ, or a gold sentence has no heads.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> gold = from_words(["Det", "regner"])
    >>> gold.tree, gold.rows[1][7] = np.array([-1, 2, 0]), "root"
    >>> judge_text([gold], [from_words(["De", "t", "regner"])], [np.array([3, 3, 0])], [["x", "x", "root"]])
    [CorrectArcs(heads=array([False, False,  True]), labels=array([False, False,  True]), tree=False)]
    """
    theirs, ours, pairs = align(gold, system)
    _, partner = partners(theirs, ours, pairs)
    parent = text_heads(gold, theirs)
    gold_labels = [label for sentence in gold for label in sentence.labels]
    spans = set(theirs.spans)
    found = []
    for (a, b), span, own, names in zip(pairwise(ours.first), ours.spans, heads, labels, strict=True):
        mine, above = partner[a:b], partner[np.where(own > 0, own - 1 + a, len(ours.forms))]
        right = (mine >= 0) & (above == parent[mine]) & (above >= 0)
        same = np.array([g >= 0 and gold_labels[g] == name for g, name in zip(mine, names, strict=True)], np.bool_)
        found.append(CorrectArcs(right, right & same, bool(right.all()) and span in spans))
    return found


def gold_on_words(gold: Sequence[Sentence], system: Sequence[Sentence]) -> list[Sentence]:
    """Return the parsed sentences with gold trees, as far as words and heads are aligned; other heads are -1.

    Raises
    ------
    DataError
        As for `judge_text`.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> gold = from_words(["Det", "regner"])
    >>> gold.tree, gold.rows[1][7] = np.array([-1, 2, 0]), "root"
    >>> [found] = gold_on_words([gold], [from_words(["De", "t", "regner"])])
    >>> found.heads, found.labels
    (array([-1, -1,  0], dtype=int32), ['_', '_', 'root'])
    """
    theirs, ours, pairs = align(gold, system)
    mine, partner = partners(theirs, ours, pairs)
    head = np.append(mine, -1)[np.append(text_heads(gold, theirs), -1)[partner]]
    labels = [label for sentence in gold for label in sentence.labels] + ["_"]
    found = []
    for sentence, (a, b) in zip(system, pairwise(ours.first), strict=True):
        own = head[a:b]
        tree = np.where((own >= a) & (own < b), own - a + 1, np.where(own == len(ours.forms), 0, -1))
        rows = [
            [*row[:6], str(h) if h >= 0 else "_", labels[partner[a + i]] if h >= 0 else "_", *row[8:]]
            for i, (row, h) in enumerate(zip(sentence.rows, tree.tolist(), strict=True))
        ]
        found.append(dataclasses.replace(sentence, rows=rows, tree=np.append(-1, tree).astype(np.int32)))
    return found


def text_heads(sentences: Sequence[Sentence], words: WordSpans) -> np.ndarray:
    """Return the index of each word's head among all n words, int64[n]; the index of the root is n.

    Raises
    ------
    DataError
        A sentence has no heads.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> sentence = from_words(["Det", "regner"])
    >>> sentence.tree = np.array([-1, 2, 0])
    >>> text_heads([sentence, sentence], align([sentence] * 2, [sentence] * 2)[0])
    array([1, 4, 3, 4])
    """
    heads = np.full(len(words.forms), len(words.forms), np.int64)
    for sentence, (a, b) in zip(sentences, pairwise(words.first), strict=True):
        if sentence.heads is None:
            raise DataError(sentence.path, sentence.line, "HEAD is absent (_); heads are expected")
        heads[a:b][sentence.heads > 0] = sentence.heads[sentence.heads > 0] - 1 + a
    return heads


def partners(gold: WordSpans, system: WordSpans, pairs: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the word aligned with each gold word, and the gold word aligned with each word: int64[n + 1], -1 for none.

    The last entries are those of the root: the numbers of words.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> partners(*align([from_words(["Det", "regner", "."])], [from_words(["Det", "regner."])]))
    (array([ 0, -1, -1,  2]), array([ 0, -1,  3]))
    """
    theirs, ours = (np.full(len(words.forms) + 1, -1, np.int64) for words in (gold, system))
    for g, s in [*pairs, (len(gold.forms), len(system.forms))]:
        theirs[g], ours[s] = s, g
    return theirs, ours


def align(gold: Sequence[Sentence], system: Sequence[Sentence]) -> tuple[WordSpans, WordSpans, list[tuple[int, int]]]:
    """Return the words of two analyses of a text, and the pairs of aligned words, by their indices.

    Raises
    ------
    DataError
        The characters of the two differ.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> gold, system, pairs = align([from_words(["Det", "regner", "."])], [from_words(["Det", "regner."])])
    >>> gold.characters, pairs
    ('Detregner.', [(0, 0)])
    """
    theirs, ours = _words(gold), _words(system)
    if theirs.characters != ours.characters:
        raise _differs(gold, theirs, ours)
    return theirs, ours, _aligned(theirs, ours)


_NO_BLANKS = dict.fromkeys(map(ord, BLANKS))


def _words(sentences: Sequence[Sentence]) -> WordSpans:
    found, position = WordSpans([], [], [], [], [0], ""), 0
    pieces = []
    for sentence in sentences:
        for form, _, count in surface_tokens(sentence):
            visible = form.translate(_NO_BLANKS)
            pieces.append(visible)
            found.start.extend([position] * count)
            position += len(visible)
            found.end.extend([position] * count)
            found.several.extend([count > 1] * count)
        found.forms.extend(form.lower() for form in sentence.forms)
        found.first.append(len(found.forms))
    return found._replace(characters="".join(pieces))


def _aligned(gold: WordSpans, system: WordSpans) -> list[tuple[int, int]]:
    """Return the pairs of aligned words, by index."""
    pairs, g, s = [], 0, 0
    while g < len(gold.forms) and s < len(system.forms):
        if gold.several[g] or system.several[s]:
            before_g, before_s, g, s = _span(gold, system, g, s)
            pairs += _common(gold.forms, system.forms, (before_g, g), (before_s, s))
        elif (gold.start[g], gold.end[g]) == (system.start[s], system.end[s]):
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif gold.start[g] <= system.start[s]:
            g += 1
        else:
            s += 1
    return pairs


def _span(gold: WordSpans, system: WordSpans, g: int, s: int) -> tuple[int, int, int, int]:
    """Return the smallest ranges of words, starting here, that cover whole multiword tokens on both sides."""
    if gold.several[g]:
        end = gold.end[g]
        s += not system.several[s] and system.start[s] < gold.start[g]
    else:
        end = system.end[s]
        g += not gold.several[g] and gold.start[g] < system.start[s]
    before_g, before_s = g, s
    while not (_beyond(gold, g, end) and _beyond(system, s, end)):
        if g < len(gold.forms) and (s >= len(system.forms) or gold.start[g] <= system.start[s]):
            end = max(end, gold.end[g]) if gold.several[g] else end
            g += 1
        else:
            end = max(end, system.end[s]) if system.several[s] else end
            s += 1
    return before_g, before_s, g, s


def _beyond(words: WordSpans, i: int, end: int) -> bool:
    """Return whether a word is after a span that ends at a character."""
    return i >= len(words.forms) or (words.start[i] >= end if words.several[i] else words.end[i] > end)


def _common(
    gold: list[str], system: list[str], rows: tuple[int, int], columns: tuple[int, int]
) -> list[tuple[int, int]]:
    """Return the pairs of a longest common subsequence of the forms in two ranges of words."""
    (a, b), (c, d) = rows, columns
    length = np.zeros((b - a + 1, d - c + 1), np.int64)
    for i in range(b - 1, a - 1, -1):
        for j in range(d - 1, c - 1, -1):
            best = max(length[i - a + 1, j - c], length[i - a, j - c + 1])
            length[i - a, j - c] = max(best, length[i - a + 1, j - c + 1] + (gold[i] == system[j]))
    pairs, i, j = [], a, c
    while i < b and j < d:
        if gold[i] == system[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif length[i - a, j - c] == length[i - a + 1, j - c]:
            i += 1
        else:
            j += 1
    return pairs


def _differs(gold: Sequence[Sentence], theirs: WordSpans, ours: WordSpans) -> DataError:
    """Return the error for two texts whose characters differ."""
    place = len(os.path.commonprefix([theirs.characters, ours.characters]))
    word = next((i for i, end in enumerate(theirs.end) if end > place), len(theirs.end) - 1)
    number = int(np.searchsorted(theirs.first, word, side="right")) - 1
    expected, found = (each.characters[place : place + 20] for each in (theirs, ours))
    sentence = gold[min(number, len(gold) - 1)]
    message = f"the text continues with {expected!r}, the parsed one with {found!r}"
    return DataError(sentence.path, sentence.line, message)
