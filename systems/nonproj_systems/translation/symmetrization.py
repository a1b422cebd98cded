"""Alignments of both directions combined by grow-diag-final-and (Koehn, Och and Marcu 2003)."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Int64s


def combine(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """Return the alignment points of a pair, bool[source words, target words].

    Parameters
    ----------
    forward : ndarray of shape (target words,), int64
        The source position of each target word, -1 for none.
    backward : ndarray of shape (source words,), int64
        The target position of each source word, -1 for none.

    Notes
    -----
    The intersection grows by neighbouring points of the union (diagonals included) that align an unaligned word, until
    there are none; then points of either direction are added if both of their words are unaligned.

    Examples
    --------
    >>> combine(np.array([0, 0, 2]), np.array([0, -1, 2])).astype(int).tolist()
    [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    """
    return _grow(np.asarray(forward, np.int64), np.asarray(backward, np.int64))


@kernel
def _grow(forward: Int64s, backward: Int64s) -> Bools:
    """Return the combined alignment points."""
    n, m = len(backward), len(forward)
    first, second = np.zeros((n, m), np.bool_), np.zeros((n, m), np.bool_)
    for j in range(m):
        if forward[j] >= 0:
            first[forward[j], j] = True
    for i in range(n):
        if backward[i] >= 0:
            second[i, backward[i]] = True
    found = first & second
    rows, columns = np.zeros(n, np.bool_), np.zeros(m, np.bool_)
    for i in range(n):
        for j in range(m):
            if found[i, j]:
                rows[i] = columns[j] = True
    growing = True
    while growing:
        growing = False
        for i in range(n):
            for j in range(m):
                if found[i, j] or not (first[i, j] or second[i, j]) or (rows[i] and columns[j]):
                    continue
                near = 0
                for a in range(max(i - 1, 0), min(i + 2, n)):
                    for b in range(max(j - 1, 0), min(j + 2, m)):
                        near += found[a, b]
                if near > 0:
                    found[i, j] = rows[i] = columns[j] = growing = True
    for points in (first, second):
        for i in range(n):
            for j in range(m):
                if points[i, j] and not rows[i] and not columns[j]:
                    found[i, j] = rows[i] = columns[j] = True
    return found
