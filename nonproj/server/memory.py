"""The memory of worker processes: its limit, and its current size."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from nonproj.errors import ConfigError

MIB = 1 << 20

SPARE = 32 * MIB
"""With fewer bytes left than this, a process may fail with errors other than MemoryError, as in starting a thread."""


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process, which has loaded everything it needs; beyond it, allocations fail.

    The limit covers current resident memory and later allocations.  Address space that is reserved but not used, such
    as that of libraries, does not count; so the limit on address space is set higher by that amount.  Does
    nothing if the system does not report resident memory.

    Parameters
    ----------
    megabytes : int

    Raises
    ------
    ConfigError
        The resident memory is already larger.
    """
    if (sizes := _sizes("self")) is None:
        return
    reserved, resident = sizes
    limit = megabytes * MIB
    if resident > limit:
        text = f"a worker with these models takes {-(-resident // MIB)}, and more for parsing"
        raise ConfigError("--max-worker-memory", f"{megabytes} MiB are too few: {text}")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = limit + reserved - resident
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def is_exhausted() -> bool:
    """Return whether less than `SPARE` is left of the memory of this process.

    Examples
    --------
    >>> is_exhausted()
    False
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    sizes = _sizes("self")
    return sizes is not None and soft != resource.RLIM_INFINITY and soft - sizes[0] < SPARE


def resident_bytes(pid: int) -> int:
    """Return the memory of a process in bytes; 0 if unknown.

    Examples
    --------
    >>> resident_bytes(-1)
    0
    """
    sizes = _sizes(str(pid))
    return sizes[1] if sizes else 0


def _sizes(process: str) -> tuple[int, int] | None:
    """Return the address space and the resident memory of a process, in bytes."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    except OSError:
        return None
    size = os.sysconf("SC_PAGE_SIZE")
    return int(pages[0]) * size, int(pages[1]) * size
