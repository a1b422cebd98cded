"""Starts worker processes that load models before their first request."""

from __future__ import annotations

import asyncio
import pickle
import signal
from concurrent.futures import Executor
from typing import Any, NamedTuple

from nonproj.errors import ClusterError, NonprojError
from nonproj.io.temporary import reason
from nonproj.workers.processes import WorkerProcess


class Reply(NamedTuple):
    """The reply of a worker process: whether the call succeeded, and its value or error."""

    succeeded: bool
    value: Any


class Preparation:
    """The first call of worker processes, which loads the models, and the processes that have loaded these models.

    Parameters
    ----------
    call : tuple
        A function and its arguments.
    threads : Executor
        Threads in which signals are blocked: see `leave_signals_to_the_main_thread`.

    Attributes
    ----------
    result : object
        Result of the call in the last process.
    seconds : float
        Time that the last process took to start.
    processes : set of WorkerProcess
        Processes that were started and not killed, including those that are loading.
    """

    def __init__(self, call: tuple[Any, ...], threads: Executor):
        self._call, self._threads = call, threads
        self.result: Any = None
        self.seconds = 0.0
        self.processes: set[WorkerProcess] = set()
        self._starts = 0

    @property
    def in_use(self) -> bool:
        """Whether processes that need its models run or are being started."""
        return bool(self.processes) or self._starts > 0

    async def start(self) -> WorkerProcess:
        """Start a worker process, wait until it has made the initial call, and return it.

        Raises
        ------
        NonprojError
            The process cannot be started, or the call has failed.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._starts += 1
        try:
            process = await loop.run_in_executor(self._threads, WorkerProcess)
        except OSError as error:
            raise ClusterError(f"a worker process cannot be started: {reason(error)}") from None
        finally:
            self._starts -= 1
        self.processes.add(process)
        try:
            function, *arguments = self._call
            reply = await send(self._threads, process, (function, tuple(arguments)))
            if reply is None:
                raise ClusterError("a worker process died while loading the models")
            if not reply.succeeded and isinstance(reply.value, NonprojError):
                raise reply.value
            if not reply.succeeded:
                raise ClusterError(f"a worker process failed while loading the models: {reply.value!r}")
        except BaseException:
            self.kill(process)
            raise
        self.result, self.seconds = reply.value, loop.time() - began
        return process

    async def start_all(self, count: int) -> list[WorkerProcess]:
        """Return new processes; if one cannot be started, none remains.

        Raises
        ------
        NonprojError
        """
        others: list[asyncio.Task[WorkerProcess]] = []
        try:
            first = await self.start()  # the others find its compiled kernels
            others = [asyncio.create_task(self.start()) for _ in range(count - 1)]
            return [first, *await asyncio.gather(*others)]
        except BaseException:
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            self.kill_all()
            raise

    def kill(self, process: WorkerProcess) -> None:
        """End a process."""
        process.kill()
        self.processes.discard(process)

    def kill_all(self) -> None:
        """End all processes."""
        for process in list(self.processes):
            self.kill(process)


async def send(threads: Executor, process: WorkerProcess, call: tuple[Any, ...]) -> Reply | None:
    """Return the reply of a process to a call, or None if it dies."""
    return await asyncio.get_running_loop().run_in_executor(threads, _roundtrip, process, call)


def _roundtrip(process: WorkerProcess, call: tuple[Any, ...]) -> Reply | None:
    """Pickle a call, outside the event loop, and return the reply."""
    reply = process.call(pickle.dumps(call))
    return None if reply is None else Reply(*pickle.loads(reply))


def leave_signals_to_the_main_thread() -> None:
    """Block signals in a thread that starts processes, which inherit the mask: their parent decides when they end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
