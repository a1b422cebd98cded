"""Proven optimal tours: Held and Karp's bound, local search, and branch and bound over the edges that may matter."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import compiling
from nonproj_systems.relaxation.branch_and_bound import branch_and_bound
from nonproj_systems.relaxation.primal import Proposal
from nonproj_systems.relaxation.solver import Limits
from nonproj_systems.relaxation.solver import solve as relax
from nonproj_systems.relaxation.steps import Polyak
from nonproj_systems.relaxation.subgradient import Subgradient
from nonproj_systems.tsp.heuristic import neighbour_lists, search_tour
from nonproj_systems.tsp.instance import Instance
from nonproj_systems.tsp.one_tree import OneTree, edges_of
from nonproj_systems.tsp.oracle import degree_problem, evaluate

OPTIMAL, LIMIT = "optimal", "limit"
"""Outcomes of a search: the tour is proven optimal; the limit of time or nodes is reached."""

ROOT_ITERATIONS, NODE_ITERATIONS = 1000, 30
"""Iterations of the subgradient method at the root, and at each node of branch and bound."""

CLOSED = 0.9
"""Gap below which a tour is proven optimal: lengths are integers, so a shorter tour would be shorter by 1."""


class Options(NamedTuple):
    """Limits of the search.

    Attributes
    ----------
    seconds : float
        Processor seconds, without those of compiling.
    nodes : int
        Nodes of branch and bound.
    kicks : int
        Kicks of the local search, per city.
    seed : int
        Seed of the local search.
    """

    seconds: float = math.inf
    nodes: int = 10**9
    kicks: int = 1000
    seed: int = 1


@dataclass
class TourResult:
    """A tour, a bound, and the record of their search.

    Attributes
    ----------
    tour : ndarray of shape (n,), int64
        The shortest tour found; it begins with city 0.
    value : int
        Its length.
    bound : float
        Lower bound on the length of any tour.
    status : str
        `OPTIMAL` or `LIMIT`.
    root_bound : float
        Held and Karp's bound.
    multipliers : ndarray of shape (n - 1,), float64
        Multipliers of the root bound.
    course : ndarray of float64
        The value of the 1-tree at each iteration at the root.
    nodes : int
        Nodes of branch and bound.
    edges : int
        Edges that may be in a shorter tour when branch and bound begins.
    seconds : float
    """

    tour: np.ndarray
    value: int
    bound: float
    status: str = LIMIT
    root_bound: float = -math.inf
    multipliers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    course: np.ndarray = field(default_factory=lambda: np.zeros(0))
    nodes: int = 0
    edges: int = 0
    seconds: float = 0.0

    @property
    def certified(self) -> bool:
        """Whether the tour is proven optimal."""
        return self.status == OPTIMAL


def solve(instance: Instance, options: Options = Options()) -> TourResult:  # noqa: B008
    """Return a tour that is proven to be optimal, unless a limit is reached before.

    Examples
    --------
    >>> from nonproj_systems.tsp.instance import make_instance
    >>> points = np.array([[0, 0], [0, 9], [9, 9], [9, 0], [4, 5]])
    >>> weights = np.abs(points[:, None] - points).sum(2)
    >>> found = solve(make_instance(weights))
    >>> found.value, found.certified
    (44, True)
    """
    n, began, compiled = len(instance.weights), time.process_time(), compiling.seconds

    def spent() -> float:
        """Return the processor seconds so far, without those of compiling."""
        return max(time.process_time() - began - (compiling.seconds - compiled), 0.0)

    near = neighbour_lists(instance.weights)
    value, tour = search_tour(instance, near, 10 * n, seed=options.seed)
    found = TourResult(tour, value, -math.inf)
    marginal = _bound_root(instance, found, max(options.seconds - spent(), 0.0))
    target = math.ceil(found.bound - 1e-6)
    value, tour = search_tour(instance, near, options.kicks * n, target, options.seed, tour)
    if value < found.value:
        found.value, found.tour = value, tour
    if not _closed(found) and spent() < options.seconds and options.nodes > 0:
        _search(instance, found, marginal, options._replace(seconds=options.seconds - spent()))
    if _closed(found):
        found.bound, found.status = float(found.value), OPTIMAL
    found.tour = np.roll(found.tour, -int(np.flatnonzero(found.tour == 0)[0]))
    found.seconds = spent()
    return found


def _closed(found: TourResult) -> bool:
    """Return whether the bound proves the tour."""
    return found.bound > found.value - 1.0


def _limits(found: TourResult, iterations: int, seconds: float) -> Limits:
    """Return the limits of a run of the subgradient method."""
    return Limits(iterations, CLOSED / (1.0 + abs(found.value)), seconds=seconds)


def _bound_root(instance: Instance, found: TourResult, seconds: float) -> np.ndarray:
    """Find Held and Karp's bound; return the marginals of all edges, float64[n, n]."""
    method = Subgradient(Polyak(scale=2.0, target=-float(found.value)))
    limits = _limits(found, ROOT_ITERATIONS, seconds)
    root = relax(degree_problem(instance), method, limits=limits, incumbent=-float(found.value))
    found.course, found.multipliers = -np.array(root.trace.dual), root.best_multipliers
    found.bound = found.root_bound = -root.dual_bound
    return evaluate(instance, root.best_multipliers)[1]


def _search(instance: Instance, found: TourResult, marginal: np.ndarray, options: Options) -> None:
    """Branch and bound over the edges of the tour and those that may be in a shorter one."""
    following = np.roll(found.tour, -1)
    kept = found.root_bound + marginal <= found.value - CLOSED
    kept[found.tour, following] = kept[following, found.tour] = True
    found.edges = int(np.triu(kept, 1).sum())

    def repair(proposal: Proposal) -> tuple[float, Any]:
        """Return the 1-tree if it is a tour, or else the shortest tour known."""
        tour = tour_of(proposal.solutions[0])
        return max((-float(found.value), found.tour), (-float(instance.length(tour)), tour), key=lambda each: each[0])

    result = branch_and_bound(
        degree_problem(instance, kept),
        Subgradient(Polyak(scale=1.0, target=-float(found.value))),
        repair=repair,
        limits=_limits(found, NODE_ITERATIONS, options.seconds),
        node_limits=_limits(found, NODE_ITERATIONS, options.seconds),
        max_nodes=options.nodes,
        seconds=options.seconds,
        start=found.multipliers,
    )
    solution = result.solution
    found.tour = tour_of(solution[0]) if isinstance(solution, tuple) else solution
    found.value, found.nodes = instance.length(found.tour), result.nodes
    found.bound = max(found.bound, -result.dual_bound)


def tour_of(tree: OneTree) -> np.ndarray:
    """Return the nodes of a 1-tree in the order of a walk from node 0, int64[n]: the tour, if it is one."""
    beside: list[list[int]] = [[] for _ in tree.parent]
    for i, j in edges_of(tree).tolist():
        beside[i].append(j)
        beside[j].append(i)
    walk, seen = [0], {0}
    for node in walk:
        following = [each for each in beside[node] if each not in seen]
        walk += following[:1]
        seen.update(following[:1])
    return np.array([*walk, *(node for node in range(len(beside)) if node not in seen)], np.int64)
