"""Tokens with signs that are never divided: addresses, names of files, sites and law reports, and such as ``C++``.

No treebank has enough of these to learn them from: what stands before a full stop ends there thousands of times, and in
the name of a file a few times at most.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.text.characters import (
    APOSTROPHE,
    AT,
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
from nonproj.types import Int64s, Uint8s, Uint32s

ENDINGS = tuple(
    """com edu gov net org cn dk fr jp nl nz pl ru uk
    doc docx odp ods odt pdf ppt pptx rtf tex txt xls xlsx
    asp aspx conf conllu cpp css csv dll exe hpp htm html ini js json jsp php py sql tsv url xml yaml yml
    avi bmp eps flac gif jpeg jpg mkv mp3 mp4 ogg png svg tif tiff wav
    7z bz2 dmg gz iso rar tar tgz xz zip""".split()  # noqa: SIM905
)
"""Endings of the names of sites and files, but for those that are words where a blank is missing, as in ``it.is``."""

NAMES = ("c++", "g++", "c#", "f#", "j#", "q#", ".net")
"""Other names with signs, in lower case."""

_LONGEST = 8
"""Characters of the endings and names, at most: as many as an integer has bytes."""

_LONGEST_ABBREVIATION = 4
_SCHEME, _EMAIL, _NAME, _SLASH = 1, 2, 4, 8
_AT_ENDS = (*LETTERS, DIGIT)
_IN_NAMES = (*_AT_ENDS, CONNECTOR, DASH, STOP)
_IN_LOCAL_PARTS = np.array([ord(c) for c in "+%&=~'"], np.uint32)
"""Further signs before the ``@`` of an address, those of RFC 5322 that seldom stand between it and another word."""

_BEHIND = (STOP, COMMA, COLON, TERMINAL, QUOTE, APOSTROPHE, CLOSE, OPEN, MATH)
_DOT, _COLON, _W, _PLUS, _HASH, _LESS, _GREATER, _LAST_ASCII = (np.uint32(ord(c)) for c in ".:w+#<>\x7f")
_LEFT_QUOTE, _RIGHT_QUOTE, _QUOTES, _LAST_QUOTE = np.uint32(0xAB), np.uint32(0xBB), np.uint32(0x201C), np.uint32(0x201F)
_WIDE_PUNCTUATION = np.uint32(0x3000), np.uint32(0x3020), np.uint32(0xFF00), np.uint32(0xFF0F)


def _numbers(strings: Iterable[str]) -> np.ndarray:
    """Return strings as numbers, whose bytes are their characters."""
    return np.array([int.from_bytes(each.encode("ascii"), "big") for each in strings], np.int64)


_ENDINGS, _NAMES, _ORDINALS = _numbers(ENDINGS), _numbers(NAMES), _numbers(("d", "st", "nd", "rd", "th"))


@kernel
def mark_addresses(codes: Uint32s, kind: Uint8s, first: int, last: int, fixed: Uint8s) -> int:
    """Mark the characters of the chunk ``first:last`` that are inside what is never divided.

    Parameters
    ----------
    codes : ndarray of shape (n,), uint32
        The characters of the text, in lower case.
    kind : ndarray of shape (n,), uint8
    first, last : int
    fixed : ndarray of shape (n,), uint8
        1 is written for each character after which no token ends.

    Returns
    -------
    found : int
        The sum of 1 for ``://``, 2 for ``@`` in an address, 4 for ``www.`` or a name, 8 for a slash.
    """
    found, address_end = 0, first
    for i in range(first, last):
        begin, end = i, i
        if kind[i] == SLASH:
            found |= _SLASH
            if i > first + 2 and codes[i - 1] == codes[i] and codes[i - 2] == _COLON and i >= address_end:
                found |= _SCHEME
                begin, end = _name_start(kind, first, i - 2), _address_end(codes, kind, i + 1, last)
        elif kind[i] == AT and first < i < last - 1:
            a, b = _local_start(codes, kind, first, i), _name_end(kind, i + 1, last)
            if a < i and b > i + 1:
                found |= _EMAIL
                begin, end = a, b
        elif i >= address_end:
            begin, end = _named(codes, kind, first, max(first, address_end - 1), i, last)
            found |= _NAME * (begin < end)
        if begin < end:
            fixed[begin : end - 1] = 1
            address_end = max(address_end, end)
    return found


@kernel
def _named(codes: Uint32s, kind: Uint8s, first: int, earliest: int, i: int, last: int) -> tuple[int, int]:
    """Return where what has its ``www.``, its first character or its last full stop at ``i`` begins and ends.

    Both are ``i`` where there is nothing.  A name of a file or site begins at ``earliest`` or later.
    """
    if i == first or kind[i - 1] not in _IN_NAMES:
        if i + 3 < last and codes[i] == codes[i + 1] == codes[i + 2] == _W and codes[i + 3] == _DOT:
            return i, _address_end(codes, kind, i + 1, last)
        end = _signs_end(codes, kind, i, last)
        if end > i:
            return i, end
    if kind[i] == STOP:
        begin, end = _report(codes, kind, earliest, i, last)
        if begin < i:
            return begin, end
        end = i + 1
        while end < last and kind[end] in _AT_ENDS and end - i <= _LONGEST:
            end += 1
        if _is_among(_ENDINGS, codes, i + 1, end):
            begin = _file_start(kind, earliest, i)
            if begin < i:
                return begin, _address_end(codes, kind, end, last) if end < last and kind[end] == SLASH else end
    return i, i


@kernel
def _signs_end(codes: Uint32s, kind: Uint8s, i: int, last: int) -> int:
    """Return where one of `NAMES` ends that begins at ``i``; ``i`` if there is none."""
    end = i + int(kind[i] == STOP)
    while end < last and kind[end] in LETTERS and end - i <= _LONGEST:
        end += 1
    letters = end
    while end < last and (codes[end] == _PLUS or codes[end] == _HASH) and end - i <= _LONGEST:
        end += 1
    return end if (end > letters or kind[i] == STOP) and _is_among(_NAMES, codes, i, end) else i


@kernel
def _is_among(numbers: Int64s, codes: Uint32s, first: int, last: int) -> bool:
    """Return whether ``codes[first:last]`` is one of some strings: see `_numbers`."""
    if last - first > _LONGEST:
        return False
    number = 0
    for i in range(first, last):
        if codes[i] > _LAST_ASCII:
            return False
        number = number * 256 + int(codes[i])
    return bool((numbers == number).any())


@kernel
def _name_start(kind: Uint8s, first: int, i: int) -> int:
    """Return where the name before character ``i`` begins."""
    while i > first and kind[i - 1] in _IN_NAMES:
        i -= 1
    return i


@kernel
def _local_start(codes: Uint32s, kind: Uint8s, first: int, i: int) -> int:
    """Return where the local part of an address before the ``@`` at ``i`` begins: with a letter, a digit or ``_``."""
    begin = i
    while begin > first and (kind[begin - 1] in _IN_NAMES or (codes[begin - 1] == _IN_LOCAL_PARTS).any()):
        begin -= 1
    while begin < i and kind[begin] not in _AT_ENDS and kind[begin] != CONNECTOR:
        begin += 1
    return begin


@kernel
def _report(codes: Uint32s, kind: Uint8s, earliest: int, i: int, last: int) -> tuple[int, int]:
    """Return where the name of a series of law reports such as ``F.3d`` or ``L.Ed.2d`` begins and ends.

    The full stop ``i`` is between a capitalised abbreviation of up to four letters and an ordinal number.  Both are
    ``i`` if there is none.
    """
    begin, end = i, i + 1
    while begin > earliest and kind[begin - 1] in LETTERS:
        begin -= 1
    while end < last and kind[end] == DIGIT:
        end += 1
    number = end
    while end < last and kind[end] in _AT_ENDS:
        end += 1
    abbreviated = 0 < i - begin <= _LONGEST_ABBREVIATION and kind[begin] == UPPER
    if abbreviated and number > i + 1 and _is_among(_ORDINALS, codes, number, end):
        return _file_start(kind, earliest, i), end
    return i, i


@kernel
def _file_start(kind: Uint8s, first: int, i: int) -> int:
    """Return where the name before the full stop ``i`` begins: with a letter or digit, after any ellipsis."""
    begin = i
    while begin > first and kind[begin - 1] in _IN_NAMES and not (kind[begin - 1] == STOP and kind[begin] == STOP):
        begin -= 1
    while begin < i and kind[begin] not in _AT_ENDS:
        begin += 1
    return begin


@kernel
def _name_end(kind: Uint8s, i: int, last: int) -> int:
    """Return where the name from character ``i`` on ends, which is ``i`` if there is none."""
    end = i
    while end < last and kind[end] in _IN_NAMES:
        end += 1
    while end > i and kind[end - 1] not in _AT_ENDS:
        end -= 1
    return end


@kernel
def _address_end(codes: Uint32s, kind: Uint8s, i: int, last: int) -> int:
    """Return the end of an address, without the punctuation behind it.

    Quotation marks, ``<``, ``>`` and Chinese punctuation end it.  A closing bracket belongs to an opening one inside.
    """
    stop, depth = i, 0
    while stop < last and kind[stop] != QUOTE and not _ends_address(codes[stop]):
        depth += np.int64(kind[stop] == OPEN) - np.int64(kind[stop] == CLOSE)
        stop += 1
    while stop > i and kind[stop - 1] in _BEHIND:
        if kind[stop - 1] == CLOSE:
            if depth >= 0:
                break
            depth += 1
        elif kind[stop - 1] == OPEN:
            depth -= 1
        stop -= 1
    return stop


@kernel
def _ends_address(code: np.uint32) -> bool:
    """Return whether a character is never part of an address."""
    a, b, c, d = _WIDE_PUNCTUATION
    if code in (_LESS, _GREATER, _LEFT_QUOTE, _RIGHT_QUOTE):
        return True
    return bool(_QUOTES <= code <= _LAST_QUOTE or a <= code <= b or c <= code <= d)
