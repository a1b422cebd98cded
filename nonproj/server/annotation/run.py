"""Runs the server of annotation: a loopback socket, signals, and shutdown."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable

from starlette.types import ASGIApp

from nonproj.errors import FileError
from nonproj.io.temporary import reason
from nonproj.server.library import Server, configuration, quieten

HOST = "127.0.0.1"
"""The only interface that is listened on: of this machine."""


def listen(port: int) -> socket.socket:
    """Return a socket of this machine only.

    Raises
    ------
    FileError
        The port is in use.
    """
    # asyncio turns Nagle's algorithm off only for sockets that name the protocol; with it, an answer takes 40 ms more
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise FileError(f"{HOST}:{port}", f"cannot bind: {reason(error)}; --port 0 takes a free one") from None
    return listener


def serve(app: ASGIApp, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; the edits received by then are answered."""
    quieten("uvicorn.error")
    asyncio.run(_serve(app, listener, announce))


async def _serve(app: ASGIApp, listener: socket.socket, announce: Callable[[], None]) -> None:
    server = Server(configuration(app, timeout_graceful_shutdown=10))
    server.announce = announce
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, server.stop)
    await server.serve(sockets=[listener])
