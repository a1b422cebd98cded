"""A linear classifier with two classes over hashed features: logistic regression, by stochastic gradient descent.

The step of each weight shrinks with its own gradients (AdaGrad; Duchi, Hazan and Singer 2011).
"""

from __future__ import annotations

import math

import numpy as np

from nonproj._kernel import kernel
from nonproj.types import Float32s, Int32s, Uint8s


@kernel
def _epoch(
    rows: Int32s,
    gold: Uint8s,
    cost: Float32s,
    order: Int32s,
    rate: float,
    decay: float,
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
        weight = cost[order[k]]
        loss -= weight * math.log(max(probability if target else 1.0 - probability, 1e-12))
        gradient = weight * (probability - target)
        for j in range(len(row)):
            f = row[j]
            step = gradient + decay * weights[f]
            squares[f] += step * step
            weights[f] -= rate * step / math.sqrt(squares[f])
    return loss


def fit(rows, gold, cost, options, seed: int = 0, progress=iter) -> np.ndarray:
    """Return the weights of a classifier, float32.

    Parameters
    ----------
    rows : ndarray of shape (m, F), int32
        The places of the features of each example.
    gold : ndarray of shape (m,), uint8
        Its class, 0 or 1.
    cost : ndarray of shape (m,), float32
        How much it counts.
    options : tuple
        Bits of the table, epochs, learning rate, decay of weights.
    seed : int
        Of the order of the examples.
    progress : callable
        Wraps the loop over the epochs.

    Examples
    --------
    >>> rows = np.array([[0, 1], [0, 2]], np.int32)
    >>> weights = fit(rows, np.array([1, 0], np.uint8), np.ones(2, np.float32), (4, 10, 0.5, 0.0))
    >>> (weights[rows].sum(axis=1) > 0).tolist()
    [True, False]
    """
    bits, epochs, rate, decay = options
    weights, squares = np.zeros(1 << bits, np.float32), np.full(1 << bits, 1e-6, np.float32)
    total = np.zeros(1 << bits, np.float32)
    random = np.random.default_rng(seed)
    for epoch in progress(range(epochs)):
        order = random.permutation(len(gold)).astype(np.int32)
        _epoch(rows, gold, cost, order, rate, decay, weights, squares)
        if epoch >= epochs // 2:
            total += weights
    return total / max(epochs - epochs // 2, 1)
