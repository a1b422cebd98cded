"""Optimisers: AdaGrad (Duchi, Hazan and Singer 2011), Adam (Kingma and Ba 2015), and the loop over epochs.

AdaGrad's step of a weight shrinks with its own gradients, because some features are far more frequent than others.  A
row of a network has one sum of squares, or one for each of its equal pieces.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float32s, Int32s

_DECAY = 0.9, 0.999

log = logging.getLogger("nonproj")


def run_epochs(name: str, numbers: Iterable[int], run: Callable[[int], str]) -> None:
    """Run epochs with these numbers, and log the time of each and what it returns; ``name`` is for the log."""
    for number in numbers:
        began = time.perf_counter()
        figures = run(number)
        log.info("%s epoch %d: %.1f s, %s", name, number + 1, time.perf_counter() - began, figures)


class LaterMean:
    """The mean of weights over the epochs of the second half.

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
    >>> mean.tables()
    [array([6.], dtype=float32)]
    """

    def __init__(self, tables: Sequence[np.ndarray], epochs: int):
        self._weights, self._totals = tables, [np.zeros_like(table) for table in tables]
        self._skipped, self._epochs = epochs // 2, 0

    def add(self) -> None:
        """Count the weights after an epoch."""
        self._epochs += 1
        if self._epochs > self._skipped:
            for table, total in zip(self._weights, self._totals, strict=True):
                total += table

    def tables(self) -> list[np.ndarray]:
        """Return the means, float32, in place of the sums, so that nothing can be added any more."""
        for total in self._totals:
            total /= np.float32(max(self._epochs - self._skipped, 1))
        self._weights, self._epochs = (), self._skipped
        return self._totals


class Adam:
    """Steps of Adam on one table of weights, which is changed in place.

    Parameters
    ----------
    table : ndarray, float32
    """

    def __init__(self, table: np.ndarray):
        self.table, self.mean, self.square = table, np.zeros_like(table), np.zeros_like(table)

    def step(self, gradient: np.ndarray, rate: float, number: int) -> None:
        """Follow a gradient; ``number`` counts the steps from 1."""
        first, second = _DECAY
        scale = np.float32(rate * np.sqrt(1.0 - second**number) / (1.0 - first**number))
        table, mean, square, change = (a.reshape(-1) for a in (self.table, self.mean, self.square, gradient))
        _adam(table, mean, square, change, scale, np.float32(first), np.float32(second))


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
        table[i] += scale * mean[i] / (np.sqrt(square[i]) + least)


@kernel
def descend(
    weights: Float32s, squares: Float32s, place: int | np.uint32, gradient: float | np.float64, rate: float
) -> None:
    """Move one weight against its gradient."""
    squares[place] += np.float32(gradient * gradient)
    weights[place] -= np.float32(rate * gradient / np.sqrt(squares[place] + 1e-8))


@kernel
def follow_rows(rows: Int32s, gradient: Float32s, rate: float, table: Float32s, squares: Float32s) -> None:
    """Make a step on the row of each gradient."""
    for i in range(gradient.shape[0]):
        follow_row(gradient[i], rate, table[rows[i]], squares[rows[i]])


@kernel
def follow_row(gradient: Float32s, rate: float, row: Float32s, squares: Float32s) -> None:
    """Move a row, whose equal pieces have one sum of squares each, by their mean squared gradients."""
    size = gradient.shape[0] // squares.shape[0]
    for piece in range(squares.shape[0]):
        begin, square = piece * size, np.float32(0.0)
        for k in range(begin, begin + size):
            square += gradient[k] * gradient[k]
        if square > 0.0:
            squares[piece] += square / np.float32(size)
            factor = np.float32(rate / np.sqrt(squares[piece] + 1e-8))
            for k in range(begin, begin + size):
                row[k] += factor * gradient[k]


@kernel
def follow_share(
    gradient: Float32s, square: np.float32, share: np.float32, rate: float, row: Float32s, squares: Float32s, place: int
) -> None:
    """Move a row that is summed with a factor, by the mean square of the gradient of the sum.

    This is not `follow_row` with a factor: it rounds the root to float32, and `follow_row` only the quotient, so that
    one in place of the other would train other weights.
    """
    squares[place] += share * share * square
    step = np.float32(rate) * share / np.sqrt(squares[place])
    for k in range(gradient.shape[0]):
        row[k] += step * gradient[k]
