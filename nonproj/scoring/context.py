"""Vectors of words in context: convolutions over the words of a sentence, for the network over arcs and labels.

A word has a vector, the sum of the rows of its attributes.  Each layer adds to it the positive part of a matrix times
the vectors of three words: the word itself and those at a distance to its left and right, which doubles from layer to
layer (dilated convolutions with residual connections: Strubell et al. 2017; van den Oord et al. 2016).  So after three
layers a vector depends on seven words on either side.  A last matrix gives what is added to the word's sums as head and
as modifier.

Vectors and weights are integers, and so small that their sums of products are exact in float64; so scores depend on
nothing but the sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.linear.component import Arrays
from nonproj.types import Float64s, Int32s, Int64s

WIDEST = 4096
"""Maximum size of a vector."""

LIMIT = 2.0**24
"""Vectors are cut off here: 3 * WIDEST * LIMIT * 2^15 is below 2^53."""

LARGEST_BIAS = 1 << 50

CONTEXT: Arrays = {
    "context_hidden": ("int16", "layers inputs width"),
    "context_bias": ("int64", "layers width"),
    "context_output": ("int16", "width sums"),
    "context_scales": ("float64", "scales"),
}
"""The arrays of a `Context` in a model, for schemas."""


class Context(NamedTuple):
    """The weights of L layers over vectors of E numbers, and of the output for S sums of a word.

    Attributes
    ----------
    hidden : ndarray of shape (L, 3 * E, E), float64
        Integers of 16 bits: for the word to the left, the word itself, and that to the right.
    bias : ndarray of shape (L, E), int64
        In units of the products.
    output : ndarray of shape (E, S), float64
        Integers of 16 bits.
    scales : ndarray of shape (L + 1,), float64
        By which the products of each layer are multiplied, and those of the output.
    """

    hidden: np.ndarray
    bias: np.ndarray
    output: np.ndarray
    scales: np.ndarray

    def add(self, vectors: np.ndarray, first: np.ndarray, end: np.ndarray, word: np.ndarray, sums: np.ndarray) -> None:
        """Add what follows from their contexts to the sums of words.

        Parameters
        ----------
        vectors : ndarray of shape (N, E), int32
        first, end : ndarray of shape (S,), int32
            The nodes of each sentence, as of `nonproj.scoring.batch.Batch`.
        word : ndarray of shape (W,), int64
            The nodes whose sums these are.
        sums : ndarray of shape (W, S), int32

        Examples
        --------
        >>> one = Context(np.zeros((0, 3, 1)), np.zeros((0, 1), np.int64), np.array([[3.0]]), np.ones(1))
        >>> sums = np.array([[1], [1]], np.int32)
        >>> one.add(np.array([[2], [4]], np.int32), *np.array([[0], [2]], np.int32), np.arange(2), sums)
        >>> sums.tolist()
        [[7], [13]]
        """
        found = np.minimum(np.maximum(vectors, -LIMIT), LIMIT)
        for layer, (hidden, bias) in enumerate(zip(self.hidden, self.bias, strict=True)):
            before = found.copy()
            _convolve(before, first, end, hidden, bias, 1 << layer, self.scales[layer], found)
        added = np.zeros((len(vectors), sums.shape[1]), np.int32)
        _project(found, first, end, self.output, self.scales[-1], added)
        sums += added[word]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays from which `check_context` makes the same."""
        small = self._replace(hidden=self.hidden.astype(np.int16), output=self.output.astype(np.int16))
        return dict(zip(CONTEXT, small, strict=True))


def check_context(arrays: dict[str, np.ndarray], n_sums: int, gap: int) -> Context | None:
    """Return the context in the arrays of a state that obeys the schema, or None.

    Raises
    ------
    ModelError
        If it does not fit to the number of sums of a word, or layers reach farther than the gap between sentences.
    """
    if "context_hidden" not in arrays:
        return None
    hidden, bias, output, scales = (np.ascontiguousarray(arrays[name]) for name in CONTEXT)
    found = Context(hidden.astype(np.float64), bias, output.astype(np.float64), scales)
    n_layers, n_inputs, width = found.hidden.shape
    if not 0 < width <= WIDEST or n_inputs != 3 * width:
        raise ModelError("the network's layers over words in context are of the wrong size")
    if not n_layers or 1 << (n_layers - 1) > gap:
        raise ModelError(f"the network has {n_layers} layers over words in context")
    for name, size, expected in (
        ("output", found.output.shape[1], n_sums),
        ("scales", len(found.scales), n_layers + 1),
    ):
        if size != expected:
            raise ModelError(f"the network's array 'context_{name}' is of size {size}; {expected} is expected")
    if not ((found.scales >= 0.0) & (found.scales < 1e30)).all():
        raise ModelError("a scale of the network is not a number from 0")
    if (np.abs(found.bias) > LARGEST_BIAS).any() or (found.bias == np.iinfo(np.int64).min).any():
        raise ModelError("the network's array 'context_bias' has a number that is too large")
    return found


@kernel
def _convolve(
    before: Float64s,
    first: Int32s,
    end: Int32s,
    hidden: Float64s,
    bias: Int64s,
    distance: int,
    scale: float,
    found: Float64s,
) -> None:
    """Add the result of one layer to the vectors."""
    width = before.shape[1]
    total = np.empty(width)
    for s in range(first.shape[0]):
        for i in range(first[s], end[s]):
            for k in range(width):
                total[k] = bias[k]
            for side in range(3):
                j = i + (side - 1) * distance
                if first[s] <= j < end[s]:
                    _add_product(before[j], hidden[side * width : (side + 1) * width], total)
            for k in range(width):
                if total[k] > 0.0:
                    found[i, k] = min(found[i, k] + np.rint(total[k] * scale), LIMIT)


@kernel
def _project(vectors: Float64s, first: Int32s, end: Int32s, output: Float64s, scale: float, added: Int32s) -> None:
    """Write the products of the vectors with the output weights."""
    size = output.shape[1]
    total = np.empty(size)
    for s in range(first.shape[0]):
        for i in range(first[s], end[s]):
            total[:] = 0.0
            _add_product(vectors[i], output, total)
            for k in range(size):
                added[i, k] = np.int32(min(max(np.rint(total[k] * scale), -LIMIT), LIMIT))


@inlined_kernel
def _add_product(vector: Float64s, matrix: Float64s, total: Float64s) -> None:
    """Add the product of a vector and a matrix, four rows at a time, which is twice as fast as one."""
    n_rows, size = matrix.shape
    whole = n_rows - n_rows % 4
    for e in range(0, whole, 4):
        a, b, c, d = vector[e], vector[e + 1], vector[e + 2], vector[e + 3]
        for k in range(size):
            total[k] += a * matrix[e, k] + b * matrix[e + 1, k] + (c * matrix[e + 2, k] + d * matrix[e + 3, k])
    for e in range(whole, n_rows):
        for k in range(size):
            total[k] += vector[e] * matrix[e, k]
