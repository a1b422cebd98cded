"""Limits on the requests of a pool of worker processes, and the errors of requests that it ends."""

from __future__ import annotations

from typing import NamedTuple

from nonproj.errors import NonprojError


class TimeLimitError(NonprojError):
    """A request took too long."""


class MemoryLimitError(NonprojError):
    """A request exceeded the memory limit of a worker."""


class GoneError(NonprojError):
    """The client has disconnected."""


class PoolLimits(NamedTuple):
    """Limits of a pool.

    Attributes
    ----------
    waiting : int
        Maximum number of waiting calls.
    seconds : float
        Limit on the time of a call from its start in a process; also the target for its response time, with waiting.
    """

    waiting: int
    seconds: float
