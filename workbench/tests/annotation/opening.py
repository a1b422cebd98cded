"""Sessions, clients and processes for tests of annotation."""

import contextlib
import json
import re
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from command import start
from starlette.testclient import TestClient

from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj_workbench.annotation.app import make_app
from nonproj_workbench.annotation.session import Session, SessionOptions
from nonproj_workbench.annotation.storage import Storage
from nonproj_workbench.annotation.suggesting import Suggester

TOKEN = "a-token-for-tests"


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def suggester_of(path: Path) -> Suggester:
    """Suggester of trees by a model file."""
    return Suggester(Parser(Model.load(path)), str(path))


def row(i: int, form: str, head: object = "_", label: str = "_", tag: str = "_", misc: str = "_") -> str:
    """The line of a word."""
    return "\t".join((str(i), form, "_", tag, tag, "_", str(head), label, "_", misc)) + "\n"


def sentence(*heads: object, label: str = "x") -> str:
    """A sentence with these heads."""
    rows = [row(i, f"w{i}", head, "_" if head == "_" else label) for i, head in enumerate(heads, 1)]
    return "".join(rows) + "\n"


class Client:
    """Talks to the application as the page does."""

    def __init__(self, session: Session):
        self.session = session
        self.http = TestClient(make_app(session, TOKEN), base_url="http://127.0.0.1", raise_server_exceptions=False)
        self.headers = {"X-Token": TOKEN}

    def get(self, path: str, status: int = 200) -> Any:
        """Get JSON."""
        response = self.http.get(f"/api/{path}", headers=self.headers)
        assert response.status_code == status, response.text
        return response.json()

    def edit(self, i: int, op: str, status: int = 200, **arguments: Any) -> Any:
        """Edit a sentence at its present version."""
        version = self.get(f"sentence/{i}")["version"]
        body = {"version": version, "edit": {"op": op, **arguments}}
        response = self.http.post(f"/api/sentence/{i}", json=body, headers=self.headers)
        assert response.status_code == status, response.text
        return response.json()

    def refused(self, i: int, op: str, **arguments: Any) -> str:
        """The message of an edit that is refused."""
        return self.edit(i, op, 400, **arguments)["error"]

    def heads(self, i: int = 0) -> list[int | None]:
        """The heads of a sentence."""
        return [word["head"] for word in self.get(f"sentence/{i}")["words"]]


@contextlib.contextmanager
def opened(path: Path, text: str | None = None, model: Suggester | None = None, **options: Any) -> Iterator[Client]:
    """Open a file, which is made if a text is given, and close it at the end."""
    if text is not None:
        path.write_text(text, encoding="utf-8", newline="")
    trust = options.pop("trust", "done")
    with Session(Storage(path), model, trust, SessionOptions(**options)) as session:
        yield Client(session)


class Annotator:
    """A running ``nonproj annotate``: its address, its messages and its process, and requests to it."""

    def __init__(self, *words: object):
        self.words, self.messages = [str(word) for word in words], list[str]()
        self.start()

    def start(self, *more: str) -> None:
        """Start the process and wait for its address."""
        self.url = ""
        self.process = start("annotate", *self.words, *more, stdout=subprocess.PIPE, text=True)
        for stream in (self.process.stdout, self.process.stderr):
            threading.Thread(target=self._read, args=[stream], daemon=True).start()
        deadline = time.monotonic() + 120
        while not self.url:
            assert self.process.poll() is None, self.messages
            assert time.monotonic() < deadline, self.messages
            time.sleep(0.05)
        self.base, _, self.token = self.url.partition("/?token=")
        self.port = self.base.rpartition(":")[2]

    def _read(self, stream) -> None:
        for line in stream:
            self.messages.append(line)
            if found := re.search(r"(http://127\.0\.0\.1:\d+/\S*)", line):
                self.url = found[1]

    def ask(self, path: str, body: Any = None) -> Any:
        """Return the answer to a request."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Token": self.token, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.base}/api/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def edit(self, i: int, **edit: Any) -> Any:
        """Return the answer to an edit."""
        return self.ask(f"sentence/{i}", {"version": self.ask(f"sentence/{i}")["version"], "edit": edit})

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)
