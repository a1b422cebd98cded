"""Bounds on the rounding errors of sums and of dual values.

A dual value in floating point may be below the exact one.  `rounding_error` bounds the difference: Let ``A`` be the sum
of the absolute values of all terms (copies of arcs, and other parts) of the best tree.  Each subproblem computes at
least the rounded sum of this tree's terms, which is below the exact one by at most ``k u A`` for ``k`` operations and
the unit roundoff ``u = 2^-53`` (Higham 2002, "Accuracy and stability of numerical algorithms", section 4.2).  Negative
terms only lower the tree's score, so ``A`` is at most twice the sum of the positive terms plus the absolute dual value.
The copies of an arc do not sum to its score exactly after many steps; for each word, the largest deficit of an arc into
it is added.  Arcs so low that no tree with them scores as much as the dual value do not count.

Scores relative to the best arc into each word (`nonproj.dual.domain`) are rounded by at most ``u`` times themselves.
Relative scores of a tree under a bound ``B`` are not positive and sum to at most ``|B|`` plus its other scores in
absolute value; `nonproj.dual.search` adds the resulting error when it returns to the original scores.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace, Float64s, Int32s

ROUNDOFF = 2.0**-53 * 1.01
"""Unit roundoff, with terms of second order."""

EPSILON = 2.0**-52
"""The unit in the last place of a number is at most this share of it."""

UNITS = 2.0**20
"""Scores that are multiples of its inverse, such as integers, are added without rounding unless they are large."""

ARC_OPERATIONS, PART_TERMS = 7, 3
"""Operations on arcs for each node: a sum of three copies, and the subtractions by which an arborescence contracts
cycles; and the maximum number of parts of a type for each node: one at its own arc, two at the ends of its modifiers.
"""


@kernel
def relative_matrix(scores: Float64s) -> Float64s:
    """Return a matrix of arc scores, float64[N, N], relative to the best arc into each word.

    Examples
    --------
    >>> relative_matrix(np.array([[0.0, 1.0, 4.0], [0.0, 0.0, 8.0], [0.0, 2.0, 0.0]])).tolist()
    [[0.0, -1.0, -4.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    n_nodes = scores.shape[0]
    relative, best = scores.copy(), np.full(n_nodes, -np.inf)
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if h != m and scores[h, m] > best[m]:
                best[m] = scores[h, m]
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if h != m and best[m] > -np.inf:
                relative[h, m] -= best[m]
    return relative


@kernel
def score_outward(scores: Float64s, relative: Float64s, heads: Int32s) -> tuple[float, float]:
    """Return the score of a tree that is the best by arc scores, and an upper bound on all trees, rounded up.

    Parameters
    ----------
    scores, relative : ndarray of shape (N, N), float64
        The scores of arcs, and these relative to the best arc into each word.
    heads : ndarray of shape (N,), int32

    Examples
    --------
    >>> scores = np.array([[0.0, 0.1, 0.0], [0.0, 0.0, 0.2], [0.0, 0.0, 0.0]])
    >>> score, bound = score_outward(scores, relative_matrix(scores), np.array([-1, 0, 1], np.int32))
    >>> score < bound < score + 1e-15
    True
    """
    total, lost, below = 0.0, 0.0, 0.0
    for m in range(1, heads.shape[0]):
        total, lost = add(total, lost, scores[heads[m], m])
        below += relative[heads[m], m]
    score = total + lost
    error = ROUNDOFF * ARC_OPERATIONS * heads.shape[0] * abs(below)
    if error == 0.0 and lost == 0.0:
        return score, score
    return score, (score + error) + 2.0 * EPSILON * (abs(score) + error)


@kernel
def rounding_error(
    arcs: ArcSpace, scores: Float64s, copies: Float64s, others: Float64s, terms: int, dual: float
) -> float:
    """Return the maximum error by which a dual value is below the exact one: see this module.

    Parameters
    ----------
    arcs : ArcSpace
    scores : ndarray of shape (A,) or more, float64
        The scores of arcs, then perhaps those of other parts.
    copies : ndarray of shape (3 A,), float64
        The copies of the scores of arcs at which the dual value was found.
    others : ndarray of float64
        The scores of parts other than arcs; minus infinity for forbidden ones.
    terms : int
        Maximum number of these parts in a tree.
    dual : float

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> arcs, none = full_arc_space(2), np.zeros(0)
    >>> for scores in np.array([[-1.0, 0.0, -4.0, 0.0], [-0.1, 0.0, -4.0, 0.0]]):
    ...     print(rounding_error(arcs, scores, np.append(scores, np.zeros(8)), none, 0, scores[0]) > 0.0)
    False
    True
    """
    n_arcs, n_nodes = arcs.head.shape[0], arcs.start.shape[0] - 1
    operations = terms + ARC_OPERATIONS * n_nodes
    exact = sums_are_exact(copies, operations) and sums_are_exact(others, operations)
    highest = 0.0
    for score in others:
        highest = max(highest, score)
    most = terms * highest  # bounds the score of a tree without one of its arcs
    for m in range(1, n_nodes):
        top = 0.0
        for a in range(arcs.start[m], arcs.start[m + 1]):
            top = max(top, scores[a])
        most += top
    positive, lacking = terms * highest, 0.0
    for m in range(1, n_nodes):
        above, tree, lack = 0.0, -np.inf, 0.0
        for a in range(arcs.start[m], arcs.start[m + 1]):
            y, z, grandparent = copies[a], copies[n_arcs + a], copies[2 * n_arcs + a]
            tree = max(tree, y)
            if scores[a] + most >= dual:
                above = max(above, max(y, 0.0) + max(z, 0.0) + max(grandparent, 0.0))
                lack = max(lack, scores[a] - (y + z + grandparent))
        positive += above + (abs(tree) if tree > -np.inf else 0.0)
        lacking += lack
    return lacking if exact else lacking + ROUNDOFF * operations * (2.0 * positive + abs(dual))


@kernel
def sums_are_exact(values: Float64s, count: int) -> bool:
    """Return whether sums of up to ``count`` values are exact: multiples of one number that need at most 53 bits."""
    for value in values:
        scaled = value * UNITS
        if value > -np.inf and (scaled != np.floor(scaled) or abs(scaled) * count >= 2.0**53):
            return False
    return True


@kernel
def add(total: float, lost: float, term: float) -> tuple[float, float]:
    """Add a term to a sum; return the sum and its accumulated rounding error (Neumaier 1974)."""
    larger = total + term
    if abs(total) >= abs(term):
        return larger, lost + ((total - larger) + term)
    return larger, lost + ((term - larger) + total)
