"""Validation of a sentence's lines: columns, numbering, multiword ranges, empty nodes, heads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.errors import Advice, DataError
from nonproj.io.columns import FORM, HEAD, ID
from nonproj.io.layouts import ColumnLayout
from nonproj.types import Sentence

BOM = "\ufeff"
"""The byte order mark, which may precede the first line of a file."""

BLANKS = " \t\r\n"
"""The characters of a blank line."""

LINE_COST = 64
"""Memory in bytes taken by a line besides its characters."""

_NUMBER = {str(number): number for number in range(1024)} | {"_": -1}  # a look-up is three times as fast as int()
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]*)\.([1-9][0-9]{0,8})")


class ReadingRules(NamedTuple):
    """Rules for reading a treebank.

    Attributes
    ----------
    require_heads : bool
        Whether a word without a gold head (``_``) is an error.
    ignore_heads : bool
        Whether HEAD and DEPREL may have any values; `Sentence.heads` is then None.
    max_line : int
        Maximum length of a line, in bytes.
    may_be_empty : bool
        Whether a file without sentences is allowed.
    """

    require_heads: bool = False
    ignore_heads: bool = False
    max_line: int = 1 << 20
    may_be_empty: bool = False

    @property
    def max_sentence(self) -> int:
        """Maximum size of all lines of a sentence: their characters, and `LINE_COST` for each."""
        return 16 * self.max_line


DEFAULT_RULES = ReadingRules()


def checked(
    block: list[str], name: str, first: int, rules: ReadingRules, layout: ColumnLayout | None = None
) -> Sentence:
    """Return the sentence with these lines, the first of which is line ``first`` of the file; raise if malformed."""
    rows: list[list[str]] = []
    lines: list[str] = []
    word_lines: list[int] = []
    expected, other = "1", _OtherLines()
    for index, line in enumerate(block):
        try:
            lines.append(line if layout is None else layout.standard(line))
            row = lines[-1].rstrip("\r\n").split("\t")
            if layout is not None:
                del row[10:]
            if len(row) != 10 or row[ID] != expected or not row[FORM]:
                checked_row = other.check(row, len(rows), first + index)
                if checked_row is None:
                    continue
                row = checked_row
        except ValueError as error:
            raise DataError(name, first + index, *error.args) from None
        rows.append(row)
        word_lines.append(index)
        expected = str(len(rows) + 1)
    if not rows:
        index = next((index for index, line in enumerate(lines) if line.strip(BOM + BLANKS)), 0)
        raise DataError(name, first + index, "a sentence without words; remove it, or the blank line after it")
    if other.end > len(rows):
        raise DataError(name, other.line, f"the multiword range ends with word {other.end}, the last is {len(rows)}")
    heads = None if rules.ignore_heads else _gold_heads(rows, word_lines, name, first, rules.require_heads)
    return Sentence(rows, heads, lines, word_lines, name, first, order=layout.order if layout else None)


class _OtherLines:
    """Checks the lines of a sentence that are not plain words; remembers the last multiword range and empty node."""

    def __init__(self) -> None:
        self.end = self.line = 0  # of the last multiword range
        self.empty = (0, 0)  # the last empty node

    def check(self, row: list[str], words: int, line: int) -> list[str] | None:
        """Handle a line that is not a word and return None, or return the row of a word; raise if malformed.

        ``words`` is the number of words before it.
        """
        if row[0].startswith(BOM):
            if line > 1:
                raise ValueError("a byte order mark inside the file; remove it")
            row = [row[0].removeprefix(BOM), *row[1:]]
        name, expected = row[ID], str(words + 1)
        if not name.strip(BLANKS) and not any(cell.strip(BLANKS) for cell in row):
            return None
        if name.startswith("#"):
            if words:
                raise ValueError("a comment inside a sentence; is the blank line before it missing?")
            return None
        while len(row) > 10 and not row[-1].strip(BLANKS):  # tabs at the end of the line
            row.pop()
        if len(row) != 10:
            raise ValueError(f"{len(row)} column{'s' if len(row) > 1 else ''}, 10 expected", *_hint(row))
        if self._is_range(name, words, line) or self._is_empty_node(name, words):
            return None
        if name != expected:
            hint = "; is the blank line before it missing?" if name == "1" else ""
            raise ValueError(f"ID is {name!r}, {expected} expected{hint}")
        if not row[FORM]:
            raise ValueError("FORM is empty; a word or _ expected")
        return row

    def _is_range(self, name: str, words: int, line: int) -> bool:
        match = _RANGE.fullmatch(name)
        if not match or int(match[1]) != words + 1 or int(match[2]) <= words:
            return False
        if int(match[2]) == words + 1:
            raise ValueError(f"the multiword range {name} has one word, two or more expected")
        if words < self.end:
            raise ValueError(f"the multiword range {name} overlaps the one before it")
        self.end, self.line = int(match[2]), line
        return True

    def _is_empty_node(self, name: str, words: int) -> bool:
        match = _EMPTY.fullmatch(name)
        if not match or match[1] != str(words):
            return False
        if (words, int(match[2])) <= self.empty:
            raise ValueError(f"the empty node {name} is repeated or out of order")
        self.empty = (words, int(match[2]))
        return True


def _hint(row: list[str]) -> Iterator[Advice]:
    """Yield a hint on a line without ten columns, if there is one."""
    fields = row[0].split() if len(row) == 1 else []
    if len(fields) > 1 and fields[0].replace("-", "").replace(".", "").isdigit():
        yield Advice("", "; columns are separated by tabs, not by spaces")
    elif len(row) > 10:
        yield Advice("", "; CoNLL-U Plus begins with # global.columns = ID FORM ...")
    elif fields:
        yield Advice("--text", "; plain text is parsed by 'nonproj parse --text'")


def _gold_heads(
    rows: list[list[str]], word_lines: list[int], name: str, first: int, require_heads: bool
) -> np.ndarray | None:
    """Return the column HEAD as int32[N], checked to be a tree; None where it is absent."""
    n = len(rows)
    heads = [-1]
    heads += [_NUMBER.get(row[HEAD], n + 1) for row in rows]
    if max(heads) > n or (require_heads and min(heads[1:]) < 0):
        heads = [-1] + [
            _head(row[HEAD], n, name, first + index, require_heads) for row, index in zip(rows, word_lines, strict=True)
        ]
    if min(heads[1:]) < 0:
        return None
    if cycle := cycle_of(heads):
        line = first + word_lines[cycle[0] - 1]
        if len(cycle) == 1:
            raise DataError(name, line, f"HEAD of word {cycle[0]} is the word itself")
        path = " <- ".join(str(word) for word in [*cycle, cycle[0]])
        raise DataError(name, line, f"the heads form a cycle, not a tree: {path}")
    return np.array(heads, dtype=np.int32)


def _head(text: str, n: int, name: str, line: int, require_heads: bool) -> int:
    """Return one head, or raise the error that describes it."""
    if text == "_":
        if require_heads:
            raise DataError(name, line, "HEAD is absent (_); gold heads are needed here")
        return -1
    head = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else n + 1
    if head > n or str(head) != text:
        raise DataError(name, line, f"HEAD is {text!r}, a number from 0 to {n} expected")
    return head


def cycle_of(heads: Sequence[int]) -> list[int]:
    """Return the words of a cycle, each followed by its head, starting from the lowest; empty if there is none.

    ``heads`` are those of all nodes, -1 for the root and for words without a head.

    Examples
    --------
    >>> cycle_of([-1, 0, 3, 2]), cycle_of([-1, 2, -1])
    ([2, 3], [])
    """
    seen_from = [0] * len(heads) + [-1]  # the last entry stands for no head
    seen_from[0] = -1
    for start in range(1, len(heads)):
        node = start
        while not seen_from[node]:
            seen_from[node] = start
            node = heads[node]
        if seen_from[node] == start:
            cycle = [node]
            while (node := heads[node]) != cycle[0]:
                cycle.append(node)
            low = cycle.index(min(cycle))
            return cycle[low:] + cycle[:low]
    return []
