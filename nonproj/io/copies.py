"""Copies of sentences with other columns, and the tokens of their text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

from nonproj.io.columns import MISC
from nonproj.io.layouts import ten_columns
from nonproj.types import Float64s, Sentence

_RANGE = re.compile(r"\ufeff?([0-9]+)-([0-9]+)\t")


def with_rows(sentence: Sentence, rows: list[list[str]], tag_margins: Float64s | None = None) -> Sentence:
    """Return a copy of a sentence with other rows; rows and lines are consistent, and every other byte is unchanged.

    Parameters
    ----------
    sentence : Sentence
        Sentence of ``n`` words.
    rows : list of n lists of str
        The ten columns of each word; all but ID may differ.
    tag_margins : ndarray of shape (n,), float64, optional
        Margins of the tags, if they are predicted: see `Sentence`.

    Examples
    --------
    >>> import io
    >>> from nonproj.io import conll
    >>> sentence = next(conll.read(io.StringIO("1\\tRegn\\t_\\t_\\t_\\t_\\t0\\tROOT\\t_\\t_\\n\\n")))
    >>> with_rows(sentence, [["1", "Regn", "regn", "N", "NC", "_", "0", "ROOT", "_", "_"]]).lines[0].expandtabs(6)
    '1     Regn  regn  N     NC    _     0     ROOT  _     _\\n'
    """
    lines = sentence.lines.copy()
    for index, row in zip(sentence.word_lines, rows, strict=False):  # sentences made by hand have no lines
        body = lines[index].rstrip("\r\n")
        columns = body.split("\t")
        if columns[1:10] != row[1:]:
            columns[1:10] = row[1:]
            lines[index] = "\t".join(columns) + lines[index][len(body) :]
    return dataclasses.replace(sentence, rows=rows, lines=lines, tag_margins=tag_margins)


def surface_tokens(sentence: Sentence) -> list[tuple[str, str, int]]:
    """Return the tokens as they are in the text: FORM, MISC and the number of words of each.

    Examples
    --------
    >>> import io
    >>> from nonproj.io.conll import read
    >>> word = "{}\\t{}\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n"
    >>> text = "".join(word.format(*row) for row in (("1-2", "im"), ("1", "in"), ("2", "dem"), ("3", "Haus")))
    >>> surface_tokens(next(read(io.StringIO(text + "\\n"))))
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


def as_conllu(sentence: Sentence) -> Sentence:
    """Return a sentence with only the ten columns of CoNLL-U.

    Examples
    --------
    >>> import io
    >>> from nonproj.io import conll
    >>> [sentence] = conll.read(io.StringIO("# global.columns = ID FORM X:Y\\n1\\tRegn\\t*\\n\\n"))
    >>> as_conllu(sentence).lines[1].split("\\t")
    ['1', 'Regn', '_', '_', '_', '_', '_', '_', '_', '_\\n']
    """
    if sentence.order is None:
        return sentence
    return dataclasses.replace(sentence, lines=ten_columns(sentence.lines), order=None)


def with_misc(sentence: Sentence, attributes: Sequence[Mapping[str, str | None]]) -> Sentence:
    """Return a copy of a sentence with attributes of MISC set, or removed if the value is None.

    Parameters
    ----------
    sentence : Sentence
        Sentence of ``n`` words.
    attributes : sequence of n mappings
        From names to values; all other attributes are kept, in their order.

    Examples
    --------
    >>> import io
    >>> from nonproj.io import conll
    >>> sentence = next(conll.read(io.StringIO("1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\tGloss=rain|X=1\\n\\n")))
    >>> with_misc(sentence, [{"X": "2", "Confidence": "0.97"}]).lines[0].split("\\t")[9]
    'Gloss=rain|X=2|Confidence=0.97\\n'
    """
    rows = []
    for row, own in zip(sentence.rows, attributes, strict=True):
        items = [] if row[MISC] == "_" else row[MISC].split("|")
        for name, value in own.items():
            places = [i for i, item in enumerate(items) if item.partition("=")[0] == name]
            if value is not None and places:
                items[places[0]] = f"{name}={value}"
                places = places[1:]
            elif value is not None:
                items.append(f"{name}={value}")
            items = [item for i, item in enumerate(items) if i not in places]
        rows.append([*row[:MISC], "|".join(items) or "_"])
    return with_rows(sentence, rows, sentence.tag_margins)
