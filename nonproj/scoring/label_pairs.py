"""Scores of pairs of labels: of adjacent modifiers of a head, and of an arc and the arc into its head.

A pair's features lie in the labeler's weight table, as those of single labels do (`nonproj.scoring.labels`): the second
label picks the weight in its line, and a hash of the first label is xor-ed onto the place of the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.perceptron import AveragedArrays
from nonproj.scoring.hashing import Places, WordHashes, change_places, hash_tokens, list_places, make_places
from nonproj.scoring.joined import JoinedTokens, whole
from nonproj.scoring.labels import LINE, with_labels
from nonproj.scoring.templates import LABEL_PAIRS, TemplateTable, part_templates
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, PartRows

_SPREAD = np.uint32(0x9E3779B1)  # 2**32 over the golden ratio, odd (Knuth 1998, section 6.4)


class LabelledTree(NamedTuple):
    """A tree of ``n`` words and N nodes, prepared for its labeler, or the trees of a batch, with these totals.

    Attributes
    ----------
    heads : ndarray of shape (N,), int32
        -1 for roots and for nodes in the padding of a batch.
    words : ndarray of shape (n,), int32
        The nodes that have heads.
    order : ndarray of shape (N,), int32
        All nodes, each after its head.
    start : ndarray of shape (N + 1,), int32
        The modifiers of ``h``, from left to right, are ``modifiers[start[h]:start[h + 1]]``.
    modifiers : ndarray of shape (n,), int32
    first : ndarray of shape (N + 1,), int32
        The sibling pairs of ``h`` are ``first[h]:first[h + 1]``, from the one at START to the one at END.
    siblings : PartRows
        Pairs of adjacent modifiers, (h, s, m), of all heads that have modifiers.
    grandparents : PartRows
        (g, h, m) for each node ``m`` but the first, in their order; ``g`` is START where ``h`` is the root.
    """

    heads: np.ndarray
    words: np.ndarray
    order: np.ndarray
    start: np.ndarray
    modifiers: np.ndarray
    first: np.ndarray
    siblings: PartRows
    grandparents: PartRows


def labelled_tree(heads: np.ndarray, batch: JoinedTokens | None = None) -> LabelledTree:
    """Return a tree, given its heads, int32[N], with the pairs of arcs whose labels are scored together.

    With a batch, the trees of its sentences are joined as by `nonproj.scoring.joined.join_heads`.

    Raises
    ------
    ValueError
        The heads form a cycle.

    Examples
    --------
    >>> tree = labelled_tree(np.array([-1, 2, 0, 2], np.int32))
    >>> tree.siblings.nodes.tolist()  # node 4 is START, node 5 END
    [[0, 4, 2], [0, 2, 5], [2, 4, 1], [2, 1, 3], [2, 3, 5]]
    >>> tree.grandparents.nodes.tolist()
    [[0, 2, 1], [4, 0, 2], [0, 2, 3]]
    """
    begin, end = (batch.first, batch.end) if batch else whole(len(heads))
    words = np.flatnonzero(heads >= 0).astype(np.int32)
    n_nodes, n_pairs = len(heads), len(words) + np.count_nonzero(np.bincount(heads[words]))
    order, modifiers = np.empty(n_nodes, np.int32), np.empty(len(words), np.int32)
    start, first = np.empty(n_nodes + 1, np.int32), np.empty(n_nodes + 1, np.int32)
    siblings = PartRows(np.zeros((n_pairs, 3), np.int32), np.zeros((n_pairs, 3), np.uint8))
    grandparents = PartRows(np.zeros((n_nodes - 1, 3), np.int32), np.zeros((n_nodes - 1, 3), np.uint8))
    if _fill_modifiers(heads, words, order, start, modifiers, first) < n_nodes:
        raise ValueError(f"the heads {heads[1:].tolist()} form a cycle; a tree is expected")
    tree = LabelledTree(heads, words, order, start, modifiers, first, siblings, grandparents)
    _fill_pairs(tree, begin, end)
    return tree


@kernel
def _fill_modifiers(
    heads: Int32s, words: Int32s, order: Int32s, start: Int32s, modifiers: Int32s, first: Int32s
) -> int:
    """Write the modifiers of each node, and the nodes from the roots down; return the number of nodes reached."""
    n_nodes = heads.shape[0]
    start[:] = 0
    for m in words:
        start[heads[m] + 1] += 1
    first[0] = 0
    for h in range(n_nodes):
        first[h + 1] = first[h] + (start[h + 1] + 1 if start[h + 1] > 0 else 0)
        start[h + 1] += start[h]
    end = start.copy()
    for m in words:
        modifiers[end[heads[m]]] = m
        end[heads[m]] += 1
    count, i = 0, 0
    for node in range(n_nodes):
        if heads[node] < 0:
            order[count] = node
            count += 1
    while i < count:
        for j in range(start[order[i]], start[order[i] + 1]):
            order[count] = modifiers[j]
            count += 1
        i += 1
    return count


@kernel
def _fill_pairs(tree: LabelledTree, begin: Int32s, end: Int32s) -> None:
    """Write the words and codes of each pair."""
    heads, _, _, start, modifiers, first, siblings, grandparents = tree
    for sentence in range(begin.shape[0]):
        root, none = begin[sentence], end[sentence]
        for h in range(root, none):
            s = none
            for p in range(first[h], first[h + 1]):
                j = start[h] + p - first[h]
                m = modifiers[j] if j < start[h + 1] else none + 1
                siblings.nodes[p, 0], siblings.nodes[p, 1], siblings.nodes[p, 2] = h, s, m
                siblings.codes[p, 1] = _sibling_position(h, s, m, none)
                s = m
        for m in range(root + 1, none):
            h = heads[m]
            g = heads[h] if h > root else none
            grandparents.nodes[m - 1, 0], grandparents.nodes[m - 1, 1], grandparents.nodes[m - 1, 2] = g, h, m
            grandparents.codes[m - 1, 1] = 1 if h == root else 2 + 2 * (1 if h > g else 0) + (1 if m > h else 0)


@kernel
def _sibling_position(h: int, s: int, m: int, none: int) -> int:
    """Return the code of a pair's sides: 1 or 2 for a first modifier, 3 or 4 for a last one, 5 to 7 for two."""
    if s == none:
        return 1 + (1 if m > h else 0)
    if m > none:
        return 3 + (1 if s > h else 0)
    return 5 + (1 if s > h else 0) + (1 if m > h else 0)


