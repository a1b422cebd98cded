"""Classes of words by an averaged perceptron over templates: the kernels of `nonproj.components.word_classes`."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import Window, hash_window
from nonproj.linear.perceptron import change_weight
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, Uint32s

REACH = 2
"""Templates look at this number of words on either side."""


@kernel
def hash_words(window: Window, atoms: Uint32s, width: int, shift: np.uint32, places: Int32s) -> None:
    """Write the places of the features of all words."""
    for i in range(places.shape[0]):
        hash_window(window, atoms[i * width : (i + 2 * REACH + 1) * width], shift, places[i])


@kernel
def _best(places: Int32s, n_classes: int, weights: Float32s | Int16s) -> int:
    """Return the class whose weights have the largest sum."""
    best, highest = 0, -np.inf
    for c in range(n_classes):
        score = 0.0
        for place in places:
            score += weights[place ^ c]
        if score > highest:
            best, highest = c, score
    return best


@kernel
def choose_classes(places: Int32s, n_classes: int, weights: Float32s | Int16s, best: Int64s) -> None:
    """Write the best class of each word."""
    for i in range(places.shape[0]):
        best[i] = _best(places[i], n_classes, weights)


@kernel
def learn_classes(
    places: Int32s, gold: Int64s, n_classes: int, step: float, weights: Float32s, total: Float64s
) -> None:
    """Move the weights of words with another class than the best one."""
    for i in range(places.shape[0]):
        best = _best(places[i], n_classes, weights)
        if gold[i] >= 0 and best != gold[i]:
            for place in places[i]:
                change_weight(weights, total, place ^ gold[i], 1.0, step)
                change_weight(weights, total, place ^ best, -1.0, step)
