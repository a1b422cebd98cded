"""Checks of the headers Host and Origin: allowed host names, and allowed origins of web pages.

A browser lets any page send requests to this machine, and a page whose domain is made to resolve to it (DNS rebinding)
can also read the responses.  Such requests name a host or an origin that is not the server's.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from nonproj.errors import ConfigError, one_line

ANY = "*"
"""Allows every host or every origin."""

MAPPED = "::ffff:"
"""Beginning of an IPv4 address on a socket that accepts IPv4 and IPv6."""


class HostCheck:
    """Refuses requests for a wrong host (421), from foreign pages (403), or with two kinds of lengths (400).

    Parameters
    ----------
    app : ASGI application
    hosts : iterable of str
        Allowed names in addition to the loopback names and the address of the connection.
    origins : iterable of str
        Allowed origins in addition to the server's own, such as ``https://example.org``.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), origins: Iterable[str] = ()):
        self.app, self.hosts, self.origins = app, {host.lower() for host in hosts}, {each.lower() for each in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose host and origin are allowed, and refuse any other."""
        problem = self.problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self.app(scope, receive, send)
            return
        status, message = problem
        headers = {"Connection": "close"}  # the body is not read
        await PlainTextResponse(f"{one_line(message)}\n", status, headers)(scope, receive, send)

    def problem(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the message for a refused request, or None."""
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and "content-length" in headers:
            return 400, "a request may not have both Content-Length and Transfer-Encoding"
        host, address = headers.get("host", ""), (scope.get("server") or ("", 0))[0]
        if not self._is_own(host_name(host), address):
            return 421, f"Host: {host!r} is not a name of this server; nonproj serve --allowed-host allows others"
        origin = headers.get("origin")
        if origin is not None:
            if not self._is_allowed(origin, host):
                return 403, f"Origin: {origin!r} is not allowed; nonproj serve --allowed-origin allows others"
        elif headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not self._is_navigation(headers):
            return 403, "a request from a page of another origin, without Origin"
        return None

    def _is_own(self, name: str | None, address: str) -> bool:
        """Return whether a host is allowed, a loopback name, or the address of the connection."""
        if name is None:
            return False
        if ANY in self.hosts or name in self.hosts or name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            number = ipaddress.ip_address(name)
            return number.is_loopback or number == ipaddress.ip_address(address.removeprefix(MAPPED))
        except ValueError:
            return False

    def _is_allowed(self, origin: str, host: str) -> bool:
        """Return whether an origin is allowed, or the host itself."""
        own = origin.lower().removeprefix("http://").removeprefix("https://") == host.lower()
        return own or ANY in self.origins or origin.lower() in self.origins

    def _is_navigation(self, headers: Headers) -> bool:
        """Return whether a browser opens a page, as by a link, and does not request content for another page."""
        return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def host_name(header: str) -> str | None:
    """Return the name in a Host header, without the port; None if there is none.

    Examples
    --------
    >>> host_name("LocalHost:8001"), host_name("[::1]:8001"), host_name("::1"), host_name("a@b")
    ('localhost', '::1', None, None)
    """
    try:
        parts = urlsplit(f"//{header}")
        name = parts.hostname
        valid = parts.netloc == header and "@" not in header
        _ = parts.port  # raises ValueError for an invalid port
    except ValueError:
        return None
    plain = name is not None and (header.startswith("[") or re.fullmatch(r"[\w.-]+", name) is not None)
    return name if valid and plain else None


def check_host(text: str) -> str:
    """Return a host name for `HostCheck`, or raise ConfigError.

    Examples
    --------
    >>> check_host("parser.example.org")
    'parser.example.org'
    """
    bare = text if text == ANY else host_name(f"[{text}]" if ":" in text else text)
    if bare != text.lower():
        raise ConfigError("--allowed-host", f"{text!r} is not a host name without a port, such as parser.example.org")
    return bare


def check_origin(text: str) -> str:
    """Return an origin for `HostCheck`, or raise ConfigError.

    Examples
    --------
    >>> check_origin("https://example.org")
    'https://example.org'
    """
    parts = urlsplit(text)
    if text not in (ANY, "null") and (not parts.netloc or text != f"{parts.scheme}://{parts.netloc}"):
        raise ConfigError("--allowed-origin", f"{text!r} is not an origin, such as https://example.org")
    return text
