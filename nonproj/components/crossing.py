"""The costs of crossed arcs: a logistic model of which labelled arcs are crossed, learnt from gold trees.

Parsers predict crossing arcs too often where they are rare, because arcs cross in most of the very many trees among
which the best one is found.  So crossed arcs have costs, which are higher the less likely the crossing is under the
model; see `nonproj.scoring.crossing` and `nonproj.dual.crossing`.
"""

from __future__ import annotations

import numpy as np

from nonproj.components.base import Component, FitContext
from nonproj.components.pruner import gold_part
from nonproj.learning.corpus import Corpus
from nonproj.learning.crossing import CrossingLearner
from nonproj.learning.hyperparameters import CROSSING
from nonproj.linear.optimisers import run_epochs
from nonproj.linear.state import Fitted
from nonproj.linear.streams import Stream
from nonproj.linear.weights import quantise
from nonproj.scoring.crossing import CrossingScorer
from nonproj.scoring.templates import CROSSED_ARC, part_templates


class CrossingComponent(Component):
    """The component that learns the costs of crossed arcs."""

    name, needs, kind = CROSSED_ARC, ("vocabulary",), CrossingScorer

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Learn from the gold trees, unless all trees are projective; the costs of a continued model stay."""
        if context.start:
            return context.start.loaded(CrossingScorer) or Fitted()
        spec, title, corpus = context.files.templates.get(CROSSED_ARC), context.title(cls.name), gold_part(corpus)
        if spec is None or context.decoding.projective:
            return Fitted()
        table = part_templates(spec, context.vocabulary.encoder.attributes)
        learner = CrossingLearner(table, min(CROSSING.bits, context.config.labeler.bits))

        def run(epoch: int) -> str:
            """Learn for an epoch; return its figures for the log."""
            order = corpus.order(epoch, Stream.CROSSING)
            once = order[np.isin(order, corpus.single_copies(epoch))]
            return f"loss {learner.epoch(corpus.numbers, once):.4f} an arc"

        run_epochs(title, range(CROSSING.epochs), run)
        weights, scale = quantise(learner.weights)
        return CrossingScorer(weights, scale, CROSSING.unit * context.config.training.margin)
