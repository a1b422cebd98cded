"""Scores of parts over tagged words, with the parser's hashing kernels.

The share of a word in the hash of a part is a sum over the template's terms, so that of a tagged word is the sum of
two: the terms about the word itself, by the row of its candidate tag, and the terms about the words beside it, by the
best tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nonproj.dual.tags import JointSpace
from nonproj.kernels.kernel import kernel
from nonproj.parts.geometry import DIRECTION, DISTANCE, distance_code
from nonproj.scoring.hashing import Hashed, hash_tokens
from nonproj.scoring.labels import AllowedLabels, best_label_scores, label_scores
from nonproj.scoring.scorer import Scorer, score_parts
from nonproj.scoring.templates import LABELLED_ARC, TemplateTable
from nonproj.scoring.vocabulary import PADDING, Tokens
from nonproj.types import Int32s, PartRows, PartSpace, Uint8s


class LabelledArcs(NamedTuple):
    """The features of arcs with labels; ``words`` are the arcs' modifiers, as words of the sentence, and ``lines`` the
    lines of labels that each arc may have, None for all.
    """

    hashed: Hashed
    rows: PartRows
    words: np.ndarray
    lines: np.ndarray | None


class JointFeatures(NamedTuple):
    """The features of all parts over tagged words: hashes and rows for each part type that the model has, else None.

    ``labelled`` is None where the model scores arcs without labels.
    """

    parts: PartSpace
    pairs: list[tuple[Hashed, PartRows] | None]
    labelled: LabelledArcs | None = None


class JointTable(NamedTuple):
    """The templates of a part type: their terms about the words beside a part's own, and those about its own."""

    beside: TemplateTable
    own: TemplateTable


def joint_tables(scorer: Scorer) -> dict[str, JointTable]:
    """Return the templates of a model by the names of its part types, and those of labelled arcs if it has any."""
    tables = {part_type.name: table for part_type, table in zip(scorer.types, scorer.tables, strict=True)}
    if scorer.label_table is not None:
        tables[LABELLED_ARC] = scorer.label_table
    found = {}
    for name, table in tables.items():
        beside = table.term_offset != 0
        around = _with_terms(table, beside)._replace(salt=np.zeros_like(table.salt))
        found[name] = JointTable(around, _with_terms(table, ~beside))
    return found


def joint_features(
    tables: Mapping[str, JointTable],
    space: JointSpace,
    parts: PartSpace,
    best: Tokens,
    tagged: Tokens,
    n_weights: int,
    allowed: AllowedLabels | None = None,
) -> JointFeatures:
    """Hash the parts of a sentence over tagged words.

    Parameters
    ----------
    tables : mapping of str to JointTable
        From `joint_tables`.
    space, parts
        From `nonproj.dual.joint.space.joint_space`.
    best, tagged : Tokens
        The sentence with its best tags, and the tagged words as if they were a sentence.
    n_weights : int
        Size of the weight table.
    allowed : AllowedLabels, optional
        Which labels an arc may have; by default all.
    """
    pairs: list[tuple[Hashed, PartRows] | None] = []
    for part_type, start in zip(parts.types, parts.starts, strict=True):
        table = tables.get(part_type.name)
        if table is None:
            pairs.append(None)
            continue
        rows = part_type.rows(parts.arcs, start)
        if part_type.codes[DISTANCE] == "distance":
            _fill_distances(rows.nodes, rows.codes, space.word)
        pairs.append((hash_tagged_words(table, space, best, tagged, n_weights), rows))
    if LABELLED_ARC not in tables:
        return JointFeatures(parts, pairs)
    hashed, arcs = hash_tagged_words(tables[LABELLED_ARC], space, best, tagged, n_weights), pairs[0]
    assert arcs is not None  # all models have arcs
    lines = allowed.of(tagged, arcs[1].nodes) if allowed else None
    return JointFeatures(parts, pairs, LabelledArcs(hashed, arcs[1], space.word[parts.arcs.modifier], lines))


def score_features(
    features: JointFeatures,
    weights: np.ndarray,
    scale: float = 1.0,
    n_labels: int = 1,
    demanded: Mapping[int, int] | None = None,
) -> np.ndarray:
    """Return the scores of all parts, float64[P]; types that the model does not have score 0.

    Where the model scores labels with the arcs, the score of an arc includes that of the best of ``n_labels`` labels,
    or of the one in ``demanded``.
    """
    scores = np.zeros(len(features.parts))
    for i, pair in enumerate(features.pairs):
        if pair is not None:
            scores[features.parts.offsets[i] : features.parts.offsets[i + 1]] = score_parts(*pair, weights, scale)
    if features.labelled:
        hashed, rows, words, lines = features.labelled
        if demanded and lines is not None:
            lines = np.where(np.isin(words, list(demanded)), np.int32(-1), lines)
        of_labels = label_scores(hashed, rows, n_labels, weights, lines)
        scores[: len(of_labels)] += scale * best_label_scores(of_labels, words, demanded)
    return scores


def hash_tagged_words(table: JointTable, space: JointSpace, best: Tokens, tagged: Tokens, n_weights: int) -> Hashed:
    """Compute the share of every tagged word in the hash of every template; see `joint_features`."""
    n_between = table.own.n_between
    around = hash_tokens(best, table.beside, n_weights)
    own = hash_tokens(tagged, table.own._replace(n_between=0), n_weights)
    n_nodes, n_words = best.n_nodes, tagged.n_nodes
    node = np.concatenate([space.word, [n_nodes, n_nodes + 1]])
    plain = own.plain._replace(shares=own.plain.shares + around.plain.shares[:, node])
    # A word between two others stands before the first tagged word of the second: its last tagged word marks it.
    firsts, last = around.sets.firsts, np.append(space.first[1:] - 1, n_words).astype(np.int32)
    atoms = np.zeros((n_words + 2 * PADDING, best.atoms.shape[1]), np.int32)
    atoms[PADDING : PADDING + n_words] = best.atoms[PADDING + space.word]
    if n_between:
        firsts = last.take(firsts[:, space.word], mode="clip")  # what follows the last entry of a row is undefined
    return Hashed(plain, own.sets._replace(atoms=atoms, firsts=firsts, n_between=n_between))


def _with_terms(table: TemplateTable, chosen: np.ndarray) -> TemplateTable:
    """Return the templates with some of their terms only."""
    counts = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int32)
    return table._replace(
        term_start=counts[table.term_start],
        term_template=table.term_template[chosen],
        term_offset=table.term_offset[chosen],
        term_attribute=table.term_attribute[chosen],
        term_coefficient=table.term_coefficient[chosen],
    )


@kernel
def _fill_distances(nodes: Int32s, codes: Uint8s, word: Int32s) -> None:
    """Replace distances between tagged words by those between words; siblings count from each other."""
    n_words, last = word.shape[0], nodes.shape[1] - 1
    for p in range(nodes.shape[0]):
        h, m = nodes[p, 0], nodes[p, last]
        near = h if last == 1 or nodes[p, 1] >= n_words else nodes[p, 1]
        far = m if m < n_words else (nodes[p, last - 1] if nodes[p, last - 1] < n_words else near)
        codes[p, DISTANCE] = distance_code(word[near], word[far], codes[p, DIRECTION] - 1)
