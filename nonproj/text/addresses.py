"""Tokens with signs that are never divided: addresses, names of files, sites and law reports, and others like ``C++``.

No treebank has enough of these to learn them from: thousands of tokens end before a full stop, a few go on there as in
the name of a file.
"""

from __future__ import annotations

import re

import numpy as np

from nonproj.text.characters import (
    APOSTROPHE,
    CLOSE,
    COLON,
    COMMA,
    CONNECTOR,
    DASH,
    DIGIT,
    LETTERS,
    MATH,
    OPEN,
    QUOTE,
    SLASH,
    STOP,
    TERMINAL,
    UPPER,
)
from nonproj.types import Int64s, Uint8s

ENDINGS = frozenset(
    """com edu gov net org cn dk fr jp nl nz pl ru uk
    doc docx odp ods odt pdf ppt pptx rtf tex txt xls xlsx
    asp aspx conf conllu cpp css csv dll exe hpp htm html ini js json jsp php py sql tsv url xml yaml yml
    avi bmp eps flac gif jpeg jpg mkv mp3 mp4 ogg png svg tif tiff wav
    7z bz2 dmg gz iso rar tar tgz xz zip""".split()  # noqa: SIM905
)
"""Endings of the names of sites and files, except words that a missing blank joins to others, as in ``it.is``."""

SCHEME, EMAIL, NAME, SLASHED, ABBREVIATED = 1, 2, 4, 8, 16
"""Marks of a chunk: it has ``://``; an ``@`` in an address; ``www.`` or a name; a slash; or is like ``e.g.``."""

SIGN = re.compile(r"[/\\@#]|\+(?=\+)|(?<=[wW]{3})\.|[.．](?=\w)")
"""Pattern of a sign; every address has one."""

_LONGEST_ABBREVIATION = 4
_LETTERS = "".join(map(chr, LETTERS))
_ENDS = _LETTERS + chr(DIGIT)
_IN_NAMES = _ENDS + "".join(map(chr, (CONNECTOR, DASH, STOP)))
_BEHIND = "".join(map(chr, (STOP, COMMA, COLON, TERMINAL, QUOTE, APOSTROPHE, CLOSE, OPEN, MATH)))
"""Kinds as characters: of names, at their ends and inside, and of punctuation behind an address."""

_IN_LOCAL_PARTS = "+%&=~'"
"""Other signs before the ``@`` of an address: those of RFC 5322 that seldom separate it from another word."""

_NAME = re.compile(r"www\.|(?:[cg]\+\+|[cfjq]#|\.net(?![^\W\d_]))(?![+#])", re.IGNORECASE)
_ORDINAL = re.compile(r"\d+(?:d|st|nd|rd|th)")
_BODY = re.compile('[^"<>«»“-‟\u3000-\u3020\uff00-\uff0f]*')
_RUN, _HOST = re.compile(f"[{_ENDS}]*"), re.compile(f"(?:[{_IN_NAMES}]*[{_ENDS}])?")


def mark_addresses(text: str, kind: Uint8s, start: Int64s, end: Int64s, flags: Uint8s, fixed: Uint8s) -> None:
    """Find addresses and other strings that are never divided; mark their inner characters, and flag their chunks.

    Parameters
    ----------
    text : str
    kind : ndarray of shape (n,), uint8
        The kinds of its characters.
    start, end : ndarray of shape (C,), int64
        Characters of the chunks.
    flags : ndarray of shape (C,), uint8
        The marks of each chunk are added to it.
    fixed : ndarray of shape (n,), uint8
        1 is written for each character after which no token ends.
    """
    signs = [match.start() for match in SIGN.finditer(text)]
    if not signs:
        return
    chunks = np.unique(np.searchsorted(start, signs, side="right") - 1)
    for c, a, b in zip(chunks.tolist(), start[chunks].tolist(), end[chunks].tolist(), strict=True):
        found, spans = addresses_in(text[a:b], kind[a:b].tobytes().decode("latin-1"))
        flags[c] |= found
        for begin, stop in spans:
            fixed[a + begin : a + stop - 1] = 1


