"""Step rules of the subgradient method, as stateful objects (Rush and Collins 2012, section 7.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

POLYAK_SCALE, POLYAK_PATIENCE, POLYAK_DECAY = 1.7, 20, 0.7
"""Scale of Polyak's step, number of iterations with an unchanged bound until it decays, and factor of the decay."""

MIN_STEP = 1e-6
"""Minimum step of Polyak's rule, relative to the best primal value: a closed gap must not stop the multipliers."""


LEVEL_SHARE = 0.1
"""Distance of the first target below the first dual value, as a share of it, if there is no primal value."""


def first_distance(dual: float, best_primal: float) -> float:
    """Return the distance of the target below the first dual value: down to the primal value, or a share of the dual.

    Examples
    --------
    >>> first_distance(50.0, 45.0), first_distance(50.0, -np.inf), first_distance(0.0, -np.inf)
    (5.0, 5.0, 1.0)
    """
    distance = dual - best_primal if best_primal > -np.inf else LEVEL_SHARE * abs(dual)
    return distance if distance > 0.0 else 1.0


@dataclass(frozen=True)
class Progress:
    """The input of a step rule after an iteration.

    ``dual`` and ``primal`` are the values of this iteration, ``best_primal`` the highest primal value so far.
    ``stalled``: the dual value does not lower the dual bound.  ``squared_norm`` is that of the subgradient: the number
    of multipliers that change, if the variables are 0 or 1.
    """

    dual: float
    primal: float
    best_primal: float
    stalled: bool
    squared_norm: float


def _first_step(progress: Progress) -> float:
    """Return Polyak's first step."""
    return first_distance(progress.dual, progress.best_primal) / progress.squared_norm


@dataclass(kw_only=True)
class Increases:
    """Counts how often the dual value has risen from one iteration to the next."""

    last_dual: float = np.inf
    rises: int = 0

    def count(self, progress: Progress) -> int:
        """Return the number of times the dual has risen, including this iteration."""
        self.rises += progress.dual > self.last_dual
        self.last_dual = progress.dual
        return self.rises


@dataclass
class Constant:
    """Step rule: always the same step.

    The dual approaches its minimum up to a distance that shrinks with the step, then fluctuates (tutorial, figure 9).
    """

    size: float

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        return self.size


@dataclass
class Decaying:
    """Step rule: ``size / k ** power`` after iteration ``k``.

    By default the first step is Polyak's, towards the primal value or, without one, a tenth below the dual value.
    Power 0 is a constant step; with 1/2 or 1 the dual value provably converges (Rush and Collins 2012, section 7.2).
    """

    size: float | None = None
    power: float = 0.5
    k: int = 0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        self.k += 1
        if self.size is None:
            self.size = _first_step(progress)
        return self.size / self.k**self.power


@dataclass
class PerIncrease(Increases):
    """Step rule: ``size / (t + 1)``, where ``t`` counts the increases of the dual (Rush and Collins 2012, 7.2).

    By default the first step is Polyak's, like that of `Decaying`: a size of 1 suits only scores of about 1.
    """

    size: float | None = None

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        if self.size is None:
            self.size = _first_step(progress)
        return self.size / (self.count(progress) + 1)


@dataclass
class Halving(Increases):
    """Step rule: ``size / 2 ** t``, where ``t`` counts the increases of the dual (Rush et al. 2010, appendix B)."""

    size: float = 0.5

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        return self.size * 0.5 ** self.count(progress)


@dataclass
class AppendixA(Increases):
    """Step rule: the first duality gap, divided by one more than the number of times the dual value has risen.

    Koo et al. (2010), appendix A.1: `PerIncrease` with the first gap as its size.  It needs a primal value at the first
    iteration.
    """

    first_gap: float | None = None

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        if self.first_gap is None:
            primal = progress.primal if progress.primal > -np.inf else progress.best_primal
            self.first_gap = progress.dual - primal
        return self.first_gap / (1 + self.count(progress))


@dataclass
class Polyak:
    """Step rule: a scale times the gap to the best primal value over the squared norm of the subgradient.

    The scale decays when the dual bound stalls.  With the optimum in place of the best primal value and a scale below
    2, each step comes nearer to the optimal multipliers (Polyak 1969, "Minimization of unsmooth functionals"); if the
    minimum of the dual is known, pass it as ``target``.
    """

    scale: float = POLYAK_SCALE
    patience: int = POLYAK_PATIENCE
    decay: float = POLYAK_DECAY
    min_step: float = MIN_STEP
    stalls: int = 0
    target: float | None = None

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        self.stalls = self.stalls + 1 if progress.stalled else 0
        if self.stalls == self.patience:
            self.stalls = 0
            self.scale *= self.decay
        best = progress.best_primal if self.target is None else self.target
        step = self.scale * (progress.dual - best) / progress.squared_norm
        return max(step, self.min_step * (1 + abs(best)))


@dataclass
class TargetLevel:
    """Step rule: Polyak's step towards a target below the best dual value; needs neither a size nor a primal value.

    The distance to the target is doubled when the bound has decreased by a quarter of it, and halved when the bound has
    decreased by less than a tenth of it in ``window`` iterations.  The target is never below the best primal value. The
    first distance is `first_distance`, so the steps do not depend on the scale of the scores.

    Notes
    -----
    The dynamic step size of Nedić and Bertsekas (2001, "Incremental subgradient methods for nondifferentiable
    optimization"), with a distance that follows the course of the bound.

    Examples
    --------
    >>> rule = TargetLevel(scale=1.0)
    >>> [rule(Progress(dual, -np.inf, -np.inf, False, 2.0)) for dual in (100.0, 99.0, 94.0)]
    [5.0, 5.0, 10.0]
    """

    scale: float = 1.5
    window: int = 10
    distance: float | None = None
    smallest: float = 0.0
    best: float = np.inf
    reference: float = np.inf
    iterations: int = 0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        if self.distance is None:
            self.distance, self.reference = first_distance(progress.dual, progress.best_primal), progress.dual
            self.smallest = 1e-9 * self.distance
        self.best = min(self.best, progress.dual)
        self.iterations += 1
        fall = self.reference - self.best
        grows = fall >= 0.25 * self.distance
        if grows or self.iterations == self.window:
            self.distance *= 2.0 if grows else 0.5 if fall < 0.1 * self.distance else 1.0
            self.reference, self.iterations = self.best, 0
        target = max(self.best - self.distance, progress.best_primal)
        return self.scale * max(progress.dual - target, self.smallest) / progress.squared_norm


@dataclass
class OncePrimal:
    """Step rule: one rule until there is a primal value, another one from then on.

    `AppendixA` and `Polyak` need a primal value; `TargetLevel` does not.
    """

    rule: Callable[[Progress], float]
    before: Callable[[Progress], float] = field(default_factory=TargetLevel)

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        return (self.before if progress.best_primal == -np.inf else self.rule)(progress)
