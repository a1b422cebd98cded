"""The network: a feed-forward network over arcs and labels, whose scores are added to those of the linear model.

Its inputs are embeddings of the words around head and modifier, and of the tags between them; a layer over words in
context may precede them (`nonproj.scoring.network`).  The loss is minus the log-probability of each word's head, among
the candidates, and of the label of the gold arc.  It is trained separately, so its errors are less correlated with
those of the linear model (`nonproj.learning.network`).  An epoch takes one copy of each sentence.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from nonproj.components.base import Component, FitContext, StoredState
from nonproj.learning.corpus import Corpus, LazyList
from nonproj.learning.network import ArcExample, TrainableArcNetwork, extended_network
from nonproj.linear.state import Fitted, State, load
from nonproj.linear.streams import Stream, generator
from nonproj.model.model import Model
from nonproj.networks.hyperparameters import arc_hyperparameters
from nonproj.networks.learner import Learner
from nonproj.scoring.network import Network
from nonproj.scoring.tree_labels import LABEL_MARGIN
from nonproj.scoring.word_rows import columns_for


class NetworkComponent(Component):
    """The component that trains the network over arcs and labels."""

    name, needs = "network", ("vocabulary", "pruner")

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Learn from the gold trees among the candidate arcs.

        The network of a continued model stays.

        Its scores are in units of the margins of perceptron and labeler, times ``network.weight`` and
        ``network.label_weight``.
        """
        if context.start:
            return StoredState(*kept) if (kept := _extended_state(context)) else Fitted()
        config, numbers, title = context.config, corpus.numbers, context.title(cls.name)
        vocabularies, labels, chosen = context.vocabulary.encoder.vocabularies, context.vocabulary.labels, corpus.chosen
        factors = config.network.weight * config.training.margin, config.network.label_weight * LABEL_MARGIN
        if not (config.network.epochs and any(factors) and columns_for(vocabularies)):
            return Fitted()

        def example(i: int) -> ArcExample:
            return ArcExample(numbers.tokens[i], numbers.trees[i], numbers.spaces[i], numbers.labels[i])

        examples, turns = LazyList(example, chosen), range(config.network.epochs)
        epochs = [np.flatnonzero((corpus.in_epoch(epoch) & _one_copy(corpus, epoch))[chosen]) for epoch in turns]
        hyper, rng = arc_hyperparameters(config.network), generator(config.seed, Stream.NETWORK)
        network = TrainableArcNetwork(vocabularies, examples, len(labels), hyper, rng, context.files.vectors)
        chance = partial(generator, config.seed, Stream.NETWORK_ORDER)
        Learner(network, epochs, chance).learn(title, context.progress)
        return StoredState(*network.network(*factors).state(network.names))

    @classmethod
    def resume(cls, saved: Model, corpus: Corpus, context: FitContext) -> Fitted:
        """Return the network in a checkpoint, which must be for these vocabularies and labels."""
        if state := saved.component(cls.name):
            vocabulary = context.vocabulary
            load(Network, state, vocabulary.encoder.vocabularies, len(vocabulary.labels), context.pieces)
        return StoredState(*state) if state else Fitted()


def _one_copy(corpus: Corpus, epoch: int) -> np.ndarray:
    """Return a mask of one copy of each sentence, and of the same share of auxiliary ones, which alternate by epoch."""
    mask = (np.arange(len(corpus.numbers.trees)) - corpus.n_own + epoch) % corpus.copies == 0
    mask[: corpus.n_own] = False
    own = corpus.single_copies(epoch)
    mask[own[own < corpus.n_own]] = True
    return mask


def _extended_state(context: FitContext) -> State | None:
    """Return the state of the network of the continued model, for all labels and strings; None without one."""
    start, vocabulary = context.start, context.vocabulary
    state = start.component(NetworkComponent.name) if start else None
    if start is None or state is None:
        return None
    return extended_network(state, start.vocabularies, vocabulary.encoder.vocabularies, len(vocabulary.labels))


def kept_network(context: FitContext) -> Network | None:
    """Return the network of the continued model, its scores in units of a step; None without one.

    Linear models learn with its scores.
    """
    state, vocabulary = _extended_state(context), context.vocabulary
    if state is None:
        return None
    values, arrays = state
    values = values | {name: values[name] / context.step for name in ("scale", "label_scale")}
    return load(Network, (values, arrays), vocabulary.encoder.vocabularies, len(vocabulary.labels), context.pieces)
