"""Upper bounds on the scores of grandparent parts, template by template, without scoring any part.

Riedel, Smith and McCallum (2012), section 4.3.2: two of the three words of ``g -> h -> m`` are fixed, and each template
takes its maximum over the third word, independently of the other templates.  Words with the same share of a template's
hash are one *type* (one type for each tag, if the template has tags), so a template costs one look-up for each triple
of types, not of words.  A template that ignores one of the words costs one look-up for each pair of types, and its
score is exact.  All geometric codes of a triple of types are on one cache line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import check_count
from nonproj.scoring.hashing import WordHashes
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, PartRows, Uint32s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ORDERS = np.array([[1, 1, 1], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 0]], np.uint8)
"""The six orders of three words: ``h > g``, ``m > h`` and ``m > g``."""

_PAIRS = np.array([[1, 2], [0, 2], [0, 1]], np.int32)
"""For each slot of ``g h m``, the two other slots."""


class GrandparentBounds(NamedTuple):
    """Upper bounds on the scores of a sentence's grandparent parts.

    The part ``g -> h -> m`` scores at most ``upper[g, h, m]``, float64[N, N, N], minus infinity where there is no part.
    ``lookups`` counts triples of types; scoring all parts takes one look-up for each part and template.
    """

    upper: np.ndarray
    lookups: int


def parts_of_triples(triples: ArrayLike) -> PartRows:
    """Return grandparent parts, given by their words ``g h m`` int[P, 3], with their codes.

    Raises
    ------
    ValueError
        If they are not rows of three integers.

    Examples
    --------
    >>> parts_of_triples([[0, 2, 1]]).codes.tolist()
    [[0, 1, 8]]
    """
    nodes = np.ascontiguousarray(triples, np.int32)
    if nodes.ndim != 2 or nodes.shape[1] != 3:
        raise ValueError(f"triples has the shape {nodes.shape}; (P, 3) is expected")
    g, h, m = nodes.T
    return PartRows(nodes, _codes_of(np.stack([h > g, m > h, m > g], axis=1)))


def _codes_of(orders: np.ndarray) -> np.ndarray:
    """Return the geometric codes of some orders, as in `nonproj.parts.geometry`."""
    above, below, across = orders.astype(np.uint8).T
    return np.stack([0 * above, 1 + below, 3 + 4 * above + 2 * below + across], axis=1).astype(np.uint8)


def grandparent_bounds(hashed: WordHashes, weights: np.ndarray, scale: float = 1.0) -> GrandparentBounds:
    """Return upper bounds on the scores of all grandparent parts of a sentence.

    The parameters are those of `nonproj.scoring.scorer.score_parts`, with the grandparent templates.  The bounds are
    true for int16 weights, whose sums are exact, and true up to rounding for float32.

    Raises
    ------
    ValueError
        If the size of the weight table is wrong, the scale is not positive, a template is over sets of values, or
        (`SizeError`) there are more than `nonproj.parts.arcs.MAX_PARTS` triples of words.

    Notes
    -----
    Equations 11 to 13 of Riedel et al. (2012), tightened in three ways: each maximum is over the words of the sentence
    and for the order of the part's own three words; ``g`` and ``m`` may also be the fixed pair; and exact template
    scores are added outside the minimum of the three bounds.

    Examples
    --------
    >>> from nonproj.scoring.vocabulary import TokenEncoder
    >>> from nonproj.scoring.hashing import hash_tokens
    >>> from nonproj.scoring.templates import part_templates
    >>> from nonproj.types import Sentence
    >>> rows = [[str(i), "_", "_", "_", tag, "_", "_", "_", "_", "_"] for i, tag in enumerate("NVN", 1)]
    >>> encoder = TokenEncoder.from_sentences([Sentence(rows)], ["pos"], rare=1)
    >>> spec = {"part": "grandparent", "codes": ["none"], "templates": ["g.pos m.pos"]}
    >>> table = part_templates(spec, ["pos"])
    >>> hashed = hash_tokens(encoder.encode(Sentence(rows)), table, 16)
    >>> bounds = grandparent_bounds(hashed, np.arange(16, dtype=np.float32))
    >>> bounds.lookups, bool(bounds.upper[0, 2, 1] == bounds.upper[0, 2, 3])
    (9, True)
    """
    plain, n_weights = hashed.plain, 1 << (32 - int(hashed.plain.shift))
    if weights.shape != (n_weights,):
        raise ValueError(f"weights has the shape {weights.shape}; ({n_weights},) is expected")
    if not 0.0 < scale < np.inf:
        raise ValueError(f"scale is {scale}; a number above 0 is expected")
    if plain.n_plain != plain.shares.shape[2]:
        raise ValueError("hashed has templates over sets of values; grandparent templates are expected")
    n_nodes = plain.shares.shape[1] - 2
    check_count(n_nodes**3, "triples", n_nodes - 1)
    codes = np.ascontiguousarray(_codes_of(ORDERS)[:, plain.codes].T.astype(np.uint32))
    exact, maxima = np.zeros((2, 3, len(ORDERS), n_nodes, n_nodes))
    lookups = _bound_pairs(plain.shares, plain.shift, codes, weights, _PAIRS, exact, maxima)
    upper = np.empty((n_nodes, n_nodes, n_nodes))
    _combine(exact, maxima, float(scale), upper)
    return GrandparentBounds(upper, int(lookups))


@kernel
def _find_types(shares: Uint32s, t: int, types: Int64s, distinct: Uint32s, counts: Int64s) -> None:
    """Write a template's distinct shares in each slot, their number, and each node's type: the index of its share."""
    for slot in range(3):
        count = 0
        for node in range(types.shape[1]):
            share = shares[slot, node, t]
            found = 0
            while found < count and distinct[slot, found] != share:
                found += 1
            if found == count:
                distinct[slot, count] = share
                count += 1
            types[slot, node] = found
        counts[slot] = count


@kernel
def _maximise(
    distinct: Uint32s, counts: Int64s, shift: np.uint32, codes: Uint32s, weights: Float32s | Int16s, best: Float32s
) -> float:
    """Write ``best[k, order, i, j]``, a template's maximum over the types of slot ``k`` for types of the two others."""
    n_orders = codes.shape[1]
    best[0, :, : counts[1], : counts[2]] = -np.inf
    best[1, :, : counts[0], : counts[2]] = -np.inf
    best[2, :, : counts[0], : counts[1]] = -np.inf
    places = np.empty((counts[1], counts[2]), np.uint32)
    values = np.empty((n_orders, counts[2]), np.float32)
    touched = 0.0
    for a in range(counts[0]):
        # Touch all places first: these independent reads overlap their cache misses.
        for b in range(counts[1]):
            key = np.uint32(distinct[0, a] + distinct[1, b])
            for c in range(counts[2]):
                places[b, c] = np.uint32(np.uint32(key + distinct[2, c]) >> shift)
                touched += weights[places[b, c]]
        for b in range(counts[1]):
            for c in range(counts[2]):
                for order in range(n_orders):
                    values[order, c] = weights[places[b, c] ^ codes[0, order]]
                for k in range(1, codes.shape[0]):
                    for order in range(n_orders):
                        values[order, c] += weights[places[b, c] ^ codes[k, order]]
            for order in range(n_orders):
                _update_maximum(best[0, order, b], values[order])
                _update_maximum(best[1, order, a], values[order])
                for c in range(counts[2]):
                    best[2, order, a, b] = max(best[2, order, a, b], values[order, c])
    return touched


