"""Texts on a terminal: control characters and changes of direction are shown as escapes, not executed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

_UNSEEN = "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
"""Control characters, line ends, changes of direction, and non-characters, as in `tree.js`."""

_ANYWHERE, _IN_LINES = re.compile(_UNSEEN), re.compile(rf"(?!\t|\r?\n){_UNSEEN}")


def visible(text: str) -> str:
    """Return a text with escapes for control characters and changes of direction.

    Characters of a file must not control a terminal, or make a reader see words in another order.

    Examples
    --------
    >>> print(visible("\\x1b[2J \\u202eevil"))
    \\x1b[2J \\u202eevil
    """
    return _ANYWHERE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class EscapingStream:
    """A text stream to a terminal that writes `visible` texts; tabs and line ends remain.

    Parameters
    ----------
    stream : TextIO
        The terminal.  All other attributes are its own.

    Examples
    --------
    >>> _ = EscapingStream(sys.stdout).write("a\\tb\\r\\x1b[2J\\n")
    a	b\\x0d\\x1b[2J
    """

    def __init__(self, stream: TextIO):
        self.unescaped = stream

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self.unescaped.write(_IN_LINES.sub(_escape, text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


def escaping(stream: TextIO) -> TextIO:
    """Return a stream that escapes texts if it writes to a terminal; return any other stream unchanged."""
    is_done = isinstance(stream, EscapingStream) or not stream.isatty()
    return stream if is_done else cast(TextIO, EscapingStream(stream))


def unescaped(stream: TextIO) -> TextIO:
    """Return the stream under an `EscapingStream`, for colours and movements of the cursor, and `visible` texts."""
    return stream.unescaped if isinstance(stream, EscapingStream) else stream


def escape_terminals() -> None:
    """Escape the text that this process writes to standard output and standard error, wherever they are terminals."""
    sys.stdout, sys.stderr = escaping(sys.stdout), escaping(sys.stderr)
