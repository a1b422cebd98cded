"""Vectors of words in context: gated recurrences over the words of a sentence, for networks over words.

A word has a vector, the sum of the rows of its attributes.  Each layer adds to it what quasi-recurrent units (Bradbury
et al. 2017) find.  A unit has three products with the vectors of the word and the two beside it: the word's own part of
a cell, how much remains of the cell of the word before, and how much of the cell is added.  Half of the units run from
left to right and half from right to left, so a vector depends on the whole sentence, and nearly all of the work is in
products of matrices.  A last matrix gives what is added to the sums of a network's hidden layer.

Vectors and weights are integers, and so small that their sums of products are exact in float64.  All else is computed
number by number, by the four operations alone.  So scores depend on nothing but the sentence.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.kernels.threads import one_thread
from nonproj.linear.component import Arrays
from nonproj.types import Float32s, Float64s, Int32s

WIDEST = 4096
"""Maximum size of a vector."""

DEEPEST = 64
"""Maximum number of layers."""

LIMIT = 2.0**24
"""Vectors are cut off here, so sums of products are at most 3 * 2^12 * 2^24 * 2^15 < 2^53, and exact in float64."""

LARGEST_BIAS = 1 << 50

CONTEXT: Arrays = {
    "context_hidden": ("int16", "layers inputs products"),
    "context_bias": ("int64", "layers products"),
    "context_output": ("int16", "width sums"),
    "context_scales": ("float64", "layers 2"),
    "context_factor": ("float64", "1"),
}
"""The arrays of a `Context` in a model, for schemas."""

Sentences: TypeAlias = tuple[np.ndarray, np.ndarray]
"""The first node and the end of each sentence, int32."""


class Context(NamedTuple):
    """The weights of L layers over vectors of E numbers, and of the output for S sums of a word.

    Attributes
    ----------
    hidden : ndarray of shape (L, 3 * E, 3 * E), float64
        Integers of 16 bits.  Inputs are the word to the left, the word itself and that to the right; products are the
        word's part of the cell, what remains of the cell before, and what is added.
    bias : ndarray of shape (L, 3 * E), int64
        In units of the products.
    output : ndarray of shape (E, S), float64
        Integers of 16 bits.
    scales : ndarray of shape (L, 2), float64
        By which the products of each layer are multiplied for cells, in units of the vectors, and for gates.
    factor : ndarray of shape (1,), float64
        By which those of the output are multiplied.
    """

    hidden: np.ndarray
    bias: np.ndarray
    output: np.ndarray
    scales: np.ndarray
    factor: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays from which `check_context` makes the same."""
        small = self._replace(hidden=self.hidden.astype(np.int16), output=self.output.astype(np.int16))
        return dict(zip(CONTEXT, small, strict=True))

    def sums(self, vectors: np.ndarray, sentences: Sentences) -> np.ndarray:
        """Return what is added to the sums of nodes, int32[N, S].

        Parameters
        ----------
        vectors : ndarray of shape (N, E), int32
        sentences : tuple of two ndarrays, int32
        """
        found = np.clip(vectors, -LIMIT, LIMIT).astype(np.float64)
        with one_thread:
            for hidden, bias, (of_cells, of_gates) in zip(self.hidden, self.bias, self.scales, strict=True):
                products = windows(found, sentences) @ hidden
                products += bias
                products[:, : found.shape[1]] *= of_cells
                products[:, found.shape[1] :] *= of_gates
                found += np.rint(run_layer(products, sentences)[2])
                np.clip(found, -LIMIT, LIMIT, out=found)
            products = found @ self.output
        products *= self.factor
        return np.clip(np.rint(products), -LIMIT, LIMIT).astype(np.int32)


def windows(vectors: np.ndarray, sentences: Sentences) -> np.ndarray:
    """Return the vectors of each word's neighbours to the left, itself and to the right, [N, 3 * E].

    Neighbours outside of the sentence, and nodes between sentences, have zeros.
    """
    found = np.zeros((len(vectors), 3 * vectors.shape[1]), vectors.dtype)
    _write_windows(vectors, *sentences, found)
    return found


