"""The first-order model that prunes arcs: an arc-factored log-linear distribution over trees.

The gradient needs the marginal of every arc, by the matrix-tree theorem (Koo et al. 2007; Smith and Smith 2007;
McDonald and Satta 2007).  AdaGrad trains it, because some features are far more frequent than others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.learning.hyperparameters import PRUNER
from nonproj.linear.optimisers import adagrad_step, rounded_gradient
from nonproj.parts.arc import Arc
from nonproj.parts.arcs import full_arc_space
from nonproj.scoring.hashing import Places, WordHashes, hash_tokens, make_places
from nonproj.scoring.scorer import score_parts
from nonproj.scoring.templates import TemplateTable
from nonproj.scoring.vocabulary import Tokens
from nonproj.trees.constrained import constrained_marginals
from nonproj.trees.marginals import marginals
from nonproj.types import Bools, Float32s, Float64s, PartRows


class Pruner:
    """A first-order log-linear model, trained by AdaGrad.

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

    def epoch(self, examples: Sequence[tuple[Any, ...]], order: Iterable[int], single_root: bool) -> float:
        """Train on the examples (tokens, gold heads, perhaps allowed arcs) in the given order.

        Return the mean loss per word, in nats.
        """
        loss, words = 0.0, 0
        for i in order:
            tokens, heads, *allowed = examples[i]
            loss += self.update(tokens, heads, single_root, *allowed)
            words += len(heads) - 1
        return loss / max(words, 1)

    def update(self, tokens: Tokens, heads: np.ndarray, single_root: bool, allowed: Bools | None = None) -> float:
        """Make one step on one sentence; return its negative log-likelihood, in nats.

        For a partial tree, the likelihood is that of all trees of ``allowed`` arcs, bool[N, N].
        """
        arcs = full_arc_space(tokens.n_nodes - 1)
        parts = Arc().rows(arcs, np.empty((0, 0), np.int32))
        hashed = hash_tokens(tokens, self.table, len(self.weights))
        flat = score_parts(hashed, parts, self.weights)
        scores = np.full((tokens.n_nodes, tokens.n_nodes), -np.inf)
        scores[arcs.head, arcs.modifier] = flat
        p, log_partition = marginals(scores, single_root)
        if allowed is None:
            gold = arcs.head == heads[arcs.modifier]
            expected, log_gold = gold.astype(np.float64), flat[gold].sum()
        else:
            of_allowed, log_gold = constrained_marginals(scores, allowed, single_root)
            expected = of_allowed[arcs.head, arcs.modifier]
        self._follow(hashed, parts, expected - p[arcs.head, arcs.modifier])
        return log_partition - log_gold

    def _follow(self, hashed: WordHashes, parts: PartRows, gradient: np.ndarray) -> None:
        """Make one AdaGrad step on the weights of the arcs whose gradient is not negligible."""
        steep = np.flatnonzero(np.abs(gradient) > PRUNER.negligible)
        listed = make_places(hashed, parts.nodes[steep], parts.codes[steep])
        adagrad(listed, gradient[steep], PRUNER.learning_rate, self.weights, self.squares)


@kernel
def adagrad(listed: Places, gradient: Float64s, learning_rate: float, weights: Float32s, squares: Float32s) -> None:
    """Make an AdaGrad step on the weights at the places of each part, along its gradient."""
    start, places = listed
    for p in range(gradient.shape[0]):
        g = rounded_gradient(gradient[p])
        for i in range(start[p], start[p + 1]):
            adagrad_step(weights, squares, places[i], g, learning_rate)
