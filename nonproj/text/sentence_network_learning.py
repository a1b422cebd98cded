"""Training of the network that scores sentence ends: logistic regression on pieces of paragraphs.

Rows take steps of AdaGrad, the other tables those of Adam.  Rows of tokens, inputs of layers and hidden units are left
out at random.  The rows of forms are left out most often, so that a place is also known by its suffixes, shapes and
classes, as places beside unknown words have to be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.optimisers import Adam, LaterMean, follow_row
from nonproj.linear.streams import Stream, generator
from nonproj.scoring.context_learning import ContextLayers, gradients, rounded_context
from nonproj.text.characters import QUOTE
from nonproj.text.layout import PARAGRAPH, WRAPPED
from nonproj.text.sentence_features import N_STATES, at_line_end, brackets_after, state_of
from nonproj.text.sentence_network import N_ROWS, UNIT, Nodes, SentenceNetwork, nodes_of, pieces_of, token_rows
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.text.usage import KnownWords, Usage, is_finite_verb, known_words
from nonproj.types import Bools, Float32s, Int32s

BITS = 16
"""log2 of the number of rows."""

WIDTH, HIDDEN, LAYERS = 32, 32, 2
"""Numbers in a vector, hidden units, and layers over tokens in context."""

FORMS_DROPPED, ROWS_DROPPED, UNITS_DROPPED = 0.5, 0.2, 0.3
"""With these probabilities the row of a form, other rows and hidden units are left out."""

STEPS, MOST_EPOCHS = 2000, 10
"""A treebank that is too small for this number of steps is learnt in more epochs, at most in so many times as many."""

_TOKENS = 256
"""A step is made after so many tokens."""

_ROW_RATE, _RATE, _LAST, _FIRST_SQUARE = 0.05, 0.003, 0.1, 1e-4


class Examples(NamedTuple):
    """Texts with the ends of their sentences.

    Attributes
    ----------
    rows : ndarray of shape (T, N_ROWS), int32
        Of each token.
    state : ndarray of shape (T,), int32
        Of the place after each token, a row of `SentenceNetwork.states`.
    gold : ndarray of shape (T,), bool
        Whether a sentence ends there.
    learnt : ndarray of shape (T,), bool
        Whether the place is learnt.
    pieces : ndarray of shape (P, 4), int64
        As `nonproj.text.sentence_network.pieces_of` returns them, with tokens instead of rows of a table.
    """

    rows: np.ndarray
    state: np.ndarray
    gold: np.ndarray
    learnt: np.ndarray
    pieces: np.ndarray


def network_examples(
    table: TokenTable, ends: np.ndarray, usage: Usage, missed: np.ndarray, lines: bool = False
) -> Examples:
    """Return the examples of a text.

    Parameters
    ----------
    table, ends, usage, missed
        As for `nonproj.text.sentence_features.sentence_examples`.
    lines : bool
        Whether only places at the ends of lines are learnt.
    """
    known, inside = known_words(table, usage), slice(PADDING, -PADDING)
    state, blanks = np.empty(len(ends), np.int32), table.blanks[inside]
    _find_states(table, known, ends & ~missed, state)
    learnt = (blanks != PARAGRAPH) & ((blanks >= WRAPPED) | (not lines))
    rows = token_rows(table, known, np.uint32(32 - BITS))[inside]
    return Examples(rows, state, ends, learnt, pieces_of(table.blanks) - PADDING)


@kernel
def _find_states(table: TokenTable, known: KnownWords, begins: Bools, state: Int32s) -> None:
    """Write the state of the place after each token."""
    length, brackets, quotes, verbs = 0, 0, 0, 0
    for t in range(PADDING, len(table.word) - PADDING):
        length, verbs = length + 1, verbs + is_finite_verb(known.tag[t])
        brackets, quotes = brackets_after(table.first[t], brackets), quotes + (table.first[t] == QUOTE)
        state[t - PADDING] = state_of(length, brackets, quotes, verbs) + N_STATES * at_line_end(table.blanks[t])
        if begins[t - PADDING] or table.blanks[t] == PARAGRAPH:
            length, brackets, quotes, verbs = 0, 0, 0, 0


def joined(several: Sequence[Examples]) -> Examples:
    """Return several texts as one."""
    first = np.cumsum([0, *(len(each.rows) for each in several)])
    moved = [each._replace(pieces=each.pieces + begin) for each, begin in zip(several, first[:-1], strict=True)]
    return Examples(*map(np.concatenate, zip(*moved, strict=True)))


class Factors(NamedTuple):
    """What is left out in a step on N nodes and m places.

    Attributes
    ----------
    rows : ndarray of shape (N, N_ROWS), bool
        Which rows are not left out.
    inputs : ndarray of shape (LAYERS, N, WIDTH), float32
        Factors of the inputs of the layers in context: 0 for what is left out.
    units : ndarray of shape (m, HIDDEN), float32
        Factors of the hidden units.
    """

    rows: np.ndarray
    inputs: np.ndarray
    units: np.ndarray


class SentenceNetworkLearner:
    """A network in training.

    Parameters
    ----------
    examples : Examples
    seed : int
        For the first weights, the order of the pieces and what is left out.

    Attributes
    ----------
    rows : ndarray of shape (2 ** BITS, WIDTH), float32
        Of tokens; those that no token has are 0.
    states : ndarray of shape (2 * N_STATES, HIDDEN), float32
    output, bias : ndarray of shape (HIDDEN,) and (1,), float32
    context : ContextLayers
        Layers over tokens in context.
    dense : list of ndarray
        All of these tables but the rows.
    """

    def __init__(self, examples: Examples, seed: int):
        self.examples, self._rng = examples, generator(seed, Stream.SENTENCE_NETWORK)
        seen = np.zeros((1 << BITS, 1), np.bool_)
        seen[examples.rows] = True
        self.rows = self._normal((1 << BITS, WIDTH), 0.1) * seen
        self.states, self.output = np.zeros((2 * N_STATES, HIDDEN), np.float32), self._normal((HIDDEN,), 0.2)
        self.bias, self.context = np.full(1, -1.0, np.float32), ContextLayers(WIDTH, 2 * HIDDEN, LAYERS, self._rng)
        self.context.tables[-1][:] = self._normal((WIDTH, 2 * HIDDEN), 1.0 / math.sqrt(2 * WIDTH))
        self._squares, self._steps = np.full(1 << BITS, _FIRST_SQUARE, np.float32), 0
        self._sums = np.zeros_like(self.rows)
        self.dense = [self.states, self.output, self.bias, *self.context.tables]
        self._adam = [Adam(table) for table in self.dense]

    def _normal(self, shape: tuple[int, ...], deviation: float) -> np.ndarray:
        """Return normally distributed weights, float32."""
        drawn: np.ndarray = self._rng.standard_normal(shape, np.float32) * np.float32(deviation)
        return drawn

    def learn(self, epochs: int, progress: Callable[[Any], Any] = iter) -> SentenceNetwork:
        """Return the mean of the networks after the epochs of the second half.

        Parameters
        ----------
        epochs : int
            For a treebank that is not small.
        progress : callable
            Wraps the loop over the epochs.
        """
        sizes = self.examples.pieces[:, 3] - self.examples.pieces[:, 2]
        factor = min(max(math.ceil(STEPS * _TOKENS / max(epochs * int(sizes.sum()), 1)), 1), MOST_EPOCHS)
        epochs *= factor
        mean = LaterMean([self.rows, *self.dense], epochs)
        for epoch in progress(range(epochs)):
            order = self._rng.permutation(len(sizes))
            steps = np.split(order, np.flatnonzero(np.diff(np.cumsum(sizes[order]) // _TOKENS)) + 1)
            for number, chosen in enumerate(steps):
                self._step(chosen, 1.0 - (1.0 - _LAST) * (epoch + number / len(steps)) / epochs)
            mean.add()
        for table, found in zip([self.rows, *self.dense], mean.tables(), strict=True):
            table[:] = found
        return self.network()

    def _step(self, chosen: np.ndarray, decay: float) -> None:
        """Make a step on some pieces."""
        nodes = nodes_of(self.examples.pieces[chosen])
        places = np.flatnonzero(nodes.own & self.examples.learnt[nodes.token])
        kept = self._rng.random((len(nodes.token), N_ROWS), np.float32)
        kept[:, 0] -= np.float32(FORMS_DROPPED - ROWS_DROPPED)
        units = (self._rng.random((len(places), HIDDEN), np.float32) >= UNITS_DROPPED).astype(np.float32)
        inputs = self.context.draw(len(nodes.token))
        factors = Factors(kept >= ROWS_DROPPED, inputs, units / np.float32(1.0 - UNITS_DROPPED))
        _, gradient, of_vectors = self.gradient(nodes, places, factors)
        self._steps += 1
        for adam, of_table in zip(self._adam, gradient, strict=True):
            adam.step(of_table, _RATE * decay, self._steps)
        self.follow(nodes, factors, of_vectors, _ROW_RATE * decay)

    def follow(self, nodes: Nodes, factors: Factors, of_vectors: np.ndarray, rate: float) -> None:
        """Make a step of AdaGrad on the rows of some nodes, given the gradient of their vectors."""
        rows = self.examples.rows[nodes.token]
        _follow(rows, factors.rows, of_vectors, rate, self.rows, self._squares, self._sums)

    def gradient(
        self, nodes: Nodes, places: np.ndarray, factors: Factors
    ) -> tuple[float, list[np.ndarray], np.ndarray]:
        """Return the loss, the gradient of minus the loss, and that of the vectors, float32[N, WIDTH].

        Parameters
        ----------
        nodes : Nodes
        places : ndarray of shape (m,), int64
            The nodes before the places that are learnt.
        factors : Factors
        """
        token, vectors = nodes.token[places], np.zeros((len(nodes.token), WIDTH), np.float32)
        _sum_rows(self.examples.rows[nodes.token], factors.rows, self.rows, vectors)
        sums, passed = self.context.forward(vectors, (nodes.first, nodes.end), factors.inputs)
        state, gold = self.examples.state[token], self.examples.gold[token]
        hidden = sums[places, :HIDDEN] + sums[places + 1, HIDDEN:] + self.states[state]
        mask = factors.units * (hidden > 0)
        layer = hidden * mask
        scores = layer @ self.output + self.bias
        delta = gold - 1.0 / (1.0 + np.exp(-np.clip(scores, -30.0, 30.0)))
        back = delta[:, None] * self.output * mask
        of_sums = np.zeros_like(sums)
        of_sums[places, :HIDDEN] = back
        of_sums[places + 1, HIDDEN:] = back
        of_vectors, contribution = self.context.backward(of_sums, passed)
        of_states = np.zeros_like(self.states)
        np.add.at(of_states, state, back)
        loss = float(np.logaddexp(0.0, np.where(gold, -scores, scores)).sum())
        return loss, [of_states, delta @ layer, delta.sum(keepdims=True), *gradients([contribution])], of_vectors

    def network(self) -> SentenceNetwork:
        """Return the network, its layers in context with weights of 8 bits."""
        output = np.append(self.output, self.bias)
        return SentenceNetwork(self.rows, self.states, output, rounded_context(self.context.tables, 1.0, UNIT))


def learn_sentence_network(
    examples: Examples, epochs: int, seed: int, progress: Callable[[Any], Any] = iter
) -> SentenceNetwork:
    """Return a network that has learnt where sentences end; see `SentenceNetworkLearner`."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):  # on some processors, sums of products depend on the number of threads
        return SentenceNetworkLearner(examples, seed).learn(epochs, progress)


@kernel
def _sum_rows(places: Int32s, kept: Bools, rows: Float32s, vectors: Float32s) -> None:
    """Add up the rows of each token that are not left out."""
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            if kept[i, j]:
                for d in range(rows.shape[1]):
                    vectors[i, d] += rows[places[i, j], d]


@kernel
def _follow(
    places: Int32s, kept: Bools, gradient: Float32s, rate: float, rows: Float32s, squares: Float32s, sums: Float32s
) -> None:
    """Make a step of AdaGrad on each row that is not left out; ``sums``, zeros, is a buffer of the size of ``rows``."""
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            if kept[i, j]:
                for d in range(rows.shape[1]):
                    sums[places[i, j], d] += gradient[i, d]
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            if kept[i, j]:
                row = places[i, j]
                follow_row(sums[row], rate, rows[row], squares[row : row + 1])
                sums[row] = np.float32(0.0)  # so that the row does not move again
