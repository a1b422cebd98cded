"""Polytopes of siblings and grandparents over the arcs, as sparse rows of linear programs: no scores, and no solver.

The conventions are those of `nonproj.programs.tree_polytope`.  The hull of an automaton is the polytope of paths
through its Viterbi; the rows of Martins et al. (2009) and of Riedel et al. (2012) tie single parts to their arcs, and
are looser.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.programs.tree_polytope import Rows, at_most, equal, rows_of, stack
from nonproj.types import ArcSpace, PartIndex

FAMILIES = ("ArcGP", "GPArc", "OneGP", "NoGP")
"""Constraints between arcs and grandparents, by their names in Riedel, Smith and McCallum (2012), section 3.2."""


def sibling_paths(arcs: ArcSpace, index: PartIndex, first: int) -> Rows:
    """Make the transitions of each half-automaton a path over the modifiers that it takes: the automaton's own hull.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    index : PartIndex
        The parts over them.
    first : int
        The column of sibling part 0; the ``S`` parts, from 0 to 1, are columns in a row.

    Returns
    -------
    Rows
        A unit leaves START; as much enters a candidate as leaves it, and as much as the value of its arc.  These are
        the Viterbi recurrences of Koo et al. (2010), example 1, as a flow (Rush and Collins 2012, section 9.5).

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(1)
    >>> len(sibling_paths(arcs, part_index(arcs, 1), first=1).lower)
    6
    """
    blocks = []
    for q in range(len(index.sibling_start) - 1):
        out = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]].astype(np.int64)
        k, base = len(out), first + int(index.sibling_start[q])
        row, transition, value = _path(k)
        unit = np.zeros(k + 1)
        unit[0] = 1.0
        blocks.append(Rows(row, base + transition, value, unit, unit))
        into, taken = _into(k)
        blocks.append(equal(taken - 1, base + into, np.arange(k), out))
    return stack(blocks)


def sibling_pairs(arcs: ArcSpace, index: PartIndex, first: int) -> Rows:
    """Make each transition the conjunction of its two arcs and of no arc between them: looser than `sibling_paths`.

    Parameters
    ----------
    arcs, index, first
        As for `sibling_paths`.

    Returns
    -------
    Rows
        A transition's value is at most that of each of its arcs and one minus that of each arc between them, and at
        least one less all that these lack: the linearisation by which Martins et al. (2009) make pairs of arcs,
        one transition at a time.  For integers as exact as the paths.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(1)
    >>> len(sibling_pairs(arcs, part_index(arcs, 1), first=1).lower)
    9
    """
    entries, lower, upper = [], [], []
    for q in range(len(index.sibling_start) - 1):
        out = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]].astype(np.int64)
        k, base = len(out), first + int(index.sibling_start[q])
        for transition, (a, b) in enumerate(zip(*_transitions(k), strict=True)):
            part = base + transition
            used = [out[p - 1] for p in (a, b) if 0 < p <= k]
            between = out[a : b - 1]
            entries += [([part, arc], [1.0, -1.0]) for arc in used]
            entries += [([part, arc], [1.0, 1.0]) for arc in between]
            entries.append(([part, *used, *between], [1.0] + [-1.0] * len(used) + [1.0] * len(between)))
            lower += [-np.inf] * (len(used) + len(between)) + [1.0 - len(used)]
            upper += [0.0] * len(used) + [1.0] * len(between) + [np.inf]
    return rows_of(entries, lower, upper)


def grandparent_limits(arcs: ArcSpace, index: PartIndex) -> np.ndarray:
    """Return upper bounds of the grandparent parts, float64[G]: 0 where grandparent and modifier are one word, else 1.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> grandparent_limits(arcs, part_index(arcs, 2))
    array([1., 0., 1., 0.])
    """
    limits = [np.ones(0)]
    for h in range(len(arcs.start) - 1):
        modifiers = arcs.modifier[arcs.out[arcs.out_start[2 * h] : arcs.out_start[2 * h + 2]]]
        above = arcs.head[arcs.start[h] : arcs.start[h + 1]]
        limits.append((above[:, None] != modifiers[None]).astype(np.float64).reshape(-1))
    return np.concatenate(limits)


def grandparent_rows(arcs: ArcSpace, index: PartIndex, first: int, families=FAMILIES, implied: bool = False) -> Rows:
    """Tie grandparents to arcs by any of four families of constraints.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    index : PartIndex
        The parts over them.
    first : int
        The column of grandparent part 0; the ``G`` parts, from 0 to `grandparent_limits`, are columns in a row.
    families : iterable of str
        Of `FAMILIES`.  ArcGP with GPArc, or OneGP with NoGP, are exact for integers.
    implied : bool
        Whether to keep rows that others imply: with OneGP and GPArc together (and `one_head`) all of ArcGP and NoGP
        and half of GPArc.

    Returns
    -------
    Rows

    Raises
    ------
    ValueError
        If there is no such family.

    Notes
    -----
    Riedel, Smith and McCallum (2012), section 3.2.  ArcGP and GPArc are those of Martins et al. (2009).  That NoGP is
    implied is said there; of ArcGP it follows from OneGP, GPArc and OneHead: what enters a modifier ``c`` from ``p``
    under other grandparents than ``g`` is at most the value of the other arcs into ``p``.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 2)
    >>> [len(grandparent_rows(arcs, index, 19, [name]).lower) for name in FAMILIES]
    [4, 8, 2, 4]
    """
    families = check_families(families)
    n_words = len(arcs.start) - 2
    part = np.arange(index.grandparent_start[-1])
    above, below = grandparent_arcs(arcs, index)
    both = {"OneGP", "GPArc"} <= families and not implied
    blocks = []
    if "ArcGP" in families and not both:
        ones = np.ones(len(part))
        columns = np.stack([above, below, first + part], axis=1).reshape(-1)
        values = np.tile([1.0, 1.0, -1.0], len(part))
        blocks.append(Rows(np.repeat(part, 3), columns, values, -np.inf * ones, ones))
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


def check_families(families) -> set[str]:
    """Return the set of families, or name the one that does not exist.

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


