"""A small network that scores sentence ends, added to the linear model.

A token has a vector: the sum of the rows of its attributes, such as its form and its suffix.  From these vectors layers
over tokens in context (`nonproj.networks.context`) compute the contribution of each token to the hidden units of the
places before and after it.  The hidden layer of a place is the positive part of their sum and a row for the state
(`nonproj.text.sentence_features.state_of`).  So forms that are used alike have similar vectors and scores, and an end
may depend on tokens far away.

A token's context is its paragraph; long paragraphs are cut into pieces that overlap.  Scores depend on nothing but the
paragraph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import Window, hash_window
from nonproj.linear.state import Arrays
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.linear.weights import check_table
from nonproj.networks.context import CONTEXT, ContextWeights, check_context
from nonproj.networks.rows import add_rows
from nonproj.text.layout import PARAGRAPH, table_shift
from nonproj.text.sentence_features import N_STATES, OF_TOKEN, describe_token
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.text.usage import KnownWords, Usage, known_words
from nonproj.types import Bools, Float32s, Int32s, Int64s, Uint8s

GRAMMAR = Grammar("sentence network", ("t",), OF_TOKEN, (0, 0))

TOKEN_WINDOW: Window = window_of(compile_templates([f"t.{name}" for name in OF_TOKEN], GRAMMAR), GRAMMAR)
"""Templates of the rows of a token: one for each attribute."""

N_ROWS = len(OF_TOKEN)
"""Number of rows of a token."""

_TABLES: Arrays = {
    "network_rows": ("float32", "rows width"),
    "network_states": ("float32", f"{2 * N_STATES} units"),
    "network_output": ("float32", 1),
}
NETWORK: Arrays = {**_TABLES, **CONTEXT}
"""The arrays of a `SentenceNetwork` in a model, for schemas."""

CONTEXT_SCALE = 2.0**-14
"""Scale of the integers that tokens in context add to hidden layers."""

PIECE, OVERLAP = 192, 32
"""Maximum number of tokens of a piece of a long paragraph, and number of those on each side that are only context."""


class SentenceNetwork(NamedTuple):
    """The weights of a network with D numbers in a vector and K hidden units.

    Attributes
    ----------
    rows : ndarray of shape (2 ** bits, D), float32
        Rows of attributes, by hash.
    states : ndarray of shape (2 * N_STATES, K), float32
        Weights of each state, and after them those at ends of lines that are not full.
    output : ndarray of shape (K + 1,), float32
        Output weights, then the bias.
    context : ContextWeights or None
        Gives 2 * K sums of a token, for the units of the place after it, then before it.  None if there are no hidden
        units.
    """

    rows: np.ndarray
    states: np.ndarray
    output: np.ndarray
    context: ContextWeights | None

    def encode(self, table: TokenTable, usage: Usage) -> EncodedText:
        """Return a text, given as a table of tokens, encoded by the layers over tokens in context."""
        found = _encode(table, usage, self.rows)
        known, nodes, vectors = KnownWords(*found[:3]), PieceNodes(*found[3:7]), found[7]
        if self.context:
            return EncodedText(known, nodes, self.context.sums(vectors, (nodes.first, nodes.end)))
        return EncodedText(known, nodes, np.zeros((len(vectors), 0), np.int32))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays from which `check_network` restores the network; none if there are no hidden units."""
        if not self.context:
            return {}
        return dict(zip(_TABLES, self[:3], strict=True)) | self.context.arrays()


def empty_network() -> SentenceNetwork:
    """Return the network without hidden units, whose scores are 0."""
    rows, states = np.zeros((256, 0), np.float32), np.zeros((2 * N_STATES, 0), np.float32)
    return SentenceNetwork(rows, states, np.zeros(1, np.float32), None)


def check_network(arrays: Mapping[str, np.ndarray]) -> SentenceNetwork:
    """Return the network in the arrays of a segmenter, an empty one if there is none.

    Raises
    ------
    ModelError
        They are not a network that kernels can use.
    """
    if NETWORK.keys().isdisjoint(arrays):
        return empty_network()
    rows, states, output = (arrays[name] for name in _TABLES)
    check_table(rows[:, 0] if rows.size else None, ("float32",), 8, "the segmenter's network", 28)
    context = check_context(arrays, 2 * states.shape[1], "the segmenter's network")
    if len(output) != states.shape[1] + 1 or context is None or len(context.output) != rows.shape[1]:
        raise ModelError("the arrays of the segmenter's network do not fit each other")
    if not all(np.isfinite(table).all() for table in (rows, states, output)):
        raise ModelError("the segmenter's network has weights that are not finite")
    return SentenceNetwork(rows, states, output, context)


