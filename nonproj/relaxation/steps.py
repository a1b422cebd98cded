"""Step rules of the subgradient method, as objects with a state of their own (Rush and Collins 2012, section 7.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

POLYAK_SCALE, POLYAK_PATIENCE, POLYAK_DECAY = 1.7, 20, 0.7
"""Scale of Polyak's step, and its decay after this many iterations in a row without a lower bound."""

MIN_STEP = 1e-6
"""Smallest step of Polyak's rule, relative to the best primal value: a closed gap must not stop the multipliers."""


@dataclass(frozen=True)
class Progress:
    """What a step rule knows after an iteration.

    ``dual`` and ``primal`` are the values of this iteration, ``best_primal`` the highest primal value so far.
    ``stalled``: the dual value does not lower the dual bound.  ``squared_norm`` is that of the subgradient: the number
    of multipliers that move, if the variables are 0 or 1.
    """

    dual: float
    primal: float
    best_primal: float
    stalled: bool
    squared_norm: float


@dataclass(kw_only=True)
class Increases:
    """Counts how often the dual value has risen from one iteration to the next."""

    last_dual: float = np.inf
    rises: int = 0

    def count(self, progress: Progress) -> int:
        """Return the number of times the dual has risen, this iteration included."""
        self.rises += progress.dual > self.last_dual
        self.last_dual = progress.dual
        return self.rises


@dataclass
class Constant:
    """Step rule: always the same step.

    The dual comes as near to its minimum as the step is small, and then fluctuates (figure 9 of the tutorial).
    """

    size: float

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        return self.size


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
class PerIncrease(Increases):
    """Step rule: ``size / (t + 1)``, where ``t`` counts the increases of the dual (Rush and Collins 2012, 7.2)."""

    size: float = 1.0

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
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
    2, each step comes nearer to the optimal multipliers (Polyak 1969, "Minimization of unsmooth functionals"); a
    ``target`` is used in its place where the minimum of the dual is known.
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
class OncePrimal:
    """Step rule: one rule until there is a primal value, another one from then on.

    `AppendixA` and `Polyak` need a primal value; before there is one, plain steps have to do.
    """

    rule: Callable[[Progress], float]
    before: Callable[[Progress], float] = field(default_factory=lambda: Decaying(1.0))

    def __call__(self, progress: Progress) -> float:
        """Return the size of the next step."""
        return (self.before if progress.best_primal == -np.inf else self.rule)(progress)
