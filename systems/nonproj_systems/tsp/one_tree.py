"""Minimum 1-trees of dense graphs: a minimum spanning tree of all nodes except 0, and the two cheapest edges at node 0.

The oracle of Held and Karp (1970, 1971); Rush and Collins (2012), section 6.3, whose vertex 1 is node 0 here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s


class OneTree(NamedTuple):
    """A 1-tree.

    Attributes
    ----------
    parent : ndarray of shape (n,), int32
        The parent of each node of the spanning tree; -1 for nodes 0 and 1.
    order : ndarray of shape (n - 1,), int32
        The nodes of the spanning tree, parents first.
    ends : ndarray of shape (2,), int32
        The neighbours of node 0, the cheaper one first.
    """

    parent: np.ndarray
    order: np.ndarray
    ends: np.ndarray


def new_one_tree(n: int) -> OneTree:
    """Return an empty 1-tree of n nodes, to be filled by `minimum_one_tree`."""
    return OneTree(np.full(n, -1, np.int32), np.zeros(n - 1, np.int32), np.zeros(2, np.int32))


@kernel
def minimum_one_tree(costs: Float64s, tree: OneTree) -> float:
    """Find a minimum 1-tree by Prim's algorithm, in O(n^2), and return its cost."""
    parent, order, ends = tree
    n = costs.shape[0]
    waiting, best = np.arange(2, n), costs[1].copy()
    for node in range(n):
        parent[node] = 1 if node > 1 else -1
    order[0] = 1
    total = 0.0
    for count in range(1, n - 1):
        least, where = np.inf, 0
        for k in range(n - 1 - count):
            if best[waiting[k]] < least:
                least, where = best[waiting[k]], k
        node = waiting[where]
        waiting[where] = waiting[n - 2 - count]
        order[count] = node
        total += least
        row = costs[node]
        for k in range(n - 2 - count):
            other = waiting[k]
            if row[other] < best[other]:
                best[other] = row[other]
                parent[other] = node
    first, second = np.inf, np.inf
    for node in range(1, n):
        cost = costs[0, node]
        if cost < first:
            first, second = cost, first
            ends[0], ends[1] = node, ends[0]
        elif cost < second:
            second = cost
            ends[1] = node
    return total + first + second


@kernel
def find_marginals(costs: Float64s, tree: OneTree, marginal: Float64s) -> None:
    """Write the rise of the minimum 1-tree's cost if it must contain an edge: float64[n, n], symmetric.

    The edge replaces the most expensive edge of the path between its ends (Helsgaun 2000, section 4.1: alpha-values).
    """
    parent, order, ends = tree
    n = costs.shape[0]
    for count in range(n - 1):
        node = order[count]
        above = parent[node]
        for k in range(count):
            other = order[k]
            highest = costs[node, above]
            if other != above and marginal[above, other] > highest:
                highest = marginal[above, other]
            marginal[node, other] = marginal[other, node] = highest
    for i in range(1, n):
        for j in range(1, n):
            marginal[i, j] = max(costs[i, j] - marginal[i, j], 0.0)
        marginal[i, i] = 0.0
    for node in range(n):
        marginal[0, node] = marginal[node, 0] = max(costs[0, node] - costs[0, ends[1]], 0.0)
    marginal[0, 0] = 0.0


def edges_of(tree: OneTree) -> np.ndarray:
    """Return the edges of a 1-tree, int64[n, 2], the smaller node first, sorted.

    Examples
    --------
    >>> costs = np.array([[0.0, 1, 5, 2], [1, 0, 1, 4], [5, 1, 0, 1], [2, 4, 1, 0]])
    >>> tree = new_one_tree(4)
    >>> minimum_one_tree(costs, tree), edges_of(tree).tolist()
    (5.0, [[0, 1], [0, 3], [1, 2], [2, 3]])
    """
    nodes = tree.order[1:].astype(np.int64)
    pairs = np.concatenate([np.stack([tree.parent[nodes], nodes], 1), [[0, tree.ends[0]], [0, tree.ends[1]]]])
    pairs.sort(axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
