"""The labeler: the averaged perceptron that labels the arcs of a tree.

The templates ``label`` score each label of an arc, and others the labels of an arc and of the arc above it
(`nonproj.scoring.label_pairs`); the best labelling of a tree is found from its leaves to its root.  The loss is a
hinge: each wrong label costs `LABEL_MARGIN`.  It learns from gold trees, partial ones completed by the pruner's model.
"""

from __future__ import annotations

import numpy as np

from nonproj.components.base import FitContext, TableComponent, WeightTable
from nonproj.components.network import kept_network
from nonproj.learning.corpus import Corpus
from nonproj.learning.labeler import Labeler
from nonproj.learning.related_gain import RelatedGain, cross_fitted_gain
from nonproj.linear.optimisers import run_epochs
from nonproj.linear.streams import Stream
from nonproj.scoring.label_pairs import PairScorer
from nonproj.scoring.templates import part_templates
from nonproj.scoring.tree_labels import LABEL_MARGIN


class LabelerComponent(TableComponent):
    """The component that trains the labeler."""

    name, needs = "labeler", ("vocabulary", "pruner")

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> WeightTable:
        """Learn from the gold trees, and from those that the pruner has completed."""
        learnt = cls._learnt(corpus, context, context.config.labeler.epochs)
        return WeightTable(learnt.weights * np.float32(context.step))

    @classmethod
    def compare(cls, corpus: Corpus, context: FitContext) -> RelatedGain:
        """Return the gain in labelling accuracy from related treebanks, by cross-fitting.

        Labels are predicted on gold trees, and each labeler is trained for half of the configured epochs.
        """
        numbers, epochs = corpus.numbers, (context.config.labeler.epochs + 1) // 2
        given = np.array([int((gold >= 0).sum()) for gold in numbers.labels[: corpus.n_own]], np.int64)

        def learn(part: Corpus) -> Labeler:
            return cls._learnt(part, context, epochs)

        def count(labeler: Labeler, inside: np.ndarray) -> list[int]:
            found = (labeler.predict(numbers.tokens[i], numbers.completed[i]) for i in inside)
            return [int((labels == numbers.labels[i]).sum()) for i, labels in zip(inside, found, strict=True)]

        folds = context.config.pruner.folds
        return cross_fitted_gain("labels", given, corpus, folds, learn, count, context.spread)

    @classmethod
    def _learnt(cls, corpus: Corpus, context: FitContext, epochs: int) -> Labeler:
        """Return a labeler trained for this number of epochs, with averaged weights."""
        numbers, options, title = corpus.numbers, context.config.labeler, context.title(cls.name)
        vocabulary, templates = context.vocabulary, context.files.templates
        attributes = vocabulary.encoder.attributes
        pairs = PairScorer.of(templates, attributes)
        table = part_templates(templates["label"], attributes)
        margin = LABEL_MARGIN / context.step
        labeler = Labeler(table, len(vocabulary.labels), options.bits, margin, pairs, kept_network(context))
        context.begin(cls.name, labeler.weights, context.step)
        examples = list(zip(numbers.tokens, numbers.completed, numbers.labels, strict=True))

        def run(epoch: int) -> str:
            """Learn for an epoch; return its figures for the log."""
            order = context.progress(corpus.order(epoch, Stream.LABELER), f"{title} {epoch + 1}")
            return f"{labeler.epoch(examples, order)} wrong labels"

        run_epochs(title, range(epochs), run)
        labeler.weights = labeler.mean()
        return labeler
