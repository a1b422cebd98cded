"""Runs the server of annotation: a loopback socket, signals, and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from nonproj.errors import FileError
from nonproj.io.temporary import reason

HOST = "127.0.0.1"
"""The only interface that is listened on: of this machine."""

log = logging.getLogger("nonproj")


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
    for library in ("uvicorn", "uvicorn.error"):
        logging.getLogger(library).setLevel(logging.ERROR)
    asyncio.run(_serve(app, listener, announce))


async def _serve(app: ASGIApp, listener: socket.socket, announce: Callable[[], None]) -> None:
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )
    server = _Server(config)
    server.announce = announce
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, server.stop)
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """A server whose signals are handled by the event loop."""

    announce: Callable[[], None] | None = None

    def capture_signals(self) -> Any:
        """Do not install signal handlers."""
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and say so."""
        await super().startup(sockets)
        if self.announce is not None:
            self.announce()

    def stop(self) -> None:
        """Stop: the edits received so far are answered; at the second call, immediately."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
