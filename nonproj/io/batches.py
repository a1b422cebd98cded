"""Streams of sentences in batches, and the limit on sentence length."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from nonproj.errors import Advice, DataError
from nonproj.types import Sentence

_T = TypeVar("_T")


def batches(sentences: Iterable[_T], size: int, max_words: int | None = None) -> Iterator[list[_T]]:
    """Yield lists of ``size`` sentences, the last one shorter.

    Parameters
    ----------
    sentences : iterable
    size : int
    max_words : int, optional
        The last list ends before the first sentence of more words, and then `DataError` is raised.

    Raises
    ------
    ValueError
        ``size`` is not positive.

    Examples
    --------
    >>> short, long = Sentence([[]]), Sentence([[]] * 3, path="x")
    >>> found = batches([short, short, long], 64, 2)
    >>> len(next(found))
    2
    >>> next(found)
    Traceback (most recent call last):
    nonproj.errors.DataError: x:1: a sentence of 3 words; decoding.max_words is 2: split it, or raise the limit
    """
    if not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"batch_size is {size}, a positive integer is expected")
    stream: Iterator[Any] = iter(sentences)
    while group := list(itertools.islice(stream, size)):
        for number, sentence in enumerate(group):
            if max_words is not None and len(sentence.rows) > max_words:
                if number:
                    yield group[:number]
                check_length(sentence, max_words)
        yield group


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
        advice = Advice("decoding.max_words", f"decoding.max_words is {max_words}: split it, or raise the limit")
        raise DataError(sentence.path, sentence.line, f"a sentence of {len(sentence)} words; ", advice)
