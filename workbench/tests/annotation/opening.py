"""Sessions and clients for tests of annotation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj_workbench.annotation.app import make_app
from nonproj_workbench.annotation.session import Session, SessionOptions
from nonproj_workbench.annotation.storage import Storage
from nonproj_workbench.annotation.suggesting import Suggester

TOKEN = "a-token-for-tests"


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
