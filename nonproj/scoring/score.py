"""From parts to scores, and the transposed update: ``scores = F w`` and ``w += F' delta``.

A part is a row of words, one for each slot of its templates.  Row by row the kernels add the words' shares of the hash
(`nonproj.scoring.hashing`), shift them to places in the weight table, and sum the weights there, or add to them.
"""

from __future__ import annotations

import numpy as np

from nonproj._kernel import kernel
from nonproj.parts.geometry import DIRECTION, DISTANCE, direction_code, distance_code
from nonproj.scoring.hashing import Hashed, _between_places, _feat_places, _hash_part, _room, special_places
from nonproj.types import PartRows


def quantise(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return weights as int16, and the unit in which they are given.

    Half the bytes are half the cache misses, and look-ups are little else; the unit is 1/32767 of the largest weight,
    far below what training leaves to chance.

    Examples
    --------
    >>> quantise(np.array([0.5, -2.0, 0.0], np.float32))[0].tolist()
    [8192, -32767, 0]
    """
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    unit = largest / 32767
    return np.rint(weights / unit).astype(np.int16), unit


def score_parts(hashed: Hashed, parts: PartRows, weights: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Return the score of each part.

    Parameters
    ----------
    hashed : Hashed
        From `hash_tokens`, for the same type of part.
    parts : PartRows
        P of them.
    weights : ndarray, float32 or int16
        A power of two of them.
    unit : float
        What a weight of 1 stands for.

    Returns
    -------
    ndarray of shape (P,), float64
    """
    scores = np.empty(parts.nodes.shape[0])
    special = special_places(hashed, parts)
    _score_parts(hashed.plain, parts.nodes, parts.codes, special, weights, _sum_of(weights), float(unit), scores)
    return scores


def score_pairs(hashed: Hashed, weights: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Return the score of every arc between the words of a sentence, as `score_parts` would, without listing them.

    Parameters
    ----------
    hashed : Hashed
        For arcs.
    weights, unit
        As for `score_parts`.

    Returns
    -------
    ndarray of shape (N, N), float64
        ``s[h, m]``; minus infinity on the diagonal and in column 0.
    """
    n_nodes = len(hashed.sets.feat_start) - 1
    scores = np.empty((n_nodes, n_nodes))
    _score_pairs(hashed, weights, _sum_of(weights), float(unit), scores)
    return scores


def _sum_of(weights: np.ndarray) -> np.ndarray:
    """An accumulator: integers are summed as such, which is exact, and quick because order does not matter."""
    return np.zeros(1, np.int64 if weights.dtype == np.int16 else np.float64)


def add_parts(
    hashed: Hashed, parts: PartRows, delta: np.ndarray, step: float, weights: np.ndarray, total: np.ndarray
) -> None:
    """Add ``delta`` times each part's features to the weights, and ``step`` times that to the averager's total.

    Parameters
    ----------
    hashed, parts
        As for `score_parts`.
    delta : ndarray of shape (P,), float64
        Gold less predicted; parts of delta 0 cost nothing.
    step : float
        The number of the update, as lazy averaging needs it: the average over ``T`` updates is ``weights - total / T``.
    weights, total : ndarray, float32 and float64
        Changed in place.
    """
    special = special_places(hashed, parts)
    _add_parts(hashed.plain, parts.nodes, parts.codes, special, delta, step, weights, total)


@kernel
def _score_parts(plain, nodes, codes, special, weights, zero, unit, scores):
    """Sum the weights at each part's places."""
    shares, n_plain, wanted, shift = plain.shares, plain.n_plain, plain.codes, plain.shift
    flat, n_nodes, n_templates = shares.reshape(shares.size), shares.shape[1], shares.shape[2]
    keys = np.empty(n_templates, np.uint32)
    start, places = special.start, special.places
    for p in range(nodes.shape[0]):
        _hash_part(flat, n_nodes, n_templates, n_plain, shift, nodes, p, keys)
        total = zero[0]
        for c in wanted:
            code = np.uint32(codes[p, c])
            for t in range(n_plain):
                total += weights[keys[t] ^ code]
        for i in range(start[p], start[p + 1]) if start.shape[0] > 0 else range(0, 0):
            total += weights[places[i]]
        scores[p] = total * unit


@kernel
def _score_pairs(hashed, weights, zero, unit, scores):
    """Sum the weights at the places of every pair of words."""
    plain, sets = hashed.plain, hashed.sets
    shares, n_plain, wanted, shift = plain.shares, plain.n_plain, plain.codes, plain.shift
    atoms, feat_start, feat, firsts = sets.atoms, sets.feat_start, sets.feat, sets.firsts
    columns, between = sets.attribute, sets.coefficient
    of_head, of_modifier = sets.feat_coefficient[0], sets.feat_coefficient[1]
    first_feat = n_plain + sets.n_between
    flat, n_nodes, n_templates = shares.reshape(shares.size), scores.shape[0], shares.shape[2]
    nodes, codes = np.empty((1, 2), np.int32), np.zeros(3, np.uint32)
    keys, places = (
        np.empty(n_templates, np.uint32),
        np.empty(_room(feat_start, n_templates - first_feat, firsts), np.uint32),
    )
    for h in range(n_nodes):
        scores[h, 0] = -np.inf
        for m in range(1, n_nodes):
            nodes[0, 0], nodes[0, 1] = h, m
            codes[DIRECTION] = direction_code(h, m)
            codes[DISTANCE] = distance_code(h, m, 1 if m > h else 0)
            _hash_part(flat, n_nodes + 2, n_templates, n_plain, shift, nodes, 0, keys)
            total = zero[0]
            for c in wanted:
                code = codes[c]
                for t in range(n_plain):
                    total += weights[keys[t] ^ code]
            count, code = 0, codes[DIRECTION]
            for t in range(n_plain, first_feat):
                count = _between_places(
                    atoms,
                    firsts,
                    t - n_plain,
                    min(h, m),
                    max(h, m),
                    keys[t],
                    between[t],
                    columns[t],
                    shift,
                    code,
                    places,
                    count,
                )
            for t in range(first_feat, n_templates):
                count = _feat_places(
                    feat, feat_start, h, m, keys[t], of_head[t], of_modifier[t], shift, code, places, count
                )
            for i in range(count):
                total += weights[places[i]]
            scores[h, m] = total * unit if h != m else -np.inf


@kernel
def _add_parts(plain, nodes, codes, special, delta, step, weights, total):
    """Add to the weights at the places of each part whose delta is not zero."""
    shares, n_plain, wanted, shift = plain.shares, plain.n_plain, plain.codes, plain.shift
    flat, n_nodes, n_templates = shares.reshape(shares.size), shares.shape[1], shares.shape[2]
    keys = np.empty(n_templates, np.uint32)
    start, places = special.start, special.places
    for p in range(nodes.shape[0]):
        if delta[p] != 0.0:
            _hash_part(flat, n_nodes, n_templates, n_plain, shift, nodes, p, keys)
            for c in wanted:
                code = np.uint32(codes[p, c])
                for t in range(n_plain):
                    weights[keys[t] ^ code] += np.float32(delta[p])
                    total[keys[t] ^ code] += step * delta[p]
            for i in range(start[p], start[p + 1]) if start.shape[0] > 0 else range(0, 0):
                weights[places[i]] += np.float32(delta[p])
                total[places[i]] += step * delta[p]
