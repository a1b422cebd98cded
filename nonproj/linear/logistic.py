"""Logistic regression with two classes, by AdaGrad."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.optimisers import LaterMean, adagrad_step, rounded_gradient
from nonproj.types import Float32s, Int32s, Uint8s


class LogisticOptions(NamedTuple):
    """Options of training a classifier.

    Attributes
    ----------
    bits : int
        Binary logarithm of the size of the weight table.
    epochs : int
    rate : float
        The learning rate.
    first : int
        Number of leading features of each example that are first trained alone, for ``epochs`` epochs; 0 for none.
        Rare features, which explain single examples, then only add what frequent ones cannot explain.
    """

    bits: int
    epochs: int
    rate: float
    first: int = 0


@kernel
def _epoch(
    rows: Int32s,
    gold: Uint8s,
    order: Int32s,
    rate: float,
    weights: Float32s,
    squares: Float32s,
) -> None:
    """Make a step of AdaGrad on each example, in this order."""
    for k in range(len(order)):
        row, target = rows[order[k]], gold[order[k]]
        score = 0.0
        for j in range(len(row)):
            score += weights[row[j]]
        probability = 1.0 / (1.0 + math.exp(-min(max(score, -30.0), 30.0)))
        gradient = rounded_gradient(target - probability)
        for j in range(len(row)):
            adagrad_step(weights, squares, row[j], gradient, rate)


def fit(
    rows: np.ndarray,
    gold: np.ndarray,
    options: LogisticOptions,
    rng: np.random.Generator,
    progress: Callable[[Any], Any] = iter,
) -> np.ndarray:
    """Return the weights of a classifier, float32, averaged over the second half of the epochs.

    Parameters
    ----------
    rows : ndarray of shape (m, F), int32
        The places of the features of each example.
    gold : ndarray of shape (m,), uint8
        The class of each example, 0 or 1.
    options : LogisticOptions
    rng : numpy.random.Generator
        For the order of the examples.
    progress : callable
        Wraps the loop over the epochs.

    Examples
    --------
    >>> rows = np.array([[0, 1], [0, 2]], np.int32)
    >>> weights = fit(rows, np.array([1, 0], np.uint8), LogisticOptions(4, 10, 0.5), np.random.default_rng(0))
    >>> (weights[rows].sum(axis=1) > 0).tolist()
    [True, False]
    """
    weights = np.zeros(1 << options.bits, np.float32)
    alone = [np.ascontiguousarray(rows[:, : options.first])] if options.first else []
    for features in (*alone, rows):
        squares, mean = np.full(len(weights), 1e-6, np.float32), LaterMean([weights], options.epochs)
        for _ in progress(range(options.epochs)):
            order = rng.permutation(len(gold)).astype(np.int32)
            _epoch(features, gold, order, options.rate, weights, squares)
            mean.add()
        mean.apply()
    return weights
