"""Arcs, the first-order parts: arc number ``a`` of the `ArcSpace` is part number ``a``."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import filled_rows
from nonproj.parts.base import PartType
from nonproj.parts.geometry import DIRECTION, DISTANCE, direction_code, distance_code
from nonproj.types import ArcSpace, Int32s, PartRows, Uint8s


class Arc(PartType):
    """Arcs ``h -> m``.  Every set of part types has them, and they come first."""

    name = "arc"
    slots = ("h", "m")

    def number(self, arcs: ArcSpace, first: int) -> np.ndarray:
        """Number the arcs as in the `ArcSpace`."""
        return np.array([first, first + len(arcs.head)])

    def rows(self, arcs: ArcSpace, start: np.ndarray) -> PartRows:
        """Return head and modifier of every arc, and its direction and length."""
        return filled_rows(_fill, arcs, len(arcs.head), 2)

    def used(self, arcs: ArcSpace, start: np.ndarray, z: np.ndarray, z_grandparent: np.ndarray) -> np.ndarray:
        """Return the arcs that heads choose."""
        return start[0] + np.flatnonzero(z)

    def restrict(self, arcs: ArcSpace, start: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return the remaining arcs."""
        return start[0] + np.flatnonzero(keep)

    def automata(self, arcs: ArcSpace, start: np.ndarray, scores: np.ndarray) -> None:
        """Return None: arc scores are not in the tables, because decoders add them whenever an arc is chosen."""
        return


@kernel
def _fill(arcs: ArcSpace, nodes: Int32s, codes: Uint8s) -> None:
    """Write words and codes of every arc."""
    for a in range(nodes.shape[0]):
        h, m = arcs.head[a], arcs.modifier[a]
        nodes[a, 0] = h
        nodes[a, 1] = m
        codes[a, DIRECTION] = direction_code(h, m)
        codes[a, DISTANCE] = distance_code(h, m, 1 if m > h else 0)
