"""Pools of workers, which run calls in parallel and return the results in order.

A pool is local processes (`nonproj.workers.processes`), the workers of a Dask cluster (`nonproj.workers.cluster`), or
this process alone (`InProcess`).

Processes, not threads: kernels release the global interpreter lock, but take only 60 % of the time, so threads could be
at most 2.5 times as fast as one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from nonproj.errors import NonprojError

AHEAD = 4
"""Maximum number of pending calls per worker: enough to keep workers busy, and a bound on memory."""


OWN_THREADS = "nonproj-"
"""Name prefix of threads that hold no lock and no state needed by a forked worker."""


class Workers(Protocol):
    """A pool that runs calls: `Processes`, `Cluster`, `InProcess`."""

    @property
    def size(self) -> int:
        """Number of calls that run at a time."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a call and return its future, which has ``done``."""

    def result(self, future: Any, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Return the result of a call that was submitted with the same function and arguments."""


class InProcess:
    """This process as the only worker; a context manager."""

    size = 1

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> InProcess:
        """Defer the call to `result`."""
        return self

    def done(self) -> bool:
        """Return False: calls are deferred."""
        return False

    def result(self, future: Any, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Run the deferred call."""
        return function(*arguments)


def in_order(
    workers: Workers, function: Callable[..., Any], tasks: Iterable[Sequence[Any]], rehearse: bool = False
) -> Iterator[Any]:
    """Run calls on workers and yield the results in the order of the tasks.

    At most `AHEAD` calls per worker are pending, so neither tasks nor results accumulate.

    Parameters
    ----------
    workers : Workers
    function : callable
        Importable by name.
    tasks : iterable of tuple
        The arguments of each call.
    rehearse : bool
        Whether this process runs the first call, if its workers are local processes: see `Processes.rehearse`.
        A single call then needs no workers.

    Raises
    ------
    NonprojError
        Raised by ``function``; or by ``tasks``, after the results of all earlier tasks.
    """
    waiting, more, failure = iter(tasks), True, None
    pending: deque[tuple[Any, Sequence[Any]]] = deque()
    rehearsal = getattr(workers, "rehearse", None) if rehearse else None
    if rehearsal and (first := next(waiting, None)):
        yield rehearsal(function, *first)
    while pending or more:
        while more and len(pending) < AHEAD * workers.size and not (pending and pending[0][0].done()):
            try:
                task = next(waiting, None)
            except NonprojError as error:
                task, failure = None, error
            more = task is not None
            if task is not None:
                pending.append((workers.submit(function, *task), task))
        if pending:
            future, arguments = pending.popleft()
            yield workers.result(future, function, arguments)
            del future, arguments
    if failure:
        raise failure
