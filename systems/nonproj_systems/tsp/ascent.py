"""Held and Karp's bound: the Lagrangian of the degree constraints, minimum 1-trees, and the subgradient method.

A tour is a 1-tree in which every node has degree 2.  Multipliers ``u`` of these constraints, that of node 0 excepted,
change the cost of an edge to ``w[i, j] + (u[i] + u[j])``; the minimum 1-tree under these costs, minus twice the sum of
the multipliers, is at most the length of any tour.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s
from nonproj_systems.relaxation.problem import Problem, equal_to
from nonproj_systems.relaxation.solver import Iteration
from nonproj_systems.tsp.instance import Instance
from nonproj_systems.tsp.one_tree import OneTree, edges_of, find_marginals, minimum_one_tree, new_one_tree
from nonproj_systems.tsp.preconditioner import Preconditioner, plain, precondition, precondition_into

GRID, MAX_MULTIPLIER = 1024.0, 1e9
"""Multipliers of certified bounds are multiples of 1 / GRID, and not too large, so that sums are exact in float64."""


MEMORY = 0.1
"""Share of the last direction in that of a root node's ascent."""


class Steps(NamedTuple):
    """The step rule of an ascent.

    Attributes
    ----------
    sizes : ndarray of shape (k,), float64
        For each iteration the step, or its scale if there is a target.
    target : float
        Minus infinity, or the length that the bound is to reach: Polyak's step is ``scale * (target - bound)`` over the
        squared norm of the subgradient.
    memory : float
        Share of the last subgradient in the direction (Volgenant and Jonker 1982: 0.4); 0 is the plain method.
    """

    sizes: np.ndarray
    target: float
    memory: float


class Ascent(NamedTuple):
    """Result of an ascent.

    Attributes
    ----------
    bound : float
        The highest value of the Lagrangian dual: no tour is shorter.
    multipliers : ndarray of shape (n,), float64
        Multipliers of the bound; that of node 0 is 0.
    tree : OneTree
        The minimum 1-tree there.
    course : ndarray of shape (k,), float64
        The value at each iteration.
    is_tour : bool
        Whether that 1-tree is a tour, and hence an optimal one.
    """

    bound: float
    multipliers: np.ndarray
    tree: OneTree
    course: np.ndarray
    is_tour: bool


@kernel
def _lagrangian(weights: Float64s, u: Float64s, costs: Float64s, tree: OneTree) -> float:
    """Evaluate the dual at multipliers; leave the costs and the minimum 1-tree."""
    n = weights.shape[0]
    constant = 0.0
    for i in range(n):
        constant += u[i]
        for j in range(n):
            costs[i, j] = weights[i, j] + (u[i] + u[j])
    return minimum_one_tree(costs, tree) - 2.0 * constant


@kernel
def _count_degrees(tree: OneTree, degree: Int64s) -> int:
    """Count the edges of a 1-tree at each node; return the sum of (degree - 2)^2."""
    parent, order, ends = tree
    for node in range(len(degree)):
        degree[node] = 2 if node == 0 else 0
    for k in range(1, len(order)):
        degree[order[k]] += 1
        degree[parent[order[k]]] += 1
    degree[ends[0]] += 1
    degree[ends[1]] += 1
    norm = 0
    for node in range(len(degree)):
        norm += (degree[node] - 2) ** 2
    return norm


@kernel
def _ascend(
    weights: Float64s, u: Float64s, steps: Steps, preconditioner: Preconditioner, tree: OneTree, best_tree: OneTree
) -> tuple[float, Float64s, Float64s, bool]:
    """Run the subgradient method from ``u``; return the bound, its multipliers, the course and if a tour was found."""
    sizes, target, memory = steps
    n = weights.shape[0]
    costs, degree = np.empty((n, n)), np.zeros(n, np.int64)
    best_u, last, course = u.copy(), np.zeros(n), np.zeros(len(sizes))
    slope, direction, sums = np.zeros(n), np.zeros(n), np.zeros(len(preconditioner.parent))
    bound = -np.inf
    for k in range(len(sizes)):
        value = _lagrangian(weights, u, costs, tree)
        norm = _count_degrees(tree, degree)
        course[k] = value
        if value > bound or norm == 0:
            bound = value
            for i in range(n):
                best_u[i], best_tree.parent[i] = u[i], tree.parent[i]
            for i in range(n - 1):
                best_tree.order[i] = tree.order[i]
            best_tree.ends[0], best_tree.ends[1] = tree.ends[0], tree.ends[1]
        if norm == 0:
            return bound, best_u, course[: k + 1], True
        for i in range(n):
            slope[i] = 2.0 - degree[i]
        squared = precondition_into(preconditioner, slope, sums, direction)
        size = sizes[k]
        if target > -np.inf:
            size *= (target - value) / squared
        for i in range(1, n):
            if k > 0:
                u[i] -= size * ((1.0 - memory) * direction[i] + memory * last[i])
            else:
                u[i] -= size * direction[i]
            last[i] = direction[i]
    return bound, best_u, course, False


