"""Sparse rows of linear programs, declared by part types and trees: without scores or a solver."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.types import Float64s, Int64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class ConstraintRows(NamedTuple):
    """Sparse rows, numbered from 0: ``lower <= A x <= upper``.

    Attributes
    ----------
    row, column : ndarray of shape (E,), int64
        Positions of the ``E`` entries, without duplicates.
    value : ndarray of shape (E,), float64
        The entries.
    lower, upper : ndarray of shape (R,), float64
        Bounds of the ``R`` rows.
    """

    row: Int64s
    column: Int64s
    value: Float64s
    lower: Float64s
    upper: Float64s


def rows_of(entries: Iterable[tuple[ArrayLike, ArrayLike]], lower: ArrayLike, upper: ArrayLike) -> ConstraintRows:
    """Build ``R`` rows from the (columns, values) of each and from bounds, float or float[R].

    Examples
    --------
    >>> rows_of([([0, 1], [1.0, -1.0]), ([2], [1.0])], -np.inf, [0.0, 1.0]).row
    array([0, 0, 1])
    """
    pairs = [(np.asarray(columns, np.int64), np.asarray(values, np.float64)) for columns, values in entries]
    sizes = [len(columns) for columns, _ in pairs]
    empty = [(np.zeros(0, np.int64), np.zeros(0))]
    columns, values = zip(*(pairs or empty), strict=True)
    bounds = [np.ascontiguousarray(np.broadcast_to(bound, len(pairs)), np.float64) for bound in (lower, upper)]
    return ConstraintRows(
        np.repeat(np.arange(len(sizes)), sizes), np.concatenate(columns), np.concatenate(values), *bounds
    )


def stack(blocks: Iterable[ConstraintRows]) -> ConstraintRows:
    """Stack blocks of rows vertically.

    Examples
    --------
    >>> block = rows_of([([0], [1.0])], 0.0, 1.0)
    >>> stack([block, block]).row
    array([0, 1])
    """
    blocks = [*blocks] or [rows_of([], 0.0, 0.0)]
    above = np.cumsum([0] + [len(block.lower) for block in blocks[:-1]])
    numbered = [block._replace(row=block.row + shift) for block, shift in zip(blocks, above, strict=True)]
    return ConstraintRows(*[np.concatenate(field) for field in zip(*numbered, strict=True)])


def at_most(columns: np.ndarray, limits: np.ndarray, factor: float) -> ConstraintRows:
    """Return a row ``x[column] <= factor * x[limit]`` for each pair.

    Examples
    --------
    >>> at_most(np.array([3]), np.array([0]), 2.0).value
    array([ 1., -2.])
    """
    count = len(columns)
    return ConstraintRows(
        np.repeat(np.arange(count), 2),
        np.stack([columns, limits], axis=1).reshape(-1).astype(np.int64),
        np.tile([1.0, -factor], count),
        np.full(count, -np.inf),
        np.zeros(count),
    )


def equal(row: Int64s, column: Int64s, total_row: Int64s, total: Int64s, factor: float = 1.0) -> ConstraintRows:
    """Return rows ``sum of columns - factor * total = 0``, one for each total.

    Examples
    --------
    >>> equal([0, 0], [3, 4], [0], [1]).value
    array([ 1.,  1., -1.])
    """
    zeros = np.zeros(len(total))
    return ConstraintRows(
        np.concatenate([row, total_row]).astype(np.int64),
        np.concatenate([column, total]).astype(np.int64),
        np.concatenate([np.ones(len(row)), np.full(len(total), -factor)]),
        zeros,
        zeros,
    )
