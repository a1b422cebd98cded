"""The features of each word of a parsed sentence, from which confidence is estimated.

Each kind of input has a model of its own (`KINDS`): given tags, predicted tags, plain text.  The tagger returns margins
with its tags, and the segmenter stores them in the sentence, but only if a classifier needs them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import count_work
from nonproj.confidence.alternatives import costs
from nonproj.dual.exclusion import exclusion_bounds
from nonproj.dual.options import DualOptions
from nonproj.dual.problem import PartsProblem, Problem
from nonproj.dual.subgradient import ARC_WORK, CONTRACTION_WORK, WORD_WORK
from nonproj.dual.subproblems import Instance
from nonproj.kernels.kernel import kernel
from nonproj.scoring.vocabulary import PADDING, UNKNOWN, Tokens
from nonproj.types import ArcSpace, Decoded

FEATURES = (
    "marginal",
    "cost",
    "difference",
    "label",
    "distance",
    "candidates",
    "words",
    "iterations",
    "unknown",
    "modifiers",
    "difference of head",
    "difference of modifiers",
    "marginal of head",
    "label of head",
)
"""The first columns of `Evidence.features`, which do not depend on the origin of words and tags.

``marginal`` is the log-odds of the arc under the first-order model.  ``cost`` and ``difference`` are an upper and a
lower bound on the difference between the best tree with the arc and the best tree without it, under the whole model.
``label`` is the difference between the scores of the two best labels.  ``distance`` is the signed logarithm of the
distance between head and word, 0 for the root; ``words``, ``iterations``, ``candidates`` and ``modifiers`` are
logarithms, too.  ``unknown`` counts the attributes of the word that were not seen in training.  The last four are about
other arcs: the arc into the head, and the least certain arc from the word.
"""

TAG_FEATURES = ("tag", "tag of head")
"""The next columns: the tagger's score margins of the tags of the word and of its head, `LARGE` for the root."""

TEXT_FEATURES = ("token", "token of head", "begin", "end", "inside", "between", "boundary of root")
"""The last columns: the segmenter's margins, by `nonproj.types.Sentence.boundary_margins`, for the tokens of the word
and of its head, for the two boundaries of the sentence, and for the absence of a boundary within it and between word
and head.  ``boundary of root`` is the smaller margin of the sentence's boundaries for words whose head is the root."""

KINDS = {
    "given": FEATURES,
    "tagged": (*FEATURES, *TAG_FEATURES),
    "text": (*FEATURES, *TAG_FEATURES, *TEXT_FEATURES),
}
"""The columns available for words with given tags, for words with tags from the parser's own tagger, and for words
found by its own segmenter."""

WORK_PER_WORD = 100_000
"""Maximum work per word for all bounds of a sentence, in the unit of `nonproj.dual.options.SearchOptions`."""

LARGE = 1e6
"""Maximum difference; it also replaces infinite ones, where there is no other tree."""

_LARGEST_ODDS = 12.0
_COST, _UNKNOWN = FEATURES.index("cost"), FEATURES.index("unknown")
_TAG, _TEXT = len(FEATURES), len(FEATURES) + len(TAG_FEATURES)


class ConfidenceInput(NamedTuple):
    """A parsed sentence of ``n`` words, the input of `gather`.

    Attributes
    ----------
    tokens : Tokens
    problem : Problem
        Over the candidate arcs.
    copies : ndarray of shape (3 A,), float64
        Copies of the arcs' scores where the first bound was lowest, see `nonproj.dual.search.SearchResult`.
    marginals : ndarray of shape (A,), float64
        Marginals of the candidate arcs in the first-order model.
    decoded : Decoded
    labels : ndarray of shape (n,), int64
        The number of each arc's label.
    label_margins : ndarray of shape (n,), float64
        The margin of the label's score over the best other one.
    tag_margins : ndarray of shape (n,), float64, or None
        The margins of the tags of the parser's own tagger; None if the tags are given.
    boundary_margins : ndarray of shape (N, 2), float32, or None
        The margins of the parser's own segmenter: see `nonproj.types.Sentence.boundary_margins`.
    """

    tokens: Tokens
    problem: Problem
    copies: np.ndarray
    marginals: np.ndarray
    decoded: Decoded
    labels: np.ndarray
    label_margins: np.ndarray
    tag_margins: np.ndarray | None = None
    boundary_margins: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """The kind of input, one of `KINDS`."""
        return "given" if self.tag_margins is None else "tagged" if self.boundary_margins is None else "text"


class Evidence(NamedTuple):
    """The features of ``n`` words.

    Attributes
    ----------
    features : ndarray of shape (n, F), float64
        The columns of ``kind``.
    labels, tags : ndarray of shape (n,), int64
        The numbers of each word's label and tag.
    kind : str
        One of `KINDS`.
    """

    features: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    kind: str = "given"


