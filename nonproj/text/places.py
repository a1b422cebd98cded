"""Where the words of sentences are in their text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nonproj.types import Sentence

_RANGE = re.compile(r"([0-9]+)-([0-9]+)\t")


def surface_tokens(sentence: Sentence) -> list[tuple[str, str, int]]:
    """Return the tokens as they are in the text: FORM, MISC and the number of words of each.

    Examples
    --------
    >>> import io
    >>> from nonproj.io import conll
    >>> word = "{}\\t{}\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n"
    >>> text = "".join(word.format(*row) for row in (("1-2", "im"), ("1", "in"), ("2", "dem"), ("3", "Haus")))
    >>> surface_tokens(next(conll.read(io.StringIO(text + "\\n"))))
    [('im', '_', 2), ('Haus', '_', 1)]
    """
    spans = {}
    for line in sentence.lines:
        match = _RANGE.match(line)
        if match:
            columns = line.rstrip("\r\n").split("\t")
            spans[int(match[1])] = (columns[1], columns[9], int(match[2]) - int(match[1]) + 1)
    found, number = [], 1
    while number <= len(sentence.rows):
        row = sentence.rows[number - 1]
        found.append(spans.get(number, (row[1], row[9], 1)))
        number += found[-1][2]
    return found


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
