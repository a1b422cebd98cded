"""Statistics of words in a treebank: capitalisation, sentence beginnings, and parts of speech.

Counts and classes are in tables, indexed by the hash of a word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.text.characters import APOSTROPHE, CLOSE, COLON, COMMA, LETTER, LOWER, QUOTE, STOP, TERMINAL, UPPER
from nonproj.text.layout import NO_BLANKS, PARAGRAPH, table_shift
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.types import Uint8s


class Usage(NamedTuple):
    """Statistics of training words, by hash; 0 for unseen words.

    Attributes
    ----------
    case : ndarray, uint8
        Class by `case_classes`.
    tag, suffix : ndarray, uint8
        The most frequent class of a word, and of the words with the same last three characters: see
        `nonproj.text.corpus.word_class`.
    """

    case: np.ndarray
    tag: np.ndarray
    suffix: np.ndarray


class KnownWords(NamedTuple):
    """Classes of the words of a table: three for each row, 0 for padding and unknown words.

    Attributes
    ----------
    case : ndarray of shape (T + 6,), uint8
        Capitalisation of the word, by `case_classes`.
    tag : ndarray of shape (T + 6,), uint8
        The word's most frequent class, or that of its suffix if the word is unknown.
    mark : ndarray of shape (T + 6,), uint8
        The mark of its punctuation, by which a sentence may end: see `_find_marks`.
    """

    case: np.ndarray
    tag: np.ndarray
    mark: np.ndarray


@kernel
def known_words(table: TokenTable, usage: Usage) -> tuple[Uint8s, Uint8s, Uint8s]:
    """Return the arrays of `KnownWords` of the words of a table."""
    case_shift, tag_shift = np.uint32(table_shift(len(usage.case))), np.uint32(table_shift(len(usage.tag)))
    suffix_shift = np.uint32(table_shift(len(usage.suffix)))
    case, tag = np.zeros(len(table.word), np.uint8), np.zeros(len(table.word), np.uint8)
    for row in range(PADDING, len(table.word) - PADDING):
        case[row], tag[row] = usage.case[table.word[row] >> case_shift], usage.tag[table.word[row] >> tag_shift]
        if not tag[row]:
            tag[row] = usage.suffix[table.suffix[row] >> suffix_shift]
    return case, tag, _find_marks(table)


NO_MARK, ABBREVIATED, GOES_ON, ENDS, ENDS_BEHIND = range(5)
"""Marks: none; a full stop that belongs to a word; a stop that does not end the sentence; one that ends it; a closing
bracket or quotation mark behind such a stop."""


_STOPS, _CLOSING = (STOP, TERMINAL), (CLOSE, QUOTE, APOSTROPHE)


@kernel
def _find_marks(table: TokenTable) -> Uint8s:
    """Return the mark of the punctuation after each token of a table, in any language, uint8[T + 6].

    A sentence ends after stops and the closing brackets and quotation marks behind them, unless lower case, another
    stop or a comma follows, or no blank follows a full stop.
    """
    marks, after = np.zeros(len(table.word), np.uint8), NO_MARK  # ABBREVIATED after a full stop, ENDS after another
    for t in range(PADDING, len(table.word) - PADDING):
        first, last, apart = table.first[t], table.last[t], table.blanks[t] != NO_BLANKS
        behind = 0 if table.blanks[t] == PARAGRAPH else table.first[t + 1]
        if first in _STOPS and last in _STOPS:
            after = ABBREVIATED if first == STOP and table.size[t] == 1 else ENDS
        elif first not in _CLOSING or last not in _CLOSING or table.blanks[t - 1] != NO_BLANKS:
            after = NO_MARK
        if after:
            going_on = behind in _STOPS or behind in (COMMA, COLON) or (behind in _CLOSING and not apart)
            ends = behind != LOWER and (apart or after == ENDS) and not going_on
            marks[t] = (ENDS if first in _STOPS else ENDS_BEHIND) if ends else GOES_ON
        elif last == STOP:
            marks[t] = ABBREVIATED
    return marks


@kernel
def is_finite_verb(tag: int) -> bool:
    """Return whether a class of words is that of finite verbs."""
    return bool(tag > 0 and tag % 2 == 0)


def letter_case(table: TokenTable, ends: np.ndarray, size: int) -> np.ndarray:
    """Return counts of the capitalisation of words, by hash, int64[size, 4].

    The columns are tokens in lower case, tokens capitalised inside a sentence, tokens at its beginning, all tokens.
    """
    kind, begins = table.first[PADDING:-PADDING], np.concatenate([[True], ends[:-1]])
    place = table.word[PADDING:-PADDING] >> np.uint32(table_shift(size))
    columns = (kind == LOWER) | (kind == LETTER), (kind == UPPER) & ~begins, begins, np.ones(len(kind), np.bool_)
    return np.stack([np.bincount(place[column], minlength=size) for column in columns], axis=1)


def case_classes(counts: np.ndarray) -> np.ndarray:
    """Return a class for each hash, uint8: by its share of lower case inside sentences, and its share of beginnings."""
    lower, upper, first, everything = counts.T
    inside = lower + upper
    share = np.divide(lower, inside, out=np.full(len(counts), -1.0), where=inside > 0)
    case = np.searchsorted([-0.5, 0.1, 0.5, 0.9], share, side="right").astype(np.uint8)
    begins = np.divide(first, everything, out=np.zeros(len(counts)), where=everything > 0)
    start = np.searchsorted([0.02, 0.1, 0.3, 0.7], begins, side="right").astype(np.uint8)
    return np.where(everything > 0, 1 + case * 5 + start, 0).astype(np.uint8)
