"""Local search that changes the labels of many nodes at once: of a random forest, given the others."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s
from nonproj_systems.mrf.model import MRF, Graph
from nonproj_systems.mrf.trws import add_conditional


def search_forests(field: MRF, labels: np.ndarray, n_moves: int, seed: int = 0) -> float:
    """Improve labels, int64[V], in place; return their score.

    A move takes random nodes between which the graph has no cycle, as many as it can, and gives them their best labels
    while those of the other nodes stay: max-product on a forest.  A score never falls.

    Parameters
    ----------
    field : MRF
    labels : ndarray of shape (V,), int64
        Changed in place.
    n_moves : int
    seed : int

    Examples
    --------
    >>> ring = MRF(np.zeros((4, 2)), [[0, 1], [1, 2], [2, 3], [0, 3]], -np.eye(2))
    >>> labels = np.zeros(4, np.int64)
    >>> search_forests(ring, labels, 3), bool((labels[[0, 1]] == labels[[2, 3]]).all())
    (0.0, True)
    """
    graph, rng = field.graph, np.random.default_rng(seed)
    belief, work = np.empty(len(graph.unary)), np.empty(int(field.n_states.max()))
    places = np.empty((4, field.n_nodes), np.int64)
    for _ in range(n_moves):
        _move(graph, rng.permutation(field.n_nodes), labels, belief, work, places)
    return field.score(labels)


@kernel
def _move(graph: Graph, permutation: Int64s, labels: Int64s, belief: Float64s, work: Float64s, places: Int64s) -> None:
    """Give the nodes of a random induced forest their best labels."""
    root, parent, edge, order = places[0], places[1], places[2], places[3]
    _grow(graph, permutation, root)
    count = _arrange(graph, permutation, root, parent, edge, order)
    first, ends = graph.first, graph.ends
    for n in range(count):
        i = order[n]
        k = first[i + 1] - first[i]
        for x in range(k):
            work[x] = graph.unary[first[i] + x]
        for p in range(graph.start[i], graph.start[i + 1]):
            e = graph.incident[p]
            side = 0 if ends[e, 0] == i else 1
            if root[ends[e, 1 - side]] < 0:
                add_conditional(graph, e, side, k, labels[ends[e, 1 - side]], work)
        for x in range(k):
            belief[first[i] + x] = work[x]
    for n in range(count - 1, -1, -1):
        i = order[n]
        j, e = parent[i], edge[i]
        if j < 0:
            continue
        k, size = first[i + 1] - first[i], first[j + 1] - first[j]
        step, stride = (size, 1) if ends[e, 0] == i else (1, k)
        for y in range(size):
            top = -np.inf
            for x in range(k):
                value = graph.scale[e] * graph.values[graph.table[e] + y * stride + x * step]
                top = max(top, belief[first[i] + x] + value)
            belief[first[j] + y] += top
    for n in range(count):
        i = order[n]
        j, e = parent[i], edge[i]
        k, best, top = first[i + 1] - first[i], labels[i], -np.inf
        for x in range(k):
            work[x] = belief[first[i] + x]
        if j >= 0:
            add_conditional(graph, e, 0 if ends[e, 0] == i else 1, k, labels[j], work)
        top = work[best]  # ties: the label stays
        for x in range(k):
            if work[x] > top + 1e-12 * (1.0 + abs(top)):
                best, top = x, work[x]
        labels[i] = best


@kernel
def _find(root: Int64s, i: int) -> int:
    """Return the root of a node's tree, halving the path to it."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@kernel
def _grow(graph: Graph, permutation: Int64s, root: Int64s) -> None:
    """Add the nodes in order, each unless it would close a cycle; ``root`` is -1 for those that are left out."""
    root[:] = -1
    ends = graph.ends
    for i in permutation:
        fits = True
        for p in range(graph.start[i], graph.start[i + 1]):
            j = ends[graph.incident[p], 0] + ends[graph.incident[p], 1] - i
            if root[j] < 0:
                continue
            own = _find(root, j)
            for q in range(graph.start[i], p):
                other = ends[graph.incident[q], 0] + ends[graph.incident[q], 1] - i
                if root[other] >= 0 and _find(root, other) == own:
                    fits = False
                    break
            if not fits:
                break
        if fits:
            root[i] = i
            for p in range(graph.start[i], graph.start[i + 1]):
                j = ends[graph.incident[p], 0] + ends[graph.incident[p], 1] - i
                if root[j] >= 0:
                    root[_find(root, j)] = i


@kernel
def _arrange(graph: Graph, permutation: Int64s, root: Int64s, parent: Int64s, edge: Int64s, order: Int64s) -> int:
    """Write parents, edges to them, and the nodes breadth first; return their number."""
    ends, count = graph.ends, 0
    parent[:] = -2
    for start in permutation:
        if root[start] < 0 or parent[start] > -2:
            continue
        parent[start], order[count] = -1, start
        place, count = count, count + 1
        while place < count:
            i = order[place]
            place += 1
            for p in range(graph.start[i], graph.start[i + 1]):
                e = graph.incident[p]
                j = ends[e, 0] + ends[e, 1] - i
                if root[j] >= 0 and parent[j] == -2:
                    parent[j], edge[j], order[count] = i, e, j
                    count += 1
    return count
