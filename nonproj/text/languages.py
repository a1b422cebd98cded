"""Languages with rules for plain text: their abbreviations, patterns and frequent words.

They are in ``features/languages.yaml``, and are stored in the models that use them.  The languages are those of the
treebanks without raw text that ``data_scripts`` fetches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from nonproj.linear.templates import default_folder
from nonproj.options.reading import load_yaml
from nonproj.text.characters import lowered

PATTERNS = frozenset(
    [f"{left}{mark}{right}" for mark in "'-." for left in "a1" for right in "a1"] + ["1.1", "1,1", "1:1", "1/1"]
)
"""Patterns that stay together in all languages, in the notation of `Language`."""

_MOST_FREQUENT = 200
"""Number of a treebank's most frequent words by which its language is recognised."""

_MIN_WORDS = 1000
"""Minimum number of words of a treebank for recognising its language."""


class Language(NamedTuple):
    """The rules for a language.  Strings in lower case stand for text in any case.

    Attributes
    ----------
    code, name : str
        The code in ISO 639-1, and the name in English.
    words : frozenset of str
        Frequent words.  A sentence ends between an abbreviation and one of them that is capitalised.
    tokens : frozenset of str
        Tokens with punctuation.  Where a string is several tokens, blanks separate them.
    abbreviations : frozenset of str
        Strings after which no sentence ends.  An initial hyphen stands for any letters: ``-nr.`` is ``kundenr.`` and
        ``CVR-nr.``, too.
    before_numbers : frozenset of str
        Strings that are abbreviations only before a number.
    patterns : frozenset of str
        Patterns that stay together: a character between letters (``a``) and digits (``1``), as in ``1.1``; or at the
        end of a word, as in ``a- ``.  ``1. `` is an ordinal number; it ends no sentence before a word in lower case.
        `` '1`` is a year of two digits.
    suffixes : tuple of str
        Ends of words that are tokens of their own.
    characteristic : frozenset of str
        Words by which the language is recognised: in no other language are all of them frequent.
    """

    code: str
    name: str
    words: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()
    abbreviations: frozenset[str] = frozenset()
    before_numbers: frozenset[str] = frozenset()
    patterns: frozenset[str] = PATTERNS
    suffixes: tuple[str, ...] = ()
    characteristic: frozenset[str] = frozenset()


@cache
def languages() -> dict[str, Language]:
    """Return the languages that have rules, by code, from ``features/languages.yaml``."""
    found = load_yaml(default_folder() / "languages.yaml")
    return {code: _language(code, **entry) for code, entry in found.items()}


def _language(
    code: str, name: str, patterns: list[str], suffixes: Sequence[str] = (), divided: Sequence[str] = (), **words: str
) -> Language:
    """Return the language of an entry of the file; ``divided`` are strings that are several tokens."""
    groups = {group: frozenset(text.split()) for group, text in words.items()}
    groups["tokens"] |= frozenset(divided)
    return Language(code, name, patterns=PATTERNS | set(patterns), suffixes=tuple(suffixes), **groups)


def recognised(forms: Iterable[str]) -> Language | None:
    """Return the one of `languages` whose characteristic words are all frequent in a treebank, or None.

    Examples
    --------
    >>> words = "og af til det ikke på efter".split()
    >>> recognised(words * 200).name, recognised(words[:-1] * 200)
    ('Danish', None)
    """
    counts = Counter(map(lowered, forms))
    if counts.total() < _MIN_WORDS:
        return None
    frequent = {form for form, _ in counts.most_common(_MOST_FREQUENT)}
    return next((language for language in languages().values() if language.characteristic <= frequent), None)
