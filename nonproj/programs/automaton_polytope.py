"""The convex hull of the grandparent and sibling automaton, as sparse rows of a linear program.

It is the polytope of paths through the automaton's Viterbi.  Columns ``0 .. A - 1`` of every program are the arcs; the
looser rows of Martins et al. (2009) and of Riedel et al. (2012), which tie single parts to their arcs, are declared by
the part types.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.parts.constraints import Rows, equal, stack
from nonproj.parts.sibling import entering, path_entries, transitions
from nonproj.types import PartSpace


class Copies(NamedTuple):
    """The columns of `grandparent_paths`: one copy of each transition of a head for each candidate grandparent.

    ``sibling`` and ``grandparent``, int64[C], are the numbers of the parts that a column stands for, -1 for none.
    ``upper``, float64[C], is 0 if the grandparent is a modifier in the transition, else 1.
    """

    sibling: np.ndarray
    grandparent: np.ndarray
    upper: np.ndarray


def grandparent_paths(parts: PartSpace, first: int) -> tuple[Copies, Rows]:
    """Return rows that make each head choose a grandparent and a path under it: the convex hull of the G+S automaton.

    Parameters
    ----------
    parts : PartSpace
        Of a set with siblings and grandparents.
    first : int
        The first column of the copies.

    Returns
    -------
    Copies
        What the columns are; their objective coefficients are the scores of the parts.
    Rows
        The flow out of START under a grandparent is the value of its arc (the grandparent variables of Koo et al. 2010,
        section 4); the flow into a modifier, summed over grandparents, is the value of its arc (``z``).

    Notes
    -----
    Rush and Collins (2012), section 9.5, for the automata of Koo et al. (2010), example 3.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> grandparent_paths(part_space(full_arc_space(2), "grandparent"), first=4)[0].upper.tolist()[-8:]
    [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    """
    copies, blocks = [], []
    for h in range(len(parts.arcs.start) - 1):
        copy, rows = _copies_of_head(parts, h, first)
        first += len(copy.sibling)
        copies.append(copy)
        blocks.append(rows)
    return Copies(*[np.concatenate(field) for field in zip(*copies, strict=True)]), stack(blocks)


def _copies_of_head(parts: PartSpace, h: int, first: int) -> tuple[Copies, Rows]:
    """Return the columns and rows of one head."""
    arcs, start = parts.arcs, parts.start("sibling")
    into = np.arange(arcs.start[h], arcs.start[h + 1], dtype=np.int64) if h else np.full(1, -1)
    begin, middle, end = arcs.out_start[2 * h : 2 * h + 3]
    out = arcs.out[begin:end].astype(np.int64)
    size = int(start[2 * h + 2] - start[2 * h])
    copies, blocks, columns, positions = [], [], [], []
    for i, arc in enumerate(into):
        for q, k, before in ((2 * h, middle - begin, 0), (2 * h + 1, end - middle, middle - begin)):
            column = first + i * size + int(start[q] - start[2 * h])
            row, transition, value = path_entries(k)
            total = np.zeros(k + 1)
            total[0] = float(arc < 0)
            rows = Rows(row, column + transition, value, total, total)
            if arc >= 0:
                rows = Rows(np.append(row, 0), np.append(rows.column, arc), np.append(value, -1.0), total, total)
            blocks.append(rows)
            transition, position = entering(k)
            columns.append(column + transition)
            positions.append(before + position - 1)
            copies.append(_copy(parts, h, (q, k, before, i, int(arc))))
    modifiers = np.arange(len(out))
    blocks.append(equal(*[np.concatenate([*x, np.zeros(0, np.int64)]) for x in (positions, columns)], modifiers, out))
    empty = Copies(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return Copies(*[np.concatenate(field) for field in zip(empty, *copies, strict=True)]), stack(blocks)


def _copy(parts: PartSpace, h: int, half: tuple[int, int, int, int, int]) -> Copies:
    """Return the columns of one half-automaton under one grandparent; arc -1 stands for none, at the root."""
    q, k, before, i, arc = half
    arcs, (tail, tip) = parts.arcs, transitions(k)
    sibling = int(parts.start("sibling")[q]) + np.arange(len(tip), dtype=np.int64)
    grandparent, upper = np.full(len(tip), -1, np.int64), np.ones(len(tip))
    if arc >= 0:
        begin, end = arcs.out_start[2 * h], arcs.out_start[2 * h + 2]
        row = int(parts.start("grandparent")[h]) + i * int(end - begin) + before
        grandparent = np.where(tip <= k, row + tip - 1, -1)
        modifiers = arcs.modifier[arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]]]
        loops = np.concatenate([[False], modifiers == arcs.head[arc], [False]])
        upper = 1.0 - (loops[tail] | loops[tip])
    return Copies(sibling, grandparent, upper)
