"""The layout of a text: its chunks (strings between blanks), lines and paragraphs, and hashes of their shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import hash_codes, length_share, place_share
from nonproj.text.addresses import ABBREVIATED, SIGN, mark_addresses
from nonproj.text.characters import APOSTROPHE, DIGIT, KINDS, LETTERS, LOWER, NEWLINE, OPEN, QUOTE, STOP, characters
from nonproj.types import Bools, Int64s, Uint8s, Uint32s

NO_BLANKS, ONE_BLANK, SOME_BLANKS, WRAPPED, BROKEN, PARAGRAPH = range(6)
"""Ends of a chunk: the end of the text, a blank, several, a line end where the next chunk would not have fit on the
line, a line end where it would have, or the end of a paragraph."""

TOKEN_ENDS, SENTENCE_GOES_ON = 1, 2
"""Decisions about the place after a character: see `Text`.  The end of a paragraph always ends a sentence."""

MAX_TOKEN = 1000
"""Maximum length of a token, in characters; longer ones are cut, later if a mark would be separated from its letter,
and at twice this length at the latest, which only clusters of a thousand marks reach."""

MAX_HASHED = 24
"""Number of leading characters on which the hash of a string depends, besides its length."""

MAX_SHAPE = 16
"""Number of leading kinds on which the hash of a shape depends."""

_RETURN, _FEED, _PARAGRAPH_SEPARATOR = np.uint32(13), np.uint32(10), np.uint32(0x2029)
_CLASS = np.array([LOWER if kind in LETTERS else kind for kind in range(KINDS)], np.uint8)
"""The class of each kind of characters: all letters are one."""


class Text(NamedTuple):
    """The characters and chunks of a text, as arrays.

    Attributes
    ----------
    lower, kind, joined : ndarray of shape (n,)
        See `Characters`.
    run : ndarray of shape (n,), int64
        End of the run of characters of one kind that contains each character.
    start, end : ndarray of shape (C,), int64
        Chunk ``c`` is ``start[c]:end[c]``.
    blanks : ndarray of shape (C,), uint8
        Kind of blanks after each chunk.
    chunk : ndarray of shape (C,), uint32
        Hashes of the chunks in lower case.
    flags : ndarray of shape (C,), uint8
        Marks of each chunk: see `nonproj.text.addresses`.
    fixed : ndarray of shape (n,), uint8
        1 for a character after which no token ends, because it is joined to the next or inside an address.
    decided : ndarray of shape (n,), uint8
        Decisions of a user's lexicon about the place after a character: a sum of `TOKEN_ENDS` and `SENTENCE_GOES_ON`.
    """

    lower: np.ndarray
    kind: np.ndarray
    joined: np.ndarray
    run: np.ndarray
    start: np.ndarray
    end: np.ndarray
    blanks: np.ndarray
    chunk: np.ndarray
    flags: np.ndarray
    fixed: np.ndarray
    decided: np.ndarray


def lay_out(text: str, path: str = "<text>") -> Text:
    """Return the characters and chunks of a text.

    Raises
    ------
    DataError
        The text, of the file ``path``, has half of a surrogate pair.

    Examples
    --------
    >>> text = lay_out("Det regner. \\n\\nHvor?")
    >>> text.start.tolist(), text.end.tolist(), text.blanks.tolist()
    ([0, 4, 14], [3, 11, 19], [1, 5, 0])
    """
    lower, kind, joined = characters(text, path)
    run, start, end, blanks, chunk, flags = _lay_out(lower, kind)
    fixed = joined.copy()
    if SIGN.search(text):
        mark_addresses(text, kind, start, end, flags, fixed)
    return Text(lower, kind, joined, run, start, end, blanks, chunk, flags, fixed, np.zeros(len(kind), np.uint8))


@kernel
def _lay_out(lower: Uint32s, kind: Uint8s) -> tuple[Int64s, Int64s, Int64s, Uint8s, Uint32s, Uint8s]:
    """Return the fields ``run`` to ``flags`` of a `Text`, without the marks of addresses."""
    start, end, blanks = _chunks(lower, kind)
    chunk, flags = np.empty(len(start), np.uint32), np.empty(len(start), np.uint8)
    for c in range(len(start)):
        chunk[c] = hash_codes(lower, start[c], end[c], MAX_HASHED)
        flags[c] = ABBREVIATED * _is_dotted(kind, start[c], end[c])
    _fit_lines(start, end, blanks)
    return _runs(kind), start, end, blanks, chunk, flags


@kernel
def _runs(kind: Uint8s) -> Int64s:
    """Return the end of each character's run of equal kinds, int64[n]."""
    run = np.empty(len(kind), np.int64)
    for i in range(len(kind) - 1, -1, -1):
        run[i] = run[i + 1] if i + 1 < len(kind) and kind[i + 1] == kind[i] else i + 1
    return run


