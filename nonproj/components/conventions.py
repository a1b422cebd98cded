"""Related treebanks in the conventions of the treebank, so that later components learn from them, too.

Held-out sentences decide whether their tags, their heads and their labels are learnt, too
(`nonproj.learning.related_gain`).  Labels are not learnt without heads.

A tagger that has learnt from the treebank alone says which of their tags to change (`nonproj.learning.conventions`).
Nothing of this component is stored in the model.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

import numpy as np

from nonproj.components.base import Component, FitContext, Vocabulary
from nonproj.components.labeler import LabelerComponent
from nonproj.components.parser import ParserComponent
from nonproj.components.tagger import TaggerComponent, pack_tags, unpack_tags
from nonproj.components.vocabulary import VocabularyComponent
from nonproj.evaluation.card import record
from nonproj.io.columns import DEPREL, FEATS, HEAD, UPOS
from nonproj.io.copies import with_rows
from nonproj.learning.conventions import with_conventions
from nonproj.learning.corpus import Corpus
from nonproj.learning.related_gain import RelatedGain
from nonproj.linear.state import Fitted
from nonproj.model.model import Model
from nonproj.tagging.analyzer import Analyzer, quick
from nonproj.types import Sentence

RELATED_TAGS = "related_tags"
"""The array of a checkpoint that holds the tags of related treebanks."""

TAGS_TOGETHER, HEADS_TOGETHER, LABELS_TOGETHER = "tags_together", "heads_together", "labels_together"
"""Keys of the gains in tags, heads and labels by related treebanks in the training history."""


log = logging.getLogger("nonproj")


class ConventionsComponent(Component):
    """The component that adapts related treebanks to the conventions of the treebank."""

    name, figures = "conventions", (TAGS_TOGETHER, HEADS_TOGETHER, LABELS_TOGETHER)

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Return an empty result, as only `extend` does anything."""
        return Fitted()

    @classmethod
    def extend(cls, corpus: Corpus, context: FitContext, saved: Model | None = None) -> Corpus:
        """Return the corpus, with tags of related treebanks in the conventions of the treebank."""
        related = corpus.auxiliary.sentences
        if not corpus.auxiliary.is_related:
            return corpus
        if saved:
            return as_learnt(corpus, unpack_tags(saved.weights.get(RELATED_TAGS), related), context)
        config = dataclasses.replace(context.config, tagger=quick(context.config.tagger))
        for_tags = context.having(config=config, fitted={})
        analyzer = TaggerComponent.fit(Corpus(corpus.sentences), for_tags)
        if not isinstance(analyzer, Analyzer) or not analyzer.tag_columns:
            log.warning("no tagger is trained, so the tags of related treebanks stay as they are")
        else:
            rows = ([[*row[:UPOS], "_", "_", "_", *row[FEATS + 1 :]] for row in s.rows] for s in related)
            untagged = [with_rows(*pair) for pair in zip(related, rows, strict=True)]
            related = with_conventions(related, analyzer.annotate(untagged), corpus.sentences)
            if tags := TaggerComponent.compare(corpus.with_auxiliary(related), for_tags):
                context.meta[TAGS_TOGETHER] = tags._asdict() | {"helps": tags.helps}
        if whole := with_whole_trees(corpus.with_auxiliary(related), context):
            heads = ParserComponent.compare(*whole)
            context.meta[HEADS_TOGETHER] = heads._asdict() | {"helps": heads.helps}
            if heads.helps and (labels := compare_labels(*whole)):
                context.meta[LABELS_TOGETHER] = labels._asdict() | {"helps": labels.helps}
        return as_learnt(corpus, related, context)

    @classmethod
    def pack(cls, corpus: Corpus) -> dict[str, np.ndarray]:
        """Return the tags of the related treebanks."""
        auxiliary = corpus.auxiliary
        return {RELATED_TAGS: pack_tags(auxiliary.annotated)} if auxiliary.is_related else {}


def with_whole_trees(corpus: Corpus, context: FitContext) -> tuple[Corpus, FitContext] | None:
    """Return the numbered corpus of sentences with whole trees, and the context of components that learn from it.

    None if there are too few.
    """
    own, related = (
        [s for s in each if s.tree is not None and (s.tree[1:] >= 0).all()]
        for each in (corpus.sentences, corpus.auxiliary.sentences)
    )
    if min(len(own), context.config.pruner.folds) < 2 or not related:
        return None
    corpus = corpus.having(tagged=own, copies=1).with_auxiliary(related, sentences_per_epoch=len(related))
    context = context.having(fitted={}, part_of=ConventionsComponent.name)
    context = context.with_fitted(Vocabulary.name, VocabularyComponent.fit(corpus, context))
    corpus = VocabularyComponent.extend(corpus, context)
    return corpus.with_numbers(completed=corpus.numbers.trees), context


def compare_labels(corpus: Corpus, context: FitContext) -> RelatedGain | None:
    """Return the gain in labelling accuracy from related treebanks, on whole trees; None without labels to compare."""
    labelled = any(set(sentence.labels) - {"_"} for sentence in corpus.auxiliary.sentences)
    if not labelled or not context.config.labeler.epochs or len(context.vocabulary.labels) < 2:
        return None
    return LabelerComponent.compare(corpus, context)


def as_learnt(corpus: Corpus, related: Sequence[Sentence], context: FitContext) -> Corpus:
    """Return the corpus with related treebanks without the columns that do not help."""
    names = TAGS_TOGETHER, HEADS_TOGETHER, LABELS_TOGETHER
    tags, heads, labels = (record(context.meta, name).get("helps", True) for name in names)
    if not (heads and labels):
        related = [with_rows(s, [[*row[:DEPREL], "_", *row[DEPREL + 1 :]] for row in s.rows]) for s in related]
    if not heads:
        related = [without_heads(sentence) for sentence in related]
    return corpus.with_auxiliary(related, annotated=related, is_for_tagger=tags)


def without_heads(sentence: Sentence) -> Sentence:
    """Return a sentence without given heads."""
    rows = [[*row[:HEAD], "_", *row[HEAD + 1 :]] for row in sentence.rows]
    return dataclasses.replace(with_rows(sentence, rows), tree=np.full(len(sentence) + 1, -1, np.int32))
