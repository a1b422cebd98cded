"""A proximal bundle method: a model of the dual from all solutions so far, minimised as a quadratic program by HiGHS.

The solutions of an oracle bound its maximum from below at any multipliers.  The sum of these bounds is a model of the
dual; the dual is evaluated next at the minimum of this model plus a penalty on the distance from the best multipliers
(Lemaréchal 2001, "Lagrangian relaxation").
"""

from __future__ import annotations

import numpy as np

from nonproj_systems.relaxation.bundle_program import Lowest, Model, OutOfTimeError, minimise
from nonproj_systems.relaxation.evaluation import Evaluator
from nonproj_systems.relaxation.solver import CONVERGED, FAILED, LIMIT, STALLED, Iteration
from nonproj_systems.relaxation.steps import first_distance

SERIOUS = 0.1
"""A step is accepted if the dual decreases by at least this share of the decrease predicted by the model."""

LONGEST, SHORTEST = 1e14, 1e-9
"""Bounds of the weight of the model, relative to its first value."""


class Bundle:
    """Method: proximal bundle, with a separate model for each oracle.

    Parameters
    ----------
    step : float, optional
        Weight of the model against the squared distance to the best multipliers; adapted.  By default, that of Polyak's
        first step.
    capacity : int
        Number of solutions kept for each oracle, besides those used by the last quadratic program.
    tolerance : float
        The method ends, with the status ``CONVERGED``, when the model predicts that no multipliers near the best ones
        lower the bound by more than ``tolerance * (1 + |bound|)``.

    Notes
    -----
    Any oracle will do, and any constraints.  The dual converges to the optimum of the linear programming
    relaxation, and the weights of the solutions in the quadratic program give an approximate solution of it.

    HiGHS gets the time that remains within `Limits`; if it runs out there, the status is ``LIMIT``.  If HiGHS solves
    neither the quadratic program nor a linear one instead, the status is ``FAILED``.
    """

    def __init__(self, step: float | None = None, capacity: int = 50, tolerance: float = 1e-9):
        if step is not None and not step > 0:
            raise ValueError(f"step is {step}; a number above 0 is expected")
        self.step, self.capacity, self.tolerance = step, capacity, tolerance
        self.size, self.ending = step or 1.0, CONVERGED
        self.average: np.ndarray | None = None

    def start(self, evaluator: Evaluator, multipliers: np.ndarray) -> None:
        """Begin with an empty model."""
        self._evaluator, self._first, self.average, self.ending = evaluator, 0.0, None, CONVERGED
        n = len(evaluator.problem.oracles)
        self._cuts: list[list[tuple[np.ndarray, float]]] = [[] for _ in range(n)]
        self._used: list[list[float]] = [[] for _ in range(n)]
        self._best, self._centre, self._model = np.inf, multipliers, -np.inf

    def advance(self, iteration: Iteration) -> np.ndarray | None:
        """Return the multipliers that minimise the model; None if it predicts no decrease, or HiGHS fails."""
        evaluation = iteration.evaluation
        self._add(evaluation.multipliers, evaluation.copies)
        if not self._first:
            distance = first_distance(evaluation.dual, iteration.best_primal)
            self._first = self.size = float(self.step or distance / iteration.squared_norm)
        self._adapt(evaluation.dual, evaluation.multipliers)
        while True:
            try:
                found = minimise(self._make_model(), self.size, self._evaluator.seconds_left)
            except OutOfTimeError:
                if self._evaluator.seconds_left > 0.001:
                    continue  # elapsed time, which exceeds processor time on a busy machine, was not the limit
                self.ending = LIMIT
                return None
            if found is None:
                self.ending = FAILED
                return None
            after = self._take(found)
            enough = self.tolerance * (1.0 + abs(self._best))
            if self._best - self._model > enough:
                return after
            # Short steps always predict little; at a minimum, the model is flat as well.
            if found.slope * (1.0 + np.linalg.norm(self._centre)) <= enough:
                self.ending = CONVERGED
                return None
            if self.size == LONGEST * self._first:
                self.ending = STALLED
                return None
            self._resize(10.0)

    def _adapt(self, dual: float, multipliers: np.ndarray) -> None:
        """Make a serious step if the dual is low enough, and adapt the weight of the model to its prediction."""
        if dual >= self._best:
            self._resize(0.7)
            return
        promised = self._best - self._model
        if not np.isfinite(promised) or self._best - dual >= SERIOUS * promised:
            good = np.isfinite(promised) and self._best - dual >= 0.5 * promised
            self._best, self._centre = dual, multipliers
            self._resize(2.0 if good else 1.0)

    def _resize(self, factor: float) -> None:
        """Change the weight of the model, within its bounds."""
        self.size = min(max(factor * self.size, SHORTEST * self._first), LONGEST * self._first)

    def _add(self, multipliers: np.ndarray, copies: np.ndarray) -> None:
        """Add the oracles' solutions to the model."""
        problem = self._evaluator.problem
        scores = problem.scores(multipliers)
        for i, cuts in enumerate(self._cuts):
            part = problem.part(i)
            own = self._evaluator.value(i) - float(scores[part] @ copies[part])
            if any(known == own and np.array_equal(chosen, copies[part]) for chosen, known in cuts):
                continue
            cuts.append((copies[part].copy(), own))
            self._used[i].append(1.0)
            while len(cuts) > self.capacity:
                idle = min(range(len(cuts) - 1), key=self._used[i].__getitem__)
                if self._used[i][idle] > 1e-9:
                    break
                del cuts[idle], self._used[i][idle]

    def _make_model(self) -> Model:
        """Return the model around the best multipliers."""
        problem, n = self._evaluator.problem, len(self._centre)
        at_centre = problem.scores(self._centre)
        slopes, heights, oracle = [], [], []
        for i, cuts in enumerate(self._cuts):
            part = problem.part(i)
            for chosen, own in cuts:
                copies = np.zeros(len(problem.variable))
                copies[part] = chosen
                slopes.append(-problem.differences(copies))
                heights.append(own + float(at_centre[part] @ chosen))
                oracle.append(i)
        lower = np.where(problem.nonnegative, -self._centre, -np.inf)
        return Model(
            problem.constant_terms, lower, np.array(slopes).reshape(-1, n), np.array(heights), np.array(oracle)
        )

    def _take(self, found: Lowest) -> np.ndarray:
        """Return the multipliers after the steps, and record the model's value and the average solution there."""
        problem, k = self._evaluator.problem, 0
        after = problem.project(self._centre + found.steps)
        self._model, scores = problem.constant(after), problem.scores(after)
        average = np.zeros(len(problem.variable))
        for i, cuts in enumerate(self._cuts):
            weights = found.weights[k : k + len(cuts)]
            self._used[i], k = weights.tolist(), k + len(cuts)
            part = problem.part(i)
            self._model += max(own + float(scores[part] @ chosen) for chosen, own in cuts)
            average[part] = sum(weight * chosen for weight, (chosen, _) in zip(weights, cuts, strict=True))
        self.average = problem.average(average)
        return after
