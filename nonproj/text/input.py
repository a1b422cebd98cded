"""Plain text from a file or pipe, and its division into pieces for workers.

A piece ends with a paragraph, after the blank lines behind it; in a file of lines, with a line.  A paragraph of more
than `MAX_PARAGRAPH` characters is cut: after a line, if possible one that ends with a full stop, or else at a blank.
What the pieces are never changes how they are segmented, so one process and many workers write the same.
"""

from __future__ import annotations

import codecs
import gzip
import re
import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO

from nonproj.errors import ConfigError, DataError
from nonproj.io.broken import Broken
from nonproj.io.files import Source, open_input, stream_error, unpacked
from nonproj.text.characters import characters
from nonproj.text.output import BLANKS, Origin, count_newlines, split_blanks
from nonproj.types import Sentence

TEXT, LINES, WORDS = FORMATS = ("text", "lines", "words")
"""Running text; a sentence on each line; the same, its words separated by blanks."""

MAX_PARAGRAPH = 1 << 20
"""Longest paragraph, in characters; longer ones are cut."""

MAX_LINE_WORDS = 1000
"""Words of a line after which a sentence is cut where the input has one on each line."""

MAX_BLANKS = 1 << 17
"""Longest stretch of blanks and control characters."""

_BLOCK = 1 << 16
_ALL = re.escape(BLANKS)
_OTHERS = re.escape(BLANKS.replace("\n", ""))
_SOLID = re.compile(f"[^{_ALL}]")
_PARAGRAPH_END = re.compile(f"\n[{_OTHERS}]*\n[{_ALL}]*")  # a literal first character is found fast
_LINE_END = re.compile(f"\n[{_ALL}]*")
_LONG_BLANKS = re.compile(f"[{_ALL}]{{64,}}")
_FIRST_LINE = re.compile(r"\ufeff?(?:[ \t\r]*\n|#[^\n]*\n)*+([^\n#][^\n]*)\n")
_CONLL = re.compile(r"(?:1|1-\d+|0\.1)\t(?:[^\t]+\t){5}(?:\d+|_)\t[^\t]+\t[^\t]+\t[^\t]+")
_CUTS = tuple(
    re.compile(pattern) for pattern in (f"[.!?\u3002\u2026][\"'\u201d\u2019)]*[{_OTHERS}]*\n", "\n", f"[{_ALL}]")
)
"""Where a long paragraph is cut, best first."""


class TextInput(NamedTuple):
    """How text is read.

    Attributes
    ----------
    format : str
        One of `FORMATS`.
    ranges : bool
        Whether the characters of each token are written to MISC, as ``TokenRange=first:last``.
    max_words : int
        Longest sentence, in words; longer ones are cut where the segmenter is surest of a sentence end.
    """

    format: str = TEXT
    ranges: bool = False
    max_words: int = MAX_LINE_WORDS

    def within(self, cut_words: int, max_words: int) -> TextInput:
        """Return these options with sentences of at most this many words: running text is cut, lines only if need be.

        Parameters
        ----------
        cut_words, max_words : int
            As in `nonproj.options.config.DecodingConfig`.
        """
        limit = min(self.max_words, max_words)
        return self._replace(max_words=min(limit, cut_words) if self.format == TEXT else limit)

    def check(self) -> TextInput:
        """Return these options, or raise ConfigError."""
        if self.format not in FORMATS:
            raise ConfigError("format", f"{self.format} is invalid, one of {', '.join(FORMATS)} expected")
        if self.max_words < 2:
            raise ConfigError("max_words", f"{self.max_words} is invalid, an integer of at least 2 expected")
        return self


class TextPiece(NamedTuple):
    """Some consecutive paragraphs or lines of a text: one task of a worker.

    Attributes
    ----------
    text : str
    path, line, offset : str, int, int
        The file; the number, from 1, of the first line; the number of characters before it.
    begins : bool
        Whether the text begins a paragraph.
    """

    text: str
    path: str
    line: int
    offset: int
    begins: bool

    def read(self, segmenter, options: TextInput, number: int = 1) -> list[Sentence]:
        """Return the sentences, numbered from ``number``; `nonproj.text.output.renumber` changes that later."""
        origin = Origin(self.path, self.line, self.offset, options.ranges, self.offset == 0, number)
        return segmenter.sentences(self.text, options, origin, self.begins)


