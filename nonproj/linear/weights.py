"""Tables of weights in a model: sums of integers, their rounding, and the checks of untrusted tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nonproj.errors import ModelError
from nonproj.kernels.kernel import kernel
from nonproj.types import Float32s, Int16s

_AT_ONCE = 1 << 18
"""Number of weights rounded at a time: a copy of a whole table would take much memory."""


def scale_of(*tables: np.ndarray) -> float:
    """Return the scale of 16-bit weights, 1/32767 of the largest: a weight is an integer times the scale."""
    return scale_for(max(map(largest, tables)))


def scale_for(most: float) -> float:
    """Return the scale of 16-bit weights whose largest absolute value is ``most``."""
    return (most or 1.0) / 32767


def largest(table: np.ndarray) -> float:
    """Return the largest absolute value of a weight; 0 if there is none."""
    return float(max(table.max(initial=0.0), -table.min(initial=0.0)))


def quantise(weights: np.ndarray, scale: float | None = None) -> tuple[np.ndarray, float]:
    """Return weights rounded to int16, and their scale, by default that of `scale_of`.

    Half the bytes are half the cache misses, and look-ups take most of the time.

    Examples
    --------
    >>> quantise(np.array([0.5, -2.0, 0.0], np.float32))[0].tolist()
    [8192, -32767, 0]
    """
    scale = scale or scale_of(weights)
    rounded = np.empty(weights.shape, np.int16)
    for begin in range(0, len(weights), _AT_ONCE):
        rounded[begin : begin + _AT_ONCE] = np.rint(weights[begin : begin + _AT_ONCE] / scale)
    return rounded, scale


@kernel
def zero_of(weights: Float32s | Int16s) -> float:
    """Return zero in the type of sums of weights: sums of integers are exact, and fast because their order is free."""
    return abs(weights[0]) * np.int64(0)


def problem_of_table(table: np.ndarray | None, dtypes: Iterable[str], least: int, most: int = 31) -> str | None:
    """Return why an array is not a table of ``2 ** least`` to ``2 ** most`` finite weights of a dtype, or None.

    Kernels index tables by hash and rely on their size.  Integers are not read, so their pages stay unmapped.

    Examples
    --------
    >>> problem_of_table(np.zeros(48, np.int16), ("int16",), 4)
    'not a table of int16 with a power of two of at least 16 entries'
    """
    names = tuple(dtypes)
    sizes = [1 << bits for bits in range(least, most + 1)]
    if table is None or table.dtype not in names or table.ndim != 1 or len(table) not in sizes:
        return f"not a table of {names[0]} with a power of two of at least {sizes[0]} entries"
    if table.dtype.kind == "f" and not np.isfinite([table.min(), table.max()]).all():  # both are NaN if one is
        return "not finite"
    return None


def check_table(table: np.ndarray | None, dtypes: Iterable[str], least: int, owner: str, most: int = 31) -> np.ndarray:
    """Return a table of weights; raise `ModelError`, which names the owner, if the array is not one."""
    found = problem_of_table(table, dtypes, least, most)
    if table is None or found:
        raise ModelError(f"{owner}: {found}")
    return table