def run_layer(products: np.ndarray, sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return gates [N, 2 * E], cells [N, E] and what is added to the vectors [N, E], of the type of the products.

    Parameters
    ----------
    products : ndarray of shape (N, 3 * E), float32 or float64
    sentences : tuple of two ndarrays, int32
    """
    n, width = len(products), products.shape[1] // 3
    gates, cells, added = (np.zeros((n, size), products.dtype) for size in (2 * width, width, width))
    _run_layer(products, *sentences, gates, cells, added)
    return gates, cells, added


def check_context(arrays: dict[str, np.ndarray], n_sums: int) -> Context | None:
    """Return the context in the arrays of a state that obeys the schema, or None.

    Raises
    ------
    ModelError
        If it does not fit to the number of sums of a word.
    """
    if "context_hidden" not in arrays:
        return None
    hidden, bias, output, scales, factor = (np.ascontiguousarray(arrays[name]) for name in CONTEXT)
    found = Context(hidden.astype(np.float64), bias, output.astype(np.float64), scales, factor)
    n_layers, n_inputs, n_products = found.hidden.shape
    if not 0 < len(output) <= WIDEST or n_inputs != 3 * len(output) or n_products != n_inputs:
        raise ModelError("the network's layers over words in context are of the wrong size")
    if not 0 < n_layers <= DEEPEST:
        raise ModelError(f"the network has {n_layers} layers over words in context")
    if output.shape[1] != n_sums:
        raise ModelError(f"the network's array 'context_output' is of size {output.shape[1]}; {n_sums} is expected")
    factors = np.append(scales, factor)
    if not ((factors >= 0.0) & (factors < 1e30)).all():
        raise ModelError("a scale of the network is not a number from 0")
    if (np.abs(bias) > LARGEST_BIAS).any() or (bias == np.iinfo(np.int64).min).any():
        raise ModelError("the network's array 'context_bias' has a number that is too large")
    return found


@kernel
def _write_windows(vectors: Float32s | Float64s, first: Int32s, end: Int32s, found: Float32s | Float64s) -> None:
    """Write the windows of all words."""
    width = vectors.shape[1]
    for s in range(first.shape[0]):
        for i in range(first[s], end[s]):
            for side in range(3):
                j = i + side - 1
                if first[s] <= j < end[s]:
                    for k in range(width):
                        found[i, side * width + k] = vectors[j, k]


@kernel
def _run_layer(
    products: Float32s | Float64s,
    first: Int32s,
    end: Int32s,
    gates: Float32s | Float64s,
    cells: Float32s | Float64s,
    added: Float32s | Float64s,
) -> None:
    """Write gates, cells and what is added."""
    width = cells.shape[1]
    half, zero, one = (width + 1) // 2, cells.dtype.type(0.0), cells.dtype.type(1.0)
    for s in range(first.shape[0]):
        for i in range(first[s], end[s]):
            for k in range(2 * width):
                gates[i, k] = _gate(products[i, width + k])
            for k in range(half):
                before = cells[i - 1, k] if i > first[s] else zero
                cells[i, k] = gates[i, k] * before + (one - gates[i, k]) * products[i, k]
        for i in range(end[s] - 1, first[s] - 1, -1):
            for k in range(half, width):
                before = cells[i + 1, k] if i < end[s] - 1 else zero
                cells[i, k] = gates[i, k] * before + (one - gates[i, k]) * products[i, k]
            for k in range(width):
                added[i, k] = gates[i, width + k] * cells[i, k]


@inlined_kernel
def _gate(x: float | np.float64) -> float | np.float64:
    """Return the logistic function of a number, but for 0.00005: a continued fraction of the hyperbolic tangent.

    Its operations are those of every processor, while libraries round exponentials in different ways.
    """
    a = min(max(0.5 * x, -4.9), 4.9)
    b = a * a
    tangent = a * (135135.0 + b * (17325.0 + b * (378.0 + b))) / (135135.0 + b * (62370.0 + b * (3150.0 + 28.0 * b)))
    return 0.5 + 0.5 * tangent


@inlined_kernel
def slope(x: float | np.float64) -> float | np.float64:
    """Return the derivative of `_gate`."""
    a = min(max(0.5 * x, -4.9), 4.9)
    if a != 0.5 * x:
        return 0.0
    b = a * a
    above = a * (135135.0 + b * (17325.0 + b * (378.0 + b)))
    below = 135135.0 + b * (62370.0 + b * (3150.0 + 28.0 * b))
    of_above = 135135.0 + b * (51975.0 + b * (1890.0 + 7.0 * b))
    of_below = a * (124740.0 + b * (12600.0 + 168.0 * b))
    return 0.25 * (of_above * below - above * of_below) / (below * below)