class PieceNodes(NamedTuple):
    """The tokens of pieces of paragraphs; some tokens are in two pieces.

    Attributes
    ----------
    token : ndarray of shape (N,), int64
        The row of each node.
    own : ndarray of shape (N,), bool
        Whether its piece scores the place after it; False for nodes that are only context.
    first, end : ndarray of shape (P,), int32
        The nodes of each piece.
    """

    token: np.ndarray
    own: np.ndarray
    first: np.ndarray
    end: np.ndarray


@kernel
def pieces_of(blanks: Uint8s) -> Int64s:
    """Return the pieces of the paragraphs of a table, int64[P, 4].

    The columns are the row of the first token and the row after the last one, with context and without.
    """
    most = len(blanks) // PIECE + np.sum(blanks == PARAGRAPH)
    pieces, count, begin = np.empty((most, 4), np.int64), 0, PADDING
    for t in range(PADDING, len(blanks) - PADDING):
        if blanks[t] == PARAGRAPH:
            size, number = t + 1 - begin, (t - begin) // PIECE + 1
            for i in range(number):
                own, end = begin + size * i // number, begin + size * (i + 1) // number
                pieces[count, 0], pieces[count, 1] = max(own - OVERLAP, begin), min(end + OVERLAP, t + 1)
                pieces[count, 2], pieces[count, 3] = own, end
                count += 1
            begin = t + 1
    return pieces[:count]


@kernel
def nodes_of(pieces: Int64s) -> tuple[Int64s, Bools, Int32s, Int32s]:
    """Return the arrays of `PieceNodes` for some pieces, one after the other."""
    n, total = pieces.shape[0], 0
    first, end = np.empty(n, np.int32), np.empty(n, np.int32)
    for p in range(n):
        first[p] = total
        total += pieces[p, 1] - pieces[p, 0]
        end[p] = total
    token, own = np.empty(total, np.int64), np.empty(total, np.bool_)
    for p in range(n):
        for i in range(first[p], end[p]):
            t = pieces[p, 0] + i - first[p]
            token[i], own[i] = t, pieces[p, 2] <= t < pieces[p, 3]
    return token, own, first, end


class EncodedText(NamedTuple):
    """A text encoded by the network's layers over tokens in context.

    Attributes
    ----------
    known : KnownWords
    nodes : PieceNodes
    around : ndarray of shape (N, 2 * K), int32
        Sums that each node adds to the hidden units of the place after it, then before it, in units of `CONTEXT_SCALE`.
    """

    known: KnownWords
    nodes: PieceNodes
    around: np.ndarray


@kernel
def sums_of(seen: EncodedText) -> Float32s:
    """Return the sums that tokens add to the hidden units of the place after each row of a table, float32[T + 6, K].

    The rows of padding and of the last tokens of paragraphs are 0.
    """
    nodes, around, size = seen.nodes, seen.around, seen.around.shape[1] // 2
    sums = np.zeros((len(seen.known.tag), size), np.float32)
    for p in range(nodes.first.shape[0]):
        for i in range(nodes.first[p], nodes.end[p] - 1):
            if nodes.own[i]:
                for u in range(size):
                    sums[nodes.token[i], u] = np.float32(CONTEXT_SCALE) * np.float32(
                        around[i, u] + around[i + 1, size + u]
                    )
    return sums


@kernel
def token_rows(table: TokenTable, known: KnownWords, shift: np.uint32) -> Int32s:
    """Return the rows of each token, int32[T + 6, N_ROWS]."""
    places, atoms = np.zeros((len(table.word), N_ROWS), np.int32), np.zeros(N_ROWS, np.uint32)
    for row in range(PADDING, len(table.word) - PADDING):
        describe_token(table, known, row, atoms, 0)
        hash_window(TOKEN_WINDOW, atoms, shift, places[row])
    return places


@kernel
def _encode(
    table: TokenTable, usage: Usage, rows: Float32s
) -> tuple[Uint8s, Uint8s, Uint8s, Int64s, Bools, Int32s, Int32s, Float32s]:
    """Return the arrays of `KnownWords`, of `PieceNodes` for the paragraphs, and the vector of each node."""
    known, nodes = known_words(table, usage), nodes_of(pieces_of(table.blanks))
    n_nodes = len(nodes[0])
    vectors = np.zeros((n_nodes, rows.shape[1]), np.float32)
    if rows.shape[1]:
        places = token_rows(table, KnownWords(*known), np.uint32(table_shift(len(rows))))[nodes[0]].reshape(-1)
        add_rows(np.arange(n_nodes + 1) * N_ROWS, places, np.ones(len(places), np.float32), rows, vectors)
    return known + nodes + (vectors,)  # noqa: RUF005  # numba has no stars in tuples


@kernel
def network_score(states: Float32s, output: Float32s, sums: Float32s, state: int) -> float:
    """Return the score of an end in a state, a row of ``states``, given the sums of `sums_of` for the place."""
    size = states.shape[1]
    total = float(output[size])
    for u in range(size):
        total += max(sums[u] + states[state, u], np.float32(0.0)) * output[u]
    return total
