"""The alternating direction method of multipliers, as AD3 (Martins et al. 2011; Rush and Collins 2012, section 8).

Each oracle solves a quadratic subproblem: its part plus scores, minus a penalty times the squared distance of its
variables from the average of all copies.  If an oracle has no method for it, an active-set method finds the solution by
calls for maxima (Martins 2012).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonproj_systems.relaxation.evaluation import Evaluator
from nonproj_systems.relaxation.problem import Oracle
from nonproj_systems.relaxation.solver import Iteration

RATIO, FACTOR, ADAPTING = 10.0, 2.0, 200
"""The penalty doubles or halves when one residual is ten times the other, in the first 200 iterations."""


class ADMM:
    """Method: alternating directions, with dual steps on the multipliers.

    Parameters
    ----------
    penalty : float
        Weight of the squared distances; adapted at first.
    max_inner : int
        Maximum number of calls of an oracle in one quadratic subproblem.

    Notes
    -----
    Any oracle will do; those with ``quadratic`` solve their subproblems themselves.  Linear constraints cannot be used.
    The average of all copies is an approximate solution of the linear programming relaxation, to whose optimum the dual
    converges.
    """

    def __init__(self, penalty: float = 1.0, max_inner: int = 50):
        if not penalty > 0:
            raise ValueError(f"penalty is {penalty}; a number above 0 is expected")
        self.penalty, self.max_inner = penalty, max_inner
        self.size = penalty
        self.average: np.ndarray | None = None

    def start(self, evaluator: Evaluator, multipliers: np.ndarray) -> None:
        """Begin with empty active sets."""
        evaluator.require("ADMM", "", constraints=False)
        problem = evaluator.problem
        self._evaluator, self.size, self.average, self._k = evaluator, float(self.penalty), None, 0
        shared = problem.seen_by > 1
        self._subproblems = [
            None if hasattr(oracle, "quadratic") else ActiveSet(shared[view])
            for oracle, view in zip(problem.oracles, problem.views, strict=True)
        ]

    def advance(self, iteration: Iteration) -> np.ndarray | None:
        """Return the multipliers after one round of quadratic subproblems; None if nothing changes."""
        problem, before = self._evaluator.problem, iteration.evaluation.multipliers
        centre = problem.average(iteration.evaluation.copies) if self.average is None else self.average
        scores, copies = problem.scores(before), np.empty(len(problem.variable))
        for i, active in enumerate(self._subproblems):
            part = problem.part(i)
            near = centre[problem.views[i]]
            if active is None:
                copies[part] = self._evaluator.ask("quadratic", i, scores[part], near, self.size)
            else:

                def maximise(scores: np.ndarray, i: int = i) -> Any:
                    """Call oracle ``i`` for its maximum."""
                    return self._evaluator.ask("__call__", i, scores)

                copies[part] = active.solve(maximise, scores[part], near, self.size, self.max_inner)
        average = problem.average(copies)
        apart = copies - average[problem.variable]
        moved = scores - self.size * apart
        after = -moved[problem.tied]
        primal, dual = (
            float(np.linalg.norm(apart)),
            self.size * float(np.linalg.norm((average - centre)[problem.variable])),
        )
        stuck = np.abs(after - before).max(initial=0.0) <= 1e-12 * (1 + np.abs(before).max(initial=0.0))
        self.average, self._k = average, self._k + 1
        if self._k <= ADAPTING:
            self.size *= FACTOR if primal > RATIO * dual else 1 / FACTOR if dual > RATIO * primal else 1.0
        return None if stuck and dual <= 1e-12 else after


class ActiveSet:
    """Quadratic subproblems of one oracle, solved by an active set of its solutions that is kept between problems.

    Parameters
    ----------
    counts : ndarray of shape (n,), bool
        The variables in the penalty.

    Notes
    -----
    Maximises ``f(x) + scores . x - penalty / 2 * |x - centre|^2`` over the convex hull of the oracle's solutions, where
    the norm is over the variables in the penalty.  Solutions are added while they raise the maximum (Wolfe 1976,
    "Finding the nearest point in a polytope").
    """

    def __init__(self, counts: np.ndarray):
        self._counts = counts
        self._points, self._own = np.empty((0, len(counts))), np.empty(0)
        self._weights = np.empty(0)

    def solve(
        self, maximise: Oracle, scores: np.ndarray, centre: np.ndarray, penalty: float, max_calls: int
    ) -> np.ndarray:
        """Return the maximum; after ``max_calls`` calls, an approximation of it."""
        counts = self._counts
        if len(self._points):
            self._optimise(scores, centre, penalty)
        for _ in range(max_calls):
            mean = self._weights @ self._points
            pull = np.where(counts, penalty * (centre - mean), 0.0) if len(self._points) else np.zeros(len(scores))
            value, chosen, _ = maximise(scores + pull)
            chosen = np.asarray(chosen, np.float64).reshape(-1)
            own = float(value) - float((scores + pull) @ chosen)
            now = float(self._weights @ (self._own + self._points @ (scores + pull)))
            solved = value - now <= 1e-10 * (1.0 + abs(value)) or (self._points == chosen).all(axis=1).any()
            if len(self._points) and solved:
                break
            self._points, self._own = np.vstack([self._points, chosen]), np.append(self._own, own)
            self._weights = np.append(self._weights, 0.0 if len(self._weights) else 1.0)
            self._optimise(scores, centre, penalty)
        return self._weights @ self._points

    def _optimise(self, scores: np.ndarray, centre: np.ndarray, penalty: float) -> None:
        """Set the weights of the solutions to the best ones, and drop those of weight 0."""
        inner = self._points[:, self._counts]
        gains = self._own + self._points @ scores + penalty * (inner @ centre[self._counts])
        self._weights = best_weights(penalty * (inner @ inner.T), gains, self._weights)
        keep = self._weights > 0.0
        self._points, self._own, self._weights = self._points[keep], self._own[keep], self._weights[keep]


def best_weights(quadratic: np.ndarray, linear: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weights that are at least 0, sum to 1 and maximise ``linear . w - w . quadratic . w / 2``.

    Parameters
    ----------
    quadratic : ndarray of shape (k, k)
        Symmetric, positive semidefinite.
    linear : ndarray of shape (k,)
    weights : ndarray of shape (k,)
        Feasible weights to start from.

    Examples
    --------
    >>> best_weights(np.eye(2), np.array([0.5, 0.0]), np.array([0.0, 1.0])).round(3).tolist()
    [0.75, 0.25]
    """
    weights, k = weights.copy(), len(linear)
    scale = 1.0 + np.abs(quadratic).max() + np.abs(linear).max()
    free = weights > 0.0
    for _ in range(20 * k + 20):
        target = _on_plane(quadratic, linear, free, weights)
        low = free & (target < 0.0)
        if low.any():  # move as far as the weights stay feasible, and drop the one that becomes 0
            shares = np.where(low, weights / np.maximum(weights - target, 1e-300), np.inf)
            first = int(shares.argmin())
            weights = weights + min(1.0, shares[first]) * (target - weights)
            weights[first], free[first] = 0.0, False
            weights = np.maximum(weights, 0.0)
            continue
        weights = target
        gradient = linear - quadratic @ weights
        excess = np.where(free, -np.inf, gradient - gradient[free].max())
        if free.all() or excess.max() <= 1e-12 * scale:
            break
        free[int(excess.argmax())] = True
    return weights / weights.sum()


def _on_plane(quadratic: np.ndarray, linear: np.ndarray, free: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the best weights of sum 1 among the free ones, of any sign; very large if the maximum is unbounded."""
    first, *others = np.flatnonzero(free)
    target = np.zeros(len(linear))
    target[first] = 1.0
    if not others:
        return target
    # The weight of the first is 1 minus the others, so that the sum is exact for any penalty.
    rows = quadratic[others] - quadratic[first]
    reduced = rows[:, others] - rows[:, [first]]
    gains = linear[others] - linear[first] - rows[:, first]
    found = np.linalg.lstsq(reduced, gains, rcond=None)[0]
    rest = gains - reduced @ found
    if np.abs(rest).max() > 1e-9 * np.abs(gains).max():
        # Dependent solutions: the residual is a direction in which the penalty is constant and the scores increase.
        found = weights[others] + rest * (2.0 / max(-rest.min(), rest.sum()))
    target[others] = found
    target[first] -= found.sum()
    return target
