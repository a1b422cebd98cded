"""Entities of HTML in plain text, such as ``&amp;``, which are segmented like the characters that they stand for."""

from __future__ import annotations

import html
import html.entities
import re

import numpy as np

from nonproj.text.characters import NEWLINE, characters
from nonproj.types import Int64s

_ENTITY = re.compile(r"&(?:#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6})|[A-Za-z][A-Za-z0-9]{1,31});")
_OBJECT = "\ufffc"
"""Symbol in place of an entity that is blank or stands for several characters."""


def decoded(text: str) -> tuple[str, Int64s]:
    """Return a text with one character for each entity, and the original position of each character, int64[n + 1].

    Examples
    --------
    >>> found, place = decoded("R&amp;D&nbsp;&foo;")
    >>> found, place.tolist()
    ('R&D\\ufffc&foo;', [0, 1, 6, 7, 13, 14, 15, 16, 17, 18])
    """
    parts, places, end = [], [], 0
    for match in _ENTITY.finditer(text):
        if match[0][1] != "#" and match[0][1:] not in html.entities.html5:
            continue
        parts += [text[end : match.start()], _character(match[0])]
        places.append(np.arange(end, match.start() + 1))
        end = match.end()
    return "".join([*parts, text[end:]]), np.concatenate([*places, np.arange(end, len(text) + 1)])


def _character(entity: str) -> str:
    """Return the character that an entity stands for, or `_OBJECT`."""
    found = html.unescape(entity)
    if len(found) != 1 or 0xD800 <= ord(found) < 0xE000 or characters(found).kind[0] <= NEWLINE:
        return _OBJECT
    return found
