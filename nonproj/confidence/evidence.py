"""What is known about each word of a parsed sentence, as numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.automata.compiled import is_compiled
from nonproj.confidence.alternatives import losses
from nonproj.dual.exclusion import exclusion_bounds
from nonproj.dual.options import DualOptions
from nonproj.scoring.labels import two_best as two_best
from nonproj.scoring.vocabulary import MARGIN, UNKNOWN, Tokens
from nonproj.types import Decoded, PartSpace

FEATURES = (
    "marginal",
    "loss",
    "difference",
    "label",
    "distance",
    "candidates",
    "words",
    "iterations",
    "unknown",
    "predicted",
    "modifiers",
    "difference of head",
    "difference of modifiers",
    "marginal of head",
    "label of head",
)
"""The columns of `Evidence.features`.

``marginal`` is the log-odds of the arc in the first-order model.  ``loss`` and ``difference`` are an upper and a lower
bound of the difference between the best tree with the arc and the best tree without it, under the whole model.
``label`` is the difference between the scores of the two best labels.  ``distance`` is the signed logarithm of that
between head and word, 0 for the root; ``words``, ``iterations`` and ``candidates`` are logarithms, too.  ``unknown``
counts the attributes of the word that did not occur in training; ``predicted`` says whether the tagger has replaced the
tags.  The last four are about other arcs: that into the head, and the least certain of those out of the word.
"""

LARGE = 1e6
"""In the place of differences that are larger, or infinite because there is no other tree."""

_LARGEST_ODDS = 12.0


class Case(NamedTuple):
    """A parsed sentence of ``n`` words, as `gather` takes it.

    Attributes
    ----------
    tokens : Tokens
    parts : PartSpace
    scores : ndarray of shape (P,), float64
    marginals : ndarray of shape (A,), float64
        Of the candidate arcs, in the first-order model.
    decoded : Decoded
    lowest : ndarray of shape (3, A) or (0, A), float64
        See `nonproj.dual.branch_and_bound.search_recorded`.
    labels : ndarray of shape (n,), int64
        The number of each arc's label.
    label_margins : ndarray of shape (n,), float64
        By how much it scores more than any other.
    predicted : bool
        Whether the tags are those of the parser's own tagger.
    """

    tokens: Tokens
    parts: PartSpace
    scores: np.ndarray
    marginals: np.ndarray
    decoded: Decoded
    lowest: np.ndarray
    labels: np.ndarray
    label_margins: np.ndarray
    predicted: bool


class Evidence(NamedTuple):
    """What is known about ``n`` words.

    Attributes
    ----------
    features : ndarray of shape (n, len(FEATURES)), float64
    labels, tags : ndarray of shape (n,), int64
        The numbers of each word's label and tag.
    """

    features: np.ndarray
    labels: np.ndarray
    tags: np.ndarray


def gather(case: Case, tag_column: int | None, options: DualOptions, limit: float) -> Evidence:
    """Return what is known about each word.

    Parameters
    ----------
    case : Case
    tag_column : int or None
        The column of tags in ``case.tokens.atoms``.
    options : DualOptions
        Those of the decoder.
    limit : float
        Where ``loss`` is larger, ``difference`` is not computed and equals it.
    """
    parts, scores, heads = case.parts, case.scores, case.decoded.heads
    n_nodes = len(heads)
    if len(parts.types) == 1 or is_compiled(parts):
        loss = losses(parts, scores, heads, options.single_root)
        bounds = exclusion_bounds(parts, scores, case.lowest, options, heads, loss <= limit)
    else:  # no multipliers, and parts of other shapes
        loss, bounds = np.full(n_nodes, np.inf), np.full(n_nodes, -np.inf)
    features = np.zeros((n_nodes - 1, len(FEATURES)))
    facts = float(case.decoded.score), float(case.decoded.iterations), float(case.predicted), limit
    margins = case.label_margins.astype(np.float64)
    _fill_features(parts.arcs, heads, case.marginals, loss, bounds, margins, case.tokens.atoms, facts, features)
    tags = case.tokens.atoms[MARGIN + 1 : MARGIN + n_nodes, tag_column] if tag_column is not None else case.labels * 0
    return Evidence(features, case.labels.astype(np.int64), tags.astype(np.int64))


@kernel
def _fill_features(arcs, heads, marginals, loss, bounds, margins, atoms, facts, features):
    """Write float64[n, len(FEATURES)]."""
    score, iterations, predicted, limit = facts
    n_nodes = heads.shape[0]
    counts, weakest = np.zeros(n_nodes), np.full(n_nodes, LARGE)
    odds, difference = np.empty(n_nodes), np.empty(n_nodes)
    odds[0], difference[0] = _LARGEST_ODDS, LARGE
    for m in range(1, n_nodes):
        p = 0.0
        for a in range(arcs.start[m], arcs.start[m + 1]):
            if arcs.head[a] == heads[m]:
                p = marginals[a]
        p = min(max(p, 1e-9), 1.0 - 1e-9)
        odds[m] = min(max(np.log(p / (1.0 - p)), -_LARGEST_ODDS), _LARGEST_ODDS)
        known = loss[m] <= limit and bounds[m] > -np.inf
        difference[m] = min(score - bounds[m] if known else loss[m], LARGE)
        counts[heads[m]] += 1.0
        weakest[heads[m]] = min(weakest[heads[m]], difference[m])
    for m in range(1, n_nodes):
        row, h = features[m - 1], heads[m]
        row[0], row[1], row[2], row[3] = odds[m], min(loss[m], LARGE), difference[m], margins[m - 1]
        distance = np.log1p(abs(h - m))
        row[4] = 0.0 if h == 0 else (distance if h > m else -distance)
        row[5] = np.log(arcs.start[m + 1] - arcs.start[m])
        row[6], row[7], row[9], row[10] = np.log(n_nodes - 1), np.log1p(iterations), predicted, np.log1p(counts[m])
        for column in range(atoms.shape[1]):
            row[8] += atoms[MARGIN + m, column] == UNKNOWN
        row[11], row[12], row[13] = difference[h], weakest[m], odds[h]
        row[14] = margins[h - 1] if h > 0 else LARGE
