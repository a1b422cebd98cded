"""Lexicons that users write: tokens, their words, and what is known of these.

A lexicon is CoNLL-U, whose heads are ignored; a table, whose first line names its columns, separated by tabs; or a list
of tokens, one a line.  Comments begin with a hash and a blank.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from nonproj.errors import DataError
from nonproj.io import conll
from nonproj.io.checks import BOM
from nonproj.io.columns import FEATS, FORM
from nonproj.io.copies import surface_tokens
from nonproj.io.files import Source, open_input, stream_error, text_lines
from nonproj.io.strings import LONGEST_EXPANSION, MOST_WORDS, StringKind, problem
from nonproj.types import Sentence

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "words", "ends")
"""The columns of a table, in any order; all but the first may be missing."""

ENDS = ("_", "Yes", "No")
"""Whether a sentence may end after a token; ``_``: unless the token is a word with a full stop."""

_STRING = StringKind("value", LONGEST_EXPANSION, 1 << 22)
_CONLL = re.compile(r"# global\.columns|[0-9]+(-[0-9]+)?\t")


class LexiconWord(NamedTuple):
    """A word and what is known of it; ``_`` leaves a column open."""

    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"


class LexiconEntry(NamedTuple):
    """A token, its words, of which most tokens have one, and one of `ENDS`."""

    token: str
    words: tuple[LexiconWord, ...]
    ends: str = "_"

    @property
    def ends_no_sentence(self) -> bool:
        """Whether no sentence ends after the token."""
        dotted = self.token.endswith(".") and any(map(str.isalnum, self.token))
        return self.ends == "No" or (self.ends == "_" and dotted)


def entry(token: str, words: list[LexiconWord], ends: str = "_") -> LexiconEntry:
    """Return an entry; raise ``ValueError``, which says what is wrong, if it is not valid.

    Examples
    --------
    >>> entry("dunno", [LexiconWord("do"), LexiconWord("n't"), LexiconWord("know")]).words[2].form
    'know'
    """
    values = [token, *(value for word in words for value in word)]
    if found := problem(values, _STRING):
        raise ValueError(found)
    if len(words) > MOST_WORDS:
        raise ValueError(f"the token has {len(words)} words, at most {MOST_WORDS} are allowed")
    if ends not in ENDS:
        raise ValueError(f"the value {ends!r} of ends is none of {', '.join(ENDS)}")
    for name, value in (pair for word in words for pair in zip(COLUMNS[2:], word[2:], strict=False)):
        if value.split() != [value]:
            raise ValueError(f"{name} has a blank in {value!r}")
    token, *forms = (
        " ".join(unicodedata.normalize("NFC", form).split()) for form in (token, *(word.form for word in words))
    )
    if not all([token, *forms]):
        raise ValueError("a form is blank")
    if len(forms) == 1 and forms != [token]:
        raise ValueError(f"the token {token!r} has one other word, several are expected")
    return LexiconEntry(token, tuple(word._replace(form=form) for word, form in zip(words, forms, strict=True)), ends)


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
    >>> table = "form\\tlemma\\tupos\\twords\\n" "C++\\tC++\\tPROPN\\t_\\n" "dunno\\t_\\t_\\tdo n't know\\n"
    >>> [(each.token, len(each.words)) for each in read_lexicon(io.StringIO(table))]
    [('C++', 1), ('dunno', 3)]
    """
    opened, lines = open_input(source), list[str]()
    with opened.closing:
        try:
            lines.extend(text_lines(opened.stream))
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise stream_error(error, opened.name, len(lines)) from None
    lines[:1] = [line.removeprefix(BOM) for line in lines[:1]]
    first = next((line for line in lines if not _is_comment(line)), "")
    if _CONLL.match(first) or _CONLL.match(lines[0] if lines else ""):
        stream = io.StringIO("".join(lines), newline="")
        stream.name = opened.name
        return [each for sentence in conll.read(stream, ignore_heads=True) for each in _of_sentence(sentence)]
    return list(_of_lines(lines, opened.name))


def _is_comment(line: str) -> bool:
    return not line.strip() or line.startswith("# ")


def _of_sentence(sentence: Sentence) -> Iterator[LexiconEntry]:
    """Yield the entries of a sentence in CoNLL-U."""
    first = 0
    for token, misc, size in surface_tokens(sentence):
        words = [LexiconWord(*row[FORM : FEATS + 1]) for row in sentence.rows[first : first + size]]
        ends = dict(item.partition("=")[::2] for item in misc.split("|")).get("Ends", "_")
        try:
            yield entry(token, words, ends)
        except ValueError as error:
            raise DataError(sentence.path, sentence.line + sentence.word_lines[first], str(error)) from None
        first += size


def _of_lines(lines: list[str], name: str) -> Iterator[LexiconEntry]:
    """Yield the entries of a table with a header, or of a list of tokens."""
    header: list[str] | None = None
    for number, line in enumerate(lines, 1):
        if _is_comment(line):
            continue
        cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")]
        try:
            if header is None:
                header = _header(cells) if len(cells) > 1 else ["form"]
                if len(cells) > 1:
                    continue
            if len(cells) != len(header):
                raise ValueError(f"{len(cells)} columns, {len(header)} expected: {', '.join(header)}")
            yield _of_cells(dict(zip(header, cells, strict=True)))
        except ValueError as error:
            raise DataError(name, number, str(error)) from None


def _header(cells: list[str]) -> list[str]:
    """Return the names of the columns of a table."""
    names = [cell.lower() for cell in cells]
    if wrong := [cell for cell in names if cell not in COLUMNS or names.count(cell) > 1] or set(COLUMNS[:1]) - {*names}:
        listed = ", ".join(COLUMNS)
        raise ValueError(f"the first line is no header: {[*wrong][0]!r} is missing, unknown or twice; of {listed}")
    return names


def _of_cells(cells: dict[str, str]) -> LexiconEntry:
    """Return the entry of a line; where the token has several words, blanks separate what is known of each."""
    value = {name: cells.get(name) or "_" for name in COLUMNS}
    token, ends, known = cells["form"], value["ends"].capitalize(), [value[name] for name in COLUMNS[1:5]]
    if value["words"] == "_":
        return entry(token, [LexiconWord(token, *known)], ends)
    forms = value["words"].split()
    columns = [["_"] * len(forms) if cell == "_" else cell.split() for cell in known]
    for name, column in zip(COLUMNS[1:], columns, strict=False):
        if len(column) != len(forms):
            raise ValueError(f"{name} has {len(column)} values for {len(forms)} words")
    return entry(token, [LexiconWord(*row) for row in zip(forms, *columns, strict=True)], ends)
