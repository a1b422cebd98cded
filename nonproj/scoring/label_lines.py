"""Which labels an arc may have, by the tags of head and modifier and the direction.

Labels are scored sixteen at a time, a line of the weight table for each feature (`nonproj.scoring.labels`).  An arc
needs only the lines of those labels that were seen with its tags and direction in training, and all lines if none was.
`nonproj.learning.label_numbers` numbers labels so that such labels share lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.scoring.batch import Batch
from nonproj.scoring.vocabulary import MARGIN, Tokens
from nonproj.types import Int32s

TAG = "pos"
"""The attribute by which labels are looked up."""


class LabelLines(NamedTuple):
    """Lines of labels by tags.

    Attributes
    ----------
    table : ndarray of shape (V, V, 2), int32
        ``table[i, j, right]``: bit ``k`` is set if an arc from a word of tag ``i`` to one of tag ``j`` can have a label
        of line ``k``; 0 where no arc was seen, which stands for all lines.
    column : int
        The column of `Tokens.atoms` with the tags.
    """

    table: np.ndarray
    column: int

    def of(self, tokens: Tokens | Batch, nodes: np.ndarray) -> np.ndarray:
        """Return the lines of arcs as bits, int32[n]; ``nodes`` begin with head and modifier."""
        lines = np.empty(len(nodes), np.int32)
        _find_lines(self.table, tokens.atoms, self.column, nodes, lines)
        return lines


@kernel
def _find_lines(table: Int32s, atoms: Int32s, column: int, nodes: Int32s, lines: Int32s) -> None:
    """Look up the lines of each arc."""
    for p in range(nodes.shape[0]):
        h, m = nodes[p, 0], nodes[p, 1]
        found = table[atoms[MARGIN + h, column], atoms[MARGIN + m, column], 1 if m > h else 0]
        lines[p] = found if found != 0 else -1
