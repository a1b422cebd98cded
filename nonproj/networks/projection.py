"""The projection of pretrained vectors to rows of a network, by a matrix that the network learns."""

from __future__ import annotations

import numpy as np

from nonproj.networks.hyperparameters import Hyperparameters
from nonproj.networks.products import product
from nonproj.networks.rows import AdaGrad, draw_weights


class Projection:
    """A matrix in training that projects the vectors of words to rows.

    Parameters
    ----------
    dimensions : int
        D, the size of a vector.
    hyperparameters : Hyperparameters
    rng : numpy.random.Generator
        For the initial matrix.

    Attributes
    ----------
    matrix : ndarray of shape (D, width), float32
    steps : AdaGrad
        Optimiser of the matrix.
    """

    def __init__(self, dimensions: int, hyperparameters: Hyperparameters, rng: np.random.Generator):
        hyper = hyperparameters
        self.matrix = draw_weights(rng, (dimensions, hyper.width), hyper.deviation)
        self.steps = AdaGrad(self.matrix, hyper.projection_rate, pieces=hyper.pieces)

    def rows(self, vectors: np.ndarray) -> np.ndarray:
        """Return the row of each word, float32[n, width], given the vectors, float32[n, D]."""
        return product(vectors, self.matrix)

    def gradient(self, vectors: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient of the matrix, given vectors, float32[n, D], and gradients of rows, float32[n, width]."""
        return product(vectors.T, gradient)