def read_text(source: Source, segmenter: Any, options: TextInput | None = None) -> Iterator[Sentence]:
    """Read plain text, one sentence at a time.

    A paragraph is segmented as soon as the beginning of the next one has been read, so pipes are answered and memory
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
        The text is not UTF-8, has more than `MAX_BLANKS` blanks in a row, or is CoNLL-U; the sentences
        before that line have been yielded.
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
    options, number = (options or TextInput()).check(), 0
    for piece in split_text(source, options, 0):
        for sentence in piece.read(segmenter, options, number + 1):
            number += 1
            yield sentence


def split_text(source: Source, options: TextInput | None = None, size: int = _BLOCK) -> Iterator[TextPiece]:
    """Divide a text into pieces, without segmenting it.

    Parameters
    ----------
    source : str, Path or stream
        As for `read_text`.
    options : TextInput, optional
    size : int
        A piece has at least so many characters, but for the last one; 0: what can be read at once.

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
    stream, name, closing = open_input(source)
    splitter, failure = _Splitter(name, (options or TextInput()).check(), size), None
    with closing:
        try:
            for block in _blocks(stream):
                yield from splitter.add(block)
                if splitter.failure:
                    break
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode()
            splitter.buffer += before[: before.rfind("\n") + 1]
            line = splitter.line + splitter.buffer.count("\n")
            byte = f"byte 0x{error.object[error.start]:02x}"
            failure = DataError(name, line, f"{byte} is not UTF-8; recode the file to UTF-8 first")
        except (EOFError, zlib.error, OSError) as error:
            failure = stream_error(error, name, splitter.line - 1 + splitter.buffer.count("\n"))
    splitter.failure = failure or splitter.failure
    yield from splitter.finish()
    if splitter.failure:
        raise splitter.failure


def _blocks(stream: BinaryIO | TextIO) -> Iterator[str]:
    """Yield what can be read at once, decoded from UTF-8."""
    if hasattr(stream, "encoding"):
        yield from iter(lambda: stream.read(_BLOCK), "")
        return
    found = unpacked(stream)
    packed = isinstance(getattr(found, "raw", None), gzip.GzipFile)
    stream = found.raw if packed else found  # what is not buffered is not lost when an error is raised
    read, decoder = getattr(stream, "read1", stream.read), codecs.getincrementaldecoder("utf-8")()
    for block in iter(lambda: read(_BLOCK), b""):
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


def read_text_units(source: Source, segmenter: Any, options: TextInput) -> Iterator[Sentence | Broken]:
    """Read plain text like `read_text`; lines that are broken are left out, and reported in their place."""
    number = 0
    for piece in split_text_units(source, options, 0):
        if isinstance(piece, Broken):
            yield piece
            continue
        for sentence in piece.read(segmenter, options, number + 1):
            number += 1
            yield sentence


def split_text_units(
    source: Source, options: TextInput | None = None, size: int = _BLOCK
) -> Iterator[TextPiece | Broken]:
    """Divide a text into pieces like `split_text`; lines that are broken are left out, and reported in their place.

    Broken is a line that is not UTF-8, a long stretch of blanks, and all that follows damaged gzip data.

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
    >>> [each.text for each in found], found[1].line
    (['En.\\nTo.\\n', 'Tr\\udce9.\\n', 'Fire.\\n'], 3)
    """
    stream, name, closing = open_input(source)
    splitter = _Splitter(name, (options or TextInput()).check(), size)
    try:
        with closing:
            for line in _decodable(stream):
                if isinstance(line, str):
                    yield from _added(splitter, line)
                else:
                    yield from splitter.flush()
                    text = line.decode("utf-8", "surrogateescape")
                    byte = next(c for c in text if "\udc80" <= c <= "\udcff").encode("utf-8", "surrogateescape")
                    reason = f"byte 0x{byte.hex()} is not UTF-8; recode the file to UTF-8 first"
                    yield Broken(name, splitter.line, splitter.line, splitter.line, reason, text)
                    splitter.leave_out(text)
    except (EOFError, zlib.error, OSError) as error:
        yield from splitter.flush()
        failure = stream_error(error, name, splitter.line - 1)
        if not isinstance(failure, DataError):
            raise failure from None
        yield Broken(name, failure.line, failure.line, failure.line, failure.message)
        return
    yield from splitter.finish()


