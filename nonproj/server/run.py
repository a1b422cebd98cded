"""Runs the server: sockets, signals, slow clients."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from nonproj.errors import FileError
from nonproj.io.temporary import reason
from nonproj.server.app import Service, make_app
from nonproj.server.pool import WorkerPool
from nonproj.server.processing import prepare
from nonproj.workers.parsing import ModelRef

CONNECTIONS = 1000
"""Open connections; more are refused."""

HEADER_SECONDS = 10.0
"""Time that a client has to send the header of a request."""

IDLE_SECONDS = 30
"""Time that a connection is kept open between requests; clients close theirs earlier, often after 5 s."""

STOPPING_SECONDS = 5.0
"""Time beyond the limit of a request that clients have to read its response when the server stops."""

log = logging.getLogger("nonproj")


class ServerOptions(NamedTuple):
    """Where the server listens, and its limits.

    Attributes
    ----------
    host, port : str and int
        Port 0 is any that is free.
    jobs : int
        Number of worker processes.
    waiting : int
        Number of requests that may wait for a process.
    timeout : float
        Seconds that a request may take.
    max_bytes : int
        Limit for the body of a request.
    """

    host: str = "127.0.0.1"
    port: int = 8001
    jobs: int = 1
    waiting: int = 200
    timeout: float = 30.0
    max_bytes: int = 1 << 20


def run_server(models: dict[str, ModelRef], options: ServerOptions) -> None:
    """Serve until a signal arrives; requests that have arrived by then are answered.

    Parameters
    ----------
    models : dict of str to ModelRef
        The models by name; the first is the default.
    options : ServerOptions

    Raises
    ------
    FileError
        The address cannot be used.
    ModelError, ClusterError
        A model cannot be loaded.
    """
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    with _listener(options.host, options.port) as listener, contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(models, options, listener))
    log.info("stopped")


async def _serve(models: dict[str, ModelRef], options: ServerOptions, listener: socket.socket) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    pairs = {name: (reference, reference._replace(tags="all")) for name, reference in models.items()}
    pool = WorkerPool(options.jobs, options.waiting, options.timeout, (prepare, list(models.values())))
    config = uvicorn.Config(
        make_app(Service(pool, pairs, options.max_bytes)),
        http=_Protocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=int(options.timeout + STOPPING_SECONDS),
    )
    server = _Server(config)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, server.stop, task)
    log.info("loading %s ...", ", ".join(models))
    async with pool:
        host, port = listener.getsockname()[:2]
        log.info("serving %s at http://%s:%d/", ", ".join(models), f"[{host}]" if ":" in host else host, port)
        await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """A server whose signals are handled by the event loop."""

    def capture_signals(self):
        """Leave signals alone."""
        return contextlib.nullcontext()

    def stop(self, task: asyncio.Task[Any]) -> None:
        """Stop gracefully; at the second call at once."""
        if not self.started:
            task.cancel()
        elif self.should_exit:
            self.force_exit = True
        else:
            log.info("stopping; requests are being answered")
            self.should_exit = True


class _Protocol(H11Protocol):
    """A connection that is closed if the header of a request takes too long."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the clock while a header is incomplete, and stop it otherwise."""
        incomplete = self.cycle is None or self.cycle.response_complete
        if not incomplete and self._timer:
            self._timer.cancel()
            self._timer = None
        elif incomplete and not self._timer:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


def _listener(host: str, port: int) -> socket.socket:
    """Return a socket bound to the first address of the host."""
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        return listener
    except (OSError, OverflowError) as error:
        if listener:
            listener.close()
        text = reason(error) if isinstance(error, OSError) else str(error)
        raise FileError(f"{host}:{port}", f"cannot be listened on: {text}") from None
