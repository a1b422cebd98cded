"""The inverse of segmentation: the text of sentences, from their lines alone."""

import re
from collections.abc import Iterable

from nonproj.io.copies import surface_tokens
from nonproj.types import Sentence

_CHARACTERS = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-F]{4})|U([0-9A-F]{8})|(.))", re.DOTALL)


def restore(sentences: Iterable[Sentence]) -> str:
    """Return the original text of sentences that a segmenter wrote, or that have the same attributes.

    Where MISC says nothing, a blank follows a token.
    """
    parts = []
    for sentence in sentences:
        for form, misc, _ in surface_tokens(sentence):
            attributes = dict(item.partition("=")[::2] for item in misc.split("|"))
            parts.append(unescape(attributes.get("SpacesBefore", "")))
            parts.append(unescape(attributes["OrigForm"]) if "OrigForm" in attributes else form)
            after = "" if attributes.get("SpaceAfter") == "No" else " "
            parts.append(unescape(attributes["SpacesAfter"]) if "SpacesAfter" in attributes else after)
    return "".join(parts)


def unescape(text: str) -> str:
    """Return the inverse of `escape`; escapes that it does not write stand for themselves."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return chr(int(code, 16)) if int(code, 16) < 0x110000 else match[0]
    return _CHARACTERS.get(match[3], match[0])
