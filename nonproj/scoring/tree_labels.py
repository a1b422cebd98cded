"""The labels of trees: scores of the labels of their arcs, and the best labels of all arcs, by dynamic programming.

The score of a labelling is the sum of the scores of its labels and of its pairs of labels (`label_pairs`).  From the
leaves up, for each label of a word, a Viterbi pass over the labels of its modifiers, from left to right, finds the best
labelling below the word; the scores of the pairs with the word's own label are added to those of the modifiers' labels.
From the root down the labels are read off, and the scores of the best labellings with each other label are computed as
max-marginals.  Over the candidates of each arc the result is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.joined import JoinedTokens, join_heads, split_heads
from nonproj.scoring.label_pairs import CandidateLabels, LabelledTree, PairScorer, candidate_labels, labelled_tree
from nonproj.scoring.labels import forbid_misplaced, label_parts, label_scores, two_best
from nonproj.scoring.scorer import LabelScores, Scorer
from nonproj.scoring.templates import part_templates
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import Float64s, Int64s, PartRows

Table: TypeAlias = "tuple[np.ndarray, float]"
"""A weight table and its scale."""


MOST = 6
"""Maximum number of candidate labels of an arc."""

LABEL_MARGIN = 40.0
"""The margin of the labeler, and of labels that are scored with the arcs: the unit in which other models' scores of
labels are added.  A margin of 100 gained nothing (``research/history.md``)."""

BEAM = 3.0
"""Maximum loss of a candidate label relative to the best one, in units of the labeler's margin."""

