"""Plain text from a file or pipe: decoding, division into pieces, and reading as sentences."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from nonproj.errors import DataError
from nonproj.io.broken import MalformedUnit
from nonproj.io.files import Source, open_input, stream_error, unpacked
from nonproj.text.formats import TextInput, TextPiece
from nonproj.text.pieces import MAX_PARAGRAPH, Splitter
from nonproj.text.segmenter import Segmenter
from nonproj.types import Sentence

_BLOCK = 1 << 16


def read_text(source: Source, segmenter: Segmenter, options: TextInput | None = None) -> Iterator[Sentence]:
    """Read plain text, one sentence at a time.

    A paragraph is segmented as soon as a line of the next one has been read, so pipes are answered and memory
    does not grow with the file.

    Parameters
    ----------
    source : str, Path or stream
        A file, ``-`` for standard input, or an open stream of bytes or text; as for `nonproj.io.conll.read`.
    segmenter : Segmenter
    options : TextInput, optional

    Yields
    ------
    Sentence
        With the lines of CoNLL-U; ``line`` is where it begins in the text.

    Raises
    ------
    DataError
        The text is not UTF-8, has more than `nonproj.text.pieces.MAX_BLANKS` blanks in a row, or is CoNLL-U; the
        sentences before that line have been yielded.
    FileError
        The file cannot be read.

    Examples
    --------
    >>> import io
    >>> from nonproj.text.segmenter import Segmenter
    >>> text = io.StringIO("Det regner.  Hvor?\\n\\nHer.")
    >>> print("".join(next(read_text(text, Segmenter.unicode(), TextInput(ranges=True))).lines).expandtabs(8), end="")
    # newdoc
    # newpar
    # sent_id = 1
    # text = Det regner.
    1       Det     _       _       _       _       _       _       _       TokenRange=0:3
    2       regner  _       _       _       _       _       _       _       SpaceAfter=No|TokenRange=4:10
    3       .       _       _       _       _       _       _       _       SpacesAfter=\\s\\s|TokenRange=10:11
    <BLANKLINE>
    """
    return _until_malformed(read_text_units(source, segmenter, options or TextInput()))


def split_text(source: Source, options: TextInput | None = None, size: int = _BLOCK) -> Iterator[TextPiece]:
    """Divide a text into pieces, without segmenting it.

    Parameters
    ----------
    source : str, Path or stream
        As for `read_text`.
    options : TextInput, optional
    size : int
        Minimum number of characters of a piece other than the last; 0: as much as can be read at once.

    Yields
    ------
    TextPiece
        Segmented in order, they yield the sentences of `read_text`.

    Raises
    ------
    DataError, FileError
        As for `read_text`.

    Examples
    --------
    >>> import io
    >>> [(piece.text, piece.line) for piece in split_text(io.StringIO("En.\\n\\n\\nTo.\\n\\n"), size=1)]
    [('En.\\n\\n\\n', 1), ('To.\\n\\n', 4)]
    """
    return _until_malformed(split_text_units(source, options, size))


def _until_malformed(units: Iterable[Any]) -> Iterator[Any]:
    """Yield units up to the first malformed one, whose error is raised."""
    for unit in units:
        if isinstance(unit, MalformedUnit):
            raise unit.error()
        yield unit


def _byte_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield blocks of bytes, unpacked, as soon as they can be read."""
    buffered: Any = unpacked(stream)  # closes the file when it is freed
    packed = isinstance(getattr(buffered, "raw", None), gzip.GzipFile)
    source = buffered.raw if packed else buffered  # unbuffered bytes are not lost when an error is raised
    read = getattr(source, "read1", source.read)
    yield from iter(lambda: read(_BLOCK), b"")


def read_text_units(source: Source, segmenter: Segmenter, options: TextInput) -> Iterator[Sentence | MalformedUnit]:
    """Read plain text as `read_text` does; broken lines are left out, and reported in their place."""
    number = 0
    for piece in split_text_units(source, options, 0):
        if isinstance(piece, MalformedUnit):
            yield piece
        else:
            sentences = segmenter.sentences(piece, options, number + 1)
            number += len(sentences)
            yield from sentences


def split_text_units(
    source: Source, options: TextInput | None = None, size: int = _BLOCK
) -> Iterator[TextPiece | MalformedUnit]:
    """Divide a text into pieces as `split_text` does; broken lines are left out, and reported in their place.

    Lines that are not UTF-8, long stretches of blanks, and everything after damaged gzip data count as broken.

    Raises
    ------
    DataError
        The text is CoNLL-U.
    FileError
        The file cannot be read.

    Examples
    --------
    >>> import io
    >>> found = list(split_text_units(io.BytesIO(b"En.\\nTo.\\nTr\\xe9.\\nFire.\\n"), size=1))
    >>> found[0].text, str(found[1].error()), found[2].text
    ('En.\\nTo.\\n', '<stream>:3: byte 0xe9 is not UTF-8; recode the file to UTF-8 first', 'Fire.\\n')
    """
    stream, name, closing = open_input(source)
    splitter = Splitter(name, (options or TextInput()).check(), size)
    try:
        with closing:
            for line in _decodable(stream):
                if isinstance(line, str):
                    yield from splitter.add(line)
                else:
                    yield from splitter.flush()
                    text = line.decode("utf-8", "surrogateescape")
                    byte = next(c for c in text if "\udc80" <= c <= "\udcff").encode("utf-8", "surrogateescape")
                    yield splitter.malformed(f"byte 0x{byte.hex()} is not UTF-8; recode the file to UTF-8 first")
                    splitter.leave_out(text)
    except (EOFError, zlib.error, OSError) as error:
        yield from splitter.flush()
        failure = stream_error(error, name, splitter.line - 1)
        if not isinstance(failure, DataError):
            raise failure from None
        yield MalformedUnit(name, failure.line, failure.line, failure.line, failure.message)
    else:
        yield from splitter.flush()


def _decodable(stream: Any) -> Iterator[str | bytes]:
    """Yield blocks of whole lines, decoded, as soon as they can be read; a line that is not UTF-8 alone, as bytes."""
    if hasattr(stream, "encoding"):
        yield from iter(lambda: stream.read(_BLOCK), "")
        return
    rest = b""
    for block in _byte_blocks(stream):
        data = rest + block
        end = data.rfind(b"\n") + 1
        if not end and len(data) >= MAX_PARAGRAPH:  # a line without end is cut between characters
            end = max((p for p in range(len(data) - 4, len(data)) if data[p] & 0xC0 != 0x80), default=len(data))
        yield from _lines_of(data[:end])
        rest = data[end:]
    yield from _lines_of(rest)


def _lines_of(data: bytes) -> Iterator[str | bytes]:
    """Yield lines, decoded and together where possible; each line that is not UTF-8 alone, as bytes."""
    try:
        if data:
            yield data.decode()
        return
    except UnicodeDecodeError:
        good: list[str] = []
    for line in re.findall(rb"[^\n]*\n|[^\n]+", data):
        try:
            good.append(line.decode())
        except UnicodeDecodeError:
            if good:
                yield "".join(good)
            good = []
            yield line
    if good:
        yield "".join(good)
