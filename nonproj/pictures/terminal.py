"""Trees in the terminal: brackets beside the words, with an arrow at each modifier."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from typing import TextIO

from nonproj.pictures.content import ENHANCED, LABEL, OTHER, RIGHT, WRONG, Picture, TreeArc
from nonproj.pictures.layout import arc_levels

_COLOURS = {"cross": "34", WRONG: "31", LABEL: "33", OTHER: "32", "faint": "2", "bold": "1"}
_MARKS = {RIGHT: " ", WRONG: "x", LABEL: "~"}


def brackets(heads: Sequence[int]) -> list[str]:
    """Return a line of brackets for each word of a tree, ``heads[0] == -1``; arcs from the root are not drawn.

    Brackets cross where arcs cross.

    Examples
    --------
    >>> print("\\n".join(brackets([-1, 2, 0, 2])))
     ┌─>
    ┌┴─
    └──>
    """
    arcs = sorted((abs(h - m), min(h, m), max(h, m)) for m, h in enumerate(heads) if h > 0)
    lanes: list[list[tuple[int, int]]] = []  # the first lane is next to the words
    for _, low, high in arcs:
        free = len(lanes)
        while free and all(high < a or b < low for a, b in lanes[free - 1]):
            free -= 1
        if free == len(lanes):
            lanes.append([])
        lanes[free].append((low, high))
    lines = []
    for word in range(1, len(heads)):
        line, joined = "", False
        for lane in reversed(lanes):
            mark = next((_mark(word, low, high, joined) for low, high in lane if low <= word <= high), None)
            line += mark or "─ "[not joined]
            joined = joined or any(word in arc for arc in lane)
        lines.append(line + ("─>" if heads[word] > 0 else "─ " if joined else "  "))
    return [line.rstrip() for line in lines]


def _mark(word: int, low: int, high: int, joined: bool) -> str:
    """Return the character of one bracket beside one word; ``joined`` if a line from an outer lane reaches the word."""
    if word == low:
        return "┬" if joined else "┌"
    if word == high:
        return "┴" if joined else "└"
    return "┼" if joined else "│"


def has_colours(stream: TextIO) -> bool:
    """Return whether a stream is a colour terminal and ``NO_COLOR`` is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def to_terminal(picture: Picture, colours: bool = False) -> str:
    """Return a picture as lines of text, one for each word.

    Examples
    --------
    >>> from nonproj.pictures.content import TreeArc
    >>> arcs = [TreeArc(2, 1, "nsubj"), TreeArc(0, 2, "root")]
    >>> print(to_terminal(Picture(["Det", "regner"], ["PRON", "VERB"], arcs, [])))
    ┌─>  1 Det     PRON  nsubj of 2 regner
    └─   2 regner  VERB  root
    """
    picture = picture.visible()
    below = [arc for arc in picture.below if arc.kind != ENHANCED]
    arcs, others = ({arc.modifier: arc for arc in side} for side in (picture.above, below))
    crossing = {word for word, crosses in zip(arcs, arc_levels(picture.above)[1], strict=True) if crosses}
    lines = brackets([-1, *(arcs[word].head if word in arcs else -1 for word in range(1, len(picture.forms) + 1))])
    forms, tags = picture.forms, picture.tags
    margin, wide, tag_width = max(map(len, lines)), max(map(columns, forms)), max(map(columns, tags))
    rows, digits = [], len(str(len(forms)))

    def paint(text: str, name: str) -> str:
        return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if colours and name in _COLOURS and text else text

    for word, (line, form, tag) in enumerate(zip(lines, forms, tags, strict=True), 1):
        arc, other = arcs.get(word), others.get(word)
        name = arc.kind if arc and arc.kind in _COLOURS else "cross" if word in crossing else ""
        cells = [paint(f"{line:<{margin}}", name), paint(f"{word:>{digits + 1}}", "faint"), _padded(form, wide)]
        cells[2] = paint(form, "bold") + cells[2][len(form) :]
        cells += ["", paint(_padded(tag, tag_width), "faint"), "", ""] if tag_width else ["", ""]
        what = paint(_of(arc, forms), name) if arc else "?"
        if other:
            what += paint(f"  {_MARKS[arc.kind if arc else WRONG]} {_of(other, forms)}", OTHER)
        if picture.confidence is not None:
            what += paint(f"  {picture.confidence[word - 1]:.2f}", "faint")
        rows.append((" ".join(cells) + what).rstrip())
    if below and not colours:
        rows.append("x: another head in the other tree, which follows; ~: another label")
    return "\n".join(rows)


def _of(arc: TreeArc, forms: list[str]) -> str:
    label = arc.label or "_"
    return f"{label} of {arc.head} {forms[arc.head - 1]}" if arc.head else label


def columns(text: str) -> int:
    """Return the number of terminal columns of a text.

    Examples
    --------
    >>> columns("Regn"), columns("依存"), columns("e\\u0301")
    (4, 4, 1)
    """
    shown = [c for c in text if not unicodedata.combining(c) and unicodedata.category(c) != "Cf"]
    return len(shown) + sum(unicodedata.east_asian_width(c) in "WF" for c in shown)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))
