"""Training of the network's layers over words in context (`nonproj.scoring.context`): gradients, and steps of Adam."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.linear.optimisers import Adam
from nonproj.linear.weights import scale_of
from nonproj.scoring.context import Context

LAYERS = 3
"""Layers, which together see seven words on either side."""

DROPPED = 0.2
"""The share of the units of each layer that is left out in a sentence."""

_BATCH = 8
_RATE, _LAST, _WARM_UP = 0.003, 0.1, 100
_DEVIATION = 0.03


class Passed(NamedTuple):
    """What the backward pass needs of the forward pass over a sentence.

    Attributes
    ----------
    inputs : list of ndarray of shape (N, 3 * E), float32
        Of each layer.
    factors : list of ndarray of shape (N, E), float32
        Of each layer's units: 0 for those that are negative or left out.
    vectors : ndarray of shape (N, E), float32
        After the last layer.
    """

    inputs: list[np.ndarray]
    factors: list[np.ndarray]
    vectors: np.ndarray


class ContextLearner:
    """Layers over words in context in training.

    Parameters
    ----------
    width : int
        The size E of a word's vector.
    n_sums : int
        The number S of sums to which is added.
    rng : numpy.random.Generator
        For the first weights and what is left out.
    steps : int
        The number of sentences that will be learnt from, by which the learning rate falls.

    Attributes
    ----------
    tables : list of ndarray, float32
        Hidden weights of shape (3 * E, E) of each layer, then biases, then the output of shape (E, S).
    """

    def __init__(self, width: int, n_sums: int, rng: np.random.Generator, steps: int):
        self._rng, self._steps, deviation = rng, max(steps, 1), np.float32(1 / np.sqrt(3 * width))
        self.tables = [rng.standard_normal((3 * width, width), np.float32) * deviation for _ in range(LAYERS)]
        self.tables += [np.zeros(width, np.float32) for _ in range(LAYERS)]
        self.tables.append(rng.standard_normal((width, n_sums), np.float32) * np.float32(_DEVIATION))
        self._adam = [Adam(table) for table in self.tables]
        self._gradient = [np.zeros_like(table) for table in self.tables]
        self._seen = 0

    def draw(self) -> np.ndarray:
        """Return factors of the units of each layer, float32[LAYERS, E]: 0 for what is left out of a sentence."""
        width, kept = self.tables[-1].shape[0], np.float32(1.0 - DROPPED)
        return (self._rng.random((LAYERS, width), np.float32) < kept) / kept

    def forward(self, vectors: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, Passed]:
        """Return what is added to the sums of a sentence's words, float32[N, S], and what `backward` needs.

        Parameters
        ----------
        vectors : ndarray of shape (N, E), float32
        factors : ndarray of shape (LAYERS, E), float32
        """
        inputs, used = [], []
        for layer in range(LAYERS):
            distance = 1 << layer
            beside = np.concatenate([_moved(vectors, distance), vectors, _moved(vectors, -distance)], axis=1)
            sums = beside @ self.tables[layer] + self.tables[LAYERS + layer]
            factor = (sums > 0) * factors[layer]
            inputs.append(beside)
            used.append(factor)
            vectors = vectors + sums * factor
        return vectors @ self.tables[-1], Passed(inputs, used, vectors)

    def backward(self, gradient: np.ndarray, passed: Passed) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the gradients of the vectors, float32[N, E], and of the tables, given those of the sums."""
        inputs, factors, vectors = passed
        of_vectors, width = gradient @ self.tables[-1].T, vectors.shape[1]
        of_hidden, of_bias = [], []
        for layer in reversed(range(LAYERS)):
            back = of_vectors * factors[layer]
            of_hidden.append(inputs[layer].T @ back)
            of_bias.append(back.sum(axis=0))
            left, own, right = np.split(back @ self.tables[layer].T, [width, 2 * width], axis=1)
            distance = 1 << layer
            of_vectors = of_vectors + own + _moved(left, -distance) + _moved(right, distance)
        return of_vectors, [*of_hidden[::-1], *of_bias[::-1], vectors.T @ gradient]

    def follow(self, gradient: list[np.ndarray]) -> None:
        """Count the gradient of a sentence; make a step of Adam after each `_BATCH` sentences."""
        for total, each in zip(self._gradient, gradient, strict=True):
            total += each
        self._seen += 1
        if self._seen % _BATCH == 0:
            number = self._seen // _BATCH
            rate = _RATE * min(1.0, number / _WARM_UP) * (1.0 - (1.0 - _LAST) * min(1.0, self._seen / self._steps))
            for adam, total in zip(self._adam, self._gradient, strict=True):
                adam.step(total, rate, number)
                total[:] = 0.0


def rounded_context(tables: list[np.ndarray], unit: float) -> Context:
    """Return the layers with weights of 16 bits, given the `ContextLearner.tables`, float32.

    ``unit`` is the scale of vectors and sums: the number that one of their integers stands for.
    """
    hidden, biases, output = tables[:LAYERS], tables[LAYERS:-1], tables[-1]
    scales = [scale_of(table) for table in (*hidden, output)]
    integers = [
        np.rint(table / scale).astype(np.float64) for table, scale in zip((*hidden, output), scales, strict=True)
    ]
    pairs = zip(biases, scales[:-1], strict=True)
    bias = [np.rint(table.astype(np.float64) / (scale * unit)).astype(np.int64) for table, scale in pairs]
    return Context(np.stack(integers[:-1]), np.stack(bias), integers[-1], np.array(scales))


def _moved(rows: np.ndarray, distance: int) -> np.ndarray:
    """Return rows moved down by a distance, or up by a negative one; zeros come in."""
    found = np.zeros_like(rows)
    if distance > 0:
        found[distance:] = rows[:-distance]
    else:
        found[:distance] = rows[-distance:]
    return found
