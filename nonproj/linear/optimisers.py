"""Optimisers: AdaGrad (Duchi, Hazan and Singer 2011), Adam (Kingma and Ba 2015), and the loop over epochs.

AdaGrad divides the step of a weight by the root of its summed squared gradients, because some features are far more
frequent than others.  `nonproj.networks.rows` has AdaGrad for the rows of networks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float32s

_DECAY = 0.9, 0.999

log = logging.getLogger("nonproj")


def run_epochs(name: str, numbers: Iterable[int], run: Callable[[int], str]) -> None:
    """Run epochs with these numbers, and log the time and the figures of each; ``name`` is for the log."""
    for number in numbers:
        began = time.perf_counter()
        figures = run(number)
        log.info("%s epoch %d: %.1f s, %s", name, number + 1, time.perf_counter() - began, figures)


class LaterMean:
    """The mean of weights over the second half of the epochs.

    Parameters
    ----------
    tables : sequence of ndarray
        The weights, float32, which change between epochs.
    epochs : int

    Examples
    --------
    >>> weights = np.zeros(1, np.float32)
    >>> mean = LaterMean([weights], 4)
    >>> for value in (1.0, 3.0, 5.0, 7.0):
    ...     weights[0] = value
    ...     mean.add()
    >>> mean.apply()
    >>> weights
    array([6.], dtype=float32)
    """

    def __init__(self, tables: Sequence[np.ndarray], epochs: int):
        self._weights, self._totals = tables, [np.zeros_like(table) for table in tables]
        self._skipped, self._epochs = epochs // 2, 0

    def add(self) -> None:
        """Include the weights after an epoch in the mean, if the epoch is in the second half."""
        self._epochs += 1
        if self._epochs > self._skipped:
            for table, total in zip(self._weights, self._totals, strict=True):
                total += table

    def apply(self) -> None:
        """Replace the weights by their means; this ends training."""
        for table, total in zip(self._weights, self._totals, strict=True):
            np.divide(total, np.float32(max(self._epochs - self._skipped, 1)), out=table)
        self._weights, self._totals = (), []


class Adam:
    """The Adam optimiser of tables of weights, which it changes in place.

    Parameters
    ----------
    tables : sequence of ndarray, float32
    """

    def __init__(self, tables: Sequence[np.ndarray]):
        self.tables, self._steps = tables, 0
        self._means, self._squares = ([np.zeros(table.size, np.float32) for table in tables] for _ in range(2))

    def step(self, gradients: Sequence[np.ndarray], rate: float) -> None:
        """Make a step on each table, along its gradient."""
        self._steps += 1
        first, second = _DECAY
        scale = np.float32(rate * np.sqrt(1.0 - second**self._steps) / (1.0 - first**self._steps))
        for table, mean, square, change in zip(self.tables, self._means, self._squares, gradients, strict=True):
            flat = table.reshape(-1), mean, square, change.reshape(-1)
            _adam(*flat, scale, np.float32(first), np.float32(second))


@kernel
def _adam(
    table: Float32s,
    mean: Float32s,
    square: Float32s,
    gradient: Float32s,
    scale: np.float32,
    first: np.float32,
    second: np.float32,
) -> None:
    """Make a step of Adam on each weight."""
    one, least = np.float32(1.0), np.float32(1e-8)
    for i in range(table.shape[0]):
        g = gradient[i]
        mean[i] = first * mean[i] + (one - first) * g
        square[i] = second * square[i] + (one - second) * g * g
        table[i] += np.divide(scale * mean[i], np.sqrt(square[i]) + least)  # a test for zero would not be vectorised


@kernel
def root_of_squares(squares: Float32s, place: int | np.uint32, square: float | np.float32) -> float:
    """Add a squared gradient to a sum, and return the root of the sum, by which AdaGrad divides its steps."""
    squares[place] += np.float32(square)
    return np.sqrt(squares[place] + 1e-8)


@kernel
def rounded_gradient(gradient: float | np.float64) -> float:
    """Return a gradient rounded to a multiple of 2^-24: the last bits of exponentials depend on the processor."""
    return np.rint(gradient * 16777216.0) / 16777216.0


@kernel
def adagrad_step(
    weights: Float32s, squares: Float32s, place: int | np.uint32, gradient: float | np.float64, rate: float
) -> None:
    """Make a step of AdaGrad on one weight, along its gradient."""
    root = root_of_squares(squares, place, gradient * gradient)
    weights[place] += np.float32(rate * gradient / root)
