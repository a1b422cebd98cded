"""The cost of giving a word another head, by alternatives to a tree: trees that differ from it in one or two arcs.

A word gets another candidate head outside its own subtree, or one inside, which then gets the word's former head.  The
best tree without an arc scores at least as much as the best alternative, so the result is an upper bound on the
difference between the best tree with the arc and the best tree without it.  The lower bound comes from the Lagrange
multipliers: see `nonproj.dual.exclusion`.
"""

from __future__ import annotations

import numpy as np

from nonproj.automata.compiled import entering_arcs, head_value, is_below
from nonproj.automata.workspace import PartStarts
from nonproj.dual.subproblems import Instance
from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace, Float64s, Int32s, Int64s


def costs(instance: Instance, heads: np.ndarray, single_root: bool) -> np.ndarray:
    """Return, for each word, a tree's score minus that of the best of its alternatives that give the word another head.

    Parameters
    ----------
    instance : Instance
        Sentence with parts of a set with compiled automata.
    heads : ndarray of shape (N,), int32
        A tree over the candidate arcs.
    single_root : bool
        Whether the alternatives must have exactly one root, as the given tree has.

    Returns
    -------
    ndarray of shape (N,), float64
        Infinite for the root, and for words without an alternative; negative if an alternative is better.

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
    arcs: ArcSpace, starts: PartStarts, scores: Float64s, heads: Int32s, single_root: bool, cost: Float64s
) -> None:
    """Write the costs to ``cost``, float64[N]."""
    n_nodes = heads.shape[0]
    into, touched, of_heads = entering_arcs(arcs, heads), np.zeros(4, np.int64), np.empty(n_nodes)
    tree = into.copy()
    for h in range(n_nodes):
        of_heads[h] = head_value(arcs, starts, scores, into, h)
    for m in range(1, n_nodes):
        h = heads[m]
        for a in range(arcs.start[m], arcs.start[m + 1]):
            new = arcs.head[a]
            if new == h:
                continue
            second = -1
            if is_below(heads, new, m):
                for b in range(arcs.start[new], arcs.start[new + 1]):
                    if arcs.head[b] == h:
                        second = b
                if second < 0:
                    continue
            elif single_root and (new == 0 or h == 0):
                continue
            # Only the modifiers of these heads, or the head of one of them, change.
            touched[0], touched[1], touched[2], touched[3] = h, new, m, heads[new] if second >= 0 else m
            into[m] = a
            if second >= 0:
                into[new] = second
            value = _fall(arcs, starts, scores, into, touched, of_heads)
            into[m], into[new] = tree[m], tree[new]
            cost[m] = min(cost[m], value)
            if second >= 0:
                cost[new] = min(cost[new], value)


@kernel
def _fall(
    arcs: ArcSpace, starts: PartStarts, scores: Float64s, into: Int64s, touched: Int64s, of_heads: Float64s
) -> float:
    """Return the decrease of the score of all parts whose head is one of four words, some of which may be equal."""
    total = 0.0
    for i in range(4):
        h = touched[i]
        new = True
        for j in range(i):
            new = new and touched[j] != h
        if new:
            total += of_heads[h] - head_value(arcs, starts, scores, into, h)
    return total
