"""The averaged perceptron over the relaxed set Z (Koo et al. 2010, section 6; Collins 2002).

Over Z every head chooses for itself, so decoding is one Viterbi per head, and the update compares head by head: the
gold modifiers (and gold grandparent) of each word, the root included, against its automaton's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.relaxed import decode_relaxed
from nonproj.dual.decomposition import dual_decomposition
from nonproj.dual.options import DualOptions
from nonproj.parts.space import indicators, tree_indicators
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import PartSpace


class Example(NamedTuple):
    """One sentence in training: its words, its gold tree, and the parts over the arcs that its pruner left."""

    tokens: Tokens
    heads: np.ndarray
    parts: PartSpace


class Perceptron:
    """The weights, their running total, and the update.

    Parameters
    ----------
    scorer : Scorer
    bits : int
        The weight table has ``2 ** bits`` entries.
    margin : float
        Cost-augmented decoding: while training every wrong arc scores half of it more and every right arc half of it
        less, because in Z an arc can be left out as well as taken in error; 0 is the plain perceptron.
    options : DualOptions
        ``tau``, and all of it when decoding by dual decomposition.
    relaxed : bool
        Decode over Z, as the paper does; otherwise over trees, by dual decomposition.

    Attributes
    ----------
    weights : ndarray of shape (2 ** bits,), float32
        Sums of integers, exact up to 2 ** 24.
    total : ndarray of shape (2 ** bits,), float64
        The sum of all updates, each times its step, for lazy averaging.
    step : int
        The next update's number, from 1.
    """

    def __init__(self, scorer: Scorer, bits: int, margin: float, options: DualOptions, relaxed: bool = True):
        self.scorer = scorer
        self.margin = margin
        self.options = options
        self.relaxed = relaxed
        self.weights = np.zeros(1 << bits, np.float32)
        self.total = np.zeros(1 << bits, np.float64)
        self.step = 1

    def update(self, example: Example) -> int:
        """Learn from one sentence; return the number of words whose gold arc its decoding missed."""
        tokens, heads, parts = example
        features = self.scorer.features(tokens, parts, len(self.weights))
        scores = self.scorer.score(features, self.weights)
        gold = tree_indicators(parts, heads)
        n_arcs = len(parts.arcs.head)
        if self.margin:
            scores[:n_arcs] += self.margin * (0.5 - gold[:n_arcs])
        delta = gold - self._decode(parts, scores)
        if delta.any():
            self.scorer.add(features, delta, float(self.step), self.weights, self.total)
        self.step += 1
        return int(np.count_nonzero(delta[:n_arcs] > 0))

    def _decode(self, parts: PartSpace, scores: np.ndarray) -> np.ndarray:
        """Return the indicators of the best structure, in Z or among the trees."""
        if self.relaxed and len(parts.types) > 1:
            return relaxed_indicators(parts, scores, self.options.tau)
        return tree_indicators(parts, dual_decomposition(parts, scores, self.options).heads)

    def averaged(self) -> np.ndarray:
        """Return the mean of the weights over all steps, float32."""
        return (self.weights - self.total / self.step).astype(np.float32)


def relaxed_indicators(parts: PartSpace, scores: np.ndarray, tau: float) -> np.ndarray:
    """Return the indicators of the best structure in Z, float64[P].

    Where words choose grandparents, an arc counts ``tau`` where its head chooses it and ``1 - tau`` where its modifier
    chooses it as the way to its grandparent, as its score does.
    """
    relaxed = decode_relaxed(parts, scores, tau)
    predicted = indicators(parts, relaxed.z, relaxed.z_grandparent)
    if relaxed.z_grandparent.any():
        predicted[: len(parts.arcs.head)] = tau * relaxed.z + (1.0 - tau) * relaxed.z_grandparent
    return predicted
