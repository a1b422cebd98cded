r"""The grammar of queries and of fields: a recursive descent parser, whose errors point at their column.

The methods of the parser follow the rules of this grammar in EBNF.  Blanks separate parts, and may be left out where
nothing is ambiguous; there are none before a name, a label or a range::

    query      = phrase | pattern ;
    phrase     = word, word, { word } ;
    pattern    = word, [ either ] ;
    either     = all, { "|", all } ;
    all        = link, { [ "&" ], link } ;
    link       = [ "!" ], ( "[", either, "]" | relation, ( word | "(", pattern, ")" ) ) ;
    relation   = [ "~" ], ( ( ">" | "<" ), [ side ], [ label ] | "$", [ side ] | "><" )
               | [ "~" ], ( ">>" | "<<" ), [ range ] | ( ".." | "--" ), [ range ]
               | "." | "-" | "==" ;
    side       = "++" | "--" ;
    label      = BARE | regex ;
    range      = NUMBER | NUMBER, "-", [ NUMBER ] ;

    word       = [ "!" ], ( BARE | text | regex | "{", [ conditions ], "}" ), [ "=", NAME ] ;
    conditions = conjunction, { "|", conjunction } ;
    conjunction = condition, { ( ";" | "&" ), condition } ;
    condition  = "!", condition | "(", conditions, ")" | attribute, [ comparison, value ] ;
    comparison = ":" | "=" | "!:" | "!=" | "<" | "<=" | ">" | ">=" ;
    attribute  = [ "~" ], { "head." }, ( ATTRIBUTE | ( FEATURE | "misc.", KEY ), [ "[", LAYER, "]" ] ) ;
    value      = BARE | text | regex | NUMBER ;
    text       = '"', { CHARACTER | '\"' | '\\' }, '"' ;
    regex      = "/", EXPRESSION, "/", [ "i" ] ;

    fields     = field, { ",", field } ;
    field      = [ NAME, "." ], attribute ;

``BARE`` is a run of characters other than blanks and ``{ } [ ] ( ) < > = ! & | " ; ,`` that does not begin with
``/ $ ~ : . -``; a label has no ``. ~ / $`` either.  A value may contain any of them except blanks and
``{ } ( ) & | " ;``.  ``LAYER`` is letters and digits, as in ``Number[psor]``.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from nonproj_workbench.search.conditions import FIRST, RESERVED, WordParser
from nonproj_workbench.search.patterns import (
    All,
    Attribute,
    Formula,
    Link,
    Not,
    Relation,
    Value,
    WordPattern,
    names_of,
)
from nonproj_workbench.search.scanner import BLANKS

_RELATIONS = ("<<", ">>", "><", ">++", ">--", "<++", "<--", "$++", "$--", "==", "..", "--", ">", "<", "$", ".", "-")
_LABELLED = frozenset((">", "<", ">++", ">--", "<++", "<--"))
_RANGED = frozenset(("<<", ">>", "..", "--"))


class _Parser(WordParser):
    """A recursive descent parser of queries."""

    def __init__(self, text: str):
        super().__init__(text)
        self.blank_after = -1

    def query(self) -> WordPattern:
        """Parse a phrase or a pattern."""
        words = [self.element()]
        while self.starts_element():
            words.append(self.element())
        node = self.linked(words[0]) if len(words) == 1 else words[-1]
        for word in reversed(words[:-1]):
            node = word._replace(links=All((Link(Relation("."), node),)))
        if self.skip():
            self.unexpected(phrase=len(words) > 1)
        return node

    def unexpected(self, phrase: bool) -> NoReturn:
        """Report text that cannot continue a query."""
        sign = self.here()
        if sign in ")]}":
            self.fail(f"'{sign}' closes nothing")
        if phrase and self.starts_link():
            self.fail("words side by side are a phrase, without relations; write A . B for a word after another")
        if self.starts_element() and self.blank_after >= 0:
            self.fail("no blank before a label: >obj", self.blank_after)
        if self.starts_element():
            self.fail("a relation to this word is expected, such as > or ..")
        self.fail(f"'{sign}' is unexpected; a relation such as >obj or .. is expected")

    def ahead(self) -> str:
        """Return the next sign, after blanks and a negation."""
        return self.text[self.place + 1 : self.place + 2] if self.skip() == "!" else self.here()

    def starts_element(self) -> bool:
        """Return whether a word comes next."""
        sign = self.ahead()
        return bool(sign) and (sign in '{"/' or sign not in RESERVED + FIRST)

    def starts_link(self) -> bool:
        """Return whether a relation comes next."""
        sign = self.ahead()
        return bool(sign) and sign in "<>$.-=~["

    # -- relations -----------------------------------------------------------------------------------------------------

    def linked(self, node: WordPattern) -> WordPattern:
        """Parse the relations of a word."""
        return node._replace(links=self.either()) if self.starts_link() else node

    def either(self) -> Formula:
        """Parse alternative relations."""
        return self.alternatives(self.all)

    def all(self) -> Formula:
        """Parse relations that must all hold; ``&`` between them is optional."""
        parts = [self.link()]
        while self.starts_link() or self.here() == "&":
            self.eat("&")
            parts.append(self.link())
        return All(tuple(parts))

    def link(self) -> Formula:
        """Parse a relation and the word to which it leads, or relations in brackets."""
        self.skip()
        start = self.place
        return Not(self.link_or_group(start)) if self.eat("!") else self.link_or_group(start)

    def link_or_group(self, start: int) -> Formula:
        """Parse a relation, or relations in brackets."""
        opened = self.place
        if self.eat("["):
            return self.enclosed("]", opened, self.either)
        relation = self.relation(start)
        self.skip()
        opened = self.place
        if not self.eat("("):
            return Link(relation, self.element())
        return Link(relation, self.enclosed(")", opened, lambda: self.linked(self.element())))

    def relation(self, start: int) -> Relation:
        """Parse a relation."""
        other = self.eat("~")
        sign = next((sign for sign in _RELATIONS if self.eat(sign)), "")
        if not sign:
            self.fail("a relation is expected, such as >obj, <, >>, .. or $", start)
        if other and sign in ("==", "..", "--", ".", "-"):
            self.fail(f"~ is the other tree, but '{sign}' is about the order of words", start)
        if sign in _RANGED:
            return Relation(sign, other, None, *self.distances())
        label = None
        if sign in _LABELLED and self.here() and self.here() not in RESERVED + "~$.-:":
            label = self.regex() if self.here() == "/" else Value("text", self.run(RESERVED + ".~/$"))
        elif sign in _LABELLED and self.here() and self.here() in BLANKS:
            self.blank_after = self.place
        elif sign in ("$", "$++", "$--", "><") and self.here().isalpha():
            self.fail(f"'{sign}' has no label; write {sign} {{deprel:obj}}")
        return Relation(sign, other, label)

    def distances(self) -> tuple[int, int]:
        """Parse a range of distances: ``5`` for at most 5, ``2-5``, or ``2-`` for at least 2."""
        start = self.place
        first = self.number()
        if first is None:
            if self.here().isalpha():
                self.fail("this relation has no label; write >> {deprel:obj}")
            return 1, 0
        low, high = (first, self.number() or 0) if self.eat("-") else (1, first)
        if first < 1 or (high and high < low):
            self.fail("a range of distances is 5 (at most), 2-5, or 2- (at least)", start)
        return low, high


def parse(text: str) -> WordPattern:
    """Return the pattern of a query.

    Raises
    ------
    QueryError
        The query is malformed.

    Examples
    --------
    >>> node = parse("VERB >obj {lemma:dog}=o")
    >>> node.links.parts[0].relation.label.text, node.links.parts[0].node.name
    ('obj', 'o')
    >>> parse("VERB )")
    Traceback (most recent call last):
    nonproj_workbench.search.scanner.QueryError: query: column 6: ')' closes nothing
    """
    parser = _Parser(text)
    node = parser.query()
    bound = names_of(node, bound=True)
    for name in names_of(node):
        if name not in bound:
            place = text.find("=" + name)
            parser.fail(f"'{name}' is used only under ! or |; name a word that is always found, too", max(place, 0))
    return node


class Field(NamedTuple):
    """An attribute of a named word, or of the first word of the query if the name is empty; ``text`` as written."""

    name: str
    attribute: Attribute
    text: str


def parse_fields(text: str, names: list[str]) -> list[Field]:
    """Return the fields in a list separated by commas, such as ``deprel, head.upos, o.lemma``.

    Parameters
    ----------
    text : str
    names : list of str
        The named words of the query.

    Raises
    ------
    QueryError
        The list is malformed.

    Examples
    --------
    >>> [(field.name, field.attribute.key) for field in parse_fields("deprel, o.lemma", ["o"])]
    [('', 'deprel'), ('o', 'lemma')]
    """
    scanner, found = _Parser(text), []
    while True:
        scanner.skip()
        start, name = scanner.place, next((name for name in names if scanner.eat(f"{name}.")), "")
        attribute = scanner.attribute(BLANKS + ",")
        found.append(Field(name, attribute, text[start : scanner.place]))
        if not scanner.skip():
            return found
        if not scanner.eat(","):
            scanner.fail("fields are separated by commas")
