"""Oracles for common parts, with all methods: maxima, max-marginals, marginals, quadratic subproblems.

An oracle needs only the methods used (`nonproj_systems.relaxation.problem.Oracle`); these serve as parts of larger
problems and as examples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nonproj_systems.relaxation.problem import Oracle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _log_sum(values: np.ndarray, temperature: float, axis: int | None = None) -> Any:
    """Return ``temperature * log(sum(exp(values / temperature)))`` without overflow."""
    top = values.max(axis=axis, keepdims=True)
    total = np.exp((values - top) / temperature).sum(axis=axis, keepdims=True)
    found = top + temperature * np.log(total)
    return float(found.item()) if axis is None else np.squeeze(found, axis)


class Enumerated:
    """A part with a short list of solutions.

    Parameters
    ----------
    variables : array-like of shape (K, n)
        The variables of each solution.
    scores : array-like of shape (K,), float64
        The score of each solution.

    Notes
    -----
    Solutions are numbered from 0; ties go to the first.  Max-marginals are for variables of 0 and 1.

    Examples
    --------
    >>> part = Enumerated([[1, 0], [0, 1]], [2.0, 1.0])
    >>> part(np.array([0.0, 3.0]))
    (4.0, array([0., 1.]), 1)
    >>> part.max_marginals(np.array([0.0, 3.0])).tolist()
    [[4.0, 2.0], [2.0, 4.0]]
    """

    def __init__(self, variables: ArrayLike, scores: ArrayLike):
        self.variables = np.atleast_2d(np.asarray(variables, np.float64))
        self.scores = np.asarray(scores, np.float64).reshape(-1)
        if not len(self.scores) or len(self.variables) != len(self.scores):
            raise ValueError(
                f"{len(self.variables)} solutions have {len(self.scores)} scores; one for each is expected"
            )

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, int]:
        """Return the maximum, the variables there, and the number of the solution."""
        totals = self.scores + self.variables @ scores
        best = int(np.argmax(totals))
        return float(totals[best]), self.variables[best].copy(), best

    def max_marginals(self, scores: np.ndarray) -> np.ndarray:
        """Return the maximum where each variable is 0 and where it is 1, float64[n, 2]; minus infinity if never."""
        totals = (self.scores + self.variables @ scores)[:, None]
        return np.stack(
            [np.where(self.variables == value, totals, -np.inf).max(axis=0) for value in (0.0, 1.0)], axis=1
        )

    def marginals(self, scores: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        """Return the smoothed maximum and its gradient, the mean of the variables."""
        totals = self.scores + self.variables @ scores
        value = _log_sum(totals, temperature)
        return value, np.exp((totals - value) / temperature) @ self.variables


class Choice:
    """Exactly one of n variables is 1.

    Parameters
    ----------
    scores : array-like of shape (n,), float64

    Examples
    --------
    >>> part = Choice([0.0, 1.0, 0.5])
    >>> part(np.zeros(3))
    (1.0, array([0., 1., 0.]), 1)
    >>> part.quadratic(np.zeros(3), np.zeros(3), 1.0).tolist()
    [0.0, 0.75, 0.25]
    """

    def __init__(self, scores: ArrayLike):
        self.scores = np.asarray(scores, np.float64).reshape(-1)

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, int]:
        """Return the maximum, the variables there, and the number of the one that is 1."""
        totals = self.scores + scores
        best = int(np.argmax(totals))
        chosen = np.zeros(len(totals))
        chosen[best] = 1.0
        return float(totals[best]), chosen, best

    def max_marginals(self, scores: np.ndarray) -> np.ndarray:
        """Return the maximum where each variable is 0 and where it is 1, float64[n, 2]."""
        totals = self.scores + scores
        return np.stack([_others(totals[None])[0], totals], axis=1)

    def marginals(self, scores: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        """Return the smoothed maximum and its gradient."""
        totals = self.scores + scores
        value = _log_sum(totals, temperature)
        return value, np.exp((totals - value) / temperature)

    def quadratic(self, scores: np.ndarray, centre: np.ndarray, penalty: float) -> np.ndarray:
        """Return the maximum of the scores minus ``penalty / 2`` times the squared distance from a centre.

        The projection onto the simplex (Duchi et al. 2008).
        """
        point = centre + (self.scores + scores) / penalty
        ordered = np.sort(point)[::-1]
        excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(point) + 1)
        return np.maximum(point - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)


class Chain:
    """The best sequence of labels, by Viterbi; the variables are indicators of the labels, position by position.

    Parameters
    ----------
    unary : array-like of shape (n, k), float64
        The score of each label at each position.
    pairwise : array-like of shape (k, k) or (n - 1, k, k), float64
        The score of two neighbouring labels.

    Examples
    --------
    >>> tagger = Chain([[1.0, 0.0], [0.0, 0.5]], [[1.0, 0.0], [0.0, 0.0]])
    >>> tagger(np.zeros(4))
    (2.0, array([1., 0., 1., 0.]), (0, 0))
    """

    def __init__(self, unary: ArrayLike, pairwise: ArrayLike):
        self.unary = np.atleast_2d(np.asarray(unary, np.float64))
        n, k = self.unary.shape
        self.pairwise = np.broadcast_to(np.asarray(pairwise, np.float64), (n - 1, k, k))
        self.magnitude = float(np.abs(self.unary).max(axis=1).sum() + np.abs(self.pairwise).max(axis=(1, 2)).sum())

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, tuple[int, ...]]:
        """Return the maximum, the variables there, and the labels."""
        unary = self.unary + scores.reshape(self.unary.shape)
        best, back = unary[0], []
        for i, pairs in enumerate(self.pairwise, 1):
            totals = best[:, None] + pairs
            back.append(totals.argmax(axis=0))
            best = totals.max(axis=0) + unary[i]
        labels = [int(best.argmax())]
        for pointers in reversed(back):
            labels.append(int(pointers[labels[-1]]))
        labels.reverse()
        chosen = np.zeros(unary.shape)
        chosen[np.arange(len(labels)), labels] = 1.0
        return float(best.max()), chosen.ravel(), tuple(labels)

    def max_marginals(self, scores: np.ndarray) -> np.ndarray:
        """Return the maximum where each variable is 0 and where it is 1, float64[n * k, 2]."""
        ones = self._both_ways(scores, lambda totals: totals.max(axis=0))
        return np.stack([_others(ones).ravel(), ones.ravel()], axis=1)

    def marginals(self, scores: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        """Return the smoothed maximum and its gradient, by forward-backward."""
        totals = self._both_ways(scores, lambda values: _log_sum(values, temperature, axis=0))
        value = _log_sum(totals[0], temperature)
        return value, np.exp((totals - value) / temperature).ravel()

    def _both_ways(self, scores: np.ndarray, join: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return for each label at each position the result of ``join`` over sequences through it, float64[n, k]."""
        unary = self.unary + scores.reshape(self.unary.shape)
        forward, backward = np.zeros_like(unary), np.zeros_like(unary)
        for i in range(1, len(unary)):
            forward[i] = join((forward[i - 1] + unary[i - 1])[:, None] + self.pairwise[i - 1])
        for i in range(len(unary) - 2, -1, -1):
            backward[i] = join((backward[i + 1] + unary[i + 1])[:, None] + self.pairwise[i].T)
        return forward + unary + backward


