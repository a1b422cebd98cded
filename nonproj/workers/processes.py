"""Worker processes on this machine.

A thread of this process attends to each worker process: it sends one call at a time over a socket, waits for the reply,
and replaces the process when it dies.  A worker holds no state that matters, so its call is simply repeated.  The
worker's end of the socket reports end of file when this process ends in whatever way, and the worker ends with it.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection, Pipe
from typing import Any

from nonproj._kernel import SILENT, compiling
from nonproj.errors import ClusterError

DEATHS = 8
"""A call that so many worker processes have died of is given up."""

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

_PROGRAM = """
import sys
sys.path[:] = sys.argv[2:]
from nonproj.workers.processes import serve
serve(int(sys.argv[1]))
"""

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
        from joblib import cpu_count

        self.size = cpu_count() if count == -1 else count

    def __enter__(self) -> Processes:
        self._calls, self._lock = queue.SimpleQueue(), threading.Lock()
        self._alive: set[WorkerProcess] | None = set()
        self._started = False
        self._threads = [threading.Thread(target=self._attend, daemon=True) for _ in range(self.size)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        with self._lock:
            alive, self._alive = self._alive, None
        for process in alive:
            process.kill()
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()

    def submit(self, function: Callable[..., Any], *arguments) -> Future[Any]:
        """Submit a call and return its future."""
        future = Future()
        self._calls.put((future, function, arguments))
        return future

    def result(self, future: Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...]):
        """Return the result of a call that was submitted with the same function and arguments."""
        return future.result()

    def _attend(self) -> None:
        """Run calls, one after the other, in one process and those that replace it."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited: Ctrl-C is for the main process alone
        process = None
        while self._alive is not None and (call := self._calls.get()):
            future, function, arguments = call
            try:
                message = pickle.dumps((function, arguments))
                for _ in range(DEATHS):
                    process = process or self._start()
                    reply = process.call(message)
                    if reply:
                        break
                    process = self._bury(process)
                else:
                    text = "one call kills every worker process, perhaps for lack of memory; fewer --jobs need less"
                    raise ClusterError(text)
                succeeded, value = pickle.loads(reply)
                (future.set_result if succeeded else future.set_exception)(value)
            except BaseException as error:
                future.set_exception(error)

    def _start(self) -> WorkerProcess:
        """Start a process, unless the pool is closed."""
        with self._lock:
            if self._alive is None:
                raise ClusterError("the worker processes are closed")
            process = WorkerProcess(silent=self._started)
            self._started = True
            self._alive.add(process)
        return process

    def _bury(self, process: WorkerProcess) -> None:
        """Remove a dead process."""
        with self._lock:
            if self._alive is not None:
                self._alive.remove(process)
                log.info("a worker process died; another repeats its call")
        process.kill()


class WorkerProcess:
    """A worker process and the socket to it, which no other process inherits; it runs calls in the order they come.

    Parameters
    ----------
    descriptors : sequence of int
        Open files that the process inherits, under the same numbers.
    silent : bool
        It does not say when it compiles, because another worker says so.
    """

    def __init__(self, descriptors: Sequence[int] = (), silent: bool = False) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), *sys.path]
            environment = os.environ | _ONE_THREAD | ({SILENT: "1"} if silent or compiling.silent else {})
            inherited = [theirs.fileno(), *descriptors]
            self.process = subprocess.Popen(command, env=environment, pass_fds=inherited, stdin=subprocess.DEVNULL)

    def call(self, message: bytes) -> bytes | None:
        """Return the reply, or None if the process dies before."""
        try:
            self.connection.send_bytes(message)
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


# -- in a worker -------------------------------------------------------------------------------------------------------


def serve(descriptor: int) -> None:
    """Run the calls that arrive on a socket, until the process at its other end closes it or ends."""
    connection, calls = Connection(descriptor), queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, calls), daemon=True).start()
    while True:
        message = calls.get()
        try:
            function, arguments = pickle.loads(message)
            reply = pickle.dumps((True, function(*arguments)))
        except Exception as error:
            reply = _failure(error)
        _send(connection, reply)


def _send(connection: Connection, reply: bytes) -> None:
    """Send a reply; end this process if nobody is there any more, which can show before `_receive` learns of it."""
    try:
        connection.send_bytes(reply)
    except OSError:
        os._exit(0)


def _receive(connection: Connection, calls: queue.SimpleQueue[Any]) -> None:
    """Receive calls; at the end of the stream end this process at once, even in the middle of a call."""
    while True:
        try:
            calls.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)


def _failure(error: Exception) -> bytes:
    """Return the reply of a call that failed; an error that cannot be sent is replaced by its text."""
    try:
        reply = pickle.dumps((False, error))
        pickle.loads(reply)
        return reply
    except Exception:
        return pickle.dumps((False, ClusterError(f"{type(error).__name__}: {error}")))
