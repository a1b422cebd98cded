"""Scores of parts over tagged words, with the parser's hashing kernels.

The share of a word in the hash of a part is a sum over the template's terms, so that of a tagged word is the sum of
two: the terms about the word itself, by the row of its candidate tag, and the terms about the words beside it, by the
best tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.geometry import DIRECTION, DISTANCE, distance_code
from nonproj.scoring.hashing import WordHashes, hash_tokens
from nonproj.scoring.joined import JoinedTokens, join, join_rows
from nonproj.scoring.labels import best_label_scores
from nonproj.scoring.scorer import Scorer, score_parts
from nonproj.scoring.templates import LABELLED_ARC, TemplateTable
from nonproj.scoring.vocabulary import OF_SENTENCE, PADDING, TokenEncoder, Tokens
from nonproj.types import Int32s, PartRows, PartSpace, Sentence, Uint8s
from nonproj_systems.joint_tags.space import JointSpace


class TaggedWords(NamedTuple):
    """The tagged words of some sentences, each one's as if they were a sentence.

    Attributes
    ----------
    best : JoinedTokens
        The sentences with their best tags.
    own : JoinedTokens
        The tagged words.
    word : ndarray of shape (own.n_nodes,), int32
        The word that each tagged word is; a node between sentences is the one as far behind the sentence.
    last : ndarray of shape (best.n_nodes + 1,), int32
        The last tagged word of each word; of the end of a sentence, the end of its tagged words.
    """

    best: JoinedTokens
    own: JoinedTokens
    word: np.ndarray
    last: np.ndarray


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


def encode_readings(encoder: TokenEncoder, rows: Sequence[list[str]], tokens: Tokens, nodes: Int32s) -> Tokens:
    """Return words with several rows each, as integers.

    ``rows`` are those of all words but the root; ``nodes`` are their nodes in the sentence, that of the root first, and
    ``tokens`` the sentence with one row for each word.
    """
    readings = encoder.encode(Sentence(list(rows)))
    for column in (encoder.attributes.index(name) for name in OF_SENTENCE if name in encoder.attributes):
        readings.atoms[PADDING : PADDING + len(nodes), column] = tokens.atoms[PADDING + nodes, column]
    return readings


def join_tagged(spaces: Sequence[JointSpace], best: Sequence[Tokens], own: Sequence[Tokens]) -> TaggedWords:
    """Join sentences with their best tags, and their tagged words as if each one's were a sentence."""
    words, tagged = join(best), join(own)
    word, last = np.zeros(tagged.n_nodes, np.int32), np.zeros(words.n_nodes + 1, np.int32)
    bounds = (each.tolist() for batch in (words, tagged) for each in (batch.first, batch.end))
    for space, first, end, begin, stop in zip(spaces, *bounds, strict=True):
        word[begin:stop] = first + space.word
        behind = word[stop : stop + 2 * PADDING]
        behind[:] = np.arange(end, end + len(behind))
        last[first:end], last[end] = begin + space.first[1:] - 1, stop
    return TaggedWords(words, tagged, word, last)


