"""The grammar of the words of a query: conditions on attributes, and names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from nonproj_workbench.search.patterns import (
    FLAGS,
    NUMBERS,
    OF_TREE,
    TEXTS,
    All,
    Attribute,
    Either,
    Formula,
    Not,
    Test,
    Value,
    WordPattern,
)
from nonproj_workbench.search.scanner import BLANKS, Scanner
from nonproj_workbench.validation import UNIVERSAL_TAGS

MOST_NODES, DEEPEST = 100, 30
"""Maximum number of words of a query, and maximum depth of its parentheses."""

TAGS = UNIVERSAL_TAGS - {"_"}
"""Universal tags; one of them as a bare word stands for a value of UPOS."""

RESERVED, FIRST = BLANKS + '{}[]()<>=!&|";,', "/$~:.-"
"""Signs that cannot be in a bare word, and signs that cannot begin one."""

_NUMBER = re.compile(r"(?=.{1,19}$)-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")

T = TypeVar("T")

_SYNONYMS = {"label": "deprel", "tag": "upos"}
"""Synonyms of attributes' names, for hints in errors."""


class WordParser(Scanner):
    """A recursive descent parser of words without relations; each method follows a rule of the grammar.

    Examples
    --------
    >>> WordParser("NOUN=n").element().name
    'n'
    """

    def __init__(self, text: str):
        super().__init__(text)
        self.nodes = self.depth = 0

    def enclosed(self, sign: str, opened: int, parse: Callable[[], T]) -> T:
        """Parse the contents of parentheses, which ``sign`` closes; they may be empty."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"parentheses are nested more than {DEEPEST} deep", opened)
        part = parse()
        self.depth -= 1
        if sign and not self.skip():
            self.fail(f"'{sign}' is missing at the end", opened)
        if not self.eat(sign):
            self.fail(f"'{sign}' is expected before '{self.here()}'; column {opened + 1} has opened it")
        return part

    def alternatives(self, parse: Callable[[], Formula]) -> Formula:
        """Parse parts separated by ``|``."""
        parts = [parse()]
        while self.skip() and self.eat("|"):
            parts.append(parse())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def element(self) -> WordPattern:
        """Parse a word without relations."""
        self.skip()
        self.nodes += 1
        if self.nodes > MOST_NODES:
            self.fail(f"a query has at most {MOST_NODES} words")
        negative, condition = self.eat("!"), All(())
        start, sign, bare = self.place, self.here(), ""
        if sign == "{":
            condition = self.braces()
        elif sign == '"':
            condition = _form(Value("text", self.quoted()))
        elif sign == "/":
            condition = _form(self.regex())
        elif sign and sign not in RESERVED + FIRST:
            bare = self.run(RESERVED)
            tag = Test(Attribute(False, 0, "text", "upos"), "=", Value("text", bare))
            condition = tag if bare in TAGS else _form(Value("fold", bare))
        elif sign:
            self.fail(f"a word is expected, not '{sign}': NOUN, dog, {{lemma:go}}; a sign is in quotation marks")
        else:
            self.fail("a word is expected: NOUN, dog, {lemma:go}; {} is any word")
        name = self.name()
        if bare not in TAGS:
            self.check_bare(bare, name, start)
        return WordPattern(Not(condition) if negative else condition, name)

    def check_bare(self, text: str, name: str, start: int) -> None:
        """Report ``upos:NOUN`` and ``Case=Gen`` without braces, which would mean a form and a named form."""
        key, sign, value = text.partition(":")
        key, value = _SYNONYMS.get(key, key), value or name
        known = key in (*TEXTS, *NUMBERS, *FLAGS)
        if (sign and known) or (not sign and name and (known or (key[:1].isupper() and name[:1].isupper()))):
            self.fail(f"attributes are in braces: {{{key}:{value}}}", start)

    def name(self) -> str:
        """Parse the name given to a word."""
        start = self.place
        if self.text.startswith("==", self.place) or not self.eat("="):
            return ""
        name = self.run(RESERVED + ".:~/$")
        if not name or name in ("head", "misc"):
            self.fail("a name is expected after =" if not name else f"{name} is an attribute; use another name", start)
        return name

    def braces(self) -> Formula:
        """Parse conditions in braces."""
        start = self.place
        self.place += 1
        self.skip()
        return All(()) if self.eat("}") else self.enclosed("}", start, self.conditions)

    def conditions(self) -> Formula:
        """Parse alternatives of conditions."""
        return self.alternatives(self.conjunction)

    def conjunction(self) -> Formula:
        """Parse conditions that must all hold."""
        parts = [self.condition()]
        while self.skip() and (self.eat(";") or self.eat("&")) and self.skip() != "}":
            parts.append(self.condition())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def condition(self) -> Formula:
        """Parse a condition."""
        self.skip()
        start = self.place
        if self.eat("!"):
            return Not(self.enclosed("", start, self.condition))
        if self.eat("("):
            return self.enclosed(")", start, self.conditions)
        attribute = self.attribute(RESERVED + ":/$")
        self.skip()
        place = self.place
        operator = self.take("[!<>]=|!:|[:=<>]")
        return self.test(attribute, operator[0], place) if operator else Test(attribute, "has", Value("text", ""))

    def test(self, attribute: Attribute, operator: str, place: int) -> Formula:
        """Parse the value with which an attribute is compared."""
        if attribute.kind == "flag":
            self.fail(f"{attribute.key} has no value; write {{{attribute.key}}} or {{!{attribute.key}}}", place)
        self.skip()
        start = self.place
        value = self.value()
        if attribute.kind == "number":
            if value.kind != "text" or not _NUMBER.fullmatch(value.text):
                self.fail(f"{attribute.key} is compared with a number", start)
            value = Value("number", value.text)
        elif operator[0] in "<>":
            self.fail(f"{attribute.key} is no number; compare it by : or !:", place)
        if operator in ("!=", "!:"):
            return Not(Test(attribute, "=", value))
        return Test(attribute, "=" if operator == ":" else operator, value)

    def value(self) -> Value:
        """Parse a value."""
        if self.here() == '"':
            return Value("text", self.quoted())
        if self.here() == "/":
            return self.regex()
        text = self.run(BLANKS + '{}()&|";')
        if not text:
            self.fail("a value is expected: a word, a text in quotation marks, or an expression between slashes")
        if text.endswith(","):
            self.fail("conditions are separated by ; (and) or | (or)", self.place - 1)
        return Value("text", text)

    def attribute(self, excluded: str) -> Attribute:
        """Parse an attribute."""
        start = self.place
        other = self.eat("~")
        heads = 0
        while self.eat("head."):
            heads += 1
        place = self.place
        name = self.run(excluded)
        layer = self.take(r"\[[A-Za-z0-9]+\]")  # of a layered feature, such as Number[psor]
        name += layer[0] if layer else ""
        found = _attribute(other, heads, name)
        if found is None:
            self.fail(_unknown(name), place)
        if other and not heads and found.key not in OF_TREE:
            self.fail(f"~ is the other tree, which has its own {', '.join(OF_TREE)}; not {name}", start)
        return found


def _form(value: Value) -> Formula:
    return Test(Attribute(False, 0, "text", "form"), "=", value)


def _attribute(other: bool, heads: int, name: str) -> Attribute | None:
    """Return the attribute with a name, or None if there is none."""
    for kind, names in (("text", TEXTS), ("number", NUMBERS), ("flag", FLAGS)):
        if name in names:
            return Attribute(other, heads, kind, name)
    if name.startswith("misc.") and len(name) > 5:
        return Attribute(other, heads, "misc", name[5:])
    if name[:1].isupper() and name not in TAGS:
        return Attribute(other, heads, "feature", name)
    return None


def _unknown(name: str) -> str:
    """Return the message for an attribute that does not exist."""
    if name in TAGS:
        return f"{name} is a value; write upos:{name}"
    if not name:
        return "an attribute is expected, as in upos:NOUN"
    known = ", ".join((*TEXTS, *NUMBERS, *FLAGS))
    return f"no attribute '{name[:40]}'; there are {known}, features such as Case, and misc.NAME"
