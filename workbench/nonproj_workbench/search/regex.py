"""Regular expressions that match in bounded time.

An expression is parsed, checked and translated to one of `re`, which backtracks.  So expressions that might take too
long are refused: the number of ways in which an expression can match a text bounds the steps.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

MOST_WAYS, LENGTH = 10**11, 500
"""Maximum number of ways in which an expression can match a text of ``LENGTH`` characters, enough for four unbounded
repetitions in a row.  Since there are at most four, the ways grow at most with the fourth power of the length."""

MOST_SIZE = 2000
"""Size limit of an expression; ``{m,n}`` repeats its part up to ``n`` times."""

DEEPEST = 50
"""Maximum depth of nested groups."""

_CATEGORY = "L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfosn]?"
_ESCAPE = rf"\\(?:[dwsDWS]|[pP]\{{(?:{_CATEGORY})\}}|[^A-Za-z0-9])"
_ITEM = re.compile(rf"([^\\\]])-([^\\\]])|{_ESCAPE}|[^\\\]]", re.DOTALL)
_SINGLE = re.compile(rf"\.|(\[(?:\^|(?!\^)))((?:{_ESCAPE}|[^\\\]])+)\]|{_ESCAPE}|[^\\*+?{{}}()\[\]^$|]", re.DOTALL)
"""Contents of brackets: ranges, escapes and signs; and items that may be repeated."""

_OPEN = re.compile(r"\((?:\?:|(?!\?))")
_COUNT = re.compile(r"([*+?])|\{([0-9]{1,4})(,?)([0-9]{0,4})\}")
_CLASSES = {"d": (("Nd",), ""), "w": (("L", "M", "N"), "_"), "s": (("Z",), "\t\n\v\f\r")}


class RegexError(ValueError):
    """An expression is refused; the first argument is the position of the error, from 0, the second the message."""

    def __init__(self, position: int, message: str):
        super().__init__(position, message)
        self.position, self.message = position, message


@functools.cache
def fold(c: str) -> str:
    """Return the form of a character for comparison without case: the small letter of its capital.

    Examples
    --------
    >>> "".join(map(fold, "ÉΟΔΟΣ, οδος"))
    'éοδοσ, οδοσ'
    """
    capital = c.upper() if len(c.upper()) == 1 else c
    return capital.lower() if len(capital.lower()) == 1 else capital


@functools.cache
def _runs() -> list[tuple[str, str, str]]:
    """Return category, first and last character of each run of a general category; each ASCII character is a run."""
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


@dataclass
class _Group:
    """A group being read: its place, the ways to match its earlier alternatives and its last one, and its size."""

    place: int
    earlier: int = 0
    ways: int = 1
    size: int = 0


def _translated(text: str, ignore_case: bool) -> tuple[str, int]:
    """Return an expression for `re`, and the number of ways it may match; anchors at the ends are redundant."""
    found, place, groups = "", int(text.startswith("^")), [_Group(0)]
    while place < len(text) and text[place:] != "$":
        start, group = place, groups[-1]
        if text[place] == "|":
            group.earlier, group.ways, place, found = group.earlier + group.ways, 1, place + 1, found + "|"
            continue
        if match := _OPEN.match(text, place):
            if len(groups) > DEEPEST:
                raise RegexError(start, f"groups are nested more than {DEEPEST} deep")
            groups.append(_Group(start))
            place, found = match.end(), found + "(?:"
            continue
        if text[place] == ")" and len(groups) > 1:
            part, ways, size = ")", group.earlier + group.ways, group.size + 1
            place, group = place + 1, groups[-2]
            groups.pop()
        elif match := _SINGLE.match(text, place):
            part, ways, size, place = "".join(_single(match, ignore_case)), 1, 1, match.end()
        else:
            raise RegexError(start, _unexpected(text[place : place + 2]))
        count, ways, size = _repeated(text, place, ways, size)
        found, place = found + part + count, place + len(count)
        group.ways, group.size = group.ways * ways, group.size + size
        _limit(group.ways, group.size)
    if len(groups) > 1:
        raise RegexError(groups[-1].place, "a parenthesis is not closed")
    ways = groups[0].earlier + groups[0].ways
    _limit(ways, groups[0].size)
    return found, ways


def _unexpected(signs: str) -> str:
    """Return the message for signs that cannot be part of an expression; the second one may be missing."""
    if signs == "(?":
        return "of the groups that start with (? only (?:..) is supported"
    if signs[0] == "\\":
        return "supported after \\ are d, w, s, signs, and categories such as p{Lu}"
    if signs[0] == "[":
        return "brackets are [ab], [a-z] or [^ab]; write \\[ for the character"
    return f"'{signs[0]}' is unexpected here; write \\{signs[0]} for the character"


def _repeated(text: str, place: int, ways: int, size: int) -> tuple[str, int, int]:
    """Return the quantifier at a place, as written, and the ways and size of the part that it repeats."""
    match = _COUNT.match(text, place)
    if not match:
        if text[place : place + 1] == "{":
            raise RegexError(place, _COUNTS)
        return "", ways, size
    sign, first, comma, last = match.groups()
    low = int(sign == "+") if sign else int(first)
    high = (1 if sign == "?" else None) if sign else int(last or first) if last or not comma else None
    if high is not None and low > high:
        raise RegexError(place, _COUNTS)
    if text[match.end() : match.end() + 1] in tuple("*+?{"):
        raise RegexError(match.end(), "a second quantifier; repetitions are neither lazy (+?) nor possessive (++)")
    if high is None and ways > 1:
        message = "repeats alternatives or repetitions, which can take too long; [ab]+ replaces (a|b)+"
        raise RegexError(place, message)
    size *= max(low + 1 if high is None else high, 1)
    _limit(1, size)
    return match[0], LENGTH if high is None else (high - low + 1) * ways**high, size


_COUNTS = "a repetition is {2}, {2,} or {2,5}; write \\{ for the character"


def _limit(ways: int, size: int) -> None:
    """Raise RegexError for an expression that is too large, or may match in too many ways."""
    if size > MOST_SIZE:
        raise RegexError(0, "the expression is too large")
    if ways > MOST_WAYS:
        raise RegexError(0, "too many repetitions and alternatives follow each other")


def _single(match: re.Match[str], ignore_case: bool) -> Iterator[str]:
    """Yield the parts of the translation of a character, a class, or brackets."""
    if match[0] == ".":
        yield "."
        return
    yield match[1] or "["
    for item in _ITEM.finditer(match[2] or match[0]):
        first, last = item.groups()
        if first and last < first:
            raise RegexError(match.start(2) + item.start(), f"the range {item[0]} is empty")
        if first:
            yield _between(first, last)
            if ignore_case and fold(first) <= fold(last):
                yield _between(fold(first), fold(last))
        elif len(item[0]) > 1 and item[0][1] in "dwsDWSpP":
            kind, category = item[0][1], item[0][3:-1]
            yield _class(*((category,), "") if category else _CLASSES[kind.lower()], kind.isupper())
        else:
            yield re.escape(fold(item[0][-1]) if ignore_case else item[0][-1])
    yield "]"


def _between(first: str, last: str) -> str:
    """Return a range for use in brackets."""
    return f"{re.escape(first)}-{re.escape(last)}"


class Regex:
    """A compiled expression.

    Parameters
    ----------
    text : str
        With ``. [..] [^..] * + ? {m,n} | (..) \\d \\w \\s \\p{..}``; other signs after a backslash stand for
        themselves.  There are neither references to groups nor assertions, and no part with alternatives or repetitions
        is repeated without bound.
    ignore_case : bool

    Attributes
    ----------
    longest : int
        Maximum number of characters of a matching text, which limits the time.

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
        translated, ways = _translated(text, ignore_case)
        self._regex, self._ignore_case = re.compile(translated, re.DOTALL), ignore_case
        self.longest = int(LENGTH * (MOST_WAYS / ways) ** 0.25)

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""
        if self._ignore_case:
            text = "".join(map(fold, text))
        return len(text) <= self.longest and self._regex.fullmatch(text) is not None