def _added(splitter: _Splitter, block: str) -> Iterator[TextPiece | Broken]:
    """Yield the pieces that are complete after a block, and long stretches of blanks, which are left out."""
    while True:
        if splitter.in_blanks:
            rest = block.lstrip(BLANKS)
            splitter.leave_out(block[: len(block) - len(rest)])
            splitter.in_blanks, block = not rest, rest
            if not block:
                return
        yield from splitter.add(block)
        failure, splitter.failure = splitter.failure, None
        if failure is None:
            return
        if splitter.wrong_format:
            raise failure
        yield from splitter.flush()
        yield Broken(splitter.name, failure.line, failure.line, failure.line, failure.message)
        block, splitter.in_blanks = splitter.rest, True


def _decodable(stream: BinaryIO | TextIO) -> Iterator[str | bytes]:
    """Yield what can be read at once, in whole lines, decoded; a line that is not UTF-8 by itself, as bytes."""
    if hasattr(stream, "encoding"):
        yield from iter(lambda: stream.read(_BLOCK), "")
        return
    found = unpacked(stream)
    packed = isinstance(getattr(found, "raw", None), gzip.GzipFile)
    raw: Any = found.raw if packed else found  # type: ignore[attr-defined]  # what is not buffered is not lost
    read, rest = getattr(raw, "read1", raw.read), b""
    for block in iter(lambda: read(_BLOCK), b""):
        data = rest + block
        end = data.rfind(b"\n") + 1
        if not end and len(data) >= MAX_PARAGRAPH:  # a line without end is cut between characters
            end = max((p for p in range(len(data) - 4, len(data)) if data[p] & 0xC0 != 0x80), default=len(data))
        yield from _lines_of(data[:end])
        rest = data[end:]
    yield from _lines_of(rest)


def _lines_of(data: bytes) -> Iterator[str | bytes]:
    """Yield lines, decoded together as far as they can be."""
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


