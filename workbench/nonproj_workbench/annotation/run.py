"""The server of annotation: a loopback socket, signals, and shutdown."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable

from starlette.types import ASGIApp

from nonproj.server.accepting import bind
from nonproj.server.connections import Writing, allow_files
from nonproj.server.library import Server, configuration, quieten

HOST = "127.0.0.1"
"""The only interface that the server listens on: the loopback one."""


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback interface only.

    Raises
    ------
    FileError, ConfigError
        The port is in use, or too few files may be open.
    """
    allow_files()
    return bind(HOST, port)


def serve(app: ASGIApp, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; the edits received by then are answered."""
    quieten()
    asyncio.run(_serve(app, listener, announce))


async def _serve(app: ASGIApp, listener: socket.socket, announce: Callable[[], None]) -> None:
    server = Server(configuration(Writing(app), timeout_graceful_shutdown=10), announce)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, server.stop)
    await server.serve(sockets=[listener])
