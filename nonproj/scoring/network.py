"""A feed-forward network that scores arcs, beside the linear model (after Pei, Ge and Chang 2015, section 3).

A word has a vector as head and one as modifier, each the sum of the rows of its attributes and of those of the words
beside it.  The hidden layer of an arc is the positive part of the head's vector plus the modifier's, plus that of
direction and distance, plus those of the tags between the two; the score is its product with the output weights.  So a
word costs a few dozen rows, once, and an arc one product: sums over the words between are differences of two prefix
sums.

Parsers use weights of 16 bits and sum integers, exactly; training uses float32 (`nonproj.learning.network`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj._kernel import inlined_kernel, kernel
from nonproj.errors import ModelError
from nonproj.scoring.batch import Batch
from nonproj.scoring.vocabulary import FEAT, FIRST, MARGIN, OUTSIDE, ROOT, Tokens
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, Uint8s

REACH = {"form": 0, "lemma": 0, "pos": 3, "suffix2": 0, "suffix3": 1, "shape": 0, "key": 2, "morph": 2}
"""The attributes that are looked up, and up to which distance in the words beside a word: 0 is the word alone."""

BETWEEN = "pos"
"""The attribute of the words between head and modifier."""

POSITIONS = 30
"""Codes of direction and distance: ten distances to the left, to the right, and from the root."""

_ZEROS = np.zeros(1), np.zeros(1, np.int64)
_FIELDS = ("index", "words", "between", "positions", "output")


class Weights(NamedTuple):
    """The weights of a network with K hidden units, int16, or float32 in training.

    Attributes
    ----------
    words : ndarray of shape (R, 2 * K)
        For each row its vector for heads, then that for modifiers; row 0 is zero, for what was not seen in training.
    between : ndarray of shape (T, K)
    positions : ndarray of shape (POSITIONS, K)
    output : ndarray of shape (K,)
    """

    words: np.ndarray
    between: np.ndarray
    positions: np.ndarray
    output: np.ndarray


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


class Network:
    """Scores arcs with a trained network.

    Parameters
    ----------
    columns : Columns
    index : ndarray of shape (columns.size,), int32
        The row of each entry, 0 if it has none.
    weights : Weights
    scale : float
        Factor of the scores.
    """

    def __init__(self, columns: Columns, index: np.ndarray, weights: Weights, scale: float):
        self.columns, self.index, self.weights, self.scale = columns, index, weights, scale

    def scores(self, tokens: Tokens | Batch, head: np.ndarray, modifier: np.ndarray) -> np.ndarray:
        """Return the score of each arc, float64[A].

        Parameters
        ----------
        tokens : Tokens or Batch
            Arcs are between words of the same sentence.
        head, modifier : ndarray of shape (A,), int32
        """
        return self.tagged_scores(tokens, tokens, np.arange(tokens.n_nodes), head, modifier)

    def tagged_scores(
        self, tokens: Tokens | Batch, tagged: Tokens | Batch, word: np.ndarray, head: np.ndarray, modifier: np.ndarray
    ) -> np.ndarray:
        """Return the score of each arc between tagged words, float64[A].

        Parameters
        ----------
        tokens : Tokens
            The words of the sentence: the attributes of words beside a word and between two words are theirs.
        tagged : Tokens
            The tagged words as if they were a sentence.
        word : ndarray of shape (N,), int
            The word that each tagged word is.
        head, modifier : ndarray of shape (A,), int32
            Numbers of tagged words.
        """
        word, column = np.asarray(word, np.int64), self.columns.attribute[0]
        roots = (tagged.atoms[MARGIN : MARGIN + len(word), column] == ROOT).astype(np.uint8)
        sums = word_sums(self.columns, self.index, self.weights.words, tokens, (tagged, word))
        before = sums_before(self.columns, self.weights.between, tokens)
        arcs = np.ascontiguousarray(head), np.ascontiguousarray(modifier)
        return score_arcs(arcs, (word, roots), sums, before, *self.weights[2:]) * self.scale

    def state(self, columns: Sequence[tuple[str, int]]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` makes the network; `columns_for` gave the columns."""
        arrays = dict(zip(_FIELDS, (self.index, *self.weights), strict=True))
        return {"columns": [list(column) for column in columns], "scale": float(self.scale)}, arrays

    @classmethod
    def from_state(
        cls, meta: dict[str, Any], arrays: Mapping[str, np.ndarray], vocabularies: Mapping[str, Sequence[str]]
    ) -> Network:
        """Return the network of a `state`, for the vocabularies of its model.

        Raises
        ------
        ModelError
            If it is not one: columns, shapes and rows are checked, which the kernels rely on.
        """
        columns = meta.get("columns")
        if set(meta) != {"columns", "scale"} or type(columns) is not list or not all(map(_is_column, columns)):
            raise ModelError("the network lacks its columns, pairs of attribute and offset, or its scale")
        unknown = sorted({name for name, _ in columns} - (vocabularies.keys() - {FEAT}))
        if unknown or not columns:
            raise ModelError(f"the network needs the attribute '{unknown[0]}'" if unknown else "the network is empty")
        if type(meta["scale"]) is not float or not 0.0 < meta["scale"] < 1e30:
            raise ModelError("the scale of the network is not a positive number")
        found = Columns.of(vocabularies, [(name, offset) for name, offset in columns])
        index, *tables = (arrays.get(name) for name in _FIELDS)
        _check(found, index, tables, vocabularies)
        return cls(found, np.ascontiguousarray(index), Weights(*map(np.ascontiguousarray, tables)), meta["scale"])


