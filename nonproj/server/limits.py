"""The errors of requests that a pool of worker processes ends: for its limits, or for their clients."""

from __future__ import annotations

from nonproj.errors import NonprojError


class TimeLimitError(NonprojError):
    """A request took too long."""


class MemoryLimitError(NonprojError):
    """A request exceeded the memory limit of a worker."""


class GoneError(NonprojError):
    """The client has disconnected."""
