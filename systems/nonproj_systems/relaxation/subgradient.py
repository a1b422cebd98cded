"""The subgradient method, and dual decomposition of two oracles with it.

Lagrange multipliers on the shared variables penalise disagreement, those of constraints violations; the subgradient
method minimises the dual over them (Rush and Collins 2012, sections 3, 5 and 7).  `nonproj.dual.subgradient` is the
compiled method for trees and head automata; tests compare the two.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from nonproj_systems.relaxation.evaluation import Evaluator
from nonproj_systems.relaxation.primal import from_oracle
from nonproj_systems.relaxation.problem import Oracle, Problem
from nonproj_systems.relaxation.solver import Iteration, Limits, RelaxationResult, solve
from nonproj_systems.relaxation.steps import Progress, TargetLevel


class Subgradient:
    """Method: steps against the subgradient, with the multipliers of inequalities projected to be non-negative.

    Parameters
    ----------
    rule : callable, optional
        A step rule of `nonproj_systems.relaxation.steps`, or any function of a `Progress` that returns a step; a step
        of 0 ends the run.  By default `TargetLevel`, which needs no step size.

    Notes
    -----
    Rush and Collins (2012), equation 5.  With steps that tend to 0 and have an infinite sum, the dual converges to the
    optimum of the linear programming relaxation.  The averaged solutions, weighted by the steps, tend to an optimal
    solution of it.
    """

    def __init__(self, rule: Callable[[Progress], float] | None = None):
        self.rule, self.size = rule or TargetLevel(), 0.0
        self._rule = self.rule

    def start(self, evaluator: Evaluator, multipliers: np.ndarray) -> None:
        """Begin with a fresh copy of the rule."""
        self._rule, self._project = copy.deepcopy(self.rule), evaluator.problem.project

    def advance(self, iteration: Iteration) -> np.ndarray | None:
        """Return the multipliers after one step; None if the step is 0."""
        evaluation, best = iteration.evaluation, iteration.best_primal
        progress = Progress(evaluation.value, iteration.primal, best, iteration.stalled, iteration.squared_norm)
        self.size = self._rule(progress)
        if self.size == 0:
            # `AppendixA` after a first gap of zero: the multipliers will not move again.
            return None
        if not np.isfinite(self.size):
            hint = "" if best > -np.inf else "; there is no primal value yet, which this rule may need"
            raise ValueError(f"the step rule returned {self.size}; a finite step is expected{hint}")
        return self._project(evaluation.multipliers - self.size * evaluation.residual)


def relax(
    left: Oracle,
    right: Oracle,
    objective: Callable[[Any], float],
    n_shared: int,
    *,
    rule: Callable[[Progress], float],
    max_iterations: int = 250,
    tolerance: float = 1e-9,
) -> RelaxationResult:
    """Return the best solution of ``max f(z) + h(y)`` subject to ``z = y`` found by the subgradient method.

    Both oracles see the same variables, and the left one's solutions are feasible; `solve` takes any number of oracles,
    and constraints.

    Parameters
    ----------
    left, right : Oracle
        ``argmax over y of h(y) + u . y``, whose solutions are feasible for the whole problem, and
        ``argmax over z of f(z) - u . z``.
    objective : callable
        The objective of a solution of the left oracle; minus infinity if the solution is forbidden.
    n_shared, max_iterations : int
        Number of shared variables, and maximum number of iterations (K).
    rule : callable
        A step rule, such as `AppendixA`.
    tolerance : float
        The duality gap counts as closed if it is at most ``tolerance * (1 + |primal value|)``.

    Returns
    -------
    RelaxationResult
        If every solution seen is forbidden: the first one, with a primal value of minus infinity and no certificate.

    Raises
    ------
    ValueError
        As for `solve`.

    Notes
    -----
    Rush and Collins (2012), section 3.2 and figure 2, with early stopping (section 7.4); for parsing, Koo et al.
    (2010), figures 1 and 2.  A step of 0 stops the method.

    Examples
    --------
    Two oracles choose one of three items.  Each prefers a different one, and the sum of their scores a third.

    >>> from nonproj_systems.relaxation.steps import Decaying
    >>> def chooser(scores):
    ...     def choose(multipliers):
    ...         best = int(np.argmax(scores + multipliers))
    ...         return float((scores + multipliers)[best]), np.eye(3)[best], best
    ...     return choose
    >>> f, h = np.array([0.0, 2.0, 3.0]), np.array([3.0, 2.0, 0.0])
    >>> result = relax(chooser(h), chooser(f), lambda item: float((f + h)[item]), 3, rule=Decaying(1.0))
    >>> result.solution, result.primal_value, round(result.dual_bound, 9), result.agreed
    (1, 4.0, 4.0, True)
    """
    return solve(
        Problem([left, right], n_shared),
        Subgradient(rule),
        repair=from_oracle(objective),
        limits=Limits(max_iterations, tolerance),
    )
