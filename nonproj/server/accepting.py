"""Accepting connections: a socket, and a few of its connections in each round of the event loop.

asyncio accepts as many connections at once as its queue may hold, more than there may be open files, before it hands
over the first, which could then be refused.  `Listener` accepts no more than can be closed in time.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import socket
import time
from collections.abc import Callable

from nonproj.errors import FileError
from nonproj.io.temporary import reason

QUEUE = 2048
"""Maximum number of connections that the system holds until they are accepted."""

ACCEPTED = 16
"""Maximum number of connections accepted in a round of the event loop.  A refused one is closed three rounds later."""

PAUSE_SECONDS = 1.0
"""Seconds until the next attempt, when the system has no descriptor or memory for another connection."""

REPEAT_SECONDS = 60.0


class OncePerMinute(logging.Filter):
    """A log filter that suppresses messages already written within the last minute.

    Examples
    --------
    >>> once, record = OncePerMinute(), logging.makeLogRecord({"msg": "busy"})
    >>> once.filter(record), once.filter(record)
    (True, False)
    """

    def __init__(self) -> None:
        super().__init__()
        self._times: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a message."""
        text, now = record.getMessage(), time.monotonic()
        if now < self._times.get(text, -math.inf) + REPEAT_SECONDS:
            return False
        self._times[text] = now
        return True


log = logging.getLogger("nonproj.connections")
log.addFilter(OncePerMinute())


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to the first address of a host.

    Raises
    ------
    FileError
        There is no such address, or its port is in use.

    Examples
    --------
    >>> with bind("127.0.0.1", 0) as endpoint:
    ...     endpoint.getsockname()[0]
    '127.0.0.1'
    """
    endpoint = None
    try:
        # asyncio turns Nagle's algorithm off only where the protocol is named; with it, an answer takes 40 ms more
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        endpoint = socket.socket(family, kind, protocol)
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        endpoint.bind(address)
        return endpoint
    except (OSError, OverflowError) as error:
        if endpoint:
            endpoint.close()
        text = reason(error) if isinstance(error, OSError) else str(error)
        hint = "; --port 0 takes a free one" if getattr(error, "errno", 0) == errno.EADDRINUSE else ""
        raise FileError(f"{host}:{port}", f"cannot bind: {text}{hint}") from None


class Listener:
    """Accepts the connections of a bound socket, from now on.

    Parameters
    ----------
    endpoint : socket
    protocol : callable
        Returns the protocol of a new connection.
    """

    def __init__(self, endpoint: socket.socket, protocol: Callable[[], asyncio.BaseProtocol]):
        self._endpoint, self._protocol, self._loop = endpoint, protocol, asyncio.get_running_loop()
        self._opening: set[asyncio.Task[object]] = set()
        self._pause: asyncio.TimerHandle | None = None
        endpoint.setblocking(False)
        endpoint.listen(QUEUE)
        self._start()

    def close(self) -> None:
        """Close the socket; connections in its queue remain there if another process has it open, too."""
        if self._endpoint.fileno() != -1:
            self._loop.remove_reader(self._endpoint)
            self._endpoint.close()
        if self._pause:
            self._pause.cancel()

    async def wait_closed(self) -> None:
        """Return when all accepted connections have reached their protocols."""
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _start(self) -> None:
        self._loop.add_reader(self._endpoint, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTED):
            try:
                connection, _ = self._endpoint.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                log.error("cannot accept connections: %s", reason(error))
                self._loop.remove_reader(self._endpoint)
                self._pause = self._loop.call_later(PAUSE_SECONDS, self._start)
                return
            connection.setblocking(False)
            task = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
