"""The three higher-order part types together: a sentence and its arcs in, `PartScores` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.scoring.hashing import Hashed, hash_tokens
from nonproj.scoring.listing import Parts, arc_parts, grandparent_parts, sibling_parts
from nonproj.scoring.score import add_parts, score_pairs, score_parts
from nonproj.scoring.templates import TemplateTable, compile_templates
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import ARC, GRANDPARENT, ArcSpace, PartIndex, PartScores

PART_TYPES = ("arc", "sibling", "grandparent")


class Featurised(NamedTuple):
    """A sentence's parts of each type, ready to be looked up: one pair for each part type of the model."""

    pairs: list[tuple[Hashed, Parts]]


class Scorer:
    """Scores all parts of a sentence under one weight table.

    Parameters
    ----------
    files : mapping of str to mapping
        The template files, by part type.
    attributes : sequence of str
        Columns of `Tokens.atoms`.
    model : int
        `ARC`, `SIBLING` or `GRANDPARENT`.
    """

    def __init__(self, files: Mapping[str, Mapping], attributes: Sequence[str], model: int):
        self.model = model
        self.tables: list[TemplateTable] = [
            compile_templates(files[name], attributes) for name in PART_TYPES[: model + 1]
        ]

    def featurise(self, tokens: Tokens, arcs: ArcSpace, index: PartIndex, n_weights: int) -> Featurised:
        """List and hash the parts that the arcs allow."""
        parts = [arc_parts(arcs)]
        if self.model > ARC:
            parts.append(sibling_parts(arcs, index))
        if self.model == GRANDPARENT:
            parts.append(grandparent_parts(arcs, index))
        return Featurised([(hash_tokens(tokens, t, n_weights), p) for t, p in zip(self.tables, parts, strict=True)])

    def score(self, featurised: Featurised, weights: np.ndarray, unit: float = 1.0) -> PartScores:
        """Return the scores of all parts; types the model lacks have none."""
        scores = [score_parts(hashed, parts, weights, unit) for hashed, parts in featurised.pairs]
        return PartScores(*scores, *[np.empty(0) for _ in range(3 - len(scores))])

    def add(
        self, featurised: Featurised, delta: Sequence[np.ndarray], step: float, weights: np.ndarray, total: np.ndarray
    ):
        """Add ``delta`` (float64, aligned with the parts of each type) times the features to the weights."""
        for (hashed, parts), change in zip(featurised.pairs, delta, strict=False):
            add_parts(hashed, parts, change, step, weights, total)


def dense_arc_scores(tokens: Tokens, table: TemplateTable, weights: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Score every pair of words under an arc-factored model.

    Parameters
    ----------
    tokens : Tokens
        Of N nodes.
    table : TemplateTable
        Templates over arcs.
    weights : ndarray, float32 or int16
    unit : float
        What a weight of 1 stands for.

    Returns
    -------
    ndarray of shape (N, N), float64
        ``s[h, m]``; minus infinity on the diagonal and in column 0.
    """
    return score_pairs(hash_tokens(tokens, table, len(weights)), weights, unit)
