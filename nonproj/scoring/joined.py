"""Sentences one after the other, so that a kernel is called once for all of them.

Calling a kernel takes microseconds, as long as some kernels take for a word.  `Tokens` are padded on both sides, so
those of many sentences can be joined to one: nodes of a sentence are shifted, and its START and END, nodes ``N`` and
``N + 1``, fall into the padding after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.scoring.vocabulary import END, PADDING, START, Tokens
from nonproj.types import PartRows

if TYPE_CHECKING:
    from nonproj.scoring.encoders.heads import EncodedSentence

if END != START + 1:
    raise AssertionError("START and END are numbered in their order")


class JoinedTokens(NamedTuple):
    """The tokens of one or more sentences, one after the other.

    Attributes
    ----------
    atoms, feat_start, feat : ndarray, int32
        As in `Tokens`, for all nodes, including those in the padding, which have no features.
    first, end : ndarray of shape (S,), int32
        The nodes of a sentence are ``first[s]`` to ``end[s] - 1``, from its root to its last word; ``end[s]`` is its
        START and ``end[s] + 1`` its END.
    n_nodes : int
        Number of nodes, including the padding between sentences.
    encoded : tuple of nonproj.scoring.encoders.heads.EncodedSentence, or None
        As in `Tokens`, for each sentence.
    vectors : ndarray of shape (n_nodes, D), int8, or None
        As in `Tokens`; zeros for the padding.
    """

    atoms: np.ndarray
    feat_start: np.ndarray
    feat: np.ndarray
    first: np.ndarray
    end: np.ndarray
    n_nodes: int
    encoded: tuple[EncodedSentence, ...] | None = None
    vectors: np.ndarray | None = None


def join(tokens: Sequence[Tokens]) -> JoinedTokens:
    """Join the tokens of one or more sentences.

    Examples
    --------
    >>> atoms = np.zeros((2 + 2 * PADDING, 1), np.int32)
    >>> one = Tokens(atoms, np.array([0, 0, 2], np.int32), np.array([7, 8], np.int32))
    >>> batch = join([one, one])
    >>> batch.first.tolist(), batch.end.tolist(), batch.feat_start.tolist()
    ([0, 8], [2, 10], [0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 4])
    """
    encoded = None
    if tokens[0].encoded is not None:  # all have it, or none
        encoded = tuple(each.encoded for each in tokens if each.encoded is not None)
    if len(tokens) == 1:
        n_nodes, one = len(tokens[0].feat_start) - 1, np.zeros(1, np.int32)
        return JoinedTokens(*tokens[0][:3], one, np.array([n_nodes], np.int32), n_nodes, encoded, tokens[0].vectors)
    sizes = np.array([len(each.feat_start) for each in tokens], np.int32) - np.int32(1)
    end = np.cumsum(sizes + np.int32(2 * PADDING), dtype=np.int32) - np.int32(2 * PADDING)
    first, counts = end - sizes, np.zeros(int(end[-1]) + 1, np.int32)
    atoms, starts, feat = (np.concatenate([each[i] for each in tokens]) for i in range(3))
    places = np.arange(len(starts)) + np.repeat(np.arange(len(tokens)) * (2 * PADDING - 1), sizes + 1)
    counts[places[1:]] = np.maximum(np.diff(starts), 0)  # features of the node before; each sentence starts at 0
    joined = JoinedTokens(atoms, np.cumsum(counts, dtype=np.int32), feat, first, end, int(end[-1]), encoded)
    vectors = [each.vectors for each in tokens if each.vectors is not None]  # all have them, or none
    if not vectors:
        return joined
    found = np.zeros((joined.n_nodes, vectors[0].shape[1]), np.int8)
    for own, begin in zip(vectors, first.tolist(), strict=True):
        found[begin : begin + len(own)] = own
    return joined._replace(vectors=found)


def whole(n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``first`` and ``end`` of a batch of one sentence of N nodes."""
    return np.zeros(1, np.int32), np.array([n_nodes], np.int32)


def join_heads(heads: Sequence[np.ndarray], batch: JoinedTokens) -> np.ndarray:
    """Return the trees of a batch's sentences, int32[N] each, as one array; roots and padding have no head, -1."""
    joined = np.full(batch.n_nodes, -1, np.int32)
    for each, first, end in zip(heads, batch.first.tolist(), batch.end.tolist(), strict=True):
        joined[first + 1 : end] = each[1:]
        joined[first + 1 : end] += first
    return joined


def split_heads(joined: np.ndarray, batch: JoinedTokens) -> list[np.ndarray]:
    """Undo `join_heads`: return the trees, int32[N] each; the entry of node 0 is negative, but not always -1."""
    return [joined[first:end] - first for first, end in zip(batch.first.tolist(), batch.end.tolist(), strict=True)]


def join_words(values: Iterable[Mapping[int, int]], batch: JoinedTokens) -> dict[int, int]:
    """Return the values of some words of each sentence by their nodes in the batch.

    Examples
    --------
    >>> one = Tokens(np.zeros((2 + 2 * PADDING, 1), np.int32), np.zeros(3, np.int32), np.zeros(0, np.int32))
    >>> join_words([{}, {1: 5}], join([one, one]))
    {9: 5}
    """
    first = batch.first.tolist()
    return {first[s] + word: value for s, each in enumerate(values) for word, value in each.items()}


def join_rows(rows: Sequence[PartRows], batch: JoinedTokens) -> PartRows:
    """Return the parts of all sentences of a batch, over the nodes of the batch."""
    if len(rows) == 1:
        return rows[0]
    nodes = np.concatenate([each.nodes for each in rows])
    nodes += np.repeat(batch.first, [len(each.nodes) for each in rows])[:, np.newaxis]
    return PartRows(nodes, np.concatenate([each.codes for each in rows]))
