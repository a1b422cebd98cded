"""Local search in trees of second order: each word gets its best head, until no word has a better one; compiled."""

from __future__ import annotations

import numpy as np

from nonproj.automata.compiled import entering_arcs, head_value, is_below
from nonproj.automata.workspace import PartStarts
from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace, Float64s, Int32s, Int64s

NO_ARC = np.int64(-1)
"""Placeholder for the arc into a word that has been taken out of the tree."""

ARC_WORK = 4
"""Work of evaluating an arc, in Viterbi transitions."""


@kernel
def improve_tree(
    arcs: ArcSpace, starts: PartStarts, scores: Float64s, single_root: bool, least: float, budget: int, heads: Int32s
) -> int:
    """Improve ``heads``: move words while a move gains more than ``least`` and work is left; return the work.

    Moves may cycle unless ``least`` is at least the rounding error of a gain.  With a single root, the word below the
    root stays there.
    """
    entering = entering_arcs(arcs, heads)
    count, word, since = 0, 1, 0
    while since < heads.shape[0] - 1 and count <= budget:  # since: words in a row that did not move
        before = entering[word]
        count += _move_word(arcs, starts, scores, single_root, least, entering, heads, word)
        since = since + 1 if entering[word] == before else 0
        word = word + 1 if word + 1 < heads.shape[0] else 1
    return count


@kernel
def _move_word(
    arcs: ArcSpace,
    starts: PartStarts,
    scores: Float64s,
    single_root: bool,
    least: float,
    entering: Int64s,
    heads: Int32s,
    m: int,
) -> int:
    """Give a word its best head, if that gains more than ``least``; return the work."""
    current, old, above = entering[m], heads[m], starts.grandparent.shape[0] > 0
    if single_root and old == 0:
        return 0
    best, most, count = current, least, 2 * _size(arcs, old)
    lost = head_value(arcs, starts, scores, entering, old)
    if above:
        lost += head_value(arcs, starts, scores, entering, m)
    entering[m] = NO_ARC
    lost -= head_value(arcs, starts, scores, entering, old)
    for a in range(arcs.start[m], arcs.start[m + 1]):
        h = arcs.head[a]
        if a == current or (single_root and h == 0) or is_below(heads, h, m):
            continue
        gain = -lost - head_value(arcs, starts, scores, entering, h)
        entering[m] = a
        if above:
            gain += head_value(arcs, starts, scores, entering, m)
        gain += head_value(arcs, starts, scores, entering, h)
        entering[m] = NO_ARC
        count += 2 * _size(arcs, h) + _size(arcs, m)
        if gain > most:
            best, most = a, gain
    entering[m], heads[m] = best, arcs.head[best]
    return ARC_WORK * count


@kernel
def _size(arcs: ArcSpace, h: int) -> int:
    """Return the number of arcs from a head, plus one."""
    return arcs.out_start[2 * h + 2] - arcs.out_start[2 * h] + 1
