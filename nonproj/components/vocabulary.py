"""The numbers of strings, word clusters and labels: from here on, components learn from numbers.

Labels that compete for the same arcs share lines of the weight table: see `nonproj.learning.label_numbers`.
"""

from __future__ import annotations

import numpy as np

from nonproj.components.base import Component, FitContext, Vocabulary
from nonproj.components.continuing import vocabulary_of
from nonproj.io.partial import given_words
from nonproj.learning.corpus import Corpus, NumberedSentences, trees_of
from nonproj.learning.hyperparameters import TREEBANK
from nonproj.learning.label_numbers import arranged, label_places, number_labels
from nonproj.learning.partial import allowed_by
from nonproj.linear.state import Fitted
from nonproj.model.model import Model
from nonproj.scoring.clusters import Clusters
from nonproj.scoring.piece_vectors import PieceVectors
from nonproj.scoring.templates import attributes_of
from nonproj.scoring.vectors import VECTOR, WordVectors
from nonproj.scoring.vocabulary import TokenEncoder


class ClusterComponent(Component):
    """The word clusters, such as Brown's, which were learnt elsewhere, from more text than a treebank has."""

    name, kind = "clusters", Clusters

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Return the clusters."""
        return Fitted() if context.files.clusters is None else context.files.clusters


class VectorComponent(Component):
    """The vectors of words by their pieces, which are those of a pretrained encoder."""

    name, kind = "vectors", PieceVectors

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Return the vectors."""
        return context.pieces or Fitted()


class VocabularyComponent(Component):
    """The vocabularies; they follow from the sentences, so a checkpoint does not have them."""

    name, needs = "vocabulary", ("tagger", "clusters")

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Vocabulary:
        """Number the strings and labels of all sentences, after those of a continued model."""
        sentences, (templates, clusters, vectors, _) = corpus.all_sentences, context.files
        before = vocabulary_of(context.start) if context.start else None
        words = vectors.words if isinstance(vectors, WordVectors) else []
        if before:
            words = before.encoder.vocabularies.get(VECTOR, [])
        coarse, known = context.meta["coarse_tags"], before.encoder if before else None
        encoder = TokenEncoder.from_sentences(
            sentences, attributes_of(templates), TREEBANK.min_count, clusters, coarse, context.pieces or words, known
        )
        known_labels, known_lines = (before.labels, before.lines) if before else ((), None)
        labels, lines = arranged(templates, encoder, sentences, known_labels, known_lines)
        places = before.places if before else np.zeros((2, 0), np.uint8)
        if places is not None:
            once = corpus.tagged[:: corpus.copies]
            places = label_places(trees_of(once), number_labels(once, labels), len(labels), places)
        return Vocabulary(labels, encoder, lines, places)

    @classmethod
    def resume(cls, saved: Model, corpus: Corpus, context: FitContext) -> Vocabulary:
        """Return the vocabularies of the same sentences."""
        return cls.fit(corpus, context)

    @classmethod
    def extend(cls, corpus: Corpus, context: FitContext, saved: Model | None = None) -> Corpus:
        """Return the corpus with its sentences as numbers, with the tags that the parser learns from."""
        sentences, vocabulary = corpus.all_sentences, context.vocabulary
        numbers = NumberedSentences(
            tokens=[vocabulary.encoder.encode(sentence) for sentence in sentences],
            trees=trees_of(sentences),
            labels=number_labels(sentences, vocabulary.labels),
            allowed=allowed_by(sentences, context.config.treebank.partial),
            bare=np.array([i for i, sentence in enumerate(sentences) if not given_words(sentence).any()], np.int64),
        )
        return corpus.having(numbers=numbers, chosen=np.arange(len(sentences)))
