"""The loop: evaluate the dual, keep the best bounds and solutions, move the multipliers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from nonproj_systems.relaxation.evaluation import WRONG, Evaluation, Evaluator
from nonproj_systems.relaxation.primal import Proposal, Repair
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.trace import Trace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

GRACE_ITERATIONS = 10
"""Number of iterations after the gap has closed: oracles with ties usually agree one or two iterations later."""

DIVERGENCE = 1e12
"""Decrease of the bound, relative to the first dual value, after which the dual counts as unbounded."""

AGREED, CLOSED, FATHOMED, CONVERGED, STALLED, LIMIT, EARLY, CALLBACK, DIVERGED = (
    "agreed",
    "closed",
    "fathomed",
    "converged",
    "stalled",
    "limit",
    "early",
    "callback",
    "diverged",
)
"""Outcomes: the oracles agree and all constraints hold; the duality gap is closed; the bound is not above a known
value; the dual is at its minimum; the method cannot move, perhaps above the minimum; iterations, calls or seconds are
used up; bounds have not improved for `patience` iterations (early stopping, Rush and Collins 2012, section 7.4); the
callback ended the run; the dual is unbounded, so that no solution satisfies all constraints, not even a fractional one.
The bound is valid in any case."""


class Limits(NamedTuple):
    """Limits of a run.

    Attributes
    ----------
    max_iterations : int
        Maximum number of iterations, at least 1.
    tolerance : float
        The duality gap counts as closed if it is at most ``tolerance * (1 + |primal value|)``.
    grace : int
        Iterations after the gap has closed, for the oracles to agree.
    max_calls : float
        Number of calls of oracles after which no iteration starts.
    seconds : float
        Processor time of this process after which no iteration starts; it does not depend on other load of
        the machine.
    patience : int
        Stop early after this number of iterations without improvement of either bound; 0: never.
    wall_seconds : float
        Elapsed time (wall-clock) after which no iteration starts.

    Notes
    -----
    Limits are checked between iterations: an oracle or a ``repair`` is never interrupted.

    Examples
    --------
    >>> Limits(seconds=10.0).wall_seconds
    inf
    """

    max_iterations: int = 250
    tolerance: float = 1e-9
    grace: int = GRACE_ITERATIONS
    max_calls: float = np.inf
    seconds: float = np.inf
    patience: int = 0
    wall_seconds: float = np.inf


def _empty() -> np.ndarray:
    """Return an array without entries: there has been no iteration yet."""
    return np.empty(0)


@dataclass
class RelaxationResult:
    """The result of a method; also passed to callbacks and methods after each iteration.

    Attributes
    ----------
    solution : object
        The best solution seen: the value returned by ``repair``, or the tuple of the oracles' solutions on which they
        agreed.  None if there was none.
    primal_value : float
        Its objective; minus infinity without one.
    dual_bound : float
        The lowest dual value, rounded outward: no solution has a higher objective.
    agreed : bool
        Whether the oracles agreed and the constraints held with complementary slackness: the solution is optimal.
    certified : bool
        Whether the solution is proven optimal: agreed, or the duality gap closed.
    status : str
        Outcome of the run: ``AGREED``, ``CLOSED``, ``FATHOMED``, ``CONVERGED``, ``STALLED``, ``LIMIT``, ``EARLY``,
        ``CALLBACK`` or ``DIVERGED``.
    iterations, calls : int
        Iterations, and calls of oracles.
    multipliers, best_multipliers : ndarray of shape (n_multipliers,)
        The Lagrange multipliers after the last step, and those of the lowest dual value.
    average : ndarray of shape (n_variables,)
        Averaged solutions: an approximate solution of the linear programming relaxation.
    disputes : ndarray of shape (n_variables,), int64
        Number of disagreements of each variable's copies with its reference, over all iterations.
    trace : Trace
    """

    solution: Any = None
    primal_value: float = -np.inf
    dual_bound: float = np.inf
    agreed: bool = False
    certified: bool = False
    status: str = LIMIT
    iterations: int = 0
    calls: int = 0
    multipliers: np.ndarray = field(default_factory=_empty)
    best_multipliers: np.ndarray = field(default_factory=_empty)
    average: np.ndarray = field(default_factory=_empty)
    disputes: np.ndarray = field(default_factory=_empty)
    trace: Trace = field(default_factory=Trace)


class Iteration(NamedTuple):
    """The input of a method that moves the multipliers.

    Attributes
    ----------
    evaluation : Evaluation
        The dual at the current multipliers.
    primal, best_primal : float
        The value of this iteration's primal solution, and the highest so far.
    bound : float
        The lowest dual value, including this iteration's.
    stalled : bool
        Whether this iteration's dual value does not lower the bound.
    squared_norm : float
        Squared norm of the projected subgradient.
    """

    evaluation: Evaluation
    primal: float
    best_primal: float
    bound: float
    stalled: bool
    squared_norm: float


class Method(Protocol):
    """Moves the multipliers: `Subgradient`, or a method of your own.

    Attributes
    ----------
    size : float
        The step size of the last call of `advance`, for the trace.
    """

    size: float

    def start(self, evaluator: Evaluator, multipliers: np.ndarray) -> None:
        """Reset all state."""

    def advance(self, iteration: Iteration) -> np.ndarray | None:
        """Return the next multipliers; None if they will not change any more."""


def solve(
    problem: Problem,
    method: Method,
    *,
    repair: Repair | None = None,
    start: ArrayLike | None = None,
    limits: Limits = Limits(),  # noqa: B008
    callback: Callable[[RelaxationResult], object] | None = None,
    incumbent: float = -np.inf,
) -> RelaxationResult:
    """Minimise the dual of a problem; return the bound, the best solution seen, and whether it is proven optimal.

    Parameters
    ----------
    problem : Problem
    method : Method
        The method is reset at each call, so it may be used again.
    repair : callable, optional
        A primal heuristic of `nonproj_systems.relaxation.primal`.  Without one, a solution is found when the oracles
        agree.
    start : array-like of shape (n_multipliers,), optional
        Multipliers to start from (warm start); zero by default.
    limits : Limits
    callback : callable, optional
        Called with the current result after each iteration; the run ends if it returns a true value.
    incumbent : float
        The objective of a known solution: the run ends when the bound is not above it.

    Returns
    -------
    RelaxationResult

    Raises
    ------
    ValueError
        If a value would invalidate the bound: an oracle's maximum, a multiplier or a step is not finite; the
        multiplier of an inequality is negative; an objective is NaN or plus infinity; an oracle contradicts itself; a
        primal value is above the dual; ``repair`` returns less than a solution on which the oracles agree.

    Notes
    -----
    For every method, each dual value is the maximum of the Lagrangian, found by the oracles: an upper bound at every
    iteration (weak duality).

    Examples
    --------
    At most two of three items, by relaxing the limit:

    >>> from nonproj_systems.relaxation.oracles import Enumerated
    >>> from nonproj_systems.relaxation.problem import at_most
    >>> from nonproj_systems.relaxation.steps import Constant
    >>> from nonproj_systems.relaxation.subgradient import Subgradient
    >>> every = np.array([[i & 1, i >> 1 & 1, i >> 2] for i in range(8)])
    >>> items = Problem([Enumerated(every, every @ [3.0, 2.0, 1.0])], 3, constraints=at_most([[1, 1, 1]], [2]))
    >>> found = solve(items, Subgradient(Constant(1.0)))
    >>> found.primal_value, round(found.dual_bound, 9), found.status, found.multipliers
    (5.0, 5.0, 'agreed', array([1.]))
    """
    multipliers = problem.check_multipliers(start)
    _check_limits(limits)
    evaluator = Evaluator(problem, limits.seconds, limits.wall_seconds)
    method.start(evaluator, multipliers)
    run = _Run(problem, repair, limits, incumbent)
    for _ in range(limits.max_iterations):
        iteration = run.record(evaluator, evaluator(multipliers))
        run.result.status = run.ended(iteration, evaluator)
        if callback is not None and callback(run.summarise(iteration.evaluation)) and run.result.status == "":
            run.result.status = CALLBACK
        if run.result.status:
            break
        moved = method.advance(iteration)
        if moved is None:
            run.result.status = CLOSED if run.result.certified else STALLED
            break
        run.stepped(iteration.evaluation, float(method.size))
        multipliers = run.result.multipliers = problem.project(moved)
    return run.conclude(evaluator, iteration.evaluation)


class _Run:
    """The state of one call of `solve`."""

    def __init__(self, problem: Problem, repair: Repair | None, limits: Limits, incumbent: float):
        self.problem, self.repair, self.limits = problem, repair, limits
        self.incumbent, self.grace, self.last_gain = incumbent, limits.grace, 0
        self.weight, self.total = 0.0, np.zeros(len(problem.variable))
        self.result, self.disputed = RelaxationResult(), np.zeros(problem.n_agreement)

    def record(self, evaluator: Evaluator, evaluation: Evaluation) -> Iteration:
        """Update bounds, solutions and the trace."""
        problem, result, dual = self.problem, self.result, evaluation.dual
        result.multipliers = evaluation.multipliers
        squared_norm = float(evaluation.projected @ evaluation.projected)
        primal, solution = self.find_primal(evaluation, squared_norm == 0)
        gains = primal > result.primal_value
        if gains or (result.iterations == 0 and self.repair is not None):
            result.solution, result.primal_value = solution, primal
        stalled = dual >= result.dual_bound
        if not stalled:
            result.dual_bound, result.best_multipliers = dual, evaluation.multipliers
        if gains or not stalled:
            self.last_gain = result.iterations
        if squared_norm == 0 and primal > -np.inf:
            result.solution, result.primal_value = solution, primal
            result.agreed = result.certified = True
        self.disputed += evaluation.residual[: problem.n_agreement] != 0.0
        result.iterations += 1
        result.calls = evaluator.calls
        share = evaluation.called / len(problem.oracles)
        values = (dual, primal, 0.0, share, evaluator.calls, evaluator.seconds)
        for name, value in zip(("dual", "primal", "step", "share", "calls", "seconds"), values, strict=True):
            result.trace[name].append(value)
        best = max(result.primal_value, self.incumbent)
        return Iteration(evaluation, primal, best, result.dual_bound, stalled, squared_norm)

    def find_primal(self, evaluation: Evaluation, agreed: bool) -> tuple[float, Any]:
        """Return this iteration's primal value and solution, or minus infinity."""
        dual, feasible = evaluation.dual, self.problem.feasible(evaluation.residual)
        own = evaluation.value - float(evaluation.multipliers @ evaluation.residual) if feasible else -np.inf
        if self.repair is None:
            return own, evaluation.solutions if feasible else None
        average = partial(self.average, evaluation)
        primal, solution = self.repair(Proposal(self.problem, evaluation.solutions, evaluation.copies, own, average))
        primal, slack = float(primal), WRONG * (1.0 + abs(dual))
        if not primal < np.inf:
            raise ValueError(
                f"the objective is {primal}; a number is expected, or minus infinity for a forbidden solution"
            )
        if primal > dual + slack:
            raise ValueError(
                f"the primal value {primal} is above the dual value {dual}: an oracle does not maximise, "
                "or the objective is not the sum of the oracles' objectives"
            )
        if agreed and -np.inf < primal < dual - slack:
            raise ValueError(
                f"the oracles agree on a solution of value {dual}, but its objective is {primal}: "
                "the objective is not the sum of the oracles' objectives"
            )
        return primal, solution

    def average(self, evaluation: Evaluation) -> np.ndarray:
        """Return the averaged solution, weighted by the steps; the current variables before the first step."""
        return self.problem.average(self.total / self.weight if self.weight > 0 else evaluation.copies)

    def summarise(self, evaluation: Evaluation) -> RelaxationResult:
        """Compute the averages and disagreements of the result."""
        problem, result = self.problem, self.result
        result.average = self.average(evaluation)
        variables = problem.variable[problem.tied]
        result.disputes = np.bincount(variables, self.disputed, problem.n_variables).astype(np.int64)
        return result

    def ended(self, iteration: Iteration, evaluator: Evaluator) -> str:
        """Return the status if the run has ended, else an empty string."""
        result, limits, best = self.result, self.limits, iteration.best_primal
        if iteration.squared_norm == 0:
            return AGREED if result.agreed else CONVERGED
        if best > -np.inf and result.dual_bound - best <= limits.tolerance * (1 + abs(best)):
            if result.primal_value < best:
                return FATHOMED
            result.certified = True
            self.grace -= 1
            if self.grace < 0:
                return CLOSED
        if result.dual_bound < -DIVERGENCE * (1.0 + abs(result.trace.dual[0])):
            return DIVERGED
        if evaluator.calls >= limits.max_calls or evaluator.seconds_left == 0.0:
            return CLOSED if result.certified else LIMIT
        if limits.patience and result.iterations - 1 - self.last_gain >= limits.patience:
            return CLOSED if result.certified else EARLY
        return ""

    def stepped(self, evaluation: Evaluation, size: float) -> None:
        """Record a step, and add the chosen variables to the average, weighted by it."""
        self.result.trace.step[-1] = size
        if size > 0:
            self.weight += size
            self.total += size * evaluation.copies

    def conclude(self, evaluator: Evaluator, last: Evaluation) -> RelaxationResult:
        """Return the result."""
        result = self.summarise(last)
        result.calls = evaluator.calls
        result.status = result.status or (CLOSED if result.certified else LIMIT)
        # Rounding may make a closed gap negative; a bound is never below a primal value.
        result.dual_bound = max(result.dual_bound, result.primal_value)
        return result


def _check_limits(limits: Limits) -> None:
    """Raise a ValueError if a limit is invalid."""
    if limits.max_iterations < 1:
        raise ValueError(f"max_iterations is {limits.max_iterations}; 1 or more is expected")
    if not limits.tolerance < np.inf:
        raise ValueError(f"tolerance is {limits.tolerance}; a finite number is expected")
    for name in ("max_calls", "seconds", "wall_seconds"):
        if not getattr(limits, name) >= 0:
            raise ValueError(f"{name} is {getattr(limits, name)}; a number of at least 0 is expected")
