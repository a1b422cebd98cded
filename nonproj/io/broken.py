"""Reading that continues after malformed units: ``--on-error skip`` and ``copy``.

The unit of a treebank is the sentence, up to the blank line after it; that of plain text is the line.  A unit that
cannot be read becomes a `MalformedUnit` in its place, and reading continues after it.  Nothing can be read after
damaged gzip data, so the last unit then covers the rest of the file.
"""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from nonproj.errors import DataError
from nonproj.io.checks import BLANKS, BOM, LINE_COST, ReadingRules
from nonproj.io.conll import sentences_of
from nonproj.io.files import Source, open_input, stream_error, unpacked
from nonproj.io.layouts import ColumnLayout
from nonproj.io.splitting import Piece, layout_of_bytes
from nonproj.io.strict import SentenceIds
from nonproj.types import Sentence

STOP, SKIP, COPY = ON_ERROR = ("stop", "skip", "copy")
"""What to do with a malformed unit: raise the error, skip it, or copy its lines."""

_BLANKS = BLANKS.encode()


class MalformedUnit(NamedTuple):
    """A unit of a file that cannot be parsed.

    Attributes
    ----------
    path : str
    line : int
        The line of the error, from 1.
    first, last : int
        The lines of the unit.
    reason : str
        What is wrong, and what was expected.
    text : str
        Its lines, in which bytes that are not UTF-8 are surrogates (``surrogateescape``); empty if they are too long.
    """

    path: str
    line: int
    first: int
    last: int
    reason: str
    text: str = ""

    def error(self) -> DataError:
        """Return the error that is raised without ``--on-error``."""
        return DataError(self.path, self.line, self.reason)


def read_units(source: Source, rules: ReadingRules) -> Iterator[Sentence | MalformedUnit | str]:
    """Read a treebank, including malformed sentences; other parameters and errors as for `nonproj.io.conll.read`.

    Yields
    ------
    Sentence, MalformedUnit or str
        In the order of the file; a string is the blank lines at its end.  A file without sentences yields none.

    Raises
    ------
    FileError
        The file cannot be read.

    Examples
    --------
    >>> word = "1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n"
    >>> units = list(read_units(io.StringIO(f"{word}\\n1\\tto\\tfew\\n\\n{word}\\n"), ReadingRules()))
    >>> [type(unit).__name__ for unit in units], str(units[1].error())
    (['Sentence', 'MalformedUnit', 'Sentence'], '<stream>:3: 3 columns, 10 expected')
    """
    stream, name, closing = open_input(source)
    with closing:
        for block in _blocks(stream, name, rules):
            yield from _units(block, name, rules)


def sentences_in(
    units: Iterable[Sentence | MalformedUnit | str], on_broken: Callable[[MalformedUnit], object]
) -> Iterator[Sentence]:
    """Yield the sentences among some units, and call ``on_broken`` with each malformed one.

    Examples
    --------
    >>> broken = []
    >>> units = read_units(io.StringIO("1\\tto\\tfew\\n\\n1\\tRegn" + "\\t_" * 8 + "\\n\\n"), ReadingRules())
    >>> [sentence.forms for sentence in sentences_in(units, broken.append)], len(broken)
    ([['Regn']], 1)
    """
    for unit in units:
        if isinstance(unit, Sentence):
            yield unit
        elif isinstance(unit, MalformedUnit):
            on_broken(unit)


def units_of_piece(piece: Piece, rules: ReadingRules) -> Iterator[Sentence | MalformedUnit | str]:
    """Yield the units of a piece, as `read_units` does for the file."""
    for block in _blocks(io.BytesIO(piece.text), piece.path, rules, piece.line - 1, piece):
        yield from _units(block._replace(repeated=piece.repeated), piece.path, rules)


def split_units(source: Source, size: int, rules: ReadingRules) -> Iterator[Piece | MalformedUnit | str]:
    """Split a treebank into pieces for workers like `nonproj.io.splitting.split`, including malformed sentences.

    Errors beyond single sentences are not in pieces: lines and sentences that are too long, damaged gzip data.

    Examples
    --------
    >>> word = "1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n"
    >>> stream = io.StringIO(f"{word}\\n{word}x" + 99 * "x" + f"\\n\\n{word}\\n")
    >>> found = split_units(stream, 1, ReadingRules(max_line=80))
    >>> [(type(each).__name__, each.line) for each in found]
    [('Piece', 1), ('MalformedUnit', 4), ('Piece', 6)]
    """
    stream, name, closing = open_input(source)
    lines: list[bytes] = []
    repeated: list[int] = []
    first = length = 0
    layout: ColumnLayout | None = None
    with closing:
        for block in _blocks(stream, name, rules):
            layout = block.layout
            ends = block.problem is not None or not block.worded
            if lines and (ends or length >= size):
                yield Piece(b"".join(lines), name, first, tuple(repeated), layout)
                lines, length, repeated = [], 0, []
            if ends:
                yield from _units(block, name, rules)  # type: ignore[misc]  # no sentences
                continue
            first = first if lines else block.first
            lines += block.lines
            length += sum(map(len, block.lines))
            repeated += block.repeated
    if lines:
        yield Piece(b"".join(lines), name, first, tuple(repeated), layout)