def addresses_in(chunk: str, kinds: str) -> tuple[int, list[tuple[int, int]]]:
    """Return the marks of a chunk, and the begin and end of each string in it that is never divided.

    ``kinds`` is a string of the same length: the kind of each character, as `chr` of its number.

    Examples
    --------
    >>> from nonproj.text.characters import characters
    >>> def find(chunk):
    ...     return [chunk[a:b] for a, b in addresses_in(chunk, characters(chunk).kind.tobytes().decode())[1]]
    >>> find("(http://a.dk/x_(y)),"), find("<c@d.dk>;"), find("Ed.2d"), find("C++/F#")
    (['http://a.dk/x_(y)'], ['c@d.dk'], ['Ed.2d'], ['C++', 'F#'])
    """
    found, last = 0, 0
    spans: list[tuple[int, int]] = []
    for match in SIGN.finditer(chunk):
        i, sign, span = match.start(), match[0], (0, 0)
        if sign in "/\\":
            found |= SLASHED
            if i > 2 and chunk[i - 2 : i] == ":" + sign and i >= last:
                found, span = found | SCHEME, (_start(kinds, i - 2, _IN_NAMES), _end(chunk, kinds, i + 1))
        elif sign == "@":
            begin, stop = _local_start(chunk, kinds, i), _matched(_HOST, kinds, i + 1)
            if begin < i and stop > i + 1:
                found, span = found | EMAIL, (begin, stop)
        elif i >= last:
            span = _named(chunk, kinds, i, last)
            found |= NAME * (span[0] < span[1])
        if span[0] < span[1]:
            spans.append(span)
            last = max(last, span[1])
    return found, spans


def _named(chunk: str, kinds: str, i: int, last: int) -> tuple[int, int]:
    """Return start and end of the name with a sign at ``i``, or 0 and 0; the previous one ended at ``last``."""
    for begin in (i - 3, i - 1, i):
        free = begin >= last and (not begin or kinds[begin - 1] not in _IN_NAMES)
        name = _NAME.match(chunk, begin) if free else None
        if name and name.end() > i:
            return begin, _end(chunk, kinds, begin + 1) if name[0][0] in "wW" else name.end()
    if kinds[i] != chr(STOP):
        return 0, 0
    first, end = max(last - 1, 0), _matched(_RUN, kinds, i + 1)
    behind = chunk[i + 1 : end].lower()
    if _ORDINAL.fullmatch(behind):  # of a series of law reports such as ``F.3d`` or ``L.Ed.2d``
        begin = _start(kinds, i, _LETTERS, first)
        if 0 < i - begin <= _LONGEST_ABBREVIATION and kinds[begin] == chr(UPPER):
            return _file_start(kinds, first, i), end
    if behind in ENDINGS and (begin := _file_start(kinds, first, i)) < i:
        return begin, _end(chunk, kinds, end) if kinds[end : end + 1] == chr(SLASH) else end
    return 0, 0


def _matched(pattern: re.Pattern[str], text: str, i: int) -> int:
    """Return the end of a pattern's match from ``i`` on; ``i`` if there is none."""
    match = pattern.match(text, i)
    return match.end() if match else i


def _start(kinds: str, i: int, allowed: str, first: int = 0) -> int:
    """Return the start of the run of allowed kinds before ``i``."""
    while i > first and kinds[i - 1] in allowed:
        i -= 1
    return i


def _local_start(chunk: str, kinds: str, i: int) -> int:
    """Return the start of the local part before the ``@`` at ``i``, which begins with a letter, a digit or ``_``."""
    begin = i
    while begin and (kinds[begin - 1] in _IN_NAMES or chunk[begin - 1] in _IN_LOCAL_PARTS):
        begin -= 1
    while begin < i and kinds[begin] not in _ENDS + chr(CONNECTOR):
        begin += 1
    return begin


def _file_start(kinds: str, first: int, i: int) -> int:
    """Return the start of the name before the full stop ``i``: a letter or digit, after any ellipsis."""
    begin = i
    while begin > first and kinds[begin - 1] in _IN_NAMES and kinds[begin - 1 : begin + 1] != 2 * chr(STOP):
        begin -= 1
    while begin < i and kinds[begin] not in _ENDS:
        begin += 1
    return begin


def _end(chunk: str, kinds: str, i: int) -> int:
    """Return the end of an address, without the punctuation behind it.

    Quotation marks, ``<``, ``>`` and Chinese punctuation end it, as does a closing bracket without its opening one.
    """
    stop = _matched(_BODY, chunk, i)
    depth = kinds.count(chr(OPEN), i, stop) - kinds.count(chr(CLOSE), i, stop)
    while stop > i and kinds[stop - 1] in _BEHIND and not (kinds[stop - 1] == chr(CLOSE) and depth >= 0):
        stop -= 1
        depth += (kinds[stop] == chr(CLOSE)) - (kinds[stop] == chr(OPEN))
    return stop
