"""Streams of random numbers: one for each use, so that none repeats another or depends on what was drawn before."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """Streams of random numbers, one for each use in training.

    The generator of a stream is seeded with the option ``seed``, the number of the stream, and, where there are
    several, those of a model, an epoch, a fold or a copy.  Changing the number of a use changes models, so a new use
    gets a new number.
    """

    PARSER = 0
    PRUNER = 1
    LABELER = 2
    TAGGER = 3
    LEMMATIZER = 4
    NETWORK = 5
    NETWORK_ORDER = 6
    ENCODER = 7
    TAG_NETWORK = 8
    CROSSING = 9
    GRAPHS = 10
    SENTENCE_NETWORK = 16
    SILVER_OF_TAGGER = 17
    SILVER = 18
    WORD_CLASSES = 19
    VARIED_TEXT = 20
    VARIED_FOLDS = 21
    MISSED_ENDS = 22
    TOKENS = 23
    WORDS = 24
    SENTENCES = 25
    MULTIWORDS = 26


def generator(seed: int, stream: Stream, *numbers: int) -> np.random.Generator:
    """Return the generator of a stream.

    Examples
    --------
    >>> first, second = (generator(1, stream, 0).integers(1000) for stream in (Stream.PRUNER, Stream.LABELER))
    >>> bool(first != second), bool(first == generator(1, Stream.PRUNER, 0).integers(1000))
    (True, True)
    """
    return np.random.default_rng((seed, stream, *numbers))
