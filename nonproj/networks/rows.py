"""Sums of sparse rows of a table, the first layer of each network: forward and backward pass, and AdaGrad for rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.optimisers import root_of_squares
from nonproj.types import Float32s, Int16s, Int32s, Int64s


class SparseRows(NamedTuple):
    """A sparse matrix: for each of M items, such as words, the rows of a table that are summed.

    Attributes
    ----------
    start : ndarray of shape (M + 1,), int64
        The rows of item ``i`` are ``row[start[i]:start[i + 1]]``.
    row : ndarray of shape (n,), int32
    factor : ndarray of shape (n,), float32, or None
        Factor of each row, 0 for one that is left out.  None, outside training, if all are 1.
    """

    start: np.ndarray
    row: np.ndarray
    factor: np.ndarray | None

    @classmethod
    def of_table(cls, rows: np.ndarray) -> SparseRows:
        """Return items with ``n`` rows each, int[M, n], and factors of 1.

        Examples
        --------
        >>> rows = SparseRows.of_table(np.array([[0, 2], [1, 1]]))
        >>> sum_rows(rows, np.array([[1.0], [2.0], [4.0]], np.float32)).tolist()
        [[5.0], [4.0]]
        """
        start = np.arange(len(rows) + 1) * rows.shape[1]
        return cls(start, rows.reshape(-1).astype(np.int32), np.ones(rows.size, np.float32))

    def take(self, items: np.ndarray) -> SparseRows:
        """Return the rows of items with these numbers, which may repeat."""
        sizes = np.diff(self.start)[items]
        start = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.start[items] - start[:-1], sizes) + np.arange(start[-1])
        return SparseRows(start, self.row[places], None if self.factor is None else self.factor[places])

    def scaled(self, factor: np.ndarray) -> SparseRows:
        """Return the rows with their factors multiplied by others, float32[n]."""
        return self._replace(factor=factor if self.factor is None else self.factor * factor)


def sum_rows(rows: SparseRows, table: np.ndarray) -> np.ndarray:
    """Return the sum of each item's rows: exact int32 if the table is int16 and there are no factors, else float32.

    Parameters
    ----------
    rows : SparseRows
    table : ndarray of shape (R, E), int16 or float32
    """
    exact = table.dtype == np.int16 and rows.factor is None
    sums: Any = np.zeros((len(rows.start) - 1, table.shape[1]), np.int32 if exact else np.float32)
    add_rows(rows.start, rows.row, rows.factor, table, sums)
    return sums


def spread_rows(rows: SparseRows, gradient: np.ndarray, size: int) -> np.ndarray:
    """Return the gradient of a table of ``size`` rows, given those of the items' sums, float32: `sum_rows` transposed.

    Examples
    --------
    >>> spread_rows(SparseRows.of_table(np.array([[0, 2], [1, 1]])), np.array([[1.0], [10.0]], np.float32), 3).tolist()
    [[1.0], [20.0], [1.0]]
    """
    assert rows.factor is not None  # training always has factors
    found = np.zeros((size, gradient.shape[1]), np.float32)
    _spread_rows(rows.start, rows.row, rows.factor, gradient, found)
    return found


class RowGradient(NamedTuple):
    """The gradients of sums of rows.

    Attributes
    ----------
    gradient : ndarray of shape (M, E), float32
        Gradient of the sum of each item.
    rows : SparseRows or None
        Rows of each item; None if item ``i`` is row ``i``.
    """

    gradient: np.ndarray
    rows: SparseRows | None = None


class AdaGrad:
    """The AdaGrad optimiser of the rows of a table, which it changes in place.

    Parameters
    ----------
    table : ndarray of shape (R, E), float32
    rate : float
        The learning rate.
    first : float
        Initial value of the sums of squared gradients.
    pieces : int
        Number of equal pieces of a row, each with its own sum of squares.

    Attributes
    ----------
    squares : ndarray of shape (R, pieces), float32
        The sums of the mean squared gradients of each piece.
    """

    def __init__(self, table: np.ndarray, rate: float, first: float = 0.0, pieces: int = 1):
        self.table, self.rate, self.squares = table, rate, np.full((len(table), pieces), first, np.float32)

    def step(self, gradient: RowGradient, factor: float = 1.0) -> None:
        """Move each item's rows along the gradient of their sum, times their factors.

        Parameters
        ----------
        gradient : RowGradient
        factor : float
            Factor of the learning rate.
        """
        start, row, factors = gradient.rows or self._each
        assert factors is not None
        _follow_rows(start, row, factors, gradient.gradient, self.rate * factor, self.table, self.squares)

    @cached_property
    def _each(self) -> SparseRows:
        """Items of a single row each: item ``i`` is row ``i``."""
        return SparseRows.of_table(np.arange(len(self.table))[:, None])


def draw_weights(rng: np.random.Generator, shape: tuple[int, ...], deviation: float) -> np.ndarray:
    """Return initial weights of a table, normally distributed with this standard deviation, float32."""
    drawn: np.ndarray = rng.standard_normal(shape, np.float32) * np.float32(deviation)
    return drawn


@kernel
def add_rows(
    start: Int64s, row: Int32s, factor: Float32s | None, table: Int16s | Float32s, sums: Int32s | Float32s
) -> None:
    """Add the rows of each item, as `SparseRows` has them, to its sum.

    Factors are read before the innermost loops, so that these are vectorised.
    """
    width = table.shape[1]
    for i in range(sums.shape[0]):
        for j in range(start[i], start[i + 1]):
            r = row[j]
            if factor is None:
                for k in range(width):
                    sums[i, k] += table[r, k]
            else:
                share = factor[j]
                if share:
                    for k in range(width):
                        sums[i, k] += share * table[r, k]


@kernel
def _spread_rows(start: Int64s, row: Int32s, factor: Float32s, gradient: Float32s, found: Float32s) -> None:
    """Add the gradient of each item to those of its rows."""
    width = gradient.shape[1]
    for i in range(gradient.shape[0]):
        for j in range(start[i], start[i + 1]):
            r, share = row[j], factor[j]
            if share:
                for k in range(width):
                    found[r, k] += share * gradient[i, k]


@kernel
def _follow_rows(
    start: Int64s, row: Int32s, factor: Float32s, gradient: Float32s, rate: float, table: Float32s, squares: Float32s
) -> None:
    """Make a step of AdaGrad on each row of each item, piece by piece."""
    pieces = squares.shape[1]
    size = gradient.shape[1] // pieces
    for i in range(gradient.shape[0]):
        for piece in range(pieces):
            begin, square = piece * size, np.float32(0.0)
            for k in range(begin, begin + size):
                square += gradient[i, k] * gradient[i, k]
            square /= np.float32(size)
            if square > 0.0:
                for j in range(start[i], start[i + 1]):
                    r, share = row[j], factor[j]
                    if share:
                        root = root_of_squares(squares[r], piece, share * share * square)
                        change = np.float32(rate * share / root)
                        for k in range(begin, begin + size):
                            table[r, k] += change * gradient[i, k]
