"""Concatenation of arrays that are large in proportion to memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

_Part = TypeVar("_Part", bound=Sequence[np.ndarray])


def concatenated(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenate arrays as ``np.concatenate`` does, and empty the list: memory never holds parts and result in full.

    Parameters
    ----------
    parts : list of ndarray
        One or more arrays of one dtype, whose shapes differ in the first dimension only.

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


def concatenated_columns(parts: list[_Part]) -> Iterator[np.ndarray]:
    """Yield the concatenation of the first arrays of all parts, of the second ones, and so on, and empty the list.

    Parameters
    ----------
    parts : list of sequence of ndarray
        The same number of arrays in each part; each column as for `concatenated`.

    Examples
    --------
    >>> parts = [(np.arange(2), np.zeros(1)), (np.arange(3), np.ones(1))]
    >>> [column.tolist() for column in concatenated_columns(parts)], parts
    ([[0, 1, 0, 1, 2], [0.0, 1.0]], [])
    """
    columns = [list(arrays) for arrays in zip(*parts, strict=True)]
    parts.clear()  # its tuples would keep the arrays
    return map(concatenated, columns)
