"""Positions of the parts of a picture.

Arcs are brackets with round corners: up from the head, across at the arc's level, down to the modifier.  Two arcs cross
exactly once if they cross in the tree, and not at all otherwise, because

- an arc lies above all arcs that it covers, and at a different level than those it crosses;
- the ends at a word are side by side: those of arcs to the left before those of arcs to the right, and those of higher
  arcs nearer to the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nonproj.pictures.content import Picture, TreeArc
from nonproj.pictures.fonts import is_right_to_left, text_width

FORM_SIZE, TAG_SIZE, LABEL_SIZE = 16.0, 11.0, 12.0
LEVEL, FIRST_LEVEL, SLOT, GAP, MARGIN, LABEL_ROOM = 27.0, 26.0, 9.0, 20.0, 16.0, 24.0
"""Heights of a level and of the lowest one, distances between ends at a word and between words, the border, and the
space between a label and its arc's ends."""

FORM_HEIGHT, WORDS_HEIGHT = 26.0, 44.0
"""Height of the line of forms, and of forms and tags."""


class PlacedArc(NamedTuple):
    """An arc and its position.

    Attributes
    ----------
    arc : TreeArc
    level : int
        From 1.
    crosses : bool
        Whether it crosses another arc of the tree.
    start, end : float
        Horizontal positions of its ends at head and modifier; equal for an arc from the root.
    foot, top : float
        Vertical positions of its ends and of its horizontal line.
    label_at : float
        Horizontal position of the middle of its label.
    """

    arc: TreeArc
    level: int
    crosses: bool
    start: float
    end: float
    foot: float
    top: float
    label_at: float


class Layout(NamedTuple):
    """A picture with the positions of all its parts.

    Attributes
    ----------
    picture : Picture
    width, height : float
    centers : list of float
        The middle of each word.
    words_top : float
        The upper edge of the line of words.
    arcs : list of PlacedArc
        First those above the words, highest first, then those below.
    """

    picture: Picture
    width: float
    height: float
    centers: list[float]
    words_top: float
    arcs: list[PlacedArc]


def arc_levels(arcs: Sequence[TreeArc]) -> tuple[list[int], list[bool]]:
    """Return the level of each arc of a tree, from 1, and whether it crosses another.

    An arc is above all arcs that it covers, and at a different level than the arcs it crosses.  Arcs from the root come
    down from above all others, and cross the arcs over their word: a tree has crossing arcs unless it is projective.

    Examples
    --------
    >>> arc_levels([TreeArc(3, 1, "a"), TreeArc(0, 2, "root"), TreeArc(2, 3, "b"), TreeArc(1, 4, "c")])
    ([2, 4, 1, 3], [True, True, False, True])
    """
    spans = [(min(arc[:2]), max(arc[:2])) for arc in arcs]
    order = sorted((i for i, arc in enumerate(arcs) if arc.head), key=lambda i: (spans[i][1] - spans[i][0], spans[i]))
    levels, crosses = [0] * len(arcs), [False] * len(arcs)
    for position, i in enumerate(order):
        low, high = spans[i]
        lowest, occupied = 1, set()
        for j in order[:position]:
            a, b = spans[j]
            if low <= a and b <= high:
                lowest = max(lowest, levels[j] + 1)
            elif a < high and low < b:
                occupied.add(levels[j])
                crosses[i] = crosses[j] = True
        while lowest in occupied:
            lowest += 1
        levels[i] = lowest
    for i, root in enumerate(arcs):
        for j in order if root.head == 0 else ():
            if spans[j][0] < root.modifier < spans[j][1]:
                crosses[i] = crosses[j] = True
    above = max(levels, default=0) + 1
    return [level or above for level in levels], crosses


def end_slots(arcs: Sequence[TreeArc], levels: Sequence[int], n_words: int) -> list[list[tuple[int, bool]]]:
    """Return the ends of arcs at each word, from left to right: the arc's index, and whether the word is its modifier.

    Examples
    --------
    >>> end_slots([TreeArc(3, 1, "a"), TreeArc(3, 2, "b"), TreeArc(0, 3, "root")], [2, 1, 3], 3)[2]
    [(1, False), (0, False), (2, True)]
    """
    ends: list[list[tuple[tuple[int, int], tuple[int, bool]]]] = [[] for _ in range(n_words)]
    for number, (head, modifier, *_) in enumerate(arcs):
        ends[modifier - 1].append((_slot_key(modifier, head, levels[number]), (number, True)))
        if head:
            ends[head - 1].append((_slot_key(head, modifier, levels[number]), (number, False)))
    return [[end for _, end in sorted(each)] for each in ends]


def _slot_key(word: int, other: int, level: int) -> tuple[int, int]:
    """Return the sort key of the ends at a word: arcs to the left, the root's, arcs to the right."""
    if other == 0:
        return 1, 0
    return (0, level) if other < word else (2, -level)


class _Side(NamedTuple):
    """The arcs above or below the words: levels, crossings, ends by word, and the offsets of each arc's ends."""

    arcs: list[TreeArc]
    levels: list[int]
    crosses: list[bool]
    ends: list[list[tuple[int, bool]]]
    offsets: list[list[float]]