def gather(case: ConfidenceInput, tag_column: int | None, options: DualOptions, limit: float) -> Evidence:
    """Return the features of each word.

    Parameters
    ----------
    case : ConfidenceInput
    tag_column : int or None
        The column of tags in ``case.tokens.atoms``.
    options : DualOptions
        Options of the decoder.
    limit : float
        Where ``cost`` is larger, ``difference`` is not computed but set to it; likewise for the words of highest
        cost if computing it would exceed `WORK_PER_WORD`.
    """
    instance, heads, kind = case.problem.instance, case.decoded.tree, case.kind
    n_nodes = len(heads)
    if isinstance(case.problem, PartsProblem):
        cost = costs(instance, heads, options.single_root)
        wanted = affordable(instance, heads, cost, limit)
        bounds = exclusion_bounds(instance, case.copies, options, heads, wanted)
    else:  # no multipliers, and parts of other shapes
        cost, bounds = np.full(n_nodes, np.inf), np.full(n_nodes, -np.inf)
    features, atoms = np.zeros((n_nodes - 1, len(KINDS[kind]))), case.tokens.atoms[PADDING + 1 : PADDING + n_nodes]
    features[:, _COST], features[:, _UNKNOWN] = np.minimum(cost[1:], LARGE), (atoms == UNKNOWN).sum(axis=1)
    known = (cost <= limit) & (bounds > -np.inf)
    difference = np.minimum(np.where(known, case.decoded.score - bounds, cost), LARGE)
    margins, iterations = case.label_margins.astype(np.float64), float(case.decoded.iterations)
    _fill_features(instance.arcs, heads, case.marginals, difference, margins, iterations, features)
    if case.tag_margins is not None:
        own = np.append(np.minimum(case.tag_margins, LARGE), LARGE)  # the last one is for the root
        features[:, _TAG], features[:, _TAG + 1] = own[:-1], own[heads[1:] - 1]
    if kind == "text" and case.boundary_margins is not None:
        _fill_text_features(heads, case.boundary_margins.astype(np.float64), features)
    tags = atoms[:, tag_column] if tag_column is not None else case.labels * 0
    return Evidence(features, case.labels.astype(np.int64), tags.astype(np.int64), kind)


def affordable(instance: Instance, heads: np.ndarray, cost: np.ndarray, limit: float) -> np.ndarray:
    """Return the words whose bound is computed, bool[N]: those of least cost within the limits on cost and work.

    Examples
    --------
    >>> from nonproj.dual.problem import problem_of
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts, tree = part_space(full_arc_space(2), "sibling"), np.array([-1, 0, 1], np.int32)
    >>> instance = problem_of(parts, np.zeros(len(parts)), DualOptions()).instance
    >>> affordable(instance, tree, np.array([np.inf, 4.0, 9.0]), 5.0).tolist()
    [False, True, False]
    """
    n_nodes, wanted = len(heads), cost <= limit
    head_work = count_work(instance.arcs, instance.starts)
    tree = WORD_WORK * n_nodes + ARC_WORK * len(instance.arcs.head) + CONTRACTION_WORK * n_nodes**2  # at most
    work = tree + head_work + head_work[heads]
    order = np.flatnonzero(wanted)[np.argsort(cost[wanted], kind="stable")]
    wanted[order[np.cumsum(work[order]) > WORK_PER_WORD * n_nodes]] = False
    return wanted


@kernel
def _fill_features(
    arcs: ArcSpace,
    heads: np.ndarray,
    marginals: np.ndarray,
    difference: np.ndarray,
    margins: np.ndarray,
    iterations: float,
    features: np.ndarray,
) -> None:
    """Write the columns `FEATURES`, all but ``cost`` and ``unknown``."""
    n_nodes = heads.shape[0]
    counts, weakest, odds = np.zeros(n_nodes), np.full(n_nodes, LARGE), np.empty(n_nodes)
    odds[0], difference[0] = _LARGEST_ODDS, LARGE
    for m in range(1, n_nodes):
        p = 0.0
        for a in range(arcs.start[m], arcs.start[m + 1]):
            if arcs.head[a] == heads[m]:
                p = marginals[a]
        p = min(max(p, 1e-9), 1.0 - 1e-9)
        odds[m] = min(max(np.log(p / (1.0 - p)), -_LARGEST_ODDS), _LARGEST_ODDS)
        counts[heads[m]] += 1.0
        weakest[heads[m]] = min(weakest[heads[m]], difference[m])
    for m in range(1, n_nodes):
        row, h = features[m - 1], heads[m]
        row[0], row[2], row[3] = odds[m], difference[m], margins[m - 1]
        distance = np.log1p(abs(h - m))
        row[4] = 0.0 if h == 0 else (distance if h > m else -distance)
        row[5] = np.log(arcs.start[m + 1] - arcs.start[m])
        row[6], row[7], row[9] = np.log(n_nodes - 1), np.log1p(iterations), np.log1p(counts[m])
        row[10], row[11], row[12] = difference[h], weakest[m], odds[h]
        row[13] = margins[h - 1] if h > 0 else LARGE


@kernel
def _fill_text_features(heads: np.ndarray, margins: np.ndarray, features: np.ndarray) -> None:
    """Write the columns `TEXT_FEATURES`; ``margins`` are those of `nonproj.types.Sentence`, float64[N, 2]."""
    n_nodes = heads.shape[0]
    begin, end, inside = margins[0, 1], margins[n_nodes - 1, 1], LARGE
    for k in range(1, n_nodes - 1):
        inside = min(inside, -margins[k, 1])
    for m in range(1, n_nodes):
        row, h = features[m - 1], heads[m]
        row[_TEXT], row[_TEXT + 1] = margins[m, 0], margins[h, 0] if h > 0 else LARGE
        row[_TEXT + 2], row[_TEXT + 3], row[_TEXT + 4] = begin, end, inside
        between = inside if h == 0 else LARGE
        for k in range(min(h, m) if h > 0 else m, max(h, m)):
            between = min(between, -margins[k, 1])
        row[_TEXT + 5], row[_TEXT + 6] = between, min(begin, end) if h == 0 else LARGE
