"""Runs the server: sockets, signals, and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Sequence

from nonproj.server.accepting import bind
from nonproj.server.app import ServerOptions, Service, make_app
from nonproj.server.connections import Protocol, allow_files
from nonproj.server.library import Server, configuration, quieten
from nonproj.server.pool import WorkerPool
from nonproj.server.reloading import Load, Reloader
from nonproj.server.systemd import address_of, notify, passed_sockets

STOPPING_SECONDS = 5.0
"""Additional seconds for clients to read responses when the server stops."""

LAST_REQUEST_SECONDS = 2.0
"""Seconds in which a stopping server still accepts a request on an open connection."""

_LOCAL = ("http://127.0.0.1:", "http://[::1]:", "unix:")

log = logging.getLogger("nonproj")


def run_server(load: Load, options: ServerOptions) -> None:
    """Serve until a signal arrives; requests received by then are answered.  SIGHUP loads the models again.

    Parameters
    ----------
    load : callable
        See `nonproj.server.reloading.Load`.
    options : ServerOptions

    Raises
    ------
    FileError, ConfigError
        The address or the sockets passed by a service manager cannot be used, or too few files may be open.
    ModelError, ConfigError, ClusterError
        A model cannot be loaded, or workers cannot be started.
    """
    quieten("python_multipart")
    allow_files()
    with contextlib.ExitStack() as stack, contextlib.suppress(asyncio.CancelledError):
        listeners = passed_sockets() or [bind(options.host, options.port)]
        for listener in listeners:
            stack.enter_context(listener)
        asyncio.run(_serve(load, options, listeners))
    log.info("stopped")


async def _serve(load: Load, options: ServerOptions, listeners: list[socket.socket]) -> None:
    reloader = Reloader(load, options.max_worker_memory)
    control = _Control(reloader)
    async with reloader:
        names = list(reloader.models)
        log.info("loading %s ...", ", ".join(names))
        pool = WorkerPool(options.jobs, options.waiting, options.timeout, reloader.preparation)
        async with pool:
            seconds = int(2 * options.timeout + STOPPING_SECONDS)
            config = configuration(make_app(Service(pool, reloader, options)), timeout_graceful_shutdown=seconds)
            server = control.server = _Server(config, lambda: _announce(names, listeners, options))
            pool.workers.failed.add_done_callback(lambda _: server.fail())
            async with reloader.serving(pool):
                await server.serve(sockets=listeners)
            if pool.workers.failed.done():
                pool.workers.failed.result()


def _announce(names: Sequence[str], listeners: Sequence[socket.socket], options: ServerOptions) -> None:
    """Tell users and the service manager that requests are accepted, and for which hosts."""
    addresses = list(map(address_of, listeners))
    log.info("serving %s at %s", ", ".join(names), " and ".join(addresses))
    if not all(address.startswith(_LOCAL) for address in addresses):
        known = ", ".join(["localhost", "the address itself", *options.allowed_host])
        hint = "" if options.allowed_host else "; allow other names with --allowed-host NAME"
        log.info("accepting requests whose Host is %s%s", "any" if "*" in options.allowed_host else known, hint)
    notify(f"READY=1\nSTATUS=serving {', '.join(names)}")


class _Control:
    """Responds to signals from now on, including those that were blocked before.

    SIGINT and SIGTERM stop the server, SIGHUP reloads the models.

    SIGHUP also reports that the terminal of the server was closed; then it stops the server.

    Attributes
    ----------
    server : _Server or None
        Server that signals stop; None before it runs, when they stop the task that prepares it.
    """

    def __init__(self, reloader: Reloader):
        self._reloader, self._task = reloader, asyncio.current_task()
        self._had_terminal = _has_terminal()
        self.server: _Server | None = None
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGINT: self._stop, signal.SIGTERM: self._stop, signal.SIGHUP: self._hang_up}
        for number, handler in handlers.items():
            if signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    def _stop(self) -> None:
        if self.server is not None and self.server.started:
            self.server.stop()
        elif self._task is not None:
            self._task.cancel()

    def _hang_up(self) -> None:
        if self._had_terminal and not _has_terminal():
            self._stop()
        elif self.server is None or not self.server.should_exit:
            self._reloader.reload()


class _Server(Server):
    """A server that loses no request when it stops."""

    def stop(self) -> None:
        """Stop after the requests received so far are answered; a second call stops at once."""
        if not self.should_exit:
            log.info("stopping after the requests received so far")
            notify("STOPPING=1\nSTATUS=stopping after the requests received so far")
        super().stop()

    def fail(self) -> None:
        """Stop, because there are no workers."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections; answer the requests on open ones, then close these.

        A client with an open connection does not know that the server stops: its next request is answered, too, with
        ``Connection: close``.  Connections in the queue of a socket that a service manager keeps open remain there.
        """
        loop = asyncio.get_running_loop()
        await self.stop_accepting()
        for connection in self.server_state.connections:
            if isinstance(connection, Protocol):
                connection.retiring = True
        end = loop.time() + LAST_REQUEST_SECONDS
        while self.server_state.connections and loop.time() < end and not self.force_exit:
            await asyncio.sleep(0.05)
        await super().shutdown(sockets)


def _has_terminal() -> bool:
    """Return whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