class CandidateLabels(NamedTuple):
    """The candidate labels of each node, best first; the root, START and END have one, 0.

    Attributes
    ----------
    labels : ndarray of shape (N + 2, K), int64
    counts : ndarray of shape (N + 2,), int64
    scores : ndarray of shape (N + 2, K), float64
    """

    labels: np.ndarray
    counts: np.ndarray
    scores: np.ndarray


def candidate_labels(
    scores: np.ndarray, most: int, beam: float, gold: np.ndarray | None = None, tree: LabelledTree | None = None
) -> CandidateLabels:
    """Return the best labels of each arc.

    Parameters
    ----------
    scores : ndarray of shape (n, n_labels), float64
        Scores of each label of each arc.
    most : int
        Maximum number of labels kept for an arc.
    beam : float
        Labels that score lower than the best by more than this are left out.
    gold : ndarray of shape (n,), int64, optional
        Labels that are always kept, in place of the worst one if necessary.
    tree : LabelledTree, optional
        Tree of the scored words, needed for a batch.

    Examples
    --------
    >>> found = candidate_labels(np.array([[1.0, 5.0, 4.0], [9.0, 0.0, 1.0]]), 3, 2.0)
    >>> found.counts.tolist(), found.labels[1].tolist()
    ([1, 2, 1, 1, 1], [1, 2, 0])
    """
    words = np.arange(1, len(scores) + 1, dtype=np.int32) if tree is None else tree.words
    shape = (len(scores) + 1 if tree is None else len(tree.heads)) + 2, min(most, scores.shape[1])
    found = CandidateLabels(np.zeros(shape, np.int64), np.ones(shape[0], np.int64), np.zeros(shape))
    wanted = np.full(len(words), -1, np.int64) if gold is None else gold
    _choose_candidates(np.ascontiguousarray(scores, np.float64), words, beam, wanted, *found)
    return found


@kernel
def _choose_candidates(
    scores: Float64s, words: Int32s, beam: float, gold: Int64s, labels: Int64s, counts: Int64s, kept: Float64s
) -> None:
    """Write the best labels of each word, by insertion, and the gold one."""
    most = labels.shape[1]
    for i in range(scores.shape[0]):
        n, own, own_scores = 0, labels[words[i]], kept[words[i]]
        highest = -np.inf
        for label in range(scores.shape[1]):
            highest = max(highest, scores[i, label])
        for label in range(scores.shape[1]):
            score = scores[i, label]
            if score < highest - beam or (n == most and score <= own_scores[n - 1]):
                continue
            k = n if n < most else n - 1
            while k > 0 and own_scores[k - 1] < score:
                own[k], own_scores[k] = own[k - 1], own_scores[k - 1]
                k -= 1
            own[k], own_scores[k] = label, score
            n = min(n + 1, most)
        k = 0
        while k < n and own[k] != gold[i]:
            k += 1
        if gold[i] >= 0 and k == n:
            n = min(n + 1, most)
            own[n - 1], own_scores[n - 1] = gold[i], scores[i, gold[i]]
        counts[words[i]] = n


