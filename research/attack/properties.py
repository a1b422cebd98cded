"""Invariants of sentences, trees and errors; a breach is an exception."""

from __future__ import annotations

import re

from nonproj.errors import NonprojError
from nonproj.io.columns import DEPREL, DEPS, HEAD
from research.attack.campaign import BreachError

LONGEST_MESSAGE = 500
"""Maximum number of characters of an error message."""


_WORD, _EMPTY = (re.compile(f"\ufeff?[0-9]+{ending}\t") for ending in ("", r"\.[0-9]+"))


def require(condition: object, message: str) -> None:
    """Raise `BreachError` unless a condition holds."""
    if not condition:
        raise BreachError(message)


def check_message(error: NonprojError | str, prefix: str = "") -> None:
    """Check that an error is one short line of printable characters."""
    text = str(error)
    require(text.strip() and text.isprintable(), f"the message is not one printable line: {text!r}")
    require(len(text) < LONGEST_MESSAGE, f"the message has {len(text)} characters: {text!r}")
    require(text.startswith(prefix), f"the message does not begin with {prefix!r}: {text!r}")


def is_tree(heads) -> bool:
    """Return whether every word descends from the root; from the definition.

    Examples
    --------
    >>> is_tree([-1, 0, 1]), is_tree([-1, 2, 1]), is_tree([-1, 1])
    (True, False, False)
    """
    for word in range(1, len(heads)):
        node, steps = word, 0
        while node != 0:
            if not 0 <= node < len(heads) or steps == len(heads):
                return False
            node, steps = heads[node], steps + 1
    return True


def check_sentences(sentences: list) -> None:
    """Check that sentences that were read are consistent: ten columns, numbering, trees."""
    for sentence in sentences:
        require(sentence.rows, "a sentence without words")
        lines = [sentence.lines[index].rstrip("\r\n").removeprefix("\ufeff") for index in sentence.word_lines]
        require([line.split("\t")[:10] for line in lines] == sentence.rows, "the columns are not those of the lines")
        for number, row in enumerate(sentence.rows, 1):
            require(len(row) == 10, f"a word with {len(row)} columns")
            require(row[0] == str(number), f"word {number} has the ID {row[0]!r}")
            require(row[1], "a word without a form")
        if sentence.heads is not None:
            heads = sentence.tree.tolist()
            require(len(heads) == len(sentence.rows) + 1 and is_tree(heads), f"not a tree: {heads}")
            require([row[6] for row in sentence.rows] == [str(h) for h in heads[1:]], "heads differ from the column")


def check_changes(before: list[str], after: list[str], sentence, heads, deps: str | None = None) -> None:
    """Check that output differs from input only in the columns that the parser owns, and in enhanced dependencies.

    Parameters
    ----------
    before, after : list of str
        The lines of one sentence in input and output.
    sentence : Sentence
        It tells which lines are words.
    heads : list of int
        The tree that was to be written.
    deps : {"keep", "drop"}, optional
        As for `nonproj.io.conll.replace`.
    """
    places = set(sentence.word_lines)
    old = [(line, index in places) for index, line in enumerate(before)]
    arcs = [[line.split("\t")[HEAD:DEPS] for line in lines if _WORD.match(line)] for lines in (before, after)]
    dropped = deps == "drop" or (deps is None and arcs[0] != arcs[1])
    if dropped:
        old = [(line, is_word) for line, is_word in old if not _EMPTY.match(line)]
    require(len(old) == len(after), f"{len(old)} lines have become {len(after)}")
    number = 0
    for (line, is_word), new in zip(old, after, strict=True):
        if not is_word:
            require(line == new, f"a line that is not a word has changed: {line!r} to {new!r}")
            continue
        number += 1
        x, y = line.split("\t"), new.split("\t")
        require(len(y) == 10, f"a word has {len(y)} columns: {new!r}")
        require(y[HEAD] == str(heads[number]), f"HEAD is {y[HEAD]!r}, {heads[number]} expected")
        stale = dropped and ":" in x[DEPS]
        require(not stale or y[DEPS] == "_", f"DEPS stays beside a new tree: {new!r}")
        for column in set(range(10)) - {HEAD, DEPREL, *([DEPS] if stale else [])}:
            require(x[column] == y[column], f"column {column + 1} of {line!r}: {new!r}")
