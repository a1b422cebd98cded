"""The numbers of strings, word clusters and labels: from here on, components learn from numbers.

Labels that compete for the same arcs share lines of the weight table: see `nonproj.learning.label_numbers`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nonproj.components.base import Component, FitContext
from nonproj.io.partial import given_words
from nonproj.learning.label_numbers import arranged, label_places
from nonproj.learning.partial import allowed_by
from nonproj.learning.training_data import TrainingData
from nonproj.model.model import Model
from nonproj.scoring.clusters import Clusters
from nonproj.scoring.templates import attributes_of
from nonproj.scoring.vectors import VECTOR
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.types import Sentence

MIN_COUNT = 1
"""Every string of the training sentences is known, even if it occurs once: hashed features need no cutoff."""


class ClusterComponent(Component):
    """The word clusters, such as Brown's, which were learnt elsewhere, from more text than a treebank has."""

    name, kind = "clusters", Clusters

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> Clusters | None:
        """Return the clusters."""
        return context.files.clusters


class VocabularyComponent(Component):
    """The vocabularies; they follow from the sentences, so a checkpoint does not have them."""

    name, needs = "vocabulary", ("tagger", "clusters")

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> None:
        """Return nothing: see `cross_predict`."""

    @classmethod
    def cross_predict(cls, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the sentences as numbers, with the tags that the parser learns from."""
        return as_numbers(context)

    @classmethod
    def unpack(cls, saved: Model, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the same sentences as numbers."""
        return as_numbers(context)


def as_numbers(context: FitContext) -> TrainingData:
    """Return the training data with its sentences as numbers."""
    data, config, (templates, clusters, vectors, _) = context.data, context.config, context.files
    own, words = data.sentences, vectors.words if vectors else ()
    attributes, coarse, known = attributes_of(templates), data.encoder.coarse, None
    if context.start:
        words, known = data.encoder.vocabularies.get(VECTOR, ()), (data.labels, data.lines)
    encoder = TokenEncoder.from_sentences(
        own, attributes, MIN_COUNT, clusters, coarse, words, data.encoder if context.start else None
    )
    tokens = [encoder.encode(sentence) for sentence in own]
    labels, gold, lines = arranged(templates, encoder, own, tokens, known)
    once = slice(0, data.n_own, data.copies)
    places = data.places if context.start else np.zeros((2, 0), np.uint8)
    if places is not None:
        places = label_places(data.trees[once], gold[once], len(labels), places)
    return data._replace(
        chosen=np.arange(len(own)),
        labels=labels,
        encoder=encoder,
        lines=lines,
        places=places,
        tokens=tokens,
        gold=gold,
        allowed=allowed_by(own, config.treebank.partial),
        bare=np.array([i for i, sentence in enumerate(own) if not given_words(sentence).any()], np.int64),
    )
