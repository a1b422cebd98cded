"""All parts of a sentence: their features, their scores, and the transposed update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.parts.registry import part_set
from nonproj.scoring.hashing import Hashed, hash_tokens
from nonproj.scoring.label_lines import LabelLines
from nonproj.scoring.labels import add_labelled, best_label_scores, label_parts, label_scores
from nonproj.scoring.score import add_parts, score_pairs, score_parts
from nonproj.scoring.templates import LABELLED_ARC, TemplateTable, compile_templates
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import Float32s, Float64s, Int64s, PartRows, PartSpace


class Features(NamedTuple):
    """The features of a sentence's parts, ready to be looked up: hashes and rows for each part type.

    ``labelled`` are those of the arcs with labels, None where arcs are scored without, and ``lines`` the lines of
    labels that each arc may have, None for all.
    """

    parts: PartSpace
    pairs: list[tuple[Hashed, PartRows]]
    labelled: tuple[Hashed, PartRows] | None = None
    lines: np.ndarray | None = None


def _labelled(features: Features) -> tuple[Hashed, PartRows]:
    """Return the features of arcs with labels."""
    if features.labelled is None:
        raise ValueError("arcs are scored without labels")
    return features.labelled


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
    lines : LabelLines, optional
        Which labels an arc may have; by default all.
    """

    def __init__(
        self,
        files: Mapping[str, Mapping[str, Any]],
        attributes: Sequence[str],
        parts: str | Sequence[str],
        n_labels: int = 0,
        lines: LabelLines | None = None,
    ):
        self.types = part_set(parts)
        self.tables: list[TemplateTable] = [
            compile_templates(files[part_type.name], attributes) for part_type in self.types
        ]
        self.lines = lines
        self.n_labels = n_labels if LABELLED_ARC in files else 0
        self.label_table = compile_templates(files[LABELLED_ARC], attributes) if self.n_labels else None

    def features(self, tokens: Tokens, parts: PartSpace, n_weights: int) -> Features:
        """List and hash the parts."""
        pairs = [
            (hash_tokens(tokens, table, n_weights), part_type.rows(parts.arcs, start))
            for part_type, start, table in zip(parts.types, parts.starts, self.tables, strict=True)
        ]
        if self.label_table is None:
            return Features(parts, pairs)
        rows = pairs[0][1]
        lines = self.lines.of(tokens, rows.nodes) if self.lines else None
        return Features(parts, pairs, (hash_tokens(tokens, self.label_table, n_weights), rows), lines)

    def score(
        self, features: Features, weights: np.ndarray, scale: float = 1.0, demanded: Mapping[int, int] | None = None
    ) -> np.ndarray:
        """Return the scores of all parts, float64[P], those of arcs with their best labels.

        ``demanded`` gives the numbers of the labels that some words must have.
        """
        return self.score_with_labels(features, weights, scale, demanded)[0]

    def score_with_labels(
        self, features: Features, weights: np.ndarray, scale: float = 1.0, demanded: Mapping[int, int] | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return what `score` returns, and what `score_labels` returns if labels are scored with the arcs."""
        scores, of_labels = self.score_unlabelled(features, weights, scale), None
        if features.labelled:
            modifier = features.parts.arcs.modifier
            if demanded and features.lines is not None:  # the label may be one that was never seen with these tags
                bound = np.isin(modifier, list(demanded))
                features = features._replace(lines=np.where(bound, np.int32(-1), features.lines))
            of_labels = self.score_labels(features, weights)
            scores[: len(modifier)] += scale * best_label_scores(of_labels, modifier, demanded)
        return scores, of_labels

    def score_unlabelled(self, features: Features, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """Return the scores of all parts, float64[P], those of arcs without labels."""
        return np.concatenate([score_parts(hashed, rows, weights, scale) for hashed, rows in features.pairs])

    def score_labels(self, features: Features, weights: np.ndarray) -> np.ndarray:
        """Return the score of each label of each arc, [A, n_labels], unscaled: see `nonproj.scoring.labels`."""
        hashed, rows = _labelled(features)
        return label_scores(hashed, rows, self.n_labels, weights, features.lines)

    def score_tree_labels(
        self,
        tokens: Tokens,
        heads: np.ndarray,
        table: TemplateTable,
        n_labels: int,
        tables: Sequence[tuple[np.ndarray, float]],
        known: tuple[Any, ...] | None,
    ) -> np.ndarray:
        """Return the scores of the labels of a tree's arcs, float64[n, n_labels]: see `Parser.label_scores`.

        ``table`` has the labeler's templates; ``tables`` are its weights and their scale, and those of the parser.
        """
        (weights, scale), (parser_weights, parser_scale) = tables
        rows = label_parts(heads)
        lines = self.lines.of(tokens, rows.nodes) if self.lines else None
        scores = label_scores(hash_tokens(tokens, table, len(weights)), rows, n_labels, weights, lines) * scale
        if self.label_table is None:
            return scores
        if known is None:
            hashed = hash_tokens(tokens, self.label_table, len(parser_weights))
            rows = PartRows(np.ascontiguousarray(rows.nodes[:, :2]), rows.codes)
            return scores + label_scores(hashed, rows, n_labels, parser_weights, lines) * parser_scale
        arcs, of_labels = known
        return scores + of_labels[arcs.head == heads[arcs.modifier]] * parser_scale

    def add(self, features: Features, delta: np.ndarray, step: float, weights: np.ndarray, total: np.ndarray) -> None:
        """Add ``delta``, float64[P], times the features to the weights; for ``step`` see `add_parts`."""
        offsets = features.parts.offsets
        for (hashed, rows), begin, end in zip(features.pairs, offsets, offsets[1:], strict=False):
            add_parts(hashed, rows, delta[begin:end], step, weights, total)

    def add_labels(
        self,
        features: Features,
        arcs: Int64s,
        labels: Int64s,
        delta: Float64s,
        step: float,
        weights: Float32s,
        total: Float64s,
    ) -> None:
        """Add ``delta`` times the features of labelled arcs to the weights; an arc may be there with several labels.

        ``arcs`` and ``labels`` are int64[n], ``delta`` float64[n]; for the others see `add_parts`.
        """
        hashed, rows = _labelled(features)
        chosen = PartRows(rows.nodes[arcs], rows.codes[arcs])
        add_labelled(hashed, chosen, labels, delta, step, weights, total)


def dense_arc_scores(tokens: Tokens, table: TemplateTable, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Score every pair of words by an arc-factored model; see `nonproj.scoring.score.score_pairs`."""
    return score_pairs(hash_tokens(tokens, table, len(weights)), weights, scale)
