"""Receives the bodies of requests, within limits of size and time."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from nonproj.server.admission import GoneError

DISCARD_SECONDS = 1.0
"""Seconds during which the rest of a request that is too large is discarded."""


async def body_of(request: Request, max_bytes: int, seconds: float) -> bytes:
    """Return the body of a request.

    The rest of a body that is too large is discarded first: a client that is still sending may not read a response.

    Parameters
    ----------
    request : Request
    max_bytes : int
        Maximum size of the body.
    seconds : float
        Time within which it has to arrive.

    Raises
    ------
    HTTPException
        The body is too large (413) or too slow (408).
    GoneError
        The client has disconnected.
    """
    length, body, chunks = request.headers.get("content-length", ""), bytearray(), request.stream()
    if not length.isdecimal() or int(length) <= max_bytes:
        try:
            async with asyncio.timeout(seconds):
                async for chunk in chunks:
                    body += chunk
                    if len(body) > max_bytes:
                        break
                else:
                    return bytes(body)
        except TimeoutError:
            raise HTTPException(408, f"the request did not arrive within {seconds:g} s") from None
        except ClientDisconnect:
            raise GoneError("the client has disconnected") from None
    left = 16 * max_bytes
    with contextlib.suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(DISCARD_SECONDS):
            async for chunk in chunks:
                left -= len(chunk)
                if left <= 0:
                    break
    raise HTTPException(413, f"the request has more than {max_bytes} bytes; split it")


async def until_gone(request: Request) -> None:
    """Return when the client has disconnected; to be awaited once its request has been received."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
