"""Grandparents: the parts ``g -> h -> m`` of two arcs, one below the other (Koo et al. 2010, example 3).

Word ``h`` with ``p`` arcs into it and ``k`` arcs out of it, left and right, has ``p * k`` parts: part
``start[h] + i * k + j`` has the ``i``-th arc in, ``ArcSpace.start[h] + i``, and the ``j``-th arc out,
``out[out_start[2 * h] + j]``.  If grandparent and modifier are the same word, the part is never used, because automata
cannot choose it.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import filled_rows
from nonproj.parts.base import PartType
from nonproj.parts.geometry import DIRECTION, ORDER, direction_code, order_code
from nonproj.types import ArcSpace, Bools, Int8s, Int32s, Int64s, PartRows, Uint8s


class Grandparent(PartType):
    """Grandparent parts ``g -> h -> m``."""

    name = "grandparent"
    slots = ("g", "h", "m")
    codes = ("none", "direction", "order")

    def number(self, arcs: ArcSpace, first: int) -> np.ndarray:
        """Number the parts by the word in the middle; return ``start``, int64[N + 1]."""
        sizes = np.diff(arcs.start).astype(np.int64) * np.diff(arcs.out_start[::2])
        return first + np.concatenate([[0], np.cumsum(sizes)])

    def rows(self, arcs: ArcSpace, start: np.ndarray) -> PartRows:
        """Return grandparent, head and modifier of every part, its direction, and the order of the three words."""
        return filled_rows(_fill, arcs, start[-1] - start[0], 3)

    def used(self, arcs: ArcSpace, start: np.ndarray, z: np.ndarray, z_grandparent: np.ndarray) -> np.ndarray:
        """Return the parts made of each word's chosen grandparent and modifiers."""
        numbers = np.empty(start[-1] - start[0], np.int64)
        return numbers[: list_grandparents(arcs, start, z, z_grandparent, numbers, 0)]

    def restrict(self, arcs: ArcSpace, start: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return the parts both of whose arcs remain."""
        numbers = np.empty(start[-1] - start[0], np.int64)
        return numbers[: _restrict(arcs, start, keep, numbers)]


@kernel
def _fill(arcs: ArcSpace, nodes: Int32s, codes: Uint8s) -> None:
    """Write words and codes of every part; the order code is that of the three words."""
    row = 0
    for h in range(1, arcs.start.shape[0] - 1):
        for i in range(arcs.start[h], arcs.start[h + 1]):
            g = arcs.head[i]
            for j in range(arcs.out_start[2 * h], arcs.out_start[2 * h + 2]):
                m = arcs.modifier[arcs.out[j]]
                nodes[row, 0] = g
                nodes[row, 1] = h
                nodes[row, 2] = m
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
