"""Where the words of sentences are in their text."""

from __future__ import annotations

from collections.abc import Iterable

from nonproj.io.copies import surface_tokens
from nonproj.types import Sentence


def token_ranges(sentence: Sentence) -> list[tuple[int, int]]:
    """Return the start and the end of each word, from the attribute TokenRange of MISC.

    Examples
    --------
    >>> row = ["1", "Regn", "_", "_", "_", "_", "_", "_", "_", "SpaceAfter=No|TokenRange=3:7"]
    >>> token_ranges(Sentence([row]))
    [(3, 7)]
    """
    places = []
    for _, misc, words in surface_tokens(sentence):
        attributes = dict(attribute.partition("=")[::2] for attribute in misc.split("|"))
        start, _, end = attributes["TokenRange"].partition(":")
        places += [(int(start), int(end))] * words
    return places


def locate(text: str, sentences: Iterable[Sentence]) -> list[list[tuple[int, int]]]:
    """Return the start and the end of each word of each sentence in the text.

    Tokens follow one another in the text, with nothing but white space between them.

    Raises
    ------
    ValueError
        A token is not where it should be.

    Examples
    --------
    >>> from nonproj.io.objects import from_words
    >>> locate("Det  regner.\\n", [from_words(["Det", "regner", "."])])
    [[(0, 3), (5, 11), (11, 12)]]
    """
    position = 0
    places: list[list[tuple[int, int]]] = []
    for sentence in sentences:
        places.append([])
        for form, _, words in surface_tokens(sentence):
            start = position
            while start < len(text) and text[start].isspace():
                start += 1
            position = start + len(form) if text.startswith(form, start) else _end(text, start, form)
            places[-1] += [(start, position)] * words
    return places


def _end(text: str, start: int, form: str) -> int:
    """Return the end of a token whose white space in the text differs from that in its form."""
    position = start
    for character in form:
        if not character.isspace():
            while position < len(text) and text[position].isspace():
                position += 1
            if text[position : position + 1] != character:
                raise ValueError(f"the token {form!r} is not at character {start} of the text")
            position += 1
    return position
