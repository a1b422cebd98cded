"""Proven optimal tours: Held and Karp's bound, local search, fixed edges, branch and bound, and cuts if needed."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import compiling
from nonproj_systems.tsp.ascent import GRID, ascend, evaluate, on_grid, root_steps
from nonproj_systems.tsp.heuristic import neighbour_lists, search_tour
from nonproj_systems.tsp.instance import Instance
from nonproj_systems.tsp.preconditioner import by_clusters
from nonproj_systems.tsp.search import Stack, search
from nonproj_systems.tsp.sparse import NO_CUTS, Cuts, Graph, make_graph

OPTIMAL, LIMIT, STOPPED = "optimal", "limit", "stopped"
"""Outcomes of a search: the tour is proven optimal; the limit of time or nodes is reached; the callback said so."""

PLAIN_NODES = 1000
"""Nodes of the search before cuts are looked for."""

NODES_AT_ONCE, EDGES_AT_ONCE, STACK_SIZE = 50, 50_000, 512
"""Nodes explored, and edges of all of them, between two looks at the clock; first size of the stack of open nodes."""

NODE_SIZES, TRIAL_SIZES = 0.94 ** np.arange(50), 0.9 ** np.arange(12)
"""Scales of Polyak's steps at a node, and at the children that strong branching tries."""


class Options(NamedTuple):
    """Limits of the search.

    Attributes
    ----------
    seconds : float
        Processor seconds after which no further nodes are explored.
    nodes : float
        Nodes explored at most.
    kicks : int
        Kicks of the local search for each city.
    cuts : bool
        Whether to look for cuts by linear programs if the search takes long without; only if HiGHS is installed.
    seed : int
        Seed of the local search.
    """

    seconds: float = math.inf
    nodes: float = math.inf
    kicks: int = 1000
    cuts: bool = True
    seed: int = 1


@dataclass
class TourResult:
    """A tour, a bound, and how they were found.

    Attributes
    ----------
    tour : ndarray of shape (n,), int64
        The best tour found, from node 0.
    value : int
        Its length.
    bound : float
        No tour is shorter.
    status : str
        ``OPTIMAL``, ``LIMIT`` or ``STOPPED``.
    root_bound : float
        Held and Karp's bound.
    multipliers : ndarray of shape (n,), float64
        Multipliers of the root bound.
    heuristic_value : int
        The length of the tour found by local search.
    course : ndarray of float64
        The value of the Lagrangian dual at each iteration of the root's ascent.
    nodes, cuts, edges : int
        Nodes explored, cuts in the Lagrangian, and edges left once the others were fixed at the root.
    cut_bound : float
        The root's bound with cuts; minus infinity without.
    seconds : float
        Processor seconds, without those of compiling.
    """

    tour: np.ndarray
    value: int
    bound: float
    status: str = LIMIT
    root_bound: float = -math.inf
    multipliers: np.ndarray | None = None
    heuristic_value: int = 0
    course: np.ndarray = field(default_factory=lambda: np.zeros(0))
    nodes: int = 0
    cuts: int = 0
    edges: int = 0
    cut_bound: float = -math.inf
    seconds: float = 0.0

    @property
    def certified(self) -> bool:
        """Whether the tour is proven optimal."""
        return self.status == OPTIMAL

    @property
    def iterations(self) -> int:
        """Iterations of the root's ascent."""
        return len(self.course)


def solve(
    instance: Instance,
    options: Options = Options(),  # noqa: B008
    callback: Callable[[TourResult], object] | None = None,
) -> TourResult:
    """Return a tour that is proven to be optimal, unless a limit is reached before.

    Parameters
    ----------
    instance : Instance
    options : Options
    callback : callable, optional
        Called with the result so far every now and then; the search stops if it returns something true.

    Notes
    -----
    Held and Karp (1971), Volgenant and Jonker (1982); Rush and Collins (2012), section 6.3.  Every bound is the value
    of a minimum 1-tree at multipliers that are multiples of 1 / 1024, where all sums are exact in float64.

    Examples
    --------
    >>> from nonproj_systems.tsp.instance import make_instance
    >>> points = np.array([[0, 0], [4, 1], [0, 3], [4, 4], [2, 6], [1, 1]])
    >>> found = solve(make_instance(np.abs(points[:, None] - points).sum(2)))
    >>> found.value, found.bound, found.status
    (20, 20.0, 'optimal')
    """
    return _Run(instance, options, callback).run()


