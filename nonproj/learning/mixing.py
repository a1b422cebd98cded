"""Iterative parameter mixing: one perceptron trained by many workers (McDonald, Hall and Mann 2010, figure 3).

The sentences are dealt out into shards.  In each epoch every shard is learnt from the same weights on its own, and the
next epoch starts from the mean over the shards.  The shards' steps are thought of as simultaneous: step ``t`` of the
whole is the mean of all steps ``t``.  So weights and running total are both means over the shards, and the averaged
weights, those of all steps of all epochs and shards, follow from them as in serial training, which is the case of one
shard.  The result depends on the number of shards and not on who trained them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.dual.options import DualOptions
from nonproj.errors import ConfigError
from nonproj.learning.perceptron import Example, Perceptron
from nonproj.parts.space import part_space
from nonproj.scoring.scorer import Scorer
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import ArcSpace
from nonproj.workers.pool import RESUBMISSIONS, LostError, in_order


class Learner(NamedTuple):
    """What makes a `Perceptron`, in a form that travels; see there."""

    files: Mapping[str, Mapping]
    attributes: Sequence[str]
    parts: tuple[str, ...]
    bits: int
    margin: float
    options: DualOptions
    relaxed: bool

    def perceptron(self) -> Perceptron:
        """Make the perceptron, all its weights zero."""
        scorer = Scorer(self.files, self.attributes, self.parts)
        return Perceptron(scorer, self.bits, self.margin, self.options, self.relaxed)


class Sparse(NamedTuple):
    """Some places of a table, int64[K], rising, and what stands there."""

    places: np.ndarray
    values: np.ndarray


class Learnt(NamedTuple):
    """What an epoch made of a shard.

    Attributes
    ----------
    weights : Sparse
        float32: the weights that are not those it started from.
    total : Sparse
        float64: what is added to the running total.
    steps, missed : int
        Sentences, and words whose gold arc was missed.
    """

    weights: Sparse
    total: Sparse
    steps: int
    missed: int


def shard_of(
    tokens: list[Tokens], heads: list[np.ndarray], arcs: list[ArcSpace], parts: tuple[str, ...]
) -> list[Example]:
    """Make the examples of a shard, on the worker that is to keep them."""
    return [Example(t, h, part_space(a, parts)) for t, h, a in zip(tokens, heads, arcs, strict=True)]


def learn_shard(learner: Learner, weights: Sparse, step: int, shard: list[Example], order: np.ndarray) -> Learnt:
    """Learn one epoch from a shard.

    Parameters
    ----------
    learner : Learner
    weights : Sparse
        To start from, float32; those that are not there are zero.
    step : int
        The number of the first step.
    shard : list of Example
    order : ndarray of int
        The order of the examples.
    """
    perceptron = learner.perceptron()
    perceptron.weights[weights.places] = weights.values
    before = perceptron.weights.copy()
    perceptron.step = step
    missed = sum(perceptron.update(shard[i]) for i in order)
    return Learnt(sparse(perceptron.weights, before), sparse(perceptron.total), len(order), missed)


def sparse(table: np.ndarray, other: np.ndarray | float = 0.0) -> Sparse:
    """Return the entries of a table that are not those of another one.

    Examples
    --------
    >>> sparse(np.array([0.0, 2.0, 0.0, 3.0]))
    Sparse(places=array([1, 3]), values=array([2., 3.]))
    """
    places = np.flatnonzero(table != other)
    return Sparse(places, table[places])


def mix(perceptron: Perceptron, learnt: Sequence[Learnt]) -> None:
    """Take the uniform mean of what shards made of a perceptron's weights, in the order of the shards."""
    change = np.zeros(len(perceptron.weights))
    for part in learnt:
        places, values = part.weights
        change[places] += values.astype(np.float64) - perceptron.weights[places]
        perceptron.total[part.total.places] += part.total.values / len(learnt)
    perceptron.weights[:] = perceptron.weights + change / len(learnt)
    perceptron.step += max(part.steps for part in learnt)


def check_shards(shards: int, sentences: int) -> None:
    """Refuse more shards than sentences.

    Examples
    --------
    >>> check_shards(4, 3)
    Traceback (most recent call last):
    nonproj.errors.ConfigError: shards: 4 is not a number from 1 to 3, that of the sentences
    """
    if not 1 <= shards <= sentences:
        raise ConfigError("shards", f"{shards} is not a number from 1 to {sentences}, that of the sentences")


class Mixing:
    """The shards, and their epochs.

    Parameters
    ----------
    workers : InProcess or Cluster
        See `nonproj.workers.pool`.
    learner : Learner
    tokens, heads, arcs : list of Tokens, of ndarray and of ArcSpace
        Of each sentence.
    shards : int
        Sentence ``i`` is in shard ``i % shards``; see `check_shards`.
    """

    def __init__(self, workers, learner: Learner, tokens, heads, arcs, shards: int):
        self.workers, self.learner, self.shards = workers, learner, shards
        self.kept = [
            workers.keep(shard_of, tokens[k::shards], heads[k::shards], arcs[k::shards], learner.parts)
            for k in range(shards)
        ]

    def epoch(self, perceptron: Perceptron, order: np.ndarray, progress: Callable) -> int:
        """Learn from all sentences, each shard's in the given order, and mix.

        Interrupted, the perceptron is what it was.

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
            The number of words whose gold arc was missed.
        """
        learnt: list[Learnt] = []
        for attempt in range(RESUBMISSIONS):
            try:
                for _ in progress(self._learn(perceptron, order, learnt)):
                    pass
                break
            except LostError:
                if attempt == RESUBMISSIONS - 1:
                    raise
        mix(perceptron, learnt)
        return sum(part.missed for part in learnt)

    def _learn(self, perceptron: Perceptron, order: np.ndarray, learnt: list[Learnt]) -> Iterator[int]:
        """Fill ``learnt``, one entry for each shard; give the steps as they are done."""
        learnt.clear()
        weights = self.workers.share(sparse(perceptron.weights))
        orders = [order[order % self.shards == k] // self.shards for k in range(self.shards)]
        tasks = (
            (self.learner, weights, perceptron.step, shard, own) for shard, own in zip(self.kept, orders, strict=True)
        )
        for part in in_order(self.workers, learn_shard, tasks):
            learnt.append(part)
            yield from range(part.steps)
