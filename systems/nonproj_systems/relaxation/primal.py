"""Primal heuristics: feasible solutions and their values, from the oracles' solutions (Rush and Collins 2012, 7.3).

A heuristic ("repair") takes a `Proposal` and returns a value and a solution: any feasible solution with its objective,
or minus infinity with any object.  The best solution seen is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nonproj_systems.relaxation.problem import Problem


class Proposal(NamedTuple):
    """The input of a primal heuristic.

    Attributes
    ----------
    problem : Problem
    solutions : tuple
        The current solution of each oracle.
    copies : ndarray of shape (C,), float64
        The variables chosen by each oracle, numbered as in `Problem.variable`.
    own : float
        The objective of the oracles' solutions if they satisfy all constraints, otherwise minus infinity.
    find_average : callable
        Returns ``average``.
    """

    problem: Problem
    solutions: tuple[Any, ...]
    copies: np.ndarray
    own: float
    find_average: Callable[[], np.ndarray]

    @property
    def average(self) -> np.ndarray:
        """The averaged solutions so far, an approximate solution of the linear programming relaxation."""
        return self.find_average()


Repair = Callable[[Proposal], tuple[float, Any]]


def from_oracle(objective: Callable[[Any], float], i: int = 0) -> Repair:
    """Return the heuristic that uses the solution of one oracle, which is feasible for the whole problem.

    Parameters
    ----------
    objective : callable
        The objective of the whole problem; minus infinity where the solution is forbidden.
    i : int
        Number of the oracle.
    """

    def repair(proposal: Proposal) -> tuple[float, Any]:
        """Return the solution of that oracle, with its value."""
        return objective(proposal.solutions[i]), proposal.solutions[i]

    return repair


def best_of(*repairs: Repair) -> Repair:
    """Return the heuristic that returns the best result of several."""

    def repair(proposal: Proposal) -> tuple[float, Any]:
        """Return the best of the heuristics' results."""
        return max((each(proposal) for each in repairs), key=lambda found: found[0])

    return repair


def rounding(complete: Callable[[np.ndarray], tuple[float, Any]], threshold: float = 0.5) -> Repair:
    """Return the heuristic that rounds the averaged solutions (Nedić and Ozdaglar 2009) and makes them feasible.

    Parameters
    ----------
    complete : callable
        Takes variables of 0 and 1, bool[n_variables], and returns a value and a feasible solution near them.
    threshold : float
        Averages of at least this value become 1.
    """

    def repair(proposal: Proposal) -> tuple[float, Any]:
        """Return the completion of the rounded average."""
        return complete(proposal.average >= threshold)

    return repair


class Completion:
    """Primal heuristic for any oracles: one oracle's variables, forced on the other oracles.

    The candidates are the variables of each oracle in turn (completed by the reference copies) and the rounded
    average.  It costs a few calls of each oracle for each new candidate; no candidate is repeated.

    The solution is the tuple of the oracles' solutions.  Variables must be 0 or 1.

    Examples
    --------
    >>> from nonproj_systems.relaxation.oracles import Enumerated
    >>> problem = Problem([Enumerated(np.eye(2), [3.0, 1.0]), Enumerated(np.eye(2), [0.0, 1.0])], 2)
    >>> Completion()(Proposal(problem, (0, 1), np.array([1.0, 0.0, 0.0, 1.0]), -np.inf, lambda: np.array([0.5, 0.5])))
    (3.0, (0, 0))
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[float, Any]] = {}

    def __call__(self, proposal: Proposal) -> tuple[float, Any]:
        """Return the best completed candidate."""
        problem, best = proposal.problem, (-np.inf, proposal.solutions)
        base = proposal.copies[problem.reference]
        for i in range(len(problem.oracles) + 1):
            if i < len(problem.oracles):
                x = base.copy()
                x[problem.views[i]] = proposal.copies[problem.part(i)]
            else:
                x = (proposal.average >= 0.5).astype(np.float64)
            key = x.tobytes()
            if key not in self._known:
                self._known[key] = complete(problem, x)
            best = max(best, self._known[key], key=lambda found: found[0])
        return best


def complete(problem: Problem, x: np.ndarray) -> tuple[float, Any]:
    """Return the value and solutions of a problem when all shared variables have given values of 0 and 1.

    Each oracle gets a bonus for these values, which is raised until it chooses them.  Minus infinity if an oracle
    never does, or a constraint is violated.
    """
    fixed, bonus = 2.0 * x - 1.0, 1.0
    if len(problem.constraints.rhs):
        slack = problem.residual(x[problem.variable])[problem.n_agreement :]
        equal = problem.constraints.equal
        if (slack < 0.0).any() or (slack[equal] > 0.0).any():
            return -np.inf, None
    total, solutions = 0.0, []
    for i, oracle in enumerate(problem.oracles):
        wanted, sign = x[problem.views[i]], fixed[problem.views[i]]
        while True:
            value, chosen, solution = oracle(bonus * sign)
            if np.array_equal(chosen, wanted):
                break
            bonus *= 4.0
            if bonus > 1e12:
                return -np.inf, None
        total += float(value) - bonus * float(sign @ wanted)
        solutions.append(solution)
    return total, tuple(solutions)
