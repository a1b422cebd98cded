"""Adjacent siblings: the transitions of each half-automaton between successive modifiers (Koo et al. 2010, example 1).

Half-automaton ``q = 2 * h + side`` with ``k`` candidate modifiers ``c_1 .. c_k``, outward from the head, has a part for
each transition from position ``a`` to position ``b``, ``0 <= a < b <= k + 1``; 0 is START and ``k + 1`` END.
Transition ``(a, b)`` is part ``start[q] + b * (b - 1) // 2 + a``; there are ``(k + 1) * (k + 2) // 2``.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import filled_rows
from nonproj.parts.automaton import HeadAutomata, head_automata, moves
from nonproj.parts.base import PartType
from nonproj.parts.geometry import DIRECTION, DISTANCE, distance_code
from nonproj.types import ArcSpace, Bools, Int8s, Int32s, Int64s, PartRows, Uint8s


class Sibling(PartType):
    """Transitions ``h -> s, m`` from one modifier of a head to the next on the same side, START and END included."""

    name = "sibling"
    slots = ("h", "s", "m")
    influence = 3.0  # one transition becomes two

    def number(self, arcs: ArcSpace, first: int) -> np.ndarray:
        """Number the transitions by half-automaton; return ``start``, int64[2 * N + 1]."""
        sizes = transition_counts(arcs)
        return first + np.concatenate([[0], np.cumsum(sizes)])

    def rows(self, arcs: ArcSpace, start: np.ndarray) -> PartRows:
        """Return head, previous sibling and modifier of every transition, its direction, and the siblings' distance."""
        return filled_rows(_fill, arcs, start[-1] - start[0], 3)

    def used(self, arcs: ArcSpace, start: np.ndarray, z: np.ndarray, z_grandparent: np.ndarray) -> np.ndarray:
        """Return the transitions over the modifiers that heads choose."""
        numbers = np.empty(len(arcs.head) + len(start) - 1, np.int64)
        return numbers[: list_siblings(arcs, start, z, numbers, 0)]

    def restrict(self, arcs: ArcSpace, start: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return the transitions between remaining candidates, START and END."""
        numbers = np.empty(start[-1] - start[0], np.int64)
        return numbers[: _restrict(arcs, start, keep, numbers)]

    def automata(self, arcs: ArcSpace, start: np.ndarray, scores: np.ndarray) -> HeadAutomata:
        """Return the bigram automata: the state is the position of the previous sibling, 0 is START."""
        automata = head_automata(arcs, np.diff(arcs.out_start) + 1)
        for q, k in enumerate(np.diff(arcs.out_start)):
            take, _ = moves(automata, q)
            final = automata.final[automata.state_start[q] : automata.state_start[q + 1]]
            for b in range(1, k + 2):
                part = start[q] + b * (b - 1) // 2
                row = take[b - 1, :b, b] if b <= k else final
                row[:] = scores[part : part + b]
        return automata


def transition_counts(arcs: ArcSpace) -> Int64s:
    """Return the number of transitions of each half-automaton, START and END included, int64[2 * N]."""
    k = np.diff(arcs.out_start).astype(np.int64)
    return (k + 1) * (k + 2) // 2


@kernel
def _fill(arcs: ArcSpace, nodes: Int32s, codes: Uint8s) -> None:
    """Write words and codes of every transition; distances are between siblings (head and sibling at the ends)."""
    n_nodes = arcs.start.shape[0] - 1
    row = 0
    for q in range(2 * n_nodes):
        h, right = q // 2, q % 2
        first = arcs.out_start[q]
        k = arcs.out_start[q + 1] - first
        for b in range(1, k + 2):
            m = arcs.modifier[arcs.out[first + b - 1]] if b <= k else n_nodes + 1
            for a in range(b):
                s = arcs.modifier[arcs.out[first + a - 1]] if a > 0 else n_nodes
                near = h if a == 0 else s
                far = near if b == k + 1 else m
                nodes[row, 0] = h
                nodes[row, 1] = s
                nodes[row, 2] = m
                codes[row, DIRECTION] = 1 + right
                codes[row, DISTANCE] = distance_code(near, far, right)
                row += 1


@kernel
def list_siblings(arcs: ArcSpace, start: Int64s, z: Int8s, numbers: Int64s, count: int) -> int:
    """Write the transitions over the chosen arcs to ``numbers[count:]``; return the new count."""
    out, out_start = arcs.out, arcs.out_start
    for q in range(out_start.shape[0] - 1):
        first, k = out_start[q], out_start[q + 1] - out_start[q]
        previous = 0
        for b in range(1, k + 2):
            if b == k + 1 or z[out[first + b - 1]] == 1:
                numbers[count] = start[q] + b * (b - 1) // 2 + previous
                count += 1
                previous = b
    return count


@kernel
def _restrict(arcs: ArcSpace, start: Int64s, keep: Bools, numbers: Int64s) -> int:
    """Write the transitions between kept candidates, START and END; return their number."""
    count = 0
    for q in range(start.shape[0] - 1):
        first, k = arcs.out_start[q], arcs.out_start[q + 1] - arcs.out_start[q]
        for b in range(1, k + 2):
            if b <= k and not keep[arcs.out[first + b - 1]]:
                continue
            row = start[q] + b * (b - 1) // 2
            for a in range(b):
                if a == 0 or keep[arcs.out[first + a - 1]]:
                    numbers[count] = row + a
                    count += 1
    return count
