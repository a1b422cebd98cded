"""The feed-forward network over arcs and labels, trained alone.

Its loss is minus the log-probability of each word's head, among the candidates, and of the label of the gold arc.
AdaGrad takes the steps, with one sum of squares for each row, or for each half of a row of words that consists of two
vectors; the layers over words in context take those of Adam.  The candidate arcs are those of the jackknifed pruner.
A share of the hidden units and of the attributes of words is left out at random in each sentence, which keeps the
network from learning the training sentences by heart (Srivastava et al. 2014).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.learning.network_gradients import differences, follow_words, propagate, propagate_labels
from nonproj.linear.optimisers import LaterMean, follow_rows
from nonproj.linear.projection import Projection
from nonproj.linear.weights import quantise, scale_of
from nonproj.options.sections import NetworkConfig
from nonproj.scoring.batch import whole
from nonproj.scoring.context_learning import ContextLayers, ContextSteps, Contribution, rounded_context
from nonproj.scoring.network import POSITIONS, Network, Weights, score_arcs
from nonproj.scoring.vectors import VECTOR
from nonproj.scoring.vocabulary import FEAT, FIRST, PADDING, Tokens
from nonproj.scoring.word_sums import Columns, columns_for, sums_before, word_sums
from nonproj.types import ArcSpace

RARE = 2
"""A value of an attribute has a row if it occurs so often in training."""

LEXICAL = {"form", "lemma", "suffix3"}
"""Attributes with many values, which are left out more often."""

LAYERS = 2
"""Layers over words in context."""

DROPPED, LEXICAL_DROPPED = 0.1, 0.4
"""With these probabilities attributes are left out."""

DROPOUT = 0.3
"""Share of hidden units that are left out of each step."""

LEARNING_RATE = 0.03
"""That of AdaGrad, but for the layers in context, which have steps of their own."""

_DEVIATION, _CONTEXT_DEVIATION = 0.03, 0.1


class Example(NamedTuple):
    """A sentence to learn from.

    Attributes
    ----------
    tokens : Tokens
    heads : ndarray of shape (N,), int32
        -1 for those that are not given and not learnt from.
    arcs : ArcSpace
        The candidate arcs, the gold ones among them.
    labels : ndarray of shape (n,), int64
        Numbers of the gold labels, -1 for those that are not given.
    """

    tokens: Tokens
    heads: np.ndarray
    arcs: ArcSpace
    labels: np.ndarray


class NetworkLearner:
    """A network in training.

    Parameters
    ----------
    vocabularies : dict of str to list of str
    tokens : sequence of Tokens
        The sentences, in which the values of attributes are counted.
    options : NetworkConfig
    seed : sequence of int
        For the first weights and what is left out.
    n_labels : int
    vectors : ndarray of shape (n, D), float32, optional
        Those of the words in the vocabulary of `VECTOR`.
    steps : int
        The number of sentences that will be learnt from in all epochs.

    Attributes
    ----------
    weights : Weights
        float32.
    projection : Projection or None
        Of the vectors.
    context : ContextLayers or None
    context_steps : ContextSteps or None
    squares : list of ndarray
        The sums of squared gradients, of equal pieces of each row of words, and of the rows of the other tables.
    """

    def __init__(
        self,
        vocabularies: dict[str, list[str]],
        tokens: Sequence[Tokens],
        options: NetworkConfig,
        seed: Sequence[int],
        n_labels: int,
        vectors: np.ndarray | None = None,
        steps: int = 0,
    ):
        self.rng, self.options, size, width = np.random.default_rng(seed), options, options.size, options.context
        self.names = columns_for(vocabularies)
        self.columns = Columns.of(vocabularies, self.names)
        self._vector = self.names.index((VECTOR, 0)) if vectors is not None else -1
        self.index = count_rows(self.columns, tokens, self._vector)
        tags = [name for name in vocabularies if name != FEAT][self.columns.between]
        shapes = (self.index.max() + 1, width or 2 * size), (FIRST + len(vocabularies[tags]), size), (POSITIONS, size)
        deviations = _CONTEXT_DEVIATION if width else _DEVIATION, _DEVIATION, _DEVIATION
        drawn = [
            self.rng.standard_normal(shape, np.float32) * np.float32(deviation)
            for shape, deviation in zip(shapes, deviations, strict=True)
        ]
        drawn[0][0] = 0.0
        output = self.rng.standard_normal(size, np.float32) / np.float32(np.sqrt(size))
        labels = self.rng.standard_normal((n_labels, size), np.float32) * np.float32(_DEVIATION)
        self.weights = Weights(drawn[0], drawn[1], drawn[2], output, labels)
        pieces = 1 if width else 2  # of vectors for heads and for modifiers
        self.squares = [np.zeros((len(table), 1 if k else pieces), np.float32) for k, table in enumerate(drawn)]
        self.squares += [np.zeros((1, 1), np.float32), np.zeros((n_labels, 1), np.float32)]
        lexical = np.array([name in LEXICAL for name, _ in self.names] + [False])
        self._rates = np.where(lexical, LEXICAL_DROPPED, DROPPED)
        self.projection = None if vectors is None else Projection(vectors, width or 2 * size, pieces, self.rng)
        self.context = ContextLayers(width, 2 * size, LAYERS, self.rng) if width else None
        self.context_steps = ContextSteps(self.context.tables, steps) if self.context else None
        trained = [*self.weights, *([self.projection.matrix] if self.projection else [])]
        trained += self.context.tables if self.context else []
        self._mean = LaterMean(trained, options.epochs)

    def epoch(self, examples: Sequence[Example], order: Iterable[int]) -> tuple[float, int]:
        """Train on the examples in the given order.

        Returns
        -------
        loss : float
            The mean loss per word, in nats.
        wrong : int
            Words whose best head was not the gold one.
        """
        loss, wrong, words = 0.0, 0, 0
        for i in order:
            example = examples[i]
            one, missed = self.update(example)
            loss, wrong, words = loss + one, wrong + missed, words + len(example.labels)
        self._mean.add()
        return loss / max(words, 1), wrong

    def update(self, example: Example) -> tuple[float, int]:
        """Make one step on one sentence; return its words' losses, in nats, and the number of wrong heads."""
        tokens = example.tokens
        dropped = (self.rng.random((tokens.n_nodes, len(self._rates))) < self._rates).astype(np.uint8)
        kept = 1.0 - DROPOUT
        mask = ((self.rng.random(self.options.size) < kept) / kept).astype(np.float32)
        units = self.context.draw() if self.context else None
        loss, wrong, gradient, contribution = self.gradient(example, mask, dropped, units)
        sums, tags, positions, output, labels = gradient
        rate = LEARNING_RATE
        own = tokens.atoms, tokens.feat_start, tokens.feat
        places = (self.columns.attribute, self.columns.offset, self.columns.start)
        follow_words(
            places, self.columns.feat, self.index, own, dropped, sums, rate, self.weights.words, self.squares[0]
        )
        if self.projection:
            self.projection.step(self._with_vectors(tokens, dropped), sums, rate)
        numbers = tokens.atoms[PADDING : PADDING + tokens.n_nodes, self.columns.between]
        follow_rows(np.ascontiguousarray(numbers), tags, rate, self.weights.between, self.squares[1])
        follow_rows(np.arange(POSITIONS, dtype=np.int32), positions, rate, self.weights.positions, self.squares[2])
        follow_rows(np.zeros(1, np.int32), output[None], rate, self.weights.output[None], self.squares[3])
        follow_rows(np.arange(len(labels), dtype=np.int32), labels, rate, self.weights.labels, self.squares[4])
        if self.context_steps and contribution:
            self.context_steps.follow(contribution)
        return loss, wrong

    def gradient(
        self, example: Example, mask: np.ndarray, dropped: np.ndarray, units: np.ndarray | None = None
    ) -> tuple[float, int, tuple[np.ndarray, ...], Contribution | None]:
        """Return loss, number of wrong heads, and the gradient of minus the loss.

        Parameters
        ----------
        example : Example
        mask : ndarray of shape (K,), float32
            Factors of the hidden units.
        dropped : ndarray of shape (N, C + 1), uint8
            See `nonproj.scoring.word_sums.word_sums`.
        units : ndarray, float32, optional
            Factors of the units of the layers over words in context, as `ContextLayers.draw` returns them.

        Returns
        -------
        loss : float
        wrong : int
        gradient : tuple of ndarray
            Of the words' rows, float32[N, E] or [N, 2 * K], of those of the words' tags between, float32[N, K], of the
            positions, of the output and of the labels.
        contribution : Contribution or None
            To the gradient of the layers over words in context.
        """
        tokens, heads, arcs, gold = example
        weights, word = self.weights, np.arange(tokens.n_nodes)
        roots = (word == 0).astype(np.uint8)
        sums = word_sums(self.columns, self.index, weights.words, tokens, None, dropped)
        if self.projection:
            self.projection.add(self._with_vectors(tokens, dropped), sums)
        passed, contribution = None, None
        if self.context and units is not None:
            sums, passed = self.context.forward(sums, whole(tokens.n_nodes), units)
        before, output = sums_before(self.columns, weights.between, tokens), weights.output * mask
        scores, delta = np.empty((2, len(arcs.head)))
        score_arcs(arcs.head, arcs.modifier, (word, roots), sums, before, weights.positions, output, scores)
        loss, wrong = differences(arcs.head, arcs.modifier, heads, scores, delta)
        values = sums, before, weights.positions, output
        found: Any = tuple(np.zeros(table.shape, np.float32) for table in values)
        propagate((arcs.head, arcs.modifier), delta, values, found)
        of_labels = np.zeros(weights.labels.shape, np.float32)
        if len(of_labels) > 1:
            given = sums, before, weights.positions, weights.labels
            loss += propagate_labels((heads, gold), given, mask, found[:3], of_labels)
        tags, of_sums = np.cumsum(found[1][::-1], axis=0)[::-1][1:], found[0]
        if self.context and passed:
            of_sums, contribution = self.context.backward(of_sums, passed)
        return loss, wrong, (of_sums, np.ascontiguousarray(tags), found[2], found[3] * mask, of_labels), contribution

    def _with_vectors(self, tokens: Tokens, dropped: np.ndarray) -> np.ndarray:
        """Return the number of each word's vector, -1 for none or one that is left out, int64[N]."""
        numbers = tokens.atoms[PADDING : PADDING + tokens.n_nodes, self.columns.attribute[self._vector]]
        return np.where(dropped[:, self._vector], -1, np.maximum(numbers.astype(np.int64) - FIRST, -1))

    def network(self, factor: float, label_factor: float) -> Network:
        """Return the network in 16 bits, with the mean of the weights after the epochs of the second half.

        This ends training.  The factors are those of its scores of arcs and of labels.  Words with vectors have rows.
        """
        mean, index = self._mean.tables(), self.index
        self.weights = Weights(*mean[: len(Weights._fields)])  # so that the last ones are freed
        mean, rest = mean[: len(Weights._fields)], mean[len(Weights._fields) :]
        if self.projection:
            rows, begin = self.projection.table @ rest.pop(0), self.columns.start[self._vector] + FIRST
            index = index.copy()
            index[begin : begin + len(rows)] = len(mean[0]) + np.arange(len(rows))
            mean[0] = np.concatenate([mean[0], rows])
        of_words = scale_of(mean[0])
        inner = scale_of(*mean[1:3]) if self.context else scale_of(*mean[:3])
        outer, of_labels = scale_of(mean[3]), scale_of(mean[4])
        scales = (of_words if self.context else inner, inner, inner, outer, of_labels)
        rounded = [quantise(table, scale)[0] for table, scale in zip(mean, scales, strict=True)]
        factors = factor * inner * outer, label_factor * inner * of_labels
        context = rounded_context(rest, of_words, inner) if self.context else None
        return Network(self.columns, index, Weights(*rounded), *factors, context)


def count_rows(columns: Columns, tokens: Sequence[Tokens], vector: int = -1) -> np.ndarray:
    """Return the index of a new network, int32: rows from 1 for what occurs `RARE` times in the sentences, else 0.

    The words of the column ``vector`` have none: their rows are not learnt one by one.
    """
    counts = np.zeros(columns.size, np.int64)
    for t in tokens:
        for attribute, offset, start in zip(columns.attribute, columns.offset, columns.start, strict=True):
            first = PADDING + offset
            np.add.at(counts, start + t.atoms[first : first + t.n_nodes, attribute], 1)
        np.add.at(counts, columns.feat + t.feat, 1)
    if vector >= 0:
        counts[columns.start[vector] + FIRST : [*columns.start, columns.feat][vector + 1]] = 0
    frequent = counts >= RARE
    return np.where(frequent, np.cumsum(frequent), 0).astype(np.int32)
