"""Lexicons that users write: tokens, their words, and tags and lemmas of these.

A lexicon is CoNLL-U, whose heads are ignored; a table, whose first line names its columns, separated by tabs; or a list
of tokens, one a line.  Comments begin with a hash and a blank.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from unicodedata import normalize

from nonproj.errors import DataError
from nonproj.io import conll
from nonproj.io.checks import BOM
from nonproj.io.columns import FEATS, FORM
from nonproj.io.copies import surface_tokens
from nonproj.io.files import Source, open_input, stream_error, text_lines
from nonproj.io.strings import MOST_WORDS, StringKind, problem

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "words", "ends")
"""The columns of a table, in any order; all but the first may be missing."""

ENDS = ("_", "Yes", "No")
"""Whether a sentence may end after a token; ``_``: not if it starts with a letter or digit and ends in a full stop."""

VALUE = StringKind("value", 1000, 2 + 5 * MOST_WORDS)
"""The kind of the strings of an entry."""

_CONLL = re.compile(r"# global\.columns|[0-9]+(-[0-9]+)?\t")


class LexiconWord(NamedTuple):
    """A word with its columns; ``_`` leaves a column open."""

    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"


class LexiconEntry(NamedTuple):
    """A token, its words (one for most tokens), and whether a sentence may end after it, ``Yes`` or ``No``."""

    token: str
    words: tuple[LexiconWord, ...]
    ends: str


def entry(token: str, words: Sequence[LexiconWord], ends: str = "_") -> LexiconEntry:
    """Return an entry in normalization form C; raise ``ValueError`` with the reason if it is not valid.

    Examples
    --------
    >>> entry("dunno", [LexiconWord("do"), LexiconWord("n't"), LexiconWord("know")]).words[2].form
    'know'
    """
    values = [token, *(value for word in words for value in word)]
    texts = (" ".join(normalize("NFC", form).split()) for form in (token, *(word.form for word in words)))
    token, *forms = (text.strip(" \u200b\ufeff") for text in texts)
    wrong = {
        "a form is blank": not all([token, *forms]),
        f"the token {token!r} has one word, which is another": len(forms) < 2 and forms != [token],
        f"ends is {ends!r}, one of {', '.join(ENDS)} expected": ends.capitalize() not in ENDS,
        "a tag has a blank": any(value.split() != [value] for word in words for value in word[2:]),
    }
    if found := problem(values, VALUE) or next((message for message, holds in wrong.items() if holds), None):
        raise ValueError(found)
    if ends == "_":
        ends = "No" if token[0].isalnum() and token[-1] == "." else "Yes"
    own = (word._replace(form=form) for word, form in zip(words, forms, strict=True))
    return LexiconEntry(token, tuple(own), ends.capitalize())


def read_lexicon(source: Source) -> list[LexiconEntry]:
    """Return the entries of a lexicon.

    Parameters
    ----------
    source : str, Path or stream
        As for `nonproj.io.conll.read`.

    Raises
    ------
    DataError
        At the first line that is wrong.
    FileError
        The file cannot be read.

    Examples
    --------
    >>> table = "form\\tlemma\\tupos\\twords\\nC++\\tC++\\tPROPN\\t_\\ndunno\\t_\\t_\\tdo n't know\\n"
    >>> [(each.token, len(each.words)) for each in read_lexicon(io.StringIO(table))]
    [('C++', 1), ('dunno', 3)]
    """
    opened, lines, found = open_input(source), list[str](), list[LexiconEntry]()
    try:
        with opened.closing:
            lines.extend(line.removeprefix(BOM) for line in text_lines(opened.stream))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise stream_error(error, opened.name, len(lines)) from None
    numbered = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.startswith("# ")]
    is_conll = any(_CONLL.match(line) for line in (*lines[:1], *(line for _, line in numbered[:1])))
    rows = _rows_of_conll(lines, opened.name) if is_conll else _rows_of_table(numbered, opened.name)
    for number, token, words, ends in rows:
        try:
            found.append(entry(token, words, ends))
        except ValueError as error:
            raise DataError(opened.name, number, str(error)) from None
    return found


_Rows = Iterator[tuple[int, str, list[LexiconWord], str]]


def _rows_of_conll(lines: list[str], name: str) -> _Rows:
    """Yield line, token, words and column ``ends`` of each entry in CoNLL-U."""
    stream = io.StringIO("".join(lines), newline="")
    stream.name = name
    for sentence in conll.read(stream, ignore_heads=True):
        first = 0
        for token, misc, size in surface_tokens(sentence):
            words = [LexiconWord(*row[FORM : FEATS + 1]) for row in sentence.rows[first : first + size]]
            ends = dict(item.partition("=")[::2] for item in misc.split("|")).get("Ends", "_")
            yield sentence.line + sentence.word_lines[first], token, words, ends
            first += size


def _rows_of_table(lines: list[tuple[int, str]], name: str) -> _Rows:
    """Yield the rows of a table with a header, or of a list of tokens.

    Blanks separate the values of several words of a token.
    """
    table = [(number, [cell.strip() or "_" for cell in line.split("\t")]) for number, line in lines]
    number, header = table.pop(0) if table and len(table[0][1]) > 1 else (0, list(COLUMNS[:1]))
    header = [cell.lower() for cell in header]
    if not {"form"} <= {*header} <= {*COLUMNS}:
        message = f"the header is {', '.join(header)}; form and others of {', '.join(COLUMNS[1:])} expected"
        raise DataError(name, number, message)
    for number, cells in table:
        if len(cells) != len(header):
            raise DataError(name, number, f"{len(cells)} columns, {len(header)} expected")
        value = dict.fromkeys(COLUMNS, "_") | dict(zip(header, cells, strict=True))
        forms, known = [value["form"]], [[value[column]] for column in COLUMNS[1:5]]
        if value["words"] != "_":
            forms = value["words"].split()
            known = [["_"] * len(forms) if cell == "_" else cell.split() for [cell] in known]
        if any(len(column) != len(forms) for column in known):
            raise DataError(name, number, f"a column has not one value for each of the {len(forms)} words")
        yield number, value["form"], [LexiconWord(*row) for row in zip(forms, *known, strict=True)], value["ends"]
