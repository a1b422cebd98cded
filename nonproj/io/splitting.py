"""Splitting a treebank between sentences into pieces for workers.

Only `Piece.read` parses the columns, so a caller that splits for many workers is not the bottleneck.
"""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from nonproj.io.conll import _BOM, _sentences
from nonproj.io.files import byte_lines, open_input, stream_error
from nonproj.types import Sentence


class Piece(NamedTuple):
    """The unchanged lines of some consecutive sentences: one task of a worker.

    Attributes
    ----------
    text : bytes
        The lines.
    path : str
        The file they come from.
    line : int
        The line number, from 1, of the first of them in that file.
    """

    text: bytes
    path: str
    line: int

    def read(self, *, require_heads: bool = False) -> Iterator[Sentence]:
        """Yield the sentences like `nonproj.io.conll.read` of the file: same line numbers, same errors."""
        stream = io.BytesIO(self.text)
        return _sentences(stream, self.path, contextlib.nullcontext(), require_heads, self.line - 1)


def split(source: str | Path | BinaryIO | TextIO, size: int = 1 << 16) -> Iterator[Piece]:
    """Split a treebank between sentences, without parsing their columns.

    Parameters
    ----------
    source : str, Path or stream
        As for `nonproj.io.conll.read`.
    size : int
        A piece ends with the first sentence that brings it to this number of bytes.

    Yields
    ------
    Piece
        Read in order, they yield the sentences of that function.  A file without sentences is one piece.

    Raises
    ------
    DataError, FileError
        The file cannot be read further; the sentences before that line have been yielded.

    Examples
    --------
    >>> word = "1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n"
    >>> [(piece.line, len(piece.text)) for piece in split(io.StringIO(f"{word}\\n{word}\\n\\n{word}"), size=20)]
    [(1, 28), (3, 28), (5, 28)]
    """
    stream, name, closing = open_input(source)
    number, first, lines, length, ended, has_text, failure = 0, 1, [], 0, 0, False, None
    try:
        with closing:
            for line in byte_lines(stream):
                number += 1
                if line.strip(b" \r\n"):
                    if length >= size and ended:  # not earlier: blank lines at the very end belong to the last piece
                        yield Piece(b"".join(lines[:ended]), name, first)
                        first, lines, length, ended = first + ended, lines[ended:], 0, 0
                    has_text = has_text or number > 1 or line.removeprefix(_BOM.encode()).strip(b" \r\n") != b""
                elif has_text:
                    ended, has_text = len(lines) + 1, False
                lines.append(line)
                length += len(line)
    except (EOFError, zlib.error, OSError) as error:
        failure, lines = stream_error(error, name, number), lines[:ended]
    if lines or failure is None:
        yield Piece(b"".join(lines), name, first)
    if failure:
        raise failure
