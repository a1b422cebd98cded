"""Training of the layers over words in context (`nonproj.networks.context`): their gradients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.networks.context import LARGEST, LEAST, ContextWeights, Sentences, neighbours, run_layer, slope
from nonproj.networks.hyperparameters import Hyperparameters
from nonproj.networks.products import product
from nonproj.networks.rows import draw_weights
from nonproj.types import Float32s, Int32s


class ContextPass(NamedTuple):
    """Results of the forward pass over some sentences that the backward pass needs.

    Attributes
    ----------
    sentences : tuple of two ndarrays, int32
        The first node and the end of each.
    inputs : list of ndarray of shape (N, 3 * E), float32
        Inputs of each layer, after dropout.
    products, gates, cells : list of ndarray, float32
        Results of each layer; see `nonproj.networks.context.run_layer`.
    factors : ndarray of shape (L, E) or (L, N, E), float32
        Dropout factors of each layer's inputs: 0 for dropped ones.
    vectors : ndarray of shape (N, E), float32
        After the last layer.
    """

    sentences: Sentences
    inputs: list[np.ndarray]
    products: list[np.ndarray]
    gates: list[np.ndarray]
    cells: list[np.ndarray]
    factors: np.ndarray
    vectors: np.ndarray


class ContextLayers:
    """Layers over words in context in training.

    Parameters
    ----------
    hyperparameters : Hyperparameters
        Size E of a word's vector, number L of layers, dropout and standard deviation.
    n_sums : int
        The number S of sums of a word.
    rng : numpy.random.Generator
        For the initial weights and dropout.

    Attributes
    ----------
    tables : list of ndarray, float32
        Hidden weights of shape (3 * E, 3 * E) of each layer, then biases, then the output of shape (E, S).
    """

    def __init__(self, hyperparameters: Hyperparameters, n_sums: int, rng: np.random.Generator):
        width, layers = hyperparameters.width, hyperparameters.layers
        self._rng, self._layers, self._dropout = rng, layers, hyperparameters.context_dropout
        deviation = 1 / np.sqrt(3 * width)
        self.tables = [draw_weights(rng, (3 * width, 3 * width), deviation) for _ in range(layers)]
        self.tables += [np.zeros(3 * width, np.float32) for _ in range(layers)]
        self.tables.append(draw_weights(rng, (width, n_sums), hyperparameters.deviation))

    def draw(self, *shape: int) -> np.ndarray:
        """Return dropout factors of the inputs of each layer, float32[L, ..., E]."""
        width, kept = self.tables[-1].shape[0], np.float32(1.0 - self._dropout)
        return (self._rng.random((self._layers, *shape, width), np.float32) < kept) / kept

    def forward(self, vectors: np.ndarray, sentences: Sentences, factors: np.ndarray) -> tuple[np.ndarray, ContextPass]:
        """Return the sums of the words of some sentences, float32[N, S], and the results that `backward` needs.

        Parameters
        ----------
        vectors : ndarray of shape (N, E), float32
        sentences : tuple of two ndarrays, int32
            The first node and the end of each.
        factors : ndarray of shape (L, E) or (L, N, E), float32
            As `draw` returns them.
        """
        passed = ContextPass(sentences, [], [], [], [], factors, vectors)
        for layer in range(self._layers):
            inputs = _windows(vectors * factors[layer], sentences)
            products = product(inputs, self.tables[layer]) + self.tables[self._layers + layer]
            gates, cells, added = run_layer(products, sentences)
            vectors = vectors + added
            for kept, new in zip(passed[1:5], (inputs, products, gates, cells), strict=True):
                kept.append(new)
        return product(vectors, self.tables[-1]), passed._replace(vectors=vectors)

    def backward(self, gradient: np.ndarray, passed: ContextPass) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the gradients of the vectors, float32[N, E], and of the tables, given that of the sums."""
        of_vectors, of_hidden, of_bias = product(gradient, self.tables[-1].T), list[np.ndarray](), list[np.ndarray]()
        for layer in reversed(range(self._layers)):
            products = passed.products[layer]
            back = np.zeros_like(products)
            _differentiate(of_vectors, *passed.sentences, products, passed.gates[layer], passed.cells[layer], back)
            of_hidden.append(product(passed.inputs[layer].T, back))
            of_bias.append(back.sum(axis=0))
            of_inputs = _add_windows(product(back, self.tables[layer].T), passed.sentences)
            of_vectors = of_vectors + of_inputs * passed.factors[layer]
        return of_vectors, [*of_hidden[::-1], *of_bias[::-1], product(passed.vectors.T, gradient)]


