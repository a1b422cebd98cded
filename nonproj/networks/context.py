"""Recurrent layers over words in context: gated recurrences over the words of a sentence.

A word has a vector, the sum of its rows.  Each layer adds to it the outputs of quasi-recurrent units (Bradbury et al.
2017).  A unit has three products with the vectors of the word and its two neighbours: the candidate value of the cell,
the gate of the previous word's cell, and the gate of the output.  Half of the units run from left to right and half
from right to left, so a vector depends on the whole sentence, and nearly all of the work is in products of matrices.  A
last matrix gives the terms that are added to a network's hidden layer.

Weights are integers of 8 bits, and so are the numbers of a word's vector in a product, relative to the largest of them.
Their sums of products are exact in float32, in any order; all else is computed element by element, by basic arithmetic
alone.  So scores depend on nothing but the sentence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.kernels.threads import one_thread
from nonproj.linear.state import Arrays
from nonproj.types import Float32s, Int32s, Int64s

WIDEST = 1024
"""Maximum size of a vector, so that sums of products are at most 2^10 * 127^2 < 2^24, and exact in float32."""

DEEPEST = 64
"""Maximum number of layers."""

LARGEST = 127
"""The largest absolute value of an integer of 8 bits."""

LIMIT = 1e6
"""Vectors are clipped to this absolute value."""

LEAST = 1e-30
"""Vectors whose numbers are all below this in absolute value become 0; in training, so do numbers of gradients."""

LARGEST_SUM = 2.0**24
"""Sums are clipped to this absolute value, in units of their integers."""

CONTEXT: Arrays = {
    "context_hidden": ("int16", "layers width inputs"),
    "context_scales": ("float32", "layers products"),
    "context_bias": ("float32", "layers products"),
    "context_output": ("int16", "width sums"),
    "context_factors": ("float32", "sums"),
    "context_unit": ("float32", "1"),
}
"""The arrays of a `ContextWeights` in a model, for schemas."""

Sentences: TypeAlias = tuple[np.ndarray, np.ndarray]
"""The first node and the end of each sentence, int32."""

_BLOCK = 256
"""Nodes whose products are computed together, so that they stay in the cache."""

_SMALL = 1 << 17
"""Maximum number of multiplications in a product of matrices that OpenBLAS does not divide among threads."""


class ContextWeights(NamedTuple):
    """The weights of L layers over vectors of size E, and of the output, which gives S sums for each word.

    Attributes
    ----------
    hidden : ndarray of shape (L, E, 9 * E), float32
        Integers: the weights of a word's vector in the products of the next word, its own, and the previous one.  The
        products of a word are the candidate value of the cell, the gate of the cell before, and the gate of the output.
    scales : ndarray of shape (L, 3 * E), float32
        Factors of these products.
    bias : ndarray of shape (L, 3 * E), float32
        Bias that is then added to them.
    output : ndarray of shape (E, S), float32
        Integers.
    factors : ndarray of shape (S,), float32
        Factors of the products of the output.
    unit : ndarray of shape (1,), float32
        Factor of the input vectors: their scale, if they are integers.
    """

    hidden: np.ndarray
    scales: np.ndarray
    bias: np.ndarray
    output: np.ndarray
    factors: np.ndarray
    unit: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays from which `check_context` restores these weights."""
        small = self._replace(hidden=self.hidden.astype(np.int16), output=self.output.astype(np.int16))
        return dict(zip(CONTEXT, small, strict=True))

    def sums(self, vectors: np.ndarray, sentences: Sentences) -> np.ndarray:
        """Return the S sums of each node, int32[N, S]; those of nodes between sentences are 0.

        Parameters
        ----------
        vectors : ndarray of shape (N, E), int32 or float32
        sentences : tuple of two ndarrays, int32
        """
        found = np.zeros((len(vectors), self.output.shape[1]), np.int32)
        small = vectors.size * self.bias.shape[1] * 3 <= _SMALL
        with contextlib.nullcontext() if small else one_thread:
            for first, end in [sentences] if 0 < len(vectors) <= _BLOCK else _blocks(sentences):
                lengths = end - first
                ends = lengths.cumsum(dtype=np.int32)
                starts = ends - lengths
                nodes = np.arange(ends[-1]) + np.repeat(first - starts, lengths)  # without those between sentences
                inputs = vectors[nodes].astype(np.float32) * self.unit
                integers, sizes = np.empty_like(inputs), np.empty(len(inputs), np.float32)
                _quantise(inputs, integers, sizes)
                for hidden, scales, bias in zip(self.hidden, self.scales, self.bias, strict=True):
                    _add_layer(integers @ hidden, (starts, ends), scales, bias, inputs, integers, sizes)
                _write_sums(integers @ self.output, sizes, self.factors, nodes, found)
        return found


