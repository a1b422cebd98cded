"""Grandparents: the parts ``g -> h -> m`` of two arcs, one below the other (Koo et al. 2010, example 3).

Word ``h`` with ``p`` arcs into it and ``k`` arcs out of it, left and right, has ``p * k`` parts.  That of the ``i``-th
arc in, ``ArcSpace.start[h] + i``, and the ``j``-th arc out, ``out[out_start[2 * h] + j]``, is part ``start[h] + i * k +
j``.  If grandparent and modifier are the same word, the part is never used, because automata cannot choose it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.base import PartType
from nonproj.parts.constraints import ConstraintRows, at_most, equal, stack
from nonproj.parts.geometry import DIRECTION, ORDER, direction_code, order_code
from nonproj.types import ArcSpace, Bools, Int8s, Int32s, Int64s, PartRows, Uint8s

FAMILIES = ("ArcGP", "GPArc", "OneGP", "NoGP")
"""Constraints between arcs and grandparents, by their names in Riedel, Smith and McCallum (2012), section 3.2."""


class Grandparent(PartType):
    """Grandparent parts ``g -> h -> m``."""

    name = "grandparent"
    slots = ("g", "h", "m")
    codes = ("none", "direction", "order")

    def number(self, arcs: ArcSpace, first: int) -> np.ndarray:
        """Number the parts through each word, ``start`` int64[N + 1]."""
        start = np.empty(len(arcs.start), np.int64)
        _number(arcs, first, start)
        return start

    def rows(self, arcs: ArcSpace, start: np.ndarray) -> PartRows:
        """Return grandparent, head and modifier of every part, its direction, and the order of the three words."""
        nodes = np.empty((start[-1] - start[0], 3), np.int32)
        codes = np.empty((len(nodes), 3), np.uint8)
        _fill(arcs, nodes, codes)
        return PartRows(nodes, codes)

    def used(self, arcs: ArcSpace, start: np.ndarray, z: np.ndarray, z_grandparent: np.ndarray) -> np.ndarray:
        """Return the parts made of each word's chosen grandparent and modifiers."""
        numbers = np.empty(start[-1] - start[0], np.int64)
        return numbers[: list_grandparents(arcs, start, z, z_grandparent, numbers, 0)]

    def restrict(self, arcs: ArcSpace, start: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return the parts both of whose arcs remain."""
        numbers = np.empty(start[-1] - start[0], np.int64)
        return numbers[: _restrict(arcs, start, keep, numbers)]

    def upper(self, arcs: ArcSpace, start: np.ndarray) -> np.ndarray:
        """Return the upper bounds of the parts, float64[G]: 0 if grandparent and modifier are one word, else 1.

        Examples
        --------
        >>> from nonproj.parts.arcs import full_arc_space
        >>> arcs = full_arc_space(2)
        >>> Grandparent().upper(arcs, Grandparent().number(arcs, 0))
        array([1., 0., 1., 0.])
        """
        above, below = grandparent_arcs(arcs, start)
        return (arcs.head[above] != arcs.modifier[below]).astype(np.float64)

    def constraints(self, arcs: ArcSpace, start: np.ndarray, first: int) -> ConstraintRows:
        """Return the rows of `grandparent_rows`."""
        return grandparent_rows(arcs, start, first)


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
        The column of grandparent part 0; the ``G`` parts, from 0 to `Grandparent.upper`, are consecutive columns.
    families : iterable of str
        Of `FAMILIES`.  ArcGP with GPArc, or OneGP with NoGP, are exact for integers.
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


@kernel
def _number(arcs: ArcSpace, first: int, start: Int64s) -> None:
    """Lay out the parts through each word, from part ``first`` on."""
    start[0] = first
    for h in range(start.shape[0] - 1):
        into = np.int64(arcs.start[h + 1] - arcs.start[h])
        start[h + 1] = start[h] + into * (arcs.out_start[2 * h + 2] - arcs.out_start[2 * h])


@kernel
def _fill(arcs: ArcSpace, nodes: Int32s, codes: Uint8s) -> None:
    """Return words and codes of every part; the order code is that of the three words."""
    row = 0
    for h in range(1, arcs.start.shape[0] - 1):
        for i in range(arcs.start[h], arcs.start[h + 1]):
            g = arcs.head[i]
            for j in range(arcs.out_start[2 * h], arcs.out_start[2 * h + 2]):
                m = arcs.modifier[arcs.out[j]]
                nodes[row, 0] = g
                nodes[row, 1] = h
                nodes[row, 2] = m
                codes[row, 0] = 0
                codes[row, DIRECTION] = direction_code(h, m)
                codes[row, ORDER] = order_code(g, h, m)
                row += 1


@kernel
def list_grandparents(
    arcs: ArcSpace, start: Int64s, z: Int8s, z_grandparent: Int8s, numbers: Int64s, count: int
) -> int:
    """Write the parts of the chosen arcs to ``numbers[count:]``; return the new count."""
    out, out_start, arc_start = arcs.out, arcs.out_start, arcs.start
    for h in range(1, arc_start.shape[0] - 1):
        first, end = out_start[2 * h], out_start[2 * h + 2]
        for i in range(arc_start[h], arc_start[h + 1]):
            if z_grandparent[i] == 1:
                row = start[h] + (i - arc_start[h]) * (end - first) - first
                for j in range(first, end):
                    if z[out[j]] == 1:
                        numbers[count] = row + j
                        count += 1
    return count


@kernel
def _restrict(arcs: ArcSpace, start: Int64s, keep: Bools, numbers: Int64s) -> int:
    """Write the parts both of whose arcs are kept; return their number."""
    count = 0
    for h in range(1, arcs.start.shape[0] - 1):
        first, end = arcs.out_start[2 * h], arcs.out_start[2 * h + 2]
        for i in range(arcs.start[h], arcs.start[h + 1]):
            if keep[i]:
                row = start[h] + (i - arcs.start[h]) * (end - first) - first
                for j in range(first, end):
                    if keep[arcs.out[j]]:
                        numbers[count] = row + j
                        count += 1
    return count
