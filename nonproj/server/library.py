"""The HTTP server of the library uvicorn, as the servers of parsing and of annotation use it."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp


def quieten(*more: str) -> None:
    """Suppress messages of the library, and of others, below errors."""
    for library in ("uvicorn", *more):
        logging.getLogger(library).setLevel(logging.ERROR)


def configuration(app: ASGIApp, **options: Any) -> uvicorn.Config:
    """Return the configuration of the library, with further options."""
    return uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        **options,
    )


class Server(uvicorn.Server):
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
        """Stop: the requests received so far are answered; at the second call, immediately."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
