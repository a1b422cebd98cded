"""Rows for words with pretrained vectors: a network learns the matrix that projects vectors to its rows."""

from __future__ import annotations

import numpy as np

from nonproj.networks.products import product
from nonproj.networks.rows import AdaGrad, draw_weights

_DEVIATION = 0.03


class Projection:
    """The rows of words in training, each the product of the word's vector and one matrix.

    Parameters
    ----------
    table : ndarray of shape (n, D), float32
        The vectors.
    width : int
        The size of a row.
    pieces : int
        Equal pieces of a row with a sum of squared gradients each.
    rng : numpy.random.Generator
        For the first matrix.

    Attributes
    ----------
    matrix : ndarray of shape (D, width), float32
    """

    def __init__(self, table: np.ndarray, width: int, pieces: int, rng: np.random.Generator):
        self.table = table
        self.matrix = draw_weights(rng, (table.shape[1], width), _DEVIATION)
        self._steps = AdaGrad(self.matrix, pieces=pieces)

    def add(self, numbers: np.ndarray, sums: np.ndarray) -> None:
        """Add the row of each word, -1 for one without a vector, to its sum, float32[n, width]."""
        chosen = np.flatnonzero(numbers >= 0)
        sums[chosen] += product(self.table[numbers[chosen]], self.matrix)

    def step(self, numbers: np.ndarray, gradient: np.ndarray, rate: float) -> None:
        """Make a step of AdaGrad, given the gradients of the sums."""
        self._steps.step(self.gradient(numbers, gradient), rate)

    def gradient(self, numbers: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient of the matrix, given those of the sums."""
        chosen = np.flatnonzero(numbers >= 0)
        return product(self.table[numbers[chosen]].T, gradient[chosen])
