"""Sentences with more pieces than an encoder has positions, as overlapping windows."""

from __future__ import annotations

import numpy as np


def windows(lengths: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the windows of a sentence of n words.

    A window has all words that fit.  The next one starts a quarter of the limit before its end, or later if the next
    word would not fit otherwise.  A word's owner is the (first) window in which its distance to the nearer end, in
    pieces, is largest.

    Parameters
    ----------
    lengths : ndarray of shape (n,), int
        The number of pieces of each word, from 1 to ``limit``.
    limit : int
        Maximum number of pieces in a window.

    Returns
    -------
    start, end : ndarray of shape (windows,), int64
        Words from ``start`` to before ``end``.
    owner : ndarray of shape (n,), int64
        The window that provides each word's vector.

    Examples
    --------
    >>> windows(np.array([1, 1, 1, 1, 1, 1, 1]), 4)
    (array([0, 3]), array([4, 7]), array([0, 0, 0, 0, 1, 1, 1]))
    """
    n = len(lengths)
    offset = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    starts, ends = [0], [int(np.searchsorted(offset, limit, side="right")) - 1]
    while ends[-1] < n:
        earliest = max(offset[ends[-1]] - limit // 4, offset[ends[-1] + 1] - limit)
        start = int(np.searchsorted(offset, earliest))
        starts.append(start)
        ends.append(int(np.searchsorted(offset, offset[start] + limit, side="right")) - 1)
    owner, farthest = np.zeros(n, np.int64), np.full(n, -1)
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        left, right = offset[start:end] - offset[start], offset[end] - offset[start + 1 : end + 1]
        distance = np.minimum(left, right)
        better = distance > farthest[start:end]
        owner[start:end][better], farthest[start:end][better] = number, distance[better]
    return np.array(starts), np.array(ends), owner
