"""A feed-forward network for arcs and labels, added to the linear model (after Pei, Ge and Chang 2015, section 3).

The rows of a word's attributes and its neighbours' attributes are summed, and layers over words in context
(`nonproj.networks.context`) compute from the sum a vector of the word as head and one as modifier; without such layers,
rows consist of the two.  The hidden layer of an arc is the positive part of the head's vector plus the modifier's, plus
the vector of direction and distance, plus those of the tags between the two; the score is its product with the output
weights, and the score of a label its product with the label's weights.  So a word costs a few dozen rows and these
layers, once, and an arc one product: sums over the words between are differences of two prefix sums.

Parsers use weights of 16 bits and sum integers, exactly; training (`nonproj.learning.network`) uses float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.linear.state import Arrays, Schema
from nonproj.networks.context import CONTEXT, ContextWeights, check_context
from nonproj.scoring.joined import JoinedTokens, whole
from nonproj.scoring.piece_vectors import PROJECTION, PieceVectors, ProjectedVectors, check_projection
from nonproj.scoring.vocabulary import FEAT, FIRST, PADDING, ROOT, Tokens
from nonproj.scoring.word_rows import IndexColumns, sums_before, word_sums
from nonproj.types import Float64s, Int16s, Int32s

POSITIONS = 30
"""Codes of direction and distance: ten distances to the left, to the right, and from the root."""

_ARRAYS: Arrays = {
    "index": ("int32", 1),
    "words": ("int16", 2),
    "between": ("int16", "tags units"),
    "positions": ("int16", f"{POSITIONS} units"),
    "output": ("int16", "units"),
    "labels": ("int16", "labels units"),
}


class ArcWeights(NamedTuple):
    """The weights of a network with K hidden units, int16, or float32 in training.

    Attributes
    ----------
    words : ndarray of shape (R, E), or (R, 2 * K) without layers over words in context
        Rows whose sums are the input of these layers, or else have a half for heads and a half for modifiers; row 0,
        for strings unseen in training, is zero.
    between : ndarray of shape (T, K)
    positions : ndarray of shape (POSITIONS, K)
    output : ndarray of shape (K,)
    labels : ndarray of shape (n_labels, K)
    """

    words: np.ndarray
    between: np.ndarray
    positions: np.ndarray
    output: np.ndarray
    labels: np.ndarray


class HiddenSums(NamedTuple):
    """The sums from which the hidden layers of all arcs of a sentence, or a batch, are computed.

    Attributes
    ----------
    word : ndarray of shape (N,), int64
        The word of each tagged word, see `Network.layer`.
    roots : ndarray of shape (N,), uint8
        1 for roots.
    sums : ndarray of shape (N, 2 * K), int32
        The sums of the words' rows, or the vectors that layers over words in context compute from these.
    before : ndarray of shape (N + 1, K), int32
        See `sums_before`.
    """

    word: np.ndarray
    roots: np.ndarray
    sums: np.ndarray
    before: np.ndarray


class Network:
    """Scores arcs and their labels with a trained network.

    Parameters
    ----------
    columns : IndexColumns
    index : ndarray of shape (columns.size,), int32
        The row of each entry, 0 if it has none.
    weights : ArcWeights
    scale, label_scale : float
        Factors of the scores of arcs and of labels.
    context : ContextWeights, optional
        Layers over words in context.
    projected : ProjectedVectors, optional
        Projection of the vectors by pieces, which are added to the rows of a word.
    """

    name: ClassVar[str] = "network"
    schema: ClassVar[Schema] = Schema(
        {"columns": list, "scale": float, "label_scale": float}, _ARRAYS, [Schema({}, CONTEXT), Schema({}, PROJECTION)]
    )

    def __init__(
        self,
        columns: IndexColumns,
        index: np.ndarray,
        weights: ArcWeights,
        scale: float,
        label_scale: float,
        context: ContextWeights | None = None,
        projected: ProjectedVectors | None = None,
    ):
        self.columns, self.index, self.weights, self.context = columns, index, weights, context
        self.projected = projected
        self.scale, self.label_scale = scale, label_scale
        self._labels = np.ascontiguousarray(weights.labels.T, np.float64)

    def layer(
        self, tokens: Tokens | JoinedTokens, tagged: tuple[Tokens | JoinedTokens, np.ndarray] | None = None
    ) -> HiddenSums:
        """Return the sums that the scores of all arcs of a sentence, or a batch, share.

        Parameters
        ----------
        tokens : Tokens or JoinedTokens
            The words, from which attributes of neighbours and of words between two others are taken.
        tagged : tuple of Tokens or JoinedTokens and ndarray of shape (N,), int, optional
            Tagged words as if they were a sentence, and the word of each; by default the words themselves.  Layers over
            words in context see the words.
        """
        own, word = tagged or (tokens, np.arange(tokens.n_nodes))
        word, column = np.asarray(word, np.int64), self.columns.attribute[0]
        roots = (own.atoms[PADDING : PADDING + len(word), column] == ROOT).astype(np.uint8)
        seen = (own, word) if self.context is None else None
        sums = word_sums(self.columns, self.index, self.weights.words, tokens, seen)
        if self.projected and tokens.vectors is not None:
            sums += self.projected.rows(tokens.vectors[word] if seen else tokens.vectors)
        if self.context is not None:
            sentences = (tokens.first, tokens.end) if isinstance(tokens, JoinedTokens) else whole(tokens.n_nodes)
            sums = self.context.sums(sums, sentences)[word]
        return HiddenSums(word, roots, sums, sums_before(self.columns, self.weights.between, tokens))

    def scores(self, layer: HiddenSums, head: np.ndarray, modifier: np.ndarray) -> np.ndarray:
        """Return the score of each arc, float64[A]; only the product with the scale is rounded.

        Parameters
        ----------
        layer : HiddenSums
        head, modifier : ndarray of shape (A,), int32
            Numbers of (tagged) words of the same sentence.
        """
        arcs, scores = (np.ascontiguousarray(head), np.ascontiguousarray(modifier)), np.empty(len(head))
        _score_arcs(*arcs, layer, self.weights.positions, self.weights.output, scores)
        scores *= self.scale
        return scores

    def label_scores(self, layer: HiddenSums, head: np.ndarray, modifier: np.ndarray) -> np.ndarray:
        """Return the score of each label of each arc, float64[A, n_labels]; for the parameters see `scores`."""
        arcs = np.ascontiguousarray(head), np.ascontiguousarray(modifier)
        scores = np.zeros((len(head), self._labels.shape[1]))
        _score_labels(*arcs, layer, self.weights.positions, self._labels, scores)
        scores *= self.label_scale
        return scores

    def state(self, columns: Sequence[tuple[str, int]]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` restores the network, given its columns."""
        arrays = dict(zip(_ARRAYS, (self.index, *self.weights), strict=True))
        scales = {"scale": float(self.scale), "label_scale": float(self.label_scale)}
        arrays |= self.context.arrays() if self.context else {}
        arrays |= dict.fromkeys(PROJECTION, self.projected.matrix) if self.projected else {}
        return {"columns": [list(column) for column in columns]} | scales, arrays

    @classmethod
    def from_state(
        cls,
        meta: dict[str, Any],
        arrays: dict[str, np.ndarray],
        vocabularies: Mapping[str, Sequence[str]],
        n_labels: int,
        pieces: PieceVectors | None = None,
    ) -> Network:
        """Return the network of a `state`, for the vocabularies, number of labels and vectors by pieces of its model.

        Raises
        ------
        ModelError
            If columns, sizes or rows are invalid: the kernels rely on them.
        """
        columns, scales = meta["columns"], (meta["scale"], meta["label_scale"])
        if not all(map(_is_column, columns)):
            raise ModelError("the network has a column that is not a pair of attribute and offset")
        if len({tuple(column) for column in columns}) < len(columns):
            raise ModelError("the network has a column twice")
        unknown = sorted({name for name, _ in columns} - (vocabularies.keys() - {FEAT}))
        if unknown:
            raise ModelError(f"the network needs the attribute {unknown[0][:40]!r}")
        if not columns or not arrays["output"].size:
            raise ModelError("the network is empty")
        if not all(0.0 <= scale < 1e30 for scale in scales):
            raise ModelError("a scale of the network is not a number from 0")
        found = IndexColumns.of(vocabularies, [(name, offset) for name, offset in columns])
        index, *tables = (np.ascontiguousarray(arrays[name]) for name in _ARRAYS)
        weights = ArcWeights(*tables)
        context = check_context(arrays, 2 * len(weights.output))
        width = 0 if context is None else len(context.output)
        tags = vocabularies[[name for name in vocabularies if name != FEAT][found.between]]
        for name, size, expected in (
            ("index", len(index), found.size),
            ("words", weights.words.shape[1], width or 2 * len(weights.output)),
            ("between", len(weights.between), FIRST + len(tags)),
            ("labels", len(weights.labels), n_labels),
        ):
            if size != expected:
                raise ModelError(f"the network's array '{name}' is of size {size}; {expected} is expected")
        if index.min() < 0 or index.max() >= len(weights.words):
            raise ModelError("the network lacks some of its rows")
        return cls(found, index, weights, *scales, context, check_projection(arrays, PROJECTION, weights.words, pieces))


