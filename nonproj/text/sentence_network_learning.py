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

from nonproj.linear.optimisers import Adam, LaterMean
from nonproj.linear.streams import Stream, generator
from nonproj.networks.context_learning import ContextLayers, rounded_context
from nonproj.networks.exponentials import exponentials
from nonproj.networks.products import product
from nonproj.networks.rows import AdaGrad, SparseRows, draw_weights, spread_rows
from nonproj.networks.training import Dropout, HiddenLayers, NetworkInputs, draw_units
from nonproj.text.layout import BROKEN, PARAGRAPH, WRAPPED
from nonproj.text.sentence_features import N_STATES, states_of
from nonproj.text.sentence_network import (
    CONTEXT_SCALE,
    N_ROWS,
    PieceNodes,
    SentenceNetwork,
    nodes_of,
    pieces_of,
    token_rows,
)
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.text.usage import KnownWords, Usage, known_words

BITS = 16
"""log2 of the number of rows."""

WIDTH, HIDDEN, LAYERS = 32, 32, 2
"""Numbers in a vector, hidden units, and layers over tokens in context."""

FORMS_DROPPED, ROWS_DROPPED, UNITS_DROPPED = 0.5, 0.2, 0.3
"""Dropout probabilities of the row of a form, of other rows, and of hidden units."""

STEPS, MOST_EPOCHS = 2000, 10
"""Small treebanks are trained for more epochs, until this number of steps, but not for more than this factor."""

_TOKENS = 256
"""Tokens of a step."""

_ROW_RATE, _RATE, _LAST, _FIRST_SQUARE = 0.05, 0.003, 0.1, 1e-4


class EndExamples(NamedTuple):
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
) -> EndExamples:
    """Return the examples of a text.

    Parameters
    ----------
    table, ends, usage, missed
        As for `nonproj.text.sentence_features.sentence_examples`.
    lines : bool
        Whether only places at the ends of lines are learnt.
    """
    known, inside = KnownWords(*known_words(table, usage)), slice(PADDING, -PADDING)
    blanks = table.blanks[inside]
    state = (states_of(table, known, ends, missed) + N_STATES * (blanks == BROKEN)).astype(np.int32)
    learnt = (blanks != PARAGRAPH) & ((blanks >= WRAPPED) | (not lines))
    rows = token_rows(table, known, np.uint32(32 - BITS))[inside]
    return EndExamples(rows, state, ends, learnt, pieces_of(table.blanks) - PADDING)


def joined(several: Sequence[EndExamples]) -> EndExamples:
    """Return several texts as one."""
    first = np.cumsum([0, *(len(each.rows) for each in several)])
    moved = [each._replace(pieces=each.pieces + begin) for each, begin in zip(several, first[:-1], strict=True)]
    return EndExamples(*map(np.concatenate, zip(*moved, strict=True)))


