"""Receives the bodies of requests, within limits of size and time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request

from nonproj.server.limits import GoneError

DISCARD_SECONDS = 1.0
"""Seconds during which the rest of a request that is too large is discarded."""

_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class BodyLimits(NamedTuple):
    """The maximum size of the body of a request, and the time in seconds within which it has to arrive."""

    max_bytes: int
    seconds: float


async def body_of(request: Request, limits: BodyLimits) -> bytes:
    """Return the body of a request.

    Raises
    ------
    HTTPException
        The body is too large (413) or too slow (408).
    GoneError
        The client has disconnected.
    """
    try:
        async with asyncio.timeout(limits.seconds):
            return await _received(request, limits.max_bytes)
    except TimeoutError:
        raise HTTPException(408, f"the request did not arrive within {limits.seconds:g} s") from None


async def until_gone(request: Request) -> None:
    """Return when the client has disconnected; to be awaited once its request has been received."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _received(request: Request, max_bytes: int) -> bytes:
    """Return the body of a request."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > max_bytes:
        raise await _too_large(request.receive, max_bytes, {"more_body": True})
    body = bytearray()
    message: dict[str, Any] = {"more_body": True}
    while message.get("more_body"):
        message = dict(await request.receive())
        if message["type"] == "http.disconnect":
            raise GoneError("the client has disconnected")
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise await _too_large(request.receive, max_bytes, message)
    return bytes(body)


async def _too_large(receive: _Receive, max_bytes: int, message: MutableMapping[str, Any]) -> HTTPException:
    """Return the error after discarding incoming data: a client that is still sending may not read a response."""
    left = 16 * max_bytes
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while left > 0 and message.get("more_body"):
                message = await receive()
                left -= len(message.get("body", b""))
    return HTTPException(413, f"the request has more than {max_bytes} bytes; split it")
