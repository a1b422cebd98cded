"""Copies of this process, which have everything that it has loaded and compiled.

A process can be forked safely on Linux, from its main thread, while its only other threads are those started by this
package.  A copy keeps only standard output and error open; it exits when the process that made it ends for any reason,
because the socket between the two then reports end of file.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, Pipe
from typing import Any, Generic, TypeVar

from nonproj.errors import ClusterError
from nonproj.workers.pool import OWN_THREADS

_LAST_DESCRIPTOR = 1 << 20

_INTERVAL = 0.2
"""Seconds between two checks of a copy."""

_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

_T = TypeVar("_T")

log = logging.getLogger("nonproj")


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


class ForkedProcess(Worker):
    """A forked copy of this process, which calls ``work`` with the descriptor of its socket, and ends."""

    def __init__(self, work: Callable[[int], None]) -> None:
        self._lock, self._ended = threading.Lock(), False
        self.connection, theirs = Pipe()
        with theirs:
            self.pid = os.fork()
            if not self.pid:
                _work_as_copy(theirs.fileno(), work)

    def kill(self) -> None:
        """End the process."""
        with self._lock:
            if not self._ended:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            self._ended = True


class Copy(Generic[_T]):
    """A call in a copy of this process, which runs concurrently; a context manager, which ends the copy.

    Where this process cannot be forked, or the copy dies, this process makes the call when its result is asked for.
    Messages of the call are logged then; its output to standard error, such as progress, is lost.

    Parameters
    ----------
    call : callable
        Function whose result can be pickled; its changes in memory are lost.

    Attributes
    ----------
    begun : bool
        Whether there is a copy.

    Examples
    --------
    >>> with Copy(lambda: 2**10) as copy:
    ...     copy.result()
    1024
    """

    def __init__(self, call: Callable[[], _T]):
        self._call, self._process = call, None
        if can_fork() and "torch" not in sys.modules:  # its threads may hold locks
            with contextlib.suppress(OSError):  # too many processes, or too little memory
                (self._process,) = fork(1, partial(_answer, call))
        self.begun = self._process is not None

    def __enter__(self) -> Copy[_T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the copy."""
        if self._process:
            self._process.kill()

    def is_ready(self) -> bool:
        """Return whether the result has arrived, or the copy has died."""
        return self._process is not None and self._process.connection.poll()

    def waits(self) -> Iterator[None]:
        """Yield a few times a second until the result has arrived."""
        while self._process and not self._process.connection.poll(_INTERVAL):
            yield

    def result(self, wrap: Callable[[Iterable[None]], Iterable[None]] = iter) -> _T:
        """Wait for the result of the call, and return it, or raise the exception that the call has raised.

        ``wrap(items)`` wraps the waiting loop, for example to handle signals.
        """
        for _ in wrap(self.waits()):
            pass
        if self._process is None:
            return self._call()
        try:
            reply = self._process.connection.recv_bytes()
        except (EOFError, OSError):
            log.info("a worker process died; this one repeats its call")
            return self._call()
        succeeded, value, records = pickle.loads(reply)
        for record in records:
            log.handle(record)
        if succeeded:
            return value
        raise value


def run_apart(function: Callable[..., _T], *arguments: Any) -> _T:
    """Return the result of a call in a copy of this process, whose end frees the memory of all that it has loaded.

    Examples
    --------
    >>> run_apart(pow, 2, 10)
    1024
    """
    with Copy(partial(function, *arguments)) as copy:
        return copy.result()


def spread(
    calls: Sequence[Callable[[], _T]], count: int, wrap: Callable[[Iterable[None]], Iterable[None]] = iter
) -> list[_T]:
    """Return the results of some calls, made by this process and, at the same time, by ``count - 1`` copies of it.

    ``wrap`` is as for `Copy.result`.

    Examples
    --------
    >>> spread([lambda k=k: k * k for k in range(5)], 2)
    [0, 1, 4, 9, 16]
    """
    shares = [calls[number::count] for number in range(min(count, len(calls)))]
    with contextlib.ExitStack() as stack:
        copies = [stack.enter_context(Copy(partial(_all, share))) for share in shares[1:]]
        found = [_all(share) for share in shares[:1]] + [copy.result(wrap) for copy in copies]
    return [found[number % count][number // count] for number in range(len(calls))]


def _all(calls: Sequence[Callable[[], _T]]) -> list[_T]:
    return [call() for call in calls]


def can_fork() -> bool:
    """Return whether this process can be forked: no thread may hold a lock, which nobody would release in the copy."""
    main = threading.main_thread()
    others = [thread.name for thread in threading.enumerate() if thread is not main]
    known = all(name.startswith(OWN_THREADS) for name in others)
    return sys.platform == "linux" and threading.current_thread() is main and known


def fork(count: int, work: Callable[[int], None]) -> Iterator[ForkedProcess]:
    """Yield copies of this process; signals received meanwhile are delivered afterwards, to it and to them."""
    gc.freeze()  # otherwise the garbage collectors of the copies would write to, and so copy, all pages of memory
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about forking with threads: see `can_fork`
            for _ in range(count):
                yield ForkedProcess(work)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        gc.unfreeze()


# -- in a copy, or another worker --------------------------------------------------------------------------------------


def serve(descriptor: int) -> None:
    """Run the calls received on a socket, until the process at its other end closes it or ends."""
    connection = Connection(descriptor)
    calls = _received(connection)
    while True:
        message = calls.get()
        try:
            function, arguments = pickle.loads(message)
            reply = pickle.dumps((True, function(*arguments)))
        except Exception as error:
            reply = _failure(error)
        _send(connection, reply)


def _answer(call: Callable[[], Any], descriptor: int) -> None:
    """Run a call, and send its result and the messages that it has logged."""
    connection, kept = Connection(descriptor), _Kept()
    _received(connection)
    log.handlers, log.propagate = [kept], False
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
    os.dup2(sys.stderr.fileno(), 2)
    try:
        reply = pickle.dumps((True, call(), kept.records))
    except Exception as error:
        reply = _failure(error, kept.records)
    _send(connection, reply)
    os._exit(0)


class _Kept(logging.Handler):
    """A log handler that keeps messages as text."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        record.msg, record.args, record.exc_info = record.getMessage(), None, None
        self.records.append(record)


def _work_as_copy(descriptor: int, work: Callable[[int], None]) -> None:
    """Work in a forked process, without open files or pending clean-up of the original; never return."""
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
        work(descriptor)
    finally:
        os._exit(1)  # neither flush nor clean up: the main process does


def _send(connection: Connection, reply: bytes) -> None:
    """Send a reply; exit if the receiver is gone, which can be noticed here before `_receive` notices it."""
    try:
        connection.send_bytes(reply)
    except OSError:
        os._exit(0)


def _received(connection: Connection) -> queue.SimpleQueue[bytes]:
    """Return the messages received from now on; at their end the process exits immediately, even during a call."""
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    name = f"{OWN_THREADS}receiver"
    threading.Thread(target=_receive, args=(connection, calls), daemon=True, name=name).start()
    return calls


def _receive(connection: Connection, calls: queue.SimpleQueue[bytes]) -> None:
    try:
        while True:
            calls.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)


def _failure(error: Exception, *more: Any) -> bytes:
    """Return the reply of a failed call; an error that cannot be pickled is replaced by its text."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        reply = pickle.dumps((False, error, *more))
        pickle.loads(reply)
        return reply
    except Exception:
        return pickle.dumps((False, ClusterError(f"{type(error).__name__}: {error}"), *more))
