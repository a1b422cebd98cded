"""Lane of connection floods against a live server that may open few files, and has to go on answering."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import socket
import threading
import time
from pathlib import Path
from urllib.parse import quote

from research.attack import material
from research.attack.campaign import Lane, UnavailableError
from research.attack.live import Live, exchange, status_of
from research.attack.properties import require

SECONDS = 1.0
"""Duration of a flood."""

PATIENCE = 20.0
"""Seconds within which a request must be answered during a flood, and descriptors be closed after it."""

LIMITS = (256, 300, 1024)
"""Limits on the open files of a server."""

HELD = 1300
"""Number of connections that a flood keeps open."""

LINES = 8
"""Maximum number of lines in the log that are not about a request."""

_SENT = {
    "closed": b"",
    "silent": b"",
    "half a header": b"POST /process HTTP/1.1\r\nHost: loc",
    "half a body": b"POST /process HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ndata=",
    "unread": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100,
}
"""Data that a flood sends on each connection.  "closed" ones are closed at once."""

_REQUESTS = ("half a body", "unread")
"""Floods of requests, which the server may not end at once; meanwhile, it may refuse others."""


class Floods(Lane):
    """Floods ``nonproj serve``, and asks it at the same time."""

    name = "floods"

    def __init__(self, folder: Path):
        super().__init__(folder)
        if not hasattr(resource, "prlimit"):
            raise UnavailableError("the limits of another process can be changed on Linux only")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.held = min(HELD, hard - 200) if hard != resource.RLIM_INFINITY else HELD
        self.command = self.prepare()
        self.notes = {"connections": 0}
        self.live: Live | None = None

    def prepare(self) -> tuple[str, ...]:
        """Write the files that the server needs, and return its command."""
        model = self.folder / "toy.nonproj"
        model.write_bytes(material.model_with_components("arc"))
        return "serve", str(model), "--port", "0"

    def request(self, live: Live, value: str) -> bytes:
        """Return the response to a normal request, here to parse a word."""
        return self.send(live, "GET", f"/process?data={quote(value)}&input=horizontal&parser=")

    def check_effect(self, value: str) -> None:
        """Check the effect of a request with this value; here it has none."""

    def case(self, rng: random.Random, number: int) -> str:
        """Flood the server, ask it meanwhile, and check its log and its descriptors afterwards."""
        kind, files = rng.choice(list(_SENT)), rng.choice(LIMITS)
        try:
            if self.live is None:
                self.live = Live(*self.command)
                self._ask(self.live, "first")
            live = self.live
            resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE, (files, max(LIMITS)))
            before, said = _descriptors(live), len(live.messages)
            with self._flood(live.port, kind):
                time.sleep(0.5 * SECONDS)
                self._ask(live, f"{number}", patient=kind not in _REQUESTS)
            self._ask(live, f"{number} again")
            deadline = time.monotonic() + PATIENCE
            while _descriptors(live) > before + 10:
                require(time.monotonic() < deadline, f"{_descriptors(live)} descriptors are open, {before} before")
                time.sleep(0.1)
            lines = [line for line in live.messages[said:] if not line.startswith("127.0.0.1 ")]
            require(len(lines) <= LINES, f"{len(lines)} lines in the log: {lines[:LINES]}")
        except Exception:
            self.close()
            raise
        return f"{self.command[0]}, {kind}"

    def close(self) -> None:
        """End the server."""
        if self.live is not None:
            self.live.end()
        self.live = None

    @contextlib.contextmanager
    def _flood(self, port: int, kind: str):
        """Open connections as fast as possible; beyond the limit, close the oldest."""
        held, over = [], threading.Event()

        def connect() -> None:
            while not over.is_set():
                connection = socket.socket()
                connection.settimeout(1.0)
                with contextlib.suppress(OSError):
                    connection.connect(("127.0.0.1", port))
                    connection.setblocking(False)
                    connection.send(_SENT[kind])
                held.append(connection)
                self.notes["connections"] += 1
                if kind == "closed" or len(held) > self.held:
                    held.pop(0).close()

        threads = [threading.Thread(target=connect) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            yield
            time.sleep(0.5 * SECONDS)
        finally:
            over.set()
            for thread in threads:
                thread.join()
            for connection in held:
                connection.close()

    def _ask(self, live: Live, value: str, patient: bool = True) -> None:
        """Make a normal request; a client whose connection is closed tries again, if it is patient."""
        deadline, status, answer = time.monotonic() + PATIENCE, None, b""
        while status != 200:
            answer = self.request(live, value)
            status = status_of(answer)
            require(status in (200, 503, None), f"a normal request is answered by {answer[:300]!r}")
            if not patient:
                return
            require(time.monotonic() < deadline, f"no answer within {PATIENCE:.0f} s, but {answer[:300]!r}")
        self.check_effect(value)

    def send(self, live: Live, method: str, path: str, body: bytes = b"") -> bytes:
        """Return the response to a request; nothing if its connection is closed."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Token: {live.token}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with contextlib.suppress(OSError):
            return exchange(live.port, [head.encode() + body], 0.5 * PATIENCE)
        return b""


def _descriptors(live: Live) -> int:
    """Return the number of open files of a server."""
    return len(os.listdir(f"/proc/{live.process.pid}/fd"))
