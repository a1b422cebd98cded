"""Words that a treebank withholds: where a licence forbids copying its text, each FORM is ``_``."""

from __future__ import annotations

from collections.abc import Iterable

from nonproj.types import Sentence

MASK = "_"
"""The form of a withheld word; in some texts it is also a word."""

MOSTLY = 0.5
"""Maximum share of masked words in a treebank to learn from."""

NOTABLE = 0.02
"""Share of masked words above which some of the text counts as withheld."""

HINT = "the words are masked, because a licence forbids copying them; the treebank's README says how to get them"


def masked_share(sentences: Iterable[Sentence]) -> float:
    """Return the share of words that are masked.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> masked_share([from_words(["_", "_", "_", "."])])
    0.75
    """
    masked = words = 0
    for sentence in sentences:
        words += len(sentence)
        masked += sum(row[1] == MASK for row in sentence.rows)
    return masked / max(words, 1)
