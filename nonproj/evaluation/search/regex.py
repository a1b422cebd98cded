"""Regular expressions that Python and browsers match alike.

An expression is parsed, checked and translated to one of `re`; the twin `regex.js` translates it for the browser.  Both
engines backtrack, so expressions that might take too long are refused: the number of ways in which an expression can
match a text bounds the steps of an engine.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
import unicodedata
from typing import NamedTuple, NoReturn

MOST_WAYS, LENGTH = 10**11, 500
"""Maximum number of ways in which an expression can match a text of ``LENGTH`` characters, enough for four unbounded
repetitions in a row.  Since there are at most four, the ways grow at most with the fourth power of the length."""

MOST_SIZE = 2000
"""Size limit of an expression; ``{m,n}`` repeats its part up to ``n`` times."""

DEEPEST = 50
"""Maximum depth of nested groups."""

_COUNTS = re.compile(r"([*+?])|\{([0-9]{1,4})(,?)([0-9]{0,4})\}")
_RANGE = re.compile(r"([^\\\]])-([^\\\]])", re.DOTALL)
_CATEGORY = "L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfosn]?"
_CHARACTER = re.compile(rf"\\(?:([dwsDWS])|([pP])\{{({_CATEGORY})\}}|([^A-Za-z0-9]))|([^\\])", re.DOTALL)
_CATEGORIES = {"d": ("Nd",), "w": ("L", "M", "N"), "s": ("Z",)}
_OTHERS = {"d": "", "w": "_", "s": "\t\n\v\f\r"}


class RegexError(ValueError):
    """An expression is refused; the first argument is the position of the error, from 0, the second the message."""

    def __init__(self, position: int, message: str):
        super().__init__(position, message)
        self.position, self.message = position, message


@functools.cache
def fold(c: str) -> str:
    """Return a character as it is compared where case is ignored: the small letter of its capital.

    Examples
    --------
    >>> "".join(map(fold, "ÉΟΔΟΣ, οδος"))
    'éοδοσ, οδοσ'
    """
    capital = c.upper() if len(c.upper()) == 1 else c
    return capital.lower() if len(capital.lower()) == 1 else capital


@functools.cache
def _runs() -> list[tuple[str, str, str]]:
    """Return the general category, the first and the last character of all runs; each character of ASCII is a run."""
    categories = list(map(unicodedata.category, map(chr, range(sys.maxunicode + 1))))
    pairs = enumerate(itertools.pairwise(categories), 1)
    starts = [0, *(code for code, (one, two) in pairs if one != two or code <= 128), len(categories)]
    return [(categories[one], chr(one), chr(two - 1)) for one, two in itertools.pairwise(starts)]


@functools.cache
def _class(categories: tuple[str, ...], others: str, negative: bool) -> str:
    """Return the characters of some categories and others, or all but these, for use in brackets."""
    return "".join(
        _between(first, last)
        for category, first, last in _runs()
        if (category.startswith(categories) or first in others) != negative
    )


class _Part(NamedTuple):
    """A translated part of an expression, the number of ways in which it may match, and its size."""

    text: str
    ways: int
    size: int


class _Reader:
    """A recursive descent parser of expressions."""

    def __init__(self, text: str, ignore_case: bool):
        self.text, self.place, self.depth, self.ignore_case = text, 0, 0, ignore_case

    def whole(self) -> _Part:
        """Parse the expression; anchors at its ends are redundant, because the whole value must match."""
        self.eat("^")
        part = self.either()
        if self.text[self.place :] == "$":
            self.place += 1
        if self.here():
            self.unexpected()
        return _limited(part)

    def unexpected(self) -> NoReturn:
        """Report a sign that has to be escaped to stand for itself."""
        raise RegexError(self.place, f"'{self.here()}' is unexpected here; write \\{self.here()} for the character")

    def here(self) -> str:
        """Return the next character, or an empty string at the end."""
        return self.text[self.place : self.place + 1]

    def eat(self, wanted: str) -> bool:
        """Skip a text if it comes next."""
        found = self.text.startswith(wanted, self.place)
        self.place += len(wanted) * found
        return found

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Skip and return what a pattern matches, if it does."""
        match = pattern.match(self.text, self.place)
        self.place = match.end() if match else self.place
        return match

    def either(self) -> _Part:
        """Parse alternatives, each of parts in a row."""
        texts, ways, size = [""], [1], 0
        while self.here() not in ("", ")", "$"):
            if self.eat("|"):
                texts.append("")
                ways.append(1)
                continue
            part = self.repeated()
            texts[-1] += part.text
            ways[-1] *= part.ways
            size += part.size
        return _Part("|".join(texts), sum(ways), size)

    def repeated(self) -> _Part:
        """Parse a part and how often it is repeated."""
        part, start = self.single(), self.place
        match = self.take(_COUNTS)
        if not match and self.here() != "{":
            return part
        low, high = _range(match) if match else (1, 0)
        limit = low + 1 if high is None else high
        if match is None or low > limit:
            raise RegexError(start, "a repetition is {2}, {2,} or {2,5}; write \\{ for the character")
        if self.here() in tuple("*+?{"):
            raise RegexError(self.place, "a second quantifier; repetitions are neither lazy (+?) nor possessive (++)")
        if high is None and part.ways > 1:
            raise RegexError(
                start, "repeats alternatives or repetitions, which can take too long; [ab]+ replaces (a|b)+"
            )
        part = _limited(part._replace(size=part.size * max(limit, 1)))
        ways = LENGTH if high is None else (high - low + 1) * part.ways**high
        return _limited(_Part(part.text + match[0], ways, part.size))

    def single(self) -> _Part:
        """Parse a character, a class or a group."""
        start = self.place
        if self.here() in "*+?{]}^":
            self.unexpected()
        if self.eat("("):
            return self.group(start)
        text = self.brackets(start) if self.eat("[") else "." if self.eat(".") else f"[{self.character()}]"
        return _Part(text, 1, 1)

    def group(self, start: int) -> _Part:
        """Parse a group in parentheses."""
        if not self.eat("?:") and self.here() == "?":
            raise RegexError(start, "of the groups that start with (? only (?:..) is supported")
        self.depth += 1
        if self.depth > DEEPEST:
            raise RegexError(start, f"groups are nested more than {DEEPEST} deep")
        part = self.either()
        self.depth -= 1
        if not self.eat(")"):
            raise RegexError(start, "a parenthesis is not closed")
        return _Part(f"(?:{part.text})", part.ways, part.size + 1)

    def brackets(self, start: int) -> str:
        """Parse a class in brackets."""
        found = "[^" if self.eat("^") else "["
        if self.here() == "]":
            raise RegexError(start, "empty brackets; write \\] for the character")
        while not self.eat("]"):
            place = self.place
            if not self.here():
                raise RegexError(start, "a bracket is not closed")
            if match := self.take(_RANGE):
                first, last = match.groups()
                if last < first:
                    raise RegexError(place, f"the range {match[0]} is empty")
                found += _between(first, last)
                if self.ignore_case and fold(first) <= fold(last):
                    found += _between(fold(first), fold(last))
            else:
                found += self.character()
        return f"{found}]"

    def character(self) -> str:
        """Parse a character or an escape, which becomes the contents of brackets."""
        match = self.take(_CHARACTER)
        if not match:
            raise RegexError(self.place, "supported after \\ are d, w, s, signs, and categories such as p{Lu}")
        kind, case, category, escaped, sign = match.groups()
        if kind:
            return _class(_CATEGORIES[kind.lower()], _OTHERS[kind.lower()], kind.isupper())
        if category:
            return _class((category,), "", case == "P")
        return re.escape(fold(escaped or sign) if self.ignore_case else escaped or sign)