def grandparent_arcs(arcs: ArcSpace, index: PartIndex) -> tuple[np.ndarray, np.ndarray]:
    """Return the two arcs of each grandparent part, ``g -> h`` and ``h -> m``, both int64[G].

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> grandparent_arcs(arcs, part_index(arcs, 2))
    (array([0, 1, 2, 3]), array([3, 3, 1, 1]))
    """
    above, below = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for h in range(len(arcs.start) - 1 if index.grandparent_start[-1] else 0):
        into = np.arange(arcs.start[h], arcs.start[h + 1], dtype=np.int64)
        out = arcs.out[arcs.out_start[2 * h] : arcs.out_start[2 * h + 2]].astype(np.int64)
        above.append(np.repeat(into, len(out)))
        below.append(np.tile(out, len(into)))
    return np.concatenate(above), np.concatenate(below)


class Copies(NamedTuple):
    """The columns of `grandparent_paths`: a copy of each transition of a head for each of its candidate grandparents.

    Attributes
    ----------
    sibling, grandparent : ndarray of shape (C,), int64
        The parts that a column stands for; ``grandparent`` is -1 where it has none.
    upper : ndarray of shape (C,), float64
        0 where the transition takes the grandparent as a modifier, else 1.
    """

    sibling: np.ndarray
    grandparent: np.ndarray
    upper: np.ndarray


def grandparent_paths(arcs: ArcSpace, index: PartIndex, first: int) -> tuple[Copies, Rows]:
    """Make each head choose a grandparent, and a path for this grandparent: the hull of the G+S automaton.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    index : PartIndex
        The parts over them, of a grandparent model.
    first : int
        The first column of the copies.

    Returns
    -------
    Copies
        What the columns are; their costs are those of the parts.
    Rows
        As much leaves START under a grandparent as is the value of its arc (``z_up`` of Koo et al. 2010, section 4);
        over all grandparents as much enters a modifier as is the value of its arc (``z``).

    Notes
    -----
    Rush and Collins (2012), section 9.5, for the automata of Koo et al. (2010), example 3.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> grandparent_paths(arcs, part_index(arcs, 2), first=4)[0].upper.tolist()[-8:]
    [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    """
    copies, blocks = [], []
    for h in range(len(arcs.start) - 1):
        copy, rows = _copies_of_head(arcs, index, h, first)
        first += len(copy.sibling)
        copies.append(copy)
        blocks.append(rows)
    return Copies(*[np.concatenate(field) for field in zip(*copies, strict=True)]), stack(blocks)


