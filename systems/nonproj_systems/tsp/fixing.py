"""Edges fixed at a node of branch and bound: by degrees and subtours, and by reduced costs."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int8s, Int64s
from nonproj_systems.tsp.sparse import FORBIDDEN, FORCED, FREE, Graph


@kernel
def _root(parent: Int64s, node: int) -> int:
    """Return the representative of a node's component."""
    while parent[node] != node:
        node = parent[node]
    return node


@kernel
def _by_degrees(graph: Graph, state: Int8s, in_degree: Int64s, left: Int64s) -> int:
    """Fix edges at nodes with two forced edges, or with two edges left; return the number fixed, -1 for none possible.

    A node needs two edges: with two forced the others are forbidden, with two left these are forced.
    """
    tail, head, weight, degree = graph
    for i in range(len(degree)):
        in_degree[i] = left[i] = 0
    for e in range(len(tail)):
        if state[e] != FORBIDDEN:
            left[tail[e]] += 1
            left[head[e]] += 1
            if state[e] == FORCED:
                in_degree[tail[e]] += 1
                in_degree[head[e]] += 1
    for i in range(len(degree)):
        if in_degree[i] > 2 or left[i] < 2:
            return -1
    fixed = 0
    for e in range(len(tail)):
        if state[e] == FREE:
            i, j = tail[e], head[e]
            full, needed = in_degree[i] == 2 or in_degree[j] == 2, left[i] == 2 or left[j] == 2
            if full and needed:
                return -1
            if full or needed:
                state[e] = FORBIDDEN if full else FORCED
                fixed += 1
                if full:
                    left[i] -= 1
                    left[j] -= 1
                else:
                    in_degree[i] += 1
                    in_degree[j] += 1
    return fixed


@kernel
def _by_subtours(graph: Graph, state: Int8s) -> int:
    """Forbid edges that close a path of forced edges to a subtour; return the number fixed, -1 for a forced subtour."""
    tail, head, weight, degree = graph
    n = len(degree)
    parent, size = np.arange(n), np.ones(n, np.int64)
    forced = 0
    for e in range(len(tail)):
        if state[e] == FORCED:
            forced += 1
            i, j = _root(parent, tail[e]), _root(parent, head[e])
            if i == j:
                if size[i] < n or forced > n:
                    return -1
                continue
            if size[i] > size[j]:
                i, j = j, i
            parent[i] = j
            size[j] += size[i]
    fixed = 0
    for e in range(len(tail)):
        if state[e] == FREE:
            i = _root(parent, tail[e])
            if i == _root(parent, head[e]) and size[i] < n:
                state[e] = FORBIDDEN
                fixed += 1
    return fixed


@kernel
def propagate(graph: Graph, state: Int8s) -> bool:
    """Fix edges until nothing more follows; return whether a tour may be left."""
    n = len(graph.degree)
    in_degree, left = np.empty(n, np.int64), np.empty(n, np.int64)
    while True:
        fixed = _by_degrees(graph, state, in_degree, left)
        if fixed < 0:
            return False
        if fixed > 0:
            continue
        fixed = _by_subtours(graph, state)
        if fixed < 0:
            return False
        if fixed == 0:
            return True


@kernel
def _hang(graph: Graph, chosen: Int8s, above: Int64s, edge_above: Int64s, depth: Int64s) -> None:
    """Hang the spanning tree of a 1-tree on node 1: for each node its parent, the edge to it, and its depth."""
    tail, head, weight, degree = graph
    n, m = len(degree), len(tail)
    start, place = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for e in range(m):
        if chosen[e] and tail[e] > 0:
            start[tail[e] + 1] += 1
            start[head[e] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
        place[i + 1] = start[i + 1]
    beside = np.empty(start[n], np.int64)
    for e in range(m):
        if chosen[e] and tail[e] > 0:
            beside[place[tail[e]]] = e
            place[tail[e]] += 1
            beside[place[head[e]]] = e
            place[head[e]] += 1
    queue, count = np.empty(n, np.int64), 1
    queue[0] = 1
    above[1], edge_above[1], depth[1] = -1, -1, 0
    at = 0
    while at < count:
        i = queue[at]
        at += 1
        for k in range(start[i], start[i + 1]):
            e = beside[k]
            j = head[e] if tail[e] == i else tail[e]
            if j != above[i]:
                above[j], edge_above[j], depth[j] = i, e, depth[i] + 1
                queue[count] = j
                count += 1


@kernel
def sparse_marginals(graph: Graph, state: Int8s, costs: Float64s, chosen: Int8s, marginal: Float64s) -> None:
    """Write by how much the cost of a minimum 1-tree rises if a free edge changes sides; infinity if it cannot.

    An edge that is not chosen replaces the most expensive free edge of the path between its ends, and an edge of the
    1-tree is replaced by the cheapest edge that has it in its path.
    """
    tail, head, weight, degree = graph
    n, m = len(degree), len(tail)
    above, edge_above, depth = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    _hang(graph, chosen, above, edge_above, depth)
    highest, third = -np.inf, np.inf
    for e in range(m):
        marginal[e] = np.inf
        if tail[e] == 0 and state[e] == FREE:
            if chosen[e]:
                highest = max(highest, costs[e])
            else:
                third = min(third, costs[e])
    for e in range(m):
        if state[e] != FREE:
            continue
        if tail[e] == 0:
            marginal[e] = third - costs[e] if chosen[e] else costs[e] - highest
        elif not chosen[e]:
            i, j, most = tail[e], head[e], -np.inf
            while i != j:
                if depth[i] < depth[j]:
                    i, j = j, i
                f = edge_above[i]
                if state[f] == FREE:
                    most = max(most, costs[f])
                    marginal[f] = min(marginal[f], costs[e] - costs[f])
                i = above[i]
            marginal[e] = costs[e] - most


@kernel
def fix_by_costs(state: Int8s, chosen: Int8s, marginal: Float64s, slack: float) -> int:
    """Fix free edges whose change of sides raises the bound by more than ``slack``; return the number fixed."""
    fixed = 0
    for e in range(len(state)):
        if state[e] == FREE and marginal[e] > slack:
            state[e] = FORCED if chosen[e] else FORBIDDEN
            fixed += 1
    return fixed
