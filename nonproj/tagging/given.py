"""Words with entries in a user's lexicon, which restrict their candidate tags and the values of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from nonproj.io.columns import FEATS, UPOS
from nonproj.io.copies import surface_tokens
from nonproj.io.lexicon import LexiconWord
from nonproj.tagging.tagset import TagSet
from nonproj.types import Sentence

GivenWord: TypeAlias = Sequence[LexiconWord]
"""Entries of a word in a user's lexicon, one of which is right."""

WordsOf: TypeAlias = Callable[[str, Sequence[str]], Sequence[GivenWord]]
"""Function from a token and its words to the entries of each word; most words have none."""

TagOptions: TypeAlias = Sequence[tuple[LexiconWord, set[int]]]
"""Entries of a word, each with the numbers of the tags that it allows."""


class RestrictedWord(NamedTuple):
    """The key of a word whose candidates are these tags, and after them up to ``others`` other tags."""

    form: str
    tags: tuple[int, ...]
    others: int = 20


def given_in(sentences: Iterable[Sentence], words_of: WordsOf) -> dict[int, GivenWord]:
    """Return the entries of words that have any, by the words' numbers over all sentences."""
    found: list[GivenWord] = []
    for sentence in sentences:
        first, forms = len(found), sentence.forms
        for token, _, size in surface_tokens(sentence):
            found += words_of(token, forms[len(found) - first :][:size])
    return {i: own for i, own in enumerate(found) if own}


def options_of(key: Any, given: GivenWord, tags: TagSet) -> TagOptions:
    """Return the tags that each entry of a word allows, without entries that contradict the columns of the word.

    Parameters
    ----------
    key : str or tuple
        Its form, or its form with its UPOS, XPOS and FEATS; None stands for any value.
    given : sequence of LexiconWord
    tags : TagSet
    """
    columns, options = (None, None, None) if type(key) is str else key[1:], []
    for word in given:
        pairs = [(a, None if b == "_" else b) for a, b in zip(columns, word[UPOS - 1 : FEATS], strict=True)]
        if all(a == b for a, b in pairs if a and b):
            a, b, c = (a or b for a, b in pairs)
            options.append((word, set(tags.allowed((a, b, c)).tolist())))
    return options


def restricted(key: Any, options: TagOptions, n_tags: int) -> Any:
    """Return the key that restricts a word to the tags that its entries allow; ``n_tags`` is the number of all tags.

    Examples
    --------
    >>> restricted("can", [(LexiconWord("can"), {0}), (LexiconWord("can"), {2})], 3)
    RestrictedWord(form='can', tags=(0, 2), others=0)
    """
    allowed = set[int]().union(*(numbers for _, numbers in options))
    if not 0 < len(allowed) < n_tags:
        return key
    return RestrictedWord(key if type(key) is str else key[0], tuple(sorted(allowed)), others=0)


def chosen(value: str, column: int, given: GivenWord) -> str:
    """Return the predicted value of a column, or that of the first entry if no entry has the predicted one."""
    values = [word[column - 1] for word in given]
    return value if not values or value in values or "_" in values else values[0]
