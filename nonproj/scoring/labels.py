"""Scores of the labels of arcs: those of a tree, or all candidate arcs before the tree is known.

The weights of all labels of a feature lie in one block of the table, in lines of sixteen labels; a line is read as one
vector, and its number is xor-ed onto the feature's place.

Where labels are scored with the arcs (``labeler.joint``), an arc's score includes that of its best label.  That depends
on head and modifier only, so decoding is unchanged, and certificates cover the labelled tree.  Once the tree is known,
the labeler adds scores of its own, whose features see all of it.

An arc needs only the lines of those labels that were seen with the tags of its words and its direction in training, and
all lines if none was.  `nonproj.learning.label_numbers` numbers labels so that such labels share lines.  A label that
was seen only on roots, or never on them, is forbidden elsewhere: see `forbid_misplaced`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.perceptron import AveragedArrays
from nonproj.parts.geometry import DIRECTION, DISTANCE, direction_code, distance_code
from nonproj.scoring.hashing import BLOCK, Places, WordHashes, change_places, make_places, new_block, write_places
from nonproj.scoring.joined import JoinedTokens, whole
from nonproj.scoring.prefetch import prefetch
from nonproj.scoring.vocabulary import PADDING, Tokens
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, PartRows, Uint8s

LINE = 16
"""Number of labels in a line, whose weights are adjacent: as float32, a cache line of 64 bytes."""

NEVER = -(1 << 30)
"""The score of labels that an arc cannot have."""

LARGE_MARGIN = 1e6
"""Maximum margin of a label; it also replaces the infinite margin of the only label."""


TAG = "pos"
"""The attribute by which labels are looked up."""


class AllowedLabels(NamedTuple):
    """The labels that arcs can have, by the tags of their words: lines of 16 labels each.

    Attributes
    ----------
    table : ndarray of shape (V, V, 2), int32
        ``table[i, j, right]``: bit ``k`` is set if an arc from a word of tag ``i`` to one of tag ``j`` can have a label
        of line ``k``; 0 where no arc was seen, which stands for all lines.
    column : int
        The column of `Tokens.atoms` with the tags.
    """

    table: np.ndarray
    column: int

    def of(self, tokens: Tokens | JoinedTokens, nodes: np.ndarray) -> np.ndarray:
        """Return the lines of arcs as bits, int32[n]; ``nodes`` begin with head and modifier."""
        head, modifier = nodes[:, 0], nodes[:, 1]
        tags = tokens.atoms[PADDING:, self.column]
        lines = self.table[tags[head], tags[modifier], (modifier > head).astype(np.int8)]
        lines[lines == 0] = -1
        return lines


def label_parts(heads: np.ndarray, batch: JoinedTokens | None = None) -> PartRows:
    """Return the arcs of a tree as parts of words (h, m, g, l, r, a, z), see `nonproj.scoring.templates.LABEL_SLOTS`.

    ``heads`` is int32[N]; the ``n`` parts are in the order of the modifiers.  Absent words are node ``N``.  With a
    batch, the trees of its sentences are joined as by `nonproj.scoring.joined.join_heads`.

    Examples
    --------
    >>> label_parts(np.array([-1, 2, 0, 2], np.int32)).nodes.tolist()
    [[2, 1, 0, 4, 3, 4, 4], [0, 2, 4, 4, 4, 1, 3], [2, 3, 0, 1, 4, 4, 4]]
    """
    first, end = (batch.first, batch.end) if batch else whole(len(heads))
    n_words = int(end.sum() - first.sum()) - len(first)
    nodes = np.empty((n_words, 7), np.int32)
    codes = np.zeros((n_words, 3), np.uint8)
    _fill_labels(heads, first, end, nodes, codes)
    return PartRows(nodes, codes)


@kernel
def _fill_labels(heads: Int32s, begin: Int32s, end: Int32s, nodes: Int32s, codes: Uint8s) -> None:
    """Write the words and codes of every arc of each tree."""
    first, last, done = np.empty(heads.shape[0], np.int32), np.empty(heads.shape[0], np.int32), 0
    for s in range(begin.shape[0]):
        root, none = begin[s], end[s]
        first[root:none], last[root:none] = none, none
        shift = done - root - 1  # the part of word m is m + shift
        for m in range(root + 1, none):
            h, p = heads[m], m + shift
            nodes[p, 0] = h
            nodes[p, 1] = m
            nodes[p, 2] = heads[h] if h > root else none
            nodes[p, 3] = last[h]
            nodes[p, 4] = none
            if last[h] < none:
                nodes[last[h] + shift, 4] = m
            else:
                first[h] = m
            last[h] = m
            direction = direction_code(h, m)
            codes[p, DIRECTION] = direction
            codes[p, DISTANCE] = distance_code(h, m, direction - 1)
        for m in range(root + 1, none):
            nodes[m + shift, 5] = first[m]
            nodes[m + shift, 6] = last[m]
        done += none - root - 1


def label_scores(
    hashed: WordHashes, parts: PartRows, n_labels: int, weights: np.ndarray, lines: np.ndarray | None = None
) -> np.ndarray:
    """Score every label of every arc: float64[n, n_labels], or int32 for weights of int16.

    The scores are not scaled, because labels are only compared with each other.  ``lines``, int32[n], are the lines
    whose labels each arc may have, as bits (`AllowedLabels`), by default all; others score `NEVER`.
    """
    n_lines = -(-n_labels // LINE)
    scores = np.zeros((parts.nodes.shape[0], n_lines * LINE), np.int32 if weights.dtype == np.int16 else np.float64)
    lines = np.full(len(scores), -1, np.int32) if lines is None else lines
    _score_labels(hashed, parts.nodes, parts.codes, weights, LINE, lines, scores)
    return scores[:, :n_labels]


@kernel
def _score_labels(
    hashed: WordHashes,
    nodes: Int32s,
    codes: Uint8s,
    weights: Float32s | Int16s,
    line: int,
    lines: Int32s,
    scores: Float64s | Int32s,
) -> None:
    """Sum the weights of each label at each arc's places.

    ``line`` is `LINE`, as an argument because the compiler unrolls a loop of known length and does not vectorise it.
    """
    block = new_block(hashed, min(BLOCK, nodes.shape[0]))
    start, places = block
    for arc in range(0, nodes.shape[0], BLOCK):
        count = write_places(hashed, nodes, codes, arc, block, np.empty(0, np.uint8), 0)
        _fetch_lines(block, 0, lines[arc], scores.shape[1], weights)
        for p in range(count):
            if p + 1 < count:
                _fetch_lines(block, p + 1, lines[arc + p + 1], scores.shape[1], weights)
            for first in range(0, scores.shape[1], line):
                row = scores[arc + p, first : first + line]
                if not lines[arc + p] >> (first // line) & 1:
                    row[:] = NEVER
                    continue
                for i in range(start[p], start[p + 1]):
                    begin = np.uint64(places[i] & ~np.uint32(LINE - 1)) ^ np.uint64(first)
                    for j in range(line):
                        row[j] += weights[begin + np.uint64(j)]


@kernel
def _fetch_lines(block: Places, p: int, lines: int, n_columns: int, weights: Float32s | Int16s) -> None:
    """Fetch the lines of weights of an arc into the cache, while those of the arc before it are summed."""
    start, places = block
    for first in range(0, n_columns, LINE):
        if lines >> (first // LINE) & 1:
            for i in range(start[p], start[p + 1]):
                prefetch(weights, np.uint64(places[i] & ~np.uint32(LINE - 1)) ^ np.uint64(first))


def forbid_misplaced(
    scores: np.ndarray, heads: np.ndarray, roots: np.ndarray, places: np.ndarray, free: np.ndarray | None = None
) -> None:
    """Write `NEVER` for the labels that arcs from the root, or other arcs, cannot have.

    Parameters
    ----------
    scores : ndarray of shape (n, n_labels)
        Changed in place.
    heads : ndarray of shape (n,), int
        The head of each arc.
    roots : ndarray, int
        The nodes that are roots.
    places : ndarray of shape (2, n_labels), uint8
        Masks of the labels that other arcs, and arcs from the root, can have.
    free : ndarray of shape (n,), bool, optional
        Arcs whose labels the caller demands; they may have any.

    Examples
    --------
    >>> scores = np.array([[3.0, 5.0], [3.0, 2.0]])
    >>> forbid_misplaced(scores, np.array([0, 2]), np.array([0]), np.array([[0, 1], [1, 0]], np.uint8))
    >>> scores.argmax(axis=1)
    array([0, 1])
    """
    from_root, bound = np.isin(heads, roots), True if free is None else ~free
    for of_root, possible in zip((False, True), places, strict=True):
        rows, labels = np.flatnonzero((from_root == of_root) & bound), np.flatnonzero(possible == 0)
        scores[rows[:, None], labels] = NEVER


def best_label_scores(scores: np.ndarray, words: np.ndarray, demanded: Mapping[int, int] | None = None) -> np.ndarray:
    """Return the score of the best label of each arc, [n].

    Parameters
    ----------
    scores : ndarray of shape (n, n_labels)
        From `label_scores`.
    words : ndarray of shape (n,), int
        The modifier of each arc.
    demanded : mapping of int to int, optional
        The numbers of the labels that some words must have, by word.

    Examples
    --------
    >>> best_label_scores(np.array([[1.0, 2.0], [5.0, 3.0]]), np.array([1, 2]), {2: 1})
    array([2., 3.])
    """
    best = scores.max(axis=1)
    for word, label in (demanded or {}).items():
        best = np.where(words == word, scores[:, label], best)
    return best


def two_best(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the column of each row's highest score, int64[n], and its margin over all others, float64[n].

    Examples
    --------
    >>> two_best(np.array([[1, 5, 3], [2, 2, 0]], np.int32))
    (array([1, 0]), array([2., 0.]))
    """
    best, margins = np.empty(len(scores), np.int64), np.empty(len(scores))
    _two_best(scores, best, margins)
    return best, margins


