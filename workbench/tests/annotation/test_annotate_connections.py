"""Connections to ``nonproj annotate`` that are silent or slow."""

import asyncio
import contextlib
import resource
import signal
import socket

import pytest
from command import run
from opening import TOKEN, Annotator, sentence

from nonproj.server import connections
from nonproj_workbench.annotation import app as app_module
from nonproj_workbench.annotation import run as run_module
from nonproj_workbench.annotation.session import Session
from nonproj_workbench.annotation.storage import Storage


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text(sentence(0, 1))
    return path


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit")
def test_silent_connections_do_not_stop_saving(path):
    annotator = Annotator(path)
    resource.prlimit(annotator.process.pid, resource.RLIMIT_NOFILE, (300, 300))
    try:
        with contextlib.ExitStack() as silent:
            for _ in range(400):
                silent.enter_context(socket.create_connection(("127.0.0.1", int(annotator.port)), timeout=60))
            annotator.edit(0, op="done", value=True)
            assert annotator.stop() == 0
    finally:
        annotator.process.kill()
    assert path.read_text() == "# annotation = done\n" + sentence(0, 1)
    assert len(annotator.messages) <= 6, annotator.messages[:20]


def test_too_few_descriptors_are_an_error(path):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    result = run("annotate", str(path), preexec_fn=limit, timeout=120)
    assert result.returncode == 2
    assert result.stderr.startswith("nonproj: ulimit -n: 200 open files are allowed, and a server needs 256; ")
    assert result.stderr.count("\n") == 1


def test_slow_headers_and_edits_are_ended(path, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(app_module, "BODY_SECONDS", 0.2)
    edit = f"POST /api/sentence/0 HTTP/1.1\r\nHost: localhost\r\nX-Token: {TOKEN}\r\n"
    edit += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"

    async def work(session: Session) -> tuple[bytes, bytes]:
        started = asyncio.Event()
        with run_module.listen(0) as listener:
            address = listener.getsockname()
            server = run_module._serve(app_module.make_app(session, TOKEN), listener, started.set)
            running = asyncio.create_task(server)
            await started.wait()
            answers = [await ask(address, data) for data in (b"GET / HTTP/1.1\r\nHost: ", edit.encode())]
            signal.raise_signal(signal.SIGTERM)
            await running
        return tuple(answers)

    with Session(Storage(path)) as session:
        silent, slow = asyncio.run(work(session))
    assert silent == b""
    assert slow.startswith(b"HTTP/1.1 408 ") and b"connection: close" in slow.lower()
    assert slow.endswith(b'{"error":"the request did not arrive within 0.2 s"}')


async def ask(address, data: bytes) -> bytes:
    """Return what the server sends until it closes a connection."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()