def _copies_of_head(arcs: ArcSpace, index: PartIndex, h: int, first: int) -> tuple[Copies, Rows]:
    """Return the columns and rows of one head."""
    into = np.arange(arcs.start[h], arcs.start[h + 1], dtype=np.int64) if h else np.full(1, -1)
    begin, middle, end = arcs.out_start[2 * h : 2 * h + 3]
    out = arcs.out[begin:end].astype(np.int64)
    size = int(index.sibling_start[2 * h + 2] - index.sibling_start[2 * h])
    copies, blocks, taking, taken = [], [], [], []
    for i, arc in enumerate(into):
        for q, k, before in ((2 * h, middle - begin, 0), (2 * h + 1, end - middle, middle - begin)):
            part = int(index.sibling_start[q] - index.sibling_start[2 * h])
            row, transition, value = _path(k)
            unit = np.zeros(k + 1)
            unit[0] = float(arc < 0)
            rows = Rows(row, first + i * size + part + transition, value, unit, unit)
            if arc >= 0:
                rows = rows._replace(
                    row=np.append(rows.row, 0), column=np.append(rows.column, arc), value=np.append(rows.value, -1.0)
                )
            blocks.append(rows)
            entering, position = _into(k)
            taking.append(first + i * size + part + entering)
            taken.append(before + position - 1)
            copies.append(_copy(arcs, index, h, (q, k, before, i, int(arc))))
    modifiers = np.arange(len(out))
    blocks.append(equal(*[np.concatenate([*x, np.zeros(0, np.int64)]) for x in (taken, taking)], modifiers, out))
    empty = Copies(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return Copies(*[np.concatenate(field) for field in zip(empty, *copies, strict=True)]), stack(blocks)


def _copy(arcs: ArcSpace, index: PartIndex, h: int, half: tuple[int, int, int, int, int]) -> Copies:
    """Return what the transitions of one half-automaton stand for under one grandparent (none where its arc is -1)."""
    q, k, before, i, arc = half
    tail, tip = _transitions(k)
    sibling = int(index.sibling_start[q]) + np.arange(len(tip), dtype=np.int64)
    grandparent, upper = np.full(len(tip), -1, np.int64), np.ones(len(tip))
    if arc >= 0:
        begin, end = arcs.out_start[2 * h], arcs.out_start[2 * h + 2]
        row = int(index.grandparent_start[h]) + i * int(end - begin) + before
        grandparent = np.where(tip <= k, row + tip - 1, -1)
        modifiers = arcs.modifier[arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]]]
        loops = np.concatenate([[False], modifiers == arcs.head[arc], [False]])
        upper = 1.0 - (loops[tail] | loops[tip])
    return Copies(sibling, grandparent, upper)


def _transitions(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where each transition over k candidates begins and ends, in the order of `PartIndex`."""
    ends = np.arange(1, k + 2)
    tip = np.repeat(ends, ends)
    return np.arange(len(tip)) - tip * (tip - 1) // 2, tip


def _path(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries of a path: row 0 is what leaves START, row b what enters candidate b less what leaves it."""
    tail, tip = _transitions(k)
    transition = np.arange(len(tip))
    inner = tip <= k
    row = np.concatenate([tip[inner], tail])
    return row, np.concatenate([transition[inner], transition]), np.concatenate([np.ones(inner.sum()), _signs(tail)])


def _signs(tail: np.ndarray) -> np.ndarray:
    """Return 1 for what leaves START, -1 for what leaves a candidate."""
    return np.where(tail == 0, 1.0, -1.0)


def _into(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the transitions that take a candidate, and its position from 1 to k."""
    _, tip = _transitions(k)
    taking = np.flatnonzero(tip <= k)
    return taking, tip[taking]
