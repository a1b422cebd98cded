"""Worker processes on this machine.

A thread of this process controls each worker process: it sends one call at a time over a socket, waits for the reply,
and replaces the process when it dies.  A worker holds no essential state, so its call is simply repeated.  The worker's
end of the socket reports end of file when this process ends for any reason, and the worker exits.

A new interpreter takes more than a second of processor time to import, load and link what parsing needs.  Workers are
therefore copies of this process (`nonproj.workers.copies`) after it has run a first call itself
(`Processes.rehearse`), if it can be forked.  Otherwise, and to replace a dead worker, a new interpreter is started.
"""

from __future__ import annotations

import logging
import pickle
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from multiprocessing.connection import Pipe
from typing import Any

from nonproj.errors import ClusterError
from nonproj.kernels.interpreters import START, environment, python
from nonproj.kernels.kernel import SILENT, compiling
from nonproj.workers.copies import Worker, can_fork, fork, serve
from nonproj.workers.pool import OWN_THREADS

DEATHS = 8
"""Number of worker processes that may die during a call before it is abandoned."""

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

_PROGRAM = f"{START}; from nonproj.workers.copies import serve; serve({{}})"

log = logging.getLogger("nonproj")


class Processes:
    """Worker processes on this machine; a context manager.

    Parameters
    ----------
    count : int
        Number of processes; -1 for one per core that this process may use.

    Examples
    --------
    >>> from nonproj.workers.pool import in_order
    >>> with Processes(2) as workers:
    ...     list(in_order(workers, pow, ((2, n) for n in range(5))))
    [1, 2, 4, 8, 16]
    """

    def __init__(self, count: int):
        self.size = count if count != -1 else cores()

    def __enter__(self) -> Processes:
        self._calls: queue.SimpleQueue[tuple[Future[Any], tuple[Any, ...]] | None] = queue.SimpleQueue()
        self._lock, self._closed = threading.Lock(), False
        self._alive: set[Worker] = set()
        self._threads: list[threading.Thread] = []
        self._rehearsed = self._started = False
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
        for process in self._alive:
            process.kill()
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()

    def rehearse(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a call in this process and return its result; workers inherit everything it has loaded and compiled."""
        result = function(*arguments)
        self._rehearsed = True
        return result

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a call and return its future."""
        if not self._threads:
            self._begin()
        future: Future[Any] = Future()
        self._calls.put((future, (function, arguments)))
        return future

    def result(self, future: Future[Any], function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Wait for a call that was submitted with this function and these arguments, and return its result."""
        return future.result()

    def _begin(self) -> None:
        """Fork the workers, if that is worthwhile and safe; start the threads that control them."""
        forked = list(fork(self.size, serve)) if self._rehearsed and can_fork() else []
        self._alive.update(forked)
        for number, process in enumerate(forked or [None] * self.size, 1):
            name = f"{OWN_THREADS}worker-{number}"
            self._threads.append(threading.Thread(target=self._attend, args=(process,), daemon=True, name=name))
            self._threads[-1].start()

    def _attend(self, process: Worker | None) -> None:
        """Run calls, one after the other, in one process and those that replace it; None starts one when needed."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited: Ctrl-C is for the main process alone
        while not self._closed and (waiting := self._calls.get()):
            future, call = waiting
            try:
                message = pickle.dumps(call)
                for _ in range(DEATHS):
                    process = process or self._start()
                    reply = process.call(message)
                    if reply:
                        break
                    self._bury(process)
                    process = None
                else:
                    text = "one call kills every worker process, perhaps for lack of memory; fewer --jobs need less"
                    raise ClusterError(text)
                succeeded, value = pickle.loads(reply)
                (future.set_result if succeeded else future.set_exception)(value)
            except BaseException as error:
                future.set_exception(error)

    def _start(self) -> Worker:
        """Start a process, unless the pool is closed."""
        with self._lock:
            if self._closed:
                raise ClusterError("the worker processes are closed")
            process = WorkerProcess(silent=self._started)
            self._started = True
            self._alive.add(process)
        return process

    def _bury(self, process: Worker) -> None:
        """Remove a dead process."""
        with self._lock:
            if not self._closed:
                self._alive.remove(process)
                log.info("a worker process died; another repeats its call")
        process.kill()


def cores() -> int:
    """Return the number of cores that this process may use, by its affinity and the limits of its control group."""
    from joblib import cpu_count  # imports much that a stated number does not need

    return int(cpu_count())


class WorkerProcess(Worker):
    """A worker process in a new interpreter; no other process inherits the socket to it.

    Parameters
    ----------
    silent : bool
        Whether to suppress the message about compiling, because another worker prints it.
    """

    def __init__(self, silent: bool = False) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            command = python("-c", _PROGRAM.format(theirs.fileno()))
            variables = environment(**_ONE_THREAD, **({SILENT: "1"} if silent or compiling.told else {}))
            passed = [theirs.fileno()]
            self.process = subprocess.Popen(command, env=variables, pass_fds=passed, stdin=subprocess.DEVNULL)

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
