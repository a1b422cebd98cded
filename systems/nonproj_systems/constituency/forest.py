"""Packed forests of derivations: the best derivation, inside scores, marginals and pruning.

A forest is a directed acyclic hypergraph.  An edge builds an item from two items, from one, or from a word; an item is
listed after all from which it is built, and the last item is the root.  A derivation picks one edge for the root, and
one for each item that a picked edge needs; it needs no item twice.  Words are *variables*, such as position and tag: an
edge that is built from a word adds the score of its variable, which is where Lagrange multipliers enter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Float64s, Int32s, Int64s


class Forest(NamedTuple):
    """Items and edges, the edges of each item together.

    Attributes
    ----------
    first : ndarray of shape (I + 1,), int32
        The edges of item ``i`` are ``first[i]`` to ``first[i + 1] - 1``; the root is item ``I - 1``.
    left, right : ndarray of shape (E,), int32
        The items from which an edge is built; -1 for none.
    variable : ndarray of shape (E,), int32
        The variable of an edge that is built from a word or stands for an arc; -1 for other edges.
    score : ndarray of shape (E,), float64
    rule : ndarray of shape (E,), int32
        The rule of each edge, for the code that built the forest.
    items : ndarray of shape (I, C), int32
        Description of the items, for the code that built the forest: a symbol or kind, then the words covered.
    """

    first: np.ndarray
    left: np.ndarray
    right: np.ndarray
    variable: np.ndarray
    score: np.ndarray
    rule: np.ndarray
    items: np.ndarray

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.first) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.left)

    def items_of(self, edges: np.ndarray) -> np.ndarray:
        """Return the numbers of the items that edges build."""
        return np.searchsorted(self.first, edges, side="right") - 1


def best_derivation(forest: Forest, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the highest score of a derivation, and its edges from the root down, left before right.

    Parameters
    ----------
    forest : Forest
    scores : ndarray of shape (V,), float64
        Scores of the variables, added to those of their edges.

    Returns
    -------
    float
        Minus infinity if there is no derivation.
    ndarray of int64
        Edges; ties are broken in favour of the first edge.

    Examples
    --------
    Two words with one tag each, built into a root:

    >>> import numpy as np
    >>> def ints(*values): return np.array(values, np.int32)
    >>> scores = np.array([-1.0, -2.0, -0.5])
    >>> forest = Forest(ints(0, 1, 2, 3), ints(-1, -1, 0), ints(-1, -1, 1), ints(0, 1, -1), scores,
    ...                 ints(0, 0, 0), np.array([[0, 0, 1], [0, 1, 2], [1, 0, 2]]))
    >>> best_derivation(forest, np.zeros(2))
    (-3.5, array([2, 0, 1]))
    """
    value, edges = _best_derivation(forest.first, forest.left, forest.right, forest.variable, forest.score, scores)
    return float(value), edges


def variables_of(forest: Forest, edges: np.ndarray, n_variables: int) -> np.ndarray:
    """Return indicators of the variables that a derivation uses, float64[V]."""
    used = forest.variable[edges]
    found = np.zeros(n_variables)
    found[used[used >= 0]] = 1.0
    return found


