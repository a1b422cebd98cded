"""How words are used in a treebank: whether they are capitalised, whether they begin sentences, their parts of speech.

Counts and classes are in tables, in which the hash of a word is its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.text.characters import LETTER, LOWER, UPPER
from nonproj.text.layout import table_shift
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.types import Bools, Int64s


class Usage(NamedTuple):
    """How words are used in training, by hash; 0 for what does not occur.

    Attributes
    ----------
    case : ndarray, uint8
        Of `case_classes`.
    tag, suffix : ndarray, uint8
        The most frequent class of a word, and of the words with the same last three characters: see
        `nonproj.text.corpus.word_class`.
    """

    case: np.ndarray
    tag: np.ndarray
    suffix: np.ndarray


class KnownWords(NamedTuple):
    """The usage of the words of a table: two classes for each row, 0 for padding and unknown words.

    Attributes
    ----------
    case : ndarray of shape (T + 6,), uint8
        How the word is capitalised, of `case_classes`.
    tag : ndarray of shape (T + 6,), uint8
        Its most frequent class, or that of its suffix where the word is unknown.
    """

    case: np.ndarray
    tag: np.ndarray


@kernel
def known_words(table: TokenTable, usage: Usage) -> KnownWords:
    """Return the usage of the words of a table."""
    case_shift, tag_shift = np.uint32(table_shift(len(usage.case))), np.uint32(table_shift(len(usage.tag)))
    suffix_shift = np.uint32(table_shift(len(usage.suffix)))
    case, tag = np.zeros(len(table.word), np.uint8), np.zeros(len(table.word), np.uint8)
    for row in range(PADDING, len(table.word) - PADDING):
        case[row], tag[row] = usage.case[table.word[row] >> case_shift], usage.tag[table.word[row] >> tag_shift]
        if not tag[row]:
            tag[row] = usage.suffix[table.suffix[row] >> suffix_shift]
    return KnownWords(case, tag)


@kernel
def is_finite_verb(tag: int) -> bool:
    """Return whether a class of words is that of finite verbs."""
    return bool(tag > 0 and tag % 2 == 0)


def letter_case(table: TokenTable, ends: np.ndarray, size: int) -> np.ndarray:
    """Return counts of how words are written, by hash, int64[size, 4].

    The columns are tokens in lower case, tokens capitalised inside a sentence, tokens at its beginning, all tokens.
    """
    counts = np.zeros((size, 4), np.int64)
    _count_case(table, ends, counts)
    return counts


@kernel
def _count_case(table: TokenTable, ends: Bools, counts: Int64s) -> None:
    """Write the counts of `letter_case`."""
    shift, begins = np.uint32(table_shift(len(counts))), True
    for t in range(PADDING, len(table.word) - PADDING):
        kind, row = table.first[t], counts[table.word[t] >> shift]
        if kind in (LOWER, LETTER):
            row[0] += 1
        elif kind == UPPER and not begins:
            row[1] += 1
        if begins:
            row[2] += 1
        row[3] += 1
        begins = ends[t - PADDING]


def case_classes(counts: np.ndarray) -> np.ndarray:
    """Return a class for each hash, uint8, by two shares: capitalised inside a sentence, at the beginning of one."""
    lower, upper, first, everything = counts.T
    inside = lower + upper
    share = np.divide(lower, inside, out=np.full(len(counts), -1.0), where=inside > 0)
    case = np.searchsorted([-0.5, 0.1, 0.5, 0.9], share, side="right").astype(np.uint8)
    begins = np.divide(first, everything, out=np.zeros(len(counts)), where=everything > 0)
    start = np.searchsorted([0.02, 0.1, 0.3, 0.7], begins, side="right").astype(np.uint8)
    return np.where(everything > 0, 1 + case * 5 + start, 0).astype(np.uint8)
