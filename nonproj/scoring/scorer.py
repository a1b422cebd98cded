"""All parts of a sentence: their features, their scores, and the transposed update."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.parts.registry import part_set
from nonproj.scoring.batch import Batch, alone, join_rows
from nonproj.scoring.hashing import Hashed, hash_tokens
from nonproj.scoring.label_lines import LabelLines
from nonproj.scoring.labels import add_labelled, best_label_scores, label_scores
from nonproj.scoring.network import Layer, Network
from nonproj.scoring.score import add_parts, score_pairs_of, score_parts
from nonproj.scoring.templates import LABELLED_ARC, TemplateTable, part_templates
from nonproj.scoring.vocabulary import Tokens
from nonproj.types import Float32s, Float64s, Int64s, PartRows, PartSpace


class Features(NamedTuple):
    """The features of a sentence's parts, ready to be looked up: hashes and rows for each part type.

    ``labelled`` are those of the arcs with labels, None where arcs are scored without, and ``lines`` the lines of
    labels that each arc may have, None for all.  ``network`` are scores to be added to those of the arcs, float64[A].
    """

    parts: PartSpace
    pairs: list[tuple[Hashed, PartRows]]
    labelled: tuple[Hashed, PartRows] | None = None
    lines: np.ndarray | None = None
    network: np.ndarray | None = None


class Known(NamedTuple):
    """The scores of labels with which the arcs of a batch were scored.

    Attributes
    ----------
    arcs : ndarray of shape (A, 2), int32
        Heads and modifiers, as nodes of the batch.
    of_labels : ndarray of shape (A, n_labels)
        Not scaled.
    layer : Layer or None
        Of the network, if there is one.
    """

    arcs: np.ndarray
    of_labels: np.ndarray
    layer: Layer | None


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
    network : Network, optional
        A network whose scores are added to those of the arcs.
    """

    def __init__(
        self,
        files: Mapping[str, Mapping[str, Any]],
        attributes: Sequence[str],
        parts: str | Sequence[str],
        n_labels: int = 0,
        lines: LabelLines | None = None,
        network: Network | None = None,
    ):
        self.types = part_set(parts)
        self.tables: list[TemplateTable] = [
            part_templates(files[part_type.name], attributes) for part_type in self.types
        ]
        self.lines, self.network = lines, network
        self.n_labels = n_labels if LABELLED_ARC in files else 0
        self.label_table = part_templates(files[LABELLED_ARC], attributes) if self.n_labels else None

    def features(self, tokens: Tokens, parts: PartSpace, n_weights: int) -> Features:
        """List and hash the parts."""
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
            of_labels = label_scores(
                *_labelled(features), self.n_labels, weights, _free(features.lines, modifier, demanded)
            )
            scores[: len(modifier)] += scale * best_label_scores(of_labels, modifier, demanded)
        return scores, of_labels

    def score_batch(
        self,
        batch: Batch,
        spaces: Sequence[PartSpace],
        weights: np.ndarray,
        scale: float = 1.0,
        demanded: Mapping[int, int] | None = None,
    ) -> tuple[list[np.ndarray], Known | None]:
        """Score the parts of all sentences of a batch.

        Parameters
        ----------
        batch : Batch
        spaces : sequence of PartSpace
            The parts of each sentence.
        weights, scale, demanded
            As for `score`, but with the batch's numbers of words.

        Returns
        -------
        scores : list of ndarray, float64[P]
        known : Known or None
            If labels are scored with the arcs.
        """
        scores, known = [], None
        layer = self.network.layer(batch) if self.network is not None else None
        for i, (part_type, table) in enumerate(zip(self.types, self.tables, strict=True)):
            rows = join_rows([part_type.rows(parts.arcs, parts.starts[i]) for parts in spaces], batch)
            scores.append(score_parts(hash_tokens(batch, table, len(weights)), rows, weights, scale))
            if i == 0 and self.network is not None and layer is not None:
                scores[0] += self.network.scores(layer, rows.nodes[:, 0], rows.nodes[:, 1])
            if i == 0 and self.label_table is not None:
                modifier = rows.nodes[:, 1]
                lines = _free(self.lines.of(batch, rows.nodes) if self.lines else None, modifier, demanded)
                hashed = hash_tokens(batch, self.label_table, len(weights))
                known = Known(rows.nodes, label_scores(hashed, rows, self.n_labels, weights, lines), layer)
                scores[0] += scale * best_label_scores(known.of_labels, modifier, demanded)
        return [np.concatenate(each) for each in _split(scores, spaces)], known

    def score_unlabelled(self, features: Features, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """Return the scores of all parts, float64[P], those of arcs without labels."""
        scores = np.concatenate([score_parts(hashed, rows, weights, scale) for hashed, rows in features.pairs])
        if features.network is not None:
            scores[: len(features.network)] += features.network
        return scores

    def score_labels(self, features: Features, weights: np.ndarray) -> np.ndarray:
        """Return the score of each label of each arc, [A, n_labels], unscaled: see `nonproj.scoring.labels`."""
        hashed, rows = _labelled(features)
        return label_scores(hashed, rows, self.n_labels, weights, features.lines)

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


def _free(lines: np.ndarray | None, modifier: np.ndarray, demanded: Mapping[int, int] | None) -> np.ndarray | None:
    """Return all lines for arcs into words whose label is demanded: it may never have been seen with these tags."""
    if not demanded or lines is None:
        return lines
    return np.where(np.isin(modifier, list(demanded)), np.int32(-1), lines)


def _split(scores: Sequence[np.ndarray], spaces: Sequence[PartSpace]) -> Iterator[list[np.ndarray]]:
    """Yield for each sentence the scores of its parts, given those of each type for all sentences."""
    done = [0] * len(scores)
    for parts in spaces:
        sizes = [end - begin for begin, end in itertools.pairwise(parts.offsets)]
        ends = [begin + size for begin, size in zip(done, sizes, strict=True)]
        yield [each[begin:end] for each, begin, end in zip(scores, done, ends, strict=True)]
        done = ends


def dense_arc_scores(tokens: Tokens, table: TemplateTable, weights: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Score every pair of words by an arc-factored model; see `nonproj.scoring.score.score_pairs`."""
    return dense_scores_of_batch(alone(tokens), table, weights, scale)[0]


def dense_scores_of_batch(
    batch: Batch, table: TemplateTable, weights: np.ndarray, scale: float = 1.0
) -> list[np.ndarray]:
    """Score every pair of words of each sentence; see `nonproj.scoring.score.score_pairs`."""
    return score_pairs_of((batch.first, batch.end), hash_tokens(batch, table, len(weights)), weights, scale)
