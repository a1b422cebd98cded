"""Worker processes on this machine.

A thread of this process controls each worker process: it sends one call at a time over a socket, waits for the reply,
and replaces the process when it dies.  A worker holds no essential state, so its call is simply repeated.  The worker's
end of the socket reports end of file when this process ends for any reason, and the worker exits.

A new interpreter takes more than a second of processor time to import, load and link what parsing needs.  Workers are
therefore forked from this process after it has run a first call itself (`Processes.rehearse`), if that is safe: on
Linux, from the main thread, while the only threads are those started by this package.  Otherwise, and to replace a dead
worker, a new interpreter is started.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection, Pipe
from typing import Any

from nonproj.errors import ClusterError
from nonproj.kernels.interpreters import environment, python
from nonproj.kernels.kernel import SILENT, compiling
from nonproj.workers.pool import OWN_THREADS

DEATHS = 8
"""Number of worker processes that may die of a call before it is abandoned."""

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

_PROGRAM = "from nonproj.workers.processes import serve; serve({})"

_LAST_DESCRIPTOR = 1 << 20

_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

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
        """Return the result of a call that was submitted with the same function and arguments."""
        return future.result()

    def _begin(self) -> None:
        """Fork the workers, if that is worth while and safe; start the threads that attend to them."""
        forked = list(_fork(self.size)) if self._rehearsed and can_fork() else []
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


def run_apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call in a copy of this process, with which all that the call imports and uses is gone.

    Where this process cannot be forked, it makes the call itself.

    Examples
    --------
    >>> run_apart(pow, 2, 10)
    1024
    """
    if not can_fork() or "torch" in sys.modules:  # whose threads may hold locks
        return function(*arguments)
    with Processes(1) as processes:
        processes.rehearse(bool)
        return processes.submit(function, *arguments).result()


def cores() -> int:
    """Return the number of cores that this process may use, on average, by its affinity and the limits of its group."""
    from joblib import cpu_count  # imports much that a stated number does not need

    return int(cpu_count())


class Worker:
    """A process at the other end of a connection, which runs calls in the order they come."""

    connection: Connection

    def call(self, message: bytes) -> bytes | None:
        """Return the reply, or None if the process dies before."""
        try:
            self.connection.send_bytes(message)
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        """End the process."""
        raise NotImplementedError


class WorkerProcess(Worker):
    """A worker process in a new interpreter; no other process inherits the socket to it.

    Parameters
    ----------
    descriptors : sequence of int
        Open files that the process inherits, under the same numbers.
    silent : bool
        Whether to suppress the message about compiling, because another worker prints it.
    """

    def __init__(self, descriptors: Sequence[int] = (), silent: bool = False) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            command = python("-c", _PROGRAM.format(theirs.fileno()))
            variables = environment(**_ONE_THREAD, **({SILENT: "1"} if silent or compiling.silent else {}))
            inherited = [theirs.fileno(), *descriptors]
            self.process = subprocess.Popen(command, env=variables, pass_fds=inherited, stdin=subprocess.DEVNULL)

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


class ForkedProcess(Worker):
    """A forked worker process, which keeps only standard output and error open."""

    def __init__(self) -> None:
        self._lock, self._ended = threading.Lock(), False
        self.connection, theirs = Pipe()
        with theirs:
            self.pid = os.fork()
            if not self.pid:
                _serve_as_copy(theirs.fileno())

    def kill(self) -> None:
        """End the process."""
        with self._lock:
            if not self._ended:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            self._ended = True


def can_fork() -> bool:
    """Return whether this process can be forked: no thread may hold a lock, which nobody would release in the copy."""
    main = threading.main_thread()
    others = [thread.name for thread in threading.enumerate() if thread is not main]
    known = all(name.startswith(OWN_THREADS) for name in others)
    return sys.platform == "linux" and threading.current_thread() is main and known


def _fork(count: int) -> Iterator[ForkedProcess]:
    """Yield forked processes; signals received meanwhile are delivered afterwards, to this process and to them."""
    gc.freeze()  # otherwise the garbage collectors of the copies would write to, and so copy, all pages of memory
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about forking with threads: see `can_fork`
            for _ in range(count):
                yield ForkedProcess()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        gc.unfreeze()


# -- in a worker -------------------------------------------------------------------------------------------------------


def serve(descriptor: int) -> None:
    """Run the calls received on a socket, until the process at its other end closes it or ends."""
    connection = Connection(descriptor)
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, calls), daemon=True).start()
    while True:
        message = calls.get()
        try:
            function, arguments = pickle.loads(message)
            reply = pickle.dumps((True, function(*arguments)))
        except Exception as error:
            reply = _failure(error)
        _send(connection, reply)


def _serve_as_copy(descriptor: int) -> None:
    """Serve in a forked process, without open files or pending clean-up of the original; never return."""
    try:
        signal.set_wakeup_fd(-1)
        for number in _ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGINT})  # only the main process handles Ctrl-C
        os.closerange(3, descriptor)
        os.closerange(descriptor + 1, _LAST_DESCRIPTOR)
        with contextlib.suppress(OSError), open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        serve(descriptor)
    finally:
        os._exit(1)  # neither flush nor clean up: the main process does


def _send(connection: Connection, reply: bytes) -> None:
    """Send a reply; exit if the receiver is gone, which can be noticed here before `_receive` notices it."""
    try:
        connection.send_bytes(reply)
    except OSError:
        os._exit(0)


def _receive(connection: Connection, calls: queue.SimpleQueue[bytes]) -> None:
    """Receive calls; at the end of the stream exit immediately, even during a call."""
    while True:
        try:
            calls.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)


def _failure(error: Exception) -> bytes:
    """Return the reply of a failed call; an error that cannot be pickled is replaced by its text."""
    try:
        reply = pickle.dumps((False, error))
        pickle.loads(reply)
        return reply
    except Exception:
        return pickle.dumps((False, ClusterError(f"{type(error).__name__}: {error}")))
