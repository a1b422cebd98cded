"""The averaged perceptron that labels the arcs of a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nonproj.linear.perceptron import AveragedWeights
from nonproj.scoring.hashing import WordHashes, hash_tokens
from nonproj.scoring.label_pairs import PairScorer, labelled_tree
from nonproj.scoring.labels import add_labels, label_parts, label_scores
from nonproj.scoring.network import Network
from nonproj.scoring.templates import TemplateTable
from nonproj.scoring.tree_labels import label_tree
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import PartRows

_FORBIDDEN = 1e9
"""The penalty of a label other than the given one."""


class Labeler(AveragedWeights):
    """An averaged perceptron over labels, or over labellings of trees.

    Parameters
    ----------
    table : TemplateTable
        Templates over labelled arcs.
    n_labels : int
    bits : int
        The weight table has ``2 ** bits`` entries.
    margin : float
        Score by which the gold label must win; otherwise the weights are updated.
    pairs : PairScorer, optional
        Scores pairs of labels: the gold labelling must win by the margin for each wrong label.  Without it, labels are
        chosen one by one.
    network : Network, optional
        A trained network, whose scores of labels are added while this perceptron learns.
    """

    def __init__(
        self,
        table: TemplateTable,
        n_labels: int,
        bits: int,
        margin: float = 0.0,
        pairs: PairScorer | None = None,
        network: Network | None = None,
    ):
        super().__init__(bits)
        self.network = network
        self.table = table
        self.pairs = pairs
        self.n_labels = n_labels
        self.margin = margin

    def epoch(self, examples: Sequence[tuple[Tokens, np.ndarray, np.ndarray]], order: np.ndarray) -> int:
        """Train once on the examples (tokens, tree, numbers of labels); return the number of wrong labels."""
        return sum(self.update(*examples[i]) for i in order)

    def update(self, tokens: Tokens, heads: np.ndarray, gold: np.ndarray) -> int:
        """Train on one sentence; return the number of wrong labels.  Missing labels are -1, and latent."""
        if (gold < 0).all():  # the best labels are right, so nothing is learnt
            self.advance()
            return 0
        hashed, parts = hash_tokens(tokens, self.table, len(self.weights)), label_parts(heads)
        scores = self._scores(tokens, hashed, parts)
        latent = gold < 0
        if latent.any():
            gold = self._complete(tokens, heads, scores, gold)
        given = np.flatnonzero(~latent)
        scores[given, gold[given]] -= self.margin
        predicted = self._best(tokens, heads, scores, gold)
        if (predicted != gold).any():
            add_labels(hashed, parts, gold, predicted, self.arrays())
            if self.pairs is not None:
                self.pairs.add(tokens, labelled_tree(heads), gold, predicted, self.arrays())
        self.advance()
        return int((predicted != gold)[given].sum())

    def predict(self, tokens: Tokens, heads: np.ndarray) -> np.ndarray:
        """Return the best labels of a tree, int64[n], by the weights as they are."""
        hashed, parts = hash_tokens(tokens, self.table, len(self.weights)), label_parts(heads)
        return self._best(tokens, heads, self._scores(tokens, hashed, parts))

    def _scores(self, tokens: Tokens, hashed: WordHashes, parts: PartRows) -> np.ndarray:
        """Return the score of each label of each arc, float64[n, n_labels]."""
        scores = label_scores(hashed, parts, self.n_labels, self.weights)
        if self.network:
            scores += self.network.label_scores(self.network.layer(tokens), parts.nodes[:, 0], parts.nodes[:, 1])
        return scores

    def _complete(self, tokens: Tokens, heads: np.ndarray, scores: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Return the best labels of a tree among those with the given ones, int64[n]; the arguments are unchanged."""
        given = np.flatnonzero(gold >= 0)
        scores, own = scores.copy(), scores[given, gold[given]]
        scores[given] = -_FORBIDDEN
        scores[given, gold[given]] = own
        return self._best(tokens, heads, scores)

    def _best(
        self, tokens: Tokens, heads: np.ndarray, scores: np.ndarray, gold: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the best labels of a tree, int64[n]."""
        if self.pairs is None:
            return scores.argmax(axis=1)
        return label_tree(self.pairs, tokens, heads, scores, (self.weights, 1.0), self.margin, gold)