@kernel
def spans(text: Text, token_ends: Bools) -> tuple[Int64s, Int64s]:
    """Return start and end of each token, int64[T] each; long tokens are cut.

    Parameters
    ----------
    text : Text
    token_ends : ndarray of shape (n,), bool
        Whether a token ends at each character; the end of a chunk always ends one, and the inside of an address never.

    Examples
    --------
    >>> start, end = spans(lay_out("Ja, du"), np.array([0, 1, 0, 1, 0, 0], np.bool_))
    >>> start.tolist(), end.tolist()
    ([0, 2, 4], [2, 3, 6])
    """
    size, count = token_ends.sum() + len(text.start) + len(text.kind) // MAX_TOKEN, 0
    start, end = np.empty(size, np.int64), np.empty(size, np.int64)
    for c in range(len(text.start)):
        begin = text.start[c]
        for i in range(text.start[c], text.end[c]):
            ends = i + 1 == text.end[c] or (token_ends[i] and not text.fixed[i])
            if ends or is_too_long(text.joined, begin, i):
                start[count], end[count] = begin, i + 1
                count, begin = count + 1, i + 1
    return start[:count], end[:count]


@kernel
def is_too_long(joined: Uint8s, begin: int, i: int) -> bool:
    """Return whether a token that began at ``begin`` is cut after the character ``i``."""
    return i + 1 - begin >= MAX_TOKEN and (not joined[i] or i + 1 - begin >= 2 * MAX_TOKEN)


@kernel
def table_shift(size: int) -> int:
    """Return the right shift, in bits, that makes a hash an index of a table of this length, a power of two."""
    shift = 32
    while size > 1:
        size >>= 1
        shift -= 1
    return shift


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
def outline_hash(kind: Uint8s, run: Int64s, first: int, last: int) -> np.uint32:
    """Return a hash of the classes of some characters, where any number of a class in a row count as one.

    For example, ``RTX4090`` and ``iPhone12`` have the same outline.
    """
    key, i, count = np.uint32(0), first, 0
    while i < last and count < MAX_SHAPE:
        key = np.uint32(key + place_share(count, _CLASS[kind[i]]))
        count += 1
        i = class_end(kind, run, i, last)
    return np.uint32(key + length_share(count))


@kernel
def class_end(kind: Uint8s, run: Int64s, i: int, last: int) -> int:
    """Return the end of the characters of one class from ``i`` on, at most ``last``.

    After `MAX_HASHED` characters, the end of a run of one kind is returned, so that the time has a bound.
    """
    end = run[i]
    while end < last and end - i < MAX_HASHED and _CLASS[kind[end]] == _CLASS[kind[i]]:
        end = run[end]
    return min(end, last)


@kernel
def class_before(kind: Uint8s, first: int, i: int) -> int:
    """Return the class of the character before those of one class that end with ``i``; 0 if there is none."""
    begin = i
    while begin > first and i - begin < MAX_HASHED and _CLASS[kind[begin - 1]] == _CLASS[kind[i]]:
        begin -= 1
    return int(_CLASS[kind[begin - 1]]) if begin > first else 0


@kernel
def _chunks(codes: Uint32s, kind: Uint8s) -> tuple[Int64s, Int64s, Uint8s]:
    """Return start and end of each chunk, and the kind of blanks after it."""
    most = len(kind) // 2 + 1
    start, end, blanks = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.uint8)
    count, newlines, width, inside = 0, 0, 0, False
    for i in range(len(kind)):
        if kind[i] > NEWLINE:
            if not inside:
                if count:
                    blanks[count - 1] = (
                        PARAGRAPH if newlines > 1 else BROKEN if newlines else SOME_BLANKS if width > 1 else ONE_BLANK
                    )
                start[count] = i
                count += 1
                inside = True
            end[count - 1] = i + 1
            continue
        if inside:
            inside, newlines, width = False, 0, 0
        width += 1
        if kind[i] == NEWLINE and not (codes[i] == _FEED and i and codes[i - 1] == _RETURN):
            newlines += 2 if codes[i] == _PARAGRAPH_SEPARATOR else 1
    if count:
        blanks[count - 1] = NO_BLANKS if inside else PARAGRAPH
    return start[:count].copy(), end[:count].copy(), blanks[:count].copy()


@kernel
def _is_dotted(kind: Uint8s, first: int, last: int) -> bool:
    """Return whether a chunk has two full stops or more, each after one to three letters, and no digit."""
    letters, stops = 0, 0
    for i in range(first, last):
        if kind[i] in LETTERS:
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
def _fit_lines(start: Int64s, end: Int64s, blanks: Uint8s) -> None:
    """Mark as `WRAPPED` the line ends where the next chunk would not have fit on the line."""
    first = 0
    while first < len(start):
        last, longest, line = first, 0, start[first]
        while True:
            if blanks[last] >= BROKEN or blanks[last] == NO_BLANKS:
                longest = max(longest, end[last] - line)
            if blanks[last] == PARAGRAPH or last + 1 == len(start):
                break
            last += 1
            if blanks[last - 1] == BROKEN:
                line = start[last]
        line = start[first]
        for c in range(first, last):
            if blanks[c] == BROKEN:
                if end[c] - line + 1 + end[c + 1] - start[c + 1] > longest:
                    blanks[c] = WRAPPED
                line = start[c + 1]
        first = last + 1
