"""The averaged perceptron over the relaxed set Z (Koo et al. 2010, section 6; Collins 2002).

Over Z every head chooses for itself, so decoding is one Viterbi per head, and the update compares head by head: the
gold modifiers (and gold grandparent) of each word, the root included, against its automaton's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import decode_relaxed
from nonproj.dual.decomposition import DualOptions, dual_decomposition
from nonproj.parts.space import PartIndicators, gold_parts
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.vocabulary import Tokens
from nonproj.trees.arborescence import maximum_arborescence_sparse
from nonproj.types import ARC, ArcSpace, PartIndex, PartScores


class Example(NamedTuple):
    """One sentence in training: its words, its gold tree, the arcs its pruner left and their parts."""

    tokens: Tokens
    heads: np.ndarray
    arcs: ArcSpace
    index: PartIndex


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
        tokens, heads, arcs, index = example
        featurised = self.scorer.featurise(tokens, arcs, index, len(self.weights))
        scores = self.scorer.score(featurised, self.weights)
        gold = gold_parts(arcs, index, heads)
        if self.margin:
            scores = scores._replace(arc=scores.arc + self.margin * (0.5 - gold.arc))
        delta = [np.subtract(g, p, dtype=np.float64) for g, p in zip(gold, self._decode(example, scores), strict=True)]
        if any(change.any() for change in delta):
            self.scorer.add(featurised, delta, float(self.step), self.weights, self.total)
        self.step += 1
        return int(np.count_nonzero(delta[0] > 0))

    def _decode(self, example: Example, scores: PartScores) -> PartIndicators:
        """The parts of the best structure, in Z or among the trees."""
        _, _, arcs, index = example
        if self.scorer.model == ARC:
            return gold_parts(arcs, index, maximum_arborescence_sparse(arcs, scores.arc, self.options.single_root))
        if self.relaxed:
            return relaxed_parts(arcs, index, scores, self.scorer.model, self.options.tau)
        return gold_parts(arcs, index, dual_decomposition(arcs, index, scores, self.scorer.model, self.options).heads)

    def averaged(self) -> np.ndarray:
        """Return the mean of the weights over all steps, float32."""
        return (self.weights - self.total / self.step).astype(np.float32)


def relaxed_parts(arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int, tau: float) -> PartIndicators:
    """Return the parts of the best structure in Z.

    An arc counts ``tau`` where its head's automaton takes it and ``1 - tau`` where its modifier's automaton takes it as
    the way to its grandparent, as its score does.
    """
    relaxed = decode_relaxed(arcs, index, scores, model, tau)
    arc = relaxed.chosen
    if model > 1:
        arc = tau * relaxed.chosen + (1.0 - tau) * relaxed.chosen_up
    return PartIndicators(arc, relaxed.sibling, relaxed.grandparent)
