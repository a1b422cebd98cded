"""Regular expressions without backtracking: matching takes time linear in the text for every expression.

An expression is compiled to the instructions of a nondeterministic automaton (Thompson 1968); matching determinises it
lazily.  `re` could take exponential time, and the browser's expressions differ from Python's in syntax and classes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

MOST_INSTRUCTIONS = 2000
"""Size limit of a compiled expression; ``{m,n}`` repeats its part that many times."""

MOST_STATES = 500
"""Number of states of the deterministic automaton that are kept; beyond it, they are computed anew."""

DEEPEST = 50
"""Maximum depth of nested groups."""

CATEGORIES = re.compile("L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfosn]?")
"""General categories of Unicode that ``\\p{..}`` accepts."""

Test = Callable[[str], bool]
"""Whether a character is accepted."""


class RegexError(ValueError):
    """An expression is malformed; the first argument is the position of the error, from 0, the second the message."""

    def __init__(self, position: int, message: str):
        super().__init__(position, message)
        self.position, self.message = position, message


class _Part(NamedTuple):
    """A part of an expression: ``char``, ``empty``, ``all``, ``any``, or ``repeat`` from ``low`` to ``high`` times."""

    kind: str
    parts: tuple[_Part, ...] = ()
    test: Test | None = None
    low: int = 0
    high: int | None = None


class _Reader:
    """A recursive descent parser of expressions."""

    def __init__(self, text: str, ignore_case: bool):
        self.text, self.place, self.depth, self.ignore_case = text, 0, 0, ignore_case

    def whole(self) -> _Part:
        """Parse the expression; anchors at its ends are redundant, because the whole value must match."""
        if self.text.startswith("^"):
            self.place = 1
        part = self.either()
        if self.here() == "$" and self.place == len(self.text) - 1:
            self.place += 1
        if self.place < len(self.text):
            raise RegexError(self.place, f"'{self.here()}' is unexpected here; write \\{self.here()} for the character")
        return part

    def here(self) -> str:
        """Return the next character, or an empty string at the end."""
        return self.text[self.place : self.place + 1]

    def eat(self, wanted: str) -> bool:
        """Skip a text if it comes next."""
        found = self.text.startswith(wanted, self.place)
        self.place += len(wanted) * found
        return found

    def either(self) -> _Part:
        """Parse alternatives."""
        parts = [self.sequence()]
        while self.eat("|"):
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else _Part("any", tuple(parts))

    def sequence(self) -> _Part:
        """Parse parts in a row."""
        parts = []
        while self.here() not in ("", "|", ")", "$"):
            parts.append(self.repeated())
        return parts[0] if len(parts) == 1 else _Part("all", tuple(parts))

    def repeated(self) -> _Part:
        """Parse a part and how often it is repeated."""
        part = self.single()
        counts = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        start, sign = self.place, self.here()
        if sign in counts and sign:
            self.place += 1
            low, high = counts[sign]
        elif sign == "{":
            low, high = self.counts()
        else:
            return part
        if self.here() in ("*", "+", "?", "{") and self.here():
            raise RegexError(self.place, "a second quantifier; put the first one and its part into parentheses")
        if high is not None and low > high:
            raise RegexError(start, "the counts of a repetition are in ascending order: {1,3}")
        return _Part("repeat", (part,), None, low, high)

    def counts(self) -> tuple[int, int | None]:
        """Parse ``{m}``, ``{m,}`` or ``{m,n}``."""
        start = self.place
        self.place += 1
        low = self.number()
        high = self.number() if self.eat(",") else low
        if low is None or not self.eat("}") or max(low, high or 0) > MOST_INSTRUCTIONS:
            raise RegexError(start, "a repetition is {2}, {2,} or {2,5}; write \\{ for the character")
        return low, high

    def number(self) -> int | None:
        """Parse digits, if there are any."""
        start = self.place
        while self.here() in tuple("0123456789") and self.place - start < 5:
            self.place += 1
        return int(self.text[start : self.place]) if self.place > start else None

    def single(self) -> _Part:
        """Parse a character, a class or a group."""
        start, sign = self.place, self.here()
        if sign and sign in "*+?{":
            raise RegexError(start, f"'{sign}' repeats nothing; write \\{sign} for the character")
        if sign and sign in "]}^":
            raise RegexError(start, f"'{sign}' is unexpected here; write \\{sign} for the character")
        self.place += 1
        if sign == "(":
            return self.group(start)
        if sign == "[":
            return _Part("char", test=self.characters(start))
        if sign == ".":
            return _Part("char", test=lambda _: True)
        return _Part("char", test=self.folded(self.escape() if sign == "\\" else _literal(sign)))

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
        return part

    def folded(self, test: Test) -> Test:
        """Return a test that ignores case if the expression does."""
        if not self.ignore_case:
            return test
        return lambda c: test(c) or any(len(other) == 1 and test(other) for other in (c.lower(), c.upper()))

    def escape(self) -> Test:
        """Parse what follows a backslash."""
        start, sign = self.place - 1, self.here()
        self.place += 1
        if sign.lower() in ("d", "w", "s") and sign:
            return _negated(_CLASSES[sign.lower()], sign.isupper())
        if sign in ("p", "P") and self.eat("{"):
            end = self.text.find("}", self.place)
            name = self.text[self.place : end]
            if not CATEGORIES.fullmatch(name):
                raise RegexError(start, f"no category \\p{{{name[:20]}}}; one is, for example, \\p{{Lu}} or \\p{{P}}")
            self.place = end + 1
            return _negated(lambda c: unicodedata.category(c).startswith(name), sign == "P")
        if sign in ("t", "n", "r"):
            return _literal({"t": "\t", "n": "\n", "r": "\r"}[sign])
        if not sign or (sign.isascii() and sign.isalnum()):
            reason = "nothing follows \\" if not sign else f"\\{sign} is not supported"
            raise RegexError(start, f"{reason}; supported are \\d \\w \\s \\p{{..}} and \\ before signs")
        return _literal(sign)

    def characters(self, start: int) -> Test:
        """Parse a class in brackets."""
        negative, tests = self.eat("^"), []
        if self.here() == "]":
            raise RegexError(start, "empty brackets; write \\] for the character")
        while not self.eat("]"):
            place, sign = self.place, self.here()
            if not sign:
                raise RegexError(start, "a bracket is not closed")
            self.place += 1
            if sign == "\\":
                tests.append(self.folded(self.escape()))
                continue
            if self.here() == "-" and self.text[self.place + 1 : self.place + 2] not in ("", "]", "\\"):
                self.place += 1
                last = self.here()
                self.place += 1
                if last < sign:
                    raise RegexError(place, f"the range {sign}-{last} is empty")
                tests.append(self.folded(_between(sign, last)))
            else:
                tests.append(self.folded(_literal(sign)))
        return _negated(lambda c: any(test(c) for test in tests), negative)


def _literal(wanted: str) -> Test:
    return lambda c: c == wanted


def _between(first: str, last: str) -> Test:
    return lambda c: first <= c <= last


def _negated(test: Test, negative: bool) -> Test:
    return (lambda c: not test(c)) if negative else test


_CLASSES: dict[str, Test] = {
    "d": lambda c: unicodedata.category(c) == "Nd",
    "w": lambda c: c == "_" or unicodedata.category(c)[0] in "LMN",
    "s": lambda c: c in "\t\n\v\f\r" or unicodedata.category(c)[0] == "Z",
}


class Regex:
    """A compiled expression.

    Parameters
    ----------
    text : str
        With ``. [..] [^..] * + ? {m,n} | (..) \\d \\w \\s \\p{..}``; other signs after a backslash stand for
        themselves.  There are neither references to groups nor assertions.
    ignore_case : bool

    Raises
    ------
    RegexError
        The expression is malformed or too large.

    Examples
    --------
    >>> Regex("(un)?[a-z]+ing").matches("unwinding"), Regex("ing").matches("winding")
    (True, False)
    """

    def __init__(self, text: str, ignore_case: bool = False):
        self._code: list[tuple[Test | None, tuple[int, ...]]] = []  # a test and where to go, or jumps without one
        self._steps = 0
        end = self._emit(_Reader(text, ignore_case).whole(), self._add(None, ()))
        self._begin = self._closure({end})
        self._moves: dict[tuple[int, ...], dict[str, tuple[int, ...]]] = {}

    def _add(self, test: Test | None, targets: tuple[int, ...]) -> int:
        """Add an instruction, and return its number."""
        self._code.append((test, targets))
        return len(self._code) - 1

    def _emit(self, part: _Part, end: int) -> int:
        """Add the instructions of a part that continue at ``end``, and return where they start."""
        self._steps += 1
        if self._steps > MOST_INSTRUCTIONS:
            raise RegexError(0, "the expression is too large")
        if part.kind == "char":
            return self._add(part.test, (end,))
        if part.kind == "any":
            return self._add(None, tuple(self._emit(each, end) for each in part.parts))
        if part.kind == "all":
            for each in reversed(part.parts):
                end = self._emit(each, end)
            return end
        inner = part.parts[0]
        if part.high is None:
            loop = self._add(None, ())
            self._code[loop] = (None, (self._emit(inner, loop), end))
            end = loop
        else:
            after = end
            for _ in range(part.high - part.low):
                end = self._add(None, (self._emit(inner, end), after))
        for _ in range(part.low):
            end = self._emit(inner, end)
        return end

    def _closure(self, starts: set[int]) -> tuple[int, ...]:
        """Return the instructions with tests, or the final one, that are reached by jumps, sorted."""
        seen, stack = set(starts), list(starts)
        while stack:
            test, targets = self._code[stack.pop()]
            if test is None:
                new = [target for target in targets if target not in seen]
                seen.update(new)
                stack += new
        return tuple(sorted(place for place in seen if place == 0 or self._code[place][0] is not None))

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""
        state = self._begin
        for c in text:
            known = self._moves.get(state)
            if known is None:
                if len(self._moves) >= MOST_STATES:
                    self._moves.clear()
                known = self._moves[state] = {}
            after = known.get(c)
            if after is None:
                tests = (self._code[place] for place in state)
                after = self._closure({targets[0] for test, targets in tests if test is not None and test(c)})
                if len(known) < MOST_STATES:
                    known[c] = after
            if not after:
                return False
            state = after
        return 0 in state
