"""Streams of sentences in batches, and the limit on sentence length."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from nonproj.errors import DataError
from nonproj.types import Sentence

_T = TypeVar("_T")


def batches(sentences: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield lists of ``size`` sentences, the last one shorter; raise ValueError if ``size`` is not positive."""
    if not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"batch_size is {size}, a positive integer is expected")
    stream = iter(sentences)
    while group := list(itertools.islice(stream, size)):
        yield group


def batches_within(sentences: Iterable[Sentence], size: int, max_words: int) -> Iterator[list[Sentence]]:
    """Yield lists as `batches` does, up to the first sentence that is too long, and then raise `DataError`.

    Examples
    --------
    >>> short, long = Sentence([[]]), Sentence([[]] * 3, path="x")
    >>> found = batches_within([short, short, long], 64, 2)
    >>> len(next(found))
    2
    >>> next(found)
    Traceback (most recent call last):
    nonproj.errors.DataError: x:1: a sentence of 3 words; decoding.max_words is 2: split it, or raise the limit
    """
    for group in batches(sentences, size):
        short = list(itertools.takewhile(lambda sentence: len(sentence) <= max_words, group))
        if short:
            yield short
        for sentence in group[len(short) :]:
            check_length(sentence, max_words)


def groups(sentences: Sequence[Sentence], pairs: int) -> list[slice]:
    """Return ranges of sentences whose total number of word pairs is within a limit, or single sentences.

    Examples
    --------
    >>> short, long = Sentence([[]]), Sentence([[]] * 3)
    >>> groups([short, short, long, short], 8)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    found, first, total = [], 0, 0
    for i, sentence in enumerate(sentences):
        own = len(sentence.rows) ** 2
        if i > first and total + own > pairs:
            found.append(slice(first, i))
            first, total = i, 0
        total += own
    return [*found, slice(first, len(sentences))]


def check_length(sentence: Sentence, max_words: int) -> None:
    """Raise `DataError` if a sentence has too many words: time and memory grow with their square at least."""
    if len(sentence) > max_words:
        text = f"a sentence of {len(sentence)} words; decoding.max_words is {max_words}: split it, or raise the limit"
        raise DataError(sentence.path, sentence.line, text)
