"""The characters of a text as arrays: code points, lower case, and kinds, which are finer than Unicode's categories.

Blank characters are Unicode's white space, control characters, the zero width space and the byte order mark: none of
them is ever part of a word.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np

from nonproj.errors import DataError
from nonproj.text.graphemes import ALONE, MARK, bases, grapheme_class, joined_with_next

BLANK, NEWLINE, EXTEND, LOWER, UPPER, LETTER, IDEOGRAPH, DIGIT, NUMBER = range(9)
CONNECTOR, DASH, OPEN, CLOSE, MATH, CURRENCY, MODIFIER, SYMBOL, FORMAT = range(9, 18)
STOP, COMMA, TERMINAL, QUOTE, APOSTROPHE, COLON, SLASH, AT, OTHER, JOINER = range(18, 28)
"""Kinds of characters.  A mark, such as a variation selector, has the kind of the character that it modifies; EXTEND
and JOINER are marks without one."""

WORD_KINDS = (LOWER, UPPER, LETTER, DIGIT, NUMBER, CONNECTOR, FORMAT, JOINER)
"""Kinds of the characters of words."""

LETTERS = (LOWER, UPPER, LETTER)
"""Kinds of letters, except ideographs."""

KINDS = 32
"""An upper bound on the number of kinds."""

_CATEGORIES = {
    category: kind
    for kind, categories in {
        LOWER: "Ll", UPPER: "Lu Lt", LETTER: "Lo Lm", EXTEND: "Mn Mc Me", DIGIT: "Nd", NUMBER: "Nl No", CONNECTOR: "Pc",
        DASH: "Pd", OPEN: "Ps Pi", CLOSE: "Pe Pf", MATH: "Sm", CURRENCY: "Sc", MODIFIER: "Sk", SYMBOL: "So",
        OTHER: "Po", FORMAT: "Cf", BLANK: "Zs Cc", NEWLINE: "Zl Zp",
    }.items()
    for category in categories.split()
}  # fmt: skip
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
_IDEOGRAPHS = (0x3041, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)
_UNKNOWN = 255

_KIND_SHIFT, _CLASS_SHIFT = 21, 29
"""Shifts of a character's kind, above all code points, and of its class, above kinds."""

_characters = np.full(0x110000, _UNKNOWN << _KIND_SHIFT, np.uint32)
"""The class, the kind and the lower case of each character, filled in as characters occur; they are packed into one
number, so that no thread sees only some of them."""


class Characters(NamedTuple):
    """The characters of a text.

    Attributes
    ----------
    lower : ndarray of shape (n,), uint32
        Code points, in lower case where that is one character.
    kind : ndarray of shape (n,), uint8
    joined : ndarray of shape (n,), uint8
        1 for a character in the same cluster as the next: see `nonproj.text.graphemes`.
    """

    lower: np.ndarray
    kind: np.ndarray
    joined: np.ndarray


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
    >>> characters("e\\u0301!").joined.tolist()
    [1, 0, 0]
    """
    try:
        codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    except UnicodeEncodeError as error:
        message = f"the lone surrogate U+{ord(text[error.start]):04X} is not a character; decode the text correctly"
        raise DataError(path, 1 + text.count("\n", 0, error.start), message) from None
    found = _characters[codes]
    unknown = found == _UNKNOWN << _KIND_SHIFT
    if unknown.any():
        for code in np.unique(codes[unknown]).tolist():
            _characters[code] = _described(chr(code))
        found = _characters[codes]
    lower, classes = found & ((1 << _KIND_SHIFT) - 1), (found >> _CLASS_SHIFT).astype(np.uint8)
    kind = (found >> _KIND_SHIFT & 0xFF).astype(np.uint8)
    if (classes == ALONE).all():
        return Characters(lower, kind, np.zeros(len(kind), np.uint8))
    joined = joined_with_next(classes, kind > NEWLINE, (kind == LETTER) | (kind == IDEOGRAPH))
    return Characters(lower, kind[bases(classes, joined)], joined)


def _described(character: str) -> int:
    """Return the class, the kind and the lower case of a character as one number."""
    lower = character.lower()
    code = ord(lower) if len(lower) == 1 else ord(character)
    return grapheme_class(character) << _CLASS_SHIFT | _kind(character) << _KIND_SHIFT | code


def _kind(character: str) -> int:
    if character in _SPECIAL:
        return _SPECIAL[character]
    category = unicodedata.category(character)
    if grapheme_class(character) == MARK:
        return EXTEND
    if category not in ("Cn", "Cc", "Po") and any(first <= ord(character) <= last for first, last in _IDEOGRAPHS):
        return IDEOGRAPH
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