@kernel
def _two_best(scores: Float64s | Int32s, best: Int64s, margins: Float64s) -> None:
    """Write the column of each row's first highest score, and its margin over the next one."""
    for i in range(scores.shape[0]):
        first, highest, next_highest = 0, float(scores[i, 0]), -np.inf
        for j in range(1, scores.shape[1]):
            score = float(scores[i, j])
            if score > highest:
                first, highest, next_highest = j, score, highest
            elif score > next_highest:
                next_highest = score
        best[i], margins[i] = first, min(highest - next_highest, LARGE_MARGIN)


def add_labels(hashed: WordHashes, parts: PartRows, gold: Int64s, predicted: Int64s, averaged: AveragedArrays) -> None:
    """Make a perceptron update for wrongly labelled arcs; ``gold`` and ``predicted`` are labels' numbers, int64[n]."""
    wrong = np.flatnonzero(gold != predicted)
    labels, change = np.stack([gold[wrong], predicted[wrong]], 1), np.tile([1.0, -1.0], len(wrong))
    add_labelled(hashed, parts, np.repeat(wrong, 2), labels.reshape(-1), change, averaged)


def add_labelled(
    hashed: WordHashes,
    parts: PartRows,
    arcs: Int64s,
    labels: Int64s,
    delta: Float64s,
    averaged: AveragedArrays,
) -> None:
    """Add ``delta``, float64[n], times the features of some arcs with these labels, both int64[n], to the weights."""
    listed = make_places(hashed, parts.nodes[arcs], parts.codes[arcs])
    change_places(with_labels(listed, labels), delta, averaged)


def with_labels(listed: Places, labels: Int64s) -> Places:
    """Return the places of the weights of parts with these labels, int64[P]."""
    start, places = listed
    return Places(start, (places & ~np.uint32(LINE - 1)) ^ np.repeat(labels.astype(np.uint32), np.diff(start)))
