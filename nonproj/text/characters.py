"""The characters of a text as arrays: code points, lower case, and kinds, which are finer than Unicode's categories.

Blank characters are what Unicode calls white space, control characters, the zero width space and the byte order mark:
none of them is ever part of a word.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np

from nonproj.errors import DataError

BLANK, NEWLINE, EXTEND, LOWER, UPPER, LETTER, IDEOGRAPH, DIGIT, NUMBER = range(9)
CONNECTOR, DASH, OPEN, CLOSE, MATH, CURRENCY, MODIFIER, SYMBOL, FORMAT = range(9, 18)
STOP, COMMA, TERMINAL, QUOTE, APOSTROPHE, COLON, SLASH, AT, OTHER, JOINER = range(18, 28)
"""Kinds of characters.  A token never ends before an EXTEND (marks, variation selectors) or after a JOINER."""

WORD_KINDS = (LOWER, UPPER, LETTER, DIGIT, NUMBER, CONNECTOR, FORMAT, JOINER)
"""Kinds of the characters of words."""

KINDS = 32
"""More than there are kinds."""

_CATEGORIES = {
    "Ll": LOWER,
    "Lu": UPPER,
    "Lt": UPPER,
    "Lo": LETTER,
    "Lm": LETTER,
    "Mn": EXTEND,
    "Mc": EXTEND,
    "Me": EXTEND,
    "Nd": DIGIT,
    "Nl": NUMBER,
    "No": NUMBER,
    "Pc": CONNECTOR,
    "Pd": DASH,
    "Ps": OPEN,
    "Pi": OPEN,
    "Pe": CLOSE,
    "Pf": CLOSE,
    "Sm": MATH,
    "Sc": CURRENCY,
    "Sk": MODIFIER,
    "So": SYMBOL,
    "Po": OTHER,
    "Cf": FORMAT,
    "Zs": BLANK,
    "Zl": NEWLINE,
    "Zp": NEWLINE,
    "Cc": BLANK,
}
_SPECIAL = {
    **dict.fromkeys("\n\r\x0b\x0c\x85", NEWLINE),
    **dict.fromkeys("\u200b\ufeff", BLANK),
    **dict.fromkeys(
        "!?\u037e\u2026\u203c\u203d\u2047\u2048\u2049\u0589\u061f\u06d4\u0964\u0965\u3002\uff01\uff1f\uff61", TERMINAL
    ),
    **dict.fromkeys(".\uff0e", STOP),
    **dict.fromkeys(",\u060c\u3001\uff0c", COMMA),
    **dict.fromkeys('"', QUOTE),
    **dict.fromkeys("'\u2019\u02bc", APOSTROPHE),
    **dict.fromkeys(":;\u00b7\u0387", COLON),
    **dict.fromkeys("/\\", SLASH),
    **dict.fromkeys("@", AT),
    "\u200d": JOINER,
    "\u200c": EXTEND,
}
_RANGES = (
    (0x1160, 0x11FF, EXTEND),  # vowels and finals of Hangul, which compose with what is before them
    (0x1F3FB, 0x1F3FF, EXTEND),  # skin tones
    (0xE0020, 0xE007F, EXTEND),  # tags of flags
    (0x3041, 0x30FF, IDEOGRAPH),
    (0x3400, 0x4DBF, IDEOGRAPH),
    (0x4E00, 0x9FFF, IDEOGRAPH),
    (0xF900, 0xFAFF, IDEOGRAPH),
    (0x20000, 0x3FFFF, IDEOGRAPH),
)
_UNKNOWN = 255
_KIND_SHIFT = 21
"""Binary logarithm of a number above all code points."""

_characters = np.full(0x110000, _UNKNOWN << _KIND_SHIFT, np.uint32)
"""The kind and the lower case of each character, filled in as characters occur: one number, so that threads see both
or neither."""


class Characters(NamedTuple):
    """The characters of a text.

    Attributes
    ----------
    lower : ndarray of shape (n,), uint32
        Code points, in lower case where that is one character.
    kind : ndarray of shape (n,), uint8
    """

    lower: np.ndarray
    kind: np.ndarray


def characters(text: str, path: str = "<text>") -> Characters:
    """Return the characters of a text.

    Raises
    ------
    DataError
        The text has half of a surrogate pair, which UTF-8 cannot encode.

    Examples
    --------
    >>> found = characters("A1.")
    >>> found.lower.tolist(), found.kind.tolist() == [UPPER, DIGIT, STOP]
    ([97, 49, 46], True)
    """
    try:
        codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    except UnicodeEncodeError as error:
        message = f"the lone surrogate U+{ord(text[error.start]):04X} is not a character; decode the text correctly"
        raise DataError(path, 1 + text.count("\n", 0, error.start), message) from None
    found = _characters[codes]
    unknown = found >> _KIND_SHIFT == _UNKNOWN
    if unknown.any():
        for code in np.unique(codes[unknown]).tolist():
            lower = chr(code).lower()
            _characters[code] = _kind(chr(code)) << _KIND_SHIFT | (ord(lower) if len(lower) == 1 else code)
        found = _characters[codes]
    return Characters(found & ((1 << _KIND_SHIFT) - 1), (found >> _KIND_SHIFT).astype(np.uint8))


def _kind(character: str) -> int:
    if character in _SPECIAL:
        return _SPECIAL[character]
    category = unicodedata.category(character)
    if category not in ("Cn", "Cc"):
        for first, last, kind in _RANGES:
            if first <= ord(character) <= last and category != "Po":
                return kind
    return _CATEGORIES.get(category, FORMAT)


def lowered(form: str) -> str:
    """Return a form in lower case, character by character, so that its length does not change.

    Examples
    --------
    >>> lowered("Don't"), len(lowered("\\u0130X"))
    ("don't", 2)
    """
    lower = form.lower()
    if len(lower) == len(form):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in form)