def rounded_context(tables: list[np.ndarray], scale: float, scale_of_sums: float) -> ContextWeights:
    """Return the layers of `ContextLayers.tables` with weights of 8 bits, given the scales of vectors and sums."""
    layers = len(tables) // 2
    hidden, biases, output = tables[:layers], tables[layers:-1], tables[-1]
    rounded = [_round(table) for table in hidden]
    turned = [np.concatenate(np.split(table, 3), axis=1) for table, _ in rounded]
    integers, factors = _round(output)
    return ContextWeights(
        np.stack(turned),
        np.stack([scales for _, scales in rounded]),
        np.stack(biases),
        integers,
        factors / np.float32(scale_of_sums),
        np.array([scale], np.float32),
    )


def _round(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a table as integers of 8 bits, float32, and the factor of each column, float32."""
    factors = np.maximum(np.abs(table).max(axis=0), np.float32(1e-20)) / np.float32(LARGEST)
    return np.rint(table / factors), factors


def _windows(vectors: np.ndarray, sentences: Sentences) -> np.ndarray:
    """Return the vectors of each word's left neighbour, itself and its right neighbour, [N, 3 * E]; zeros outside."""
    width, (first, end) = vectors.shape[1], sentences
    found = np.zeros((len(vectors), 3 * width), np.float32)
    found[1:, :width], found[:, width : 2 * width], found[:-1, 2 * width :] = vectors[:-1], vectors, vectors[1:]
    found[first, :width] = found[end - 1, 2 * width :] = 0.0
    return found


def _add_windows(gradient: np.ndarray, sentences: Sentences) -> np.ndarray:
    """Return the gradient of the vectors, [N, E], given that of their windows, which is overwritten."""
    width, (first, end) = gradient.shape[1] // 3, sentences
    gradient[first, :width] = gradient[end - 1, 2 * width :] = 0.0
    found: np.ndarray = gradient[:, width : 2 * width].copy()
    found[:-1] += gradient[1:, :width]
    found[1:] += gradient[:-1, 2 * width :]
    return found


@kernel
def _differentiate(
    gradient: Float32s,
    first: Int32s,
    end: Int32s,
    products: Float32s,
    gates: Float32s,
    cells: Float32s,
    of_products: Float32s,
) -> None:
    """Write the gradient of a layer's products, float32[N, 3 * E], given that of its outputs, float32[N, E].

    Loops over units start at 0 and use few arrays, so that they are vectorised.
    """
    width = cells.shape[1]
    half, zero, one, least = (width + 1) // 2, np.float32(0.0), np.float32(1.0), np.float32(LEAST)
    nothing, total, after = np.zeros(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    for s in range(first.shape[0]):
        for side in range(2):
            begin, stop = (half, width) if side else (0, half)
            after[:] = zero
            for step in range(end[s] - first[s] - 1, -1, -1):
                i, j = neighbours(first[s], end[s], side, step)
                of_added, shown = gradient[i, begin:stop], gates[i, width + begin : width + stop]
                for k in range(stop - begin):
                    total[k] = of_added[k] * shown[k] + after[k]
                before, own = cells[j, begin:stop] if step else nothing[begin:stop], products[i, begin:stop]
                of_own, of_kept = of_products[i, begin:stop], of_products[i, width + begin : width + stop]
                kept = gates[i, begin:stop]
                for k in range(stop - begin):
                    of_kept[k] = total[k] * (before[k] - own[k])
                for k in range(stop - begin):
                    of_own[k] = total[k] * (one - kept[k])
                    back = total[k] * kept[k]
                    after[k] = back if abs(back) > least else zero  # denormal numbers take ten times as long
        for i in range(first[s], end[s]):
            of_gates, values = of_products[i, width:], products[i, width:]
            for k in range(width):
                of_gates[width + k] = gradient[i, k] * cells[i, k]
            for k in range(2 * width):
                of_gates[k] *= slope(values[k])
