"""Worker processes that are kept alive: started, watched while they are idle, and replaced when they die or are killed.

To load other models, all are replaced: new ones are started, and the old ones end as soon as they are idle.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from nonproj.errors import ClusterError, NonprojError
from nonproj.server.admission import Admission
from nonproj.server.starting import Preparation, Reply, leave_signals_to_the_main_thread, send
from nonproj.workers.processes import WorkerProcess

STARTS = 2
"""Number of failed starts per worker process after which no more are attempted, if no process is left."""

MAX_PAUSE = 30.0
"""Maximum time between two attempts to start a worker process."""

CHECK_SECONDS = 10.0
"""Time within which an idle worker has to answer a health check."""

REASONS = {
    "died": "it died",
    "time": "a request exceeded the time limit",
    "memory": "a request exceeded the memory limit",
    "left": "its client has disconnected",
}
"""Reasons for replacing processes, with their texts in the log."""

log = logging.getLogger("nonproj")


class ServerWorkers:
    """Worker processes; an asynchronous context manager.

    Parameters
    ----------
    size : int
        Number of processes.
    admission : Admission
        Informed of the number of ready processes, and of the time that a start takes.
    prepare : tuple
        The first call of every process, a function and its arguments; its result is `prepared`.
    released : callable
        Called when a process becomes idle.

    Attributes
    ----------
    replaced : Counter of str
        Number of processes replaced for each reason: ``died``, ``time``, ``memory``, ``left``.
    failed : asyncio.Future
        Its exception is set when no process is left and none can be started.
    """

    def __init__(self, size: int, admission: Admission, prepare: tuple[Any, ...], released: Callable[[], None]):
        self.size, self.replaced = size, Counter[str]()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._admission, self._released = admission, released
        self._idle: deque[WorkerProcess] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed, self._failures = False, 0
        self._threads = ThreadPoolExecutor(5 * size, "worker", initializer=leave_signals_to_the_main_thread)
        self._current = Preparation(prepare, self._threads)
        self._others: list[Preparation] = []  # the one before, and the next one

    async def __aenter__(self) -> ServerWorkers:
        try:
            self._join(await self._current.start_all(self.size))
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        for task in self._tasks:
            task.cancel()
        for process in self._idle:
            self._unwatch(process)
        for preparation in (self._current, *self._others):
            preparation.kill_all()
        self.failed.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def replace_all(self, prepare: tuple[Any, ...]) -> None:
        """Replace all processes by others with another first call; return when these are ready and take all calls.

        The old processes finish their calls.  If the new ones cannot be prepared, nothing changes.

        Parameters
        ----------
        prepare : tuple
            See `ServerWorkers`.

        Raises
        ------
        NonprojError
        """
        new = Preparation(prepare, self._threads)
        self._others.append(new)
        try:
            processes = await new.start_all(self.size)
        except BaseException:
            self._others.remove(new)
            raise
        self._others[self._others.index(new)] = self._current
        self._current, self._failures = new, 0
        while self._idle:
            self._end(self.take())
        self._join(processes)

    async def until_replaced(self) -> None:
        """Wait until the processes before the last `replace_all` have ended, at most as long as a call may take."""
        while any(preparation.in_use for preparation in self._others):
            await asyncio.sleep(0.05)
        self._others.clear()

    # -- state

    @property
    def prepared(self) -> Any:
        """The result of the first call of the processes."""
        return self._current.result

    @property
    def idle(self) -> int:
        """The number of idle processes."""
        return len(self._idle)

    @property
    def ready(self) -> int:
        """The number of processes that are idle or busy, excluding those being started."""
        return self._admission.workers

    @property
    def pids(self) -> list[int]:
        """The process IDs of all processes."""
        preparations = (self._current, *self._others)
        return [process.process.pid for each in preparations for process in each.processes]

    async def check(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """Return whether a process is ready: an idle one that answers a call, or a busy one, which has a time limit.

        Parameters
        ----------
        function : callable
        """
        while self._idle:
            process = self.take()
            sending = asyncio.ensure_future(self.send(process, (function, arguments)))
            await asyncio.wait({sending}, timeout=CHECK_SECONDS)
            reply = sending.result() if sending.done() else None
            if reply is not None and reply.succeeded:
                self.release(process)
                return True
            self.replace(process, "died" if sending.done() else "time")
        return self.ready > 0

    # -- use

    def take(self) -> WorkerProcess:
        """Return an idle process, which is busy from then on."""
        process = self._idle.popleft()
        self._unwatch(process)
        return process

    async def send(self, process: WorkerProcess, call: tuple[Any, ...]) -> Reply | None:
        """Return the reply of a process to a call, or None if it dies."""
        return await send(self._threads, process, call)

    def release(self, process: WorkerProcess) -> None:
        """Let a process wait for its next call; if it dies meanwhile, it is replaced at once."""
        if self._closed:
            return
        if process in self._current.processes:
            self._idle.append(process)
            asyncio.get_running_loop().add_reader(process.connection.fileno(), self._died, process)
        else:
            self._end(process)
        self._released()

    def replace(self, process: WorkerProcess, why: str) -> None:
        """Kill a process, and start another in the background."""
        is_current = process in self._current.processes
        self._end(process)
        if not self._closed:
            self.replaced[why] += 1
            log.warning("replaced a worker process: %s", REASONS[why])
            if is_current:
                self.later(self._add_again(self._current))

    def later(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the background until the context ends."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- processes

    def _unwatch(self, process: WorkerProcess) -> None:
        asyncio.get_running_loop().remove_reader(process.connection.fileno())

    def _died(self, process: WorkerProcess) -> None:
        """Replace an idle process whose socket reports end of file."""
        self._unwatch(process)
        with contextlib.suppress(ValueError):
            self._idle.remove(process)
            self.replace(process, "died")

    def _end(self, process: WorkerProcess) -> None:
        """Kill a process that is not among the idle ones."""
        for preparation in (self._current, *self._others):
            if process in preparation.processes:
                preparation.kill(process)
        self._admission.workers -= 1

    async def _add_again(self, preparation: Preparation) -> None:
        """Start a process, retrying on failure, until all are replaced; fail if none is left."""
        pause = 1.0
        while not self.failed.done() and preparation is self._current:
            try:
                process = await preparation.start()
            except NonprojError as error:
                self._failures += 1
                log.error("%s", error)
                if self._failures >= STARTS * self.size and not self.ready:
                    if not self.failed.done():
                        self.failed.set_exception(ClusterError(f"no worker process can be started: {error}"))
                    return
            else:
                self._failures = 0
                if self._closed or preparation is not self._current:  # all have been replaced meanwhile
                    preparation.kill(process)
                else:
                    self._join([process])
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)

    def _join(self, processes: list[WorkerProcess]) -> None:
        """Count prepared processes, and let them wait for calls."""
        self._admission.workers += len(processes)
        self._admission.reload = self._current.seconds
        for process in processes:
            self.release(process)
