"""The first layer of the network: for each word the sum of rows for its attributes and those of the words beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.scoring.batch import Batch
from nonproj.scoring.vectors import VECTOR
from nonproj.scoring.vocabulary import FEAT, FIRST, OUTSIDE, PADDING, Tokens
from nonproj.types import Float32s, Int16s, Int32s, Int64s, Uint8s

REACH = {"form": 0, "lemma": 0, "pos": 3, "suffix2": 0, "suffix3": 1, "shape": 0, "key": 2, "morph": 2, VECTOR: 0}
"""The attributes that are looked up, and up to which distance in the words beside a word: 0 is the word alone."""

BETWEEN = "pos"
"""The attribute of the words between head and modifier."""


class Columns(NamedTuple):
    """Where the rows of a word are found.

    Attributes
    ----------
    attribute, offset, start : ndarray of shape (C,), int32
        Column ``c`` is that of the attribute in the word at the offset; with the value v its entry of the index is
        ``start[c] + v``.
    feat : int
        Start of the single morphological features of the word itself.
    size : int
        Entries of the index.
    between : int
        Number of the attribute `BETWEEN`, or of the first attribute if there is no such.
    """

    attribute: np.ndarray
    offset: np.ndarray
    start: np.ndarray
    feat: int
    size: int
    between: int

    @classmethod
    def of(cls, vocabularies: Mapping[str, Sequence[str]], columns: Sequence[tuple[str, int]]) -> Columns:
        """Return where the rows of these columns, of attribute and offset, are found."""
        attributes = [name for name in vocabularies if name != FEAT]
        sizes = [FIRST + len(vocabularies[name]) for name, _ in columns]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        numbers = np.array([attributes.index(name) for name, _ in columns], np.int32)
        offsets = np.array([offset for _, offset in columns], np.int32)
        size = int(starts[-1]) + FIRST + len(vocabularies.get(FEAT, ()))
        between = attributes.index(BETWEEN) if BETWEEN in attributes else 0
        return cls(numbers, offsets, starts[:-1].copy(), int(starts[-1]), size, between)


def columns_for(vocabularies: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Return the columns of a new network, attribute and offset, of the attributes that have a vocabulary.

    Examples
    --------
    >>> columns_for({"form": ["a"], "suffix3": ["a"], "suffix4": ["a"], "feat": []})
    [('form', 0), ('suffix3', -1), ('suffix3', 0), ('suffix3', 1)]
    """
    return [
        (name, offset) for name, reach in REACH.items() if name in vocabularies for offset in range(-reach, reach + 1)
    ]


def word_sums(
    columns: Columns,
    index: np.ndarray,
    table: np.ndarray,
    tokens: Tokens | Batch,
    tagged: tuple[Tokens | Batch, np.ndarray] | None = None,
    dropped: np.ndarray | None = None,
) -> np.ndarray:
    """Return the sum of the rows of each word, int32 or float32, as wide as the rows.

    Parameters
    ----------
    columns, index, table
        See `Columns`, `Network` and `Weights`.
    tokens : Tokens or Batch
    tagged : tuple of Tokens or Batch and ndarray of int64, optional
        As for `Network.layer`; by default the words themselves.
    dropped : ndarray of shape (N, C + 1), uint8, optional
        Columns that are left out, the last one for all single morphological features.
    """
    own, word = tagged or (tokens, np.arange(tokens.n_nodes))
    sums: Any = np.zeros((len(word), table.shape[1]), np.int32 if table.dtype == np.int16 else np.float32)
    places = (columns.attribute, columns.offset, columns.start)
    _sum_words(
        places, columns.feat, index, table, (tokens.atoms, own.atoms, word), (own.feat_start, own.feat), dropped, sums
    )
    return sums


def sums_before(columns: Columns, table: np.ndarray, tokens: Tokens | Batch) -> np.ndarray:
    """Return for each node the sum of the rows of the words before it, and last that of all, [N + 1, K]."""
    tags = tokens.atoms[PADDING : PADDING + tokens.n_nodes, columns.between]
    sums = np.zeros((tokens.n_nodes + 1, table.shape[1]), np.int32 if table.dtype == np.int16 else np.float32)
    np.cumsum(table[tags], axis=0, out=sums[1:])
    return sums


@kernel
def _sum_words(
    places: tuple[Int32s, Int32s, Int32s],
    feat_start: int,
    index: Int32s,
    table: Int16s | Float32s,
    atoms: tuple[Int32s, Int32s, Int64s],
    feats: tuple[Int32s, Int32s],
    dropped: Uint8s | None,
    sums: Int32s | Float32s,
) -> None:
    """Add up the rows of each word: of its own attributes, those of the words beside it, and its features."""
    attribute, offset, start = places
    beside, own, word = atoms
    first, feat = feats
    n_columns, width = attribute.shape[0], table.shape[1]
    for i in range(word.shape[0]):
        if own[i + PADDING, attribute[0]] == OUTSIDE:
            continue
        for c in range(n_columns):
            if dropped is not None and dropped[i, c]:
                continue
            if offset[c] == 0:
                value = own[i + PADDING, attribute[c]]
            else:
                value = beside[word[i] + PADDING + offset[c], attribute[c]]
            row = index[start[c] + value]
            if row:
                for k in range(width):
                    sums[i, k] += table[row, k]
        if dropped is not None and dropped[i, n_columns]:
            continue
        for f in range(first[i], first[i + 1]):
            row = index[feat_start + feat[f]]
            if row:
                for k in range(width):
                    sums[i, k] += table[row, k]
