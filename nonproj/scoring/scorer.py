"""All parts of a sentence: their features, their scores, and the transposed update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.parts.registry import part_set
from nonproj.scoring.hashing import Hashed, hash_tokens
from nonproj.scoring.score import add_parts, score_pairs, score_parts
from nonproj.scoring.templates import TemplateTable, compile_templates
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import PartRows, PartSpace


class Features(NamedTuple):
    """The features of a sentence's parts, ready to be looked up: hashes and rows for each part type."""

    parts: PartSpace
    pairs: list[tuple[Hashed, PartRows]]


class Scorer:
    """Scores all parts of a sentence under one weight table.

    Parameters
    ----------
    files : mapping of str to mapping
        The template files, by part type.
    attributes : sequence of str
        Columns of `Tokens.atoms`.
    parts : str or sequence of str
        The set of part types, as for `nonproj.parts.registry.part_set`.
    """

    def __init__(self, files: Mapping[str, Mapping], attributes: Sequence[str], parts: str | Sequence[str]):
        self.types = part_set(parts)
        self.tables: list[TemplateTable] = [
            compile_templates(files[part_type.name], attributes) for part_type in self.types
        ]

    def features(self, tokens: Tokens, parts: PartSpace, n_weights: int) -> Features:
        """List and hash the parts."""
        pairs = [
            (hash_tokens(tokens, table, n_weights), part_type.rows(parts.arcs, start))
            for part_type, start, table in zip(parts.types, parts.starts, self.tables, strict=True)
        ]
        return Features(parts, pairs)

    def score(self, features: Features, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """Return the scores of all parts, float64[P]."""
        return np.concatenate([score_parts(hashed, rows, weights, scale) for hashed, rows in features.pairs])

    def add(self, features: Features, delta: np.ndarray, step: float, weights: np.ndarray, total: np.ndarray) -> None:
        """Add ``delta``, float64[P], times the features to the weights; for ``step`` see `add_parts`."""
        offsets = features.parts.offsets
        for (hashed, rows), begin, end in zip(features.pairs, offsets, offsets[1:], strict=False):
            add_parts(hashed, rows, delta[begin:end], step, weights, total)


def dense_arc_scores(tokens: Tokens, table: TemplateTable, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Score every pair of words by an arc-factored model; see `nonproj.scoring.score.score_pairs`."""
    return score_pairs(hash_tokens(tokens, table, len(weights)), weights, scale)
