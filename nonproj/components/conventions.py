"""Related treebanks in the conventions of the treebank, so that later components learn from them, too.

Held-out sentences decide whether their tags, their heads and their labels are learnt, too
(`nonproj.learning.together`).  Labels are not learnt without heads.

A tagger that has learnt from the treebank alone says which of their tags to change (`nonproj.learning.conventions`).
Nothing of this component is stored in the model.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

import numpy as np

from nonproj.components.base import Component, FitContext
from nonproj.components.labeler import LabelerComponent
from nonproj.components.parser import ParserComponent
from nonproj.components.tagger import TaggerComponent, pack_tags, unpack_tags
from nonproj.components.vocabulary import as_numbers
from nonproj.evaluation.card import record
from nonproj.io.columns import DEPREL, FEATS, HEAD, UPOS
from nonproj.io.copies import with_rows
from nonproj.learning.conventions import with_conventions
from nonproj.learning.together import Together
from nonproj.learning.training_data import TrainingData
from nonproj.model.model import Model
from nonproj.tagging.analyzer import quick
from nonproj.types import Sentence

RELATED_TAGS = "related_tags"
"""The array of a checkpoint that holds the tags of related treebanks."""

TAGS_TOGETHER, HEADS_TOGETHER, LABELS_TOGETHER = "tags_together", "heads_together", "labels_together"
"""The names, in the training history, of what related treebanks are worth for tags, for heads and for labels."""


log = logging.getLogger("nonproj")


class ConventionsComponent(Component):
    """The conventions of the treebank."""

    name, figures = "conventions", (TAGS_TOGETHER, HEADS_TOGETHER, LABELS_TOGETHER)

    @classmethod
    def fit(cls, sentences: Sequence[Sentence], context: FitContext) -> None:
        """Return nothing: see `cross_predict`."""

    @classmethod
    def cross_predict(cls, sentences: Sequence[Sentence], context: FitContext) -> TrainingData:
        """Return the training data, in which the related treebanks have tags as the treebank would have them."""
        data, related = context.data, context.data.further_sentences
        if not data.related:
            return data
        options = dataclasses.replace(context.config, tagger=quick(context.config.tagger))
        alone = context.having(config=options, data=TrainingData(), fitted={}, part_of=cls.name)
        analyzer = TaggerComponent.fit(sentences, alone)
        if analyzer is None or not analyzer.tag_columns:
            log.warning("no tagger is trained, so the tags of related treebanks stay as they are")
        else:
            rows = ([[*row[:UPOS], "_", "_", "_", *row[FEATS + 1 :]] for row in s.rows] for s in related)
            untagged = [with_rows(*pair) for pair in zip(related, rows, strict=True)]
            related = with_conventions(related, analyzer.annotate(untagged), sentences)
            together = alone.having(data=data.with_further(related), part_of="")
            if tags := TaggerComponent.compare(sentences, together, alone):
                context.meta[TAGS_TOGETHER] = tags._asdict() | {"helps": tags.helps}
        if whole := with_whole_trees(sentences, related, context):
            heads = ParserComponent.compare(whole)
            context.meta[HEADS_TOGETHER] = heads._asdict() | {"helps": heads.helps}
            if heads.helps and (labels := compare_labels(whole)):
                context.meta[LABELS_TOGETHER] = labels._asdict() | {"helps": labels.helps}
        return as_learnt(data, related, context)

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
        return as_learnt(data, found, context)


def with_whole_trees(
    sentences: Sequence[Sentence], related: Sequence[Sentence], context: FitContext
) -> FitContext | None:
    """Return a context with the sentences of both that have whole trees, as numbers; None with too few of them."""
    own, further = (
        [s for s in each if s.tree is not None and (s.tree[1:] >= 0).all()] for each in (sentences, related)
    )
    if min(len(own), context.config.pruner.folds) < 2 or not further:
        return None
    count = len(further)
    data = context.data._replace(sentences=[*own, *further], further=count, further_in_epoch=count)
    data = as_numbers(context.having(data=data))
    return context.having(data=data._replace(completed=data.trees), fitted={}, part_of=ConventionsComponent.name)


def compare_labels(context: FitContext) -> Together | None:
    """Return what related treebanks are worth for labels, by whole trees; None if there is nothing to compare."""
    labelled = any(set(sentence.labels) - {"_"} for sentence in context.data.further_sentences)
    if not labelled or not context.config.labeler.epochs or len(context.data.labels) < 2:
        return None
    return LabelerComponent.compare(context)


def as_learnt(data: TrainingData, related: Sequence[Sentence], context: FitContext) -> TrainingData:
    """Return the training data with related treebanks as they are learnt from: without what does not help."""
    names = TAGS_TOGETHER, HEADS_TOGETHER, LABELS_TOGETHER
    tags, heads, labels = (record(context.meta, name).get("helps", True) for name in names)
    if not (heads and labels):
        related = [with_rows(s, [[*row[:DEPREL], "_", *row[DEPREL + 1 :]] for row in s.rows]) for s in related]
    if not heads:
        related = [without_heads(sentence) for sentence in related]
    return data.with_further(related)._replace(annotated=related, tagged_alone=not tags)


def without_heads(sentence: Sentence) -> Sentence:
    """Return a sentence of which no head is given."""
    rows = [[*row[:HEAD], "_", *row[HEAD + 1 :]] for row in sentence.rows]
    return dataclasses.replace(with_rows(sentence, rows), tree=np.full(len(sentence) + 1, -1, np.int32))
