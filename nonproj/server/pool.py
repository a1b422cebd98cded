"""Worker processes that are killed when they exceed a limit, and the queue of requests.

A kernel cannot be interrupted, and a thread cannot be killed, so requests run in processes.  A process that exceeds the
time limit, runs out of memory or works for a client that has disconnected is killed and replaced by another, which
loads the models first.  To change the models, all processes are replaced: new ones are started, and the old ones end
as soon as they are idle.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from nonproj.errors import ClusterError, NonprojError
from nonproj.server.admission import Admission, Ticket
from nonproj.server.limits import GoneError, Limits, MemoryLimitError, TimeLimitError
from nonproj.server.starting import Preparation, Reply, leave_signals_to_the_main_thread, send
from nonproj.workers.processes import WorkerProcess

ATTEMPTS = 2
"""Maximum number of worker processes that may die of one call; the first may have died before the call."""

STARTS = 2
"""Number of failed attempts per worker process, if none is left, after which the pool fails."""

MAX_PAUSE = 30.0
"""Maximum time between two attempts to start a worker process."""

CHECK_SECONDS = 10.0
"""Time within which an idle worker has to answer a health check."""

log = logging.getLogger("nonproj")


class Outcome(NamedTuple):
    """The value of a call, its waiting time and its processing time in seconds."""

    value: Any
    waited: float
    seconds: float


class WorkerPool:
    """Worker processes; an asynchronous context manager.

    Parameters
    ----------
    size : int
        Number of processes.
    limits : Limits
    prepare : tuple
        The first call of every process, a function and its arguments; its result is `prepared`.  Calls find what it has
        loaded by name, so that a waiting call can run in any process.
    descriptors : sequence of int
        Open files that every process inherits.

    Attributes
    ----------
    replaced : Counter of str
        Number of processes replaced for each reason: ``died``, ``time``, ``memory``, ``left``.
    failed : asyncio.Future
        Its exception is set when no process is left and none can be started.
    """

    def __init__(self, size: int, limits: Limits, prepare: tuple[Any, ...], descriptors: Sequence[int] = ()):
        self.size, self.limits = size, limits
        self.replaced: Counter[str] = Counter()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._admission = Admission(limits.waiting, limits.seconds)
        self._idle: deque[WorkerProcess] = deque()
        self._queue: dict[Ticket, asyncio.Future[WorkerProcess]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed, self._failures = False, 0
        self._threads = ThreadPoolExecutor(5 * size, "worker", initializer=leave_signals_to_the_main_thread)
        self._current = Preparation(prepare, descriptors, self._threads)
        self._others: list[Preparation] = []  # the one before, and the next one

    async def __aenter__(self) -> WorkerPool:
        try:
            await self._add()  # the others find its compiled kernels
            await asyncio.gather(*(self._add() for _ in range(self.size - 1)))
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

    async def replace_all(self, prepare: tuple[Any, ...], descriptors: Sequence[int] = ()) -> None:
        """Replace all processes by others with another first call; return when these are ready and take all calls.

        The old processes finish their calls.  If the new ones cannot be prepared, nothing changes.

        Parameters
        ----------
        prepare, descriptors : tuple and sequence of int
            See `WorkerPool`.

        Raises
        ------
        NonprojError
        """
        new = Preparation(prepare, descriptors, self._threads)
        self._others.append(new)
        try:
            processes = await new.start_all(self.size)
        except BaseException:
            self._others.remove(new)
            raise
        self._others[self._others.index(new)] = self._current
        self._current, self._failures = new, 0
        self._admission.workers += len(processes)
        while self._idle:
            process = self._idle.pop()
            self._unwatch(process)
            self._end(process)
        for process in processes:
            self._release(process)

    async def until_replaced(self) -> None:
        """Wait until the processes before the last `replace_all` have ended, at most as long as a call may take."""
        while any(preparation.in_use for preparation in self._others):
            await asyncio.sleep(0.05)
        self._others.clear()

    # -- calls

    async def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        kind: Hashable = None,
        size: int = 0,
        gone: Callable[[], Awaitable[None]] | None = None,
    ) -> Outcome:
        """Return the outcome of a call in a worker process.

        Parameters
        ----------
        function : callable
            Importable by name.
        kind, size : hashable and int
            Calls of a kind take about the same time per unit of size: see `nonproj.server.admission`.
        gone : callable, optional
            Returns when nobody waits for the result any longer.

        Raises
        ------
        BusyError, TimeLimitError, MemoryLimitError, GoneError, ClusterError
            See their definitions; the last is raised if processes die of the call, or none is left.
        Exception
            Any exception of the function.
        """
        loop = asyncio.get_running_loop()
        ticket = self._admission.admit(kind, size, loop.time())
        left = asyncio.ensure_future(gone() if gone else asyncio.Event().wait())
        try:
            for attempt in range(ATTEMPTS):
                process = await self._process(ticket, left, again=attempt > 0)
                started = loop.time()
                reply = await self._run(process, ticket, (function, arguments), left)
                if reply is not None:
                    break
                self._admission.wait_again(ticket)
            else:
                raise ClusterError("the worker process died, perhaps for lack of memory; split it")
        finally:
            left.cancel()
            self._admission.discard(ticket)
        if not reply.succeeded:
            raise reply.value
        return Outcome(reply.value, started - ticket.arrived, loop.time() - started)

    async def _process(self, ticket: Ticket, left: asyncio.Future[Any], again: bool) -> WorkerProcess:
        """Return a process for a call when it is its turn; with ``again`` it is the next."""
        turn: asyncio.Future[WorkerProcess] = asyncio.get_running_loop().create_future()
        if self.failed.done():
            raise ClusterError("no worker process can be started")
        self._queue = {ticket: turn} | self._queue if again else self._queue | {ticket: turn}
        self._dispatch()
        try:
            await asyncio.wait({turn, left}, return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                raise GoneError("the client has disconnected")
            return turn.result()
        except BaseException:
            if turn.done() and turn.exception() is None:
                self._release(turn.result())
            raise
        finally:
            self._queue.pop(ticket, None)

    def _dispatch(self) -> None:
        """Give idle processes to the waiting calls, first come, first served; refuse those that would be late."""
        now = asyncio.get_running_loop().time()
        for ticket, error in self._admission.late(now):
            self._refuse(ticket, error)
        while self._idle and self._queue:
            ticket = next(iter(self._queue))
            turn, process = self._queue.pop(ticket), self._idle.popleft()
            self._unwatch(process)
            self._admission.start(ticket, now)
            turn.set_result(process)

    def _refuse(self, ticket: Ticket, error: NonprojError) -> None:
        """Make a waiting call fail."""
        turn = self._queue.pop(ticket, None)
        if turn is not None and not turn.done():
            turn.set_exception(error)

    async def _run(
        self, process: WorkerProcess, ticket: Ticket, call: tuple[Any, ...], left: asyncio.Future[Any]
    ) -> Reply | None:
        """Return the reply to a call in a process, which is replaced if it has to be killed; None if it dies."""
        loop, sending = asyncio.get_running_loop(), asyncio.ensure_future(send(self._threads, process, call))
        try:
            await asyncio.wait({sending, left}, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._replace(process, "left")
            raise
        if not sending.done():
            if left.done():
                self._later(self._abandon(process, sending))
                raise GoneError("the client has disconnected")
            self._admission.finish(ticket, loop.time())
            self._replace(process, "time")
            raise TimeLimitError(f"the request took more than {self.limits.seconds:g} s; split it")
        reply = sending.result()
        if reply is None:
            self._replace(process, "died")
            return None
        self._admission.finish(ticket, loop.time())
        if isinstance(reply.value, MemoryError):
            self._replace(process, "memory")
            raise MemoryLimitError("the request exceeds the memory limit of a worker; split it")
        self._release(process)
        return reply

    async def _abandon(self, process: WorkerProcess, sending: asyncio.Future[Reply | None]) -> None:
        """Free a process whose client has disconnected: wait as long as starting another would take, then kill it."""
        done, _ = await asyncio.wait({sending}, timeout=self._admission.reload)
        if done and sending.result() is not None:
            self._release(process)
        else:
            self._replace(process, "left")

    # -- state

    @property
    def prepared(self) -> Any:
        """The result of the first call of the processes."""
        return self._current.result

    @property
    def waiting(self) -> int:
        """The number of waiting calls."""
        return self._admission.waiting

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

    def delay(self) -> float:
        """Return the estimated waiting time of a call made now."""
        return self._admission.delay(asyncio.get_running_loop().time())

    async def check(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """Return whether processes are ready: an idle one has to return from a call; busy ones have a time limit.

        Parameters
        ----------
        function : callable
        """
        while self._idle:
            process = self._idle.pop()
            self._unwatch(process)
            sending = asyncio.ensure_future(send(self._threads, process, (function, arguments)))
            await asyncio.wait({sending}, timeout=CHECK_SECONDS)
            reply = sending.result() if sending.done() else None
            if reply is not None and reply.succeeded:
                self._release(process)
                return True
            self._replace(process, "died" if sending.done() else "time")
        return self.ready > 0

    # -- processes

    def _release(self, process: WorkerProcess) -> None:
        """Let a process wait for its next call; if it dies meanwhile, it is replaced at once."""
        if self._closed:
            return
        if process in self._current.processes:
            self._idle.append(process)
            asyncio.get_running_loop().add_reader(process.connection.fileno(), self._died, process)
        else:
            self._end(process)
        self._dispatch()

    def _unwatch(self, process: WorkerProcess) -> None:
        asyncio.get_running_loop().remove_reader(process.connection.fileno())

    def _died(self, process: WorkerProcess) -> None:
        """Replace an idle process whose socket reports end of file."""
        self._unwatch(process)
        with contextlib.suppress(ValueError):
            self._idle.remove(process)
            self._replace(process, "died")

    def _end(self, process: WorkerProcess) -> None:
        """Kill a process that is not among the idle ones."""
        for preparation in (self._current, *self._others):
            if process in preparation.processes:
                preparation.kill(process)
        self._admission.workers -= 1

    def _replace(self, process: WorkerProcess, why: str) -> None:
        """Kill a process, and start another in the background."""
        is_current = process in self._current.processes
        self._end(process)
        if not self._closed:
            self.replaced[why] += 1
            log.warning("replaced a worker process: %s", _REASONS[why])
            if is_current:
                self._later(self._add_again(self._current))

    def _later(self, coroutine: Any) -> None:
        """Run a coroutine in the background until the pool is closed."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _add_again(self, preparation: Preparation) -> None:
        """Start a process, retrying on failure, until all are replaced; fail if none is left."""
        pause = 1.0
        while not self.failed.done() and preparation is self._current:
            try:
                await self._add()
                self._failures = 0
                return
            except NonprojError as error:
                self._failures += 1
                log.error("%s", error)
                if self._failures >= STARTS * self.size and not self.ready:
                    self._fail(ClusterError(f"no worker process can be started: {error}"))
                    return
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)

    def _fail(self, error: ClusterError) -> None:
        """Fail for good."""
        if not self.failed.done():
            self.failed.set_exception(error)
        for ticket in list(self._queue):
            self._refuse(ticket, error)

    async def _add(self) -> None:
        """Start a process; it becomes idle once it is prepared, unless all are replaced meanwhile."""
        loop, preparation = asyncio.get_running_loop(), self._current
        began = loop.time()
        process = await preparation.start()
        if self._closed or preparation is not self._current:
            preparation.kill(process)
            return
        self._admission.workers += 1
        self._admission.reload = loop.time() - began
        self._release(process)


_REASONS = {
    "died": "it died",
    "time": "a request exceeded the time limit",
    "memory": "a request exceeded the memory limit",
    "left": "its client has disconnected",
}
