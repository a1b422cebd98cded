"""Tightening: constraints or clusters are added until the gap is closed (tutorial, section 9.4)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nonproj_systems.relaxation.oracles import Enumerated
from nonproj_systems.relaxation.primal import Repair
from nonproj_systems.relaxation.problem import Constraints, Problem, carry
from nonproj_systems.relaxation.solver import Limits, Method, RelaxationResult, solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Separate = Callable[[Problem, RelaxationResult], Problem | None]


@dataclass
class TighteningResult:
    """The result of `tighten`.

    Attributes
    ----------
    problem : Problem
        The tightened problem.
    solution : object
        The best solution of all rounds.
    primal_value, dual_bound : float
        Its objective, and the lowest bound of all rounds.
    certified : bool
        Whether the solution is proven optimal.
    rounds : list of RelaxationResult
        The result of each round; each has at least the constraints of the previous one.
    """

    problem: Problem
    solution: Any = None
    primal_value: float = -np.inf
    dual_bound: float = np.inf
    certified: bool = False
    rounds: list[RelaxationResult] = field(default_factory=list)


def tighten(
    problem: Problem,
    method: Method,
    separate: Separate,
    *,
    repair: Repair | None = None,
    limits: Limits = Limits(),  # noqa: B008
    max_rounds: int = 20,
    start: ArrayLike | None = None,
) -> TighteningResult:
    """Solve a relaxation repeatedly, each time with more constraints or clusters, until the solution is certified.

    Parameters
    ----------
    problem : Problem
    method : Method
    separate : callable
        Takes a problem and its result, and returns a tighter problem with the same solutions, or None if there is none:
        `violated_rows`, `clusters`, or a function of your own.  Oracles keep their numbers and may see more variables;
        new oracles and constraints come last.
    repair : callable, optional
    limits : Limits
        Limits of each round.
    max_rounds : int
    start : array-like, optional
        Multipliers of the first round; later rounds continue from the best multipliers of the previous one.

    Returns
    -------
    TighteningResult

    Raises
    ------
    ValueError, TypeError
        As `solve`.
    """
    found, multipliers = TighteningResult(problem), start
    for _ in range(max_rounds):
        found.problem = problem
        result = solve(problem, method, repair=repair, limits=limits, start=multipliers)
        found.rounds.append(result)
        if result.primal_value > found.primal_value or found.solution is None:
            found.solution, found.primal_value = result.solution, result.primal_value
        found.dual_bound = max(min(found.dual_bound, result.dual_bound), found.primal_value)
        best = found.primal_value
        closed = best > -np.inf and found.dual_bound - best <= limits.tolerance * (1.0 + abs(best))
        found.certified = result.certified or closed
        tighter = None if found.certified else separate(problem, result)
        if tighter is None:
            break
        multipliers = carry(problem, tighter, result.best_multipliers)
        problem = tighter
    return found


def violated_rows(pool: Constraints, most: int = 10, slack: float = 1e-3) -> Separate:
    """Return the separation of constraints from a pool: those that the averaged solution violates most.

    Parameters
    ----------
    pool : Constraints
        Satisfied by all solutions of the problem, so that they only affect the bound, and too many to relax at once.  A
        constraint that some solution violates belongs in the problem itself.
    most : int
        Maximum number of constraints added per round.
    slack : float
        Violations up to this value are ignored.
    """
    added: set[int] = set()

    def separate(problem: Problem, result: RelaxationResult) -> Problem | None:
        """Add the constraints that the averaged solution violates most; None if it violates none."""
        excess = pool.matrix @ result.average - pool.rhs
        excess = np.where(pool.equal, np.abs(excess), excess)
        excess[sorted(added)] = -np.inf
        rows = np.argsort(-excess, kind="stable")[:most]
        rows = rows[excess[rows] > slack]
        if not len(rows):
            return None
        added.update(rows.tolist())
        return problem.extended(constraints=Constraints(pool.matrix[rows], pool.rhs[rows], pool.equal[rows]))

    return separate


def clusters(most_solutions: int = 10_000) -> Separate:
    """Return the separation of clusters: two enumerated parts with the most disagreements on their variables, joined.

    The cluster is an oracle of score 0 whose solutions are the pairs of solutions that agree (Sontag et al. 2008).

    Parameters
    ----------
    most_solutions : int
        Pairs of parts with more pairs of solutions are not joined.
    """
    joined: set[tuple[int, int]] = set()

    def separate(problem: Problem, result: RelaxationResult) -> Problem | None:
        """Join the two parts with the most disagreements on their variables; None if no two can be joined."""
        parts = [(i, oracle) for i, oracle in enumerate(problem.oracles) if isinstance(oracle, Enumerated)]
        best, pair = 0, None
        for (i, first), (j, second) in itertools.combinations(parts, 2):
            size = len(first.scores) * len(second.scores)
            union = np.union1d(problem.views[i], problem.views[j])
            disputes = int(result.disputes[union].sum())
            new = len(union) > max(len(problem.views[i]), len(problem.views[j]))
            if (i, j) not in joined and new and size <= most_solutions and disputes > best:
                best, pair = disputes, (i, j)
        if pair is None:
            return None
        joined.add(pair)
        cluster, view = join(problem, *pair)
        return problem.extended([cluster], [view])

    return separate


def join(problem: Problem, i: int, j: int) -> tuple[Enumerated, np.ndarray]:
    """Return two enumerated parts as one of score 0 over the variables of both, and its view."""
    first, second = problem.oracles[i], problem.oracles[j]
    if not (isinstance(first, Enumerated) and isinstance(second, Enumerated)):
        raise TypeError(f"oracles {i} and {j} are expected to be Enumerated")
    left, right = problem.views[i], problem.views[j]
    _, here, there = np.intersect1d(left, right, return_indices=True)
    agree = (first.variables[:, None, here] == second.variables[None, :, there]).all(axis=2)
    a, b = np.nonzero(agree)
    if not len(a):
        raise ValueError(f"no solution of oracle {i} agrees with one of oracle {j}: the problem has no solution")
    rest = np.setdiff1d(np.arange(len(right)), there)
    rows = np.unique(np.hstack([first.variables[a], second.variables[b][:, rest]]), axis=0)
    return Enumerated(rows, np.zeros(len(rows))), np.concatenate([left, right[rest]])
