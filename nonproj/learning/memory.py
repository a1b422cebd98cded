"""Memory that a component has freed in training, returned to the system.

The C library keeps freed arrays of up to 32 MiB for later ones.  Arrays of one component rarely fit into the freed ones
of another, so without this, training would need the memory of all components together, not that of the largest.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def release_memory() -> None:
    """Return freed memory to the system, which takes some milliseconds.

    It works with the GNU C library; with others it does nothing.

    Examples
    --------
    >>> release_memory()
    """
    trim = _trim()
    if trim:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """Return the function ``malloc_trim`` of the C library, or None."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # TypeError: on Windows, None is not the name of a library
        return None
