"""Rows for words with pretrained vectors: a network learns the matrix that projects vectors to its rows."""

from __future__ import annotations

import numpy as np

from nonproj.networks.hyperparameters import Hyperparameters
from nonproj.networks.products import product
from nonproj.networks.rows import AdaGrad, draw_weights


class Projection:
    """The rows of words in training, each the product of the word's vector and one matrix.

    Parameters
    ----------
    table : ndarray of shape (n, D), float32
        The vectors.
    hyperparameters : Hyperparameters
    rng : numpy.random.Generator
        For the first matrix.

    Attributes
    ----------
    matrix : ndarray of shape (D, width), float32
    steps : AdaGrad
        On the matrix.
    """

    def __init__(self, table: np.ndarray, hyperparameters: Hyperparameters, rng: np.random.Generator):
        hyper, self.table = hyperparameters, table
        self.matrix = draw_weights(rng, (table.shape[1], hyper.width), hyper.deviation)
        self.steps = AdaGrad(self.matrix, hyper.projection_rate, pieces=hyper.pieces)

    def add(self, numbers: np.ndarray, sums: np.ndarray) -> None:
        """Add the row of each word, -1 for one without a vector, to its sum, float32[n, width]."""
        chosen = np.flatnonzero(numbers >= 0)
        sums[chosen] += product(self.table[numbers[chosen]], self.matrix)

    def gradient(self, numbers: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient of the matrix, given those of the sums."""
        chosen = np.flatnonzero(numbers >= 0)
        return product(self.table[numbers[chosen]].T, gradient[chosen])
