"""Concatenation of arrays that are large in proportion to memory."""

from __future__ import annotations

import numpy as np


def concatenated(parts: list[np.ndarray]) -> np.ndarray:
    """Return what ``np.concatenate`` returns, and empty the list: at no time are both in memory as a whole.

    Parameters
    ----------
    parts : list of ndarray
        Of one dtype, and of one shape but for the first dimension; at least one.

    Examples
    --------
    >>> parts = [np.arange(2), np.arange(3)]
    >>> concatenated(parts).tolist(), parts
    ([0, 1, 0, 1, 2], [])
    """
    whole = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), parts[0].dtype)
    end = len(whole)
    while parts:  # from the end, where a list shrinks without moving the others
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole
