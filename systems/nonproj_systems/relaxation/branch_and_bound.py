"""Branch and bound over the shared variables of any problem: a proven optimum if the relaxation leaves a gap.

A node is the problem with some variables fixed to 0 or 1, by a bonus that is a Lagrange multiplier of ``x = value``; so
each node has a valid bound for any oracles.  The node with the highest bound is branched first, on the variable with
the most disagreements (Land and Doig 1960, "An automatic method of solving discrete programming problems").
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nonproj_systems.relaxation.evaluation import Evaluator
from nonproj_systems.relaxation.primal import Completion, Proposal, Repair, complete
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import Limits, Method, RelaxationResult, solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

OPTIMAL, INFEASIBLE, OPEN = "optimal", "infeasible", "open"
"""Outcomes of a search: proven optimal; no solution; open nodes remain at the limit."""


@dataclass
class SearchResult:
    """The result of `branch_and_bound`.

    Attributes
    ----------
    solution : object
        The best solution: the value returned by ``repair``, or a tuple of the oracles' solutions; None without one.
    primal_value, dual_bound : float
        Its objective, and the lowest proven bound.
    certified : bool
        Whether the solution is proven optimal.
    status : str
        ``OPTIMAL``, ``INFEASIBLE`` or ``OPEN``.
    nodes, iterations, calls : int
        Number of nodes after the root node; iterations and calls of oracles in all nodes.
    root : RelaxationResult
        The result of the root node.
    bounds, incumbents : list of float
        Lowest bound and best value after the root node, and after each split.
    """

    solution: Any = None
    primal_value: float = -np.inf
    dual_bound: float = np.inf
    certified: bool = False
    status: str = OPEN
    nodes: int = 0
    iterations: int = 0
    calls: int = 0
    root: RelaxationResult | None = None
    bounds: list[float] = field(default_factory=list)
    incumbents: list[float] = field(default_factory=list)


def branch_and_bound(
    problem: Problem,
    method: Method,
    *,
    repair: Repair | None = None,
    limits: Limits = Limits(),  # noqa: B008
    node_limits: Limits = Limits(max_iterations=50),  # noqa: B008
    max_nodes: int = 1000,
    seconds: float = np.inf,
    start: ArrayLike | None = None,
) -> SearchResult:
    """Find the best solution of a problem, and prove it.

    Parameters
    ----------
    problem : Problem
        Its shared variables are 0 or 1.
    method : Method
        The method that bounds every node, from the multipliers of its parent's lowest bound.
    repair : callable, optional
        A primal heuristic; by default `Completion`.
    limits, node_limits : Limits
        Limits of the root node and of the others.
    max_nodes : int
        Maximum number of nodes after the root node.
    seconds : float
        Processor seconds after which no node is divided.
    start : array-like, optional
        Multipliers of the root node.

    Returns
    -------
    SearchResult

    Raises
    ------
    ValueError
        As for `solve`, and if an oracle's variables are neither 0 nor 1.

    Notes
    -----
    The search terminates: each child has one more fixed variable, and when all are fixed the oracles are called
    for their best solutions with these values.

    Examples
    --------
    >>> from nonproj_systems.relaxation.oracles import Enumerated
    >>> from nonproj_systems.relaxation.steps import Decaying
    >>> from nonproj_systems.relaxation.subgradient import Subgradient
    >>> rows = [[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0]], [[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]]
    >>> problem = Problem([Enumerated(rows[0], [1, 1, 0]), Enumerated(rows[1], [1, 1, 0])], 4)
    >>> found = branch_and_bound(problem, Subgradient(Decaying(1.0)))
    >>> round(found.root.dual_bound, 1), found.primal_value, round(found.dual_bound, 9), found.status
    (2.0, 0.0, 0.0, 'optimal')
    """
    began, search = time.process_time(), _Search(problem, method, repair or Completion(), node_limits)
    root = search.bound(problem, {}, limits, start)
    search.result.root = root
    search.expand(max_nodes, began + seconds)
    return search.conclude()


class _Search:
    """The state of one search: the open nodes, the incumbent, and the highest bound of the fathomed nodes."""

    def __init__(self, problem: Problem, method: Method, repair: Repair, limits: Limits):
        self.problem, self.method, self.repair, self.limits = problem, method, repair, limits
        self.result, self.fathomed, self.bonus = SearchResult(), -np.inf, 1.0
        self.open: list[tuple[float, int, dict[int, int], RelaxationResult]] = []

    def settled(self, bound: float) -> bool:
        """Return whether no solution within this bound can be better than the incumbent."""
        best = self.result.primal_value
        return best > -np.inf and bound - best <= self.limits.tolerance * (1.0 + abs(best))

    def offer(self, value: float, solution: Any, by: float = 0.0) -> None:
        """Update the incumbent if a solution is better by more than the share ``by`` of its value."""
        best = self.result.primal_value
        if value > best + (by * (1.0 + abs(best)) if best > -np.inf else 0.0):
            self.result.primal_value, self.result.solution = float(value), solution

    def propose(self, proposal: Proposal) -> tuple[float, Any]:
        """Call the primal heuristic for a candidate; the node itself only considers agreement of its own oracles."""
        copies = proposal.copies
        if ((copies != 0.0) & (copies != 1.0)).any():
            raise ValueError("an oracle chose a variable that is neither 0 nor 1; branch and bound needs 0 or 1")
        self.offer(*self.repair(proposal._replace(problem=self.problem)))
        if proposal.problem is self.problem:
            self.offer(proposal.own, proposal.solutions, by=1e-9)  # the heuristic's solution has the requested form
        return proposal.own, proposal.solutions

    def bound(
        self,
        problem: Problem,
        fixed: dict[int, int],
        limits: Limits,
        start: ArrayLike | None,
        parent: float = np.inf,
    ) -> RelaxationResult:
        """Bound a node, and enqueue it unless it is fathomed."""
        found = solve(
            problem,
            self.method,
            repair=self.propose,
            start=start,
            limits=limits,
            incumbent=self.result.primal_value,
            callback=lambda result: self.settled(result.dual_bound),
        )
        result = self.result
        result.iterations += found.iterations
        result.calls += found.calls
        bound = min(found.dual_bound, parent)
        self.bonus = max(self.bonus, 4.0 * (1.0 + max(map(abs, found.trace.dual))) if not fixed else 0.0)
        if found.agreed or self.settled(bound):
            self.fathomed = max(self.fathomed, bound)
            if found.agreed:
                self.offer(found.primal_value, found.solution, by=1e-9)
        else:
            heapq.heappush(self.open, (-bound, result.nodes, fixed, found))
        return found

    def record(self) -> None:
        """Record the current proven bound and the incumbent, once all nodes are bounded."""
        result = self.result
        known = max([result.primal_value, self.fathomed, *(-node[0] for node in self.open[:1])])
        result.bounds.append(max(min([known, *result.bounds[-1:]]), result.primal_value))
        result.incumbents.append(result.primal_value)

    def expand(self, max_nodes: int, end: float) -> None:
        """Branch on the node with the highest bound until none is open, or the limit is reached."""
        self.record()
        while self.open and not self.settled(-self.open[0][0]) and self.result.nodes < max_nodes:
            if time.process_time() >= end:
                break
            bound, _, fixed, found = heapq.heappop(self.open)
            self.split(-bound, fixed, found)
            self.record()

    def split(self, bound: float, fixed: dict[int, int], found: RelaxationResult) -> None:
        """Bound both children of a node."""
        variable = _branching_variable(found, fixed)
        preferred = int(found.average[variable] >= 0.5)
        for value in (preferred, 1 - preferred):
            child = fixed | {variable: value}
            self.result.nodes += 1
            if len(child) == self.problem.n_variables:
                x = np.array([child[j] for j in range(len(child))], np.float64)
                value, solution = complete(self.problem, x)
                self.offer(value, solution, by=1e-9)
                if value > -np.inf:  # it may have been rounded downward
                    forced = Evaluator(self.problem.fixed(child, self.bonus))
                    rounded = forced(np.zeros(self.problem.n_multipliers)).dual
                    self.result.calls += forced.calls
                    self.fathomed = max(self.fathomed, min(bound, rounded))
            elif self.possible(child, variable):
                self.bound(self.problem.fixed(child, self.bonus), child, self.limits, found.best_multipliers, bound)

    def possible(self, fixed: dict[int, int], variable: int) -> bool:
        """Return whether each oracle that sees the last fixed variable has a solution with all fixed values."""
        problem = self.problem
        for i, view in enumerate(problem.views):
            if variable in view:
                wanted = np.array([fixed.get(j, -1) for j in view.tolist()])
                sign = np.where(wanted < 0, 0.0, 2.0 * wanted - 1.0)
                bonus = self.bonus
                while True:
                    chosen = np.asarray(problem.oracles[i](bonus * sign)[1])
                    self.result.calls += 1
                    if (chosen == wanted)[wanted >= 0].all():
                        break
                    bonus *= 16.0
                    if bonus > 1e12 * self.bonus:
                        return False
        return True

    def conclude(self) -> SearchResult:
        """Return the result."""
        result = self.result
        result.dual_bound = result.bounds[-1]
        result.certified = self.settled(result.dual_bound)
        if result.certified:
            result.status = OPTIMAL
        elif not self.open and result.primal_value == -np.inf:
            result.status = INFEASIBLE
        return result


def _branching_variable(found: RelaxationResult, fixed: dict[int, int]) -> int:
    """Return the unfixed variable with the most disagreements; among equals, the one nearest to one half."""
    free = np.array([j not in fixed for j in range(len(found.disputes))])
    rank = found.disputes - np.abs(found.average - 0.5)
    return int(np.where(free, rank, -np.inf).argmax())
