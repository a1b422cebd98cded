"""Connections: limits on their number, and for clients that send slowly, in tiny chunks, or do not read.

`Protocol` closes connections whose request headers take too long, whose bodies come in tiny chunks, or that are idle
while there are too many.  `Writing`, an ASGI middleware, hands responses to the socket in pieces, so that the memory
for clients that read slowly is limited, and disconnects clients that do not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import resource
import socket
from collections.abc import MutableMapping
from typing import Any

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nonproj.errors import ConfigError
from nonproj.server.accepting import ACCEPTED, log

CONNECTIONS = 1000
"""Maximum number of connections; for each additional one, the one that has been idle for longest is closed.

If none is idle, requests on additional connections are refused, and more than `REFUSED` of these are closed at once.
"""

REFUSED = 100

OTHER_FILES = 124
"""Number of files that the server opens besides connections: those of worker processes and models."""

LEAST_FILES = OTHER_FILES + REFUSED + 2 * ACCEPTED
"""Minimum of the limit on open files: a refused connection may last two rounds of the event loop."""

HEADER_SECONDS = 10.0
"""Seconds within which a client must send the header of a request."""

FREE_CHUNKS, LEAST_CHUNK = 1000, 16
"""A body may have this number of chunks of any size, and more if their average size in bytes is at least the second."""

PROBE_SECONDS = 0.5
"""Seconds within which the network reports that a client has gone, instead of waiting for a response."""

SLICE = 1 << 14
"""Number of bytes of a request that are parsed at a time."""

PIECE = 1 << 16
"""Number of bytes passed to a socket at a time."""

WRITE_SECONDS, WRITE_SPEED = 30.0, 100_000.0
"""Seconds within which a client must read a response, and bytes per additional second."""

UNSENT_BYTES = 256 << 20
"""Maximum number of bytes of unread responses; beyond it, the slowest client is disconnected."""


_ABSOLUTE = re.compile(rb"https?://([^/?#]*)(/?[^#]*)", re.IGNORECASE)


class Connection(h11.Connection):
    """The state of a connection, which refuses bodies in tiny chunks: each chunk takes time in the event loop."""

    chunks, received = 0, 0

    def next_event(self) -> Any:
        """Return the next event, but never the end of the connection; raise RemoteProtocolError for too many chunks."""
        event = super().next_event()
        if isinstance(event, h11.ConnectionClosed):
            return h11.NEED_DATA  # `Protocol` closes the connection; the library would ask for ever
        if isinstance(event, h11.Request):
            self.chunks = self.received = 0
            event = _in_origin_form(event)
        elif isinstance(event, h11.Data):
            self.chunks += event.chunk_start
            self.received += len(event.data)
            if self.chunks > FREE_CHUNKS + self.received // LEAST_CHUNK:
                raise h11.RemoteProtocolError("the chunks of the body are too small")
        return event


def _in_origin_form(request: h11.Request) -> h11.Request:
    """Return a request for a URL, as clients send them to proxies, with the path as its target and the URL's host."""
    url = _ABSOLUTE.fullmatch(request.target)
    if url is None:
        return request
    headers = [(b"host", url[1]), *(pair for pair in request.headers if pair[0] != b"host")]
    target = url[2] if url[2].startswith(b"/") else b"/" + url[2]
    return h11.Request(method=request.method, target=target, headers=headers, http_version=request.http_version)


