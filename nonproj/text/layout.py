"""The layout of a text: its chunks (what stands between blanks), lines and paragraphs, and hashes of their shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.linear.hashing import hash_codes, length_share, place_share
from nonproj.text.characters import (
    APOSTROPHE,
    AT,
    CLOSE,
    COLON,
    COMMA,
    CONNECTOR,
    DASH,
    DIGIT,
    LETTER,
    LOWER,
    MATH,
    NEWLINE,
    OPEN,
    QUOTE,
    SLASH,
    STOP,
    TERMINAL,
    UPPER,
    Characters,
)
from nonproj.types import Bools, Int64s, Uint8s, Uint32s

NO_GAP, ONE_BLANK, BLANKS, WRAPPED, BROKEN, PARAGRAPH = range(6)
"""What follows a chunk: nothing (the end), a blank, several, a line end where the next chunk would not have fit on the
line, a line end where it would have, or the end of a paragraph."""

MAX_TOKEN = 1000
"""Longest token, in characters; longer ones are cut, if need be later, so that no mark is separated from its letter: at
twice this length at the latest, which only clusters of a thousand marks reach."""

MAX_HASHED = 24
"""Characters of a string that its hash looks at, from its beginning; the length counts, too."""

MAX_SHAPE = 16
"""Kinds that the hash of a shape looks at, from its beginning."""

_RETURN, _FEED, _PARAGRAPH_SEPARATOR = np.uint32(13), np.uint32(10), np.uint32(0x2029)
_LETTERS = (LOWER, UPPER, LETTER)
_IN_NAMES = (LOWER, UPPER, LETTER, DIGIT, CONNECTOR, DASH, STOP)
_AT_ENDS = (LOWER, UPPER, LETTER, DIGIT)
_BEHIND = (STOP, COMMA, COLON, TERMINAL, QUOTE, APOSTROPHE, CLOSE, OPEN, MATH)
_DOT, _COLON, _W = np.uint32(ord(".")), np.uint32(ord(":")), np.uint32(ord("w"))
_LESS, _GREATER = np.uint32(ord("<")), np.uint32(ord(">"))
_LEFT_QUOTE, _RIGHT_QUOTE, _QUOTES, _LAST_QUOTE = np.uint32(0xAB), np.uint32(0xBB), np.uint32(0x201C), np.uint32(0x201F)
_WIDE_PUNCTUATION = np.uint32(0x3000), np.uint32(0x3020), np.uint32(0xFF00), np.uint32(0xFF0F)


class Text(NamedTuple):
    """A text as its characters and chunks.

    Attributes
    ----------
    lower, kind, joined : ndarray of shape (n,)
        See `Characters`.
    run : ndarray of shape (n,), int64
        Where the run of characters of one kind ends that a character is in.
    start, end : ndarray of shape (C,), int64
        Chunk ``c`` is ``start[c]:end[c]``.
    gap : ndarray of shape (C,), uint8
        What follows each chunk.
    chunk : ndarray of shape (C,), uint32
        Hashes of the chunks in lower case.
    flags : ndarray of shape (C,), uint8
        Marks of a chunk: ``://`` 1, ``@`` 2, ``www.`` 4, a slash 8, an abbreviation such as ``e.g.`` 16.
    fixed : ndarray of shape (n,), uint8
        1 for a character after which no token ends, because it is joined to the next or inside an address.
    """

    lower: np.ndarray
    kind: np.ndarray
    joined: np.ndarray
    run: np.ndarray
    start: np.ndarray
    end: np.ndarray
    gap: np.ndarray
    chunk: np.ndarray
    flags: np.ndarray
    fixed: np.ndarray


def lay_out(characters: Characters) -> Text:
    """Return a text with its chunks.

    Examples
    --------
    >>> from nonproj.text.characters import characters
    >>> text = lay_out(characters("Det regner. \\n\\nHvor?"))
    >>> text.start.tolist(), text.end.tolist(), text.gap.tolist()
    ([0, 4, 14], [3, 11, 19], [1, 5, 0])
    """
    n = len(characters.kind)
    start, end, gap = np.empty(n // 2 + 1, np.int64), np.empty(n // 2 + 1, np.int64), np.empty(n // 2 + 1, np.uint8)
    count = _chunks(characters.lower, characters.kind, start, end, gap)
    start, end, gap = start[:count].copy(), end[:count].copy(), gap[:count].copy()
    chunk, flags, fixed = np.empty(count, np.uint32), np.empty(count, np.uint8), characters.joined.copy()
    text = Text(*characters, _runs(characters.kind), start, end, gap, chunk, flags, fixed)
    _describe_chunks(text)
    _fit_lines(start, end, gap)
    return text


def _runs(kind: np.ndarray) -> np.ndarray:
    """Return where the run of equal kinds that each character is in ends, int64[n]."""
    ends = np.append(np.flatnonzero(kind[1:] != kind[:-1]) + 1, len(kind))
    return np.repeat(ends, np.diff(ends, prepend=0))


def spans(text: Text, token_ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first characters of the tokens and those behind their last, int64[T] each.

    Parameters
    ----------
    text : Text
    token_ends : ndarray of shape (n,), bool
        Whether a token ends at each character; the end of a chunk always ends one, and the inside of an address never.

    Examples
    --------
    >>> from nonproj.text.characters import characters
    >>> start, end = spans(lay_out(characters("Ja, du")), np.array([0, 1, 0, 1, 0, 0], np.bool_))
    >>> start.tolist(), end.tolist()
    ([0, 2, 4], [2, 3, 6])
    """
    marks = token_ends & (text.kind > NEWLINE)
    marks &= text.fixed == 0
    marks[text.end - 1] = True
    start, end = _spans(text, marks)
    if len(end) and (end - start).max() > MAX_TOKEN:
        _cut_tokens(text.joined, start, end, marks)
        start, end = _spans(text, marks)
    return start, end


