"""Upper bounds of grandparent scores, template by template, and scores of single chains.

Riedel, Smith and McCallum (2012), section 4.3.2: of the three words ``g -> h -> m`` two are known, and each template
is given the best value that the third can have.  The third is any word of the sentence on the same side of the other
two, for each template another; the side decides the geometrical codes.  Words that look alike to a template are one
*type* to it (in most slots, one for each tag), so that a template costs a look-up for each triple of types, in place of
one for each triple of words, and all codes of a triple of types are on one cache line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._kernel import kernel
from .score import Hashed, Parts
from .templates import CODE_BITS, TemplateTable

ORDERS = np.array([[1, 1, 1], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 0]], np.uint8)
"""The six orders of three words: whether ``h > g``, ``m > h`` and ``m > g``; first those with ``m > h``."""


class ChainBounds(NamedTuple):
    """Upper bounds of the scores of chains ``g -> h -> m`` of which two words are known.

    Attributes
    ----------
    over_g : ndarray of shape (N, N), float64
        No chain over the arc ``h -> m`` scores more than ``over_g[h, m]``.
    over_m : ndarray of shape (N, N), float64
        No chain below the arc ``g -> h`` scores more than ``over_m[g, h]``.
    looked_up : int
        Triples of types that were looked up.  To score every chain takes one for each chain and template.

    Both are minus infinity where there is no such chain.
    """

    over_g: np.ndarray
    over_m: np.ndarray
    looked_up: int


def chain_parts(chains) -> Parts:
    """Return some chains as parts, with their codes.

    Parameters
    ----------
    chains : array-like of shape (P, 3), int
        The words ``g``, ``h``, ``m`` of each.

    Raises
    ------
    ValueError
        If they are not rows of three integers.

    Examples
    --------
    >>> chain_parts([[0, 2, 1]]).codes.tolist()
    [[0, 1, 8]]
    """
    nodes = np.ascontiguousarray(chains, np.int32)
    if nodes.ndim != 2 or nodes.shape[1] != 3:
        raise ValueError(f"chains have the shape {nodes.shape}; (P, 3) is expected")
    g, h, m = nodes.T
    codes = np.zeros(nodes.shape, np.uint8)
    codes[:, 1], codes[:, 2] = _codes_of(np.stack([h > g, m > h, m > g], axis=1))
    return Parts(nodes, codes)


def _codes_of(orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The codes *direction* and *order* of some orders, as `nonproj.scoring.score.grandparent_parts` has them."""
    orders = orders.astype(np.uint8)
    return 1 + orders[:, 1], 3 + 4 * orders[:, 0] + 2 * orders[:, 1] + orders[:, 2]


def best_codes(weights: np.ndarray, table: TemplateTable) -> np.ndarray:
    """Sum the weights of all codes at every place of a table, for the best position of the grandparent.

    Done once for a model: what is left of a look-up is one place.

    Parameters
    ----------
    weights : ndarray, float32 or int16
        A power of two of them.
    table : TemplateTable
        The templates over grandparents.

    Returns
    -------
    ndarray of shape (n_weights, 2), float32
        No chain whose modifier is to the left (0) or right (1) of its head has more from a template that hashes to the
        place, in units of the weights.

    Examples
    --------
    >>> from nonproj.scoring.templates import compile_templates
    >>> spec = {"part": "grandparent", "codes": ["direction"], "templates": ["g.pos m.pos"]}
    >>> best_codes(np.arange(16, dtype=np.float32), compile_templates(spec, ["pos"]))[:3].tolist()
    [[1.0, 2.0], [0.0, 3.0], [3.0, 0.0]]
    """
    if len(weights) & (len(weights) - 1) or len(weights) < 1 << CODE_BITS:
        raise ValueError(f"weights has {len(weights)} entries; a power of two from {1 << CODE_BITS} on is expected")
    codes = np.zeros((3, len(ORDERS)), np.uint64)
    codes[1], codes[2] = _codes_of(ORDERS)
    best = np.empty((len(weights), 2), np.float32)
    _best_codes(weights, codes[table.codes], best)
    # Sums of integers are exact; others may have been rounded down by half of the last bit.
    return best if weights.dtype == np.int16 else np.nextafter(best, np.float32(np.inf))


