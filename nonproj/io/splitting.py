"""Splitting a treebank into pieces for workers, at sentence boundaries.

Only `Piece.read` parses the columns, so a caller that splits for many workers is not the bottleneck.
"""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from nonproj.io.checks import BLANKS, BOM, DEFAULT_RULES, LINE_COST, ReadingRules
from nonproj.io.conll import sentences_of
from nonproj.io.files import Source, byte_lines, open_input, stream_error
from nonproj.io.layouts import ColumnLayout, layout_of
from nonproj.io.strict import SentenceIds
from nonproj.types import Sentence

_BLANKS = BLANKS.encode()


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
    repeated : tuple of int
        The numbers of the lines whose ``sent_id`` occurs earlier in the file, if the rules are strict.
    layout : ColumnLayout or None
        The columns of the file, unless they are those of CoNLL-X and CoNLL-U.
    """

    text: bytes
    path: str
    line: int
    repeated: tuple[int, ...] = ()
    layout: ColumnLayout | None = None

    def read(self, rules: ReadingRules = DEFAULT_RULES) -> Iterator[Sentence]:
        """Yield the sentences like `nonproj.io.conll.read` on the file: same line numbers, same errors."""
        stream, left_open = io.BytesIO(self.text), contextlib.nullcontext()
        return sentences_of(stream, self.path, left_open, rules, self.line - 1, self.repeated, self.layout)


def layout_of_bytes(lines: list[bytes]) -> ColumnLayout | None:
    """Return the layout of a file whose first sentence has these lines; None, too, if `Piece.read` rejects them.

    Examples
    --------
    >>> layout_of_bytes([b"# global.columns = ID FORM\\n"]).names[:3]
    ('ID', 'FORM', 'LEMMA')
    """
    try:
        return layout_of([line.decode(errors="replace") for line in lines])
    except ValueError:
        return None


def split(source: Source, size: int = 1 << 16, rules: ReadingRules = DEFAULT_RULES) -> Iterator[Piece]:
    """Split a treebank at sentence boundaries, without parsing its columns.

    Parameters
    ----------
    source : str, Path or stream
        As for `nonproj.io.conll.read`.
    size : int
        A piece ends with the first sentence that brings it to this number of bytes.
    rules : ReadingRules
        Its limits on lines and sentences are enforced here, too, so that memory is bounded.

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
    number, first, length, ended, has_text, failure = 0, 1, 0, 0, False, None
    lines: list[bytes] = []
    left = limit = 4 * rules.max_sentence  # a character has up to four bytes
    ids = SentenceIds()
    repeated: list[int] = []
    layout: ColumnLayout | None = None
    try:
        with closing:
            for line in byte_lines(stream, rules.max_line):
                number += 1
                if line.strip(_BLANKS):
                    if length >= size and ended:  # not earlier: blank lines at the very end belong to the last piece
                        yield Piece(b"".join(lines[:ended]), name, first, tuple(repeated), layout)
                        repeated.clear()
                        first, lines, length, ended = first + ended, lines[ended:], 0, 0
                    has_text = has_text or number > 1 or line.removeprefix(BOM.encode()).strip(_BLANKS) != b""
                elif has_text:
                    if first == 1 and not ended:
                        layout = layout_of_bytes(lines)
                    ended, has_text, left = len(lines) + 1, False, limit
                if (
                    rules.strict
                    and b"#" in line[:4]
                    and ids.is_repeated(line.decode(errors="replace").removeprefix(BOM))
                ):
                    repeated.append(number)
                lines.append(line)
                length, left = length + len(line), left - len(line) - LINE_COST
                if left < 0:  # `Piece.read` raises at this sentence
                    break
    except OverflowError as error:
        lines.append(error.args[1])  # `Piece.read` raises here, too, unless an earlier line is malformed
    except (EOFError, zlib.error, OSError) as error:
        failure, lines = stream_error(error, name, number), lines[:ended]
    if lines or failure is None:
        yield Piece(b"".join(lines), name, first, tuple(repeated), layout)
    if failure:
        raise failure
