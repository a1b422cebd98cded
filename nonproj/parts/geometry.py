"""Geometric codes: direction, distance and order of the words of a part, as small numbers below 16.

A code is xor-ed onto a feature's index in the weight table (see `nonproj.scoring.templates`), so the codes of one kind
must differ from each other and from 0, which stands for no code.
"""

from __future__ import annotations

from nonproj.kernels.kernel import kernel

DIRECTION, DISTANCE, ORDER = 1, 2, 2
"""Columns of `nonproj.types.PartRows.codes`; column 0 is always 0, column 2 a distance or an order by part type."""


@kernel
def direction_code(h: int, m: int) -> int:
    """Return 1 for a modifier to the left of its head, 2 for one to the right."""
    return 1 + (1 if m > h else 0)


@kernel
def distance_code(near: int, far: int, right: int) -> int:
    """Return the bin of the distance between two words (1, 2, 3, 4, 5 to 9, 10 and more), and the side.

    The bins are those of McDonald et al. (2005).
    """
    distance = abs(far - near)
    if distance < 5:
        bin_ = max(distance, 1) - 1
    else:
        bin_ = 4 if distance < 10 else 5
    return 3 + 2 * bin_ + right


@kernel
def order_code(g: int, h: int, m: int) -> int:
    """Return a code for the order of grandparent, head and modifier."""
    return 3 + 4 * (1 if h > g else 0) + 2 * (1 if m > h else 0) + (1 if m > g else 0)
