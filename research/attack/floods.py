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
"""What a flood sends on each connection.  "closed" ones are closed at once."""

_REQUESTS = ("half a body", "unread")
"""Floods of requests, which the server may not end at once; meanwhile, it may refuse others."""


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
                self._ask(name, f"{number}", patient=kind not in _REQUESTS)
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
        """Parse or edit a sentence; a client whose connection is closed tries again, if it is patient."""
        deadline, status, answer = time.monotonic() + PATIENCE, None, b""
        while status != 200:
            answer = (self._parse if name == "serve" else self._edit)(self.live[name], value)
            status = status_of(answer)
            require(status in (200, 503, None), f"a normal request is answered by {answer[:300]!r}")
            if not patient:
                return
            require(time.monotonic() < deadline, f"no answer within {PATIENCE:.0f} s, but {answer[:300]!r}")
        if name == "annotate":
            files = [self.treebank, self.treebank.with_name(f"{self.treebank.name}.journal")]
            saved = b"".join(path.read_bytes() for path in files if path.exists())
            require(value.encode() in saved, f"the edit {value!r} is not saved")

    def _parse(self, live: Live, value: str) -> bytes:
        return self._exchange(live, "GET", f"/process?data={quote(value)}&input=horizontal&parser=")

    def _edit(self, live: Live, value: str) -> bytes:
        sentence = self._exchange(live, "GET", "/api/sentence/0")
        if status_of(sentence) != 200:
            return sentence
        version = json.loads(sentence.partition(b"\r\n\r\n")[2])["version"]
        edit = {"op": "column", "word": 1, "column": "lemma", "value": value}
        return self._exchange(live, "POST", "/api/sentence/0", {"version": version, "edit": edit})

    def _exchange(self, live: Live, method: str, path: str, content: object = None) -> bytes:
        body = json.dumps(content).encode() if content else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Token: {live.token}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with contextlib.suppress(OSError):
            return exchange(live.port, [head.encode() + body], 0.5 * PATIENCE)
        return b""


def _descriptors(live: Live) -> int:
    """Return the number of open files of a server."""
    return len(os.listdir(f"/proc/{live.process.pid}/fd"))
