"""Sentences from Python objects: lists of words, or rows of columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nonproj.types import Sentence

COLUMNS = 10

_ID = re.compile(r"[0-9]+|_")


def from_words(words: Sequence[object], path: str = "<words>") -> Sentence:
    """Return a sentence of words, or of rows of up to ten columns in the order of CoNLL-U.

    Parameters
    ----------
    words : sequence of str, or of sequences of str
        The words; or a row for each word that starts with ID (a number or ``_``) and FORM, such as those of
        `Sentence.rows`.  IDs are replaced by the numbers from 1, absent columns by ``_``.
    path : str
        Source of the sentence, for error messages.

    Raises
    ------
    ValueError
        There are no words, a row does not start with ID, or a column is not a string, is empty, or contains a tab or
        a line break.

    Examples
    --------
    >>> from_words(["Det", "regner"]).forms
    ['Det', 'regner']
    >>> from_words([("1", "Regn", "regn", "NOUN")]).rows[0]
    ['1', 'Regn', 'regn', 'NOUN', '_', '_', '_', '_', '_', '_']
    """
    rows = []
    for number, word in enumerate(words, 1):
        if not isinstance(word, str | Sequence):
            raise ValueError(f"word {number} is of type {type(word).__name__}, a string or a row of columns expected")
        if not isinstance(word, str) and word and not _ID.fullmatch(str(word[0])):
            message = f"word {number} begins with {word[0]!r}, its number expected; is this a list of sentences?"
            raise ValueError(message)
        row = [str(number), word] if isinstance(word, str) else [str(number), *word[1:]]
        if not 2 <= len(row) <= COLUMNS:
            raise ValueError(f"word {number} has {len(row)} columns, 2 to {COLUMNS} expected: ID, FORM, LEMMA, ...")
        for column in row:
            if not isinstance(column, str) or not column or len(column.splitlines()) > 1 or column[-1:] == "\n":
                raise ValueError(f"word {number} is {word!r}; a non-empty string without line breaks is expected")
            if "\t" in column:
                raise ValueError(f"word {number} is {word!r}; a word cannot contain a tab")
        rows.append(row + ["_"] * (COLUMNS - len(row)))
    if not rows:
        raise ValueError("a sentence without words")
    return Sentence(rows, path=path)
