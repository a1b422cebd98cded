"""Worker processes that are given up when they take too long.

A kernel cannot be interrupted, and a thread cannot be killed, so requests run in processes.  One that exceeds the time
limit is killed, and another takes its place when it has loaded the models.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from nonproj.errors import ClusterError, NonprojError
from nonproj.workers.processes import WorkerProcess

log = logging.getLogger("nonproj")


class BusyError(NonprojError):
    """Too many requests wait, or one has waited too long."""


class TimeLimitError(NonprojError):
    """A request took too long."""


class GoneError(NonprojError):
    """The client has left."""


class WorkerPool:
    """Worker processes; an asynchronous context manager.

    Parameters
    ----------
    size : int
        Number of processes.
    waiting : int
        Number of calls that may wait for a process.
    timeout : float
        Seconds that a call may take, waiting included.
    prepare : tuple
        The first call of every process, a function and its arguments; its result is `prepared`.
    """

    def __init__(self, size: int, waiting: int, timeout: float, prepare: tuple[Any, ...]):
        self.size, self.waiting, self.timeout, self._prepare = size, waiting, timeout, prepare
        self.prepared = None
        self._free: asyncio.Queue[WorkerProcess] = asyncio.Queue()
        self._count = 0
        self._all: set[WorkerProcess] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._threads = ThreadPoolExecutor(4 * size, "worker", initializer=_leave_signals_to_the_main_thread)

    async def __aenter__(self) -> WorkerPool:
        try:
            await self._add()  # the others find what it has compiled
            await asyncio.gather(*(self._add() for _ in range(self.size - 1)))
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_) -> None:
        self._closed = True
        for task in self._tasks:
            task.cancel()
        for process in self._all:
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def call(self, function: Callable[..., Any], *arguments, gone: Callable[[], Awaitable[bool]] | None = None):
        """Return the result of a call in a worker process.

        Parameters
        ----------
        function : callable
            Importable by name.
        gone : callable, optional
            Tells, when a process is free, whether nobody waits for the result any more.

        Raises
        ------
        BusyError, TimeLimitError, GoneError, ClusterError
            See there; the last is raised if the process dies.
        Exception
            What the function raises.
        """
        if self._count >= self.waiting + self.size:
            raise BusyError("busy: too many requests; try again later")
        self._count += 1
        try:
            loop = asyncio.get_running_loop()
            deadline = loop.time() + self.timeout
            try:
                process = await asyncio.wait_for(self._free.get(), self.timeout)
            except TimeoutError:
                raise BusyError(f"busy: no worker became free within {self.timeout:g} s; try again later") from None
            return await self._run(process, deadline - loop.time(), (function, arguments), gone)
        finally:
            self._count -= 1

    async def _run(
        self, process: WorkerProcess, seconds: float, call: tuple[Any, ...], gone: Callable[..., Any] | None
    ):
        """Run a call in a process, which is replaced unless it replies in time."""
        reply = None
        try:
            if gone is not None and await gone():
                reply = b""
                raise GoneError("the client has left")
            try:
                reply = await asyncio.wait_for(self._send(process, call), max(seconds, 0.01))
            except TimeoutError:
                raise TimeLimitError(f"the request took more than {self.timeout:g} s; send less at a time") from None
        finally:
            if reply is None:
                self._replace(process)
            else:
                self._free.put_nowait(process)
        if reply is None:
            raise ClusterError("the worker process died, perhaps for lack of memory; send less at a time")
        succeeded, value = pickle.loads(reply)
        if not succeeded:
            raise value
        return value

    async def _send(self, process: WorkerProcess, call: tuple[Any, ...]) -> bytes | None:
        """Return the reply of a process, or None if it dies."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, _roundtrip, process, call)

    def _replace(self, process: WorkerProcess) -> None:
        """Kill a process, and start another in the background."""
        process.kill()
        self._all.discard(process)
        if not self._closed:
            log.warning("a worker process is replaced")
            task = asyncio.get_running_loop().create_task(self._add_again())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _add_again(self) -> None:
        """Start a process, and try again while that fails."""
        while True:
            try:
                return await self._add()
            except NonprojError as error:
                log.error("%s", error)
                await asyncio.sleep(1.0)

    async def _add(self) -> None:
        """Start a process; it is free as soon as it is prepared."""
        process = await asyncio.get_running_loop().run_in_executor(self._threads, WorkerProcess)
        self._all.add(process)
        if self._closed:
            process.kill()
            return
        function, *arguments = self._prepare
        reply = await self._send(process, (function, tuple(arguments)))
        if reply is None:
            self._all.discard(process)
            process.kill()
            raise ClusterError("a worker process died while it loaded the models")
        succeeded, value = pickle.loads(reply)
        if not succeeded:
            raise value
        self.prepared = value
        self._free.put_nowait(process)


def _roundtrip(process: WorkerProcess, call: tuple[Any, ...]) -> bytes | None:
    """Pickle a call, outside the event loop, and return the reply."""
    return process.call(pickle.dumps(call))


def _leave_signals_to_the_main_thread() -> None:
    """Block signals in the thread that starts processes, which inherit that: their parent decides when they end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
