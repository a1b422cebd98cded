"""Held and Karp's relaxation: minimum 1-trees as the oracle, and the degrees of the nodes as constraints.

A tour is a 1-tree in which every node has degree 2.  Multipliers ``u`` of these constraints, that of node 0 excepted,
change the cost of an edge to ``w[i, j] + u[i] + u[j]``; the minimum 1-tree under these costs, minus twice the sum of
the multipliers, is at most the length of any tour.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from nonproj_systems.relaxation.problem import Problem, equal_to
from nonproj_systems.tsp.instance import Instance
from nonproj_systems.tsp.one_tree import OneTree, edges_of, find_marginals, minimum_one_tree, new_one_tree


class OneTreeOracle:
    """The minimum 1-tree as an oracle of `nonproj_systems.relaxation`: it maximises minus the cost.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
    tail, head : ndarray of shape (m,), int64
        The ends of each edge of the graph, ``tail < head``.
    """

    def __init__(self, weights: np.ndarray, tail: np.ndarray, head: np.ndarray):
        self._n, self._tail, self._head = len(weights), tail, head
        self._weight = weights[tail, head].astype(np.float64)
        self._number = np.zeros((self._n, self._n), np.int64)
        self._number[tail, head] = np.arange(len(tail))
        self.magnitude = self._n * float(np.abs(self._weight).max())

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, OneTree]:
        """Return the maximum, the edges chosen, float64[m], and the 1-tree."""
        costs, tree = np.full((self._n, self._n), np.inf), new_one_tree(self._n)
        costs[self._tail, self._head] = costs[self._head, self._tail] = self._weight - scores
        value = minimum_one_tree(costs, tree)
        chosen = np.zeros(len(scores))
        chosen[self._number[tuple(edges_of(tree).T)]] = 1.0
        return -value, chosen, tree


def degree_problem(instance: Instance, kept: np.ndarray | None = None) -> Problem:
    """Return Held and Karp's relaxation: the maximum of minus the length.

    Parameters
    ----------
    instance : Instance
    kept : ndarray of shape (n, n), bool, optional
        Mask of the edges (i, j), i < j, of the graph; by default all.  The variables are these edges, row by row; the
        multipliers are those of the degrees of the nodes 1 to n - 1.

    Examples
    --------
    >>> from nonproj_systems.relaxation.solver import solve
    >>> from nonproj_systems.relaxation.steps import Constant
    >>> from nonproj_systems.relaxation.subgradient import Subgradient
    >>> from nonproj_systems.tsp.instance import make_instance
    >>> square = make_instance([[0, 2, 3, 2], [2, 0, 2, 3], [3, 2, 0, 2], [2, 3, 2, 0]])
    >>> found = solve(degree_problem(square), Subgradient(Constant(1.0)))
    >>> -round(found.dual_bound, 9), found.status
    (8.0, 'agreed')
    """
    n = len(instance.weights)
    tail, head = np.nonzero(np.triu(np.ones((n, n), np.bool_) if kept is None else kept, 1))
    ends, edges = np.concatenate([tail, head]), np.tile(np.arange(len(tail)), 2)
    matrix = csr_matrix((np.ones(len(ends)), (ends, edges)), (n, len(tail)))[1:]
    oracle = OneTreeOracle(instance.weights, tail, head)
    return Problem([oracle], len(tail), constraints=equal_to(matrix, np.full(n - 1, 2.0)))


def evaluate(instance: Instance, multipliers: np.ndarray) -> tuple[float, np.ndarray, OneTree]:
    """Return the dual at multipliers, float64[n - 1], the marginal of each edge, and the 1-tree.

    The marginal, float64[n, n], is the rise of the dual if the 1-tree must contain the edge.
    """
    n, u = len(instance.weights), np.append(0.0, multipliers)
    costs, marginal, tree = instance.weights + (u[:, None] + u), np.empty((n, n)), new_one_tree(n)
    value = minimum_one_tree(costs, tree) - 2.0 * float(u.sum())
    find_marginals(costs, tree, marginal)
    return value, marginal, tree
