"""Smoothing with accelerated gradients (Nesterov 2005; Jojic, Gould and Koller 2010; Rush and Collins 2012, section 8).

Each maximum becomes a soft one, ``temperature * log(sum(exp(. / temperature)))``, which is differentiable: its gradient
is the marginals.  The smoothed dual is minimised by accelerated gradients; the temperature is lowered when smoothing
rather than the multipliers determines the distance from the minimum.
"""

from __future__ import annotations

import numpy as np

from nonproj_systems.relaxation.evaluation import Evaluator
from nonproj_systems.relaxation.solver import CONVERGED, Iteration


class AcceleratedGradient:
    """Method: accelerated gradient descent on the smoothed dual, at falling temperatures.

    Parameters
    ----------
    temperature : float
        The first temperature.
    decay : float
        Factor by which the temperature falls.
    lowest : float
        The last temperature; 0 for none.

    Notes
    -----
    Needs oracles with ``marginals``.  Steps are found by backtracking.  The marginals are an approximate
    solution of the linear programming relaxation.  The trace has the dual itself, which is lower than the smoothed one.
    """

    ending = CONVERGED

    def __init__(self, temperature: float = 1.0, decay: float = 0.5, lowest: float = 1e-6):
        if not (temperature > 0 and 0 < decay < 1):
            raise ValueError("a temperature above 0 and a decay between 0 and 1 are expected")
        self.temperature, self.decay, self.lowest = temperature, decay, lowest
        self.size = 1.0
        self.average: np.ndarray | None = None

    def start(self, evaluator: Evaluator, multipliers: np.ndarray) -> None:
        """Begin at the first temperature."""
        evaluator.require("smoothing", "marginals")
        self._evaluator, self._now, self.size, self.average = evaluator, self.temperature, 1.0, None
        self._restart(multipliers)
        self._current: float | None = None
        self._gradient = np.zeros(len(multipliers))

    def _restart(self, multipliers: np.ndarray) -> None:
        """Reset the momentum."""
        self._previous, self._momentum = multipliers, 1.0

    def advance(self, iteration: Iteration) -> np.ndarray | None:
        """Return the multipliers after one accelerated step; None if there is no progress at the lowest temperature."""
        here, dual = iteration.evaluation.multipliers, iteration.evaluation.dual
        if self._current is not None and self._left(here) <= self._current - dual:
            if self._now * self.decay < self.lowest:
                return None
            self._now *= self.decay
            self.size *= 2.0 * self.decay
            self._current = None
            self._restart(here)
        if self._current is None:
            self._current = self._smoothed(here)[0]
        momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self._momentum**2))
        point = here + (self._momentum - 1.0) / momentum * (here - self._previous)
        value, after = self._descend(point)
        if value > self._current:  # accelerated steps may increase the dual: restart with a plain gradient step
            momentum = 1.0
            value, after = self._descend(here)
        self._current, self._previous, self._momentum = value, here, momentum
        return after

    def _left(self, here: np.ndarray) -> float:
        """Return an estimate of the smoothed dual's distance above its minimum: gradient times distance.

        The distance to the minimum is assumed to be of the size of the multipliers.
        """
        gradient = self._evaluator.problem.projected(here, self._gradient)
        return float(np.linalg.norm(gradient) * (1.0 + np.linalg.norm(here)))

    def _descend(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the smoothed dual and the multipliers after a gradient step that is short enough."""
        problem = self._evaluator.problem
        value, gradient, _ = self._smoothed(point)
        self.size *= 1.5
        while True:
            after = problem.project(point - self.size * gradient)
            moved = after - point
            smoothed, self._gradient, average = self._smoothed(after)
            bound = value + gradient @ moved + moved @ moved / (2.0 * self.size)
            if smoothed <= bound + 1e-12 * (1.0 + abs(value)) or self.size < 1e-12:
                self.average = average
                return smoothed, after
            self.size *= 0.5

    def _smoothed(self, multipliers: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the smoothed dual, its gradient, and the mean of the variables."""
        problem = self._evaluator.problem
        scores, means, total = problem.scores(multipliers), np.empty(len(problem.variable)), 0.0
        for i in range(len(problem.oracles)):
            part = problem.part(i)
            value, means[part] = self._evaluator.ask("marginals", i, scores[part], self._now)
            total += value
        if not (np.isfinite(total) and np.isfinite(means).all()):
            raise ValueError(f"marginals at temperature {self._now} are not finite; finite numbers are expected")
        gradient = problem.differences(means) + problem.constant_terms
        return total + problem.constant(multipliers), gradient, problem.average(means)
