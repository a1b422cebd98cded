"""The sentences that an encoder learns from, as pieces, and the task that it is fine-tuned for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.io.columns import FEATS, UPOS, XPOS
from nonproj.io.partial import allowed_arcs, is_partial
from nonproj.learning.corpus import trees_of
from nonproj.learning.encoders.start import TrainedLayers
from nonproj.learning.label_numbers import number_labels
from nonproj.options.config import Config
from nonproj.scoring.encoders.session import Encoder
from nonproj.tagging.tagset import TagSet
from nonproj.types import Bools, Sentence


class EncoderExample(NamedTuple):
    """A sentence to learn from.

    Attributes
    ----------
    numbers, words : ndarray of shape (T,), int64
        Its pieces, special ones included, and the node of each, -1 for none.
    heads : ndarray of shape (N,), int32
    labels : ndarray of shape (n,), int64
        Heads and labels of a partial tree are -1 where they are not given.
    tags : ndarray of shape (n,), int64
        -1 for those that are not learnt.
    allowed : ndarray of shape (N, N), bool, or None
        The arcs that can be in a partial tree.
    """

    numbers: np.ndarray
    words: np.ndarray
    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    allowed: Bools | None = None


class EncoderTask(NamedTuple):
    """The task that an encoder is fine-tuned for.

    Attributes
    ----------
    labels : sequence of str
        In the order of their numbers.
    config : Config
    single_root : bool
    tags : TagSet or None
        Tags of the tagger, if there is one.
    layers : TrainedLayers
        Initial layers behind the encoder.
    """

    labels: Sequence[str]
    config: Config
    single_root: bool
    tags: TagSet | None = None
    layers: TrainedLayers = TrainedLayers()


def examples_of(encoder: Encoder, sentences: Sequence[Sentence], task: EncoderTask) -> Iterator[EncoderExample]:
    """Yield the sentences as pieces, except those that are longer than a window."""
    special, source = encoder.pieces.special, task.config.treebank.partial
    of_tag = task.tags.number if task.tags else {}
    pieces = encoder.pieces.cut([sentence.forms for sentence in sentences])
    gold = zip(trees_of(sentences), number_labels(sentences, task.labels), strict=True)
    for cut, sentence, (heads, labels) in zip(pieces, sentences, gold, strict=True):
        if len(cut.ids) <= encoder.limit:
            numbers = np.concatenate([[special.first], cut.ids, [special.last]])
            words = np.concatenate([[0], np.repeat(np.arange(1, len(heads)), cut.lengths), [-1]])
            tags = [of_tag.get((row[UPOS], row[XPOS], row[FEATS]), -1) for row in sentence.rows]
            allowed = allowed_arcs(sentence, source) if is_partial(sentence) else None
            yield EncoderExample(numbers, words, heads, labels, np.array(tags, np.int64), allowed)
