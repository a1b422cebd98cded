"""Enhanced graphs, where the treebank has them in DEPS: paths, templates and a classifier, learnt with gold trees."""

from __future__ import annotations

from nonproj.components.base import Component, FitContext
from nonproj.learning.corpus import Corpus
from nonproj.learning.graphs import GraphExamples, learn_graphs
from nonproj.learning.hyperparameters import GRAPHS
from nonproj.linear.state import Fitted
from nonproj.scoring.graphs import GraphModel


class GraphComponent(Component):
    """The enhanced graphs."""

    name, kind = GraphModel.name, GraphModel

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Learn from the sentences with graphs, if these are more than trees; those of a continued model stay."""
        if context.start:
            return context.start.loaded(GraphModel) or Fitted()
        epochs = context.config.graphs.epochs
        if not epochs:
            return Fitted()
        examples = GraphExamples.of(corpus.sentences)
        if examples.enhanced() < GRAPHS.min_words:
            return Fitted()
        return learn_graphs(examples, epochs, context.config.seed)