def _range(match: re.Match[str]) -> tuple[int, int | None]:
    """Return the lowest and the highest count of a repetition, None if there is no limit."""
    sign, low, comma, high = match.groups()
    if sign:
        return int(sign == "+"), 1 if sign == "?" else None
    return int(low), int(high or low) if high or not comma else None


def _between(first: str, last: str) -> str:
    """Return a range for use in brackets."""
    return f"{re.escape(first)}-{re.escape(last)}"


def _limited(part: _Part) -> _Part:
    """Return a part that is not too large."""
    if part.size > MOST_SIZE:
        raise RegexError(0, "the expression is too large")
    if part.ways > MOST_WAYS:
        raise RegexError(0, "too many repetitions and alternatives follow each other")
    return part


class Regex:
    """A compiled expression.

    Parameters
    ----------
    text : str
        With ``. [..] [^..] * + ? {m,n} | (..) \\d \\w \\s \\p{..}``; other signs after a backslash stand for
        themselves.  There are neither references to groups nor assertions, and nothing is repeated without bound that
        has alternatives or repetitions in it.
    ignore_case : bool

    Attributes
    ----------
    longest : int
        Maximum number of characters of a text that can match, so that none takes long.

    Raises
    ------
    RegexError
        The expression is malformed, too large, or could take too long.

    Examples
    --------
    >>> Regex("(un)?[a-z]+ing").matches("unwinding"), Regex("ing").matches("winding")
    (True, False)
    """

    def __init__(self, text: str, ignore_case: bool = False):
        part = _Reader(text, ignore_case).whole()
        self._regex, self._ignore_case = re.compile(part.text, re.DOTALL), ignore_case
        self.longest = int(LENGTH * (MOST_WAYS / part.ways) ** 0.25)

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""
        if self._ignore_case:
            text = "".join(map(fold, text))
        return len(text) <= self.longest and self._regex.fullmatch(text) is not None
