"""Exponentials in training: bit-identical on all processors, unlike those of NumPy and of C libraries."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float32s

_LEAST = -64.0


def exponentials(numbers: np.ndarray) -> np.ndarray:
    """Return e to the power of each number in a contiguous array, float32; numbers are at most 64.

    For numbers below -64 the result is that of -64.

    Examples
    --------
    >>> [round(x, 4) for x in exponentials(np.array([0.0, -1.0, 2.0], np.float32)).tolist()]
    [1.0, 0.3679, 7.3891]
    """
    found = np.empty_like(numbers)
    _write_exponentials(numbers.reshape(-1), found.reshape(-1))
    return found


@kernel
def _write_exponentials(numbers: Float32s, found: Float32s) -> None:
    """Write the Taylor polynomial of each number divided by 256, squared eight times, by basic arithmetic alone."""
    for i in range(numbers.shape[0]):
        x = max(numbers[i], _LEAST) / 256.0
        p = 1.0 + x / 7.0 * (1.0 + x / 8.0 * (1.0 + x / 9.0))
        p = 1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * p))
        p = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * p))
        for _ in range(8):
            p *= p
        found[i] = p
