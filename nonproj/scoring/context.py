"""Vectors of words in context: convolutions over the words of a sentence, for the network over arcs and labels.

A word has a vector, the sum of the rows of its attributes.  Each layer adds to it the positive part of a matrix times
the vectors of three words: the word itself and those at a distance to its left and right, which doubles from layer to
layer (dilated convolutions with residual connections: Strubell et al. 2017; van den Oord et al. 2016).  So after three
layers a vector depends on seven words on either side.  A last matrix gives what is added to the word's sums as head and
as modifier (`nonproj.scoring.word_sums.add_contexts`).

Vectors and weights are integers, and so small that their sums of products are exact in float64; so scores depend on
nothing but the sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.linear.component import Arrays

WIDEST = 4096
"""Maximum size of a vector."""

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
