"""Iterative parameter mixing: one perceptron trained by many workers (McDonald, Hall and Mann 2010, figure 3).

The sentences are divided into shards.  In each epoch every shard is trained separately from the same weights, and the
next epoch starts from the mean over the shards.  The shards count as trained simultaneously: step ``t`` of the whole is
the mean of their steps ``t``.  Weights and running total are therefore both means over the shards, and the averaged
weights follow from them as in serial training, which is the case of one shard.  The result depends on the number of
shards, not on the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nonproj.dual.options import DualOptions
from nonproj.errors import ConfigError
from nonproj.learning.partial import completion_of
from nonproj.learning.perceptron import PartExample, Perceptron
from nonproj.learning.training_data import LazyList, TrainingData
from nonproj.linear.perceptron import ShardUpdate, SparseEntries, mix, sparse
from nonproj.options.config import Config
from nonproj.parts.registry import part_set
from nonproj.parts.space import part_space
from nonproj.scoring.labels import AllowedLabels
from nonproj.scoring.network import Network
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.tree_labels import LABEL_MARGIN
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import ArcSpace, Bools
from nonproj.workers.cluster import RESUBMISSIONS
from nonproj.workers.pool import LostError, SharingWorkers, in_order

Columns: TypeAlias = Sequence[Sequence[Any]]
"""What `make_examples` takes of each sentence."""


class ShardWorkers(NamedTuple):
    """Workers that train a parser, and the number of shards."""

    workers: SharingWorkers
    number: int


class PerceptronArguments(NamedTuple):
    """The arguments that make a `Perceptron`, in a form that can be sent to a worker."""

    files: Mapping[str, Mapping[str, Any]]
    attributes: Sequence[str]
    parts: tuple[str, ...]
    bits: int
    margin: float
    options: DualOptions
    relaxed: bool
    n_labels: int = 0
    label_margin: float = 0.0
    lines: AllowedLabels | None = None
    network: Network | None = None

    def perceptron(self) -> Perceptron:
        """Return a perceptron whose weights are all zero."""
        scorer = Scorer(self.files, self.attributes, self.parts, self.n_labels, self.lines, self.network)
        return Perceptron(scorer, self.bits, self.margin, self.options, self.relaxed, self.label_margin)


def learner_of(
    data: TrainingData,
    config: Config,
    templates: Mapping[str, Mapping[str, Any]],
    network: Network | None = None,
    step: float = 1.0,
) -> PerceptronArguments:
    """Return the arguments that make the perceptron of a parser, which learns beside a network, if there is one.

    Margins are in units of ``step``, as the network's scores are.
    """
    return PerceptronArguments(
        templates,
        data.encoder.attributes,
        config.parts,
        config.features.bits,
        config.training.margin / step,
        data.decoding,
        relaxed=config.training.decoder == "relaxed",
        n_labels=len(data.labels),
        label_margin=LABEL_MARGIN / step,
        lines=data.lines,
        network=network,
    )


def make_examples(
    parts: tuple[str, ...],
    tokens: Sequence[Tokens],
    heads: Sequence[np.ndarray],
    arcs: Sequence[ArcSpace],
    labels: Sequence[np.ndarray | None] | None = None,
    allowed: Sequence[Bools | None] | None = None,
) -> list[PartExample]:
    """Return the examples of some sentences; called on the worker that keeps them.

    Of each sentence, ``labels`` are as in `PartExample`, and ``allowed``, bool[N, N], the arcs that can be in the tree,
    if it is partial.
    """
    examples, none = [], [None] * len(tokens)
    for t, h, candidates, numbers, own in zip(tokens, heads, arcs, labels or none, allowed or none, strict=True):
        space = part_space(candidates, parts)
        examples.append(PartExample(t, h, space, numbers, None if own is None else completion_of(space, own)))
    return examples


def train_shard(
    learner: PerceptronArguments, weights: SparseEntries, step: int, shard: list[PartExample], order: np.ndarray
) -> ShardUpdate:
    """Train one epoch on a shard.

    Parameters
    ----------
    learner : PerceptronArguments
    weights : SparseEntries
        float32: the weights to start from; those not listed are zero.
    step : int
        Number of the first step.
    shard : list of PartExample
    order : ndarray of int
        Order of the examples.
    """
    perceptron = learner.perceptron()
    perceptron.weights[weights.places] = weights.values
    before = perceptron.weights.copy()
    perceptron.step = step
    missed = sum(perceptron.update(shard[i]) for i in order)
    return ShardUpdate(sparse(perceptron.weights, before), sparse(perceptron.total), len(order), missed)


def check_shards(shards: int, sentences: int) -> None:
    """Raise `ConfigError` if there are fewer sentences than shards, or no shards.

    Examples
    --------
    >>> check_shards(4, 3)
    Traceback (most recent call last):
    nonproj.errors.ConfigError: shards: 4 is not between 1 and 3, the number of sentences
    """
    if not 1 <= shards <= sentences:
        raise ConfigError("shards", f"{shards} is not between 1 and {sentences}, the number of sentences")


class ParameterMixing:
    """Training by iterative parameter mixing.

    Parameters
    ----------
    workers : InProcess or Cluster
        See `nonproj.workers.pool`.
    learner : PerceptronArguments
    columns : Columns
    shards : int
        Sentence ``i`` is in shard ``i % shards``; see `check_shards`.
    """

    def __init__(self, workers: SharingWorkers, learner: PerceptronArguments, columns: Columns, shards: int):
        self.workers, self.learner, self.shards = workers, learner, shards
        own = [[column[k::shards] for column in columns] for k in range(shards)]
        self.kept = [workers.keep(make_examples, learner.parts, *each) for each in own]

    def epoch(self, perceptron: Perceptron, order: np.ndarray, progress: Callable[..., Any]) -> int:
        """Train every shard on its sentences, in the given order, and mix the results.

        An interrupt leaves the perceptron unchanged.

        Parameters
        ----------
        perceptron : Perceptron
            Changed in place.
        order : ndarray of int
            A permutation of all sentences.
        progress : callable
            Wraps the loop over the sentences.

        Returns
        -------
        int
            Number of words whose gold arc was missed.
        """
        updates: list[ShardUpdate] = []
        for attempt in range(RESUBMISSIONS):
            try:
                for _ in progress(self._train_shards(perceptron, order, updates)):
                    pass
                break
            except LostError:
                if attempt == RESUBMISSIONS - 1:
                    raise
        mix(perceptron, updates)
        return sum(update.missed for update in updates)

    def _train_shards(self, perceptron: Perceptron, order: np.ndarray, updates: list[ShardUpdate]) -> Iterator[int]:
        """Fill ``updates``, one for each shard; yield the steps as they are done."""
        updates.clear()
        weights = self.workers.share(sparse(perceptron.weights))
        orders = [order[order % self.shards == k] // self.shards for k in range(self.shards)]
        tasks = (
            (self.learner, weights, perceptron.step, shard, own) for shard, own in zip(self.kept, orders, strict=True)
        )
        for update in in_order(self.workers, train_shard, tasks):
            updates.append(update)
            yield from range(update.steps)


class SerialTraining:
    """Training in this process, on one sentence after the other; the interface is that of `ParameterMixing`."""

    def __init__(self, examples: Sequence[PartExample]):
        self.examples = examples

    def epoch(self, perceptron: Perceptron, order: np.ndarray, progress: Callable[..., Any]) -> int:
        """Train on the sentences in the given order; return the number of words whose gold arc was missed."""
        return sum(perceptron.update(self.examples[i]) for i in progress(order))


def example_columns(data: TrainingData) -> Columns:
    """Return what `make_examples` takes of each of the chosen sentences."""
    columns = (data.tokens, data.trees, data.spaces, data.gold, data.allowed)
    return [[column[i] for i in data.chosen] for column in columns]


def examples_of(data: TrainingData, parts: tuple[str, ...]) -> Sequence[PartExample]:
    """Return the examples of the chosen sentences, whose parts are numbered each time, which takes little time."""
    types, trees = part_set(parts), data.trees
    partial = np.array([i for i in data.chosen if data.allowed[i] is not None], np.int64)
    completed = make_examples(parts, *example_columns(data.subset(partial)))
    examples = dict(zip(partial.tolist(), completed, strict=True))

    def make(i: int) -> PartExample:
        """Return the example of a sentence; what completes a partial tree is kept."""
        if i in examples:
            return examples[i]
        return PartExample(data.tokens[i], trees[i], part_space(data.spaces[i], types), data.gold[i])

    return LazyList(make, data.chosen)


def training_on(
    data: TrainingData, learner: PerceptronArguments, shards: ShardWorkers | None
) -> ParameterMixing | SerialTraining:
    """Return the training of perceptrons on the chosen sentences, by workers if there are any."""
    if shards is None:
        return SerialTraining(examples_of(data, learner.parts))
    return ParameterMixing(shards.workers, learner, example_columns(data), min(shards.number, len(data.chosen)))
