"""Requests of other programs: UDPipe's clients, proxies, half-closed connections, requests beyond a worker's memory."""

import asyncio
import re
import sys
from urllib.parse import quote

import pytest
from command import run
from instances import seeds
from serving import DATA, FORM, GOLDEN, nonsense, serving, talk, with_application

from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.server import connections, processing
from nonproj.server.parameters import model_name
from nonproj.server.processing import RequestError

# -- clients of UDPipe -------------------------------------------------------------------------------------------------


def test_a_model_is_selected_by_the_beginning_of_its_name(server):
    for name in ("english", "english-ewt", "english-ewt-arc", "en", "eng", "", "english-gum-ud-2.12-230717"):
        answer = server.parse(DATA | {"model": name})
        assert (answer.status_code, answer.json()["model"]) == (200, "english-ewt-arc")


def test_of_several_models_whole_words_come_first():
    names = ["enets", "en-gum-arc", "en-ewt", "en", "german"]
    chosen = [model_name(name, names) for name in ("", "en", "en-e", "en-ewt", "e", "ene", "german")]
    assert chosen == ["enets", "en", "en-ewt", "en-ewt", "enets", "enets", "german"]
    with pytest.raises(RequestError, match="model: 'english' is unknown; known: enets, "):
        model_name("english", names)
    names = ["german", "english-gum", "english-ewt"]
    assert model_name("english-ewt-ud-2.12-230717", names) == "english-ewt"
    for unknown in ("latin-proiel-ud-2.12-230717", "english-gum-x", "german-ud-2.12-x"):
        with pytest.raises(RequestError, match="is unknown"):
            model_name(unknown, names)


def test_outputs_versions_and_normalized_spaces_of_udpipe(server):
    def result(**more):
        return server.parse({"data": "den  hund ser\n\nkat.\n", "tokenizer": "", **more}).json()["result"]

    assert result(output="vertical") == "den\nhund\nser\n\nkat\n.\n\n"
    assert result(output="horizontal", parser="") == "den hund ser\nkat .\n"
    assert result(input="horizontal", tokenizer="none", data="a b\n", output="horizontal") == "a b\n"
    plain, normalized = result(parser=""), result(tokenizer="normalized_spaces", parser="")
    assert "SpacesAfter=" in plain and "SpaceAfter=No" in normalized
    assert normalized == re.sub(r"SpacesAfter=\S+", "_", plain)
    assert result(parser="", output="conllu=v2") == plain
    assert result(data=plain, input="conllu=v2", tokenizer="none", parser="") == plain


# -- repeated parameters -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data", "output", "nonsense"])
def test_a_repeated_parameter_is_refused(server, name):
    twice = [("input", "horizontal"), (name, "conllu"), (name, "vertical")]
    for answer in (
        server.get("/process", params=twice),
        server.post("/process", content="&".join(map("=".join, twice)), headers=FORM),
        server.post("/process", files=[(key, (None, value)) for key, value in twice]),
        server.post(f"/process?{name}=conllu", data={name: "vertical"}),
    ):
        assert (answer.status_code, answer.text) == (400, f"{name}: the parameter is given more than once\n")


# -- connections -------------------------------------------------------------------------------------------------------


TARGETS = [
    ("http://localhost:1/models", "localhost", 200),
    ("HTTP://127.0.0.1/models?a=b", "ignored.example.com", 200),
    ("http://localhost?data=", "localhost", 200),
    ("http://localhost/process?data=&parser=", "localhost", 200),
    ("http://evil.example.com/models", "localhost", 421),
    ("http:///models", "localhost", 421),
    ("ftp://localhost/models", "localhost", 404),
    ("//localhost/models", "localhost", 404),
]


@pytest.mark.parametrize(("target", "host", "status"), TARGETS)
def test_targets_in_absolute_form(server, target, host, status):
    request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert talk(server.port, request.encode()).startswith(f"HTTP/1.1 {status} ".encode())


def form_of(data: str) -> bytes:
    """A request to parse a line of words."""
    body = f"input=horizontal&parser=&data={quote(data)}".encode()
    header = "POST /process HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    return f"{header}Content-Length: {len(body)}\r\n\r\n".encode() + body


def finals(answer: bytes) -> list[int]:
    """The status codes of responses, without interim ones."""
    return [int(code) for code in re.findall(rb"HTTP/1\.1 ([2-5]\d\d) ", answer)]


def test_clients_that_have_finished_sending_are_answered(server):
    count = len(seeds(800, least=200))
    one, long = form_of("den hund ser hus"), form_of("\n".join(nonsense(12, seed) for seed in range(count)))
    assert finals(talk(server.port, one, end=True)) == [200]
    assert finals(talk(server.port, one * 5, end=True)) == [200] * 5
    answer = talk(server.port, long, end=True)  # parsed slice by slice, and answered after the end
    assert finals(answer) == [200]
    assert answer.count(b"\\n\\n") == count
    assert talk(server.port, end=True) == b""
    assert finals(talk(server.port, one[:-3], end=True)) == [400]
    assert finals(talk(server.port, one[:40], end=True)) == [400]
    old = b"GET /models HTTP/1.0\r\nHost: localhost\r\n\r\n"
    assert talk(server.port, old, end=True).startswith(b"HTTP/1.1 200 ")  # an older client knows no interim responses


@pytest.mark.parametrize("leaves", [True, False])
def test_clients_that_are_gone_are_told_from_those_that_wait(leaves, monkeypatch):
    """Both send an end of data; the application learns of the first soon, after the next probe."""
    monkeypatch.setattr(connections, "PROBE_SECONDS", 0.1)
    seen: list[str] = []

    async def slow(scope, receive, send) -> None:
        """An application that answers after six probes."""
        assert (await receive())["type"] == "http.request"
        gone = asyncio.ensure_future(receive())
        await asyncio.wait({gone}, timeout=6 * connections.PROBE_SECONDS)
        seen.append("gone" if gone.done() else "waits")
        gone.cancel()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def work(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await writer.drain()
        if leaves:
            writer.close()
        else:
            writer.write_eof()
        while not seen:
            await asyncio.sleep(0.02)
        return b"" if leaves else await reader.read()

    answer = asyncio.run(with_application(slow, work))
    assert seen == ["gone" if leaves else "waits"]
    assert leaves or answer.endswith(b"\r\n\r\nok")


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="the limit needs /proc")
def test_a_sentence_beyond_the_memory_of_a_worker_is_too_large():
    least = run("serve", str(GOLDEN), "--max-worker-memory", "1").stderr
    taken = int(re.search(r"takes (\d+)", least)[1])
    limits = ["--max-worker-memory", str(taken + 30), "--max-words", "5000", "--timeout", "300"]
    with serving(GOLDEN, *limits) as server:
        answer = server.parse(DATA | {"data": nonsense(5000)}, timeout=300)
        assert answer.status_code == 413
        assert answer.text == "the request exceeds the memory limit of a worker; split it\n"
        assert server.parse(DATA, timeout=300).status_code == 200
        assert not any("Traceback" in message for message in server.messages)


def test_strange_errors_near_the_limit_are_those_of_memory(monkeypatch):
    """For example, a thread cannot be started then."""

    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setitem(processing._parsers, "toy", Parser(Model.load(GOLDEN)))
    monkeypatch.setattr(processing, "process", fail)
    with pytest.raises(RuntimeError, match="thread"):
        processing.respond("toy", processing.Task(""))
    monkeypatch.setattr(processing, "is_exhausted", lambda: True)
    with pytest.raises(MemoryError):
        processing.respond("toy", processing.Task(""))
