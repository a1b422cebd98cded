"""Sentences from and to Python objects: lists of words, rows of columns, token lists of the package conllu."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nonproj.io.checks import BOM
from nonproj.io.conll import read, replace
from nonproj.io.copies import as_conllu
from nonproj.io.files import OpenedInput
from nonproj.types import Sentence

if TYPE_CHECKING:
    from conllu.models import TokenList
    from numpy.typing import ArrayLike

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


def from_conllu(token_list: Iterable[Mapping[str, Any]], **rules: Any) -> Sentence:
    """Return the sentence of a ``conllu.TokenList``; ``rules`` are fields of `nonproj.io.checks.ReadingRules`.

    Tokens may lack columns; other fields are ignored: see `conllu_text`.

    Raises
    ------
    DataError
        The sentence is not well-formed (see `nonproj.io.conll.read`); the line is that of its serialized form.

    Examples
    --------
    >>> import conllu
    >>> tokens = conllu.parse("1\\tRegn\\tregn\\tNOUN\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n")[0]
    >>> from_conllu(tokens).forms
    ['Regn']
    """
    text = io.StringIO(conllu_text(token_list), newline="\n")
    return next(read(OpenedInput(text, "<conllu>"), **rules))


def to_conllu(sentence: Sentence, heads: ArrayLike, labels: Iterable[str | None] | None = None) -> TokenList:
    """Return a ``conllu.TokenList`` of a sentence with another tree; parameters as for `nonproj.io.conll.replace`.

    Multiword tokens and comments are kept.

    Examples
    --------
    >>> from nonproj.io.conll import read
    >>> text = "1\\tRegn\\tregn\\tNOUN\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"
    >>> tokens = to_conllu(next(read(io.StringIO(text))), [0], ["root"])
    >>> tokens[0]["head"], tokens[0]["deprel"]
    (0, 'root')
    """
    from conllu.models import Metadata, TokenList
    from conllu.parser import DEFAULT_FIELDS, parse_comment_line, parse_line

    tokens, metadata = [], Metadata()
    text = replace(as_conllu(sentence), heads, labels)
    for line in text.removeprefix(BOM).split("\n"):
        if line.startswith("#"):
            metadata.update(parse_comment_line(line))
        elif line.strip(" \r"):
            # conllu also splits at two spaces, so columns that contain them are set afterwards.
            columns = line.rstrip("\r").split("\t")
            token = parse_line("\t".join("_" if "  " in column else column for column in columns), DEFAULT_FIELDS)
            token.update((DEFAULT_FIELDS[i], column) for i, column in enumerate(columns) if "  " in column)
            tokens.append(token)
    return TokenList(tokens, metadata, default_fields=DEFAULT_FIELDS)