class SentenceNetworkLearner:
    """A network in training.

    Parameters
    ----------
    examples : EndExamples
    seed : int
        For the first weights, the order of the pieces and what is left out.

    Attributes
    ----------
    layers : HiddenLayers
        The rows of its table that no token has are 0.
    states : ndarray of shape (2 * N_STATES, HIDDEN), float32
    output, bias : ndarray of shape (HIDDEN,) and (1,), float32
    dense : list of ndarray
        All tables but that of rows.
    """

    def __init__(self, examples: EndExamples, seed: int):
        self.examples, self._rng = examples, generator(seed, Stream.SENTENCE_NETWORK)
        seen = np.zeros((1 << BITS, 1), np.bool_)
        seen[examples.rows] = True
        rows = draw_weights(self._rng, (1 << BITS, WIDTH), 0.1) * seen
        self.states, self.output = np.zeros((2 * N_STATES, HIDDEN), np.float32), draw_weights(self._rng, (HIDDEN,), 0.2)
        self.bias, context = np.full(1, -1.0, np.float32), ContextLayers(WIDTH, 2 * HIDDEN, LAYERS, self._rng)
        context.tables[-1][:] = draw_weights(self._rng, (WIDTH, 2 * HIDDEN), 1.0 / math.sqrt(2 * WIDTH))
        self.layers, self.context = HiddenLayers(AdaGrad(rows, _FIRST_SQUARE), context), context
        self.dense = [self.states, self.output, self.bias, *context.tables]
        self._adam = Adam(self.dense)

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
        mean = LaterMean([self.layers.rows.table, *self.dense], epochs)
        for epoch in progress(range(epochs)):
            order = self._rng.permutation(len(sizes))
            steps = np.split(order, np.flatnonzero(np.diff(np.cumsum(sizes[order]) // _TOKENS)) + 1)
            for number, chosen in enumerate(steps):
                self._step(chosen, 1.0 - (1.0 - _LAST) * (epoch + number / len(steps)) / epochs)
            mean.add()
        mean.apply()
        return self.network()

    def _step(self, chosen: np.ndarray, decay: float) -> None:
        """Make a step on some pieces."""
        nodes = PieceNodes(*nodes_of(self.examples.pieces[chosen]))
        places = np.flatnonzero(nodes.own & self.examples.learnt[nodes.token])
        kept = self._rng.random((len(nodes.token), N_ROWS), np.float32)
        kept[:, 0] -= np.float32(FORMS_DROPPED - ROWS_DROPPED)
        units = draw_units(self._rng, (len(places), HIDDEN), UNITS_DROPPED)
        dropout = Dropout(self.context.draw(len(nodes.token)), units)
        inputs = self.inputs(nodes, places, kept >= ROWS_DROPPED)
        _, gradient, of_vectors = self.gradient(inputs, nodes.token[places], dropout)
        self._adam.step(gradient, _RATE * decay)
        self.follow(inputs.words, of_vectors, _ROW_RATE * decay)

    def inputs(self, nodes: PieceNodes, places: np.ndarray, kept: np.ndarray) -> NetworkInputs:
        """Return what the network is given.

        Parameters
        ----------
        nodes : PieceNodes
        places : ndarray of shape (m,), int64
            The nodes before the places that are learnt.
        kept : ndarray of shape (N, N_ROWS), bool
            The rows of tokens that are not left out.
        """
        words = SparseRows.of_table(self.examples.rows[nodes.token]).scaled(kept.reshape(-1).astype(np.float32))
        state = 2 * len(nodes.token) + self.examples.state[nodes.token[places]]
        items = SparseRows.of_table(np.column_stack([2 * places, 2 * places + 3, state]))
        return NetworkInputs(words, (nodes.first, nodes.end), items)

    def follow(self, words: SparseRows, of_vectors: np.ndarray, rate: float) -> None:
        """Make one step on each row, given the gradient of the tokens' vectors."""
        numbers, places = np.unique(words.row, return_inverse=True)
        gradient = spread_rows(words._replace(row=places.astype(np.int32)), of_vectors, len(numbers))
        self.layers.rows.step(gradient, rate, SparseRows.of_table(numbers[:, None]))

    def gradient(
        self, inputs: NetworkInputs, token: np.ndarray, dropout: Dropout
    ) -> tuple[float, list[np.ndarray], np.ndarray]:
        """Return the loss, the gradient of minus the loss, and that of the vectors, float32[N, WIDTH].

        Parameters
        ----------
        inputs : NetworkInputs
        token : ndarray of shape (m,), int64
            The tokens before the places that are learnt.
        dropout : Dropout
        """
        layer, passed = self.layers.forward(inputs, dropout, self.states)
        scores, gold = product(layer, self.output[:, None])[:, 0] + self.bias, self.examples.gold[token]
        delta = gold - 1.0 / (1.0 + exponentials(-np.clip(scores, -30.0, 30.0)))
        of_vectors, _, of_states, of_context = self.layers.backward(delta[:, None] * self.output, passed)
        loss = float(np.logaddexp(0.0, np.where(gold, -scores, scores)).sum())
        of_output = product(layer.T, delta[:, None])[:, 0]
        return loss, [of_states, of_output, delta.sum(keepdims=True), *of_context], of_vectors

    def network(self) -> SentenceNetwork:
        """Return the network, its layers in context with weights of 8 bits."""
        output, context = np.append(self.output, self.bias), rounded_context(self.context.tables, 1.0, CONTEXT_SCALE)
        return SentenceNetwork(self.layers.rows.table, self.states, output, context)