class Protocol(H11Protocol):
    """A connection with limits.

    Applications find it in the scope of a request, as ``scope["state"]["connection"]``.

    Attributes
    ----------
    retiring : bool
        Whether the next response is the last one on this connection; the response says so.
    """

    retiring = False
    _idle_since = 0.0
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.app_state = {**self.app_state, "connection": self}
        self.conn = Connection(h11.SERVER)
        self._received, self._is_scheduled, self._ended = bytearray(), False, False

    @property
    def excess(self) -> int:
        """The number of connections beyond the limit, 0 or less if there are none."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = CONNECTIONS if files == resource.RLIM_INFINITY else min(CONNECTIONS, files - REFUSED - OTHER_FILES)
        return len(self.connections) - limit

    @property
    def is_idle(self) -> bool:
        """Whether there is no request, or its header is incomplete."""
        return self.cycle is None or self.cycle.response_complete

    def drop(self) -> None:
        """Close the connection immediately, and discard unsent data."""
        self.connections.discard(self)
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first header; count every unsent byte, so that `Writing` waits for all of them."""
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        if self.excess > 0:
            self._make_room()
        transport.set_write_buffer_limits(high=0)
        endpoint = transport.get_extra_info("socket")
        if endpoint is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
            with contextlib.suppress(OSError):
                endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(2000 * WRITE_SECONDS))
        self._watch()

    def _make_room(self) -> None:
        """Close the connection that has been idle for longest, one without any request first; or else this one."""
        others = [each for each in self.connections if isinstance(each, Protocol) and each.is_idle and each is not self]
        if others:
            log.warning("too many connections; closing those without a request")
            min(others, key=lambda each: (each.cycle is not None, each._idle_since)).drop()
        elif self.excess > REFUSED:  # never run out of file descriptors
            log.warning("too many requests; closing new connections")
            self.drop()

    def on_response_complete(self) -> None:
        """Record when the connection becomes idle."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        """Receive data in slices, so that others are served between slices."""
        self._received += data
        if not self._is_scheduled:
            self._take_slice()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection of a client that has finished sending, until its requests are answered."""
        self._ended = True
        if not self._is_scheduled:
            self._take_slice()
        return True

    def _take_slice(self) -> None:
        """Parse a slice of the received data, or their end, and schedule the rest."""
        data = bytes(self._received[:SLICE])
        del self._received[:SLICE]
        if not self.transport.is_closing():
            super().data_received(data)
            self._watch()
            if not data:
                self._finish()
        self._is_scheduled = bool(self._received) or (self._ended and bool(data))
        if self._is_scheduled:
            self.loop.call_soon(self._take_slice)

    def _finish(self) -> None:
        """After the last data, close the connection, or see whether the client still waits for a response."""
        if self.conn.our_state is h11.MUST_CLOSE:
            self.transport.close()
        else:
            self._probe()
            self.loop.call_later(PROBE_SECONDS, self._probe)

    def _probe(self) -> None:
        """Send an interim response, if allowed; a client that is gone resets the connection, and a later one fails."""
        allowed = self.conn.our_state is h11.SEND_RESPONSE and self.scope["http_version"] != "1.0"
        if allowed and not self.transport.is_closing():
            interim = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
            self.transport.write(self.conn.send(interim))

    def send_400_response(self, msg: str) -> None:
        """Respond to a malformed request, unless a response has already been sent."""
        try:
            super().send_400_response(f"{msg}\n")
        except h11.LocalProtocolError:
            self.transport.close()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the timer while a header is incomplete, and stop it otherwise."""
        if not self.is_idle and self._timer:
            self._timer.cancel()
            self._timer = None
        elif self.is_idle and not self._timer:
            self._timer = self.loop.call_later(HEADER_SECONDS, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self.is_idle and not self.transport.is_closing():
            self.transport.close()


def allow_files() -> None:
    """Raise the limit on open files as far as useful and permitted.

    Raises
    ------
    ConfigError
        It is too low for a server.
    """
    wanted = CONNECTIONS + REFUSED + 2 * OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    if soft != resource.RLIM_INFINITY and soft < LEAST_FILES:
        ways = f"'ulimit -n {LEAST_FILES}', LimitNOFILE={LEAST_FILES} of a systemd unit, --ulimit nofile of docker"
        message = f"{soft} open files are allowed, and a server needs {LEAST_FILES}; raise the hard limit: {ways}"
        raise ConfigError("ulimit -n", message)


class Writing:
    """Sends responses in pieces, within limits of time and of unsent bytes.

    Parameters
    ----------
    app : ASGI application

    Attributes
    ----------
    dropped : int
        Number of disconnected clients that did not read their responses.
    """

    def __init__(self, app: ASGIApp):
        self.app, self.dropped = app, 0
        self._clients: dict[Protocol, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and send the body of its response in pieces."""
        client = scope.get("state", {}).get("connection")
        if scope["type"] != "http" or client is None:  # no socket, as in tests of an application alone
            await self.app(scope, receive, send)
            return

        async def send_in_pieces(message: MutableMapping[str, Any]) -> None:
            """Send a message; a body in pieces, of which the last one is empty and waits for the others."""
            if message["type"] == "http.response.start" and client.retiring:
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            if message["type"] != "http.response.body" or not message.get("body"):
                await self._within(send(message), client, 0)
            else:
                await self._within(self._send_body(client, send, message), client, len(message["body"]))

        await self.app(scope, receive, send_in_pieces)

    @property
    def unsent(self) -> int:
        """The total number of bytes of responses being sent."""
        return sum(self._clients.values())

    async def _send_body(self, client: Protocol, send: Send, message: MutableMapping[str, Any]) -> None:
        body = memoryview(message["body"])
        self._clients[client] = len(body)
        self._make_room(client)
        try:
            for start in range(0, len(body), PIECE):
                await send({"type": message["type"], "body": bytes(body[start : start + PIECE]), "more_body": True})
                if client not in self._clients:  # it has been disconnected
                    return
                self._clients[client] = max(0, len(body) - start - PIECE)
            await send({"type": message["type"], "body": b"", "more_body": message.get("more_body", False)})
        finally:
            self._clients.pop(client, None)

    def _make_room(self, newest: Protocol) -> None:
        """Disconnect the slowest clients while too much is unsent."""
        for client in [client for client in self._clients if client is not newest]:
            if self.unsent <= UNSENT_BYTES:
                break
            del self._clients[client]
            self._drop(client)

    async def _within(self, sending: Any, client: Protocol, size: int) -> None:
        """Wait for a message to be sent, and disconnect the client if it does not read it in time."""
        try:
            async with asyncio.timeout(WRITE_SECONDS + size / WRITE_SPEED):
                await sending
        except TimeoutError:
            self._drop(client)
            await asyncio.sleep(0)  # lets the server notice

    def _drop(self, client: Protocol) -> None:
        self.dropped += 1
        client.drop()
