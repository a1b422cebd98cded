"""Words of which a user's lexicon gives the tag or the lemma: what the tagger may choose from, and what is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from nonproj.io.columns import FEATS, UPOS
from nonproj.io.copies import surface_tokens
from nonproj.io.lexicon import LexiconWord
from nonproj.tagging.tagset import TagSet
from nonproj.types import Sentence

GivenWords: TypeAlias = "Sequence[LexiconWord]"
"""What is known of a word, one of which is right; none if nothing is known."""

WordsOf: TypeAlias = Callable[[str, Sequence[str]], Sequence[GivenWords]]
"""Returns what is known of the words of a token."""


class RestrictedWord(NamedTuple):
    """The key of a word that has one of some tags, by number."""

    form: str
    tags: tuple[int, ...]


def given_in(sentences: Iterable[Sentence], words_of: WordsOf) -> list[GivenWords]:
    """Return what is known of all words of some sentences."""
    found: list[GivenWords] = []
    for sentence in sentences:
        first = len(found)
        for token, _, size in surface_tokens(sentence):
            begin = len(found) - first
            found += words_of(token, [row[1] for row in sentence.rows[begin : begin + size]])
    return found


def restricted(key: Any, given: GivenWords, tags: TagSet) -> Any:
    """Return the key of a word, in which only those tags are left that what is known of it allows.

    ``key`` is a form, or a tuple of a form and UPOS, XPOS and FEATS, which are any where they are None.

    Examples
    --------
    >>> tags = TagSet([("NOUN", "_", "_"), ("VERB", "_", "_"), ("ADJ", "_", "_")])
    >>> restricted("can", [LexiconWord("can", upos="ADJ"), LexiconWord("can", upos="NOUN")], tags)
    RestrictedWord(form='can', tags=(0, 2))
    """
    columns = (None, None, None) if type(key) is str else key[1:]
    triples = {triple for word in given if (triple := _agreed(columns, word))}
    if not triples or columns in triples:
        return key
    numbers = {number for triple in triples for number in tags.allowed(triple).tolist()}
    return RestrictedWord(key if type(key) is str else key[0], tuple(sorted(numbers)))


def agreeing(key: Any, given: GivenWords, tag: tuple[str, str, str], tags: TagSet) -> list[LexiconWord]:
    """Return those of what is known of a word that allow its tag; for ``key`` see `restricted`."""
    columns, number = (None, None, None) if type(key) is str else key[1:], tags.number[tag]
    pairs = ((word, _agreed(columns, word)) for word in given)
    return [word for word, triple in pairs if triple and number in tags.allowed(triple)]


def _agreed(columns: tuple[str | None, ...], word: LexiconWord) -> Any:
    """Return UPOS, XPOS and FEATS by the columns of a word and by what is known of it; None if these contradict."""
    own = [None if value == "_" else value for value in word[UPOS - 1 : FEATS]]
    pairs = list(zip(columns, own, strict=True))
    return None if any(a and b and a != b for a, b in pairs) else tuple(a or b for a, b in pairs)


def write_given(row: list[str], columns: Iterable[int], given: GivenWords) -> None:
    """Write what is known of a word to some of its columns, unless one of several values is there, or any may be."""
    for column in columns:
        values = [word[column - 1] for word in given]
        if values and "_" not in values and row[column] not in values:
            row[column] = values[0]
