"""Models on the Hub: the client is the real one, and the Hub a server with its headers."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from containers import a_model

from nonproj.errors import ModelError
from nonproj.model.hub import from_hub, is_on_hub
from nonproj.model.installed import located

pytest.importorskip("huggingface_hub")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOAD = """
import sys
from nonproj.errors import NonprojError
from nonproj.model.installed import located
from nonproj.model.model import Model
try:
    path = located(sys.argv[1])
    print(path)
    print(Model.load(path).labels)
except NonprojError as error:
    print(error)
"""


class Hub:
    """A server with one repository, ``someone/danish``, that counts the downloads of its model."""

    def __init__(self, data, stated=None):
        self.downloads, digest = 0, stated or hashlib.sha256(data).hexdigest()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                self.answer(False)

            def do_GET(self):
                self.answer(True)

            def answer(self, body):
                found = self.path in (f"/someone/danish/resolve/{at}/model.nonproj" for at in ("main", "v2", COMMIT))
                self.send_response(200 if found else 404)
                self.send_header("X-Repo-Commit", COMMIT)
                if not found:
                    unknown = "RevisionNotFound" if "danish" in self.path else "RepoNotFound"
                    self.send_header("X-Error-Code", unknown)
                self.send_header("ETag", f'"{digest}"')
                self.send_header("Content-Length", str(len(data) if found else 0))
                self.end_headers()
                if body and found:
                    hub.downloads += 1
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hub():
    made = Hub(a_model().to_bytes())
    yield made
    made.close()


def load(name, folder, url, **environment):
    """Return what a new process prints that loads a model; the client reads its environment when it is imported."""
    hidden = ("HF_", "HUGGINGFACE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith(hidden)}
    settings = {"HF_HOME": str(folder), "HF_ENDPOINT": url, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-c", LOAD, name]
    done = subprocess.run(command, env=inherited | settings | environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_model_is_downloaded_once_and_found_offline(hub, tmp_path):
    path, labels = load("hf:someone/danish", tmp_path, hub.url)
    assert labels == "['subj', 'æ']" and path.startswith(str(tmp_path)) and path.endswith(f"{COMMIT}/model.nonproj")
    assert load("hf:someone/danish@v2", tmp_path, hub.url) == [path, labels]
    assert hub.downloads == 1
    assert load("hf:someone/danish", tmp_path, hub.url, HF_HUB_OFFLINE="1") == [path, labels]
    hub.close()
    assert load("hf:someone/danish", tmp_path, hub.url) == [path, labels]


def test_what_the_hub_does_not_have_is_one_line(hub, tmp_path):
    (unknown,) = load("hf:someone/klingon", tmp_path, hub.url)
    assert unknown.startswith("hf:someone/klingon: no model.nonproj of it on the Hub (404 Client Error")
    (revision,) = load("hf:someone/danish@v7", tmp_path, hub.url)
    assert revision.startswith("hf:someone/danish@v7: no model.nonproj of it on the Hub (404 Client Error")
    (offline,) = load("hf:someone/danish", tmp_path, hub.url, HF_HUB_OFFLINE="1")
    assert offline == (
        "hf:someone/danish: it is not in the cache, and the Hub cannot be reached; "
        "copy its model.nonproj here and name the file"
    )


def test_a_file_with_another_digest_is_refused(tmp_path):
    hub = Hub(a_model().to_bytes(), stated="ab" * 32)
    try:
        (line,) = load("hf:someone/danish", tmp_path, hub.url)
    finally:
        hub.close()
    found = hashlib.sha256(a_model().to_bytes()).hexdigest()
    assert line.startswith(f"hf:someone/danish: SHA-256 is {found}, {'ab' * 32} expected; the file is damaged: remove ")


def test_a_download_damaged_later_is_refused_offline(hub, tmp_path):
    path, _ = load("hf:someone/danish", tmp_path, hub.url)
    with open(path, "r+b") as stream:
        stream.seek(100)
        stream.write(b"\0\0\0\0")
    (line,) = load("hf:someone/danish", tmp_path, hub.url, HF_HUB_OFFLINE="1")
    assert "the file is damaged: remove " in line


@pytest.mark.parametrize("name", ["hf:", "hf:danish", "hf:a/b/c", "hf:a/b@", "hf:a b/c", "hf:a/b@x y", "hf:../x\x1b"])
def test_malformed_names_are_refused(name):
    assert is_on_hub(name)
    with pytest.raises(ModelError, match=r"hf:OWNER/NAME or hf:OWNER/NAME@REVISION expected$"):
        from_hub(name)


def test_a_file_with_such_a_name_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:x").write_bytes(b"")
    assert located("hf:x").name == "hf:x" and located("./hf:x").name == "hf:x"


def test_without_the_client_the_message_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelError, match=r"models on the Hub need the package huggingface_hub; run: pip install "):
        from_hub("hf:someone/danish")
