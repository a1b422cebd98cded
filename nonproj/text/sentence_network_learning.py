"""Training of the network that scores sentence ends: logistic regression on pieces of paragraphs.

Rows of tokens, inputs of layers and hidden units have dropout.  Its rate is highest for the rows of forms, so that the
network also learns suffixes, shapes and classes, on which places next to unknown words depend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.networks.context_learning import ContextLayers, rounded_context
from nonproj.networks.exponentials import exponentials
from nonproj.networks.hyperparameters import SENTENCES, Hyperparameters
from nonproj.networks.learner import Gradient, Learner
from nonproj.networks.products import product
from nonproj.networks.rows import AdaGrad, RowGradient, SparseRows, draw_weights, spread_rows
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


class EndExamples(NamedTuple):
    """Texts with the ends of their sentences.

    Attributes
    ----------
    rows : ndarray of shape (T, N_ROWS), int32
        Rows of each token.
    state : ndarray of shape (T,), int32
        State of the place after each token, a row of `SentenceNetwork.states`.
    gold : ndarray of shape (T,), bool
        Whether a sentence ends there.
    learnt : ndarray of shape (T,), bool
        Whether the place is an example.
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


class TrainableSentenceNetwork:
    """The network that scores sentence ends, in training.

    Parameters
    ----------
    examples : EndExamples
    rng : numpy.random.Generator
        For the initial weights and dropout.
    hyperparameters : Hyperparameters

    Attributes
    ----------
    layers : HiddenLayers
        Rows of its table that no token uses are 0.
    states : ndarray of shape (2 * N_STATES, K), float32
    output, bias : ndarray of shape (K,) and (1,), float32
    sizes, rows, dense
        As in `nonproj.networks.learner.TrainableNetwork`.
    """

    def __init__(self, examples: EndExamples, rng: np.random.Generator, hyperparameters: Hyperparameters = SENTENCES):
        hyper, self.examples, self._rng = hyperparameters, examples, rng
        self.hyperparameters, self.sizes = hyper, examples.pieces[:, 3] - examples.pieces[:, 2]
        seen = np.zeros((1 << BITS, 1), np.bool_)
        seen[examples.rows] = True
        rows = draw_weights(rng, (1 << BITS, hyper.width), hyper.row_deviation) * seen
        self.states = np.zeros((2 * N_STATES, hyper.hidden), np.float32)
        self.output = draw_weights(rng, (hyper.hidden,), 0.2)
        self.bias, context = np.full(1, -1.0, np.float32), ContextLayers(hyper, 2 * hyper.hidden, rng)
        context.tables[-1][:] = draw_weights(rng, (hyper.width, 2 * hyper.hidden), 1.0 / math.sqrt(2 * hyper.width))
        self.layers, self.context = HiddenLayers(AdaGrad(rows, hyper.row_rate, hyper.first_square), context), context
        self.rows, self.dense = self.layers.steps, [self.states, self.output, self.bias, *context.tables]

    def gradient_of(self, chosen: np.ndarray) -> Gradient:
        """Return the gradient of some pieces, with dropout of rows and units."""
        nodes, hyper = PieceNodes(*nodes_of(self.examples.pieces[chosen])), self.hyperparameters
        places = np.flatnonzero(nodes.own & self.examples.learnt[nodes.token])
        kept = self._rng.random((len(nodes.token), N_ROWS), np.float32)
        kept[:, 0] -= np.float32(hyper.lexical_dropout - hyper.row_dropout)
        units = draw_units(self._rng, (len(places), hyper.hidden), hyper.unit_dropout)
        dropout = Dropout(self.context.draw(len(nodes.token)), units)
        inputs = self.inputs(nodes, places, kept >= hyper.row_dropout)
        return self.gradient(inputs, nodes.token[places], dropout)

    def inputs(self, nodes: PieceNodes, places: np.ndarray, kept: np.ndarray) -> NetworkInputs:
        """Return the inputs of the network.

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

    def gradient(self, inputs: NetworkInputs, token: np.ndarray, dropout: Dropout) -> Gradient:
        """Return the loss, the number of wrong places, and the gradient; that of each row is the sum of its tokens'.

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
        numbers, places = np.unique(inputs.words.row, return_inverse=True)
        of_rows = spread_rows(inputs.words._replace(row=places.astype(np.int32)), of_vectors, len(numbers))
        rows = [RowGradient(of_rows, SparseRows.of_table(numbers[:, None]))]
        dense = [of_states, of_output, delta.sum(keepdims=True), *of_context]
        return Gradient(loss, int(((scores > 0) != gold).sum()), len(token), rows, dense)

    def network(self) -> SentenceNetwork:
        """Return the network, its layers in context with weights of 8 bits."""
        output, context = np.append(self.output, self.bias), rounded_context(self.context.tables, 1.0, CONTEXT_SCALE)
        return SentenceNetwork(self.layers.rows.table, self.states, output, context)


def learn_sentence_network(
    examples: EndExamples, epochs: int, rng: np.random.Generator, progress: Callable[..., Any]
) -> SentenceNetwork:
    """Return a network trained on the sentence ends of texts; ``epochs`` is the number of epochs for a large text."""
    network = TrainableSentenceNetwork(examples, rng)
    pieces, epochs = np.arange(len(network.sizes)), SENTENCES.epochs(epochs, int(network.sizes.sum()))
    Learner(network, [pieces] * epochs, lambda _: rng).learn("network of sentences", progress)
    return network.network()
