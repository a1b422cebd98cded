"""The network: a feed-forward network over arcs and labels, whose scores are added to those of the linear model.

Its inputs are embeddings of the words around head and modifier, and of the tags between them; a layer over words in
context may precede them (`nonproj.scoring.network`).  The loss is minus the log-probability of each word's head, among
the candidates, and of the label of the gold arc.  It is trained separately, so its errors are less correlated with
those of the linear model (`nonproj.learning.network`).  An epoch takes one copy of each sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from nonproj.components.base import Component, FitContext, StoredState
from nonproj.learning.network import ArcExample, TrainableArcNetwork, extended_network
from nonproj.learning.training_data import LazyList, TrainingData
from nonproj.linear.state import State, load
from nonproj.linear.streams import Stream, generator
from nonproj.model.model import Model
from nonproj.networks.hyperparameters import arc_hyperparameters
from nonproj.networks.learner import Learner
from nonproj.scoring.network import Network
from nonproj.scoring.tree_labels import LABEL_MARGIN
from nonproj.scoring.word_rows import columns_for
from nonproj.types import Sentence


class NetworkComponent(Component):
    """The network."""

    name, needs = "network", ("vocabulary", "pruner")

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> StoredState | None:
        """Learn from the gold trees among the candidate arcs; None without a network.

        That of a model that is continued stays.

        Its scores are in units of the margins of perceptron and labeler, times ``network.weight`` and
        ``network.label_weight``.
        """
        if context.start:
            return StoredState(*kept) if (kept := _extended_state(context)) else None
        config, data, title = context.config, context.data, context.title(cls.name)
        vocabularies, chosen, trees = data.encoder.vocabularies, data.chosen, data.trees
        factors = config.network.weight * config.training.margin, config.network.label_weight * LABEL_MARGIN
        if not (config.network.epochs and any(factors) and columns_for(vocabularies)):
            return None
        examples = LazyList(lambda i: ArcExample(data.tokens[i], trees[i], data.spaces[i], data.gold[i]), chosen)
        numbers = range(config.network.epochs)
        epochs = [np.flatnonzero((data.in_epoch(epoch) & _one_copy(data, epoch))[chosen]) for epoch in numbers]
        hyper, rng = arc_hyperparameters(config.network), generator(config.seed, Stream.NETWORK)
        vectors = context.files.vectors.table if context.files.vectors else None
        network = TrainableArcNetwork(vocabularies, examples, len(data.labels), hyper, rng, vectors)
        chance = partial(generator, config.seed, Stream.NETWORK_ORDER)
        Learner(network, epochs, chance).learn(title, context.progress)
        return StoredState(*network.network(*factors).state(network.names))

    @classmethod
    def resume(cls, saved: Model, context: FitContext) -> StoredState | None:
        """Return the network in a checkpoint, which is that of these vocabularies and labels."""
        if state := saved.component(cls.name):
            load(Network, state, context.data.encoder.vocabularies, len(context.data.labels))
        return StoredState(*state) if state else None


def _one_copy(data: TrainingData, epoch: int) -> np.ndarray:
    """Return a mask of the sentences in which each has one copy, and as small a share of the further ones; in turns."""
    mask = (np.arange(len(data.sentences)) - data.n_own + epoch) % data.copies == 0
    mask[: data.n_own] = False
    own = data.single_copies(epoch)
    mask[own[own < data.n_own]] = True
    return mask


def _extended_state(context: FitContext) -> State | None:
    """Return the state of the network of the model that is continued, for all labels and strings; None without one."""
    start, data = context.start, context.data
    state = start.component(NetworkComponent.name) if start else None
    if start is None or state is None:
        return None
    return extended_network(state, start.vocabularies, data.encoder.vocabularies, len(data.labels))


def kept_network(context: FitContext) -> Network | None:
    """Return the network of the model that is continued, its scores in units of a step; None without one.

    Linear models learn beside it.
    """
    state, data = _extended_state(context), context.data
    if state is None:
        return None
    values, arrays = state
    values = values | {name: values[name] / context.step for name in ("scale", "label_scale")}
    return load(Network, (values, arrays), data.encoder.vocabularies, len(data.labels))
