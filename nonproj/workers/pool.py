"""Pools of workers, which run calls in parallel and return the results in order.

A pool is local processes (`Processes`), the workers of a Dask cluster (`Cluster`), or this process alone (`InProcess`).

Processes, not threads: kernels release the global interpreter lock, but take only 60 % of the time, so no number of
threads could be more than 2.5 times as fast as one.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError

from nonproj import __version__
from nonproj.errors import ClusterError, NonprojError

AHEAD = 4
"""Calls submitted for each worker at a time: enough that no worker waits, and a bound on memory."""

RESUBMISSIONS = 3
"""How often a call is resubmitted after the scheduler has given it up because its workers died."""

_PATIENCE = 30
"""Seconds to wait for a scheduler to answer and for a worker to register."""

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

log = logging.getLogger("nonproj")


class Processes:
    """Worker processes on this machine; a context manager.

    Parameters
    ----------
    count : int
        Number of processes; -1 for one per core that this process may use.

    Examples
    --------
    >>> with Processes(2) as workers:
    ...     list(in_order(workers, pow, ((2, n) for n in range(5))))
    [1, 2, 4, 8, 16]
    """

    def __init__(self, count: int):
        from joblib import cpu_count

        self.size = cpu_count() if count == -1 else count

    def __enter__(self) -> Processes:
        from joblib.externals.loky import ProcessPoolExecutor

        self._pool = ProcessPoolExecutor(self.size, initializer=_ignore_interrupts, env=_ONE_THREAD)
        return self

    def __exit__(self, kind, *_) -> None:
        self._pool.shutdown(wait=True, kill_workers=kind is not None)

    def submit(self, function: Callable, *arguments):
        """Submit a call and return its future."""
        return self._pool.submit(function, *arguments)

    def result(self, future, function: Callable, arguments: tuple):
        """Return the result of a call that was submitted with the same function and arguments."""
        try:
            return future.result()
        except BrokenExecutor:
            text = "a worker process died, perhaps for lack of memory; fewer --jobs need less"
            raise ClusterError(text) from None


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the main process, which ends the workers."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


class InProcess:
    """This process as the only worker; a context manager."""

    size = 1

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_) -> None:
        pass

    def submit(self, function: Callable, *arguments) -> InProcess:
        """Defer the call to `result`."""
        return self

    def done(self) -> bool:
        """Return False: calls are deferred."""
        return False

    def result(self, future, function: Callable, arguments: tuple):
        """Run the deferred call."""
        return function(*arguments)

    def keep(self, function: Callable, *arguments):
        """Call a function and return its result."""
        return function(*arguments)

    def share(self, value):
        """Return the value itself, which may be an argument of calls."""
        return value


class LostError(ClusterError):
    """Data kept by workers is lost with them, or the scheduler is gone."""


class Cluster:
    """The workers of a Dask cluster; a context manager.

    Another worker repeats the calls of a dead one.  A scheduler gives a call up after several deaths of its workers,
    though it may only have been queued there; it is then resubmitted, up to `RESUBMISSIONS` times.

    Parameters
    ----------
    address : str
        The scheduler's, as in ``tcp://10.0.0.1:8786``.

    Raises
    ------
    ClusterError
        On entry: Dask is not installed, no scheduler answers at the address, or it has no workers.
    """

    def __init__(self, address: str):
        self.address = address

    def __enter__(self) -> Cluster:
        try:
            from distributed import Client
        except ImportError:
            raise ClusterError("Dask is not installed; run: pip install 'nonproj[cluster]'") from None
        for handler in logging.getLogger("distributed").handlers:
            handler.setLevel(logging.CRITICAL)  # errors are reported here, in one line
        try:
            self.client = Client(self.address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError, ImportError) as error:
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ClusterError(f"{self.address}: no Dask scheduler answers ({text})") from None
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            self.client.close()
            text = f"the scheduler has no workers; start some with: dask worker {self.address} --nthreads 1"
            raise ClusterError(f"{self.address}: {text}") from None
        self._counted = float("-inf")
        self._check_versions()
        return self

    def _check_versions(self) -> None:
        """Raise unless scheduler and workers have this version: a worker dies of a call that it cannot import."""
        program = "__import__('nonproj').__version__"  # a string needs no package to be passed on
        found = self.client.run(eval, program, on_error="return")
        try:
            found["scheduler"] = self.client.run_on_scheduler(eval, program)
        except ImportError as error:
            found["scheduler"] = error
        for place, version in found.items():
            if version != __version__:
                self.client.close()
                found = "none" if isinstance(version, Exception) else version
                text = f"{place} has {found}; scheduler and workers need nonproj {__version__}, as on this machine"
                raise ClusterError(f"{self.address}: {text}")

    def __exit__(self, *_) -> None:
        self.client.close()

    @property
    def size(self) -> int:
        """Number of worker threads, counted again every five seconds because workers come and go."""
        now = time.monotonic()
        if now - self._counted > 5.0:
            self._size, self._counted = max(self._threads(), 1), now
        return self._size

    def submit(self, function: Callable, *arguments):
        """Submit a call and return its future; arguments may be futures."""
        return self.client.submit(function, *arguments, pure=False, retries=2)

    def result(self, future, function: Callable, arguments: tuple):
        """Return the result of a call that was submitted with the same function and arguments."""
        from distributed import KilledWorker

        for _ in range(RESUBMISSIONS):
            try:
                return self._result(future)
            except KilledWorker:
                log.info("workers died; their call is resubmitted")
                future = self.submit(function, *arguments)
        try:
            return self._result(future)
        except KilledWorker:
            raise ClusterError(f"{self.address}: one call kills every worker that runs it") from None

    def keep(self, function: Callable, *arguments):
        """Have a worker call a function and keep the result for later calls; return its future.

        The scheduler keeps the arguments, so that another worker can recompute the result.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # shards are large
            return self.client.submit(function, *arguments, pure=False, retries=2)

    def share(self, value):
        """Send a value to every worker and return its future, which may be an argument of calls."""
        try:
            return self.client.scatter([value], broadcast=True, hash=False)[0]
        except (OSError, TimeoutError):
            raise LostError(f"{self.address}: there are no workers to send data to") from None

    def _result(self, future):
        """Wait while there are workers; translate errors."""
        from distributed import TimeoutError as Late

        seen = time.monotonic()
        while True:
            try:
                return future.result(timeout=_PATIENCE / 6)
            except Late:
                now = time.monotonic()
                seen = now if self._threads() else seen
                if now - seen > _PATIENCE:
                    raise ClusterError(f"{self.address}: all workers are gone") from None
            except CancelledError:
                raise LostError(f"{self.address}: the scheduler is gone, or all workers that held some data") from None

    def _threads(self) -> int:
        """Return the present number of worker threads."""
        try:
            return sum(self.client.nthreads().values())
        except OSError:
            raise ClusterError(f"{self.address}: the scheduler is gone") from None


def in_order(workers, function: Callable, tasks: Iterable[tuple]) -> Iterator:
    """Run calls on workers and yield the results in the order of the tasks.

    At most `AHEAD` calls per worker are pending, so neither tasks nor results pile up.

    Parameters
    ----------
    workers : Processes or Cluster
    function : callable
        Importable by name.
    tasks : iterable of tuple
        The arguments of each call.

    Raises
    ------
    NonprojError
        Raised by ``function``; or by ``tasks``, after the results of all tasks before the error.
    """
    tasks, pending, failure, more = iter(tasks), deque(), None, True
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
