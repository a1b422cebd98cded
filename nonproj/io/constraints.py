"""Constraints on trees, as given by annotators: in the column MISC, or in the columns HEAD and DEPREL.

In MISC, ``Head=3`` demands an arc, ``NotHead=5`` forbids one and may be given several times, and ``Deprel=obj`` demands
a label; other attributes are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nonproj.errors import DataError
from nonproj.io.columns import DEPREL, HEAD, MISC
from nonproj.types import Sentence

SOURCES = ("none", "misc", "head")
"""Sources of constraints: none, MISC, or HEAD and DEPREL, which are constraints unless they are ``_``."""


class Constraints(NamedTuple):
    """The constraints on a tree.

    Attributes
    ----------
    allowed : ndarray of shape (N, N), bool
        Whether the arc ``h -> m`` is allowed, at ``[h, m]``.
    labels : dict of int to str
        Required labels, by word, from 1.
    heads : dict of int to int
        Required heads, by word.
    """

    allowed: np.ndarray
    labels: dict[int, str]
    heads: Mapping[int, int] = {}


def read_constraints(sentence: Sentence, source: str) -> Constraints | None:
    """Return the constraints of a sentence, None if it has none.

    Parameters
    ----------
    sentence : Sentence
    source : str
        One of `SOURCES`.

    Raises
    ------
    DataError
        A constraint is not the number of another word of the sentence, a label is empty, or two contradict each other.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> rows = [["1", "Det", *"____0_", "_", "Head=2"], ["2", "regner", *"____0_", "_", "SpaceAfter=No|NotHead=1"]]
    >>> found = read_constraints(Sentence(rows), "misc")
    >>> found.allowed[:, 1:].astype(int).tolist()
    [[0, 1], [0, 0], [1, 0]]
    """
    if source == "none":
        return None
    n_nodes = len(sentence) + 1
    allowed = ~np.eye(n_nodes, dtype=np.bool_)
    labels, heads = dict[int, str](), dict[int, int]()
    allowed[:, 0] = False
    bound = False
    for m, row in enumerate(sentence.rows, 1):
        for name, value in _given(row, source):
            bound = True
            if name == "Deprel":
                if not value:
                    raise _error(sentence, m, "Deprel=: a label is expected")
                if labels.setdefault(m, value) != value:
                    raise _error(sentence, m, f"Deprel={value} contradicts Deprel={labels[m]}")
                continue
            head = _number(sentence, m, name, value)
            if name == "Head":
                heads[m] = head
                allowed[np.arange(n_nodes) != head, m] = False
            else:
                allowed[head, m] = False
        if not allowed[:, m].any():
            raise _error(sentence, m, "the constraints on its head leave none")
    return Constraints(allowed, labels, heads) if bound else None


def _given(row: list[str], source: str) -> list[tuple[str, str]]:
    """Return the constraints on a word: their names and values."""
    if source == "head":
        return [(name, row[column]) for name, column in (("Head", HEAD), ("Deprel", DEPREL)) if row[column] != "_"]
    pairs = [item.partition("=")[::2] for item in row[MISC].split("|")]
    return [(name, value) for name, value in pairs if name in ("Head", "NotHead", "Deprel")]


def _number(sentence: Sentence, word: int, name: str, value: str) -> int:
    """Return the head in a constraint; raise `DataError` unless it is another word of the sentence, or the root."""
    number = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else -1
    if not 0 <= number <= len(sentence) or number == word:
        expected = f"a number from 0 to {len(sentence)}, not that of the word itself, is expected"
        raise _error(sentence, word, f"{name}={value}: {expected}")
    return number


def _error(sentence: Sentence, word: int, message: str) -> DataError:
    """Return an error at the line of a word."""
    offset = sentence.word_lines[word - 1] if sentence.word_lines else 0
    return DataError(sentence.path, sentence.line + offset, f"word {word}: {message}")