def network_of(model: Any) -> Network | None:
    """Return the network of a `nonproj.model.Model`, or None if it has none."""
    state = model.component("network")
    return Network.from_state(state[0], state[1], model.vocabularies) if state else None


def _is_column(column: object) -> bool:
    """Return whether this is a pair of attribute and offset."""
    if type(column) is not list or [type(item) for item in column] != [str, int]:
        return False
    return -MARGIN <= column[1] <= MARGIN


def _check(columns: Columns, index: Any, tables: list[Any], vocabularies: Mapping[str, Sequence[str]]) -> None:
    """Raise `ModelError` unless the arrays fit each other and the columns."""
    if any(array is None for array in (index, *tables)):
        raise ModelError(f"the network lacks one of the arrays {', '.join(_FIELDS)}")
    if index.dtype != np.int32 or index.shape != (columns.size,):
        raise ModelError("the index of the network does not fit the vocabularies")
    size = tables[-1].shape[0] if tables[-1].ndim == 1 else 0
    name = [name for name in vocabularies if name != FEAT][columns.between]
    shapes = [(tables[0].shape[0], 2 * size), (FIRST + len(vocabularies[name]), size), (POSITIONS, size), (size,)]
    if not size or [table.shape for table in tables] != shapes or any(table.dtype != np.int16 for table in tables):
        raise ModelError("the network has arrays of wrong shapes")
    if index.min() < 0 or index.max() >= len(tables[0]):
        raise ModelError("the network lacks some of its rows")


def word_sums(
    columns: Columns,
    index: np.ndarray,
    table: np.ndarray,
    tokens: Tokens | Batch,
    tagged: tuple[Tokens | Batch, np.ndarray] | None = None,
    dropped: np.ndarray | None = None,
) -> np.ndarray:
    """Return the sum of the rows of each word, [N, 2 * K], int32 or float32.

    Parameters
    ----------
    columns, index, table
        See `Columns`, `Network` and `Weights`.
    tokens : Tokens or Batch
    tagged : tuple of Tokens or Batch and ndarray of int64, optional
        As for `Network.tagged_scores`; by default the words themselves.
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
    tags = tokens.atoms[MARGIN : MARGIN + tokens.n_nodes, columns.between]
    sums = np.zeros((tokens.n_nodes + 1, table.shape[1]), np.int32 if table.dtype == np.int16 else np.float32)
    np.cumsum(table[tags], axis=0, out=sums[1:])
    return sums


def score_arcs(
    arcs: tuple[np.ndarray, np.ndarray],
    words: tuple[np.ndarray, np.ndarray],
    sums: np.ndarray,
    before: np.ndarray,
    positions: np.ndarray,
    output: np.ndarray,
) -> np.ndarray:
    """Return the product of each arc's hidden layer with the output weights, float64[A], of integers exact.

    Parameters
    ----------
    arcs : tuple of two ndarrays of shape (A,), int32
        Heads and modifiers.
    words : tuple of ndarray of shape (N,), int64 and uint8
        The word that each tagged word is, as for `Network.tagged_scores`, and whether it is the root.
    sums, before
        From `word_sums` and `sums_before`.
    positions, output
        See `Weights`.
    """
    scores = np.empty(len(arcs[0]))
    _score_arcs(*arcs, words, sums, before, positions, output, _ZEROS[output.dtype == np.int16], scores)
    return scores


@inlined_kernel
def position_code(h: int, m: int, root: int) -> int:
    """Return the code of direction and distance of an arc, below `POSITIONS`; ``root`` if the head is the root."""
    distance = abs(h - m)
    if distance <= 6:
        code = distance - 1
    elif distance <= 8:
        code = 6
    elif distance <= 12:
        code = 7
    else:
        code = 8 if distance <= 20 else 9
    if root:
        return 20 + code
    return code if h < m else 10 + code


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
        if own[i + MARGIN, attribute[0]] == OUTSIDE:
            continue
        for c in range(n_columns):
            if dropped is not None and dropped[i, c]:
                continue
            if offset[c] == 0:
                value = own[i + MARGIN, attribute[c]]
            else:
                value = beside[word[i] + MARGIN + offset[c], attribute[c]]
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


@kernel
def _score_arcs(
    head: Int32s,
    modifier: Int32s,
    words: tuple[Int64s, Uint8s],
    sums: Int32s | Float32s,
    before: Int32s | Float32s,
    positions: Int16s | Float32s,
    output: Int16s | Float32s,
    zero: Int64s | Float64s,
    scores: Float64s,
) -> None:
    """Write the product of each arc's hidden layer with the output weights."""
    word, roots = words
    size = output.shape[0]
    for a in range(head.shape[0]):
        h, m = word[head[a]], word[modifier[a]]
        code, last, low = position_code(h, m, roots[head[a]]), max(h, m), min(h, m) + 1
        total = zero[0]
        for k in range(size):
            x = sums[head[a], k] + sums[modifier[a], size + k] + positions[code, k] + (before[last, k] - before[low, k])
            if x > 0:
                total += x * output[k]
        scores[a] = total