class _Run:
    """A run of `solve`."""

    def __init__(self, instance: Instance, options: Options, callback):
        self.instance, self.options, self.callback = instance, options, callback
        self.began, self.compiled = time.process_time(), compiling.seconds
        self.result = TourResult(np.arange(len(instance.weights)), 0, -math.inf)
        self.graph: Graph | None = None

    @property
    def spent(self) -> bool:
        """Whether a limit is reached."""
        self.note_time()
        return self.result.seconds >= self.options.seconds or self.result.nodes >= self.options.nodes

    def run(self) -> TourResult:
        """Return the result."""
        result = self.result
        marginal = self.root()
        if not self.closed():
            self.restrict(marginal)
            cuts = self.options.cuts and importlib.util.find_spec("highspy") is not None
            self.branch(NO_CUTS, result.multipliers, PLAIN_NODES if cuts else math.inf)
            if cuts and result.status == LIMIT and not self.spent:
                found = self.cut()
                if found is not None:
                    self.branch(*found, math.inf)
        self.closed()
        at = int(np.flatnonzero(result.tour == 0)[0])
        result.tour = np.roll(result.tour, -at)
        self.note_time()
        return result

    def note_time(self) -> None:
        """Note the time spent, without that of compiling."""
        spent = time.process_time() - self.began - (compiling.seconds - self.compiled)
        self.result.seconds = max(spent, self.result.seconds)

    def closed(self) -> bool:
        """Return whether the bound proves the tour; then set bound and status."""
        result = self.result
        if result.bound > result.value - 1.0:
            result.bound, result.status = float(result.value), OPTIMAL
        return result.status == OPTIMAL

    def root(self) -> np.ndarray:
        """Find Held and Karp's bound and a tour; return the marginals of all edges, float64[n, n]."""
        instance, result, n = self.instance, self.result, len(self.instance.weights)
        near = neighbour_lists(np.zeros((n, n)), instance.weights)
        result.value, result.tour = search_tour(instance, near, 10 * n, seed=self.options.seed)
        found = ascend(instance, root_steps(n, result.value), preconditioner=by_clusters(instance.weights))
        result.course, result.multipliers = found.course, on_grid(found.multipliers)
        result.root_bound, marginal, _ = evaluate(instance, result.multipliers)
        result.bound = result.root_bound
        near = neighbour_lists(marginal, instance.weights)
        kicks, target = self.options.kicks * n, math.ceil(result.bound)
        value, tour = search_tour(instance, near, kicks, target, self.options.seed, result.tour)
        if value < result.value:
            result.value, result.tour = value, tour
        result.heuristic_value = result.value
        return marginal

    def restrict(self, marginal: np.ndarray) -> None:
        """Keep the edges of the tour, and those that may be in a better one."""
        result, tour = self.result, self.result.tour
        kept = result.root_bound + marginal <= result.value - 1.0
        following = np.roll(tour, -1)
        kept[tour, following] = kept[following, tour] = True
        self.graph = make_graph(self.instance.weights, kept)
        result.edges = len(self.graph.tail)

    def branch(self, cuts: Cuts, multipliers: np.ndarray, most: float) -> None:
        """Search by branch and bound, up to ``most`` nodes."""
        result, m = self.result, len(self.graph.tail)
        stack = Stack(np.zeros((STACK_SIZE, m), np.int8), np.zeros((STACK_SIZE, len(multipliers))),
                      np.full(STACK_SIZE, result.bound))  # fmt: skip
        stack.multipliers[0] = multipliers
        relaxation = (self.graph, cuts, np.argsort(self.graph.weight, kind="stable"))
        schedules = tuple((sizes, np.inf, 0.3, GRID) for sizes in (NODE_SIZES, TRIAL_SIZES))
        incumbent, best = np.array([float(result.value)]), np.zeros(m, np.int8)
        top, explored, at_once = 1, 0, max(1, min(NODES_AT_ONCE, EDGES_AT_ONCE // max(m, 1)))
        while top and explored < most and not self.spent:
            if top + 2 > len(stack.bound):
                stack = Stack(*(np.concatenate([each, np.zeros_like(each)]) for each in stack))
            top, nodes = search(relaxation, stack, top, schedules, incumbent, best, at_once)
            explored += nodes
            result.nodes += nodes
            if incumbent[0] < result.value:
                result.value, result.tour = int(incumbent[0]), _tour_of(self.graph, best)
            # Depth first, the bounds of open nodes rise towards the top, but not always.
            result.bound = min(stack.bound[:top].min(initial=np.inf), float(result.value))
            if self.callback is not None and self.callback(result):
                result.status = STOPPED
                return
        if not top:
            result.bound, result.status = float(result.value), OPTIMAL

    def cut(self) -> tuple[Cuts, np.ndarray] | None:
        """Restrict the graph to edges that matter under cuts; return the cuts, and multipliers of degrees and cuts.

        None if they close the gap.
        """
        from nonproj_systems.tsp.cutting import CutProgram, fix_edges, restrict

        result, combs = self.result, []
        while True:
            program = CutProgram(self.graph, combs, self.options.seed)
            program.run(result.value - 1.0, seconds=self.options.seconds - result.seconds)
            combs, found = program.combs, program.multipliers()
            value, kept = fix_edges(self.graph, found.cuts, found.multipliers, result.value)
            result.cut_bound, result.cuts = max(result.cut_bound, value), len(found.cuts.rhs)
            result.bound = max(result.bound, min(value, float(result.value)))
            if self.closed():
                return None
            kept |= self.on_tour()
            many = kept.sum() > 0.9 * len(kept)
            self.graph, cuts = restrict(self.graph, found.cuts, kept)
            if many or self.spent:
                return cuts, found.multipliers
            combs = [comb for comb in combs if len(comb.teeth)]

    def on_tour(self) -> np.ndarray:
        """Return which edges of the graph are in the best tour, bool[m]."""
        place = np.argsort(self.result.tour)
        apart = np.abs(place[self.graph.tail] - place[self.graph.head])
        return (apart == 1) | (apart == len(place) - 1)


def _tour_of(graph: Graph, chosen: np.ndarray) -> np.ndarray:
    """Return the tour with the chosen edges, int64[n]."""
    beside: list[list[int]] = [[] for _ in graph.degree]
    for e in np.flatnonzero(chosen):
        beside[graph.tail[e]].append(int(graph.head[e]))
        beside[graph.head[e]].append(int(graph.tail[e]))
    tour, before = [0], -1
    while len(tour) < len(beside):
        first, second = beside[tour[-1]]
        before, following = tour[-1], second if first == before else first
        tour.append(following)
    return np.array(tour, np.int64)
