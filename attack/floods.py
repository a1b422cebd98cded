"""Lane of floods of connections to live servers that may open few files: meanwhile, they answer and save."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import socket
import threading
import time
from pathlib import Path

from attack import material
from attack.campaign import Lane, UnavailableError
from attack.live import Live, exchange, status_of
from attack.properties import require

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
"""What a flood sends on each connection.  "closed" ones are closed at once."""


class Floods(Lane):
    """Floods ``nonproj serve`` and ``nonproj annotate``, and asks them at the same time."""

    name = "floods"

    def __init__(self, folder: Path):
        super().__init__(folder)
        if not hasattr(resource, "prlimit"):
            raise UnavailableError("the limits of another process can be changed on Linux only")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.held = min(HELD, hard - 200) if hard != resource.RLIM_INFINITY else HELD
        self.model, self.treebank = folder / "toy.nonproj", folder / "trees.conllu"
        self.model.write_bytes(material.model_with_components("arc"))
        self.treebank.write_text(material.CONLLU, encoding="utf-8")
        self.commands = {
            "serve": ("serve", str(self.model), "--port", "0"),
            "annotate": ("annotate", str(self.treebank)),
        }
        self.notes = {"connections": 0}
        self.live: dict[str, Live] = {}

    def case(self, rng: random.Random, number: int) -> str:
        """Flood a server, ask it meanwhile, and check its log and its descriptors afterwards."""
        name, kind, files = rng.choice(list(self.commands)), rng.choice(list(_SENT)), rng.choice(LIMITS)
        try:
            if name not in self.live:
                self.live[name] = Live(*self.commands[name])
                self._ask(name, "first")
            live = self.live[name]
            resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE, (files, max(LIMITS)))
            before, said = _descriptors(live), len(live.messages)
            with self._flood(live.port, kind):
                time.sleep(0.5 * SECONDS)
                self._ask(name, f"{number}", patient=kind != "half a body")
            self._ask(name, f"{number} again")
            deadline = time.monotonic() + PATIENCE
            while _descriptors(live) > before + 10:
                require(time.monotonic() < deadline, f"{_descriptors(live)} descriptors are open, {before} before")
                time.sleep(0.1)
            lines = [line for line in live.messages[said:] if not line.startswith("127.0.0.1 ")]
            require(len(lines) <= LINES, f"{len(lines)} lines in the log: {lines[:LINES]}")
        except Exception:
            self.close()
            raise
        return f"{name}, {kind}"

    def close(self) -> None:
        """End the servers."""
        while self.live:
            self.live.popitem()[1].end()

    @contextlib.contextmanager
    def _flood(self, port: int, kind: str):
        """Make connections as fast as possible; the oldest make room for others."""
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

    def _ask(self, name: str, value: str, patient: bool = True) -> None:
        """Parse or edit a sentence; a server that is not asked patiently may refuse."""
        live = self.live[name]
        began, refused = time.monotonic(), (503, None) if not patient else ()
        if name == "serve":
            answer = self._exchange(live, "GET", "/process?data=Den+hund&input=horizontal&parser=")
        else:
            version = json.loads(_body(self._exchange(live, "GET", "/api/sentence/0")) or b"{}").get("version")
            edit = {"op": "column", "word": 1, "column": "lemma", "value": value}
            answer = self._exchange(live, "POST", "/api/sentence/0", {"version": version, "edit": edit})
        took, status = time.monotonic() - began, status_of(answer)
        require(took < PATIENCE, f"an answer after {took:.1f} s: {answer[:200]!r}")
        require(status == 200 or status in refused, f"a normal request is answered by {answer[:300]!r}")
        if name == "annotate" and status == 200:
            files = [self.treebank, self.treebank.with_name(f"{self.treebank.name}.journal")]
            saved = b"".join(path.read_bytes() for path in files if path.exists())
            require(value.encode() in saved, f"the edit {value!r} is not saved")

    def _exchange(self, live: Live, method: str, path: str, content: object = None) -> bytes:
        body = json.dumps(content).encode() if content else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Token: {live.token}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with contextlib.suppress(OSError):
            return exchange(live.port, [head.encode() + body], PATIENCE)
        return b""


def _body(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def _descriptors(live: Live) -> int:
    """Return the number of open files of a server."""
    return len(os.listdir(f"/proc/{live.process.pid}/fd"))
