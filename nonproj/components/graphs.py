"""Enhanced graphs, where the treebank has them in DEPS: paths, templates and a classifier, learnt with gold trees."""

from __future__ import annotations

from nonproj.components.base import Component, FitContext
from nonproj.learning.corpus import Corpus
from nonproj.learning.graphs import count_enhanced, learn_graphs, with_graphs
from nonproj.learning.hyperparameters import GRAPHS
from nonproj.linear.state import Fitted
from nonproj.scoring.graphs import GraphModel


class GraphComponent(Component):
    """The component that learns to add enhanced dependencies to trees."""

    name, kind = GraphModel.name, GraphModel

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Learn from the sentences with graphs, if these differ enough from trees; those of a continued model stay."""
        if context.start:
            return context.start.loaded(GraphModel) or Fitted()
        pairs = with_graphs(corpus.sentences) if context.config.decoding.graphs else []
        return learn_graphs(pairs, context.config.seed) if count_enhanced(pairs) >= GRAPHS.min_words else Fitted()
