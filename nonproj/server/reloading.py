"""Loads the models of a running server, at its start and again on demand, without losing a request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack

from nonproj.errors import NonprojError, one_line
from nonproj.server.pool import WorkerPool
from nonproj.server.processing import prepare
from nonproj.server.systemd import notify
from nonproj.workers.parsing import ModelRef

log = logging.getLogger("nonproj")


Load = Callable[[], AbstractContextManager[Mapping[str, ModelRef]]]
"""Function that copies the models for the duration of a context, under the same names each time, the default first."""


class Reloader:
    """Loads and reloads the models of a server; an asynchronous context manager.

    Parameters
    ----------
    load : callable
        See `Load`.
    megabytes : int
        Memory limit of a worker process.

    Attributes
    ----------
    models : mapping of str to ModelRef
        The server's own copies of its models, by name.
    results : Counter of str
        Number of reloads by result: ``succeeded`` or ``failed``.
    loaded : float
        Time at which the current models were loaded, in seconds since 1970.
    """

    def __init__(self, load: Load, megabytes: int):
        self._load, self._megabytes = load, megabytes
        self._stack = ExitStack()
        self._pool: WorkerPool | None = None
        self._task: asyncio.Task[None] | None = None
        self._wanted = False
        self.results: Counter[str] = Counter()
        self.loaded = 0.0

    async def __aenter__(self) -> Reloader:
        self.models = await self._copy(self._stack)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def preparation(self) -> tuple[object, ...]:
        """The first call of worker processes."""
        return prepare, self.models, self._megabytes

    @contextlib.asynccontextmanager
    async def serving(self, pool: WorkerPool):  # type: ignore[no-untyped-def]
        """Reload on demand as long as the context lasts, with this pool of worker processes."""
        self._pool, self.loaded = pool, time.time()
        if self._wanted:
            self.reload()
        try:
            yield
        finally:
            self._pool, self._wanted = None, False
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait({self._task})

    def reload(self) -> None:
        """Load the models again: at once, after the current reload, or once the server is ready."""
        self._wanted = True
        if self._pool is not None and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._reload_while_wanted(self._pool))

    async def _reload_while_wanted(self, pool: WorkerPool) -> None:
        while self._wanted:
            self._wanted = False
            notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}\nSTATUS=reloading the models")
            result, message = await self._reload(pool)
            self.results[result] += 1
            notify(f"READY=1\nSTATUS={one_line(message)}")

    async def _reload(self, pool: WorkerPool) -> tuple[str, str]:
        """Load the models once, and return the result and a message about it."""
        names, stack = ", ".join(self.models), ExitStack()
        log.info("reloading %s ...", names)
        try:
            models = await self._copy(stack)
            before, self.models = self.models, models
            try:
                await pool.workers.replace_all(self.preparation)
            except BaseException:
                self.models = before
                raise
            self._stack, stack = stack, self._stack
            self.loaded = time.time()
            log.info("serving the reloaded %s", names)
            await pool.workers.until_replaced()
        except Exception as error:
            message = str(error) if isinstance(error, NonprojError) else f"{type(error).__name__}: {error}"
            log.error("reloading failed, still serving the models loaded before: %s", one_line(message))
            return "failed", f"reloading failed: {message}"
        finally:
            stack.close()
        return "succeeded", f"serving {names}"

    async def _copy(self, stack: ExitStack) -> Mapping[str, ModelRef]:
        """Copy the models, in a thread; the copies exist until the stack is closed."""
        copying = asyncio.ensure_future(asyncio.to_thread(lambda: stack.enter_context(self._load())))
        try:
            return await asyncio.shield(copying)
        except asyncio.CancelledError:
            await asyncio.wait({copying})  # the stack must not be closed before
            raise
