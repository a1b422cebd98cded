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
from nonproj.learning.together import Together, compare
from nonproj.linear.folds import blocks, cross_fit
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
        return WeightTable(cls._learnt(context, context.config.labeler.epochs).weights * np.float32(context.step))

    @classmethod
    def compare(cls, context: FitContext) -> Together:
        """Return what related treebanks are worth for labels, by labelers that have not seen a sentence.

        They label gold trees, and learn in half of the epochs.
        """
        data, epochs = context.data, (context.config.labeler.epochs + 1) // 2
        own, further = np.arange(data.n_own), np.arange(data.n_own, len(data.sentences))
        folds = blocks(len(own), min(context.config.pruner.folds, len(own)))
        given = np.array([int((gold >= 0).sum()) for gold in data.gold[: len(own)]], np.int64)

        def right_with(others: np.ndarray) -> np.ndarray:
            """Return how many labels of each sentence are right, learnt from the other folds and other sentences."""

            def fit(rest: np.ndarray) -> Labeler:
                return cls._learnt(context.having(data=data.subset(np.append(rest, others))), epochs)

            def apply(labeler: Labeler, inside: np.ndarray) -> list[int]:
                found = (labeler.predict(data.tokens[i], data.completed[i]) for i in inside)
                return [int((labels == data.gold[i]).sum()) for i, labels in zip(inside, found, strict=True)]

            return np.array(cross_fit(folds, fit, apply, context.spread), np.int64)

        return compare("labels", given, right_with(further[:0]), right_with(further))

    @classmethod
    def _learnt(cls, context: FitContext, epochs: int) -> Labeler:
        """Return a labeler with the averaged weights of some epochs."""
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

        run_epochs(title, range(epochs), run)
        labeler.weights = labeler.mean()
        return labeler
