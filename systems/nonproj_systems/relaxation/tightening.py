"""Tightening: constraints or clusters are added until the gap is closed (tutorial, section 9.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nonproj_systems.relaxation.primal import Repair
from nonproj_systems.relaxation.problem import Problem, carry
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
        Takes a problem and its result, and returns a tighter problem with the same solutions, or None if there is none.
        Oracles keep their numbers and may see more variables; new oracles and constraints come last.
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
    ValueError
        As for `solve`.
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
