"""Cross-fitting: each example is predicted by a model that was fitted on the examples of the other folds.

On its own training data a model is overconfident, so what another model learns from its output is predicted this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

_M = TypeVar("_M")
_R = TypeVar("_R")


def blocks(count: int, folds: int, size: int = 20) -> np.ndarray:
    """Return the fold of each sentence, int64[count]: neighbours, of one text, are in the same fold.

    Examples
    --------
    >>> blocks(8, 2, 3).tolist()
    [0, 0, 0, 1, 1, 1, 0, 0]
    """
    return np.arange(count) // max(1, min(size, count // folds)) % folds


def cross_fit(
    fold: np.ndarray, fit: Callable[[np.ndarray], _M], apply: Callable[[_M, np.ndarray], Sequence[_R]]
) -> list[_R]:
    """Return the prediction for each example by a model fitted on the examples of the other folds.

    Parameters
    ----------
    fold : ndarray of int
        The fold of each example; with a single fold, a model of all examples predicts.
    fit : callable
        Returns a model of the examples with these numbers, int64.
    apply : callable
        Returns a model's predictions for the examples with these numbers.

    Examples
    --------
    >>> values = np.array([1.0, 3.0, 5.0])
    >>> cross_fit(np.array([0, 1, 1]), lambda rest: values[rest].mean(), lambda mean, inside: [mean] * len(inside))
    [np.float64(4.0), np.float64(1.0), np.float64(1.0)]
    """
    made: list[Any] = [None] * len(fold)
    numbers = np.unique(fold)
    for number in numbers:
        inside = np.flatnonzero(fold == number)
        rest = np.flatnonzero(fold != number) if len(numbers) > 1 else inside
        for i, result in zip(inside.tolist(), apply(fit(rest), inside), strict=True):
            made[i] = result
    return made
