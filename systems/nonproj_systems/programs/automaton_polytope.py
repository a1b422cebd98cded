"""The convex hulls of head automata that see grandparents or three siblings, as sparse rows of a linear program.

Each is the polytope of paths through a Viterbi trellis.  Columns ``0 .. A - 1`` of every program are the arcs; the
looser rows of Martins et al. (2009) and of Riedel et al. (2012), which tie single parts to their arcs, are in
`nonproj_systems.programs.part_rows`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.types import PartSpace
from nonproj_systems.programs.constraints import ConstraintRows, equal, stack
from nonproj_systems.programs.part_rows import transitions


class Copies(NamedTuple):
    """The columns of `automaton_paths`: one copy of each move of a head's automaton for each candidate grandparent.

    ``parts``, int64[C, 4], are the numbers of the parts of a column, -1 for none: sibling, grandparent, grand-sibling
    and tri-sibling.  ``upper``, float64[C], is 0 if the grandparent is a modifier in the move, else 1.
    """

    parts: np.ndarray
    upper: np.ndarray


class Moves(NamedTuple):
    """The moves of a half-automaton over k candidates, int64 each.

    ``tail`` and ``tip`` are states, START being 0 and END -1; ``last``, ``before``, ``third``: positions of the
    modifier that a move takes (``k + 1``: END) and of the two before it, nearest first, -1 for none.
    """

    tail: np.ndarray
    tip: np.ndarray
    third: np.ndarray
    before: np.ndarray
    last: np.ndarray


def automaton_paths(parts: PartSpace, first: int) -> tuple[Copies, ConstraintRows]:
    """Return rows that make each head choose a grandparent and a path under it: the convex hull of its automaton.

    Parameters
    ----------
    parts : PartSpace
        Parts of a set with siblings.
    first : int
        The first column of the copies.

    Returns
    -------
    Copies
        Meaning of the columns; their objective coefficients are the scores of the parts.
    ConstraintRows
        The flow out of START under a grandparent is the value of its arc (the grandparent variables of Koo et al. 2010,
        section 4); the flow into a modifier, summed over grandparents, is the value of its arc (``z``).

    Notes
    -----
    Rush and Collins (2012), section 9.5, for the automata of Koo et al. (2010), example 3, and of third order.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> automaton_paths(part_space(full_arc_space(2), "grandparent"), first=4)[0].upper.tolist()[-8:]
    [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    """
    copies, blocks = [], []
    for h in range(len(parts.arcs.start) - 1):
        copy, rows = _copies_of_head(parts, h, first)
        first += len(copy.upper)
        copies.append(copy)
        blocks.append(rows)
    return Copies(*[np.concatenate(field) for field in zip(*copies, strict=True)]), stack(blocks)


def path_moves(k: int, triples: bool) -> Moves:
    """Return the moves of a half-automaton whose state is the last modifier, or the last two of them.

    Examples
    --------
    >>> moves = path_moves(1, triples=True)
    >>> moves.third.tolist(), moves.before.tolist(), moves.last.tolist()
    ([-1, -1, 0], [0, 0, 1], [1, 2, 2])
    """
    before, last = transitions(k)
    if not triples:
        return Moves(before, np.where(last <= k, last, -1), np.full(len(last), -1), before, last)
    ends = np.arange(1, k + 2)
    listed = [(a, b, c) for c in range(2, k + 2) for b in range(1, c) for a in range(b)]
    third, before, last = np.array(listed, np.int64).reshape(-1, 3).T
    third = np.concatenate([np.full(k + 1, -1), third])
    before, last = np.concatenate([np.zeros(k + 1, np.int64), before]), np.concatenate([ends, last])
    tail = np.where(third < 0, 0, 1 + before * (before - 1) // 2 + third)
    return Moves(tail, np.where(last <= k, 1 + last * (last - 1) // 2 + before, -1), third, before, last)


def _copies_of_head(parts: PartSpace, h: int, first: int) -> tuple[Copies, ConstraintRows]:
    """Return the columns and rows of one head."""
    arcs, grandparents = parts.arcs, h > 0 and "grandparent" in parts.names
    into = np.arange(arcs.start[h], arcs.start[h + 1], dtype=np.int64) if grandparents else np.full(1, -1)
    begin, middle, end = arcs.out_start[2 * h : 2 * h + 3].tolist()
    out = arcs.out[begin:end].astype(np.int64)
    halves = [
        (2 * h, path_moves(middle - begin, "trisibling" in parts.names)),
        (2 * h + 1, path_moves(end - middle, "trisibling" in parts.names)),
    ]
    copies, blocks, columns, positions = [], [], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for i, arc in enumerate(into.tolist()):
        for q, moves in halves:
            k, before = (middle - begin, 0) if q % 2 == 0 else (end - middle, middle - begin)
            column = first + np.arange(len(moves.last))
            first += len(column)
            blocks.append(_flow(moves, column, arc))
            taken = moves.last <= k
            columns.append(column[taken])
            positions.append(before + moves.last[taken] - 1)
            copies.append(_copy(parts, q, moves, i, arc))
    modifiers = np.arange(len(out))
    blocks.append(equal(np.concatenate(positions), np.concatenate(columns), modifiers, out))
    empty = Copies(np.zeros((0, 4), np.int64), np.zeros(0))
    return Copies(*[np.concatenate(field) for field in zip(empty, *copies, strict=True)]), stack(blocks)


def _flow(moves: Moves, column: np.ndarray, arc: int) -> ConstraintRows:
    """Return rows that make the moves a flow out of START, equal to the value of an arc; -1 stands for one unit."""
    inner, start = moves.tip >= 0, np.full(int(arc >= 0), arc)
    row = np.concatenate([moves.tip[inner], moves.tail, 0 * start])
    columns = np.concatenate([column[inner], column, start])
    value = np.concatenate([np.ones(inner.sum()), np.where(moves.tail == 0, 1.0, -1.0), -1.0 * (start >= 0)])
    total = np.zeros(1 + max(moves.tip.max(initial=0), moves.tail.max(initial=0)))
    total[0] = float(arc < 0)
    return ConstraintRows(row, columns, value, total, total)


def _copy(parts: PartSpace, q: int, moves: Moves, i: int, arc: int) -> Copies:
    """Return the columns of one half-automaton under the i-th grandparent; arc -1 stands for none, at the root."""
    arcs, h, (_, _, third, before, last) = parts.arcs, q // 2, moves
    begin, middle, end = arcs.out_start[2 * h : 2 * h + 3].tolist()
    k, inner = int(arcs.out_start[q + 1] - arcs.out_start[q]), int(arcs.out_start[q]) - begin
    transition = last * (last - 1) // 2 + before
    numbers, upper = np.full((len(last), 4), -1, np.int64), np.ones(len(last))
    numbers[:, 0] = parts.start("sibling")[q] + transition
    if arc >= 0:
        row = int(parts.start("grandparent")[h]) + i * (end - begin) + inner
        numbers[:, 1] = np.where(last <= k, row + last - 1, -1)
        modifiers = arcs.modifier[arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]]]
        loops = np.concatenate([[False], modifiers == arcs.head[arc], [False]])
        upper = 1.0 - (loops[before] | loops[last])
    if arc >= 0 and "grandsibling" in parts.names:
        left, right = ((j + 1) * (j + 2) // 2 for j in (middle - begin, end - middle))
        numbers[:, 2] = parts.start("grandsibling")[h] + i * (left + right) + q % 2 * left + transition
    if "trisibling" in parts.names:
        triple = last * (last - 1) * (last - 2) // 6 + before * (before - 1) // 2 + third
        numbers[:, 3] = np.where(third >= 0, parts.start("trisibling")[q] + triple, -1)
    return Copies(numbers, upper)
