"""The queue of requests, and their processing in worker processes that are killed when they exceed a limit.

A kernel cannot be interrupted, and a thread cannot be killed, so requests run in processes (`nonproj.server.workers`).
A process that exceeds the time limit, runs out of memory or works for a client that has disconnected is killed and
replaced by another, which loads the models first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, NamedTuple

from nonproj.errors import ClusterError, NonprojError
from nonproj.server.admission import Admission, GoneError, MemoryLimitError, Ticket, TimeLimitError
from nonproj.server.starting import Reply
from nonproj.server.workers import ServerWorkers
from nonproj.workers.processes import WorkerProcess

ATTEMPTS = 2
"""Maximum number of processes that are tried for a call if they die; the first may have died before the call."""


class CallResult(NamedTuple):
    """The value of a call, its waiting time and its processing time in seconds."""

    value: Any
    waited: float
    seconds: float


class WorkerPool:
    """A queue of calls for worker processes; an asynchronous context manager.

    Parameters
    ----------
    size : int
        Number of processes.
    waiting : int
        Maximum number of waiting calls.
    seconds : float
        Limit on the time of a call from its start in a process; also the target for its response time, with waiting.
    prepare : tuple
        The first call of every process, a function and its arguments.  Calls find the loaded models by name, so that a
        waiting call can run in any process.

    Attributes
    ----------
    workers : ServerWorkers
        The processes.
    """

    def __init__(self, size: int, waiting: int, seconds: float, prepare: tuple[Any, ...]):
        self.seconds, self._admission = seconds, Admission(waiting, seconds)
        self._queue: dict[Ticket, asyncio.Future[WorkerProcess]] = {}
        self.workers = ServerWorkers(size, self._admission, prepare, self._dispatch)
        self.workers.failed.add_done_callback(self._fail)

    async def __aenter__(self) -> WorkerPool:
        await self.workers.__aenter__()
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.workers.__aexit__(*details)

    # -- calls

    async def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        kind: Hashable = None,
        size: int = 0,
        gone: Callable[[], Awaitable[None]] | None = None,
    ) -> CallResult:
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
            See their definitions; the last is raised if processes die during the call, or none is left.
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
        return CallResult(reply.value, started - ticket.arrived, loop.time() - started)

    async def _process(self, ticket: Ticket, left: asyncio.Future[Any], again: bool) -> WorkerProcess:
        """Return a process for a call when it is its turn; with ``again``, the call goes to the front of the queue."""
        turn: asyncio.Future[WorkerProcess] = asyncio.get_running_loop().create_future()
        if self.workers.failed.done():
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
                self.workers.release(turn.result())
            raise
        finally:
            self._queue.pop(ticket, None)

    def _dispatch(self) -> None:
        """Give idle processes to the waiting calls, first come, first served; refuse those that would be late."""
        now = asyncio.get_running_loop().time()
        for ticket, error in self._admission.late(now):
            self._refuse(ticket, error)
        while self.workers.idle and self._queue:
            ticket = next(iter(self._queue))
            turn, process = self._queue.pop(ticket), self.workers.take()
            self._admission.start(ticket, now)
            turn.set_result(process)

    def _refuse(self, ticket: Ticket, error: NonprojError) -> None:
        """Make a waiting call fail."""
        turn = self._queue.pop(ticket, None)
        if turn is not None and not turn.done():
            turn.set_exception(error)

    def _fail(self, failed: asyncio.Future[None]) -> None:
        """Make all waiting calls fail, because no processes are left."""
        error = None if failed.cancelled() else failed.exception()
        if isinstance(error, NonprojError):
            for ticket in list(self._queue):
                self._refuse(ticket, error)

    async def _run(
        self, process: WorkerProcess, ticket: Ticket, call: tuple[Any, ...], left: asyncio.Future[Any]
    ) -> Reply | None:
        """Return the reply to a call in a process, which is replaced if it has to be killed; None if it dies."""
        loop, sending = asyncio.get_running_loop(), asyncio.ensure_future(self.workers.send(process, call))
        try:
            await asyncio.wait({sending, left}, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.workers.replace(process, "left")
            raise
        if not sending.done():
            if left.done():
                self.workers.later(self._abandon(process, sending))
                raise GoneError("the client has disconnected")
            self._admission.finish(ticket, loop.time())
            self.workers.replace(process, "time")
            raise TimeLimitError(f"the request took more than {self.seconds:g} s; split it")
        reply = sending.result()
        if reply is None:
            self.workers.replace(process, "died")
            return None
        self._admission.finish(ticket, loop.time())
        if isinstance(reply.value, MemoryError):
            self.workers.replace(process, "memory")
            raise MemoryLimitError("the request exceeds the memory limit of a worker; split it")
        self.workers.release(process)
        return reply

    async def _abandon(self, process: WorkerProcess, sending: asyncio.Future[Reply | None]) -> None:
        """Free a process whose client has disconnected: wait as long as starting another would take, then kill it."""
        done, _ = await asyncio.wait({sending}, timeout=self._admission.reload)
        if done and sending.result() is not None:
            self.workers.release(process)
        else:
            self.workers.replace(process, "left")

    # -- state

    @property
    def waiting(self) -> int:
        """The number of waiting calls."""
        return self._admission.waiting

    def delay(self) -> float:
        """Return the estimated waiting time of a call made now."""
        return self._admission.delay(asyncio.get_running_loop().time())
