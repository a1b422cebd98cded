"""Related treebanks in the conventions of the treebank, so that later components learn from them, too.

A tagger that has learnt from the treebank alone says which of their tags to change (`nonproj.learning.conventions`).
Nothing of this component is stored in the model.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

import numpy as np

from nonproj.components.base import Component, FitContext
from nonproj.components.tagger import TaggerComponent, pack_tags, unpack_tags
from nonproj.io.conll import FEATS, UPOS
from nonproj.io.copies import with_rows
from nonproj.learning.conventions import with_conventions
from nonproj.learning.training_data import TrainingData
from nonproj.model.model import Model
from nonproj.tagging.analyzer import quick
from nonproj.types import Sentence

RELATED_TAGS = "related_tags"
"""The array of a checkpoint that holds the tags of related treebanks."""

log = logging.getLogger("nonproj")


class ConventionsComponent(Component):
    """The conventions of the treebank."""

    name = "conventions"

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> None:
        """Return nothing: see `cross_predict`."""

    @classmethod
    def cross_predict(cls, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the training data, in which the related treebanks have tags as the treebank would have them."""
        data = context.data
        options = dataclasses.replace(context.config, tagger=quick(context.config.tagger))
        alone = context.having(config=options, data=TrainingData(), fitted={}, part_of=cls.name)
        analyzer = TaggerComponent.fit(sentences, alone) if data.related else None
        if analyzer is None or not analyzer.tag_columns:
            if data.related:
                log.warning("no tagger is trained, so the tags of related treebanks stay as they are")
            return data._replace(annotated=data.further_sentences if data.related else ())
        related = data.further_sentences
        untagged = [with_rows(s, [[*row[:UPOS], "_", "_", "_", *row[FEATS + 1 :]] for row in s.rows]) for s in related]
        found = with_conventions(related, analyzer.annotate(untagged), sentences)
        return data.with_further(found)._replace(annotated=found)

    @classmethod
    def pack(cls, data: TrainingData) -> dict[str, np.ndarray]:
        """Return the tags of the related treebanks."""
        return {RELATED_TAGS: pack_tags(data.annotated)} if data.related else {}

    @classmethod
    def unpack(cls, saved: Model, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the training data with the tags in a checkpoint."""
        data = context.data
        if not data.related:
            return data
        found = unpack_tags(saved.weights.get(RELATED_TAGS), data.further_sentences)
        return data.with_further(found)._replace(annotated=found)
