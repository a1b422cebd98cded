"""Directed acyclic hypergraphs of derivations: best derivation, restriction, marginals.

An item is derived by an edge from at most two other items.  Edges have scores, and some of them use an arc, whose
multiplier is added.  Items are in topological order.  Item 0 is derived by nothing, and stands for missing tails; the
last item is the goal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Float64s, Int32s, Int64s


class Hypergraph(NamedTuple):
    """All derivations of a sentence.

    Attributes
    ----------
    items : ndarray of shape (I, k), int32
        Description of each item; not used here.
    first : ndarray of shape (I + 1,), int64
        The edges of item ``x`` are ``first[x]:first[x + 1]``.
    left, right : ndarray of shape (E,), int32
        The tails of each edge; 0 for none.
    score : ndarray of shape (E,), float64
    arc : ndarray of shape (E,), int32
        The arc that the edge uses; 0 for none.
    """

    items: np.ndarray
    first: np.ndarray
    left: np.ndarray
    right: np.ndarray
    score: np.ndarray
    arc: np.ndarray


def hypergraph(items: np.ndarray, heads: np.ndarray, tails: np.ndarray, score: np.ndarray) -> Hypergraph | None:
    """Return the part of a hypergraph that derives its goal; None if nothing does.

    Parameters
    ----------
    items : ndarray of shape (I, k), int32
    heads : ndarray of shape (E,), int32
        The item that each edge derives.
    tails : ndarray of shape (E, 3), int32
        Its tails, and its arc.
    score : ndarray of shape (E,), float64

    Examples
    --------
    >>> tails = np.array([[0, 0, 0], [1, 0, 7], [1, 1, 0]], np.int32)
    >>> found = hypergraph(np.zeros((3, 1), np.int32), np.array([1, 2, 2]), tails, np.array([1.0, 2.0, 3.0]))
    >>> best_derivation(found, np.zeros(8))
    (5.0, array([2, 0, 0]))
    """
    order = np.argsort(heads, kind="stable")
    first = np.searchsorted(heads[order], np.arange(len(items) + 1))
    left, right, arc = (np.ascontiguousarray(tails[order, i], np.int32) for i in range(3))
    graph = Hypergraph(items, first, left, right, np.ascontiguousarray(score[order], np.float64), arc)
    return restricted(graph, np.ones(len(score), np.bool_))


def restricted(graph: Hypergraph, keep: np.ndarray) -> Hypergraph | None:
    """Return the part of a hypergraph whose edges are kept and belong to some derivation of the goal, or None.

    Parameters
    ----------
    graph : Hypergraph
    keep : ndarray of shape (E,), bool
    """
    useful = _mark_useful(graph.first, graph.left, graph.right, keep)
    if not useful[-1]:
        return None
    used = np.repeat(useful, np.diff(graph.first)) & keep
    used &= useful[graph.left] & useful[graph.right]
    number = np.cumsum(useful) - 1
    counts = np.add.reduceat(np.append(used, False).astype(np.int64), graph.first[:-1]) * (np.diff(graph.first) > 0)
    first = np.concatenate([[0], np.cumsum(counts[useful])])
    left, right = (number[tail[used]].astype(np.int32) for tail in (graph.left, graph.right))
    return Hypergraph(graph.items[useful], first, left, right, graph.score[used], graph.arc[used])


@kernel
def _mark_useful(first: Int64s, left: Int32s, right: Int32s, keep: Bools) -> Bools:
    """Return which items can be derived, and are part of a derivation of the goal."""
    n_items = first.shape[0] - 1
    derived, useful = np.zeros(n_items, np.bool_), np.zeros(n_items, np.bool_)
    derived[0] = True
    for x in range(1, n_items):
        for e in range(first[x], first[x + 1]):
            if keep[e] and derived[left[e]] and derived[right[e]]:
                derived[x] = True
                break
    useful[n_items - 1] = derived[n_items - 1]
    for x in range(n_items - 1, 0, -1):
        if useful[x]:
            for e in range(first[x], first[x + 1]):
                if keep[e] and derived[left[e]] and derived[right[e]]:
                    useful[left[e]] = useful[right[e]] = True
    useful[0] = useful[n_items - 1]
    return useful


def best_derivation(graph: Hypergraph, bonus: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the highest score of a derivation, and its edges, from the goal down and from left to right.

    Parameters
    ----------
    graph : Hypergraph
    bonus : ndarray of float64
        Bonus of each arc; ``bonus[0]`` is 0.
    """
    value, edge = _viterbi(graph.first, graph.left, graph.right, graph.score, graph.arc, bonus)
    return float(value), _read(graph.left, graph.right, edge)


@kernel
def _viterbi(
    first: Int64s, left: Int32s, right: Int32s, score: Float64s, arc: Int32s, bonus: Float64s
) -> tuple[float, Int64s]:
    """Return the value of the goal, and the best edge of each item, the first among equals."""
    n_items = first.shape[0] - 1
    value, best = np.zeros(n_items), np.full(n_items, -1, np.int64)
    for x in range(1, n_items):
        highest = -np.inf
        for e in range(first[x], first[x + 1]):
            found = score[e] + bonus[arc[e]] + (value[left[e]] + value[right[e]])
            if found > highest:
                highest = found
                best[x] = e
        value[x] = highest
    return value[n_items - 1], best


@kernel
def _read(left: Int32s, right: Int32s, best: Int64s) -> Int64s:
    """Return the edges of the best derivation."""
    edges, stack = np.empty(4 * best.shape[0], np.int64), np.empty(best.shape[0] + 2, np.int64)
    count, depth = 0, 1
    stack[0] = best.shape[0] - 1
    while depth > 0:
        depth -= 1
        x = stack[depth]
        if x > 0:
            e = best[x]
            edges[count] = e
            count += 1
            stack[depth], stack[depth + 1] = right[e], left[e]
            depth += 2
    return edges[:count].copy()


def max_marginals(graph: Hypergraph, bonus: np.ndarray) -> np.ndarray:
    """Return the score of the best derivation that uses each edge, float64[E]."""
    return _max_marginals(graph.first, graph.left, graph.right, graph.score, graph.arc, bonus)


@kernel
def _max_marginals(
    first: Int64s, left: Int32s, right: Int32s, score: Float64s, arc: Int32s, bonus: Float64s
) -> Float64s:
    """Return the max-marginals of all edges."""
    n_items = first.shape[0] - 1
    inside, outside = np.zeros(n_items), np.full(n_items, -np.inf)
    for x in range(1, n_items):
        inside[x] = -np.inf
        for e in range(first[x], first[x + 1]):
            inside[x] = max(inside[x], score[e] + bonus[arc[e]] + (inside[left[e]] + inside[right[e]]))
    outside[n_items - 1] = 0.0
    found = np.empty(score.shape[0])
    for x in range(n_items - 1, 0, -1):
        for e in range(first[x], first[x + 1]):
            here = score[e] + bonus[arc[e]] + outside[x]
            outside[left[e]] = max(outside[left[e]], here + inside[right[e]])
            outside[right[e]] = max(outside[right[e]], here + inside[left[e]])
            found[e] = here + inside[left[e]] + inside[right[e]]
    return found
