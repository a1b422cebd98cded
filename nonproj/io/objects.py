"""Sentences from Python objects: lists of words, rows of columns, token lists of the package conllu."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nonproj.types import Sentence

COLUMNS = 10

_FIELDS = (
    ("id",),
    ("form",),
    ("lemma",),
    ("upos", "upostag", "cpostag"),
    ("xpos", "xpostag", "postag"),
    ("feats",),
    ("head",),
    ("deprel",),
    ("deps", "phead"),
    ("misc", "pdeprel"),
)
"""The names of each column in token lists, CoNLL-U first."""

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


def conllu_text(token_list: Iterable[Mapping[str, Any]]) -> str:
    """Return a ``conllu.TokenList`` as CoNLL-U; absent columns become ``_``, absent IDs are filled in.

    Fields that are not columns of CoNLL-U or CoNLL-X are ignored.

    Examples
    --------
    >>> import conllu
    >>> tokens = conllu.TokenList([{"form": "Det"}, {"form": "regner", "upos": "VERB"}])
    >>> print(conllu_text(tokens).expandtabs(7), end="")
    1      Det    _      _      _      _      _      _      _      _
    2      regner _      VERB   _      _      _      _      _      _
    <BLANKLINE>
    """
    from conllu.serializer import serialize_field

    tokens = list(token_list)
    lines = []
    for key, value in (getattr(token_list, "metadata", None) or {}).items():
        value = "" if value is None else " ".join(str(value).split("\n"))
        lines.append(f"# {key} = {value}" if value else f"# {key}")
    counted = not any("id" in token for token in tokens)
    for number, token in enumerate(tokens, 1):
        values = [next((token[name] for name in names if name in token), None) for names in _FIELDS]
        if counted:
            values[0] = number
        lines.append("\t".join("_" if value in (None, [], {}, "") else serialize_field(value) for value in values))
    return "\n".join(lines) + "\n\n"