def _spans(text: Text, marks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    end = np.flatnonzero(marks).astype(np.int64) + np.int64(1)
    start = np.empty_like(end)
    start[1:] = end[:-1]
    start[np.searchsorted(end, text.start, side="right")] = text.start
    return start, end


@kernel
def is_too_long(joined: Uint8s, begin: int, i: int) -> bool:
    """Return whether a token that began at ``begin`` is cut after the character ``i``."""
    return i + 1 - begin >= MAX_TOKEN and (not joined[i] or i + 1 - begin >= 2 * MAX_TOKEN)


@kernel
def _cut_tokens(joined: Uint8s, start: Int64s, end: Int64s, marks: Bools) -> None:
    """Mark the ends of the pieces of tokens that are too long."""
    for t in range(len(start)):
        begin = start[t]
        for i in range(start[t], end[t] - 1):
            if is_too_long(joined, begin, i):
                marks[i] = True
                begin = i + 1


@kernel
def shape_hash(kind: Uint8s, run: Int64s, first: int, last: int) -> np.uint32:
    """Return a hash of the kinds of some characters, where more than two of a kind in a row count as two.

    ``run`` is as in `Text`, so that the time does not grow with the length of the runs.
    """
    key, i, count = np.uint32(0), first, 0
    while i < last and count < MAX_SHAPE:
        end = min(run[i], last)
        key = np.uint32(key + place_share(count, kind[i]))
        count += 1
        if i + 1 < end and count < MAX_SHAPE:
            key = np.uint32(key + place_share(count, kind[i]))
            count += 1
        i = end
    return np.uint32(key + length_share(count))


@kernel
def _chunks(codes: Uint32s, kind: Uint8s, start: Int64s, end: Int64s, gap: Uint8s) -> int:
    """Find the chunks and what follows them; return their number."""
    count, newlines, blanks, inside = 0, 0, 0, False
    for i in range(len(kind)):
        if kind[i] > NEWLINE:
            if not inside:
                if count:
                    gap[count - 1] = (
                        PARAGRAPH if newlines > 1 else BROKEN if newlines else BLANKS if blanks > 1 else ONE_BLANK
                    )
                start[count] = i
                count += 1
                inside = True
            end[count - 1] = i + 1
            continue
        if inside:
            inside, newlines, blanks = False, 0, 0
        blanks += 1
        if kind[i] == NEWLINE and not (codes[i] == _FEED and i and codes[i - 1] == _RETURN):
            newlines += 2 if codes[i] == _PARAGRAPH_SEPARATOR else 1
    if count:
        gap[count - 1] = NO_GAP if inside else PARAGRAPH
    return count


@kernel
def _describe_chunks(text: Text) -> None:
    """Compute the hashes and flags of the chunks, and mark the characters inside addresses."""
    codes, kind, fixed = text.lower, text.kind, text.fixed
    for c in range(len(text.start)):
        first, last = text.start[c], text.end[c]
        text.chunk[c] = hash_codes(codes, first, last, MAX_HASHED)
        found = 16 * _is_dotted(kind, first, last)
        address_end = first
        for i in range(first, last):
            if kind[i] == SLASH:
                found |= 8
                if i > first + 2 and codes[i - 1] == codes[i] and codes[i - 2] == _COLON and i >= address_end:
                    found |= 1
                    begin, address_end = _address_start(kind, first, i - 2), _address_end(codes, kind, i + 1, last)
                    _fix(fixed, begin, address_end)
            elif codes[i] == _W and i + 3 < last and codes[i + 1] == _W and codes[i + 2] == _W and codes[i + 3] == _DOT:
                if i >= address_end and (i == first or kind[i - 1] not in _IN_NAMES):
                    found |= 4
                    address_end = _address_end(codes, kind, i + 1, last)
                    _fix(fixed, i, address_end)
            elif kind[i] == AT and first < i < last - 1:
                a, b = _address_start(kind, first, i), i + 1
                while b < last and kind[b] in _IN_NAMES:
                    b += 1
                while b > i + 1 and kind[b - 1] not in _AT_ENDS:
                    b -= 1
                if a < i and b > i + 1:
                    found |= 2
                    _fix(fixed, a, b)
        text.flags[c] = found


@kernel
def _is_dotted(kind: Uint8s, first: int, last: int) -> bool:
    """Return whether a chunk has two full stops or more, each after one to three letters, and no digit."""
    letters, stops = 0, 0
    for i in range(first, last):
        if kind[i] in _LETTERS:
            letters += 1
            if letters > 3:
                return False
        elif kind[i] == STOP and letters:
            letters, stops = 0, stops + 1
        elif stops > 1 and kind[i] != DIGIT:
            return True
        elif letters or kind[i] not in (OPEN, QUOTE, APOSTROPHE):
            return False
    return stops > 1


@kernel
def _address_start(kind: Uint8s, first: int, i: int) -> int:
    """Return where the name before character ``i`` begins."""
    while i > first and kind[i - 1] in _IN_NAMES:
        i -= 1
    return i


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


@inlined_kernel
def _ends_address(code: np.uint32) -> bool:
    """Return whether a character is never part of an address."""
    a, b, c, d = _WIDE_PUNCTUATION
    if code in (_LESS, _GREATER, _LEFT_QUOTE, _RIGHT_QUOTE):
        return True
    return bool(_QUOTES <= code <= _LAST_QUOTE or a <= code <= b or c <= code <= d)


@kernel
def _fix(fixed: Uint8s, first: int, last: int) -> None:
    """Mark that no token ends before the last of some characters."""
    for i in range(first, last - 1):
        fixed[i] = 1


@kernel
def _fit_lines(start: Int64s, end: Int64s, gap: Uint8s) -> None:
    """Tell line ends where the next chunk would have fit on the line from those where it would not."""
    first = 0
    while first < len(start):
        last, longest, line = first, 0, start[first]
        while True:
            if gap[last] >= BROKEN or gap[last] == NO_GAP:
                longest = max(longest, end[last] - line)
            if gap[last] == PARAGRAPH or last + 1 == len(start):
                break
            last += 1
            if gap[last - 1] == BROKEN:
                line = start[last]
        line = start[first]
        for c in range(first, last):
            if gap[c] == BROKEN:
                if end[c] - line + 1 + end[c + 1] - start[c + 1] > longest:
                    gap[c] = WRAPPED
                line = start[c + 1]
        first = last + 1