class PairScorer:
    """Scores the pairs of labels of a tree under one weight table.

    Parameters
    ----------
    files : mapping of str to mapping
        The template files; those of `nonproj.scoring.templates.LABEL_PAIRS` among them.
    attributes : sequence of str
        Columns of `Tokens.atoms`.
    """

    def __init__(self, files: Mapping[str, Mapping[str, Any]], attributes: Sequence[str]):
        self.tables: list[TemplateTable] = [part_templates(files[name], attributes) for name in LABEL_PAIRS]

    @classmethod
    def of(cls, files: Mapping[str, Mapping[str, Any]], attributes: Sequence[str]) -> PairScorer | None:
        """Return the scorer of a model with these templates, or None if it does not score pairs of labels."""
        return cls(files, attributes) if LABEL_PAIRS[0] in files else None

    def score(
        self,
        tokens: Tokens | JoinedTokens,
        tree: LabelledTree,
        found: CandidateLabels,
        weights: np.ndarray,
        scale: float = 1.0,
    ) -> list[np.ndarray]:
        """Return the scores of the pairs of candidates, of siblings and of grandparents, float64[P, K, K] each.

        Pairs of arcs with one candidate each score 0, because they make no difference.
        """
        scores = []
        for table, rows in zip(self.tables, (tree.siblings, tree.grandparents), strict=True):
            hashed = hash_tokens(tokens, table, len(weights))
            scores.append(np.zeros((len(rows.nodes), found.labels.shape[1], found.labels.shape[1])))
            _score_label_pairs(hashed, rows, found.labels, found.counts, weights, scale, scores[-1])
        return scores

    def add(
        self, tokens: Tokens, tree: LabelledTree, gold: Int64s, predicted: Int64s, averaged: AveragedArrays
    ) -> None:
        """Make a perceptron update: weights of pairs of gold labels, int64[n], rise, those of predicted ones fall."""
        up, down = (np.concatenate([[0], labels, [0, 0]]) for labels in (gold, predicted))
        for table, rows in zip(self.tables, (tree.siblings, tree.grandparents), strict=True):
            first, second = rows.nodes[:, 1], rows.nodes[:, 2]
            changed = np.flatnonzero((up[first] != down[first]) | (up[second] != down[second]))
            if len(changed):
                hashed = hash_tokens(tokens, table, len(averaged.weights))
                listed = make_places(hashed, rows.nodes[changed], rows.codes[changed])
                for labels, sign in ((up, 1.0), (down, -1.0)):
                    of_first = labels[first[changed]].astype(np.uint32) * _SPREAD >> hashed.plain.shift
                    beside = listed.places ^ np.repeat(of_first, np.diff(listed.start))
                    pairs = with_labels(Places(listed.start, beside), labels[second[changed]])
                    change_places(pairs, np.full(len(changed), sign), averaged)


@kernel
def _line(place: np.uint32, first: int, shift: np.uint32) -> np.uint32:
    """Return the place of the line of weights of a feature combined with the first label of a pair."""
    return np.uint32((place ^ (np.uint32(np.uint32(first) * _SPREAD) >> shift)) & ~np.uint32(LINE - 1))


@kernel
def _score_label_pairs(
    hashed: WordHashes,
    rows: PartRows,
    labels: Int64s,
    counts: Int64s,
    weights: Float32s | Int16s,
    scale: float,
    scores: Float64s,
) -> None:
    """Sum the weights of each pair of candidates, and scale them, where there is a choice."""
    chosen, n = np.empty(rows.nodes.shape[0], np.int64), 0
    for p in range(rows.nodes.shape[0]):
        if counts[rows.nodes[p, 1]] * counts[rows.nodes[p, 2]] > 1:
            chosen[n] = p
            n += 1
    nodes, shift = rows.nodes[chosen[:n]], hashed.plain.shift
    start, places = list_places(hashed, nodes, rows.codes[chosen[:n]])
    for p in range(n):
        one, two, grid = nodes[p, 1], nodes[p, 2], scores[chosen[p]]
        for a in range(counts[one]):
            for i in range(start[p], start[p + 1]):
                line = _line(places[i], labels[one, a], shift)
                for b in range(counts[two]):
                    grid[a, b] += weights[line ^ np.uint32(labels[two, b])]
            for b in range(counts[two]):
                grid[a, b] *= scale
