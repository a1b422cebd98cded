"""Training of the network that scores sentence ends: logistic regression by AdaGrad.

Rows of tokens and hidden units are left out at random.  The rows of forms are left out most often, so that a place is
also known by its suffixes, shapes and classes, as places beside unknown words have to be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.linear.optimisers import LaterMean, descend, follow_row
from nonproj.text.characters import QUOTE
from nonproj.text.layout import PARAGRAPH
from nonproj.text.sentence_features import (
    N_STATES,
    TOKENS_AROUND,
    at_line_end,
    brackets_after,
    nearby,
    state_of,
)
from nonproj.text.sentence_network import N_ROWS, SentenceNetwork, token_rows
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.text.usage import KnownWords, Usage, is_finite_verb, known_words
from nonproj.types import Bools, Float32s, Int32s, Int64s, Uint8s

BITS = 16
"""log2 of the number of rows."""

WIDTH, HIDDEN = 16, 32
"""Numbers in a vector, and hidden units."""

FORMS_DROPPED, ROWS_DROPPED, UNITS_DROPPED = 0.6, 0.24, 0.3
"""With these probabilities the row of a form, other rows and hidden units are left out."""

_RATE, _LAST, _FIRST_SQUARE, _AT_ONCE = 0.05, 0.1, 1e-4, 4096


class Examples(NamedTuple):
    """Places where sentences may end.

    Attributes
    ----------
    rows : ndarray of shape (T, N_ROWS), int32
        Of each token.
    tokens : ndarray of shape (m, TOKENS_AROUND), int32
        Of each place, the tokens around it.
    state : ndarray of shape (m,), int32
        A row of `SentenceNetwork.states`.
    gold : ndarray of shape (m,), uint8
        Whether a sentence ends there.
    """

    rows: np.ndarray
    tokens: np.ndarray
    state: np.ndarray
    gold: np.ndarray


def network_examples(table: TokenTable, ends: np.ndarray, usage: Usage, missed: np.ndarray) -> Examples:
    """Return all places where sentences may end; parameters as for `sentence_features.sentence_examples`."""
    known = known_words(table, usage)
    tokens, state = np.empty((len(ends), TOKENS_AROUND), np.int32), np.empty(len(ends), np.int32)
    gold = np.empty(len(ends), np.uint8)
    count = _find_examples(table, known, ends, ends & ~missed, tokens, state, gold)
    return Examples(token_rows(table, known, np.uint32(32 - BITS)), tokens[:count], state[:count], gold[:count])


@kernel
def _find_examples(
    table: TokenTable, known: KnownWords, ends: Bools, begins: Bools, tokens: Int32s, state: Int32s, gold: Uint8s
) -> int:
    """Write the places after all tokens inside a paragraph; return their number."""
    count, length, brackets, quotes, verbs = 0, 0, 0, 0, 0
    for t in range(PADDING, len(table.word) - PADDING):
        length, verbs = length + 1, verbs + is_finite_verb(known.tag[t])
        brackets, quotes = brackets_after(table.first[t], brackets), quotes + (table.first[t] == QUOTE)
        if table.blanks[t] != PARAGRAPH:
            first, last = nearby(table.blanks, t)
            for k in range(TOKENS_AROUND):
                tokens[count, k] = t - 2 + k if first <= t - 2 + k <= last else 0
            state[count] = state_of(length, brackets, quotes, verbs) + N_STATES * at_line_end(table.blanks[t])
            gold[count] = ends[t - PADDING]
            count += 1
        if begins[t - PADDING] or table.blanks[t] == PARAGRAPH:
            length, brackets, quotes, verbs = 0, 0, 0, 0
    return count


def joined(several: Sequence[Examples]) -> Examples:
    """Return the places of several texts as one."""
    first = np.cumsum([0, *(len(each.rows) for each in several)]).astype(np.int32)
    tokens = [each.tokens + begin for each, begin in zip(several, first[:-1], strict=True)]
    rows, _, state, gold = (np.concatenate(arrays) for arrays in zip(*several, strict=True))
    return Examples(rows, np.concatenate(tokens), state, gold)


def learn_sentence_network(
    examples: Examples, epochs: int, seed: int, progress: Callable[[Any], Any] = iter
) -> SentenceNetwork:
    """Return a network that has learnt where sentences end: the mean of those after the epochs of the second half.

    Parameters
    ----------
    examples : Examples
    epochs : int
    seed : int
        For the first weights, the order of the places and what is left out.
    progress : callable
        Wraps the loop over the epochs.
    """
    random = np.random.default_rng((seed, 16))
    network = _first_network(examples, random)
    rows, hidden, states, output = (np.full(table.shape[:-1], _FIRST_SQUARE, np.float32) for table in network)
    squares = SentenceNetwork(rows, hidden, states, np.full_like(network.output, output))
    mean, n = LaterMean(network, epochs), len(examples.gold)
    for epoch in progress(range(epochs)):
        order = random.permutation(n)
        for begin in range(0, n, _AT_ONCE):
            chosen = order[begin : begin + _AT_ONCE]
            kept = random.random((len(chosen), TOKENS_AROUND, N_ROWS), np.float32)
            kept[:, :, 0] -= np.float32(FORMS_DROPPED - ROWS_DROPPED)
            units = (random.random((len(chosen), HIDDEN), np.float32) >= UNITS_DROPPED).astype(np.float32)
            rate = _RATE * (1.0 - (1.0 - _LAST) * (epoch + begin / n) / epochs)
            _learn(
                examples, chosen, kept >= ROWS_DROPPED, units / np.float32(1.0 - UNITS_DROPPED), rate, network, squares
            )
        mean.add()
    return SentenceNetwork(*mean.tables())


def _first_network(examples: Examples, random: np.random.Generator) -> SentenceNetwork:
    """Return random weights; rows that no token has are 0."""
    seen = np.zeros(1 << BITS, np.bool_)
    seen[examples.rows[np.unique(examples.tokens)]] = True
    rows = 0.05 * random.standard_normal((1 << BITS, WIDTH)) * seen[:, None]
    hidden = random.standard_normal((TOKENS_AROUND, WIDTH, HIDDEN)) / math.sqrt(TOKENS_AROUND * WIDTH)
    output = np.append(0.2 * random.standard_normal(HIDDEN), -1.0)
    states = np.zeros((2 * N_STATES, HIDDEN))
    return SentenceNetwork(*(table.astype(np.float32) for table in (rows, hidden, states, output)))


@kernel
def _learn(
    examples: Examples,
    chosen: Int64s,
    kept: Bools,
    units: Float32s,
    rate: float,
    network: SentenceNetwork,
    squares: SentenceNetwork,
) -> None:
    """Make a step at each of some places.

    Parameters
    ----------
    examples : Examples
    chosen : ndarray of shape (m,), int64
        Their numbers.
    kept : ndarray of shape (m, TOKENS_AROUND, N_ROWS), bool
        Which rows are not left out.
    units : ndarray of shape (m, K), float32
        Factors of the hidden units.
    rate : float
    network, squares : SentenceNetwork
        The weights, and a sum of squares for each row of them; both are changed.
    """
    size, width = network.states.shape[1], network.rows.shape[1]
    inputs, layer = np.empty((TOKENS_AROUND, width), np.float32), np.empty(size, np.float32)
    delta, back, change = np.empty(size, np.float32), np.empty(width, np.float32), np.empty(size, np.float32)
    sums = np.empty(8, np.float32)
    for q in range(len(chosen)):
        i = chosen[q]
        state = examples.state[i]
        _sum_inputs(examples, i, kept[q], network, inputs, layer)
        score = np.float64(network.output[size])
        for u in range(size):
            layer[u] = max(layer[u], np.float32(0.0)) * units[q, u]
            score += layer[u] * network.output[u]
        error = examples.gold[i] - 1.0 / (1.0 + math.exp(-min(max(score, -30.0), 30.0)))
        for u in range(size):
            delta[u] = np.float32(error) * network.output[u] * units[q, u] if layer[u] > 0 else np.float32(0.0)
        for u in range(size):
            if layer[u] > 0:
                descend(network.output, squares.output, u, -error * layer[u], rate)
        descend(network.output, squares.output, size, -error, rate)
        follow_row(delta, rate, network.states[state], squares.states[state : state + 1])
        for k in range(TOKENS_AROUND):
            for d in range(width):
                back[d] = _product(delta, network.hidden[k, d], sums)
                for u in range(size):
                    change[u] = inputs[k, d] * delta[u]
                follow_row(change, rate, network.hidden[k, d], squares.hidden[k, d : d + 1])
            token = examples.tokens[i, k]
            for j in range(N_ROWS):
                if kept[q, k, j]:
                    row = examples.rows[token, j]
                    follow_row(back, rate, network.rows[row], squares.rows[row : row + 1])


@inlined_kernel
def _product(a: Float32s, b: Float32s, sums: Float32s) -> np.float32:
    """Return the product of two vectors, whose size is a multiple of that of ``sums``: sums in turn are quicker."""
    lanes = sums.shape[0]
    for k in range(lanes):
        sums[k] = 0.0
    for begin in range(0, a.shape[0], lanes):
        for k in range(lanes):
            sums[k] += a[begin + k] * b[begin + k]
    total = np.float32(0.0)
    for k in range(lanes):
        total += sums[k]
    return total


@kernel
def _sum_inputs(
    examples: Examples, i: int, kept: Bools, network: SentenceNetwork, inputs: Float32s, layer: Float32s
) -> None:
    """Write the vectors of the tokens around a place, without the rows left out, and the sums of its hidden units."""
    layer[:] = network.states[examples.state[i]]
    for k in range(inputs.shape[0]):
        token = examples.tokens[i, k]
        inputs[k] = np.float32(0.0)
        for j in range(N_ROWS):
            if kept[k, j]:
                for d in range(inputs.shape[1]):
                    inputs[k, d] += network.rows[examples.rows[token, j], d]
        for d in range(inputs.shape[1]):
            x = inputs[k, d]
            for u in range(layer.shape[0]):
                layer[u] += x * network.hidden[k, d, u]