class _Splitter:
    """The text that has been read but not yielded, and where it is."""

    def __init__(self, name: str, options: TextInput, size: int):
        self.name, self.size = name, size or sys.maxsize
        self.at_once = not size
        self.format = options.format
        self.unit_end = _PARAGRAPH_END if options.format == TEXT else _LINE_END
        self.buffer, self.line, self.offset, self.begins = "", 1, 0, True
        self.ready = 0  # the buffer up to here is complete
        self.follows = True  # whether what follows it begins a paragraph
        self.searched = 0  # the end of the next paragraph is not before this
        self.blank = False  # whether the last block was
        self.known = False  # whether the first line that is no comment has been seen
        self.failure: DataError | None = None
        self.wrong_format = False  # whether that is about the whole file
        self.rest = ""  # what follows the failure
        self.in_blanks = False  # whether blanks are being left out

    def add(self, block: str) -> Iterator[TextPiece]:
        """Add a text, and yield the pieces that are complete."""
        self.buffer += block
        if not self.known and (first := _FIRST_LINE.match(self.buffer)):
            self.known = True
            if _CONLL.fullmatch(first[1].rstrip("\r")):
                line = self.line + self.buffer.count("\n", 0, first.start(1))
                message = f"ten columns between tabs: a file of CoNLL-U is parsed without --{self.format}"
                self.buffer, self.wrong_format = "", True
                self.failure = DataError(self.name, line, message)
                return
        before, self.blank = self.blank, not block.strip(BLANKS)  # more than MAX_BLANKS blanks hold a whole block
        for match in _LONG_BLANKS.finditer(self.buffer) if before or self.blank else ():
            if match.end() - match.start() > MAX_BLANKS:
                line = self.line + self.buffer.count("\n", 0, match.start())
                message = f"more than {MAX_BLANKS} blank or control characters in a row; is this a text file?"
                self.buffer, self.rest = self.buffer[: match.start()], self.buffer[match.start() :]
                self.failure = DataError(self.name, line, message)
                return
        yield from self._pieces(final=False)

    def finish(self) -> Iterator[TextPiece]:
        """Yield what is left."""
        yield from self._pieces(final=True)
        if _SOLID.search(self.buffer):
            yield self._piece(len(self.buffer), True)

    def flush(self) -> Iterator[TextPiece]:
        """Yield what is left before a line that is left out; what follows that begins a paragraph."""
        yield from self._pieces(final=True)
        if _SOLID.search(self.buffer):
            yield self._piece(len(self.buffer), self.format == TEXT)
        self._piece(len(self.buffer), self.begins or self.format == TEXT)

    def leave_out(self, text: str) -> None:
        """Count lines and characters of a text that is left out."""
        self.line, self.offset = self.line + text.count("\n"), self.offset + len(text)

    def _pieces(self, final: bool) -> Iterator[TextPiece]:
        while (solid := _SOLID.search(self.buffer, self.ready)) is not None:
            match = self.unit_end.search(self.buffer, max(solid.start(), self.searched))
            first = solid.start()
            end = self._blanks_before(match.start()) if match else self._last_solid()
            if end >= first + MAX_PARAGRAPH:
                self.ready = self._cut(first + 1, first + MAX_PARAGRAPH)
                yield self._piece(self.ready, begins=False)
                continue
            if match is None or (match.end() == len(self.buffer) and not final):
                self.searched = max(solid.start(), self._last_solid())
                break
            self.follows = self.unit_end is _PARAGRAPH_END or count_newlines(self.buffer[end : match.end()]) > 1
            # as in `nonproj.text.output.miscellaneous`: only between paragraphs are blanks divided
            self.ready = self.searched = match.start() + split_blanks(match[0]) if self.follows else match.end()
            if final and not _SOLID.search(self.buffer, self.ready):
                self.ready = len(self.buffer)
            if self.ready >= self.size:
                yield self._piece(self.ready, self.follows)
        if self.ready and self.at_once:
            yield self._piece(self.ready, self.follows)

    def _blanks_before(self, place: int) -> int:
        """Return where the blanks before a place in the buffer begin."""
        while place and self.buffer[place - 1] in BLANKS:
            place -= 1
        return place

    def _last_solid(self) -> int:
        """Return the place of the last character that is not blank; -1 where there is none."""
        return len(self.buffer.rstrip(BLANKS)) - 1

    def _cut(self, first: int, limit: int) -> int:
        """Return where a paragraph that goes on at ``limit`` is cut: not before ``first``."""
        for pattern in _CUTS:
            places = [match.end() for match in pattern.finditer(self.buffer, max(first, limit - _BLOCK), limit)]
            if places:
                return _SOLID.search(self.buffer, places[-1]).start()
        first = max(first, limit - 1000)
        joined = characters(self.buffer[first - 1 : limit + 1]).joined
        whole = [first + place for place in range(len(joined) - 1) if not joined[place]]
        return whole[-1] if whole else limit

    def _piece(self, end: int, begins: bool) -> TextPiece:
        """Return the piece up to ``end``; ``begins``: what follows begins a paragraph."""
        text = self.buffer[:end]
        piece = TextPiece(text, self.name, self.line, self.offset, self.begins)
        self.buffer, self.begins = self.buffer[end:], begins
        self.line, self.offset = self.line + text.count("\n"), self.offset + end
        self.ready, self.searched = 0, 0
        return piece