def _is_column(column: object) -> bool:
    """Return whether a JSON value is a pair of attribute and offset."""
    if type(column) is not list or [type(item) for item in column] != [str, int]:
        return False
    return -PADDING <= column[1] <= PADDING


@kernel
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
def _score_arcs(
    head: Int32s, modifier: Int32s, layer: HiddenSums, positions: Int16s, output: Int16s, scores: Float64s
) -> None:
    """Write the product of each arc's hidden layer with the output weights, which is exact."""
    word, roots, sums, before = layer
    size = output.shape[0]
    for a in range(head.shape[0]):
        h, m = word[head[a]], word[modifier[a]]
        code, last, low = position_code(h, m, roots[head[a]]), max(h, m), min(h, m) + 1
        total = 0
        for k in range(size):
            x = sums[head[a], k] + sums[modifier[a], size + k] + positions[code, k] + (before[last, k] - before[low, k])
            if x > 0:
                total += x * output[k]
        scores[a] = total


@kernel
def _score_labels(
    head: Int32s, modifier: Int32s, layer: HiddenSums, positions: Int16s, labels: Float64s, scores: Float64s
) -> None:
    """Add the product of each arc's hidden layer with the weights of the labels, float64[K, n_labels].

    These are integers, whose sums are below 2^53 and therefore exact in any order.
    """
    word, roots, sums, before = layer
    size = labels.shape[0]
    for a in range(head.shape[0]):
        h, m = word[head[a]], word[modifier[a]]
        code, last, low = position_code(h, m, roots[head[a]]), max(h, m), min(h, m) + 1
        for k in range(size):
            x = sums[head[a], k] + sums[modifier[a], size + k] + positions[code, k] + (before[last, k] - before[low, k])
            if x > 0:
                for label in range(labels.shape[1]):
                    scores[a, label] += x * labels[k, label]
