"""The HTTP server of the library uvicorn, as configured for this server and for that of annotation."""

from __future__ import annotations

import contextlib
import functools
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from nonproj.server.accepting import Listener
from nonproj.server.connections import Protocol

IDLE_SECONDS = 30
"""Seconds that an idle connection is kept open; clients close theirs earlier, often after 5 s."""


def quieten(*more: str) -> None:
    """Suppress the log messages of uvicorn, and of more libraries, except errors."""
    for library in ("uvicorn", *more):
        logging.getLogger(library).setLevel(logging.ERROR)


def configuration(app: ASGIApp, **options: Any) -> uvicorn.Config:
    """Return the configuration of the library, with additional options."""
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        **options,
    )


class Server(uvicorn.Server):
    """A server with limited connections, whose signals are handled by the event loop.

    Parameters
    ----------
    config : uvicorn.Config
    announce : callable
        Called when connections are accepted.
    """

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]):
        super().__init__(config)
        self._announce = announce

    def capture_signals(self) -> Any:
        """Do not install signal handlers."""
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections on bound sockets, and announce it."""
        protocol = functools.partial(Protocol, self.config, self.server_state, {})
        self.servers = [Listener(each, protocol) for each in sockets or []]  # type: ignore[misc]  # closed in the same way
        self.started = True
        self._announce()

    async def stop_accepting(self) -> None:
        """Accept no more connections, and wait until accepted ones have reached their protocols."""
        for listener in self.servers:
            listener.close()
            await listener.wait_closed()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests received so far, and close the connections."""
        await self.stop_accepting()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """Stop after the requests received so far are answered; a second call stops at once, without waiting."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
