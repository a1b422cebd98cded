"""Estimated widths of text in a sans-serif font, because pictures are made without access to fonts."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_GROUPS = {
    222: "ijl'|",
    278: " !,./:;I[]\\ft",
    333: '()-`r{}"*',
    500: "ckJsvxyz^",
    556: "#$0123456789?L_abdeghnopqu",
    611: "FTZ+<=>~",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    944: "W%@",
}
_WIDTHS = {character: width / 1000 for width, characters in _GROUPS.items() for character in characters}
_MARGIN = 1.16
"""Factor for other fonts: the widths are those of Helvetica, and most fonts are wider."""


@lru_cache(maxsize=1 << 16)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return an upper estimate of the width of a text, in the unit of the font's size.

    Examples
    --------
    >>> text_width("il", 10.0) < text_width("mw", 10.0) < text_width("依存", 10.0)
    True
    """
    return size * _MARGIN * (1.1 if bold else 1.0) * sum(map(_character_width, text))


def _character_width(character: str) -> float:
    if character in _WIDTHS:
        return _WIDTHS[character]
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    base = unicodedata.normalize("NFD", character)[0]
    return _WIDTHS.get(base, 0.78 if character.isupper() else 0.64)


def is_right_to_left(forms: list[str]) -> bool:
    """Return whether most letters of some words are written from right to left, as in Arabic and Hebrew.

    Examples
    --------
    >>> is_right_to_left(["שלום", "!"]), is_right_to_left(["Regn", "."])
    (True, False)
    """
    kinds = [unicodedata.bidirectional(character) for form in forms for character in form]
    right = sum(kind in ("R", "AL") for kind in kinds)
    return right > kinds.count("L")