class _Block(NamedTuple):
    """The lines of a sentence; ``worded`` is false for blank lines at the end of the file."""

    lines: list[bytes]
    first: int
    last: int
    worded: bool = True
    repeated: tuple[int, ...] = ()
    problem: tuple[int, str] | None = None
    layout: ColumnLayout | None = None


def _units(block: _Block, name: str, rules: ReadingRules) -> Iterator[Sentence | MalformedUnit | str]:
    """Yield the sentence of a block, or the `MalformedUnit` in its place."""
    data = b"".join(block.lines)
    text = "" if block.problem is None and block.worded else data.decode("utf-8", "surrogateescape")
    if block.problem is not None:
        line, reason = block.problem
        yield MalformedUnit(name, line, block.first, block.last, reason, text)
    elif not block.worded:
        yield text
    else:
        opened = io.BytesIO(data), name, contextlib.nullcontext()
        try:
            yield from sentences_of(*opened, rules, block.first - 1, block.repeated, block.layout)
        except DataError as error:
            text = data.decode("utf-8", "surrogateescape")
            if block.first == 1 and block.layout is not None:  # the sentences behind it need the names of the columns
                header, text = block.layout.divided(text)
                yield from [header] * bool(header)
            yield MalformedUnit(name, error.line, block.first, block.last, error.message, text)


def _blocks(
    stream: Any, name: str, rules: ReadingRules, number: int = 0, piece: Piece | None = None
) -> Iterator[_Block]:
    """Yield the lines of each sentence of a stream, the first of which has the number ``number + 1``.

    ``piece`` is what the stream is, if it is not a file: what depends on the whole file is known then.  A block ends
    with the blank line after a sentence, as in `sentences_of`; memory is bounded by the rules.
    """
    ids = SentenceIds() if rules.strict and piece is None else None
    layout = piece.layout if piece else None
    limit = 4 * rules.max_sentence  # a character has up to four bytes; `sentences_of` is exact
    left, lines, repeated = limit, [], []
    first, worded, problem = number + 1, False, None
    try:
        for line, whole in _bounded_lines(stream, rules.max_line):
            number += 1
            left -= len(line) + LINE_COST
            if not whole:
                problem = problem or (number, f"a line of more than {rules.max_line} bytes; --max-line sets this limit")
            elif left < 0:
                problem = problem or (first, "a sentence of too many lines; is the blank line after it missing?")
            lines.append(line)
            if problem:
                lines.clear()
            if ids and b"#" in line[:4] and ids.is_repeated(line.decode(errors="replace").removeprefix(BOM)):
                repeated.append(number)
            if not whole or line.strip(_BLANKS):
                worded = worded or number > 1 or line.removeprefix(BOM.encode()).strip(_BLANKS) != b""
            elif worded:
                layout = layout_of_bytes(lines) if first == 1 else layout
                yield _Block(lines, first, number, True, tuple(repeated), problem, layout)
                left, lines, repeated = limit, [], []
                first, worded, problem = number + 1, False, None
    except (EOFError, zlib.error, OSError) as error:
        failure = stream_error(error, name, number)
        if not isinstance(failure, DataError):
            raise failure from None
        yield _Block(lines, first, failure.line, True, (), (failure.line, failure.message))
        return
    if worded or (lines and first > 1):
        layout = layout_of_bytes(lines) if first == 1 else layout
        yield _Block(lines, first, number, worded, tuple(repeated), problem, layout)


def _bounded_lines(stream: Any, limit: int) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of a stream and whether they are complete; only the beginning of a line that is too long."""
    text = hasattr(stream, "encoding")
    source: Any = stream if text else unpacked(stream)
    newline: Any = "\n" if text else b"\n"
    while line := source.readline(limit + 1):
        whole = len(line) <= limit
        end = whole or line.endswith(newline)
        while not end:
            rest = source.readline(1 << 16)
            end = not rest or rest.endswith(newline)
        yield line.encode() if text else line, whole