_NO_MARGINS = np.empty(0)


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
        Margin with which the labeler was trained.
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

    def scores(
        self,
        batch: JoinedTokens,
        trees: np.ndarray,
        known: LabelScores | None = None,
        demanded: Mapping[int, int] | None = None,
    ) -> np.ndarray:
        """Return the score of each label of each arc, float64[n, n_labels], `NEVER` for those that it cannot have.

        It is the sum of the labeler's score, which depends on the tree; the parser's, if it scores labels with the
        arcs; and those of the network and the encoder, if there are any.

        Parameters
        ----------
        batch : JoinedTokens
            Batch of sentences with ``n`` words in total.
        trees : ndarray, int32
            From `nonproj.scoring.joined.join_heads`.
        known : LabelScores, optional
            From `Scorer.score_batch`, for arcs that include the trees'.
        demanded : mapping of int to int, optional
            The required labels, by node; such a node may have any label.
        """
        (weights, scale), (parser_weights, parser_scale) = self.tables
        rows, scorer = label_parts(trees, batch), self.scorer
        lines = scorer.lines.of(batch, rows.nodes) if scorer.lines else None
        hashed = hash_tokens(batch, self.table, len(weights))
        scores = label_scores(hashed, rows, self.n_labels, weights, lines) * scale
        if scorer.network is not None:
            layer = scorer.network.layer(batch) if known is None or known.layer is None else known.layer
            scores += scorer.network.label_scores(layer, rows.nodes[:, 0], rows.nodes[:, 1])
        if batch.encoded is not None:
            scores += np.concatenate(
                [e.labels(own) for e, own in zip(batch.encoded, split_heads(trees, batch), strict=True)]
            )
        if scorer.label_table is not None and known is None:
            hashed = hash_tokens(batch, scorer.label_table, len(parser_weights))
            arcs = PartRows(np.ascontiguousarray(rows.nodes[:, :2]), rows.codes)
            scores += label_scores(hashed, arcs, self.n_labels, parser_weights, lines) * parser_scale
        elif scorer.label_table is not None and known is not None:
            scores += known.of_labels[known.arcs[:, 0] == trees[known.arcs[:, 1]]] * parser_scale
        if scorer.places is not None:
            free = np.isin(rows.nodes[:, 1], list(demanded)) if demanded else None
            forbid_misplaced(scores, rows.nodes[:, 0], batch.first, scorer.places, free)
        return scores

    def label(
        self,
        batch: JoinedTokens,
        heads: Sequence[np.ndarray],
        known: LabelScores | None = None,
        demanded: Mapping[int, int] | None = None,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the labels of the tree of each sentence.

        Parameters
        ----------
        batch : JoinedTokens
        heads : sequence of ndarray of shape (N,), int32
            A tree for each sentence.
        known : LabelScores, optional
            See `scores`.
        demanded : mapping of int to int, optional
            The number of the required label of each node that has one.

        Returns
        -------
        list of tuple of ndarray
            For each sentence the number of each arc's label in the best labelling, int64[n], and its margin,
            float64[n]: the difference to the score of the best labelling with another label there.
        """
        trees = join_heads(heads, batch)
        scores = self.scores(batch, trees, known, demanded)
        best, margins = two_best(scores)
        if self.pairs is not None:
            words = np.flatnonzero(trees >= 0)
            for word, label in (demanded or {}).items():
                scores[np.searchsorted(words, word), np.arange(scores.shape[1]) != label] = -np.inf
            best = label_tree(self.pairs, batch, trees, scores, self.tables[0], self.margin, None, margins)
        ends = np.cumsum(batch.end - batch.first - 1)[:-1]
        return list(zip(np.split(best, ends), np.split(margins, ends), strict=True))


def label_tree(
    scorer: PairScorer,
    tokens: Tokens | JoinedTokens,
    heads: np.ndarray,
    scores: np.ndarray,
    table: tuple[np.ndarray, float],
    margin: float,
    gold: np.ndarray | None = None,
    margins: np.ndarray | None = None,
) -> np.ndarray:
    """Return the numbers of the best labels of a tree's arcs, int64[n].

    Parameters
    ----------
    scorer : PairScorer
    tokens : Tokens or JoinedTokens
    heads : ndarray of shape (N,), int32
        A tree, or those of a batch from `nonproj.scoring.joined.join_heads`.
    scores : ndarray of shape (n, n_labels), float64
        Scores of each label of each arc.
    table : tuple of ndarray and float
        The weights of the pairs, and their scale.
    margin : float
        Margin with which the labeler was trained; see `BEAM`.
    gold, margins : ndarray, optional
        As for `nonproj.scoring.label_pairs.candidate_labels` and `decode_labels`.
    """
    tree = labelled_tree(heads, tokens if isinstance(tokens, JoinedTokens) else None)
    found = candidate_labels(scores, MOST, BEAM * margin if margin else np.inf, gold, tree)
    return decode_labels(tree, found, scorer.score(tokens, tree, found, *table), margins)[0]


def decode_labels(
    tree: LabelledTree, found: CandidateLabels, pairs: Sequence[np.ndarray], margins: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Return the best label of each arc, int64[n], and the score of the best labelling, of all trees of a batch.

    Parameters
    ----------
    tree : LabelledTree
    found : CandidateLabels
        The labels to choose from, and their scores.
    pairs : sequence of ndarray of shape (P, K, K), float64
        The scores of the pairs of siblings and of grandparents, from `nonproj.scoring.label_pairs.PairScorer.score`.
    margins : ndarray of shape (n,), float64, optional
        Overwritten, where a word has several candidates, by the loss of the best labelling with another one.

    Examples
    --------
    >>> from nonproj.scoring.label_pairs import candidate_labels, labelled_tree
    >>> tree = labelled_tree(np.array([-1, 2, 0, 2], np.int32))
    >>> found = candidate_labels(np.array([[3.0, 2.0], [1.0, 0.0], [3.0, 1.5]]), 2, 9.0)
    >>> siblings, grandparents = np.zeros((5, 2, 2)), np.zeros((3, 2, 2))
    >>> siblings[3, 0, 0] = -2.0  # not label 0 twice
    >>> margins = np.empty(3)
    >>> decode_labels(tree, found, [siblings, grandparents], margins)
    (array([1, 0, 0]), 6.0)
    >>> margins
    array([0.5, 1. , 0.5])
    """
    siblings, grandparents = pairs
    labels, wanted = np.empty(len(tree.words), np.int64), _NO_MARGINS if margins is None else margins
    return labels, _decode_labels(tree, found, siblings, grandparents, labels, wanted)


class LabelChart(NamedTuple):
    """Results of the pass from the leaves to the root.

    Attributes
    ----------
    inside : ndarray of shape (N, K), float64
        The score of the best labelling of the words below a node, and of its own label, for each of its labels.
    forward : ndarray of shape (N, K, K), float64
        ``forward[m, a, b]``: the best score of ``m`` with label ``b``, its siblings to the left, and their pairs, if
        the head has label ``a``.
    """

    inside: np.ndarray
    forward: np.ndarray


@kernel
def _decode_labels(
    tree: LabelledTree,
    found: CandidateLabels,
    siblings: Float64s,
    grandparents: Float64s,
    labels: Int64s,
    margins: Float64s,
) -> float:
    """Write labels, and margins unless their array is empty; return the score of the labelling."""
    n_nodes, most = tree.heads.shape[0], found.labels.shape[1]
    chart = LabelChart(np.empty((n_nodes, most)), np.empty((n_nodes, most, most)))
    _fill_chart(tree, found, siblings, grandparents, chart)
    chosen = np.zeros(n_nodes, np.int64)
    _read_labels(tree, found.counts, siblings, chart.forward, chosen)
    for i in range(tree.words.shape[0]):
        labels[i] = found.labels[tree.words[i], chosen[tree.words[i]]]
    if margins.shape[0] > 0:
        _fill_margins(tree, found, siblings, grandparents, chart, chosen, margins)
    score = 0.0
    for node in range(n_nodes):
        if tree.heads[node] < 0:
            score += chart.inside[node, 0]
    return score


@kernel
def _fill_chart(
    tree: LabelledTree, found: CandidateLabels, siblings: Float64s, grandparents: Float64s, chart: LabelChart
) -> None:
    """Fill the chart from the leaves up."""
    _, _, order, start, modifiers, first, _, _ = tree
    (_, counts, own), (inside, forward) = found, chart
    for i in range(order.shape[0] - 1, -1, -1):
        h = order[i]
        for a in range(counts[h]):
            inside[h, a] = own[h, a]
        if start[h] == start[h + 1]:
            continue
        for j in range(start[h], start[h + 1]):
            m, pair = modifiers[j], siblings[first[h] + j - start[h]]
            for a in range(counts[h]):
                for b in range(counts[m]):
                    best = pair[0, b]
                    if j > start[h]:
                        best = -np.inf
                        for c in range(counts[modifiers[j - 1]]):
                            best = max(best, forward[modifiers[j - 1], a, c] + pair[c, b])
                    forward[m, a, b] = best + inside[m, b] + grandparents[m - 1, a, b]
        m, pair = modifiers[start[h + 1] - 1], siblings[first[h + 1] - 1]
        for a in range(counts[h]):
            best = -np.inf
            for b in range(counts[m]):
                best = max(best, forward[m, a, b] + pair[b, 0])
            inside[h, a] += best


@kernel
def _read_labels(tree: LabelledTree, counts: Int64s, siblings: Float64s, forward: Float64s, chosen: Int64s) -> None:
    """Write the number of each word's candidate in the best labelling, from the root down."""
    _, _, order, start, modifiers, first, _, _ = tree
    for i in range(order.shape[0]):
        h = order[i]
        a, b = chosen[h], 0
        for j in range(start[h + 1] - 1, start[h] - 1, -1):
            m, pair = modifiers[j], siblings[first[h] + j - start[h] + 1]
            best, label = -np.inf, 0
            for c in range(counts[m]):
                score = forward[m, a, c] + pair[c, b]
                if score > best:
                    best, label = score, c
            chosen[m] = b = label


@kernel
def _fill_margins(
    tree: LabelledTree,
    found: CandidateLabels,
    siblings: Float64s,
    grandparents: Float64s,
    chart: LabelChart,
    chosen: Int64s,
    margins: Float64s,
) -> None:
    """Write for each word how much the best labelling loses if the word gets another label."""
    heads, words, order, start, modifiers, first, _, _ = tree
    (_, counts, own), (inside, forward), most = found, chart, chart.inside.shape[1]
    best = np.full(inside.shape, -np.inf)  # of the labellings with each label of each node
    of_tree = np.empty(inside.shape[0])  # the score of the best labelling of each node's tree
    backward, after = np.empty(most), np.empty(most)
    for i in range(order.shape[0]):
        h = order[i]
        of_tree[h] = of_tree[heads[h]] if heads[h] >= 0 else inside[h, 0]
        if heads[h] < 0:
            best[h, 0] = inside[h, 0]
        for a in range(counts[h]):
            outside = best[h, a] - inside[h, a] + own[h, a]
            backward[0], n_next = 0.0, 1  # of the END
            for j in range(start[h + 1] - 1, start[h] - 1, -1):
                m, pair = modifiers[j], siblings[first[h] + j - start[h] + 1]
                for c in range(counts[m]):
                    after[c] = -np.inf
                    for b in range(n_next):
                        after[c] = max(after[c], pair[c, b] + backward[b])
                    best[m, c] = max(best[m, c], outside + forward[m, a, c] + after[c])
                n_next = counts[m]
                for c in range(n_next):
                    backward[c] = inside[m, c] + grandparents[m - 1, a, c] + after[c]
    for i in range(words.shape[0]):
        m = words[i]
        if counts[m] > 1:
            other = -np.inf
            for b in range(counts[m]):
                if b != chosen[m]:
                    other = max(other, best[m, b])
            margins[i] = max(0.0, of_tree[m] - other)
