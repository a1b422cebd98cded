"""Oracles for common parts of larger problems: a list of solutions, and a chain of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
    Solutions are numbered from 0; ties go to the first.

    Examples
    --------
    >>> part = Enumerated([[1, 0], [0, 1]], [2.0, 1.0])
    >>> part(np.array([0.0, 3.0]))
    (4.0, array([0., 1.]), 1)
    """

    def __init__(self, variables: ArrayLike, scores: ArrayLike):
        self.variables = np.atleast_2d(np.asarray(variables, np.float64))
        self.scores = np.asarray(scores, np.float64).reshape(-1)
        if not len(self.scores) or len(self.variables) != len(self.scores):
            raise ValueError(
                f"{len(self.variables)} solutions have {len(self.scores)} scores; one for each is expected"
            )

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, int]:
        """Return the maximum, the variables that attain it, and the number of the solution."""
        totals = self.scores + self.variables @ scores
        best = int(np.argmax(totals))
        return float(totals[best]), self.variables[best].copy(), best


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
        """Return the maximum, the variables that attain it, and the labels."""
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
