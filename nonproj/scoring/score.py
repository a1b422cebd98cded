"""From parts to scores, ``scores = F w``, and the transposed update, ``w += F' delta``.

A row of F has a one at the place of each feature of a part, see `nonproj.scoring.hashing`; w is a weight table.
"""

from __future__ import annotations

import numpy as np

from nonproj._kernel import kernel
from nonproj.parts.geometry import DIRECTION, DISTANCE, direction_code, distance_code
from nonproj.scoring.hashing import BLOCK, Hashed, Places, _new_block, _write_places, list_places
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, PartRows, Uint8s

_ZEROS = np.zeros(1), np.zeros(1, np.int64)

_AT_ONCE = 1 << 18
"""Weights that are rounded at a time: a copy of a whole table would take much memory."""


def quantise(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return weights rounded to int16, and their scale: a weight is the integer times the scale.

    The scale is 1/32767 of the largest weight.  Half the bytes are half the cache misses, and look-ups take most time.

    Examples
    --------
    >>> quantise(np.array([0.5, -2.0, 0.0], np.float32))[0].tolist()
    [8192, -32767, 0]
    """
    largest = float(max(weights.max(initial=0.0), -weights.min(initial=0.0))) or 1.0
    scale = largest / 32767
    rounded = np.empty(weights.shape, np.int16)
    for begin in range(0, len(weights), _AT_ONCE):
        rounded[begin : begin + _AT_ONCE] = np.rint(weights[begin : begin + _AT_ONCE] / scale)
    return rounded, scale


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
        Factor of all scores, from `quantise`.

    Returns
    -------
    ndarray of shape (P,), float64
    """
    scores = np.empty(parts.nodes.shape[0])
    _score_parts(hashed, parts.nodes, parts.codes, weights, _zero_of(weights), float(scale), scores)
    return scores


def score_pairs(hashed: Hashed, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return the score of every arc: ``s[h, m]``, float64[N, N], minus infinity on the diagonal and in column 0.

    The parameters are those of `score_parts`, with the templates of arcs.
    """
    n_nodes = len(hashed.sets.feat_start) - 1
    pairs = PartRows(np.empty(((n_nodes - 1) ** 2, 2), np.int32), np.zeros(((n_nodes - 1) ** 2, 3), np.uint8))
    _fill_pairs(*pairs)
    scores = np.full((n_nodes, n_nodes), -np.inf)
    _arrange_pairs(score_parts(hashed, pairs, weights, scale), scores)
    return scores


def _zero_of(weights: np.ndarray) -> np.ndarray:
    """Return a zero of the type that sums the weights: sums of integers are exact, and quick because order is free."""
    return _ZEROS[weights.dtype == np.int16]


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
def _fill_pairs(nodes: Int32s, codes: Uint8s) -> None:
    """Write the words and codes of the arcs between all words, by head."""
    n_words, p = int(np.sqrt(nodes.shape[0])), 0
    for h in range(n_words + 1):
        for m in range(1, n_words + 1):
            if h != m:
                direction = direction_code(h, m)
                nodes[p, 0], nodes[p, 1] = h, m
                codes[p, DIRECTION], codes[p, DISTANCE] = direction, distance_code(h, m, direction - 1)
                p += 1


@kernel
def _arrange_pairs(flat: Float64s, scores: Float64s) -> None:
    """Write the scores of the arcs between all words, in the order of `_fill_pairs`, to ``scores[h, m]``."""
    n_nodes, p = scores.shape[0], 0
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if h != m:
                scores[h, m] = flat[p]
                p += 1


@kernel
def _add(listed: Places, delta: Float64s, step: float, weights: Float32s, total: Float64s) -> None:
    """Add each part's delta to the weights at its places."""
    start, places = listed
    for p in range(delta.shape[0]):
        for i in range(start[p], start[p + 1]):
            weights[places[i]] += np.float32(delta[p])
            total[places[i]] += step * delta[p]
