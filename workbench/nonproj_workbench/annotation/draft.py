"""The lines of a sentence as columns that can be changed; every other byte is kept."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from nonproj.errors import DataError, NonprojError
from nonproj.io.checks import BOM, ReadingRules, checked
from nonproj.io.columns import HEAD, ID
from nonproj.types import Sentence

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""Names of the columns."""

_RULES = ReadingRules(ignore_heads=True, max_line=1 << 30)


class EditError(NonprojError):
    """An edit is refused; the message has the reason."""


@dataclasses.dataclass(slots=True)
class Draft:
    """A sentence that can be changed.

    Attributes
    ----------
    before : str
        A byte order mark, or an empty string.
    comments : list of str
        The lines before the first word, each with its ending: comments, and blank lines of the file before them.
    rows : list of list of str
        The ten columns of each line of a word, a multiword range or an empty node.
    endings : list of str
        The line ending of each row.
    after : list of str
        The blank lines after the rows.
    """

    before: str
    comments: list[str]
    rows: list[list[str]]
    endings: list[str]
    after: list[str]

    @classmethod
    def of(cls, text: str) -> Draft:
        r"""Return the draft of a sentence's lines.

        Examples
        --------
        >>> draft = Draft.of("# a\n1\tRegn\t_\tN\tNC\t_\t0\tROOT\t_\t_\n\n")
        >>> draft.comments, draft.rows[0][1], draft.after
        (['# a\n'], 'Regn', ['\n'])
        """
        before = BOM if text.startswith(BOM) else ""
        lines = split_lines(text.removeprefix(BOM))
        first = next(i for i, line in enumerate(lines) if line[:1].isdigit())
        last = max(i for i, line in enumerate(lines) if line[:1].isdigit()) + 1
        rows, endings = [], []
        for line in lines[first:last]:
            bare = line.rstrip("\r\n")
            rows.append(bare.split("\t"))
            endings.append(line[len(bare) :])
        return cls(before, lines[:first], rows, endings, lines[last:])

    def text(self) -> str:
        """Return the lines."""
        rows = ("\t".join(row) + ending for row, ending in zip(self.rows, self.endings, strict=True))
        return "".join([self.before, *self.comments, *rows, *self.after])

    def copy(self) -> Draft:
        """Return a copy that can be changed."""
        rows = [row.copy() for row in self.rows]
        return Draft(self.before, self.comments.copy(), rows, self.endings.copy(), self.after.copy())

    @property
    def places(self) -> list[int]:
        """The index of each word's row."""
        return [i for i, row in enumerate(self.rows) if row[ID].isdecimal()]

    @property
    def words(self) -> list[list[str]]:
        """The columns of each word; changes to them are changes to the draft."""
        return [row for row in self.rows if row[ID].isdecimal()]

    @property
    def ending(self) -> str:
        """The line ending."""
        return "\r\n" if self.endings[0] == "\r\n" else "\n"

    def comment(self, key: str) -> str | None:
        """Return the value of a comment ``# key = value``, or None."""
        for line in self.comments:
            name, equals, value = line[1:].partition("=")
            if line.startswith("#") and equals and name.strip() == key:
                return value.strip()
        return None

    def set_comment(self, key: str, value: str | None) -> None:
        """Replace, add or, without a value, remove a comment ``# key = value``."""
        line, found = f"# {key} = {value}{self.ending}", False
        kept = []
        for old in self.comments:
            if old.startswith("#") and "=" in old and old[1:].partition("=")[0].strip() == key:
                if value is not None and not found:
                    kept.append(old if old.partition("=")[2].strip() == value else line)
                found = True
            else:
                kept.append(old)
        self.comments = kept if found or value is None else [*kept, line]

    def sentence(self, rows: Sequence[list[str]] | None = None) -> Sentence:
        """Return a sentence for the parser, of the draft's words or of other rows for them."""
        return Sentence(list(rows) if rows is not None else [row.copy() for row in self.words], path="sentence")

    def check(self) -> None:
        """Raise `EditError` unless the lines are a well-formed sentence."""
        try:
            checked(split_lines(self.text()), "sentence", 1, _RULES)
        except DataError as error:
            raise EditError(error.message) from None


def check_value(name: str, value: object) -> str:
    """Return a value for a column, or raise `EditError`.

    Examples
    --------
    >>> check_value("lemma", "regne"), check_value("xpos", "")
    ('regne', '_')
    """
    if not isinstance(value, str):
        raise EditError(f"{name} is {value!r}, a text expected")
    if "\t" in value or len(f"{value}x".splitlines()) > 1:
        raise EditError(f"{name}: a tab or a line break cannot be in a column")
    if any(0xD800 <= ord(character) < 0xE000 for character in value):
        raise EditError(f"{name}: half of a surrogate pair cannot be in a column")
    value = value.strip(" ")
    if name == "form" and not value:
        raise EditError("form: a word cannot be empty")
    return value or "_"


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a text, split at line feeds, each with its ending.

    Examples
    --------
    >>> split_lines("a\r\nb\x0bc\nd")
    ['a\r\n', 'b\x0bc\n', 'd']
    """
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def head_of(row: Sequence[str], words: int) -> int | None:
    """Return the head in a word's row, None if it is not another word's number or 0.

    Examples
    --------
    >>> head_of(["1", "Regn", "_", "_", "_", "_", "2", "obj", "_", "_"], 2)
    2
    """
    text = row[HEAD]
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
    return number if 0 <= number <= words and str(number) != row[ID] else None