def chain_bounds(hashed: Hashed, best: np.ndarray, unit: float = 1.0) -> ChainBounds:
    """Bound the scores of all chains of a sentence without scoring any.

    Parameters
    ----------
    hashed : Hashed
        From `nonproj.scoring.score.hash_tokens`, with the templates over grandparents.
    best : ndarray of shape (n_weights, 2), float32
        From `best_codes`, for as many weights as were hashed for.
    unit : float
        What a weight of 1 stands for; positive.

    Returns
    -------
    ChainBounds
        Equation 12 of Riedel et al. (2012), the maximum of equation 13 being over the words of the sentence.

    Raises
    ------
    ValueError
        If the table is not of the size that was hashed for, the unit is not positive, or the templates are not plain.
    """
    table, n_weights = hashed.table, 1 << (64 - int(hashed.shift))
    if best.shape != (n_weights, 2):
        raise ValueError(f"best has the shape {best.shape}; ({n_weights}, 2) was hashed for")
    if not 0.0 < unit < np.inf:
        raise ValueError(f"unit is {unit}; a number above 0 is expected")
    if table.n_between or table.n_feat:
        raise ValueError("hashed has templates that are not plain; templates over grandparents are expected")
    n_nodes = hashed.tokens.n_nodes
    sums = np.zeros((2, n_nodes, n_nodes, 2))
    looked_up = _bound_chains(hashed.shares, table.n_plain, hashed.shift, best, sums)
    # Over g the side of the modifier is known; over m the better one counts.
    node = np.arange(n_nodes)
    over_g = np.where(node[:, None] < node[None], sums[0, :, :, 1], sums[0, :, :, 0])
    over_m = sums[1].max(axis=2)
    # No chain begins or ends in a loop or comes to the root, and none of fewer than three nodes is one.
    for bounds in (over_g, over_m):
        np.fill_diagonal(bounds, -np.inf)
        bounds[:, :1] = -np.inf
    over_g[:1] = -np.inf
    return ChainBounds(over_g * unit, over_m * unit, int(looked_up))


@kernel
def _best_codes(weights, codes, best):
    """Write the best sum of all codes at each place, for either side of the modifier."""
    for place in range(weights.shape[0]):
        best[place, 0] = -np.inf
        best[place, 1] = -np.inf
        for order in range(codes.shape[1]):
            value = np.float64(0.0)
            for code in range(codes.shape[0]):
                value += weights[np.uint64(place) ^ codes[code, order]]
            # The first three orders have the modifier to the right of its head.
            side = 1 if order < 3 else 0
            best[place, side] = max(best[place, side], np.float32(value))


@kernel
def _find_types(shares, t, types, distinct, counts):
    """Number the distinct shares of a template in each slot; write each word's number, the shares, and how many."""
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
def _bound_chains(shares, n_templates, shift, best, sums):
    """Add to ``sums[0, h, m, side]`` and ``sums[1, g, h, side]`` each template's best; return the look-ups."""
    n_nodes = sums.shape[1]
    types = np.empty((3, n_nodes), np.int64)
    distinct = np.empty((3, n_nodes), np.uint64)
    counts = np.empty(3, np.int64)
    over_g = np.empty((n_nodes, n_nodes, 2), np.float32)
    over_m = np.empty((n_nodes, n_nodes, 2), np.float32)
    looked_up = 0
    for t in range(n_templates):
        _find_types(shares, t, types, distinct, counts)
        looked_up += counts[0] * counts[1] * counts[2]
        over_g[: counts[1], : counts[2]] = -np.inf
        for a in range(counts[0]):
            for b in range(counts[1]):
                key = distinct[0, a] + distinct[1, b]
                best_left, best_right = np.float32(-np.inf), np.float32(-np.inf)
                for c in range(counts[2]):
                    place = (key + distinct[2, c]) >> shift
                    left, right = best[place, 0], best[place, 1]
                    over_g[b, c, 0] = max(over_g[b, c, 0], left)
                    over_g[b, c, 1] = max(over_g[b, c, 1], right)
                    best_left = max(best_left, left)
                    best_right = max(best_right, right)
                over_m[a, b, 0] = best_left
                over_m[a, b, 1] = best_right
        for i in range(n_nodes):
            for j in range(n_nodes):
                for side in range(2):
                    sums[0, i, j, side] += over_g[types[1, i], types[2, j], side]
                    sums[1, i, j, side] += over_m[types[0, i], types[1, j], side]
    return looked_up
