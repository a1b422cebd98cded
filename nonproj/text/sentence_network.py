"""A small network that scores sentence ends, beside the linear model.

A token has a vector: the sum of the rows of what is known of it, such as its form and its suffix.  The hidden layer of
a place is the positive part of a row for the state (`nonproj.text.sentence_features.state_of`) plus, for each token
around the place, a matrix times its vector.  So forms that are used alike have alike vectors, and what is learnt of one
helps with the others.  Sums run in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.linear.component import Arrays
from nonproj.linear.hashing import Window, hash_window
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.linear.weights import check_table
from nonproj.text.layout import table_shift
from nonproj.text.sentence_features import (
    N_STATES,
    OF_TOKEN,
    TOKENS_AROUND,
    describe_token,
    nearby,
)
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.text.usage import KnownWords
from nonproj.types import Float32s, Int32s

GRAMMAR = Grammar("sentence network", ("t",), OF_TOKEN, (0, 0))

TOKEN_WINDOW: Window = window_of(compile_templates([f"t.{name}" for name in OF_TOKEN], GRAMMAR), GRAMMAR)
"""The rows of a token: one for each attribute."""

N_ROWS = len(OF_TOKEN)
"""Rows of a token."""

NETWORK: Arrays = {
    "network_rows": ("float32", "rows width"),
    "network_hidden": ("float32", f"{TOKENS_AROUND} width units"),
    "network_states": ("float32", f"{2 * N_STATES} units"),
    "network_output": ("float32", 1),
}
"""The arrays of a `SentenceNetwork` in a model, for schemas."""


class SentenceNetwork(NamedTuple):
    """The weights of a network with D numbers in a vector and K hidden units, float32.

    Attributes
    ----------
    rows : ndarray of shape (2 ** bits, D)
        By hash.
    hidden : ndarray of shape (TOKENS_AROUND, D, K)
    states : ndarray of shape (2 * N_STATES, K)
        Of each state, and after them the same at ends of lines that are not full.
    output : ndarray of shape (K + 1,)
        The last is the bias.
    """

    rows: np.ndarray
    hidden: np.ndarray
    states: np.ndarray
    output: np.ndarray

    def scaled(self, factor: float) -> SentenceNetwork:
        """Return a network whose scores are a factor times those of this one."""
        return self._replace(output=self.output * np.float32(factor))


def empty_network() -> SentenceNetwork:
    """Return the network without hidden units, whose scores are 0."""
    shapes = (256, 0), (TOKENS_AROUND, 0, 0), (2 * N_STATES, 0), (1,)
    return SentenceNetwork(*(np.zeros(shape, np.float32) for shape in shapes))


def check_network(arrays: Mapping[str, np.ndarray]) -> SentenceNetwork:
    """Return the network in the arrays of a segmenter, an empty one if there is none.

    Raises
    ------
    ModelError
        They are no network that kernels can use.
    """
    if NETWORK.keys().isdisjoint(arrays):
        return empty_network()
    network = SentenceNetwork(*(arrays[name] for name in NETWORK))
    check_table(network.rows[:, 0] if network.rows.size else None, ("float32",), 8, "the segmenter's network", 28)
    if len(network.output) != network.hidden.shape[2] + 1:
        raise ModelError("the arrays of the segmenter's network do not fit each other")
    if not all(np.isfinite(table).all() for table in network):
        raise ModelError("the segmenter's network has weights that are not finite")
    return network


@kernel
def token_rows(table: TokenTable, known: KnownWords, shift: np.uint32) -> Int32s:
    """Return the rows of each token, int32[T + 6, N_ROWS]; those of row 0 are of what is outside the paragraph."""
    places, atoms = np.zeros((len(table.word), N_ROWS), np.int32), np.zeros(N_ROWS, np.uint32)
    for row in range(len(table.word) - PADDING):
        if row == 0 or row >= PADDING:
            describe_token(table, known, row, atoms, 0)
            hash_window(TOKEN_WINDOW, atoms, shift, places[row])
    return places


@kernel
def token_vectors(table: TokenTable, known: KnownWords, network: SentenceNetwork) -> Float32s:
    """Return the vector of each token, float32[T + 6, D]; row 0 is what is outside the paragraph."""
    rows = network.rows
    vectors = np.zeros((len(table.word), rows.shape[1]), np.float32)
    if rows.shape[1]:
        places = token_rows(table, known, np.uint32(table_shift(len(rows))))
        for t in range(len(vectors)):
            if t == 0 or PADDING <= t < len(vectors) - PADDING:
                for j in range(N_ROWS):
                    for d in range(rows.shape[1]):
                        vectors[t, d] += rows[places[t, j], d]
    return vectors


@kernel
def sum_around(table: TokenTable, t: int, vectors: Float32s, hidden: Float32s, sums: Float32s) -> None:
    """Write what the tokens around the place after row ``t`` contribute to the hidden units."""
    first, last = nearby(table.blanks, t)
    sums[:] = np.float32(0.0)
    for k in range(hidden.shape[0]):
        row = t - 2 + k
        if row < first or row > last:
            row = 0
        for d in range(hidden.shape[1]):
            x = vectors[row, d]
            for u in range(hidden.shape[2]):
                sums[u] += x * hidden[k, d, u]


@inlined_kernel
def network_score(network: SentenceNetwork, sums: Float32s, state: int) -> float:
    """Return the score of an end in a state, a row of ``network.states``, given what the tokens contribute."""
    size = network.states.shape[1]
    total = float(network.output[size])
    for u in range(size):
        total += max(sums[u] + network.states[state, u], np.float32(0.0)) * network.output[u]
    return total
