"""Tri-siblings: three successive modifiers of a head on one side (Koo and Collins 2010, model 2).

The modifiers of half-automaton ``q`` form a path ``START, m_1, .., m_j, END``; any three consecutive ones are a part,
so a side without modifiers has none.  Positions are those of `nonproj.parts.sibling`: 0 is START, ``k + 1`` END.  The
triple at positions ``a < b < c`` is part ``start[q] + c * (c - 1) * (c - 2) // 6 + b * (b - 1) // 2 + a``; there are
``k * (k + 1) * (k + 2) // 6``.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import filled_rows
from nonproj.parts.automaton import HeadAutomata, head_automata, moves
from nonproj.parts.base import PartType
from nonproj.parts.geometry import DIRECTION, DISTANCE, distance_code
from nonproj.types import ArcSpace, Bools, Int8s, Int32s, Int64s, PartRows, Uint8s


class Trisibling(PartType):
    """Successive modifiers ``h -> r, s, m`` on one side of a head; the first may be START, the last END."""

    name = "trisibling"
    slots = ("h", "r", "s", "m")
    influence = 5.0  # two triples become three

    def number(self, arcs: ArcSpace, first: int) -> np.ndarray:
        """Number the triples by half-automaton; return ``start``, int64[2 * N + 1]."""
        k = np.diff(arcs.out_start).astype(np.int64)
        return first + np.concatenate([[0], np.cumsum(k * (k + 1) * (k + 2) // 6)])

    def rows(self, arcs: ArcSpace, start: np.ndarray) -> PartRows:
        """Return the four words of every part, its direction, and the distance between first and last modifier."""
        return filled_rows(_fill, arcs, start[-1] - start[0], 4)

    def used(self, arcs: ArcSpace, start: np.ndarray, z: np.ndarray, z_grandparent: np.ndarray) -> np.ndarray:
        """Return the triples over the modifiers that heads choose."""
        numbers = np.empty(np.count_nonzero(z), np.int64)
        return numbers[: list_trisiblings(arcs, start, z, numbers, 0)]

    def restrict(self, arcs: ArcSpace, start: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return the triples of remaining candidates, START and END."""
        numbers = np.empty(start[-1] - start[0], np.int64)
        return numbers[: _restrict(arcs, start, keep, numbers)]

    def automata(self, arcs: ArcSpace, start: np.ndarray, scores: np.ndarray) -> HeadAutomata:
        """Return automata with state 0 at START and ``1 + b * (b - 1) // 2 + a`` after positions ``a, b``."""
        ks = np.diff(arcs.out_start).astype(np.int64)
        automata = head_automata(arcs, 1 + ks * (ks + 1) // 2)
        for q, k in enumerate(ks.tolist()):
            take, _ = moves(automata, q)
            final = automata.final[automata.state_start[q] : automata.state_start[q + 1]]
            for c in range(1, k + 2):
                if c <= k:
                    take[c - 1, 0, 1 + c * (c - 1) // 2] = 0.0
                part = int(start[q]) + c * (c - 1) * (c - 2) // 6
                for b in range(1, c):
                    before = slice(1 + b * (b - 1) // 2, 1 + b * (b + 1) // 2)
                    after = take[c - 1, before, 1 + c * (c - 1) // 2 + b] if c <= k else final[before]
                    after[:] = scores[part : part + b]
                    part += b
        return automata


@kernel
def _fill(arcs: ArcSpace, nodes: Int32s, codes: Uint8s) -> None:
    """Write words and codes of every triple; at START the distance is from the head, at END up to the middle one."""
    n_nodes = arcs.start.shape[0] - 1
    row = 0
    for q in range(2 * n_nodes):
        h, right, first = q // 2, q % 2, arcs.out_start[q]
        k = arcs.out_start[q + 1] - first
        for c in range(2, k + 2):
            m = arcs.modifier[arcs.out[first + c - 1]] if c <= k else n_nodes + 1
            for b in range(1, c):
                s = arcs.modifier[arcs.out[first + b - 1]]
                for a in range(b):
                    r = arcs.modifier[arcs.out[first + a - 1]] if a > 0 else n_nodes
                    nodes[row, 0] = h
                    nodes[row, 1] = r
                    nodes[row, 2] = s
                    nodes[row, 3] = m
                    codes[row, DIRECTION] = 1 + right
                    codes[row, DISTANCE] = distance_code(h if a == 0 else r, m if c <= k else s, right)
                    row += 1


@kernel
def list_trisiblings(arcs: ArcSpace, start: Int64s, z: Int8s, numbers: Int64s, count: int) -> int:
    """Write the triples over the chosen arcs to ``numbers[count:]``; return the new count."""
    out, out_start = arcs.out, arcs.out_start
    for q in range(out_start.shape[0] - 1):
        first, k = out_start[q], np.int64(out_start[q + 1] - out_start[q])
        a = b = np.int64(0)
        for c in range(1, k + 2):
            if c == k + 1 or z[out[first + c - 1]] == 1:
                if b > 0:
                    numbers[count] = start[q] + c * (c - 1) * (c - 2) // 6 + b * (b - 1) // 2 + a
                    count += 1
                a, b = b, c
    return count


@kernel
def _restrict(arcs: ArcSpace, start: Int64s, keep: Bools, numbers: Int64s) -> int:
    """Write the triples of kept candidates, START and END; return their number."""
    count = 0
    for q in range(start.shape[0] - 1):
        first, k = arcs.out_start[q], arcs.out_start[q + 1] - arcs.out_start[q]
        row = start[q]
        for c in range(2, k + 2):
            for b in range(1, c):
                if (c > k or keep[arcs.out[first + c - 1]]) and keep[arcs.out[first + b - 1]]:
                    for a in range(b):
                        if a == 0 or keep[arcs.out[first + a - 1]]:
                            numbers[count] = row + a
                            count += 1
                row += b
    return count