def _others(values: np.ndarray) -> np.ndarray:
    """Return for each entry the maximum of the others in its row; minus infinity if there is no other."""
    if values.shape[1] == 1:
        return np.full(values.shape, -np.inf)
    second, first = np.sort(values, axis=1)[:, -2:].T[:, :, None]
    is_best = np.arange(values.shape[1]) == values.argmax(axis=1)[:, None]
    return np.where(is_best, second, first)


class Forced:
    """An oracle with max-marginals by brute force: at least one call per variable, with a bonus for the other value.

    Slow but general: the tutorial, section 8, notes that max-marginals may cost more than the maximum.

    Parameters
    ----------
    oracle : Oracle
        Its variables are 0 or 1.
    most : float
        The highest bonus; a variable that still does not change has a max-marginal of minus infinity.
    """

    def __init__(self, oracle: Oracle, most: float = 1e9):
        self.oracle, self.most = oracle, most

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """Return the result of the oracle."""
        return self.oracle(scores)

    def max_marginals(self, scores: np.ndarray) -> np.ndarray:
        """Return the maximum where each variable is 0 and where it is 1, float64[n, 2]."""
        value, chosen, _ = self.oracle(scores)
        found = np.full((len(scores), 2), -np.inf)
        for j, taken in enumerate(np.asarray(chosen)):
            found[j, int(taken)] = value
            bonus, wanted = 1.0, 1 - int(taken)
            while bonus <= self.most:
                changed = scores.copy()
                changed[j] += bonus if wanted else -bonus
                other, variables, _ = self.oracle(changed)
                if int(variables[j]) == wanted:
                    found[j, wanted] = other - bonus * wanted
                    break
                bonus *= 8.0
        return found
