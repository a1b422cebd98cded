"""Models on the Hub: the client is the real one, and the Hub a server with its headers."""

import contextlib
import hashlib
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from containers import a_model

from nonproj.errors import ModelError
from nonproj.model.hub import from_hub, is_on_hub
from nonproj.model.installed import located

constants = pytest.importorskip("huggingface_hub.constants")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOAD = "import sys; from nonproj.model.installed import located; print(*map(located, sys.argv[1:]), sep='\\n')"
DIGEST = hashlib.sha256(a_model().to_bytes()).hexdigest()


@contextlib.contextmanager
def serving(digest=DIGEST):
    """A server with one repository, ``someone/danish``: its address, and the downloads of its model."""
    data, downloads = a_model().to_bytes(), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            found = self.path in (f"/someone/danish/resolve/{at}/model.nonproj" for at in ("main", "v2", COMMIT))
            self.send_response(200 if found else 404)
            headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{digest}"', "Content-Length": str(len(data) * found)}
            if not found:
                headers["X-Error-Code"] = "RevisionNotFound" if "danish" in self.path else "RepoNotFound"
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if found and self.command == "GET":
                downloads.append(self.path)
                self.wfile.write(data)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", downloads
        server.shutdown()


@pytest.fixture
def reach(tmp_path, monkeypatch):
    """Let the client, whose cache is an empty folder, take the server at an address for the Hub."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def set_address(url):
        for name, value in {"ENDPOINT": url, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_DISABLE_XET": True}.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")

    return set_address


def load(folder, url, *names, **environment):
    """Return the output of a new process that loads models; the client reads its environment when it is imported."""
    hidden = ("HF_", "HUGGINGFACE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith(hidden)}
    settings = {"HF_HOME": str(folder), "HF_ENDPOINT": url, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-c", LOAD, *names]
    done = subprocess.run(command, env=inherited | settings | environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_model_is_downloaded_once_and_found_offline(tmp_path):
    with serving() as (url, downloads):
        path, second = load(tmp_path, url, "hf:someone/danish", "hf:someone/danish@v2")
        assert path.startswith(str(tmp_path)) and path.endswith(f"{COMMIT}/model.nonproj")
        assert second == path and len(downloads) == 1 and Path(path).read_bytes() == a_model().to_bytes()
        assert load(tmp_path, url, "hf:someone/danish", HF_HUB_OFFLINE="1") == [path]


def fault(name, match=None):
    """Return the error that a name on the Hub raises, without the name."""
    with pytest.raises(ModelError, match=match) as caught:
        located(name)
    return str(caught.value).removeprefix(f"{name}: ")


def test_what_the_hub_does_not_have_is_one_line(reach, monkeypatch):
    with serving() as (url, _):
        reach(url)
        for name in ("hf:someone/klingon", "hf:someone/danish@v7"):
            assert "\n" not in fault(name, rf"^{name}: no model\.nonproj of it on the Hub \(404 Client Error")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        missing = "it is not in the cache, and the Hub cannot be reached"
        assert fault("hf:someone/danish") == f"{missing}; copy its model.nonproj here and name the file"


def test_a_file_with_another_digest_is_refused(reach):
    with serving("ab" * 32) as (url, _):
        reach(url)
        line = fault("hf:someone/danish")
    assert line.startswith(f"SHA-256 is {DIGEST}, {'ab' * 32} expected; the file is damaged: remove ")


def test_a_download_damaged_later_is_refused_when_the_hub_is_gone(reach):
    with serving() as (url, _):
        reach(url)
        path = located("hf:someone/danish")
    assert located("hf:someone/danish") == path
    with open(path, "r+b") as stream:
        stream.seek(100)
        stream.write(b"\0\0\0\0")
    fault("hf:someone/danish", "the file is damaged: remove ")


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