def marginals(forest: Forest, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the log partition function, and the marginal probability of each edge, by the inside-outside algorithm.

    Parameters
    ----------
    forest : Forest
    scores : ndarray of shape (V,), float64

    Returns
    -------
    float
        Minus infinity if there is no derivation; then all marginals are 0.
    ndarray of shape (E,), float64
    """
    inside = _inside(forest.first, forest.left, forest.right, forest.variable, forest.score, scores)
    return float(inside[-1]), _marginals(
        forest.first, forest.left, forest.right, forest.variable, forest.score, scores, inside
    )


def make_forest(items: np.ndarray, built: np.ndarray, edges: np.ndarray, score: np.ndarray) -> Forest | None:
    """Return the forest of the edges, in any order, that are in a derivation of the last item; None if none are.

    Parameters
    ----------
    items : ndarray of shape (I, C), int32
    built : ndarray of shape (E,), int
        The item that each edge builds.
    edges : ndarray of shape (E, 3), int
        Its left and right items, and its variable; -1 for none.
    score : ndarray of shape (E,), float64
    """
    order = np.argsort(built, kind="stable")
    first = np.searchsorted(built[order], np.arange(len(items) + 1)).astype(np.int32)
    left, right, variable = (np.ascontiguousarray(edges[order, i], np.int32) for i in range(3))
    rule = np.full(len(order), -1, np.int32)
    forest = Forest(first, left, right, variable, np.ascontiguousarray(score[order], np.float64), rule, items)
    return restricted(forest, np.ones(len(order), np.bool_))


def restricted(forest: Forest, keep: np.ndarray) -> Forest | None:
    """Return the forest of the kept edges that are in a derivation of the root; None if none are.

    Parameters
    ----------
    forest : Forest
    keep : ndarray of shape (E,), bool
    """
    kept, number = _alive(forest.first, forest.left, forest.right, keep)
    if number[-1] < 0:
        return None
    items, edges = np.flatnonzero(number >= 0), np.flatnonzero(kept)
    head = np.repeat(np.arange(forest.n_items), np.diff(forest.first))[edges]
    first = np.searchsorted(number[head], np.arange(len(items) + 1)).astype(np.int32)
    renumbered = np.append(number, -1)
    return Forest(
        first,
        renumbered[forest.left[edges]].astype(np.int32),
        renumbered[forest.right[edges]].astype(np.int32),
        forest.variable[edges],
        forest.score[edges],
        forest.rule[edges],
        forest.items[items],
    )


def pruned(forest: Forest, scores: np.ndarray, threshold: float) -> Forest:
    """Return the forest of the edges whose marginal is at least a threshold, and of the best derivation."""
    keep = marginals(forest, scores)[1] >= threshold
    keep[best_derivation(forest, scores)[1]] = True
    found = restricted(forest, keep)
    assert found is not None
    return found


@kernel
def _best_derivation(
    first: Int32s, left: Int32s, right: Int32s, variable: Int32s, score: Float64s, scores: Float64s
) -> tuple[float, Int64s]:
    """Return the highest score of a derivation and its edges."""
    n = len(first) - 1
    best = np.empty(n + 1)
    best[n] = 0.0  # left or right of -1
    choice = np.full(n, -1, np.int64)
    for item in range(n):
        highest = -np.inf
        for e in range(first[item], first[item + 1]):
            value = score[e] + best[left[e]] + best[right[e]]
            if variable[e] >= 0:
                value += scores[variable[e]]
            if value > highest:
                highest = value
                choice[item] = e
        best[item] = highest
    edges, waiting, n_edges, n_waiting = np.empty(2 * n + 2, np.int64), np.empty(2 * n + 2, np.int64), 0, 0
    if n and best[n - 1] > -np.inf:
        waiting[0], n_waiting = n - 1, 1
    while n_waiting:
        n_waiting -= 1
        e = choice[waiting[n_waiting]]
        edges[n_edges] = e
        n_edges += 1
        if right[e] >= 0:
            waiting[n_waiting] = right[e]
            n_waiting += 1
        if left[e] >= 0:
            waiting[n_waiting] = left[e]
            n_waiting += 1
    return best[n - 1] if n else -np.inf, edges[:n_edges].copy()


@kernel
def _inside(
    first: Int32s, left: Int32s, right: Int32s, variable: Int32s, score: Float64s, scores: Float64s
) -> Float64s:
    """Return the inside score of each item, float64[I]: the log of the sum over its derivations."""
    n = len(first) - 1
    inside = np.empty(n + 1)
    inside[n] = 0.0
    longest = 0
    for item in range(n):
        longest = max(longest, first[item + 1] - first[item])
    values = np.empty(longest)
    for item in range(n):
        highest, size = -np.inf, first[item + 1] - first[item]
        for place in range(size):
            e = first[item] + place
            value = score[e] + inside[left[e]] + inside[right[e]]
            if variable[e] >= 0:
                value += scores[variable[e]]
            values[place] = value
            highest = max(highest, value)
        inside[item] = highest
        if size > 1 and highest > -np.inf:
            total = 0.0
            for place in range(size):
                total += np.exp(values[place] - highest)
            inside[item] += np.log(total)
    return inside[:n]


@kernel
def _marginals(
    first: Int32s, left: Int32s, right: Int32s, variable: Int32s, score: Float64s, scores: Float64s, inside: Float64s
) -> Float64s:
    """Return the marginal of each edge, float64[E]: its item's, times the edge's share of the inside score."""
    n = len(first) - 1
    found, mass = np.zeros(len(left)), np.zeros(n + 1)
    if not n or inside[n - 1] == -np.inf:
        return found
    mass[n - 1] = 1.0
    for item in range(n - 1, -1, -1):
        if mass[item] == 0.0:
            continue
        for e in range(first[item], first[item + 1]):
            value = score[e] - inside[item]
            if left[e] >= 0:
                value += inside[left[e]]
            if right[e] >= 0:
                value += inside[right[e]]
            if variable[e] >= 0:
                value += scores[variable[e]]
            share = mass[item] * np.exp(value)
            found[e] = share
            mass[left[e]] += share
            mass[right[e]] += share
    return found


@kernel
def _alive(first: Int32s, left: Int32s, right: Int32s, keep: Bools) -> tuple[Bools, Int64s]:
    """Return a mask of the kept edges that are in a derivation of the root, and new numbers of items, -1 for none."""
    n = len(first) - 1
    derived, needed = np.zeros(n + 1, np.bool_), np.zeros(n + 1, np.bool_)
    derived[n] = True
    kept = keep.copy()
    for item in range(n):
        for e in range(first[item], first[item + 1]):
            kept[e] = kept[e] and derived[left[e]] and derived[right[e]]
            derived[item] = derived[item] or kept[e]
    needed[n - 1] = derived[n - 1]
    for item in range(n - 1, -1, -1):
        for e in range(first[item], first[item + 1]):
            kept[e] = kept[e] and needed[item]
            if kept[e]:
                needed[left[e]] = True
                needed[right[e]] = True
    number, size = np.full(n, -1, np.int64), 0
    for item in range(n):
        if needed[item]:
            number[item] = size
            size += 1
    return kept, number
