"""Rows that tie the parts of a sentence to its arcs, and bounds on their columns: two functions per part type.

`part_rows` and `upper_bounds` are generic functions over part types; ``part_rows.register`` adds a user's own type.
Columns ``0 .. A - 1`` of every program are the arcs.  In all functions ``arcs`` is the `ArcSpace` of a sentence,
``start`` the result of `PartType.number`, and ``first`` the column of the type's first part.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

import numpy as np

from nonproj.parts.base import PartType
from nonproj.parts.grandparent import Grandparent
from nonproj.parts.grandsibling import Grandsibling
from nonproj.parts.sibling import Sibling
from nonproj.parts.trisibling import Trisibling
from nonproj.types import ArcSpace, Float64s
from nonproj_systems.programs.constraints import ConstraintRows, at_most, equal, rows_of, stack

FAMILIES = ("ArcGP", "GPArc", "OneGP", "NoGP")
"""Constraints between arcs and grandparents, by their names in Riedel, Smith and McCallum (2012), section 3.2."""


@singledispatch
def upper_bounds(part_type: PartType, arcs: ArcSpace, start: np.ndarray) -> Float64s:
    """Return the upper bounds, float64, of the parts' columns in a linear program: 1, or 0 for impossible parts."""
    return np.ones(start[-1] - start[0])


@singledispatch
def part_rows(part_type: PartType, arcs: ArcSpace, start: np.ndarray, first: int) -> ConstraintRows:
    """Return the rows that tie the parts, columns from ``first`` on, to the arcs, columns 0 to A - 1.

    With integral arcs they must be satisfied by exactly the parts that `PartType.used` returns.
    """
    raise NotImplementedError(f"part type {part_type.name} has no linear constraints")


@upper_bounds.register(Grandparent)
def _grandparent_bounds(part_type: Grandparent, arcs: ArcSpace, start: np.ndarray) -> Float64s:
    """Return the upper bounds of the parts, float64[G]: 0 if grandparent and modifier are one word, else 1.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> arcs = full_arc_space(2)
    >>> upper_bounds(Grandparent(), arcs, Grandparent().number(arcs, 0))
    array([1., 0., 1., 0.])
    """
    above, below = grandparent_arcs(arcs, start)
    return (arcs.head[above] != arcs.modifier[below]).astype(np.float64)


@upper_bounds.register(Grandsibling)
def _grandsibling_bounds(part_type: Grandsibling, arcs: ArcSpace, start: np.ndarray) -> Float64s:
    """Return the upper bounds of the parts, float64: 0 if the grandparent is one of the siblings, else 1."""
    nodes = part_type.rows(arcs, start).nodes
    return ((nodes[:, 0] != nodes[:, 2]) & (nodes[:, 0] != nodes[:, 3])).astype(np.float64)


@part_rows.register(Sibling)
def _sibling_rows(part_type: Sibling, arcs: ArcSpace, start: np.ndarray, first: int) -> ConstraintRows:
    """Return rows that make the transitions of each half-automaton a path over its modifiers: its convex hull.

    One unit of flow leaves START; the flow into and out of each candidate modifier is the value of its arc.  This
    is the Viterbi recurrence of Koo et al. (2010), example 1, as a flow (Rush and Collins 2012, section 9.5).
    """
    blocks = []
    for q in range(len(start) - 1):
        out = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]].astype(np.int64)
        k, base = len(out), first + int(start[q] - start[0])
        row, transition, value = path_entries(k)
        balance = np.append(1.0, np.zeros(k))
        blocks.append(ConstraintRows(row, base + transition, value, balance, balance))
        transition, position = entering(k)
        blocks.append(equal(position - 1, base + transition, np.arange(k), out))
    return stack(blocks)


@part_rows.register(Grandparent)
def _rows_of_grandparents(part_type: Grandparent, arcs: ArcSpace, start: np.ndarray, first: int) -> ConstraintRows:
    """Return the rows of `grandparent_rows`."""
    return grandparent_rows(arcs, start, first)