@kernel
def _update_maximum(row: Float32s, values: Float32s) -> None:
    """Replace the first entries of a row by these values where the values are greater."""
    for c in range(values.shape[0]):
        row[c] = max(row[c], values[c])


@kernel
def _bound_pairs(
    shares: Uint32s,
    shift: np.uint32,
    codes: Uint32s,
    weights: Float32s | Int16s,
    pairs: Int32s,
    exact: Float64s,
    maxima: Float64s,
) -> int:
    """Add each template to ``exact[k]`` if it ignores slot ``k``, else to all of ``maxima``; return the look-ups."""
    n_orders, n_nodes = exact.shape[1], exact.shape[2]
    types = np.empty((3, n_nodes), np.int64)
    distinct = np.empty((3, n_nodes), np.uint32)
    counts = np.empty(3, np.int64)
    best = np.empty((3, n_orders, n_nodes, n_nodes), np.float32)
    lookups = 0
    for t in range(shares.shape[2]):
        _find_types(shares[:, :n_nodes], t, types, distinct, counts)
        lookups += counts[0] * counts[1] * counts[2]
        _maximise(distinct, counts, shift, codes, weights, best)
        ignored = -1
        for k in range(3):
            if counts[k] == 1:
                ignored = k
        for k in range(3):
            if ignored < 0 or ignored == k:
                sums = exact if ignored == k else maxima
                first, second = types[pairs[k, 0]], types[pairs[k, 1]]
                for order in range(n_orders):
                    for i in range(n_nodes):
                        for j in range(n_nodes):
                            sums[k, order, i, j] += best[k, order, first[i], second[j]]
    return lookups


@kernel
def _combine(exact: Float64s, maxima: Float64s, scale: float, upper: Float64s) -> None:
    """Write ``upper[g, h, m]``: the exact scores plus the least of the three maxima, scaled."""
    n_nodes = upper.shape[0]
    for g in range(n_nodes):
        for h in range(n_nodes):
            for m in range(n_nodes):
                if h == 0 or m == 0 or h == m or g in (h, m):
                    upper[g, h, m] = -np.inf
                    continue
                if m > h:
                    order = 0 if h > g else (1 if m > g else 2)
                else:
                    order = 5 if h < g else (3 if m > g else 4)
                least = min(maxima[0, order, h, m], maxima[1, order, g, m], maxima[2, order, g, h])
                known = exact[0, order, h, m] + exact[1, order, g, m] + exact[2, order, g, h]
                upper[g, h, m] = (known + least) * scale
