"""The segmenter of plain text: where tokens, words and sentences end.

Where a treebank has raw text, two logistic regressions over hashed features of characters and tokens decide, the
second one together with a recurrent network (`nonproj.text.training`); elsewhere rules over Unicode's characters do.
Multiword tokens are expanded as in the treebank (`nonproj.text.multiword`).
"""

from __future__ import annotations

import logging

from nonproj.components.base import Component, FitContext
from nonproj.learning.corpus import Corpus
from nonproj.linear.state import Fitted
from nonproj.text.segmenter import Segmenter

log = logging.getLogger("nonproj")


class SegmenterComponent(Component):
    """The component that trains the segmenter."""

    name, kind = "segmenter", Segmenter

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Learn from the sentences' text, if there is any; the segmenter of a continued model stays."""
        config = context.config
        if context.start and (segmenter := context.start.loaded(Segmenter)):
            return segmenter
        if not config.segmenter.epochs:
            return Fitted()
        segmenter = Segmenter.fit(corpus.sentences, config.segmenter, config.seed, context.progress)
        log.info("%s: %s", context.title(cls.name), segmenter.description)
        return segmenter