def _side(arcs: list[TreeArc], n_words: int) -> _Side:
    levels, crosses = arc_levels(arcs)
    ends = end_slots(arcs, levels, n_words)
    offsets = [[0.0, 0.0] for _ in arcs]
    for here in ends:
        for slot, (number, is_modifier) in enumerate(here):
            offsets[number][is_modifier] = SLOT * (slot - (len(here) - 1) / 2)
    return _Side(arcs, levels, crosses, ends, offsets)


def lay_out(picture: Picture) -> Layout:
    """Return a picture with the positions of all its parts, from right to left for right-to-left scripts.

    Examples
    --------
    >>> layout = lay_out(Picture(["Det", "regner"], ["", ""], [TreeArc(2, 1, "nsubj"), TreeArc(0, 2, "root")], []))
    >>> [arc.level for arc in layout.arcs], layout.centers[0] < layout.centers[1] < layout.width
    ([2, 1], True)
    """
    n = len(picture.forms)
    above, below = _side(picture.above, n), _side(picture.below, n)
    centers, width = _centers(picture, (above, below))
    tallest = max(above.levels, default=0)
    words_top = MARGIN + (FIRST_LEVEL + LEVEL * (tallest - 1) + LABEL_SIZE if tallest else 0.0)
    words_bottom = words_top + (WORDS_HEIGHT if any(picture.tags) else FORM_HEIGHT)
    deepest = max(below.levels, default=0)
    height = words_bottom + (FIRST_LEVEL + LEVEL * (deepest - 1) + LABEL_SIZE if deepest else 0.0) + MARGIN
    arcs = _place(above, centers, words_top, -1.0) + _place(below, centers, words_bottom, 1.0)
    if is_right_to_left(picture.forms):
        centers = [width - x for x in centers]
        arcs = [a._replace(start=width - a.start, end=width - a.end, label_at=width - a.label_at) for a in arcs]
    return Layout(picture, width, height, centers, words_top, arcs)


def _centers(picture: Picture, sides: tuple[_Side, _Side]) -> tuple[list[float], float]:
    """Return the middle of each word, and the width of the picture, leaving space for words and labels."""
    halves = []
    for i, (form, tag) in enumerate(zip(picture.forms, picture.tags, strict=True)):
        ends = max(len(side.ends[i]) for side in sides)
        halves.append(max(text_width(form, FORM_SIZE, True), text_width(tag, TAG_SIZE), SLOT * ends) / 2)
    wanted: list[list[tuple[int, float]]] = [[] for _ in halves]  # for each word: an earlier word, and the distance
    for side in sides:
        previous_root: tuple[int, float] | None = None
        for (head, modifier, label, _), (at_head, at_modifier) in zip(side.arcs, side.offsets, strict=True):
            room = text_width(label, LABEL_SIZE) + LABEL_ROOM
            if head:
                low, high = sorted(((head, at_head), (modifier, at_modifier)))
                wanted[high[0] - 1].append((low[0] - 1, room + low[1] - high[1]))
                continue
            if previous_root:
                wanted[modifier - 1].append((previous_root[0], (room + previous_root[1]) / 2 + SLOT))
            previous_root = modifier - 1, room
            halves[modifier - 1] = max(halves[modifier - 1], room / 2)
    centers = [MARGIN + half for half in halves[:1]]
    for i in range(1, len(halves)):
        least = centers[-1] + halves[i - 1] + halves[i] + GAP
        centers.append(max([least, *(centers[j] + distance for j, distance in wanted[i])]))
    return centers, (centers[-1] + halves[-1] if centers else 0.0) + MARGIN


def _place(side: _Side, centers: list[float], foot: float, direction: float) -> list[PlacedArc]:
    """Return the placed arcs of one side, highest first; ``direction`` is -1 above the words."""
    placed = []
    for arc, level, crosses, offsets in zip(side.arcs, side.levels, side.crosses, side.offsets, strict=True):
        at_head, at_modifier = offsets
        end = centers[arc.modifier - 1] + at_modifier
        start = centers[arc.head - 1] + at_head if arc.head else end
        top = foot + direction * (FIRST_LEVEL + LEVEL * (level - 1))
        placed.append(PlacedArc(arc, level, crosses, start, end, foot, top, (start + end) / 2))
    placed.sort(key=lambda arc: -arc.level)
    return [arc._replace(label_at=label_place(arc, placed)) for arc in placed]


def label_place(arc: PlacedArc, others: Sequence[PlacedArc]) -> float:
    """Return the position on an arc nearest to its middle where no other arc runs through its label.

    If there is none, return its middle.
    """
    low, high = sorted((arc.start, arc.end))
    middle, half = (low + high) / 2, text_width(arc.arc.label, LABEL_SIZE) / 2 + 3.0
    if not arc.arc.head:
        return middle
    lines = sorted(x for other in others if other.level > arc.level for x in {other.start, other.end} if low < x < high)
    edges, found = [low + 4.0, *lines, high - 4.0], []
    for left, right in zip(edges, edges[1:], strict=False):
        if right - left >= 2 * half:
            found.append(min(max(middle, left + half), right - half))
    return min(found, key=lambda x: abs(x - middle), default=middle)
