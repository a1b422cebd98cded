"""The cost of giving a word another head: the best of the trees that differ from a given one in one or two arcs.

A word moves to another candidate head outside its own subtree.  Or it moves to a head inside, and that head takes over
the word's former head.  The best tree without an arc scores at least as much as the best of these, so the result is an
upper bound on the difference between the best tree with the arc and the best tree without it.  The lower bound comes
from the Lagrange multipliers: see `nonproj.dual.exclusion`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonproj.dual.subproblems import Instance
from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace


def costs(instance: Instance, heads: np.ndarray, single_root: bool) -> np.ndarray:
    """Return, for each word, the given tree's score minus that of the best of these trees in which it has another head.

    Parameters
    ----------
    instance : Instance
        Of parts with compiled automata.
    heads : ndarray of shape (N,), int32
        A tree over the candidate arcs.
    single_root : bool
        Whether the other trees have exactly one root, as the given one.

    Returns
    -------
    ndarray of shape (N,), float64
        Infinite for the root, and for words that have the same head in all these trees; negative if a tree is better.

    Examples
    --------
    >>> from nonproj.dual.options import DualOptions
    >>> from nonproj.dual.problem import problem_of
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> problem = problem_of(part_space(full_arc_space(2), "arc"), np.array([1.0, 2.0, 4.0, 9.0]), DualOptions())
    >>> costs(problem.instance, np.array([-1, 0, 1], np.int32), False)
    array([inf,  4.,  4.])
    """
    cost = np.full(len(heads), np.inf)
    arcs, starts, scores = instance
    _fill_costs(arcs, starts, scores, heads, bool(single_root), cost)
    return cost


@kernel
def _fill_costs(
    arcs: ArcSpace, starts: Any, scores: np.ndarray, heads: np.ndarray, single_root: bool, cost: np.ndarray
) -> None:
    """Write the result to float64[N]."""
    n_nodes = heads.shape[0]
    into, y = np.zeros(n_nodes, np.int64), np.zeros(arcs.head.shape[0], np.bool_)
    for m in range(1, n_nodes):
        for a in range(arcs.start[m], arcs.start[m + 1]):
            if arcs.head[a] == heads[m]:
                into[m], y[a] = a, True
    tree, touched, of_heads = into.copy(), np.zeros(4, np.int64), np.empty(n_nodes)
    for h in range(n_nodes):
        of_heads[h] = _value_of_head(arcs, starts, scores, into, y, h)
    for m in range(1, n_nodes):
        h = heads[m]
        for a in range(arcs.start[m], arcs.start[m + 1]):
            new = arcs.head[a]
            if new == h:
                continue
            second = -1
            if _is_below(heads, new, m):
                for b in range(arcs.start[new], arcs.start[new + 1]):
                    if arcs.head[b] == h:
                        second = b
                if second < 0:
                    continue
            elif single_root and (new == 0 or h == 0):
                continue
            # Only the modifiers of these heads, or the head of one of them, change.
            touched[0], touched[1], touched[2], touched[3] = h, new, m, heads[new] if second >= 0 else m
            _move(arcs, into, y, a, second)
            value = _fall(arcs, starts, scores, into, y, touched, of_heads)
            _move(arcs, into, y, tree[m], tree[new] if second >= 0 else -1)
            cost[m] = min(cost[m], value)
            if second >= 0:
                cost[new] = min(cost[new], value)


@kernel
def _is_below(heads: np.ndarray, word: Any, ancestor: Any) -> bool:
    """Return whether a word is in the subtree of another."""
    while word > 0 and word != ancestor:
        word = heads[word]
    return word == ancestor


@kernel
def _move(arcs: ArcSpace, into: np.ndarray, y: np.ndarray, a: int, second: int) -> None:
    """Replace the arcs into the same words by arc ``a`` and a second one, unless it is -1."""
    m = arcs.modifier[a]
    y[into[m]], y[a], into[m] = False, True, a
    if second >= 0:
        m = arcs.modifier[second]
        y[into[m]], y[second], into[m] = False, True, second


@kernel
def _fall(
    arcs: ArcSpace,
    starts: Any,
    scores: np.ndarray,
    into: np.ndarray,
    y: np.ndarray,
    touched: np.ndarray,
    of_heads: np.ndarray,
) -> float:
    """Return the decrease of the score of all parts whose head is one of four words, not all distinct."""
    total = 0.0
    for i in range(4):
        h = touched[i]
        new = True
        for j in range(i):
            new = new and touched[j] != h
        if new:
            total += of_heads[h] - _value_of_head(arcs, starts, scores, into, y, h)
    return total


@kernel
def _value_of_head(arcs: ArcSpace, starts: Any, scores: np.ndarray, into: np.ndarray, y: np.ndarray, h: int) -> float:
    """Return the score of the arcs from a head and of all other parts with this head."""
    out, out_start, first, total = arcs.out, arcs.out_start, arcs.out_start[2 * h], 0.0
    size, row = arcs.out_start[2 * h + 2] - first, np.int64(-1)
    if starts.grandparent.shape[0] > 0 and h > 0:
        row = starts.grandparent[h] + np.int64(into[h] - arcs.start[h]) * size
    below = _place_below(arcs, starts.third, into, h)
    for q in range(2 * h, 2 * h + 2):
        k, previous, before = np.int64(out_start[q + 1] - out_start[q]), np.int64(0), np.int64(0)
        for b in range(1, k + 2):
            chosen = b <= k and y[out[out_start[q] + b - 1]]
            if chosen:
                j = out_start[q] + b - 1
                total += scores[out[j]]
                if row >= 0:
                    total += scores[row + j - first]
            if starts.sibling.shape[0] > 0 and (chosen or b == k + 1):
                total += scores[starts.sibling[q] + b * (b - 1) // 2 + previous]
                total += _third_order(starts.third, scores, q, below, before, previous, b)
                before, previous = previous, b
        below += (k + 1) * (k + 2) // 2
    return total


@kernel
def _place_below(arcs: ArcSpace, third: Any, into: np.ndarray, h: int) -> Any:
    """Return the first grand-sibling part of a head under its head in the tree; 0 if there is none."""
    if third is None or third.grandsibling.shape[0] == 0 or h == 0:
        return np.int64(0)
    size = np.int64(0)
    for q in range(2 * h, 2 * h + 2):
        k = np.int64(arcs.out_start[q + 1] - arcs.out_start[q])
        size += (k + 1) * (k + 2) // 2
    return third.grandsibling[h] + (into[h] - arcs.start[h]) * size


@kernel
def _third_order(third: Any, scores: np.ndarray, q: int, below: int, a: Any, b: Any, c: Any) -> float:
    """Return the score of the third-order parts of a transition from the modifiers a and b to b and c.

    ``below`` is the first grand-sibling part of the half-automaton ``q``.
    """
    total = 0.0
    if third is not None:
        if third.grandsibling.shape[0] > 0 and q > 1:
            total += scores[below + c * (c - 1) // 2 + b]
        if third.trisibling.shape[0] > 0 and b > 0:
            total += scores[third.trisibling[q] + c * (c - 1) * (c - 2) // 6 + b * (b - 1) // 2 + a]
    return total
