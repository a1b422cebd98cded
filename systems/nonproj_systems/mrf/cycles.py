"""Separation of clusters: triangles, and frustrated cycles made of triangles (Sontag et al. 2008; 2012).

Sontag, Choe and Li (2012), "Efficiently searching for frustrated cycles in MAP inference": each state stands for
"this state or another one"; an edge between two such questions is positive if its best states answer both alike.  A
cycle with an odd number of negative edges cannot be satisfied by the best states of all its edges.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Float64s, Int64s
from nonproj_systems.mrf.clusters import Tight, gains

MOST_STATES = 4
"""Number of states per node that are examined: the best ones."""

LONGEST = 30
"""Maximum length of a cycle."""


def separate(tight: Tight, most: int, least_gain: float) -> list[tuple[int, int, int]]:
    """Return new clusters: the triangles that gain most, then frustrated cycles as fans of triangles.

    Parameters
    ----------
    tight : Tight
        Preferably after convergence.
    most : int
        Approximate number of clusters to return.
    least_gain : float
        Minimum gain of a cluster.

    Examples
    --------
    >>> from nonproj_systems.mrf.clusters import start_from
    >>> from nonproj_systems.mrf.model import MRF
    >>> square = MRF(np.zeros((4, 2)), [[0, 1], [1, 2], [2, 3], [0, 3]], [np.eye(2)] * 3 + [1 - np.eye(2)])
    >>> separate(start_from(square, square.graph.unary, np.zeros(16)), 10, 1e-6)
    [(0, 1, 2), (0, 2, 3)]
    """
    known = set(map(tuple, tight.triples.tolist()))
    triples = [triple for triple in _triangles(tight.ends, len(tight.first) - 1) if triple not in known]
    if triples:
        found = gains(tight, np.array(triples, np.int64))
        order = np.argsort(-found, kind="stable")[:most]
        triples = [triples[c] for c in order[found[order] > least_gain].tolist()]
    fans = dict.fromkeys(triples)
    if len(fans) < most:
        for cycle in _frustrated(tight, least_gain, most):
            fans |= {triple: None for triple in _fan(cycle) if triple not in known}
            if len(fans) >= most:
                break
    return list(fans)


def _triangles(ends: np.ndarray, n_nodes: int, most: int = 200_000) -> list[tuple[int, int, int]]:
    """Return the triangles of a graph, up to a maximum number."""
    above: list[set[int]] = [set() for _ in range(n_nodes)]
    for i, j in ends.tolist():
        above[i].add(j)
    found: list[tuple[int, int, int]] = []
    for i, j in ends.tolist():
        found += [(i, j, k) for k in sorted(above[i] & above[j])]
        if len(found) >= most:
            break
    return found[:most]


def _fan(cycle: list[int]) -> list[tuple[int, int, int]]:
    """Return the triangles between the first node of a cycle and each pair of neighbours of the rest."""
    root = cycle[0]
    return [tuple(sorted((root, i, j))) for i, j in zip(cycle[1:], cycle[2:], strict=False)]


def _frustrated(tight: Tight, least_gain: float, most: int) -> list[list[int]]:
    """Return frustrated cycles as nodes, those whose weakest edge is strongest first."""
    ranks = _ranks(tight.first, tight.nodes)
    size = int((tight.begin[1:] - tight.begin[:-1]).clip(max=MOST_STATES**2).sum())
    links, weights = np.empty((size, 2), np.int64), np.empty(size)
    count = _weigh(tight, ranks, MOST_STATES, links, weights)
    links, weights = links[:count], weights[:count]
    order = np.argsort(-np.abs(weights), kind="stable")
    order = order[np.abs(weights[order]) > least_gain]
    tree, closing = np.empty(len(order), np.bool_), np.empty(len(order), np.bool_)
    _span(links[order], weights[order] < 0, len(tight.nodes), tree, closing)
    parent, depth = _root(links[order[tree]], len(tight.nodes))
    node_of = np.repeat(np.arange(len(tight.first) - 1), np.diff(tight.first))
    found: dict[tuple[int, ...], None] = {}
    for u, v in links[order[closing]].tolist():
        path = _path(parent, depth, u, v)
        nodes = node_of[path].tolist()
        if 3 <= len(nodes) <= LONGEST and len(set(nodes)) == len(nodes):
            found[tuple(nodes)] = None
            if len(found) >= most:
                break
    return [list(nodes) for nodes in found]


def _ranks(first: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return for each state how many states of its node are better."""
    node = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = np.lexsort((np.arange(len(scores)), -scores, node))
    ranks = np.empty(len(scores), np.int64)
    ranks[order] = np.arange(len(scores)) - first[node]
    return ranks


def _root(links: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return parents and depths in a forest."""
    near: list[list[int]] = [[] for _ in range(n)]
    for u, v in links.tolist():
        near[u].append(v)
        near[v].append(u)
    parent, depth = np.full(n, -1), np.full(n, -1)
    for root in range(n):
        if depth[root] >= 0 or not near[root]:
            continue
        depth[root], waiting = 0, [root]
        for u in waiting:
            for v in near[u]:
                if depth[v] < 0:
                    parent[v], depth[v] = u, depth[u] + 1
                    waiting.append(v)
    return parent, depth


def _path(parent: np.ndarray, depth: np.ndarray, u: int, v: int) -> list[int]:
    """Return the path between two nodes of a tree."""
    left, right = [u], [v]
    while u != v:
        if depth[u] >= depth[v]:
            u = int(parent[u])
            left.append(u)
        else:
            v = int(parent[v])
            right.append(v)
    return left + right[-2::-1]


@kernel
def _weigh(tight: Tight, ranks: Int64s, most: int, links: Int64s, weights: Float64s) -> int:
    """Write the edges between questions, and how much better equal answers are; return their number."""
    first, count = tight.first, 0
    for e in range(tight.ends.shape[0]):
        a, b = first[tight.ends[e, 0]], first[tight.ends[e, 1]]
        size, width = first[tight.ends[e, 0] + 1] - a, first[tight.ends[e, 1] + 1] - b
        for x in range(size):
            for y in range(width):
                if ranks[a + x] >= most or ranks[b + y] >= most:
                    continue
                same, different = -np.inf, -np.inf
                for s in range(size):
                    for t in range(width):
                        value = tight.edges[tight.begin[e] + s * width + t] + tight.nodes[a + s] + tight.nodes[b + t]
                        if (s == x) == (t == y):
                            same = max(same, value)
                        else:
                            different = max(different, value)
                if same > -np.inf and different > -np.inf:
                    links[count, 0], links[count, 1], weights[count] = a + x, b + y, same - different
                    count += 1
    return count


@kernel
def _span(links: Int64s, negative: Bools, n: int, tree: Bools, closing: Bools) -> None:
    """Mark the edges of a spanning forest, and those that close a frustrated cycle with it."""
    root, odd = np.arange(n), np.zeros(n, np.int64)
    for k in range(links.shape[0]):
        tree[k], closing[k] = False, False
        u, v, parity = links[k, 0], links[k, 1], 1 if negative[k] else 0
        while root[u] != u:
            parity ^= odd[u]
            u = root[u]
        while root[v] != v:
            parity ^= odd[v]
            v = root[v]
        if u != v:
            tree[k] = True
            root[u], odd[u] = v, parity
        elif parity:
            closing[k] = True
