"""Upper bounds of grandparent scores, template by template, without scoring any chain.

Riedel, Smith and McCallum (2012), section 4.3.2: of the three words ``g -> h -> m`` two are known, and each template is
given the best value that it has with any third word of the sentence, for each template another.  Words that look alike
to a template are one *type* to it (where it names tags, one for each tag), so a template costs a look-up for each
triple of types in place of one for each triple of words; and a template that does not name one of the words at all
costs one for each pair of types, and is exact.  All geometrical codes of a triple of types are on one cache line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import inlined_kernel, kernel
from nonproj.scoring.hashing import Hashed
from nonproj.types import PartRows

ORDERS = np.array([[1, 1, 1], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 0]], np.uint8)
"""The six orders of three words: whether ``h > g``, ``m > h`` and ``m > g``."""

_PAIRS = np.array([[1, 2], [0, 2], [0, 1]], np.int32)
"""The two other slots of ``g h m`` when one is left out."""


class ChainBounds(NamedTuple):
    """Upper bounds of the scores of a sentence's chains.

    Attributes
    ----------
    upper : ndarray of shape (N, N, N), float64
        No chain ``g -> h -> m`` scores more than ``upper[g, h, m]``; minus infinity where there is no such chain.
    looked_up : int
        Triples of types that were looked up.  To score every chain takes one for each chain and template.
    """

    upper: np.ndarray
    looked_up: int


def chain_parts(chains) -> PartRows:
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
    return PartRows(nodes, _codes_of(np.stack([h > g, m > h, m > g], axis=1)))


def _codes_of(orders: np.ndarray) -> np.ndarray:
    """The geometrical codes of some orders, as `nonproj.parts.geometry` has them."""
    above, below, across = orders.astype(np.uint8).T
    return np.stack([0 * above, 1 + below, 3 + 4 * above + 2 * below + across], axis=1).astype(np.uint8)


def chain_bounds(hashed: Hashed, weights: np.ndarray, unit: float = 1.0) -> ChainBounds:
    """Bound the scores of all chains of a sentence.

    Parameters
    ----------
    hashed : Hashed
        From `nonproj.scoring.hashing.hash_tokens`, with the templates over grandparents.
    weights : ndarray, float32 or int16
        As many as were hashed for.
    unit : float
        What a weight of 1 stands for; positive.

    Returns
    -------
    ChainBounds
        For weights of 16 bits, whose sums are exact, true bounds; for others true up to rounding.

    Raises
    ------
    ValueError
        If the weights are not as many as were hashed for, the unit is not positive, or there are templates over sets.

    Notes
    -----
    Equations 11 to 13 of Riedel et al. (2012) with three differences, all of which make the bounds tighter: the maximum
    is over the words of the sentence, and for the order in which the three words stand; the modifier and the
    grandparent may be the known pair, too; and templates over two words only are added as they are, before the least
    of the three bounds is taken.

    Examples
    --------
    >>> from nonproj.scoring.vocabulary import Encoder
    >>> from nonproj.scoring.hashing import hash_tokens
    >>> from nonproj.scoring.templates import compile_templates
    >>> from nonproj.types import Sentence
    >>> rows = [[str(i), "_", "_", "_", tag, "_", "_", "_", "_", "_"] for i, tag in enumerate("NVN", 1)]
    >>> encoder = Encoder.from_sentences([Sentence(rows)], ["pos"], rare=1)
    >>> spec = {"part": "grandparent", "codes": ["none"], "templates": ["g.pos m.pos"]}
    >>> table = compile_templates(spec, ["pos"])
    >>> hashed = hash_tokens(encoder.encode(Sentence(rows)), table, 16)
    >>> bounds = chain_bounds(hashed, np.arange(16, dtype=np.float32))
    >>> bounds.looked_up, bool(bounds.upper[0, 2, 1] == bounds.upper[0, 2, 3])
    (9, True)
    """
    plain, n_weights = hashed.plain, 1 << (32 - int(hashed.plain.shift))
    if weights.shape != (n_weights,):
        raise ValueError(f"weights has the shape {weights.shape}; ({n_weights},) was hashed for")
    if not 0.0 < unit < np.inf:
        raise ValueError(f"unit is {unit}; a number above 0 is expected")
    if plain.n_plain != plain.shares.shape[2]:
        raise ValueError("hashed has templates over sets of values; templates over grandparents are expected")
    n_nodes = plain.shares.shape[1] - 2
    codes = np.ascontiguousarray(_codes_of(ORDERS)[:, plain.codes].T.astype(np.uint32))
    exact, most = np.zeros((2, 3, len(ORDERS), n_nodes, n_nodes))
    looked_up = _bound_pairs(plain.shares, plain.shift, codes, weights, _PAIRS, exact, most)
    upper = np.empty((n_nodes, n_nodes, n_nodes))
    _combine(exact, most, float(unit), upper)
    return ChainBounds(upper, int(looked_up))


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
def _maximise(distinct, counts, shift, codes, weights, best):
    """Write into ``best[k, order, i, j]`` the best that a template has for two types, over those of slot ``k``."""
    n_orders = codes.shape[1]
    best[0, :, : counts[1], : counts[2]] = -np.inf
    best[1, :, : counts[0], : counts[2]] = -np.inf
    best[2, :, : counts[0], : counts[1]] = -np.inf
    places = np.empty((counts[1], counts[2]), np.uint32)
    values = np.empty((n_orders, counts[2]), np.float32)
    touched = 0.0
    for a in range(counts[0]):
        # The places are looked up first, because the processor then waits for many lines of the table at a time.
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
                _raise(best[0, order, b], values[order])
                _raise(best[1, order, a], values[order])
                for c in range(counts[2]):
                    best[2, order, a, b] = max(best[2, order, a, b], values[order, c])
    return touched


@inlined_kernel
def _raise(row, values):
    """Replace the first entries of a row by these values where they are more."""
    for c in range(values.shape[0]):
        row[c] = max(row[c], values[c])


@kernel
def _bound_pairs(shares, shift, codes, weights, pairs, exact, most):
    """Add each template to ``exact[k]``, if slot ``k`` is all one to it, or to all of ``most``; return the look-ups."""
    n_orders, n_nodes = exact.shape[1], exact.shape[2]
    types = np.empty((3, n_nodes), np.int64)
    distinct = np.empty((3, n_nodes), np.uint32)
    counts = np.empty(3, np.int64)
    best = np.empty((3, n_orders, n_nodes, n_nodes), np.float32)
    looked_up = 0
    for t in range(shares.shape[2]):
        _find_types(shares[:, :n_nodes], t, types, distinct, counts)
        looked_up += counts[0] * counts[1] * counts[2]
        _maximise(distinct, counts, shift, codes, weights, best)
        alone = -1
        for k in range(3):
            if counts[k] == 1:
                alone = k
        for k in range(3):
            if alone < 0 or alone == k:
                sums = exact if alone == k else most
                one, two = types[pairs[k, 0]], types[pairs[k, 1]]
                for order in range(n_orders):
                    for i in range(n_nodes):
                        for j in range(n_nodes):
                            sums[k, order, i, j] += best[k, order, one[i], two[j]]
    return looked_up


@kernel
def _combine(exact, most, unit, upper):
    """Fill ``upper[g, h, m]``."""
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
                least = min(most[0, order, h, m], most[1, order, g, m], most[2, order, g, h])
                known = exact[0, order, h, m] + exact[1, order, g, m] + exact[2, order, g, h]
                upper[g, h, m] = (known + least) * unit
