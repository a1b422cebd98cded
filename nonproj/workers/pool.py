"""Pools of workers, which run calls in parallel and return the results in order.

A pool is local processes (`nonproj.workers.processes`), the workers of a Dask cluster (`nonproj.workers.cluster`), or
this process alone (`InProcess`).

Processes, not threads: kernels release the global interpreter lock, but take only 60 % of the time, so no number of
threads could be more than 2.5 times as fast as one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nonproj.errors import ClusterError, NonprojError

AHEAD = 4
"""Calls submitted for each worker at a time: enough that no worker waits, and a bound on memory."""


OWN_THREADS = "nonproj-"
"""How the names of threads begin that hold no lock and no state that a forked worker needs."""


class InProcess:
    """This process as the only worker; a context manager."""

    size = 1

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments) -> InProcess:
        """Defer the call to `result`."""
        return self

    def done(self) -> bool:
        """Return False: calls are deferred."""
        return False

    def result(self, future, function: Callable[..., Any], arguments: tuple[Any, ...]):
        """Run the deferred call."""
        return function(*arguments)

    def keep(self, function: Callable[..., Any], *arguments):
        """Call a function and return its result."""
        return function(*arguments)

    def share(self, value):
        """Return the value itself, which may be an argument of calls."""
        return value


class LostError(ClusterError):
    """Data kept by workers is lost with them, or the scheduler is gone."""


def in_order(
    workers, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], rehearse: bool = False
) -> Iterator[Any]:
    """Run calls on workers and yield the results in the order of the tasks.

    At most `AHEAD` calls per worker are pending, so neither tasks nor results pile up.

    Parameters
    ----------
    workers : Processes or Cluster
    function : callable
        Importable by name.
    tasks : iterable of tuple
        The arguments of each call.
    rehearse : bool
        Let this process run the first call, if its workers are processes of this machine: see `Processes.rehearse`.
        A single call then needs no workers.

    Raises
    ------
    NonprojError
        Raised by ``function``; or by ``tasks``, after the results of all tasks before the error.
    """
    tasks, pending, failure, more = iter(tasks), deque(), None, True
    if rehearse and hasattr(workers, "rehearse") and (first := next(tasks, None)):
        yield workers.rehearse(function, *first)
    while pending or more:
        while more and len(pending) < AHEAD * workers.size and not (pending and pending[0][0].done()):
            try:
                arguments = next(tasks, None)
            except NonprojError as error:
                arguments, failure = None, error
            more = arguments is not None
            if more:
                pending.append((workers.submit(function, *arguments), arguments))
        if pending:
            future, arguments = pending.popleft()
            yield workers.result(future, function, arguments)
            del future, arguments
    if failure:
        raise failure
