"""Rows that tie sibling and grandparent parts to arcs: sparse matrices, without scores or a solver.

The conventions are those of `nonproj.programs.tree_polytope`.  The convex hull of a head automaton is the polytope of
paths through its Viterbi lattice.  The rows of Martins et al. (2009) and Riedel et al. (2012) tie each part to its arcs
separately, which is looser.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.programs.tree_polytope import Rows, at_most, equal, rows_of, stack
from nonproj.types import ArcSpace, PartIndex

FAMILIES = ("ArcGP", "GPArc", "OneGP", "NoGP")
"""Constraints between arcs and grandparents, by their names in Riedel, Smith and McCallum (2012), section 3.2."""


def sibling_paths(arcs: ArcSpace, index: PartIndex, first: int) -> Rows:
    """Return rows that make the transitions of each half-automaton a path over its modifiers: its convex hull.

    Parameters
    ----------
    arcs : ArcSpace
        The candidate arcs.
    index : PartIndex
        The parts over them.
    first : int
        The column of sibling part 0; the ``S`` parts, from 0 to 1, are consecutive columns.

    Returns
    -------
    Rows
        One unit of flow leaves START; the flow into and out of each candidate modifier is the value of its arc.  This
        is the Viterbi recurrence of Koo et al. (2010), example 1, as a flow (Rush and Collins 2012, section 9.5).

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
        balance = np.zeros(k + 1)
        balance[0] = 1.0
        blocks.append(Rows(row, base + transition, value, balance, balance))
        entering, position = _entering(k)
        blocks.append(equal(position - 1, base + entering, np.arange(k), out))
    return stack(blocks)


def sibling_pairs(arcs: ArcSpace, index: PartIndex, first: int) -> Rows:
    """Return rows that make each transition the conjunction of its two arcs and of no arc between them.

    Parameters
    ----------
    arcs, index, first
        As for `sibling_paths`.

    Returns
    -------
    Rows
        A transition is at most ``z`` of each of its arcs and ``1 - z`` of each arc between them, and at least 1 minus
        the sum of ``1 - z`` over its arcs and ``z`` over those between: the linearisation of Martins et al. (2009) for
        pairs of arcs, one transition at a time.  Looser than `sibling_paths`, but exact for integers.

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
    """Return upper bounds of the grandparent parts, float64[G]: 0 if grandparent and modifier are one word, else 1.

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
    """Return rows that tie grandparent parts to arcs, of any of four families.

    Parameters
    ----------
    arcs : ArcSpace
        The candidate arcs.
    index : PartIndex
        The parts over them.
    first : int
        The column of grandparent part 0; the ``G`` parts, from 0 to `grandparent_limits`, are consecutive columns.
    families : iterable of str
        Of `FAMILIES`.  ArcGP with GPArc, or OneGP with NoGP, are exact for integers.
    implied : bool
        Whether to keep implied rows: OneGP, GPArc and `one_head` together imply all of ArcGP and NoGP and half of
        GPArc.

    Returns
    -------
    Rows

    Raises
    ------
    ValueError
        If there is no such family.

    Notes
    -----
    Riedel, Smith and McCallum (2012), section 3.2.  ArcGP and GPArc are those of Martins et al. (2009).  The paper
    shows that NoGP is implied.  OneGP, GPArc and OneHead imply ArcGP: the parts over an arc ``p -> c`` with
    grandparents other than ``g`` sum to at most the values of the other arcs into ``p``.

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
    """Return the families as a set; raise an error if one does not exist.

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
    """The columns of `grandparent_paths`: one copy of each transition of a head for each candidate grandparent.

    Attributes
    ----------
    sibling, grandparent : ndarray of shape (C,), int64
        The parts of a column; ``grandparent`` is -1 if it has none.
    upper : ndarray of shape (C,), float64
        0 if the grandparent is a modifier in the transition, else 1.
    """

    sibling: np.ndarray
    grandparent: np.ndarray
    upper: np.ndarray


def grandparent_paths(arcs: ArcSpace, index: PartIndex, first: int) -> tuple[Copies, Rows]:
    """Return rows that make each head choose a grandparent and a path under it: the convex hull of the G+S automaton.

    Parameters
    ----------
    arcs : ArcSpace
        The candidate arcs.
    index : PartIndex
        The parts over them, of a grandparent model.
    first : int
        The first column of the copies.

    Returns
    -------
    Copies
        What the columns stand for; the cost of a column is the sum of its parts' scores.
    Rows
        The flow out of START under a grandparent is the value of its arc (the grandparent variables of Koo et al. 2010,
        section 4); the flow into a modifier, summed over grandparents, is the value of its arc (``z``).

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
    copies, blocks, into_modifier, position_of = [], [], [], []
    for i, arc in enumerate(into):
        for q, k, before in ((2 * h, middle - begin, 0), (2 * h + 1, end - middle, middle - begin)):
            part = int(index.sibling_start[q] - index.sibling_start[2 * h])
            row, transition, value = _path(k)
            balance = np.zeros(k + 1)
            balance[0] = float(arc < 0)
            rows = Rows(row, first + i * size + part + transition, value, balance, balance)
            if arc >= 0:
                rows = rows._replace(
                    row=np.append(rows.row, 0), column=np.append(rows.column, arc), value=np.append(rows.value, -1.0)
                )
            blocks.append(rows)
            entering, position = _entering(k)
            into_modifier.append(first + i * size + part + entering)
            position_of.append(before + position - 1)
            copies.append(_copy(arcs, index, h, (q, k, before, i, int(arc))))
    modifiers = np.arange(len(out))
    entries = [np.concatenate([*x, np.zeros(0, np.int64)]) for x in (position_of, into_modifier)]
    blocks.append(equal(*entries, modifiers, out))
    empty = Copies(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return Copies(*[np.concatenate(field) for field in zip(empty, *copies, strict=True)]), stack(blocks)


def _copy(arcs: ArcSpace, index: PartIndex, h: int, half: tuple[int, int, int, int, int]) -> Copies:
    """Return the columns of one half-automaton under one grandparent; arc -1 stands for none, at the root."""
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
    """Return the tail and tip of each transition over k candidates, in the order of sibling parts."""
    ends = np.arange(1, k + 2)
    tip = np.repeat(ends, ends)
    return np.arange(len(tip)) - tip * (tip - 1) // 2, tip


def _path(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries of a path: row 0 is the flow out of START, row b the net flow into candidate b."""
    tail, tip = _transitions(k)
    transition = np.arange(len(tip))
    inner = tip <= k
    row = np.concatenate([tip[inner], tail])
    return row, np.concatenate([transition[inner], transition]), np.concatenate([np.ones(inner.sum()), _signs(tail)])


def _signs(tail: np.ndarray) -> np.ndarray:
    """Return 1 for transitions out of START, -1 for those out of a candidate."""
    return np.where(tail == 0, 1.0, -1.0)


def _entering(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the transitions into candidates, and the candidate's position, from 1 to k, of each."""
    _, tip = _transitions(k)
    entering = np.flatnonzero(tip <= k)
    return entering, tip[entering]
