"""Splitting a treebank into pieces for workers, at sentence boundaries.

Only `Piece.units` parses the columns, so a caller that splits for many workers is not the bottleneck.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import NamedTuple

from nonproj.io.blocks import blocks
from nonproj.io.broken import MalformedUnit, Unit, units_of
from nonproj.io.checks import DEFAULT_RULES, ReadingRules
from nonproj.io.files import Source, open_input
from nonproj.io.layouts import ColumnLayout


class Piece(NamedTuple):
    """The unchanged lines of some consecutive sentences: one task of a worker.

    Attributes
    ----------
    text : bytes
        The lines.
    path : str
        The file they come from.
    line : int
        The line number, from 1, of the first line in that file.
    layout : ColumnLayout or None
        The columns of the file, unless they are those of CoNLL-X and CoNLL-U.
    """

    text: bytes
    path: str
    line: int
    layout: ColumnLayout | None = None

    def units(self, rules: ReadingRules = DEFAULT_RULES) -> Iterator[Unit]:
        """Yield the units as `nonproj.io.broken.read_units` does for the file: same line numbers, same errors."""
        for block in blocks(io.BytesIO(self.text), self.path, rules, self.line - 1, self.layout):
            yield from units_of(block, self.path, rules)


def split(
    source: Source, size: int = 1 << 16, rules: ReadingRules = DEFAULT_RULES, *, stop: bool = False
) -> Iterator[Piece | MalformedUnit]:
    """Split a treebank at sentence boundaries, without parsing its columns.

    Parameters
    ----------
    source : str, Path or stream
        As for `nonproj.io.conll.read`.
    size : int
        A piece ends with the first sentence that brings it to this number of bytes.
    rules : ReadingRules
        Its limits on lines and sentences are enforced here, too, so that memory is bounded.
    stop : bool
        Whether to stop at lines that are too long or too many.

    Yields
    ------
    Piece or MalformedUnit
        Read in order, they yield the units of the file.  Lines and sentences that are too long, and damaged gzip data,
        are not in pieces but come as malformed units.

    Raises
    ------
    FileError
        The file cannot be read further; the sentences before that line have been yielded.

    Examples
    --------
    >>> word = "1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n"
    >>> [(piece.line, len(piece.text)) for piece in split(io.StringIO(f"{word}\\n{word}\\n\\n{word}"), size=20)]
    [(1, 28), (3, 28), (5, 28)]
    >>> stream = io.StringIO(f"{word}\\n{word}x" + 99 * "x" + f"\\n\\n{word}\\n")
    >>> [(type(each).__name__, each.line) for each in split(stream, 1, ReadingRules(max_line=80))]
    [('Piece', 1), ('MalformedUnit', 4), ('Piece', 6)]
    """
    stream, name, closing = open_input(source)
    lines: list[bytes] = []
    first, length = 1, 0
    layout: ColumnLayout | None = None
    with closing:
        for block in blocks(stream, name, rules, stop=stop):
            first = first if lines else block.first
            lines += block.lines
            length += sum(map(len, block.lines))
            if lines and (length >= size or block.problem):
                yield Piece(b"".join(lines), name, first, block.layout)
                lines, length = [], 0
            if block.problem:
                yield MalformedUnit(name, block.problem.line, block.first, block.last, block.problem.message)
            layout = block.layout
    if lines:
        yield Piece(b"".join(lines), name, first, layout)
