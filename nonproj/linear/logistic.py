"""Logistic regression with two classes, by AdaGrad."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.optimisers import LaterMean, descend
from nonproj.types import Float32s, Int32s, Uint8s


class Options(NamedTuple):
    """How a classifier is trained: bits of its table, epochs, and the learning rate."""

    bits: int
    epochs: int
    rate: float


@kernel
def _epoch(
    rows: Int32s,
    gold: Uint8s,
    order: Int32s,
    rate: float,
    weights: Float32s,
    squares: Float32s,
) -> float:
    """Go through the examples once; return the sum of their losses."""
    loss = 0.0
    for k in range(len(order)):
        row, target = rows[order[k]], gold[order[k]]
        score = 0.0
        for j in range(len(row)):
            score += weights[row[j]]
        probability = 1.0 / (1.0 + math.exp(-min(max(score, -30.0), 30.0)))
        loss -= math.log(max(probability if target else 1.0 - probability, 1e-12))
        for j in range(len(row)):
            descend(weights, squares, row[j], probability - target, rate)
    return loss


def fit(
    rows: np.ndarray, gold: np.ndarray, options: Options, seed: int = 0, progress: Callable[[Any], Any] = iter
) -> np.ndarray:
    """Return the weights of a classifier, float32, the mean of those after the epochs of the second half.

    Parameters
    ----------
    rows : ndarray of shape (m, F), int32
        The places of the features of each example.
    gold : ndarray of shape (m,), uint8
        Its class, 0 or 1.
    options : Options
    seed : int
        Of the order of the examples.
    progress : callable
        Wraps the loop over the epochs.

    Examples
    --------
    >>> rows = np.array([[0, 1], [0, 2]], np.int32)
    >>> weights = fit(rows, np.array([1, 0], np.uint8), Options(4, 10, 0.5))
    >>> (weights[rows].sum(axis=1) > 0).tolist()
    [True, False]
    """
    bits, epochs, rate = options
    weights, squares = np.zeros(1 << bits, np.float32), np.full(1 << bits, 1e-6, np.float32)
    mean, random = LaterMean([weights], epochs), np.random.default_rng(seed)
    for _ in progress(range(epochs)):
        order = random.permutation(len(gold)).astype(np.int32)
        _epoch(rows, gold, order, rate, weights, squares)
        mean.add()
    return mean.tables()[0]
