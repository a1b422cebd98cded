"""The attributes of a word, and conditions on them as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nonproj.io.columns import DEPS, FEATS, LEMMA, MISC, UPOS, XPOS
from nonproj_workbench.search.patterns import All, Attribute, Either, Formula, Link, Not, Test, Value
from nonproj_workbench.search.regex import Regex
from nonproj_workbench.search.words import SearchedSentence

Condition: TypeAlias = Callable[[SearchedSentence, int], bool]
"""Function that returns whether a word, from 1, satisfies a condition."""

MOST_KNOWN = 200_000
"""Maximum number of strings for which the result of a comparison is cached."""

_COLUMNS = {"form": 1, "lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS, "deps": DEPS, "misc": MISC}

_ALWAYS: Condition = lambda words, word: True  # noqa: E731


def place_of(attribute: Attribute, words: SearchedSentence, word: int) -> int:
    """Return the word to which an attribute refers: the word itself, or a head above it; 0 if there is none."""
    heads = words.tree_of(attribute.other).heads
    for _ in range(attribute.heads):
        word = max(heads[word], 0)
        if not word:
            break
    return word


def text_of(attribute: Attribute, words: SearchedSentence, word: int) -> str | None:
    """Return the value of an attribute with strings, or None if it is absent.

    Examples
    --------
    >>> from nonproj_workbench.search.words import Tree
    >>> from nonproj.types import Sentence
    >>> sentence = Sentence([["1", "Regn", "_", "N", "_", "Case=Nom", "0", "root", "_", "_"]])
    >>> words = SearchedSentence(sentence, Tree([0], ["root"]))
    >>> text_of(Attribute(False, 0, "feature", "Case"), words, 1)
    'Nom'
    """
    return _picked(attribute, _raw(attribute, words, word))


def _raw(attribute: Attribute, words: SearchedSentence, word: int) -> str:
    """Return the column that contains an attribute."""
    if attribute.kind == "feature":
        return words.rows[word - 1][FEATS]
    if attribute.kind == "misc":
        return words.rows[word - 1][MISC]
    if attribute.key == "deprel":
        return words.tree_of(attribute.other).labels[word]
    if attribute.key == "sent_id":
        return words.sent_id
    return words.rows[word - 1][_COLUMNS[attribute.key]]


def _picked(attribute: Attribute, column: str) -> str | None:
    """Return the value of an attribute in its column, or None if it is absent."""
    if attribute.kind == "text":
        return column if attribute.key == "form" or column not in ("", "_") else None
    for item in column.split("|"):
        name, sign, value = item.partition("=")
        if name == attribute.key and (sign or attribute.kind == "misc"):
            return value
    return None


def number_of(attribute: Attribute, words: SearchedSentence, word: int) -> float | None:
    """Return the value of an attribute with numbers, or None if it is absent."""
    tree, key = words.tree_of(attribute.other), attribute.key
    if key == "id":
        return word
    if key == "length":
        return len(words)
    if key == "children":
        return len(tree.children[word])
    if key == "confidence":
        return None if words.confidence is None else round(100 * words.confidence[word - 1]) / 100
    head = tree.heads[word]
    if key == "depth":
        return tree.depths[word] or None
    if key == "head":
        return head if head >= 0 else None
    return abs(head - word) if head > 0 else None


def flag_of(attribute: Attribute, words: SearchedSentence, word: int) -> bool:
    """Return whether a flag of a word is set."""
    tree, key = words.tree_of(attribute.other), attribute.key
    if key == "root":
        return tree.heads[word] == 0
    if key == "headless":
        return tree.heads[word] < 0
    if key == "crossing":
        return bool(tree.crossing[word])
    if key == "head-differs":
        return words.head_differs(word)
    return words.label_differs(word) or (key == "differs" and words.head_differs(word))


def shown(attribute: Attribute, words: SearchedSentence, word: int) -> str:
    """Return the value of an attribute in a table: ``_`` if it is absent, ``yes`` or ``no`` for a flag."""
    word = place_of(attribute, words, word)
    if not word:
        return "_"
    if attribute.kind == "flag":
        return "yes" if flag_of(attribute, words, word) else "no"
    if attribute.kind != "number":
        text = text_of(attribute, words, word)
        return "_" if text is None else text
    number = number_of(attribute, words, word)
    return "_" if number is None else f"{number:.2f}" if attribute.key == "confidence" else str(int(number))


# -- conditions --------------------------------------------------------------------------------------------------------


def condition_of(formula: Formula) -> Condition:
    """Return a condition on a word as a function."""
    if isinstance(formula, Not):
        part = condition_of(formula.part)
        return lambda words, word: not part(words, word)
    if isinstance(formula, All | Either):
        parts = [condition_of(each) for each in formula.parts]
        if not parts:
            return _ALWAYS
        if isinstance(formula, All):
            return lambda words, word: all(part(words, word) for part in parts)
        return lambda words, word: any(part(words, word) for part in parts)
    assert not isinstance(formula, Link)
    return _on_head(formula.attribute, _test(formula))


def _on_head(attribute: Attribute, test: Condition) -> Condition:
    """Return a test of the word to which an attribute refers; false if there is none."""
    if not attribute.heads:
        return test

    def above(words: SearchedSentence, word: int) -> bool:
        word = place_of(attribute, words, word)
        return word > 0 and test(words, word)

    return above


def _test(test: Test) -> Condition:
    """Return a comparison as a function."""
    attribute = test.attribute
    if attribute.kind == "flag":
        return lambda words, word: flag_of(attribute, words, word)
    if attribute.kind == "number":
        if test.operator == "has":
            return lambda words, word: number_of(attribute, words, word) is not None
        return _comparison(attribute, test.operator, float(test.value.text))
    accepts = acceptor(test.value) if test.operator != "has" else lambda _: True
    known: dict[str, bool] = {}

    def compare(words: SearchedSentence, word: int) -> bool:
        """Look the word's string up, or compare it and keep the result."""
        column = _raw(attribute, words, word)
        found = known.get(column)
        if found is None:
            if len(known) >= MOST_KNOWN:
                known.clear()
            value = _picked(attribute, column)
            found = known[column] = value is not None and accepts(value)
        return found

    return compare


def _comparison(attribute: Attribute, operator: str, wanted: float) -> Condition:
    """Return a comparison of numbers as a function; false where the attribute is absent."""
    compare: Callable[[float], bool] = {
        "=": lambda number: number == wanted,
        "<": lambda number: number < wanted,
        "<=": lambda number: number <= wanted,
        ">": lambda number: number > wanted,
        ">=": lambda number: number >= wanted,
    }[operator]

    def test(words: SearchedSentence, word: int) -> bool:
        number = number_of(attribute, words, word)
        return number is not None and compare(number)

    return test


def acceptor(value: Value) -> Callable[[str], bool]:
    """Return a function that tells whether a string equals or matches a value.

    Examples
    --------
    >>> acceptor(Value("fold", "dog"))("Dog"), acceptor(Value("regex", "d.*"))("Dog")
    (True, False)
    """
    if value.kind == "regex":
        return Regex(value.text, value.ignore_case).matches
    if value.kind == "fold":
        wanted = value.text.lower()
        return lambda text: text.lower() == wanted
    return lambda text: text == value.text
