"""The parts of a parsed query, as tuples, so that patterns can be compared and printed."""

from __future__ import annotations

from typing import NamedTuple

TEXTS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc", "sent_id")
"""Attributes with strings; names of features, with a capital, and ``misc.NAME`` are others."""

NUMBERS = ("id", "head", "distance", "depth", "children", "length", "confidence")
"""Attributes with numbers."""

FLAGS = ("root", "headless", "crossing", "differs", "head-differs", "label-differs")
"""Attributes that are present or absent."""

OF_TREE = ("deprel", "head", "distance", "depth", "children", "root", "headless", "crossing")
"""Attributes that ``~`` takes from the other tree."""

OF_BOTH = ("differs", "head-differs", "label-differs")
"""Attributes that compare the two trees."""


class Attribute(NamedTuple):
    """An attribute of a word, of its head after ``heads`` steps, or of either in the other tree.

    Attributes
    ----------
    other : bool
    heads : int
    kind : str
        ``text``, ``feature``, ``misc``, ``number`` or ``flag``.
    key : str
        The name of the attribute or feature.
    """

    other: bool
    heads: int
    kind: str
    key: str


class Value(NamedTuple):
    """The value of a comparison, of kind ``text`` (equal), ``fold`` (ignoring case), ``regex`` or ``number``."""

    kind: str
    text: str
    ignore_case: bool = False


class Test(NamedTuple):
    """A comparison; with the operator ``has``, whether there is a value."""

    attribute: Attribute
    operator: str
    value: Value


class Relation(NamedTuple):
    """A relation of two words, by a sign, with a label or a range of distances (``high`` 0: no limit)."""

    sign: str
    other: bool = False
    label: Value | None = None
    low: int = 1
    high: int = 0


class Link(NamedTuple):
    """A relation to a word that matches a pattern."""

    relation: Relation
    node: WordPattern


class Not(NamedTuple):
    """A negation."""

    part: Formula


class All(NamedTuple):
    """A conjunction, empty if always true."""

    parts: tuple[Formula, ...]


class Either(NamedTuple):
    """A disjunction."""

    parts: tuple[Formula, ...]


class WordPattern(NamedTuple):
    """A word: conditions on its attributes, the name that it is given, and links to other words."""

    condition: Formula
    name: str = ""
    links: Formula = All(())


Formula = Test | Link | Not | All | Either


def names_of(node: WordPattern, bound: bool = False) -> list[str]:
    """Return the names of the words of a pattern in their order; if ``bound``, only those outside ``!`` and ``|``.

    Examples
    --------
    >>> names_of(WordPattern(All(()), "a", Not(Link(Relation(">"), WordPattern(All(()), "b")))))
    ['a', 'b']
    """
    found: dict[str, None] = {}

    def visit(part: Formula | WordPattern) -> None:
        """Add the names in a part, in the order of the text."""
        if isinstance(part, WordPattern):
            if part.name:
                found[part.name] = None
            visit(part.links)
        elif isinstance(part, Link):
            visit(part.node)
        elif isinstance(part, Not | Either):
            for each in part.parts if isinstance(part, Either) else (part.part,):
                if not bound:
                    visit(each)
        elif isinstance(part, All):
            for each in part.parts:
                visit(each)

    visit(node)
    return list(found)
