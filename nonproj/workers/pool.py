"""The engine under all shared work: hands out calls to workers, takes the results in order.

Workers are processes here (`Processes`), those of a Dask cluster (`Cluster`), or this process alone (`Here`).

Processes and not threads: kernels release the global interpreter lock, but they are only six tenths of the time, so
threads could at no number of cores be more than two and a half times as quick as one.
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
"""Pieces of work under way for each worker: enough that none waits, and a bound on memory."""

DEATHS = 3
"""How often a piece of work is handed out anew when the scheduler gives it up because workers died over it."""

_PATIENCE = 30
"""Seconds until a scheduler must have answered, and a worker must be there."""

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

log = logging.getLogger("nonproj")


class Processes:
    """Worker processes on this machine; a context manager.

    Parameters
    ----------
    count : int
        How many; -1 for one on each core that this process may use.

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
        """Hand out a call and return its future."""
        return self._pool.submit(function, *arguments)

    def result(self, future, function: Callable, arguments: tuple):
        """Wait for what `submit` handed out with the same function and arguments."""
        try:
            return future.result()
        except BrokenExecutor:
            text = "a worker process died; was there too little memory? With fewer --jobs less is needed"
            raise ClusterError(text) from None


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that hands out the work; it ends the others."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Here:
    """This process as the only worker, for what can do without others; a context manager."""

    size = 1

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_) -> None:
        pass

    def submit(self, function: Callable, *arguments) -> Here:
        """Leave the call for `result`."""
        return self

    def done(self) -> bool:
        """Nothing is done before it is wanted."""
        return False

    def result(self, future, function: Callable, arguments: tuple):
        """Do what `submit` left."""
        return function(*arguments)

    def keep(self, function: Callable, *arguments):
        """Call a function and keep what it returns."""
        return function(*arguments)

    def share(self, value):
        """Return what stands for a value in the arguments of calls."""
        return value


class LostError(ClusterError):
    """What the workers held is lost with them, or the scheduler is gone."""


class Cluster:
    """The workers of a Dask cluster; a context manager.

    What a dead worker had is done again by another one.  A scheduler counts the deaths that a call was near to and at
    last gives it up, though it may only have waited in the wrong queue; it is then handed out anew, `DEATHS` times.

    Parameters
    ----------
    address : str
        The scheduler's, as in ``tcp://10.0.0.1:8786``.

    Raises
    ------
    ClusterError
        On entry: Dask is not installed, nobody answers at the address, or the scheduler has no workers.
    """

    def __init__(self, address: str):
        self.address = address

    def __enter__(self) -> Cluster:
        try:
            from distributed import Client
        except ImportError:
            raise ClusterError("Dask is not installed; install it by: pip install 'nonproj[cluster]'") from None
        for handler in logging.getLogger("distributed").handlers:
            handler.setLevel(logging.CRITICAL)  # what matters is said here, in one line
        try:
            self.client = Client(self.address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError, ImportError) as error:
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ClusterError(f"{self.address}: no Dask scheduler answers there ({text})") from None
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            self.client.close()
            text = f"the scheduler has no workers; start some by: dask worker {self.address} --nthreads 1"
            raise ClusterError(f"{self.address}: {text}") from None
        self._counted = float("-inf")
        self._check_versions()
        return self

    def _check_versions(self) -> None:
        """Scheduler and workers must have this package: a worker dies over a call that it cannot import."""
        program = "__import__('nonproj').__version__"  # neither side needs the package to pass this on
        found = self.client.run(eval, program, on_error="return")
        try:
            found["scheduler"] = self.client.run_on_scheduler(eval, program)
        except ImportError as error:
            found["scheduler"] = error
        for place, version in found.items():
            if version != __version__:
                self.client.close()
                found = "none" if isinstance(version, Exception) else version
                text = f"{place} has {found}; scheduler and workers need nonproj {__version__}, which is here"
                raise ClusterError(f"{self.address}: {text}")

    def __exit__(self, *_) -> None:
        self.client.close()

    @property
    def size(self) -> int:
        """Threads of all workers, counted anew every few seconds: workers come and go."""
        now = time.monotonic()
        if now - self._counted > 5.0:
            self._size, self._counted = max(self._threads(), 1), now
        return self._size

    def submit(self, function: Callable, *arguments):
        """Hand out a call and return its future; arguments may be futures."""
        return self.client.submit(function, *arguments, pure=False, retries=2)

    def result(self, future, function: Callable, arguments: tuple):
        """Wait for what `submit` handed out with the same function and arguments."""
        from distributed import KilledWorker

        for _ in range(DEATHS):
            try:
                return self._result(future)
            except KilledWorker:
                log.info("workers died; their share is handed out again")
                future = self.submit(function, *arguments)
        try:
            return self._result(future)
        except KilledWorker:
            raise ClusterError(f"{self.address}: one share of the work kills every worker that takes it") from None

    def keep(self, function: Callable, *arguments):
        """Have a worker call a function and keep the result for calls to come; return the future that stands for it.

        The scheduler keeps the arguments, so that another worker can make it again.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # it is what is wanted here
            return self.client.submit(function, *arguments, pure=False, retries=2)

    def share(self, value):
        """Give every worker a value and return the future that stands for it in the arguments of calls."""
        try:
            return self.client.scatter([value], broadcast=True, hash=False)[0]
        except (OSError, TimeoutError):
            raise LostError(f"{self.address}: there are no workers to share with") from None

    def _result(self, future):
        """Wait as long as there are workers; say in words what went wrong."""
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
                raise LostError(f"{self.address}: the scheduler is gone, or all who held some data") from None

    def _threads(self) -> int:
        """Threads of all workers that are there now."""
        try:
            return sum(self.client.nthreads().values())
        except OSError:
            raise ClusterError(f"{self.address}: the scheduler is gone") from None


def in_order(workers, function: Callable, tasks: Iterable[tuple]) -> Iterator:
    """Call a function by workers and yield the results in the order of the tasks.

    `AHEAD` calls for each worker are under way at most, so neither tasks nor results pile up.

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
        One of ``function``; or one of ``tasks``, in its turn: after the results of all tasks before it.
    """
    tasks, under_way, fault, more = iter(tasks), deque(), None, True
    while under_way or more:
        while more and len(under_way) < AHEAD * workers.size and not (under_way and under_way[0][0].done()):
            try:
                arguments = next(tasks, None)
            except NonprojError as error:
                arguments, fault = None, error
            more = arguments is not None
            if more:
                under_way.append((workers.submit(function, *arguments), arguments))
        if under_way:
            future, arguments = under_way.popleft()
            yield workers.result(future, function, arguments)
            del future, arguments
    if fault:
        raise fault
