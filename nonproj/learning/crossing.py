"""Learning of crossing arcs from gold trees: a logistic model, and weights of losses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nonproj.learning.corpus import NumberedSentences
from nonproj.learning.hyperparameters import CROSSING
from nonproj.learning.pruner import adagrad
from nonproj.parts.arc import Arc
from nonproj.parts.arcs import arc_space
from nonproj.scoring.crossing import crossing_places, sums_of
from nonproj.scoring.templates import TemplateTable
from nonproj.scoring.vocabulary import Tokens
from nonproj.trees.crossing import crossed, nonprojective
from nonproj.trees.projective import is_projective
from nonproj.types import Float32s, Int32s


class CrossingLearner:
    """A logistic model, trained by AdaGrad.

    Parameters
    ----------
    table : TemplateTable
    bits : int
        The weight table has ``2 ** bits`` entries.
    """

    def __init__(self, table: TemplateTable, bits: int):
        self.table = table
        self.weights = np.zeros(1 << bits, np.float32)
        self.squares = np.zeros(1 << bits, np.float32)

    def epoch(self, numbers: NumberedSentences, order: Iterable[int]) -> float:
        """Learn from sentences in the given order; return the mean loss of an arc, in nats."""
        losses = [self.update(numbers.tokens[i], numbers.trees[i], numbers.labels[i]) for i in order]
        return sum(loss for loss, _ in losses) / max(1, sum(count for _, count in losses))

    def update(self, tokens: Tokens, heads: np.ndarray, labels: np.ndarray) -> tuple[float, int]:
        """Learn from the given arcs and labels; return the loss, and the number of these arcs."""
        words = np.flatnonzero((heads[1:] >= 0) & (labels >= 0)) + 1
        if not len(words):
            return 0.0, 0
        arcs = Arc().rows(arc_space(heads[words], words, tokens.n_nodes - 1), np.empty(0, np.int64))
        listed = crossing_places(tokens, arcs, labels[words - 1], self.table, len(self.weights))
        sums, gold = sums_of(listed, self.weights), crossed(heads[words], words)
        loss = np.logaddexp(0.0, np.where(gold, -sums, sums))
        adagrad(listed, gold - 1.0 / (1.0 + np.exp(-sums)), CROSSING.learning_rate, self.weights, self.squares)
        return float(loss.sum()), len(words)


def loss_weights(tree: Int32s) -> Float32s:
    """Return the weight of each word's arc in losses, float32[N]; all 1 for partial trees.

    Examples
    --------
    >>> loss_weights(np.array([-1, 3, 0, 2, 1], np.int32))
    array([1., 4., 1., 1., 4.], dtype=float32)
    """
    weights = np.ones(len(tree), np.float32)
    if (tree[1:] >= 0).all() and not is_projective(tree):
        weights[1:][nonprojective(tree[1:])] = CROSSING.weight
    return weights
