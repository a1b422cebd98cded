"""Minimum 1-trees of sparse graphs with forced and forbidden edges, under multipliers of degrees and of cuts.

The graph has the edges that are left once the others are proven to be in no better tour.  A cut here is any inequality
``sum of coefficient * x[edge] <= rhs`` that all tours satisfy; its multiplier is at least 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int8s, Int64s
from nonproj_systems.tsp.ascent import MAX_MULTIPLIER

FREE, FORCED, FORBIDDEN = 0, 1, -1
"""States of an edge."""

_NEVER = 1e300


class Graph(NamedTuple):
    """A sparse graph.

    Attributes
    ----------
    tail, head : ndarray of shape (m,), int32
        The ends of each edge, ``tail < head``.
    weight : ndarray of shape (m,), float64
    degree : ndarray of shape (n,), int64
        The number of edges at each node; its length is the number of nodes.
    """

    tail: np.ndarray
    head: np.ndarray
    weight: np.ndarray
    degree: np.ndarray


class Cuts(NamedTuple):
    """Inequalities over the edges of a graph, row by row.

    Attributes
    ----------
    start : ndarray of shape (c + 1,), int64
        Cut ``k`` has the entries ``start[k]`` to ``start[k + 1] - 1``.
    edge : ndarray of int64
    coefficient : ndarray of float64
    rhs : ndarray of shape (c,), float64
    """

    start: np.ndarray
    edge: np.ndarray
    coefficient: np.ndarray
    rhs: np.ndarray


NO_CUTS = Cuts(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def make_graph(weights: np.ndarray, kept: np.ndarray) -> Graph:
    """Return the graph of the edges (i, j), i < j, for which ``kept[i, j]``.

    Examples
    --------
    >>> make_graph(np.ones((3, 3)), np.ones((3, 3), bool)).head.tolist()
    [1, 2, 2]
    """
    tail, head = np.nonzero(np.triu(kept, 1))
    degree = np.bincount(np.concatenate([tail, head]), minlength=len(weights))
    return Graph(tail.astype(np.int32), head.astype(np.int32), weights[tail, head].astype(np.float64), degree)


@kernel
def _edge_costs(graph: Graph, cuts: Cuts, u: Float64s, costs: Float64s) -> None:
    """Write the cost of each edge under multipliers of the degrees (those of node 0 is 0) and of the cuts."""
    tail, head, weight, degree = graph
    start, edge, coefficient, rhs = cuts
    n = len(degree)
    for e in range(len(tail)):
        costs[e] = u[tail[e]] + u[head[e]]
    for k in range(len(rhs)):
        if u[n + k] > 0.0:
            for at in range(start[k], start[k + 1]):
                costs[edge[at]] += u[n + k] * coefficient[at]
    for e in range(len(tail)):
        costs[e] = weight[e] + costs[e]


@kernel
def _find(parent: Int64s, node: int) -> int:
    """Return the representative of a node's component (union-find with path halving)."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def _sparse_one_tree(graph: Graph, state: Int8s, costs: Float64s, order: Int64s, chosen: Int8s) -> float:
    """Find a minimum 1-tree by Kruskal's algorithm: with all forced edges, without forbidden ones.

    ``order`` is the order of the last call, mostly nearly right.  Returns the cost; infinity if there is no 1-tree.
    """
    tail, head, weight, degree = graph
    n, m = len(degree), len(tail)
    keys = np.empty(m)
    for e in range(m):
        keys[e] = costs[e] if state[e] == FREE else (-_NEVER if state[e] == FORCED else _NEVER)
        chosen[e] = 0
    for k in range(1, m):
        e = order[k]
        key, at = keys[e], k
        while at > 0 and keys[order[at - 1]] > key:
            order[at] = order[at - 1]
            at -= 1
        order[at] = e
    parent = np.arange(n)
    at_zero, joined, total = 0, 0, 0.0
    for k in range(m):
        e = order[k]
        if keys[e] == _NEVER or (at_zero == 2 and joined == n - 2):
            break
        if tail[e] == 0:
            if at_zero < 2:
                at_zero += 1
                chosen[e] = 1
                total += costs[e]
        else:
            i, j = _find(parent, tail[e]), _find(parent, head[e])
            if i != j:
                parent[i] = j
                joined += 1
                chosen[e] = 1
                total += costs[e]
    return total if at_zero == 2 and joined == n - 2 else np.inf


