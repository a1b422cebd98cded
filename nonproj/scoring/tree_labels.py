"""The labels of trees: scores of the labels of their arcs, and the best labellings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from nonproj.scoring.batch import Batch, join_heads, join_words
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.label_decoding import label_tree
from nonproj.scoring.label_pairs import PairScorer
from nonproj.scoring.labels import label_parts, label_scores, two_best
from nonproj.scoring.scorer import Known, Scorer
from nonproj.scoring.templates import part_templates
from nonproj.types import PartRows

Table: TypeAlias = "tuple[np.ndarray, float]"
"""A weight table and its scale."""


class TreeLabeler:
    """Labels the trees of a batch of sentences.

    Parameters
    ----------
    scorer : Scorer
        The parser's, which may score labels with the arcs.
    files, attributes
        As for `Scorer`.
    n_labels : int
    margin : float
        That with which the labeler was trained.
    tables : tuple of Table
        The labeler's weights, and the parser's.
    """

    def __init__(
        self,
        scorer: Scorer,
        files: Mapping[str, Mapping[str, Any]],
        attributes: Sequence[str],
        n_labels: int,
        margin: float,
        tables: tuple[Table, Table],
    ):
        self.scorer, self.n_labels, self.margin, self.tables = scorer, n_labels, margin, tables
        self.table = part_templates(files["label"], attributes)
        self.pairs = PairScorer.of(files, attributes)

    def scores(self, batch: Batch, trees: np.ndarray, known: Known | None = None) -> np.ndarray:
        """Return the score of each label of each arc, float64[n, n_labels].

        It is the labeler's, which sees the tree, plus the one with which the arc was scored, if labels are scored with
        the arcs, plus the network's, if there is one.

        Parameters
        ----------
        batch : Batch
            Of sentences of ``n`` words, all told.
        trees : ndarray, int32
            From `nonproj.scoring.batch.join_heads`.
        known : Known, optional
            The scores with which arcs were scored, the trees' among them.
        """
        (weights, scale), (parser_weights, parser_scale) = self.tables
        rows, scorer = label_parts(trees, batch), self.scorer
        lines = scorer.lines.of(batch, rows.nodes) if scorer.lines else None
        hashed = hash_tokens(batch, self.table, len(weights))
        scores = label_scores(hashed, rows, self.n_labels, weights, lines) * scale
        if scorer.network is not None:
            layer = scorer.network.layer(batch) if known is None or known.layer is None else known.layer
            scores += scorer.network.label_scores(layer, rows.nodes[:, 0], rows.nodes[:, 1])
        if scorer.label_table is None:
            return scores
        if known is None:
            hashed = hash_tokens(batch, scorer.label_table, len(parser_weights))
            rows = PartRows(np.ascontiguousarray(rows.nodes[:, :2]), rows.codes)
            return scores + label_scores(hashed, rows, self.n_labels, parser_weights, lines) * parser_scale
        chosen = known.arcs[:, 0] == trees[known.arcs[:, 1]]
        return scores + known.of_labels[chosen] * parser_scale

    def label(
        self,
        batch: Batch,
        heads: Sequence[np.ndarray],
        known: Known | None = None,
        demanded: Sequence[Mapping[int, int]] = (),
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the labels of the tree of each sentence.

        Parameters
        ----------
        batch : Batch
        heads : sequence of ndarray of shape (N,), int32
            A tree for each sentence.
        known : Known, optional
            See `scores`.
        demanded : sequence of mapping of int to int, optional
            For each sentence the words that must have a label, and its number.

        Returns
        -------
        list of tuple of ndarray
            For each sentence the number of each arc's label in the best labelling, int64[n], and its margin,
            float64[n]: by how much less the best labelling scores that has another label there.
        """
        trees = join_heads(heads, batch)
        scores = self.scores(batch, trees, known)
        best, margins = two_best(scores)
        if self.pairs is not None:
            words = np.flatnonzero(trees >= 0)
            for word, label in join_words(demanded, batch).items():
                scores[np.searchsorted(words, word), np.arange(scores.shape[1]) != label] = -np.inf
            best = label_tree(self.pairs, batch, trees, scores, self.tables[0], self.margin, None, margins)
        ends = np.cumsum([len(each) - 1 for each in heads])[:-1]
        return list(zip(np.split(best, ends), np.split(margins, ends), strict=True))
