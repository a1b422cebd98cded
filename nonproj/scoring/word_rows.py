"""The inputs of the network over arcs: for each word the rows of its attributes and of its neighbours' attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.networks.rows import SparseRows, add_rows
from nonproj.scoring.joined import JoinedTokens
from nonproj.scoring.vectors import VECTOR
from nonproj.scoring.vocabulary import FEAT, FIRST, OUTSIDE, PADDING, Tokens
from nonproj.types import Int16s, Int32s, Int64s, Uint8s

REACH = {"form": 0, "lemma": 0, "pos": 3, "suffix2": 0, "suffix3": 1, "shape": 0, "key": 2, "morph": 2, VECTOR: 0}
"""Attributes that have rows, and the maximum distance of neighbours whose attribute counts; 0 is the word alone."""

BETWEEN = "pos"
"""The attribute of the words between head and modifier."""


class IndexColumns(NamedTuple):
    """Places of a word's rows in the index.

    Attributes
    ----------
    attribute, offset, start : ndarray of shape (C,), int32
        Column ``c`` is ``attribute[c]`` of the word at ``offset[c]``; the index entry of its value ``v`` is
        ``start[c] + v``.
    feat : int
        Start of the single morphological features of the word itself.
    size : int
        Number of entries of the index.
    between : int
        Number of the attribute `BETWEEN`, or else of the first attribute.
    """

    attribute: np.ndarray
    offset: np.ndarray
    start: np.ndarray
    feat: int
    size: int
    between: int

    @classmethod
    def of(cls, vocabularies: Mapping[str, Sequence[str]], columns: Sequence[tuple[str, int]]) -> IndexColumns:
        """Return the index of the rows of these columns, pairs of attribute and offset."""
        attributes = [name for name in vocabularies if name != FEAT]
        sizes = [FIRST + len(vocabularies[name]) for name, _ in columns]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        numbers = np.array([attributes.index(name) for name, _ in columns], np.int32)
        offsets = np.array([offset for _, offset in columns], np.int32)
        size = int(starts[-1]) + FIRST + len(vocabularies.get(FEAT, ()))
        between = attributes.index(BETWEEN) if BETWEEN in attributes else 0
        return cls(numbers, offsets, starts[:-1].copy(), int(starts[-1]), size, between)


def columns_for(vocabularies: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Return the columns of a new network, pairs of attribute and offset, for the attributes that have a vocabulary.

    Examples
    --------
    >>> columns_for({"form": ["a"], "suffix3": ["a"], "suffix4": ["a"], "feat": []})
    [('form', 0), ('suffix3', -1), ('suffix3', 0), ('suffix3', 1)]
    """
    return [
        (name, offset) for name, reach in REACH.items() if name in vocabularies for offset in range(-reach, reach + 1)
    ]


def word_rows(
    columns: IndexColumns, index: np.ndarray, tokens: Tokens | JoinedTokens, dropped: np.ndarray
) -> SparseRows:
    """Return the rows of each word, for training.

    Parameters
    ----------
    columns, index
        See `IndexColumns` and `Network`.
    tokens : Tokens or JoinedTokens
    dropped : ndarray of shape (N, C + 1), uint8
        Columns that are left out, the last one for all single morphological features.
    """
    start, row = _find_rows(columns, index, _words(tokens), dropped)
    return SparseRows(start, row, np.ones(len(row), np.float32))


def word_sums(
    columns: IndexColumns,
    index: np.ndarray,
    table: np.ndarray,
    tokens: Tokens | JoinedTokens,
    tagged: tuple[Tokens | JoinedTokens, np.ndarray] | None = None,
) -> np.ndarray:
    """Return the sum of the rows of each word, int32, as wide as the rows.

    Parameters
    ----------
    columns, index
        See `IndexColumns` and `Network`.
    table : ndarray of shape (R, E), int16
    tokens : Tokens or JoinedTokens
    tagged : tuple of Tokens or JoinedTokens and ndarray of int64, optional
        As for `Network.layer`; by default the words themselves.
    """
    found: np.ndarray = _sum_words(columns, index, _words(tokens, tagged), table)
    return found


def sums_before(columns: IndexColumns, table: np.ndarray, tokens: Tokens | JoinedTokens) -> np.ndarray:
    """Return prefix sums of the words' rows, int32[N + 1, K]: entry ``i`` is the sum over the nodes before ``i``."""
    tags = tokens.atoms[PADDING : PADDING + tokens.n_nodes, columns.between]
    sums = np.zeros((tokens.n_nodes + 1, table.shape[1]), np.int32)
    np.cumsum(table[tags], axis=0, out=sums[1:])
    return sums


class _Words(NamedTuple):
    """Words to look up: their columns of `Tokens`, the attributes of their neighbours, and their numbers."""

    atoms: np.ndarray
    feat_start: np.ndarray
    feat: np.ndarray
    beside: np.ndarray
    word: np.ndarray


def _words(tokens: Tokens | JoinedTokens, tagged: tuple[Tokens | JoinedTokens, np.ndarray] | None = None) -> _Words:
    """Return the words to look up: those of the sentence, or tagged words, with neighbours from the sentence."""
    own, word = tagged or (tokens, np.arange(tokens.n_nodes))
    return _Words(own.atoms, own.feat_start, own.feat, tokens.atoms, word)


@kernel
def _sum_words(columns: IndexColumns, index: Int32s, words: _Words, table: Int16s) -> Int32s:
    """Return the sums of the rows of each word."""
    sums = np.zeros((len(words.word), table.shape[1]), np.int32)
    start, row = _find_rows(columns, index, words, None)
    add_rows(start, row, None, table, sums)
    return sums


@kernel
def _find_rows(columns: IndexColumns, index: Int32s, words: _Words, dropped: Uint8s | None) -> tuple[Int64s, Int32s]:
    """Return offsets, int64[n + 1], and the rows of each word: of its attributes, its neighbours', and its features."""
    attribute, offset, begin = columns.attribute, columns.offset, columns.start
    own, first, feat, beside, word = words
    n_columns, count = attribute.shape[0], 0
    start, row = np.zeros(len(word) + 1, np.int64), np.empty(len(word) * n_columns + len(feat), np.int32)
    for i in range(word.shape[0]):
        if own[i + PADDING, attribute[0]] != OUTSIDE:
            for c in range(n_columns):
                if dropped is not None and dropped[i, c]:
                    continue
                if offset[c] == 0:
                    value = own[i + PADDING, attribute[c]]
                else:
                    value = beside[word[i] + PADDING + offset[c], attribute[c]]
                row[count] = index[begin[c] + value]
                count += row[count] > 0
            for f in range(first[i], first[i + 1]):
                if dropped is not None and dropped[i, n_columns]:
                    break
                row[count] = index[columns.feat + feat[f]]
                count += row[count] > 0
        start[i + 1] = count
    return start, row[:count]
