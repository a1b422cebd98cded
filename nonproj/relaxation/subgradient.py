"""The subgradient method for dual decomposition over two oracles, in plain Python.

Each oracle maximises its own part of an objective, and the oracles share variables on which they must agree.
Lagrange multipliers on the shared variables pay for disagreement; the subgradient method minimises the dual over them
(Rush and Collins 2012, sections 3, 5 and 7).  `nonproj.dual.subgradient` is the compiled method for trees and head
automata, which tests hold equal to this one.  This one serves any problem of this form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

POLYAK_SCALE, POLYAK_PATIENCE, POLYAK_DECAY = 1.7, 20, 0.7
"""Scale of Polyak's step, and its decay after this many iterations in a row without a lower bound."""

MIN_STEP = 1e-6
"""Smallest step of Polyak's rule, relative to the best primal value: a closed gap must not stop the multipliers."""

GRACE_ITERATIONS = 10
"""Iterations after the duality gap has closed: tied oracles mostly agree one or two iterations later."""


class Oracle(Protocol):
    """Maximises one part of the objective plus the multipliers times the shared variables."""

    def __call__(self, multipliers: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Return the maximum, the shared variables there (shape of ``multipliers``), and the solution itself."""


@dataclass(frozen=True)
class Progress:
    """What a step rule knows after an iteration.

    ``dual`` and ``primal`` are the values of this iteration, ``best_primal`` the highest primal value so far.
    ``stalled``: the dual value does not lower the dual bound.  ``squared_norm`` is that of the subgradient: the number
    of shared variables in dispute, if they are 0 or 1.
    """

    dual: float
    primal: float
    best_primal: float
    stalled: bool
    squared_norm: float


@dataclass
class AppendixA:
    """Step rule: the first duality gap, divided by one more than the number of times the dual value has risen.

    Koo et al. (2010), appendix A.1; of the form ``c / (t + 1)`` of Rush and Collins (2012), section 7.2.
    """

    first_gap: float | None = None
    last_dual: float = np.inf
    rises: int = 0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        if self.first_gap is None:
            self.first_gap = progress.dual - progress.primal
        elif progress.dual > self.last_dual:
            self.rises += 1
        self.last_dual = progress.dual
        return self.first_gap / (1 + self.rises)


@dataclass
class Polyak:
    """Step rule: a scale times the gap to the best primal value over the squared norm of the subgradient.

    The scale decays when the dual bound stalls.  With the optimum in place of the best primal value and a scale below
    2, each step comes nearer to the optimal multipliers (Polyak 1969, "Minimization of unsmooth functionals").
    """

    scale: float = POLYAK_SCALE
    patience: int = POLYAK_PATIENCE
    decay: float = POLYAK_DECAY
    min_step: float = MIN_STEP
    stalls: int = 0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        self.stalls = self.stalls + 1 if progress.stalled else 0
        if self.stalls == self.patience:
            self.stalls = 0
            self.scale *= self.decay
        step = self.scale * (progress.dual - progress.best_primal) / progress.squared_norm
        return max(step, self.min_step * (1 + abs(progress.best_primal)))


@dataclass
class Decaying:
    """Step rule: ``size / k ** power`` after iteration ``k``.

    Power 0 is a constant step; with 1/2 or 1 the dual value provably converges (Rush and Collins 2012, section 7.2).
    """

    size: float
    power: float = 0.5
    k: int = 0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        self.k += 1
        return self.size / self.k**self.power


@dataclass
class RelaxationResult:
    """The result of `relax`.

    Attributes
    ----------
    solution : object
        The best solution seen, of the left oracle.
    primal_value : float
        Its objective.
    dual_bound : float
        The lowest dual value: no solution has a higher objective.
    agreed : bool
        Whether the oracles agreed on the solution, which is then optimal.
    certified : bool
        Whether the solution is proven optimal: agreed, or the duality gap closed.
    iterations : int
    multipliers : ndarray
        The Lagrange multipliers after the last step.
    trace : dict of str to list of float
        ``dual``, ``primal`` and ``step`` of each iteration.
    """

    solution: Any = None
    primal_value: float = -np.inf
    dual_bound: float = np.inf
    agreed: bool = False
    certified: bool = False
    iterations: int = 0
    multipliers: np.ndarray | None = None
    trace: dict[str, list[float]] = field(default_factory=lambda: {"dual": [], "primal": [], "step": []})


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
    """Return the best solution of ``max f(z) + h(y)`` subject to ``z = y`` that the subgradient method finds.

    Parameters
    ----------
    left, right : Oracle
        ``argmax over y of h(y) + u . y``, whose solutions are feasible for the whole problem, and
        ``argmax over z of f(z) - u . z``.
    objective : callable
        The objective of a solution of the left oracle; minus infinity if the solution is forbidden.
    n_shared, max_iterations : int
        Numbers of shared variables and, at most, of iterations (K).
    rule : callable
        A step rule, such as `AppendixA`.  It has state: create one for each call.
    tolerance : float
        The duality gap counts as closed if it is at most ``tolerance * (1 + |primal value|)``.

    Returns
    -------
    RelaxationResult
        If every solution seen is forbidden: the first one, with a primal value of minus infinity and no certificate.

    Raises
    ------
    ValueError
        If an oracle's maximum or a step is not finite, or an objective is NaN or plus infinity.

    Notes
    -----
    Rush and Collins (2012), section 3.2 and figure 2, with early stopping (section 7.4); for parsing, Koo et al.
    (2010), figures 1 and 2.  A step of 0 stops the method.

    Examples
    --------
    Two oracles choose one of three items.  Each prefers a different one, and the sum of their scores a third.

    >>> def chooser(scores):
    ...     def choose(multipliers):
    ...         best = int(np.argmax(scores + multipliers))
    ...         return float((scores + multipliers)[best]), np.eye(3)[best], best
    ...     return choose
    >>> f, h = np.array([0.0, 2.0, 3.0]), np.array([3.0, 2.0, 0.0])
    >>> result = relax(chooser(h), chooser(f), lambda item: float((f + h)[item]), 3, rule=Decaying(1.0))
    >>> result.solution, result.primal_value, result.dual_bound, result.agreed
    (1, 4.0, 4.0, True)
    """
    result, grace = RelaxationResult(multipliers=np.zeros(n_shared)), GRACE_ITERATIONS
    u = result.multipliers
    for _ in range(max_iterations):
        left_value, y, solution = left(u)
        right_value, z, _ = right(-u)
        dual, primal = left_value + right_value, objective(solution)
        _check_values(left_value, right_value, primal)
        if result.iterations == 0 or primal > result.primal_value:
            result.solution, result.primal_value = solution, primal
        stalled = dual >= result.dual_bound
        result.dual_bound = min(result.dual_bound, dual)
        result.iterations += 1
        subgradient = z - y
        squared_norm = float(subgradient @ subgradient)
        for name, value in (("dual", dual), ("primal", primal), ("step", 0.0)):
            result.trace[name].append(value)
        if squared_norm == 0:
            result.solution, result.primal_value = solution, primal
            result.agreed = result.certified = True
            break
        best = result.primal_value
        if best > -np.inf and result.dual_bound - best <= tolerance * (1 + abs(best)):
            result.certified = True
            grace -= 1
            if grace < 0:
                break
        step = rule(Progress(dual, primal, best, stalled, squared_norm))
        if step == 0:
            # `AppendixA` after a first gap of zero: the multipliers will not move again.
            break
        if not np.isfinite(step):
            raise ValueError(f"the step rule returned {step}; a finite step is expected")
        result.trace["step"][-1] = step
        u += step * subgradient
    # Rounding may push a closed gap below zero; a bound is never below a primal value.
    result.dual_bound = max(result.dual_bound, result.primal_value)
    return result


def _check_values(left_value: float, right_value: float, primal: float) -> None:
    """Raise unless the maxima are finite and the primal value is finite or minus infinity."""
    for name, value in (("left", left_value), ("right", right_value)):
        if not np.isfinite(value):
            raise ValueError(f"the maximum of the {name} oracle is {value}; a finite number is expected")
    if not primal < np.inf:
        raise ValueError(f"the objective is {primal}; a number is expected, or minus infinity for a forbidden solution")