def ascend(
    instance: Instance, steps: Steps, start: np.ndarray | None = None, preconditioner: Preconditioner | None = None
) -> Ascent:
    """Return Held and Karp's bound by the subgradient method.

    Parameters
    ----------
    instance : Instance
    steps : Steps
    start : ndarray of shape (n,), float64, optional
        Multipliers to start from; that of node 0 must be 0.
    preconditioner : Preconditioner, optional
        By default the direction is the subgradient itself.

    Notes
    -----
    The loop is compiled.  It equals `nonproj_systems.relaxation.solver.solve` with the problem of `degree_problem` and
    the method `Deflected`, step by step.

    Examples
    --------
    >>> from nonproj_systems.tsp.instance import make_instance
    >>> square = make_instance([[0, 2, 3, 2], [2, 0, 2, 3], [3, 2, 0, 2], [2, 3, 2, 0]])
    >>> found = ascend(square, Steps(np.ones(10), -np.inf, 0.0))
    >>> found.bound, found.is_tour
    (8.0, True)
    """
    n = len(instance.weights)
    u = np.zeros(n) if start is None else np.array(start, np.float64)
    best_tree = new_one_tree(n)
    weights = instance.weights.astype(np.float64)
    preconditioner = plain(n) if preconditioner is None else preconditioner
    steps = steps._replace(target=float(steps.target))
    bound, best, course, is_tour = _ascend(weights, u, steps, preconditioner, new_one_tree(n), best_tree)
    return Ascent(bound, best, best_tree, course, is_tour)


def evaluate(instance: Instance, multipliers: np.ndarray) -> tuple[float, np.ndarray, OneTree]:
    """Return the dual at multipliers rounded to the grid, which is exact; the marginal of each edge; and the 1-tree.

    The marginal, float64[n, n], is by how much the dual rises if the 1-tree must contain the edge.
    """
    n = len(instance.weights)
    u = on_grid(multipliers)
    costs, marginal, tree = np.empty((n, n)), np.empty((n, n)), new_one_tree(n)
    value = _lagrangian(instance.weights.astype(np.float64), u, costs, tree)
    find_marginals(costs, tree, marginal)
    return value, marginal, tree


def on_grid(multipliers: np.ndarray) -> np.ndarray:
    """Round multipliers to multiples of 1 / GRID, and limit them."""
    return np.clip(np.rint(multipliers * GRID) / GRID, -MAX_MULTIPLIER, MAX_MULTIPLIER)


def root_steps(n: int, target: float, iterations: int = 0) -> Steps:
    """Return the usual steps of a root node, for the preconditioner of clusters: Polyak's, with a scale that falls.

    It falls from 2 to 0.0001, and a little of the last direction is remembered: with a memory of a half the ascent
    overshoots on problems with cities in clusters.
    """
    k = iterations or max(1000, min(5000, 50 * n, 10**10 // n**2))
    return Steps(2.0 * 0.00005 ** (np.arange(k) / k), float(target), MEMORY)


class OneTreeOracle:
    """The minimum 1-tree as an oracle of `nonproj_systems.relaxation`: it maximises minus the cost.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
    """

    def __init__(self, weights: np.ndarray):
        self._weights, self._n = weights.astype(np.float64), len(weights)
        self._tail, self._head = np.triu_indices(self._n, 1)
        self._number = np.zeros((self._n, self._n), np.int64)
        self._number[self._tail, self._head] = np.arange(len(self._tail))

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, OneTree]:
        """Return the maximum, the edges chosen, float64[n (n - 1) / 2], and the 1-tree."""
        costs = np.zeros((self._n, self._n))
        costs[self._tail, self._head] = self._weights[self._tail, self._head] - scores
        costs += costs.T
        tree = new_one_tree(self._n)
        value = minimum_one_tree(costs, tree)
        chosen = np.zeros(len(scores))
        chosen[self._number[tuple(edges_of(tree).T)]] = 1.0
        return -value, chosen, tree


def degree_problem(instance: Instance) -> Problem:
    """Return Held and Karp's relaxation as a problem of `nonproj_systems.relaxation`: the maximum of minus the length.

    Variables are the edges (i, j), i < j, in the order of ``numpy.triu_indices(n, 1)``; multipliers those of the
    degrees of the nodes 1 to n - 1.

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
    tail, head = np.triu_indices(n, 1)
    ends, edges = np.concatenate([tail, head]), np.tile(np.arange(len(tail)), 2)
    matrix = csr_matrix((np.ones(len(ends)), (ends, edges)))[1:]
    degrees = equal_to(matrix, np.full(n - 1, 2.0))
    return Problem([OneTreeOracle(instance.weights)], len(tail), constraints=degrees)


class Deflected:
    """Method of `nonproj_systems.relaxation`: the subgradient method with a share of the last subgradient in the
    direction.

    Parameters
    ----------
    steps : Steps
    preconditioner : Preconditioner, optional
        By default the direction is the subgradient itself.

    Notes
    -----
    Volgenant and Jonker (1982).  With ``memory`` 0 and without a target it is `Subgradient` with a schedule of steps.
    """

    average = None

    def __init__(self, steps: Steps, preconditioner: Preconditioner | None = None):
        self.steps, self.preconditioner, self.size = steps, preconditioner, 0.0
        self._k, self._last = 0, None

    def start(self, evaluator, multipliers: np.ndarray) -> None:
        """Forget earlier runs."""
        self._k, self._last, self._project = 0, None, evaluator.problem.project

    def advance(self, iteration: Iteration) -> np.ndarray | None:
        """Return the multipliers after one step; None when all steps are used."""
        sizes, target, memory = self.steps
        if self._k == len(sizes):
            return None
        residual, self.size = iteration.evaluation.residual, sizes[self._k]
        slope = residual
        if self.preconditioner is not None:  # node 0, always of degree 2, has no multiplier
            slope = precondition(self.preconditioner, np.append(0.0, residual))[1:]
        if target > -np.inf:
            self.size *= (target + iteration.evaluation.dual) / (slope @ residual)
        direction = slope if self._last is None else (1.0 - memory) * slope + memory * self._last
        self._k, self._last = self._k + 1, slope
        return self._project(iteration.evaluation.multipliers - self.size * direction)
