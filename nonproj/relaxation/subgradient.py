"""Lagrangian relaxation in plain Python: the subgradient loop over two oracles.

It knows no trees.  Two oracles each maximise their own part of an objective and share variables that must agree; the
loop lets them disagree, charges the disagreement to multipliers, and watches the bound (Rush and Collins 2012, sections
3, 5 and 7).  It is what `nonproj.dual.decomposition` does in compiled code, written to be read, to be taught from, and
to be equal to it in the tests; and it serves any other problem of this form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

GRACE = 10
"""Iterations still granted after the gap has closed: oracles that tie mostly agree one or two iterations later."""


class Oracle(Protocol):
    """Maximises one part of the objective plus ``weights`` times the shared variables."""

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Return the maximum, the shared variables there (shape of ``weights``), and the solution itself."""


@dataclass(frozen=True)
class Progress:
    """What a step rule may look at after an iteration.

    Attributes
    ----------
    dual : float
        ``L(u)`` at this iteration's multipliers.
    primal : float
        The objective of this iteration's solution.
    best : float
        The best objective of any solution so far.
    stalled : bool
        Whether the dual is no better than the best bound before it.
    disputed : int
        The squared norm of the subgradient: the number of shared variables in dispute, where they are 0 or 1.
    """

    dual: float
    primal: float
    best: float
    stalled: bool
    disputed: float


@dataclass
class AppendixA:
    """The first gap over one more than the number of times the dual has risen (Koo et al. 2010, appendix A.1).

    Of the form ``c / (t + 1)`` of Rush and Collins (2012), section 7.2.
    """

    gap: float | None = None
    last: float = np.inf
    rises: int = 0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        if self.gap is None:
            self.gap = progress.dual - progress.primal
        elif progress.dual > self.last:
            self.rises += 1
        self.last = progress.dual
        return self.gap / (1 + self.rises)


@dataclass
class Polyak:
    """The gap to the best solution over the subgradient's squared norm, times a scale that shrinks when the bound
    stalls.

    With the optimum in place of the best solution and a scale below 2 each step comes nearer to the optimal multipliers
    (Polyak 1969, "Minimization of unsmooth functionals").
    """

    scale: float = 1.7
    patience: int = 20
    decay: float = 0.7
    nudge: float = 1e-6
    stalls: int = 0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        self.stalls = self.stalls + 1 if progress.stalled else 0
        if self.stalls == self.patience:
            self.stalls = 0
            self.scale *= self.decay
        step = self.scale * (progress.dual - progress.best) / progress.disputed
        return max(step, self.nudge * (1 + abs(progress.best)))


@dataclass
class Decaying:
    """``size / (1 + k) ** power``: of power 0 constant, of power 1/2 or 1 with a proof that the dual converges.

    Rush and Collins (2012), section 7.2.
    """

    size: float
    power: float = 0.5
    k: int = 0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        self.k += 1
        return self.size / self.k**self.power


@dataclass
class Relaxation:
    """The outcome of `relax`.

    Attributes
    ----------
    solution : object
        The best solution seen, of the left oracle.
    score : float
        Its objective (the primal value).
    bound : float
        The lowest dual value: no solution scores higher.
    agreed, certified : bool
        The oracles agreed; agreed, or the gap has closed.
    iterations : int
    multipliers : ndarray
    trace : dict of str to list of float
        ``dual``, ``primal`` and ``step`` of each iteration.
    """

    solution: Any = None
    score: float = -np.inf
    bound: float = np.inf
    agreed: bool = False
    certified: bool = False
    iterations: int = 0
    multipliers: np.ndarray | None = None
    trace: dict[str, list[float]] = field(default_factory=lambda: {"dual": [], "primal": [], "step": []})


def relax(
    left: Oracle,
    right: Oracle,
    objective: Callable[[Any], float],
    size: int,
    *,
    rule: Callable[[Progress], float],
    max_iterations: int = 250,
    tolerance: float = 1e-9,
) -> Relaxation:
    """Minimise the dual of ``max f(z) + h(y)`` subject to ``z = y`` on the shared variables.

    Parameters
    ----------
    left : Oracle
        ``argmax over y of h(y) + u . y``; its solutions are feasible for the whole problem.
    right : Oracle
        ``argmax over z of f(z) - u . z``.
    objective : callable
        The whole objective of a solution of the left oracle; minus infinity where something forbids that solution.
    size : int
        Number of shared variables.
    rule : callable
        A step rule, such as `AppendixA`; it keeps state, so every call needs a fresh one.
    max_iterations : int
        K.
    tolerance : float
        A gap of at most ``tolerance * (1 + |score|)`` counts as none.

    Returns
    -------
    Relaxation
        Where every solution seen was forbidden: the first one, with the score minus infinity and no certificate.

    Raises
    ------
    ValueError
        If an oracle's maximum or a step is not finite, or an objective is NaN or plus infinity.

    Notes
    -----
    Rush and Collins (2012), section 3.2 and figure 2, with early stopping (section 7.4); for parsing, Koo et al.
    (2010), figures 1 and 2.  A step of 0 ends the loop.

    Examples
    --------
    Two choosers of one item out of three; each likes another item best, and together they like the second best.

    >>> def chooser(likes):
    ...     def choose(weights):
    ...         best = int(np.argmax(likes + weights))
    ...         return float((likes + weights)[best]), np.eye(3)[best], best
    ...     return choose
    >>> one, other = np.array([3.0, 2.0, 0.0]), np.array([0.0, 2.0, 3.0])
    >>> found = relax(chooser(one), chooser(other), lambda i: float((one + other)[i]), 3, rule=Decaying(1.0))
    >>> found.solution, found.score, found.bound, found.agreed
    (1, 4.0, 4.0, True)
    """
    result = Relaxation(multipliers=np.zeros(size))
    u = result.multipliers
    left_over = GRACE
    for _ in range(max_iterations):
        of_left, y, solution = left(u)
        of_right, z, _ = right(-u)
        dual, primal = of_left + of_right, objective(solution)
        _check_values(of_left, of_right, primal)
        if result.iterations == 0 or primal > result.score:
            result.solution, result.score = solution, primal
        stalled = dual >= result.bound
        result.bound = min(result.bound, dual)
        result.iterations += 1
        subgradient = z - y
        disputed = float(subgradient @ subgradient)
        for name, value in (("dual", dual), ("primal", primal), ("step", 0.0)):
            result.trace[name].append(value)
        if disputed == 0:
            result.solution, result.score = solution, primal
            result.agreed = result.certified = True
            break
        if result.score > -np.inf and result.bound - result.score <= tolerance * (1 + abs(result.score)):
            result.certified = True
            left_over -= 1
            if left_over < 0:
                break
        step = rule(Progress(dual, primal, result.score, stalled, disputed))
        if step == 0:
            # `AppendixA` after a first gap of zero: nothing will move any more.
            break
        if not np.isfinite(step):
            raise ValueError(f"the step rule returned {step}; a finite step is expected")
        result.trace["step"][-1] = step
        u += step * subgradient
    # A closed gap may round to either side of zero; no bound is below a solution's objective.
    result.bound = max(result.bound, result.score)
    return result


def _check_values(of_left: float, of_right: float, primal: float) -> None:
    """Refuse what would make the bound no bound; a solution may be forbidden, but a problem must have one."""
    for name, value in (("left", of_left), ("right", of_right)):
        if not np.isfinite(value):
            raise ValueError(f"the maximum of the {name} oracle is {value}; a finite number is expected")
    if not primal < np.inf:
        raise ValueError(f"the objective is {primal}; a number is expected, or minus infinity for what is forbidden")