@kernel
def _slopes(graph: Graph, cuts: Cuts, u: Float64s, chosen: Int8s, slope: Float64s) -> float:
    """Write the subgradient at a 1-tree, right-hand sides minus left-hand sides; return its squared norm."""
    tail, head, weight, degree = graph
    start, edge, coefficient, rhs = cuts
    n = len(degree)
    for i in range(n):
        slope[i] = 2.0
    for e in range(len(tail)):
        if chosen[e]:
            slope[tail[e]] -= 1.0
            slope[head[e]] -= 1.0
    slope[0] = 0.0
    norm = 0.0
    for i in range(n):
        norm += slope[i] * slope[i]
    for k in range(len(rhs)):
        total = rhs[k]
        for at in range(start[k], start[k + 1]):
            if chosen[edge[at]]:
                total -= coefficient[at]
        slope[n + k] = total
        if not (u[n + k] <= 0.0 and total > 0.0):
            norm += total * total
    return norm


@kernel
def sparse_value(
    graph: Graph, cuts: Cuts, state: Int8s, u: Float64s, order: Int64s, costs: Float64s, chosen: Int8s
) -> float:
    """Return the Lagrangian dual at multipliers; leave the costs and the minimum 1-tree."""
    start, edge, coefficient, rhs = cuts
    n = len(graph.degree)
    _edge_costs(graph, cuts, u, costs)
    constant = 0.0
    for i in range(n):
        constant += 2.0 * u[i]
    for k in range(len(rhs)):
        constant += u[n + k] * rhs[k]
    return _sparse_one_tree(graph, state, costs, order, chosen) - constant


@kernel
def _note_tour(graph: Graph, chosen: Int8s, incumbent: Float64s, best: Int8s) -> bool:
    """If a 1-tree is a tour shorter than the incumbent, keep its edges and length."""
    tail, head, weight, degree = graph
    seen = np.zeros(len(degree), np.int64)
    length = 0.0
    for e in range(len(tail)):
        if chosen[e]:
            seen[tail[e]] += 1
            seen[head[e]] += 1
            length += weight[e]
    for i in range(len(seen)):
        if seen[i] != 2:
            return False
    if length < incumbent[0]:
        incumbent[0] = length
        for e in range(len(tail)):
            best[e] = chosen[e]
    return True


@kernel
def sparse_ascend(
    relaxation: tuple[Graph, Cuts, Int64s],
    state: Int8s,
    u: Float64s,
    steps: tuple[Float64s, float, float, float],
    incumbent: Float64s,
    best: Int8s,
    mean: Float64s,
) -> float:
    """Run the subgradient method from multipliers ``u``; leave the best ones there, and return the bound.

    Parameters
    ----------
    relaxation : tuple of Graph, Cuts and int64[m]
        The last is the order for `_sparse_one_tree`.
    steps : tuple of float64[k], float, float and float
        Scales of the steps, the target, memory, and the grid that multipliers are rounded to (0: none).  The target is
        minus infinity, for plain steps, or plus infinity, for the incumbent's length.
    incumbent : ndarray of shape (1,), float64
        The length of the shortest tour known.  Above it, less 1, the bound need not rise.
    mean : ndarray of shape (m,), float64
        Set to the average of the 1-trees of the later half of the iterations.
    """
    graph, cuts, order = relaxation
    sizes, target, memory, grid = steps
    m, size_u, n = len(graph.tail), len(u), len(graph.degree)
    costs, chosen, best_u = np.empty(m), np.empty(m, np.int8), u.copy()
    slope, last = np.zeros(size_u), np.zeros(size_u)
    bound = -np.inf
    for e in range(m):
        mean[e] = 0.0
    for k in range(len(sizes)):
        value = sparse_value(graph, cuts, state, u, order, costs, chosen)
        if value > bound:
            bound = value
            for i in range(size_u):
                best_u[i] = u[i]
        if value == np.inf:
            break
        norm = _slopes(graph, cuts, u, chosen, slope)
        if 2 * k >= len(sizes):
            for e in range(m):
                mean[e] += chosen[e]
        if _note_tour(graph, chosen, incumbent, best) and norm == 0.0:
            break
        if bound > incumbent[0] - 1.0 and target == np.inf:
            break
        size = sizes[k]
        if target == np.inf:
            size *= (incumbent[0] - value) / norm
        for i in range(1, size_u):
            move = (1.0 - memory) * slope[i] + memory * last[i] if k > 0 else slope[i]
            last[i] = slope[i]
            new = u[i] - size * move
            if grid > 0.0:
                new = min(max(np.rint(new * grid) / grid, -MAX_MULTIPLIER), MAX_MULTIPLIER)
            u[i] = max(new, 0.0) if i >= n else new
    for i in range(size_u):
        u[i] = best_u[i]
    half = max(1, len(sizes) - (len(sizes) + 1) // 2)
    for e in range(m):
        mean[e] /= half
    return bound
