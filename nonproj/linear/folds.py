"""Cross-fitting: each example is predicted by a model that was fitted on the examples of the other folds.

A model is overconfident on its own training data, so predictions that another model learns from are made this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

_M = TypeVar("_M")
_R = TypeVar("_R")


def blocks(count: int, folds: int, size: int = 20) -> np.ndarray:
    """Return the fold of each sentence, int64[count], by blocks, because adjacent sentences are often from one text.

    Examples
    --------
    >>> blocks(8, 2, 3).tolist()
    [0, 0, 0, 1, 1, 1, 0, 0]
    """
    return np.arange(count) // max(1, min(size, count // folds)) % folds


def _one_by_one(calls: list[Callable[[], _R]]) -> list[_R]:
    return [call() for call in calls]


def cross_fit(
    fold: np.ndarray,
    fit: Callable[[np.ndarray], _M],
    apply: Callable[[_M, np.ndarray], Sequence[_R]],
    run: Callable[[list[Callable[[], Sequence[_R]]]], list[Sequence[_R]]] = _one_by_one,
) -> list[_R]:
    """Return the prediction for each example by a model fitted on the examples of the other folds.

    Parameters
    ----------
    fold : ndarray of int
        The fold of each example; a single fold is predicted by a model fitted on all examples.
    fit : callable
        Returns a model of the examples with these numbers, int64.
    apply : callable
        Returns a model's predictions for the examples with these numbers.
    run : callable
        Makes some calls, one for each fold, and returns their results: see `nonproj.workers.copies.spread`.

    Examples
    --------
    >>> values = np.array([1.0, 3.0, 5.0])
    >>> cross_fit(np.array([0, 1, 1]), lambda rest: values[rest].mean(), lambda mean, inside: [mean] * len(inside))
    [np.float64(4.0), np.float64(1.0), np.float64(1.0)]
    """
    made: list[Any] = [None] * len(fold)
    folds = [np.flatnonzero(fold == number) for number in np.unique(fold)]

    def predict(inside: np.ndarray) -> Sequence[_R]:
        rest = np.setdiff1d(np.arange(len(fold)), inside) if len(folds) > 1 else inside
        return apply(fit(rest), inside)

    for inside, results in zip(folds, run([partial(predict, inside) for inside in folds]), strict=True):
        for i, result in zip(inside.tolist(), results, strict=True):
            made[i] = result
    return made