@part_rows.register(Grandsibling)
def _grandsibling_rows(part_type: Grandsibling, arcs: ArcSpace, start: np.ndarray, first: int) -> ConstraintRows:
    """Return rows that make the transitions of a head, under each of its grandparents, a path on each side.

    The flow out of START is the value of the arc from the grandparent; the flow into a candidate modifier, summed
    over the grandparents, is the value of its arc.
    """
    blocks = [rows_of([], 0.0, 0.0)]
    for h in range(1, len(start) - 1):
        begin, middle, end = arcs.out_start[2 * h : 2 * h + 3].tolist()
        column = first + int(start[h] - start[0])
        columns, positions = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for arc in range(arcs.start[h], arcs.start[h + 1]):
            for k, before in ((middle - begin, 0), (end - middle, middle - begin)):
                row, transition, value = path_entries(k)
                entries = np.append(row, 0), np.append(column + transition, arc), np.append(value, -1.0)
                blocks.append(ConstraintRows(*entries, np.zeros(k + 1), np.zeros(k + 1)))
                transition, position = entering(k)
                columns.append(column + transition)
                positions.append(before + position - 1)
                column += (k + 1) * (k + 2) // 2
        out = arcs.out[begin:end].astype(np.int64)
        blocks.append(equal(np.concatenate(positions), np.concatenate(columns), np.arange(len(out)), out))
    return stack(blocks)


@part_rows.register(Trisibling)
def _trisibling_rows(part_type: Trisibling, arcs: ArcSpace, start: np.ndarray, first: int) -> ConstraintRows:
    """Return rows that make the triples of each half-automaton a path over pairs of modifiers.

    At most one unit of flow leaves START.  It is preserved at each pair of modifiers, and the flow into each
    candidate modifier is the value of its arc.
    """
    entries, lower = [], []
    for q in range(len(start) - 1):
        out = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]].tolist()
        k, base = len(out), first + int(start[q] - start[0])
        starts = [_place(0, b, c, base) for c in range(2, k + 2) for b in range(1, c)]
        entries.append((starts, [1.0] * len(starts)))
        lower.append(-np.inf)
        for b in range(1, k + 1):
            leaving = [[_place(a, b, c, base) for c in range(b + 1, k + 2)] for a in range(b)]
            entering = [[_place(z, a, b, base) for z in range(a)] for a in range(b)]
            for one, other in zip(entering[1:], leaving[1:], strict=True):
                entries.append((one + other, [1.0] * len(one) + [-1.0] * len(other)))
            into = sum(entering, leaving[0])
            entries.append(([*into, out[b - 1]], [1.0] * len(into) + [-1.0]))
            lower += [0.0] * b
    upper = np.where(np.isinf(lower), 1.0, 0.0)
    return rows_of(entries, np.array(lower), upper)


def _place(a: int, b: int, c: int, base: int) -> int:
    """Return the column of the triple of positions ``a``, ``b`` and ``c``; ``base`` is that of the first triple."""
    return base + c * (c - 1) * (c - 2) // 6 + b * (b - 1) // 2 + a