def score_jointly(
    scorer: Scorer,
    tables: Mapping[str, JointTable],
    words: TaggedWords,
    spaces: Sequence[tuple[JointSpace, PartSpace]],
    weights: np.ndarray,
    scale: float = 1.0,
    demanded: Mapping[int, int] | None = None,
) -> list[np.ndarray]:
    """Score the parts over the tagged words of some sentences; part types that the model does not have score 0.

    Parameters
    ----------
    scorer : Scorer
    tables : mapping of str to JointTable
        From `joint_tables`.
    words : TaggedWords
    spaces : sequence of tuple of JointSpace and PartSpace
        Spaces of each sentence, from `nonproj_systems.joint_tags.space.joint_space`.
    weights, scale
        As for `Scorer.score`.
    demanded : mapping of int to int, optional
        The labels that some words of ``words.best`` must have.

    Returns
    -------
    list of ndarray of shape (P,), float64
        Where the model scores labels with the arcs, the score of an arc includes that of its best or demanded label.
    """
    found = []
    for i, part_type in enumerate(spaces[0][1].types):
        of_sentences = [joint_rows(space, parts, i) for space, parts in spaces]
        rows = join_rows(of_sentences, words.own)
        if part_type.name in tables:
            scores = score_parts(hash_tagged_words(tables[part_type.name], words, len(weights)), rows, weights, scale)
        else:
            scores = np.zeros(len(rows.nodes))
        if i == 0 and LABELLED_ARC in tables:
            hashed = hash_tagged_words(tables[LABELLED_ARC], words, len(weights))
            scores += scale * _best_labels(scorer, hashed, rows, words, weights, demanded)
        if words.best.encoded is not None and part_type.name in tables:
            own = zip(words.best.encoded, spaces, of_sentences, strict=True)
            scores += np.concatenate([e.parts(part_type.name, word_of(space)[r.nodes]) for e, (space, _), r in own])
        if i == 0 and scorer.network is not None:
            layer = scorer.network.layer(words.best, (words.own, words.word))
            scores += scorer.network.scores(layer, rows.nodes[:, 0], rows.nodes[:, 1])
        found.append(np.split(scores, np.cumsum([len(own.nodes) for own in of_sentences])[:-1]))
    return [np.concatenate(own) for own in zip(*found, strict=True)]


def _best_labels(
    scorer: Scorer,
    hashed: WordHashes,
    arcs: PartRows,
    words: TaggedWords,
    weights: np.ndarray,
    demanded: Mapping[int, int] | None,
) -> np.ndarray:
    """Return the score of each arc's best or demanded label, unscaled, float64[A]."""
    known = demanded or {}
    own = {tagged: known[word] for tagged, word in enumerate(words.word.tolist()) if word in known}
    return best_label_scores(scorer.of_labels(words.own, hashed, arcs, weights, own), arcs.nodes[:, 1], own)


def joint_rows(space: JointSpace, parts: PartSpace, number: int) -> PartRows:
    """Return the parts of a type over tagged words; their distances are those between words."""
    part_type = parts.types[number]
    rows = part_type.rows(parts.arcs, parts.starts[number])
    if part_type.codes[DISTANCE] == "distance":
        _fill_distances(rows.nodes, rows.codes, space.word)
    return rows


def word_of(space: JointSpace) -> Int32s:
    """Return the word of each tagged word, and of START and END, which are numbered behind them."""
    n_nodes = len(space.words.start) - 1
    return np.concatenate([space.word, [n_nodes, n_nodes + 1]]).astype(np.int32)


def hash_tagged_words(table: JointTable, words: TaggedWords, n_weights: int) -> WordHashes:
    """Compute the share of every tagged word in the hash of every template."""
    best, tagged, n_between = words.best, words.own, table.own.n_between
    around = hash_tokens(best, table.beside, n_weights)
    own = hash_tokens(tagged, table.own._replace(n_between=0), n_weights)
    node = np.concatenate([words.word, [best.n_nodes, best.n_nodes + 1]])
    plain = own.plain._replace(shares=own.plain.shares + around.plain.shares[:, node])
    # A word between two others stands before the first tagged word of the second: its last tagged word marks it.
    firsts = around.sets.firsts
    atoms = np.zeros((tagged.n_nodes + 2 * PADDING, best.atoms.shape[1]), np.int32)
    atoms[PADDING : PADDING + tagged.n_nodes] = best.atoms[PADDING + words.word]
    if n_between:
        firsts = words.last.take(
            firsts[:, words.word], mode="clip"
        )  # what follows the last entry of a row is undefined
    return WordHashes(plain, own.sets._replace(atoms=atoms, firsts=firsts, n_between=n_between))


def _with_terms(table: TemplateTable, chosen: np.ndarray) -> TemplateTable:
    """Return the templates with some of their terms only."""
    counts = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int32)
    return table._replace(
        term_start=counts[table.term_start],
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
