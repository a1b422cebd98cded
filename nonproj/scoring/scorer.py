"""All parts of a sentence: their features, their scores, ``F w``, and the transposed update, ``w += F' delta``.

A row of F has a one at the place of each feature of a part, see `nonproj.scoring.hashing`; w is a weight table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.perceptron import AveragedArrays
from nonproj.linear.weights import zero_of
from nonproj.parts.geometry import DIRECTION, DISTANCE, direction_code, distance_code
from nonproj.parts.registry import part_set
from nonproj.scoring.hashing import (
    BLOCK,
    WordHashes,
    change_places,
    hash_tokens,
    make_places,
    new_block,
    write_places,
)
from nonproj.scoring.joined import JoinedTokens, join, join_rows
from nonproj.scoring.labels import AllowedLabels, add_labelled, best_label_scores, forbid_misplaced, label_scores
from nonproj.scoring.network import HiddenSums, Network
from nonproj.scoring.templates import LABELLED_ARC, TemplateTable, part_templates
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, PartRows, PartSpace, Uint8s


class Features(NamedTuple):
    """The features of a sentence's parts, ready to be looked up: hashes and rows for each part type.

    ``labelled`` are the features of labelled arcs, None if labels are not scored with them, and ``lines`` the lines of
    labels that each arc may have, None for all.  ``network`` are scores to be added to those of the arcs, float64[A].
    """

    parts: PartSpace
    pairs: list[tuple[WordHashes, PartRows]]
    labelled: tuple[WordHashes, PartRows] | None = None
    lines: np.ndarray | None = None
    network: np.ndarray | None = None


class LabelScores(NamedTuple):
    """The scores of the labels of a batch's arcs; the arcs' own scores include the best ones.

    Attributes
    ----------
    arcs : ndarray of shape (A, 2), int32
        Heads and modifiers, as nodes of the batch.
    of_labels : ndarray of shape (A, n_labels)
        Not scaled.
    layer : HiddenSums or None
        Sums of the network, if there is one.
    """

    arcs: np.ndarray
    of_labels: np.ndarray
    layer: HiddenSums | None


class Scorer:
    """Scores all parts of a sentence under one weight table.

    If the model scores labels with the arcs (`nonproj.scoring.templates.LABELLED_ARC`), the score of an arc includes
    that of its best label.  Given the tree, labels are independent of each other, so the best tree is that of the best
    labelled tree.

    Parameters
    ----------
    files : mapping of str to mapping
        The template files, by part type.
    attributes : sequence of str
        Columns of `Tokens.atoms`.
    parts : str or sequence of str
        The set of part types, as for `nonproj.parts.registry.part_set`.
    n_labels : int
        Number of labels.
    lines : AllowedLabels, optional
        Labels that an arc may have; by default all.
    network : Network, optional
        A network whose scores are added to those of the arcs.
    places : ndarray of shape (2, n_labels), uint8, optional
        Masks of labels by place, as for `nonproj.scoring.labels.forbid_misplaced`; by default all are possible.
    """

    def __init__(
        self,
        files: Mapping[str, Mapping[str, Any]],
        attributes: Sequence[str],
        parts: str | Sequence[str],
        n_labels: int = 0,
        lines: AllowedLabels | None = None,
        network: Network | None = None,
        places: np.ndarray | None = None,
    ):
        self.types = part_set(parts)
        self.tables: list[TemplateTable] = [
            part_templates(files[part_type.name], attributes) for part_type in self.types
        ]
        self.lines, self.network, self.places = lines, network, places
        self.n_labels = n_labels if LABELLED_ARC in files else 0
        self.label_table = part_templates(files[LABELLED_ARC], attributes) if self.n_labels else None

    def features(self, tokens: Tokens, parts: PartSpace, n_weights: int) -> Features:
        """Return the features of a sentence's parts, hashed for a table of ``n_weights`` weights."""
        pairs = [
            (hash_tokens(tokens, table, n_weights), part_type.rows(parts.arcs, start))
            for part_type, start, table in zip(parts.types, parts.starts, self.tables, strict=True)
        ]
        added = None
        if self.network is not None:
            added = self.network.scores(self.network.layer(tokens), parts.arcs.head, parts.arcs.modifier)
        if self.label_table is None:
            return Features(parts, pairs, network=added)
        rows = pairs[0][1]
        lines = self.lines.of(tokens, rows.nodes) if self.lines else None
        return Features(parts, pairs, (hash_tokens(tokens, self.label_table, n_weights), rows), lines, added)

    def score_batch(
        self,
        batch: JoinedTokens,
        spaces: Sequence[PartSpace],
        weights: np.ndarray,
        scale: float = 1.0,
        demanded: Mapping[int, int] | None = None,
    ) -> tuple[list[np.ndarray], LabelScores | None]:
        """Score the parts of all sentences of a batch.

        Parameters
        ----------
        batch : JoinedTokens
        spaces : sequence of PartSpace
            The parts of each sentence.
        weights : ndarray, float32 or int16
        scale : float
            Factor of the sums of weights.
        demanded : mapping of int to int, optional
            The numbers of the labels that some words of the batch must have.

        Returns
        -------
        scores : list of ndarray, float64[P]
            The scores of arcs include those of their best labels.
        known : LabelScores or None
            None unless labels are scored with the arcs.
        """
        scores, known = [], None
        arcs, starts = list(map(attrgetter("arcs"), spaces)), list(map(attrgetter("starts"), spaces))
        layer = self.network.layer(batch) if self.network is not None else None
        for i, (part_type, table) in enumerate(zip(self.types, self.tables, strict=True)):
            of_sentences = list(map(part_type.rows, arcs, map(itemgetter(i), starts)))
            rows = join_rows(of_sentences, batch)
            scores.append(score_parts(hash_tokens(batch, table, len(weights)), rows, weights, scale))
            if batch.encoded is not None:
                own = zip(batch.encoded, of_sentences, strict=True)
                scores[i] += np.concatenate([encoded.parts(part_type.name, each.nodes) for encoded, each in own])
            if i == 0 and self.network is not None and layer is not None:
                scores[0] += self.network.scores(layer, rows.nodes[:, 0], rows.nodes[:, 1])
            if i == 0 and self.label_table is not None:
                hashed = hash_tokens(batch, self.label_table, len(weights))
                known = LabelScores(rows.nodes, self.of_labels(batch, hashed, rows, weights, demanded), layer)
                scores[0] += scale * best_label_scores(known.of_labels, rows.nodes[:, 1], demanded)
        sizes = np.diff(list(map(attrgetter("offsets"), spaces)))
        by_type = map(np.split, scores, np.cumsum(sizes, axis=0)[:-1].T)
        return list(map(np.concatenate, zip(*by_type, strict=True))), known

    def of_labels(
        self,
        batch: JoinedTokens,
        hashed: WordHashes,
        arcs: PartRows,
        weights: np.ndarray,
        demanded: Mapping[int, int] | None = None,
    ) -> np.ndarray:
        """Return the score of each label of each arc, [A, n_labels], unscaled, `NEVER` for those that it cannot have.

        A word whose label is demanded can have any, even one unseen in its place or with its tags.
        """
        lines = self.lines.of(batch, arcs.nodes) if self.lines else None
        free = np.isin(arcs.nodes[:, 1], list(demanded)) if demanded else None
        if lines is not None and free is not None:
            lines = np.where(free, np.int32(-1), lines)
        scores = label_scores(hashed, arcs, self.n_labels, weights, lines)
        if self.places is not None:
            forbid_misplaced(scores, arcs.nodes[:, 0], batch.first, self.places, free)
        return scores

    def score_unlabelled(self, features: Features, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """Return the scores of all parts, float64[P]; those of arcs exclude labels."""
        scores = np.concatenate([score_parts(hashed, rows, weights, scale) for hashed, rows in features.pairs])
        if features.network is not None:
            scores[: len(features.network)] += features.network
        return scores

    def score_labels(self, features: Features, weights: np.ndarray) -> np.ndarray:
        """Return the score of each label of each arc, [A, n_labels], unscaled: see `nonproj.scoring.labels`.

        Only for models that score labels with the arcs.
        """
        assert features.labelled is not None
        return label_scores(*features.labelled, self.n_labels, weights, features.lines)

    def add(self, features: Features, delta: np.ndarray, averaged: AveragedArrays) -> None:
        """Add ``delta``, float64[P], times the features to the weights."""
        offsets = features.parts.offsets
        for (hashed, rows), begin, end in zip(features.pairs, offsets, offsets[1:], strict=False):
            add_parts(hashed, rows, delta[begin:end], averaged)

    def add_labels(
        self, features: Features, arcs: Int64s, labels: Int64s, delta: Float64s, averaged: AveragedArrays
    ) -> None:
        """Add ``delta`` times the features of labelled arcs to the weights; an arc may occur with several labels.

        ``arcs`` and ``labels`` are int64[n], ``delta`` float64[n].
        """
        assert features.labelled is not None
        hashed, rows = features.labelled
        add_labelled(hashed, rows, arcs, labels, delta, averaged)


def dense_arc_scores(tokens: Tokens, table: TemplateTable, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Score every pair of words of one sentence by an arc-factored model: see `score_pairs`."""
    batch = join([tokens])
    return score_pairs(batch, hash_tokens(batch, table, len(weights)), weights, scale)[0]


def score_pairs(batch: JoinedTokens, hashed: WordHashes, weights: np.ndarray, scale: float = 1.0) -> list[np.ndarray]:
    """Return the score of every arc of each sentence: ``s[h, m]``, float64[N, N].

    It is minus infinity on the diagonal and in column 0.  ``hashed`` is the batch under templates of arcs; for the
    other parameters see `score_parts`.
    """
    sizes = (batch.end - batch.first).astype(np.int64)
    ends = np.cumsum(sizes * sizes).tolist()
    flat = np.empty(ends[-1])
    _score_pairs(hashed, batch.first, batch.end, weights, float(scale), flat)
    scores, begin = [], 0
    for n_nodes, end in zip(sizes.tolist(), ends, strict=True):
        scores.append(flat[begin:end].reshape(n_nodes, n_nodes))
        begin = end
    return scores


def score_parts(hashed: WordHashes, parts: PartRows, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return the score of each part.

    Parameters
    ----------
    hashed : WordHashes
        From `hash_tokens`, for the same type of part.
    parts : PartRows
        The P parts.
    weights : ndarray, float32 or int16
        A table whose size is a power of two.
    scale : float
        Factor of all scores, from `nonproj.linear.weights.quantise`.

    Returns
    -------
    ndarray of shape (P,), float64
    """
    scores = np.empty(parts.nodes.shape[0])
    _score_parts(hashed, parts.nodes, parts.codes, weights, float(scale), scores)
    return scores


def add_parts(hashed: WordHashes, parts: PartRows, delta: np.ndarray, averaged: AveragedArrays) -> None:
    """Add ``delta`` times each part's features to the weights, and this times the step number to the running total.

    Parameters
    ----------
    hashed, parts
        As for `score_parts`.
    delta : ndarray of shape (P,), float64
        Gold minus predicted; parts of delta 0 cost nothing.
    averaged : AveragedArrays
        Changed in place; for lazy averaging, the average over ``T`` updates is ``weights - total / T``.
    """
    changed = np.flatnonzero(delta)
    listed = make_places(hashed, parts.nodes[changed], parts.codes[changed])
    change_places(listed, delta[changed], averaged)


@kernel
def _score_parts(
    hashed: WordHashes, nodes: Int32s, codes: Uint8s, weights: Float32s | Int16s, scale: float, scores: Float64s
) -> None:
    """Sum the weights at each part's places."""
    block = new_block(hashed, min(BLOCK, nodes.shape[0]))
    start, places = block
    memory = weights.view(np.uint8)
    for first in range(0, nodes.shape[0], BLOCK):
        for p in range(write_places(hashed, nodes, codes, first, block, memory, weights.itemsize)):
            total = zero_of(weights)
            for i in range(start[p], start[p + 1]):
                total += weights[places[i]]
            scores[first + p] = total * scale


@kernel
def _score_pairs(
    hashed: WordHashes, begin: Int32s, end: Int32s, weights: Float32s | Int16s, scale: float, scores: Float64s
) -> None:
    """Write the scores of all arcs of each sentence, by head and modifier; minus infinity where there is no arc."""
    nodes, codes, filled = np.empty((BLOCK, 2), np.int32), np.zeros((BLOCK, 3), np.uint8), np.empty(BLOCK, np.int64)
    block, memory, row = new_block(hashed, BLOCK), weights.view(np.uint8), 0
    start, places = block
    for s in range(begin.shape[0]):
        h, m, n_nodes = begin[s], begin[s], end[s] - begin[s]
        last = row + n_nodes * n_nodes
        while row < last:
            count = 0
            while count < BLOCK and row < last:
                if m == h or m == begin[s]:
                    scores[row] = -np.inf
                else:
                    direction = direction_code(h, m)
                    nodes[count, 0], nodes[count, 1], filled[count] = h, m, row
                    codes[count, DIRECTION], codes[count, DISTANCE] = direction, distance_code(h, m, direction - 1)
                    count += 1
                row, m = row + 1, m + 1
                if m == end[s]:
                    h, m = h + 1, begin[s]
            for p in range(write_places(hashed, nodes[:count], codes, 0, block, memory, weights.itemsize)):
                total = zero_of(weights)
                for i in range(start[p], start[p + 1]):
                    total += weights[places[i]]
                scores[filled[p]] = total * scale
