"""Grand-siblings: the transitions of each head between successive modifiers, under each of its candidate grandparents.

They are model 1 of Koo and Collins (2010), "Efficient third-order dependency parsers", and the grand-sibling parts of
Martins, Almeida and Smith (2013), "Turning on the turbo".  Word ``h`` with ``p`` arcs into it and ``T`` transitions,
those of its left half-automaton and then those of its right one, has ``p * T`` parts.  Transition ``t``, numbered as in
`nonproj.parts.sibling`, under the ``i``-th arc in, ``ArcSpace.start[h] + i``, is part ``start[h] + i * T + t``.  The
root has none.  If the grandparent is one of the siblings, the part is never used.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import filled_rows
from nonproj.parts.base import PartType
from nonproj.parts.geometry import DIRECTION, ORDER
from nonproj.parts.sibling import transition_counts
from nonproj.types import ArcSpace, Bools, Int8s, Int32s, Int64s, PartRows, Uint8s


class Grandsibling(PartType):
    """Transitions ``h -> s, m`` below a grandparent ``g``, START and END included."""

    name = "grandsibling"
    slots = ("g", "h", "s", "m")
    codes = ("none", "direction", "order")
    influence = 3.0  # one transition becomes two

    def number(self, arcs: ArcSpace, first: int) -> np.ndarray:
        """Number the parts by head; return ``start``, int64[N + 1]."""
        sizes = np.diff(arcs.start) * transition_counts(arcs).reshape(-1, 2).sum(axis=1)
        return first + np.concatenate([[0], np.cumsum(sizes)])

    def rows(self, arcs: ArcSpace, start: np.ndarray) -> PartRows:
        """Return the four words of every part, its direction, and the order of grandparent, head and modifier."""
        return filled_rows(_fill, arcs, start[-1] - start[0], 4)

    def used(self, arcs: ArcSpace, start: np.ndarray, z: np.ndarray, z_grandparent: np.ndarray) -> np.ndarray:
        """Return the transitions over each word's chosen modifiers, under its chosen grandparent."""
        most = np.diff(arcs.out_start[::2])[arcs.modifier[z_grandparent == 1]] + 2
        numbers = np.empty(most.sum(dtype=np.int64), np.int64)
        return numbers[: list_grandsiblings(arcs, start, z, z_grandparent, numbers, 0)]

    def restrict(self, arcs: ArcSpace, start: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return the parts whose arcs all remain."""
        numbers = np.empty(start[-1] - start[0], np.int64)
        return numbers[: _restrict(arcs, start, keep, numbers)]


@kernel
def _fill(arcs: ArcSpace, nodes: Int32s, codes: Uint8s) -> None:
    """Write words and codes of every part; at END the last sibling or the head replaces the modifier in the order."""
    n_nodes = arcs.start.shape[0] - 1
    row = 0
    for h in range(1, n_nodes):
        for i in range(arcs.start[h], arcs.start[h + 1]):
            g = arcs.head[i]
            for q in range(2 * h, 2 * h + 2):
                right, first, k = q % 2, arcs.out_start[q], arcs.out_start[q + 1] - arcs.out_start[q]
                for b in range(1, k + 2):
                    m = arcs.modifier[arcs.out[first + b - 1]] if b <= k else n_nodes + 1
                    for a in range(b):
                        s = arcs.modifier[arcs.out[first + a - 1]] if a > 0 else n_nodes
                        far = m if b <= k else (h if a == 0 else s)
                        nodes[row, 0] = g
                        nodes[row, 1] = h
                        nodes[row, 2] = s
                        nodes[row, 3] = m
                        codes[row, DIRECTION] = 1 + right
                        codes[row, ORDER] = 3 + 4 * (1 if h > g else 0) + 2 * right + (1 if far > g else 0)
                        row += 1


@kernel
def list_grandsiblings(
    arcs: ArcSpace, start: Int64s, z: Int8s, z_grandparent: Int8s, numbers: Int64s, count: int
) -> int:
    """Write the parts of the chosen arcs to ``numbers[count:]``; return the new count."""
    out, out_start = arcs.out, arcs.out_start
    for h in range(1, arcs.start.shape[0] - 1):
        first, middle, end = out_start[2 * h], out_start[2 * h + 1], out_start[2 * h + 2]
        left, right = np.int64(middle - first), np.int64(end - middle)
        left_size = (left + 1) * (left + 2) // 2
        size = left_size + (right + 1) * (right + 2) // 2
        for i in range(arcs.start[h], arcs.start[h + 1]):
            if z_grandparent[i] != 1:
                continue
            row = start[h] + (i - arcs.start[h]) * size
            for begin, k in ((first, left), (middle, right)):
                previous = 0
                for b in range(1, k + 2):
                    if b == k + 1 or z[out[begin + b - 1]] == 1:
                        numbers[count] = row + b * (b - 1) // 2 + previous
                        count += 1
                        previous = b
                row += left_size
    return count


@kernel
def _restrict(arcs: ArcSpace, start: Int64s, keep: Bools, numbers: Int64s) -> int:
    """Write the parts all of whose arcs are kept; return their number."""
    count = 0
    for h in range(1, arcs.start.shape[0] - 1):
        row = start[h]
        for i in range(arcs.start[h], arcs.start[h + 1]):
            for q in range(2 * h, 2 * h + 2):
                first, k = arcs.out_start[q], arcs.out_start[q + 1] - arcs.out_start[q]
                for b in range(1, k + 2):
                    if keep[i] and (b > k or keep[arcs.out[first + b - 1]]):
                        for a in range(b):
                            if a == 0 or keep[arcs.out[first + a - 1]]:
                                numbers[count] = row + a
                                count += 1
                    row += b
    return count