def run_layer(products: np.ndarray, sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a layer's gates, [N, 2 * E], cells, [N, E], and outputs to add to the vectors, [N, E], float32.

    Parameters
    ----------
    products : ndarray of shape (N, 3 * E), float32
    sentences : tuple of two ndarrays, int32
    """
    n, width = len(products), products.shape[1] // 3
    gates, cells = np.zeros((n, 2 * width), np.float32), np.zeros((n, width), np.float32)
    added = np.zeros((n, width), np.float32)
    _run_layer(products, *sentences, gates, cells, added)
    return gates, cells, added


def check_context(arrays: Mapping[str, np.ndarray], n_sums: int, owner: str = "the network") -> ContextWeights | None:
    """Return the layers over words in context in the arrays of a state that obeys the schema; None if it has none.

    Raises
    ------
    ModelError
        If a size or a weight is out of range, or the output does not match the number of sums of a word.
    """
    if "context_hidden" not in arrays:
        return None
    hidden, scales, bias, output, factors, unit = (np.ascontiguousarray(arrays[name]) for name in CONTEXT)
    n_layers, width, n_inputs = hidden.shape
    if not 0 < width <= WIDEST or n_inputs != 9 * width or bias.shape[1] != 3 * width:
        raise ModelError(f"{owner} has layers over words in context of the wrong size")
    if not 0 < n_layers <= DEEPEST:
        raise ModelError(f"{owner} has {n_layers} layers over words in context")
    if output.shape[1] != n_sums:
        raise ModelError(f"{owner} has an array 'context_output' of size {output.shape[1]}; {n_sums} is expected")
    if any(np.abs(table.astype(np.int64)).max() > LARGEST for table in (hidden, output)):
        raise ModelError(f"{owner} has a weight in layers over words in context that is larger than {LARGEST}")
    if not all((np.abs(table) <= LIMIT).all() for table in (scales, bias, factors, unit)):
        raise ModelError(f"{owner} has a scale that is too large, or not a number")
    return ContextWeights(hidden.astype(np.float32), scales, bias, output.astype(np.float32), factors, unit)


def _blocks(sentences: Sentences) -> Iterator[Sentences]:
    """Yield the sentences in blocks of about `_BLOCK` nodes, or one longer sentence."""
    first, end = sentences
    block = (end - first).cumsum() // _BLOCK
    cuts = np.flatnonzero(np.diff(block)) + 1
    if len(first):
        yield from zip(np.split(first, cuts), np.split(end, cuts), strict=True)


@kernel
def _quantise(vectors: Float32s, integers: Float32s, sizes: Float32s) -> None:
    """Clip vectors, and write them as 8-bit integers, with the scale of each."""
    n, width = vectors.shape
    limit, zero, most, least = np.float32(LIMIT), np.float32(0.0), np.float32(LARGEST), np.float32(LEAST)
    for i in range(n):
        largest = zero
        for k in range(width):
            vectors[i, k] = min(max(vectors[i, k], -limit), limit)
            largest = max(largest, abs(vectors[i, k]))
        sizes[i] = largest / most
        factor = most / largest if largest > least else zero
        for k in range(width):
            integers[i, k] = np.rint(vectors[i, k] * factor)


@kernel
def _write_sums(products: Float32s, sizes: Float32s, factors: Float32s, nodes: Int64s, found: Int32s) -> None:
    """Write the sums of nodes, given the products of their integers."""
    most = np.float32(LARGEST_SUM)
    for i in range(products.shape[0]):
        row, size, own = products[i], sizes[i], found[nodes[i]]
        for k in range(row.shape[0]):
            own[k] = np.int32(min(max(np.rint(row[k] * size * factors[k]), -most), most))


@kernel
def _combine(
    parts: Float32s,
    sizes: Float32s,
    first: Int32s,
    end: Int32s,
    scales: Float32s,
    bias: Float32s,
    products: Float32s,
) -> None:
    """Write the products of each word: sums of shares of the word before it, of its own and of the word after it."""
    width = products.shape[1]
    for s in range(first.shape[0]):
        for i in range(first[s], end[s]):
            row, own = products[i], parts[i, width : 2 * width]
            for k in range(width):
                row[k] = sizes[i] * own[k]
            if i > first[s]:
                before = parts[i - 1]
                for k in range(width):
                    row[k] += sizes[i - 1] * before[k]
            if i + 1 < end[s]:
                behind = parts[i + 1, 2 * width :]
                for k in range(width):
                    row[k] += sizes[i + 1] * behind[k]
            for k in range(width):
                row[k] = row[k] * scales[k] + bias[k]


@kernel
def _add_layer(
    parts: Float32s,
    bounds: tuple[Int32s, Int32s],
    scales: Float32s,
    bias: Float32s,
    vectors: Float32s,
    integers: Float32s,
    sizes: Float32s,
) -> None:
    """Add the outputs of a layer to the vectors of words, given shares of products; update their integers and sizes."""
    (n, width), (first, end) = vectors.shape, bounds
    products, gates = np.empty((n, 3 * width), np.float32), np.empty((n, 2 * width), np.float32)
    cells, added = np.empty((n, width), np.float32), np.empty((n, width), np.float32)
    _combine(parts, sizes, first, end, scales, bias, products)
    _run_layer(products, first, end, gates, cells, added)
    for i in range(n):
        for k in range(width):
            vectors[i, k] += added[i, k]
    _quantise(vectors, integers, sizes)


@kernel
def _run_layer(
    products: Float32s, first: Int32s, end: Int32s, gates: Float32s, cells: Float32s, added: Float32s
) -> None:
    """Write the gates, cells and outputs of a layer, given its products.

    Loops over units start at 0 and use few arrays, so that they are vectorised.
    """
    width = cells.shape[1]
    half, one, nothing = (width + 1) // 2, np.float32(1.0), np.zeros(width, np.float32)
    for s in range(first.shape[0]):
        for i in range(first[s], end[s]):
            values, found = products[i, width:], gates[i]
            for k in range(2 * width):
                found[k] = _gate(values[k])
        for side in range(2):
            begin, stop = (half, width) if side else (0, half)
            for step in range(end[s] - first[s]):
                i, j = neighbours(first[s], end[s], side, step)
                before, cell = cells[j, begin:stop] if step else nothing[begin:stop], cells[i, begin:stop]
                kept, own = gates[i, begin:stop], products[i, begin:stop]
                for k in range(stop - begin):
                    cell[k] = kept[k] * before[k] + (one - kept[k]) * own[k]
        for i in range(first[s], end[s]):
            shown = gates[i, width:]
            for k in range(width):
                added[i, k] = shown[k] * cells[i, k]


@kernel
def neighbours(first: int, end: int, side: int, step: int) -> tuple[int, int]:
    """Return the word of a step and the word before it, for units that run from left to right (0) or back (1)."""
    return (end - 1 - step, end - step) if side else (first + step, first + step - 1)


@kernel
def _gate(x: np.float32) -> np.float32:
    """Return the logistic function of a number to within 0.00005, by a continued fraction of the hyperbolic tangent.

    All processors round its operations alike, while libraries round exponentials in different ways.
    """
    half, most = np.float32(0.5), np.float32(4.9)
    a = min(max(half * x, -most), most)
    b = a * a
    above = a * (np.float32(135135.0) + b * (np.float32(17325.0) + b * (np.float32(378.0) + b)))
    below = np.float32(62370.0) + b * (np.float32(3150.0) + b * np.float32(28.0))
    return half + half * np.divide(above, np.float32(135135.0) + b * below)


@kernel
def slope(x: np.float32) -> float:
    """Return the derivative of `_gate`."""
    a = 0.5 * x
    b = a * a
    above = a * (135135.0 + b * (17325.0 + b * (378.0 + b)))
    below = 135135.0 + b * (62370.0 + b * (3150.0 + 28.0 * b))
    of_above = 135135.0 + b * (51975.0 + b * (1890.0 + 7.0 * b))
    of_below = a * (124740.0 + b * (12600.0 + 168.0 * b))
    inside = np.divide(of_above * below - above * of_below, below * below)
    return 0.25 * inside if abs(a) <= 4.9 else 0.0