def grandparent_rows(
    arcs: ArcSpace, start: np.ndarray, first: int, families: Iterable[str] = FAMILIES, implied: bool = False
) -> ConstraintRows:
    """Return rows that tie grandparent parts to arcs, from any of four families.

    Parameters
    ----------
    arcs : ArcSpace
    start : ndarray of shape (N + 1,), int64
        From `Grandparent.number`.
    first : int
        The column of grandparent part 0; the ``G`` parts are consecutive columns.
    families : iterable of str
        Names in `FAMILIES`.  ArcGP with GPArc, or OneGP with NoGP, are exact for integers.
    implied : bool
        Whether to keep implied rows: OneGP, GPArc and OneHead imply ArcGP, NoGP and half of GPArc.

    Raises
    ------
    ValueError
        If a family is unknown.

    Notes
    -----
    Riedel, Smith and McCallum (2012), section 3.2.  ArcGP and GPArc are those of Martins et al. (2009).  The paper
    shows that NoGP is implied.  OneGP, GPArc and OneHead imply ArcGP: the parts over an arc ``p -> c`` with
    grandparents other than ``g`` sum to at most the values of the other arcs into ``p``.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> arcs = full_arc_space(2)
    >>> start = Grandparent().number(arcs, 0)
    >>> [len(grandparent_rows(arcs, start, 19, [name]).lower) for name in FAMILIES]
    [4, 8, 2, 4]
    """
    families = check_families(families)
    n_words = len(arcs.start) - 2
    part = np.arange(start[-1] - start[0])
    above, below = grandparent_arcs(arcs, start)
    both = {"OneGP", "GPArc"} <= families and not implied
    blocks = []
    if "ArcGP" in families and not both:
        ones = np.ones(len(part))
        columns = np.stack([above, below, first + part], axis=1).reshape(-1)
        values = np.tile([1.0, 1.0, -1.0], len(part))
        blocks.append(ConstraintRows(np.repeat(part, 3), columns, values, -np.inf * ones, ones))
    if "GPArc" in families:
        blocks.append(at_most(first + part, above, 1.0))
        if not both:
            blocks.append(at_most(first + part, below, 1.0))
    if "OneGP" in families:
        arc = np.flatnonzero(arcs.head != 0)
        blocks.append(equal(np.searchsorted(arc, below), first + part, np.arange(len(arc)), arc))
    if "NoGP" in families and not both:
        arc = np.arange(len(arcs.head))
        sums = equal(above, first + part, arc, arc, float(n_words))
        blocks.append(sums._replace(lower=np.full(len(arc), -np.inf)))
    return stack(blocks)


def check_families(families: Iterable[str]) -> set[str]:
    """Return the families as a set; raise an error if one is unknown.

    Examples
    --------
    >>> check_families(["NoGP"])
    {'NoGP'}
    """
    families = {families} if isinstance(families, str) else set(families)
    unknown = sorted(families - set(FAMILIES))
    if unknown:
        raise ValueError(f"families has {unknown[0]!r}; ArcGP, GPArc, OneGP and NoGP are expected")
    return families


def grandparent_arcs(arcs: ArcSpace, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two arcs of each grandparent part, ``g -> h`` and ``h -> m``, both int64[G].

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> arcs = full_arc_space(2)
    >>> grandparent_arcs(arcs, Grandparent().number(arcs, 0))
    (array([0, 1, 2, 3]), array([3, 3, 1, 1]))
    """
    above, below = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for h in range(len(arcs.start) - 1 if start[-1] - start[0] else 0):
        into = np.arange(arcs.start[h], arcs.start[h + 1], dtype=np.int64)
        out = arcs.out[arcs.out_start[2 * h] : arcs.out_start[2 * h + 2]].astype(np.int64)
        above.append(np.repeat(into, len(out)))
        below.append(np.tile(out, len(into)))
    return np.concatenate(above), np.concatenate(below)


def transitions(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and end positions of each transition over k candidates, in the order of their numbers."""
    ends = np.arange(1, k + 2)
    tip = np.repeat(ends, ends)
    return np.arange(len(tip)) - tip * (tip - 1) // 2, tip


def path_entries(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries of a path: row 0 is the flow out of START, row b the net flow into candidate b."""
    tail, tip = transitions(k)
    transition = np.arange(len(tip))
    inner = tip <= k
    row = np.concatenate([tip[inner], tail])
    value = np.concatenate([np.ones(inner.sum()), np.where(tail == 0, 1.0, -1.0)])
    return row, np.concatenate([transition[inner], transition]), value


def entering(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the transitions that take a candidate, and its position from 1 to k."""
    _, tip = transitions(k)
    entering = np.flatnonzero(tip <= k)
    return entering, tip[entering]
