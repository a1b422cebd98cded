"""A scanner of queries, and errors that point at a column."""

from __future__ import annotations

import re
from typing import NoReturn

from nonproj.errors import NonprojError
from nonproj_workbench.search.patterns import Value
from nonproj_workbench.search.regex import Regex, RegexError

LONGEST = 4000
"""Maximum number of characters of a query."""

BLANKS = " \t\r\n\u00a0"
"""Characters between the parts of a query."""


class QueryError(NonprojError):
    """A query, or a list of fields, is malformed.

    Parameters
    ----------
    column : int
        The place of the error, from 1.
    message : str
        The error, and what was expected.

    Examples
    --------
    >>> print(QueryError(4, "a word is expected"))
    query: column 4: a word is expected
    """

    def __init__(self, column: int, message: str):
        super().__init__(f"query: column {column}: {message}")
        self.column, self.message = column, message


class Scanner:
    """A text and a position in it."""

    def __init__(self, text: str):
        if len(text) > LONGEST:
            raise QueryError(LONGEST + 1, f"a query has at most {LONGEST} characters")
        self.text, self.place = text, 0

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        """Raise `QueryError` at a position, by default at this one."""
        raise QueryError((self.place if place is None else place) + 1, message)

    def here(self) -> str:
        """Return the next character, or an empty string at the end."""
        return self.text[self.place : self.place + 1]

    def skip(self) -> str:
        """Skip blanks, and return the next character."""
        self.take(f"[{BLANKS}]*")
        return self.here()

    def eat(self, wanted: str) -> bool:
        """Skip a sign if it comes next; return whether it did."""
        found = self.text.startswith(wanted, self.place)
        self.place += len(wanted) * found
        return found

    def run(self, excluded: str) -> str:
        """Skip and return the characters before the next one in ``excluded``, or all if there is none."""
        start = self.place
        while self.here() and self.here() not in excluded:
            self.place += 1
        return self.text[start : self.place]

    def take(self, pattern: str) -> re.Match[str] | None:
        """Skip and return a match of a regular expression, if one comes next."""
        found = re.compile(pattern, re.DOTALL).match(self.text, self.place)
        self.place = found.end() if found else self.place
        return found

    def number(self) -> int | None:
        """Skip and return a number of up to six digits, if one comes next."""
        found = self.take("[0-9]{1,6}")
        return int(found[0]) if found else None

    def quoted(self) -> str:
        """Skip and return a text in quotation marks, in which a backslash precedes a quotation mark or backslash."""
        found = self.take(r'"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)"')
        if not found:
            self.fail('a quotation mark is not closed: "')
        return re.sub(r'\\(["\\])', r"\1", found[1])

    def regex(self) -> Value:
        """Skip and return a regular expression between slashes; ``i`` after it ignores case."""
        start, found = self.place, self.take(r"/((?:[^/\\]|\\.)*)/(i?)")
        if not found:
            self.fail("a regular expression is not closed: /")
        text, ignore_case = found[1], bool(found[2])
        try:
            Regex(text, ignore_case)
        except RegexError as error:
            self.fail(f"in the regular expression: {error.message}", start + 1 + error.position)
        return Value("regex", text, ignore_case)
