"""The dual of a problem at given multipliers: lazy calls of the oracles, and checks of their results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonproj.trees.rounding import ROUNDOFF
from nonproj_systems.relaxation.problem import Problem

WRONG = 1e-6
"""Relative difference above which two values count as contradictory."""

TERMS = 4
"""Maximum number of terms for each variable of an oracle: its score, and those of the oracle's own part."""


@dataclass(frozen=True)
class Evaluation:
    """The dual at some multipliers.

    Attributes
    ----------
    multipliers : ndarray of shape (n_multipliers,)
    value : float
        The maximum of the Lagrangian, as computed.
    dual : float
        Upper bound: the dual value, rounded outward.
    copies : ndarray of shape (C,), float64
        The variables chosen by the oracles, numbered as in `Problem.variable`.
    residual : ndarray of shape (n_multipliers,)
        A subgradient of the dual; see `Problem.residual`.
    projected : ndarray of shape (n_multipliers,)
        Subgradient without the slack of inequalities whose multiplier is 0.
    solutions : tuple
        The solution of each oracle.
    called : int
        Number of oracles called; the multipliers of the others did not change.
    """

    multipliers: np.ndarray
    value: float
    dual: float
    copies: np.ndarray
    residual: np.ndarray
    projected: np.ndarray
    solutions: tuple[Any, ...]
    called: int


class Evaluator:
    """Calls the oracles of a problem, each only if its multipliers have changed.

    Parameters
    ----------
    problem : Problem
    seconds, wall_seconds : float
        Limits on processor time and elapsed time.

    Attributes
    ----------
    calls : int
        Number of calls of oracles so far.

    Notes
    -----
    An oracle is refused if it contradicts itself: if its maximum is lower than the score of its own previous solution
    at the new multipliers.  Without this check an oracle that does not maximise would give a "bound" below the
    optimum.  The check costs one inner product; it finds most errors, but not all.
    """

    def __init__(self, problem: Problem, seconds: float = np.inf, wall_seconds: float = np.inf):
        self.problem, self.calls = problem, 0
        self._began, self._wall_began = time.process_time(), time.perf_counter()
        self._most_seconds, self._most_wall_seconds = seconds, wall_seconds
        self._scores: list[np.ndarray | None] = [None] * len(problem.oracles)
        self._values = [0.0] * len(problem.oracles)
        self._solutions: list[Any] = [None] * len(problem.oracles)
        self._copies = np.zeros(len(problem.variable))

    @property
    def seconds(self) -> float:
        """Processor seconds since the evaluator was created."""
        return time.process_time() - self._began

    @property
    def seconds_left(self) -> float:
        """Seconds until the nearer limit, where processor time counts as elapsed time."""
        wall = self._most_wall_seconds - (time.perf_counter() - self._wall_began)
        return max(0.0, min(self._most_seconds - self.seconds, wall))

    def __call__(self, multipliers: np.ndarray) -> Evaluation:
        """Evaluate the dual."""
        problem, called = self.problem, 0
        scores = problem.scores(multipliers)
        for i in range(len(problem.oracles)):
            part = problem.part(i)
            known = self._scores[i]
            if known is None or not np.array_equal(known, scores[part]):
                self._call(i, scores[part])
                called += 1
        value = sum(self._values) + problem.constant(multipliers)
        dual = value + self.rounding_error(multipliers, scores)
        copies = self._copies.copy()
        residual = problem.residual(copies)
        projected = problem.projected(multipliers, residual)
        return Evaluation(multipliers, value, dual, copies, residual, projected, tuple(self._solutions), called)

    def rounding_error(self, multipliers: np.ndarray, scores: np.ndarray) -> float:
        """Return the most by which rounding can put the computed maximum of the Lagrangian below the exact one.

        A sum of ``k`` terms is off by at most ``k`` units of roundoff times the sum of their absolute values (Higham
        2002, "Accuracy and stability of numerical algorithms", section 4.2).  The terms are the scores of each oracle's
        variables, which are sums over multipliers themselves, and those of its own part: see `Oracle`.
        """
        problem, absolute = self.problem, np.abs(multipliers)
        weights = problem.absolute_scores(absolute) * np.maximum(1.0, np.abs(self._copies))
        error = float(absolute[problem.n_agreement :] @ np.abs(problem.constraints.rhs)) * (absolute.size + 2)
        for i, oracle in enumerate(problem.oracles):
            part, value = problem.part(i), abs(self._values[i])
            of_scores = float(weights[part].sum())
            size = TERMS * (part.stop - part.start + 2) + problem.most_terms
            error += size * (of_scores + value + max(value + of_scores, getattr(oracle, "magnitude", 0.0)))
        return float(ROUNDOFF * (error + len(problem.oracles) * np.abs(self._values).sum()))

    def _call(self, i: int, scores: np.ndarray) -> None:
        """Call one oracle, check its result, and keep it."""
        value, chosen, solution = self.problem.oracles[i](scores)
        self.calls += 1
        value, chosen = float(value), np.asarray(chosen, np.float64).reshape(-1)
        if not np.isfinite(value):
            raise ValueError(f"the maximum of {self.name(i)} is {value}; a finite number is expected")
        if chosen.shape != scores.shape or not np.isfinite(chosen).all():
            raise ValueError(f"the variables of {self.name(i)} have the shape {chosen.shape}; "
                             f"{scores.shape} finite numbers are expected")  # fmt: skip
        part, old = self.problem.part(i), self._scores[i]
        if old is not None:
            known = self._values[i] + float(self._copies[part] @ (scores - old))
            if value < known and value < known - WRONG * (1.0 + abs(known) + float(np.abs(scores).max(initial=0.0))):
                raise ValueError(
                    f"{self.name(i)} does not maximise: it returned {value}, but its previous solution has {known}"
                )
        self._values[i], self._solutions[i], self._scores[i] = value, solution, scores.copy()
        self._copies[part] = chosen

    def name(self, i: int) -> str:
        """Return the name of an oracle in messages."""
        if len(self.problem.oracles) == 2:
            return f"the {('left', 'right')[i]} oracle"
        return f"oracle {i}"
