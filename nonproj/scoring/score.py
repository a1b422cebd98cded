"""From parts to scores, ``scores = F w``, and the transposed update, ``w += F' delta``.

A row of F has a one at the place of each feature of a part, see `nonproj.scoring.hashing`; w is a weight table.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.perceptron import move
from nonproj.linear.weights import zero_of
from nonproj.parts.geometry import DIRECTION, DISTANCE, direction_code, distance_code
from nonproj.scoring.batch import whole
from nonproj.scoring.hashing import BLOCK, Hashed, Places, _new_block, _write_places, list_places
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, PartRows, Uint8s


def score_parts(hashed: Hashed, parts: PartRows, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return the score of each part.

    Parameters
    ----------
    hashed : Hashed
        From `hash_tokens`, for the same type of part.
    parts : PartRows
        P of them.
    weights : ndarray, float32 or int16
        A table whose size is a power of two.
    scale : float
        Factor of all scores, from `nonproj.linear.weights.quantise`.

    Returns
    -------
    ndarray of shape (P,), float64
    """
    scores = np.empty(parts.nodes.shape[0])
    _score_parts(hashed, parts.nodes, parts.codes, weights, zero_of(weights), float(scale), scores)
    return scores


def score_pairs(hashed: Hashed, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return the score of every arc: ``s[h, m]``, float64[N, N], minus infinity on the diagonal and in column 0.

    The parameters are those of `score_parts`, with the templates of arcs.
    """
    return score_pairs_of(whole(len(hashed.sets.feat_start) - 1), hashed, weights, scale)[0]


def score_pairs_of(
    sentences: tuple[Int32s, Int32s], hashed: Hashed, weights: np.ndarray, scale: float = 1.0
) -> list[np.ndarray]:
    """Return what `score_pairs` returns, for each sentence of a batch with these ``first`` and ``end``."""
    first, end = sentences
    sizes = (end - first).astype(np.int64)
    ends = np.cumsum(sizes * sizes)
    scores = np.empty(int(ends[-1]))
    _score_pairs(hashed, first, end, weights, zero_of(weights), float(scale), scores)
    squares = zip(np.split(scores, ends[:-1]), sizes.tolist(), strict=True)
    return [square.reshape(n_nodes, n_nodes) for square, n_nodes in squares]


def add_parts(
    hashed: Hashed, parts: PartRows, delta: np.ndarray, step: float, weights: np.ndarray, total: np.ndarray
) -> None:
    """Add ``delta`` times each part's features to the weights, and ``step`` times that to the running total.

    Parameters
    ----------
    hashed, parts
        As for `score_parts`.
    delta : ndarray of shape (P,), float64
        Gold minus predicted; parts of delta 0 cost nothing.
    step : float
        Number of the update, for lazy averaging: the average over ``T`` updates is ``weights - total / T``.
    weights, total : ndarray, float32 and float64
        Changed in place.
    """
    changed = np.flatnonzero(delta)
    listed = list_places(hashed, PartRows(parts.nodes[changed], parts.codes[changed]))
    _add(listed, delta[changed], step, weights, total)


@kernel
def _score_parts(
    hashed: Hashed,
    nodes: Int32s,
    codes: Uint8s,
    weights: Float32s | Int16s,
    zero: Float64s | Int64s,
    scale: float,
    scores: Float64s,
) -> None:
    """Sum the weights at each part's places."""
    block = _new_block(hashed, min(BLOCK, nodes.shape[0]))
    start, places = block
    memory = weights.view(np.uint8)
    for first in range(0, nodes.shape[0], BLOCK):
        for p in range(_write_places(hashed, nodes, codes, first, block, memory, weights.itemsize)):
            total = zero[0]
            for i in range(start[p], start[p + 1]):
                total += weights[places[i]]
            scores[first + p] = total * scale


@kernel
def _score_pairs(
    hashed: Hashed,
    begin: Int32s,
    end: Int32s,
    weights: Float32s | Int16s,
    zero: Float64s | Int64s,
    scale: float,
    scores: Float64s,
) -> None:
    """Sum the weights at the places of the arcs between all words of each sentence, and write them by head."""
    nodes, codes, filled = np.empty((BLOCK, 2), np.int32), np.zeros((BLOCK, 3), np.uint8), np.empty(BLOCK, np.int64)
    block, memory, row = _new_block(hashed, BLOCK), weights.view(np.uint8), 0
    start, places = block
    for s in range(begin.shape[0]):
        h, m, n_nodes = begin[s], begin[s], end[s] - begin[s]
        last = row + n_nodes * n_nodes
        while row < last:
            count = 0
            while count < BLOCK and row < last:
                if m == h or m == begin[s]:
                    scores[row] = -np.inf
                else:
                    direction = direction_code(h, m)
                    nodes[count, 0], nodes[count, 1], filled[count] = h, m, row
                    codes[count, DIRECTION], codes[count, DISTANCE] = direction, distance_code(h, m, direction - 1)
                    count += 1
                row, m = row + 1, m + 1
                if m == end[s]:
                    h, m = h + 1, begin[s]
            for p in range(_write_places(hashed, nodes[:count], codes, 0, block, memory, weights.itemsize)):
                total = zero[0]
                for i in range(start[p], start[p + 1]):
                    total += weights[places[i]]
                scores[filled[p]] = total * scale


@kernel
def _add(listed: Places, delta: Float64s, step: float, weights: Float32s, total: Float64s) -> None:
    """Add each part's delta to the weights at its places."""
    start, places = listed
    for p in range(delta.shape[0]):
        for i in range(start[p], start[p + 1]):
            move(weights, total, places[i], delta[p], step)
