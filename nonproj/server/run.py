"""Runs the server: sockets, signals, and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import uvicorn

from nonproj.errors import FileError
from nonproj.io.temporary import reason
from nonproj.server.app import Service, make_app
from nonproj.server.connections import Protocol, allow_files
from nonproj.server.limits import Limits
from nonproj.server.pool import WorkerPool
from nonproj.server.processing import prepare
from nonproj.workers.parsing import ModelRef

IDLE_SECONDS = 30
"""Seconds that an idle connection is kept open; clients close theirs earlier, often after 5 s."""

STOPPING_SECONDS = 5.0
"""Additional seconds for clients to read responses when the server stops."""

log = logging.getLogger("nonproj")


class ServerOptions(NamedTuple):
    """The address of the server, and its limits.

    Attributes
    ----------
    host, port : str and int
        Port 0 is any free port.
    jobs : int
        Number of worker processes.
    waiting : int
        Maximum number of waiting requests.
    timeout : float
        Target for the response time in seconds, and limit on the processing time.
    max_bytes : int
        Maximum size of the body of a request.
    worker_megabytes : int
        Memory limit of a worker process, in MiB.
    hosts, origins : sequence of str
        See `nonproj.server.hosts.HostCheck`.
    """

    host: str = "127.0.0.1"
    port: int = 8001
    jobs: int = 1
    waiting: int = 200
    timeout: float = 30.0
    max_bytes: int = 1 << 20
    worker_megabytes: int = 4096
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()


def run_server(models: Mapping[str, ModelRef], options: ServerOptions, descriptors: Sequence[int] = ()) -> None:
    """Serve until a signal arrives; requests received by then are answered.

    Parameters
    ----------
    models : mapping of str to ModelRef
        The models by name; the first is the default.
    options : ServerOptions
    descriptors : sequence of int
        Open files that workers inherit, such as those of the models.

    Raises
    ------
    FileError
        The address cannot be used.
    ModelError, ConfigError, ClusterError
        A model cannot be loaded, or workers cannot be started.
    """
    for library in ("uvicorn", "python_multipart"):
        logging.getLogger(library).setLevel(logging.ERROR)
    allow_files()
    with _listener(options.host, options.port) as listener, contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(models, options, descriptors, listener))
    log.info("stopped")


async def _serve(
    models: Mapping[str, ModelRef], options: ServerOptions, descriptors: Sequence[int], listener: socket.socket
) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    pairs = {name: (reference, reference._replace(tags="all")) for name, reference in models.items()}
    preparation = (prepare, list(models.values()), options.worker_megabytes)
    pool = WorkerPool(options.jobs, Limits(options.waiting, options.timeout), preparation, descriptors)
    config = uvicorn.Config(
        make_app(Service(pool, pairs, options.max_bytes, options.hosts, options.origins)),
        http=Protocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=int(2 * options.timeout + STOPPING_SECONDS),
    )
    server = _Server(config)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, server.stop, task)
    log.info("loading %s ...", ", ".join(models))
    async with pool:
        host, port = listener.getsockname()[:2]
        log.info("serving %s at http://%s:%d/", ", ".join(models), f"[{host}]" if ":" in host else host, port)
        _tell_hosts(options)
        pool.failed.add_done_callback(lambda _: server.fail())
        await server.serve(sockets=[listener])
        if pool.failed.done():
            pool.failed.result()


def _tell_hosts(options: ServerOptions) -> None:
    """Log the accepted host names, if other machines can send requests."""
    if options.host not in ("127.0.0.1", "::1", "localhost"):
        names = ", ".join(["localhost", "the address itself", *options.hosts])
        hint = "" if options.hosts else "; allow other names with --allowed-host NAME"
        log.info("accepting requests whose Host is %s%s", "any" if "*" in options.hosts else names, hint)


class _Server(uvicorn.Server):
    """A server whose signals are handled by the event loop."""

    def capture_signals(self) -> Any:
        """Do not install signal handlers."""
        return contextlib.nullcontext()

    def stop(self, task: asyncio.Task[Any] | None) -> None:
        """Stop gracefully; at the second call, immediately."""
        if not self.started:
            if task is not None:
                task.cancel()
        elif self.should_exit:
            self.force_exit = True
        else:
            log.info("stopping after the requests received so far")
            self.should_exit = True

    def fail(self) -> None:
        """Stop, because there are no workers."""
        self.should_exit = True


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
        raise FileError(f"{host}:{port}", f"cannot bind: {text}") from None
