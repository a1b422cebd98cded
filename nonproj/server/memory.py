"""The memory of worker processes: its limit, and its size."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from nonproj.errors import ConfigError

MIB = 1 << 20


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process, which has loaded all that it needs; beyond it, allocations fail.

    What is resident now counts, and whatever is asked for from now on.  Address space that is reserved but not used
    does not count, such as that of libraries; so the limit is one of address space that is as much higher.  Does
    nothing where the system does not tell what is resident.

    Parameters
    ----------
    megabytes : int

    Raises
    ------
    ConfigError
        More is resident already.
    """
    sizes = _sizes("self")
    if sizes is None:
        return
    reserved, resident = sizes
    limit = megabytes * MIB
    if resident > limit:
        text = f"{megabytes} MiB are too few: a worker with these models takes {-(-resident // MIB)}, and more to parse"
        raise ConfigError("--max-worker-memory", text)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = limit + reserved - resident
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def resident_bytes(pid: int) -> int:
    """Return the memory of a process in bytes; 0 where it is not known.

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
