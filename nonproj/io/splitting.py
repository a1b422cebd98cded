"""A treebank in pieces of whole sentences, cut without being understood: what workers are given.

Only `Piece.read` looks into the sentences, so a caller that cuts for many workers is not the bottleneck.
"""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from nonproj.io.conll import _BOM, _sentences
from nonproj.io.files import byte_lines, open_input, stream_fault
from nonproj.types import Sentence


class Piece(NamedTuple):
    """Some whole sentences of a file, as they stand there: what one worker is given at a time.

    Attributes
    ----------
    text : bytes
        The lines.
    path : str
        The file they came from.
    line : int
        The number, from 1, of the first of them in that file.
    """

    text: bytes
    path: str
    line: int

    def read(self, *, require_heads: bool = False) -> Iterator[Sentence]:
        """Read the sentences as `nonproj.io.conll.read` does from the whole file: same line numbers, same errors."""
        stream = io.BytesIO(self.text)
        return _sentences(stream, self.path, contextlib.nullcontext(), require_heads, self.line - 1)


def cut(source: str | Path | BinaryIO | TextIO, size: int = 1 << 16) -> Iterator[Piece]:
    """Cut a treebank between sentences, without looking into them.

    Parameters
    ----------
    source : str, Path or stream
        As for `nonproj.io.conll.read`.
    size : int
        A piece ends with the first sentence that brings it to so many bytes.

    Yields
    ------
    Piece
        Read one after another, they give the sentences of that function.  A file without sentences is one piece.

    Raises
    ------
    DataError, FileError
        Where the file cannot be read on; the sentences before that place have been handed over.

    Examples
    --------
    >>> word = "1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n"
    >>> [(piece.line, len(piece.text)) for piece in cut(io.StringIO(f"{word}\\n{word}\\n\\n{word}"), size=20)]
    [(1, 28), (3, 28), (5, 28)]
    """
    stream, name, closing = open_input(source)
    number, first, lines, length, ended, worded, fault = 0, 1, [], 0, 0, False, None
    try:
        with closing:
            for line in byte_lines(stream):
                number += 1
                if line.strip(b" \r\n"):
                    if length >= size and ended:  # only now: blank lines at the very end go with the last piece
                        yield Piece(b"".join(lines[:ended]), name, first)
                        first, lines, length, ended = first + ended, lines[ended:], 0, 0
                    worded = worded or number > 1 or line.removeprefix(_BOM.encode()).strip(b" \r\n") != b""
                elif worded:
                    ended, worded = len(lines) + 1, False
                lines.append(line)
                length += len(line)
    except (EOFError, zlib.error, OSError) as error:
        fault, lines = stream_fault(error, name, number), lines[:ended]
    if lines or fault is None:
        yield Piece(b"".join(lines), name, first)
    if fault:
        raise fault
