"""The labeler: the averaged perceptron that labels the arcs of a tree.

The templates ``label`` score each label of an arc, and others the labels of an arc and of the arc above it
(`nonproj.scoring.label_pairs`); the best labelling of a tree is found from its leaves to its root.  The loss is a
hinge: each wrong label costs `LABEL_MARGIN`.  It learns from gold trees, partial ones completed by the pruner's model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nonproj.components.base import FitContext, TableComponent, WeightTable
from nonproj.components.network import kept_network
from nonproj.learning.labeler import Labeler
from nonproj.linear.optimisers import run_epochs
from nonproj.linear.streams import Stream
from nonproj.scoring.label_pairs import PairScorer
from nonproj.scoring.templates import part_templates
from nonproj.scoring.tree_labels import LABEL_MARGIN
from nonproj.types import Sentence


class LabelerComponent(TableComponent):
    """The labeler."""

    name, needs = "labeler", ("vocabulary", "pruner")

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> WeightTable:
        """Learn from the gold trees, and from those that the pruner has completed."""
        data, options, title = context.data, context.config.labeler, context.title(cls.name)
        templates, attributes = context.files.templates, data.encoder.attributes
        pairs = PairScorer.of(templates, attributes)
        table = part_templates(templates["label"], attributes)
        margin = LABEL_MARGIN / context.step
        labeler = Labeler(table, len(data.labels), options.bits, margin, pairs, kept_network(context))
        context.begin(cls.name, labeler.weights, context.step)
        examples = list(zip(data.tokens, data.completed, data.gold, strict=True))

        def run(epoch: int) -> str:
            """Learn for an epoch; return its figures for the log."""
            order = context.progress(data.order(epoch, Stream.LABELER), f"{title} {epoch + 1}")
            return f"{labeler.epoch(examples, order)} wrong labels"

        run_epochs(title, range(options.epochs), run)
        return WeightTable(labeler.mean() * np.float32(context.step))
