"""The lines of sentences, one block after the other: the only reader of CoNLL files, with and without recovery.

The unit of a treebank is the sentence, up to the blank line after it.  Further blank lines belong to the next sentence,
as do comments about the whole file before the first blank line; blank lines at the end of the file are a block of their
own.  Nothing can be read after damaged gzip data, so the last block then covers the rest of the file.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from nonproj.errors import DataError
from nonproj.io.checks import BLANKS, BOM, LINE_COST, ReadingRules, checked
from nonproj.io.files import StreamError, stream_error, unpacked
from nonproj.io.layouts import ColumnLayout, layout_of
from nonproj.types import Sentence

_BLANKS, _BOM = BLANKS.encode(), BOM.encode()
_OF_SENTENCE = re.compile(rb"#\s*(sent_id|text)\b")


class Block(NamedTuple):
    """The lines of a sentence.

    Attributes
    ----------
    lines : list of bytes
        Empty if they are too long.
    first, last : int
        Their numbers in the file, from 1.
    worded : bool
        False for blank lines at the end of the file.
    layout : ColumnLayout or None
        The columns of the file, by its first sentence.
    problem : DataError or None
        Error that prevents reading the lines; their columns are not checked.
    """

    lines: list[bytes]
    first: int
    last: int
    worded: bool = True
    layout: ColumnLayout | None = None
    problem: DataError | None = None

    def sentence(self, name: str, rules: ReadingRules) -> Sentence:
        """Return the sentence; raise `DataError` if it is malformed."""
        if self.problem:
            raise self.problem
        try:
            lines = [line.decode() for line in self.lines]
        except UnicodeDecodeError as error:
            raise stream_error(error, name, self.first - 1 + self.lines.index(error.object)) from None
        try:
            layout = layout_of(lines) if self.first == 1 else self.layout
        except ValueError as error:
            raise DataError(name, 1, str(error)) from None
        return checked(lines, name, self.first, rules, layout)


def blocks(
    stream: Any,
    name: str,
    rules: ReadingRules,
    number: int = 0,
    layout: ColumnLayout | None = None,
    *,
    stop: bool = False,
) -> Iterator[Block]:
    """Yield the lines of each sentence of a stream; memory is bounded by the rules.

    Parameters
    ----------
    stream : BinaryIO or TextIO
    name : str
    rules : ReadingRules
    number : int
        Number of lines of the file before the stream.
    layout : ColumnLayout, optional
        The columns of the file, if the stream is not its beginning.
    stop : bool
        Whether to stop at lines that are too long or too many.

    Raises
    ------
    FileError
        The stream cannot be read.
    """
    lines: list[bytes] = []
    first, left, worded, problem = number + 1, rules.max_sentence, False, None
    for line in _lines(stream, name, rules.max_line, number):
        number += 1
        if isinstance(line, DataError):
            problem, line = problem or line, b"#"
        lines.append(line)
        left -= LINE_COST + len(line if line.isascii() else line.decode(errors="replace"))
        if left < 0 or problem:
            message = "a sentence of too many lines; is the blank line after it missing?"
            problem = problem or DataError(name, first, message)
            lines.clear()
            if stop:
                break
        if not line.isspace() or line.strip(_BLANKS):
            worded = worded or (not _is_header(line) if first == 1 else True)
        elif worded:
            layout = _layout(lines) if first == 1 else layout
            yield Block(lines, first, number, True, layout, problem)
            lines = []
            first, left, worded, problem = number + 1, rules.max_sentence, False, None
    if lines or problem:
        layout = _layout(lines) if first == 1 else layout
        yield Block(lines, first, number, worded, layout, problem)


def _is_header(line: bytes) -> bool:
    """Return whether a line at the beginning of a file is blank, or a comment that is not about a sentence."""
    text = line.removeprefix(_BOM).strip(_BLANKS)
    return not text or (text.startswith(b"#") and not _OF_SENTENCE.match(text))


def _lines(stream: Any, name: str, limit: int, number: int) -> Iterator[bytes | DataError]:
    """Yield the lines of a stream; an error takes the place of a line that is too long, or ends them."""
    text = hasattr(stream, "encoding")
    try:
        readline: Any = (stream if text else unpacked(stream)).readline
        while line := readline(limit + 1):
            number += 1
            if len(line) <= limit:
                yield line.encode("utf-8", "surrogatepass") if text else line
                continue
            yield _data_error(OverflowError(limit, line.encode() if text else line), name, number - 1)
            while line and line[-1] not in ("\n", 10):
                line = readline(1 << 16)
    except (UnicodeDecodeError, EOFError, zlib.error, OSError) as error:
        yield _data_error(error, name, number)


def _data_error(error: StreamError, name: str, number: int) -> DataError:
    """Return the error for malformed data; raise `FileError` if the cause is not in the data."""
    failure = stream_error(error, name, number)
    if isinstance(failure, DataError):
        return failure
    raise failure from None


def _layout(lines: list[bytes]) -> ColumnLayout | None:
    """Return the layout of a file by the lines of its first sentence; None for the standard one, or malformed lines."""
    try:
        return layout_of([line.decode(errors="replace") for line in lines])
    except ValueError:
        return None
