"""The division of plain text into pieces: some consecutive paragraphs, or lines, each a task of a worker.

A piece ends with a paragraph and the blank lines behind it, or with a line, if each line ends a sentence.  A
paragraph of more than `MAX_PARAGRAPH` characters is cut: after a line, if possible one that ends with a full stop, or
else at a blank.  The division into pieces never affects the segmentation, so one process and many workers give the same
output.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from nonproj.errors import DataError
from nonproj.io.broken import MalformedUnit
from nonproj.text.characters import characters
from nonproj.text.formats import LINES, WORDS, TextInput, TextPiece
from nonproj.text.output import BLANKS, count_newlines, split_blanks

MAX_PARAGRAPH = 1 << 20
"""Maximum length of a paragraph, in characters; longer ones are cut."""

MAX_BLANKS = 1 << 17
"""Maximum length of a stretch of blanks and control characters."""

_CUT_WINDOW = 1 << 16
"""Number of characters before the limit within which a long paragraph is cut, if possible."""

_ALL = re.escape(BLANKS)
_OTHERS = re.escape(BLANKS.replace("\n", ""))
_SOLID = re.compile(f"[^{_ALL}]")
_ON_LINES = (LINES, WORDS)
"""The formats with a sentence on each line."""

_PARAGRAPH_END = re.compile(f"\n[{_OTHERS}]*\n[{_ALL}]*")  # a literal first character is found fast
_LINE_END = re.compile(f"\n[{_ALL}]*")
_LONG_BLANKS = re.compile(f"[{_ALL}]{{64,}}")
_FIRST_LINE = re.compile(r"\ufeff?(?:[ \t\r]*\n|#[^\n]*\n)*+([^\n#][^\n]*)\n")
_CONLL = re.compile(r"(?:1|1-\d+|0\.1)\t(?:[^\t]+\t){5}(?:\d+|_)\t[^\t]+\t[^\t]+\t[^\t]+")
_CUTS = tuple(
    re.compile(pattern) for pattern in (f"[.!?\u3002\u2026][\"'\u201d\u2019)]*[{_OTHERS}]*\n", "\n", f"[{_ALL}]")
)
"""Patterns of the places where a long paragraph is cut, best first."""


class Splitter:
    """Divides a text into pieces as it is read; holds the text not yet yielded, and its position in the file.

    Parameters
    ----------
    name : str
        Name of the file, for messages.
    options : TextInput
    size : int
        Minimum number of characters of a piece, except the last one; 0: all that is complete after each `add`.

    Attributes
    ----------
    line, offset : int
        The number, from 1, of the first line of the buffer, and the number of characters before it.
    in_blanks : bool
        Whether blanks are being left out.
    """

    def __init__(self, name: str, options: TextInput, size: int):
        self.name, self.size = name, size or sys.maxsize
        self.at_once = not size
        self.format, self.running = options.format, options.format not in _ON_LINES
        self.unit_end = _PARAGRAPH_END if self.running and not options.breaks else _LINE_END
        self.buffer, self.line, self.offset, self.begins = "", 1, 0, True
        self.ready = 0  # the buffer up to here is complete
        self.follows = True  # whether the text behind it begins a paragraph
        self.searched = 0  # the end of the next paragraph is not before this
        self.blank = False  # whether the last block was blank
        self.known = False  # whether the first line that is no comment has been seen
        self.in_blanks = False

    def add(self, block: str) -> Iterator[TextPiece | MalformedUnit]:
        """Add a text; yield the complete pieces, and an error for each long stretch of blanks, which is left out.

        Raises
        ------
        DataError
            The text is CoNLL-U.
        """
        if self.in_blanks:
            rest = block.lstrip(BLANKS)
            self.leave_out(block[: len(block) - len(rest)])
            self.in_blanks, block = not rest, rest
        self.buffer += block
        if not self.known and (first := _FIRST_LINE.match(self.buffer)):
            self.known = True
            if _CONLL.fullmatch(first[1].rstrip("\r")):
                line = self.line + self.buffer.count("\n", 0, first.start(1))
                message = f"ten columns between tabs: a file of CoNLL-U is parsed without --{self.format}"
                raise DataError(self.name, line, message)
        before, self.blank = self.blank, not block.strip(BLANKS)  # more than MAX_BLANKS blanks hold a whole block
        for match in _LONG_BLANKS.finditer(self.buffer) if before or self.blank else ():
            if match.end() - match.start() > MAX_BLANKS:
                rest, self.buffer = self.buffer[match.start() :], self.buffer[: match.start()]
                yield from self.flush()
                yield self.malformed(
                    f"more than {MAX_BLANKS} blank or control characters in a row; is this a text file?"
                )
                self.in_blanks = True
                yield from self.add(rest)
                return
        yield from self._pieces(final=False)

    def flush(self) -> Iterator[TextPiece]:
        """Yield the remaining text, at the end of the file or before text that is left out; both end a paragraph."""
        yield from self._pieces(final=True)
        if _SOLID.search(self.buffer):
            yield self._piece(len(self.buffer), self.running)
        self._piece(len(self.buffer), self.begins or self.running)

    def malformed(self, reason: str) -> MalformedUnit:
        """Return the unit in place of a text that is left out."""
        return MalformedUnit(self.name, self.line, self.line, self.line, reason)

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
        """Return the first of the blanks before a place in the buffer."""
        while place and self.buffer[place - 1] in BLANKS:
            place -= 1
        return place

    def _last_solid(self) -> int:
        """Return the position of the last character that is not blank; -1 if there is none."""
        return len(self.buffer.rstrip(BLANKS)) - 1

    def _cut(self, first: int, limit: int) -> int:
        """Return the position, not before ``first``, at which to cut a paragraph that goes on beyond ``limit``."""
        for pattern in _CUTS:
            places = [match.end() for match in pattern.finditer(self.buffer, max(first, limit - _CUT_WINDOW), limit)]
            solid = _SOLID.search(self.buffer, places[-1]) if places else None
            if solid is not None:
                return solid.start()
        first = max(first, limit - 1000)
        joined = characters(self.buffer[first - 1 : limit + 1]).joined
        whole = [first + place for place in range(len(joined) - 1) if not joined[place]]
        return whole[-1] if whole else limit

    def _piece(self, end: int, begins: bool) -> TextPiece:
        """Remove and return the piece up to ``end``; ``begins``: whether the next one begins a paragraph."""
        text = self.buffer[:end]
        piece = TextPiece(text, self.name, self.line, self.offset, self.begins)
        self.buffer, self.begins = self.buffer[end:], begins
        self.line, self.offset = self.line + text.count("\n"), self.offset + end
        self.ready, self.searched = 0, 0
        return piece
