"""The server, over real connections."""

import concurrent.futures
import errno
import http.client
import os
import shutil
import signal
import socket
import time
import urllib.parse
from pathlib import Path

import pytest
from command import running, wait_until, work_until_end
from serving import DATA, FORM, nonsense, said, serving, talk
from toy import treebank

from nonproj.cli.main import main

TEXT = treebank(5, seed=1)


@pytest.fixture(scope="module")
def strict(toy_path):
    """A server with low limits of time and of requests."""
    with serving(toy_path, "--timeout", "1.5", "--waiting", "1") as server:
        yield server


def of_command(path: Path, folder: Path, text: str, *words: str) -> str:
    """Trees that the command line finds for a text."""
    (folder / "in").write_text(text, encoding="utf-8")
    assert main(["parse", *words, str(path), str(folder / "in"), "-o", str(folder / "out")]) == 0
    return (folder / "out").read_text(encoding="utf-8")


def result_of(response) -> str:
    """The result in a response."""
    assert response.status_code == 200, response.text
    return response.json()["result"]


def is_line(response, status: int) -> bool:
    """Whether a response is an error of one line."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith("text/plain")
    return response.text.count("\n") == 1 and response.text.endswith("\n")


def parse_once_free(server) -> str:
    """Parse the text by a server whose workers are replaced or, as the machine may be, busy."""
    deadline = time.monotonic() + 120
    while (response := server.parse({"data": TEXT, "parser": ""})).status_code != 200:
        assert is_line(response, 504 if response.status_code == 504 else 503)
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return result_of(response)


# -- the interface of UDPipe -------------------------------------------------------------------------------------------


def test_models(toy_server):
    for answer in (toy_server.get("/models"), toy_server.post("/models")):
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        models = {"toy-2": ["tokenizer", "tagger", "parser"]}
        assert answer.json() == {"default_model": "toy-2", "models": models}


def test_process_parses_as_the_command_line_does(toy_server, toy_path, tmp_path):
    """By form, by query, as a field or file of multipart data, by GET."""
    parsed, fields = of_command(toy_path, tmp_path, TEXT), {"data": TEXT, "parser": ""}
    answer = toy_server.parse(fields).json()
    assert list(answer) == ["model", "acknowledgements", "result"]
    assert (answer["model"], answer["result"]) == ("toy-2", parsed)
    for response in (
        toy_server.get("/process", params=fields),
        toy_server.parse({"data": TEXT}, params={"parser": ""}),
        toy_server.post("/process", files={"data": (None, TEXT), "parser": (None, "")}),
        toy_server.post("/process", files={"data": ("a.conllu", TEXT.encode()), "parser": (None, "")}),
    ):
        assert result_of(response) == parsed


def test_tags_and_trees_are_left_alone_added_or_replaced(toy_server):
    wrong, absent = (TEXT.replace("\tNOUN\tNOUN\t", f"\t{tag}\t{tag}\t") for tag in "X_")
    for data, what, expected in (
        (TEXT, {}, TEXT),
        (TEXT, {"parser": "none"}, TEXT),
        ("", {"parser": ""}, ""),
        (wrong, {"tagger": ""}, TEXT),
        (absent, {"tagger": ""}, TEXT),
        (absent, {}, absent),
    ):
        assert result_of(toy_server.parse({"data": data} | what)) == expected
    for data, tag in ((wrong, "X"), (absent, "NOUN")):
        assert f"\t{tag}\t{tag}\t" in result_of(toy_server.parse({"data": data, "parser": ""}))


def test_certificates(toy_server):
    answer = toy_server.parse({"data": TEXT, "parser": "", "certificates": ""}).json()
    assert [each["certified"] for each in answer["certificates"]] == [True] * 5
    assert all(each["score"] <= each["bound"] + 1e-6 for each in answer["certificates"])


def test_lost_enhanced_dependencies_are_counted(toy_server):
    data = "1\ta\t_\tX\t_\t_\t0\troot\t0:root\t_\n1.1\tb\t_\tX\t_\t_\t_\t_\t1:obj\t_\n\n"
    answer = toy_server.parse({"data": data, "parser": ""}).json()
    lost = "the enhanced dependencies of 1 word and 1 empty node, which belong to the tree of the input, are left out"
    assert answer["warnings"] == [lost] and "1.1" not in answer["result"]
    for fields in ({"data": data}, {"data": data.replace("0:root", "_").split("1.1")[0] + "\n", "parser": ""}):
        assert "warnings" not in toy_server.parse(fields).json()


def test_raw_and_encoded_utf8_and_odd_letters_arrive(toy_server):
    for word in ("blåbærgrød", "Ευρώπη", "𝔘nicode", "a+b&c=d%41", "\u2028x"[1:]):
        data = toy_server.parse({"data": word, "input": "horizontal"})
        assert result_of(data).split("\t")[1] == word
    raw = "data=Ευρώπη&input=horizontal".encode()
    assert "\tΕυρώπη\t" in result_of(toy_server.post("/process", content=raw, headers=FORM))


def test_text_is_split_and_tagged_as_by_the_command_line(toy_server, toy_path, tmp_path):
    text = "Den hund ser hus sovende. Stor kat jager den\nmand.\n\nHus kender hus."
    for words, fields in (
        (["--text"], {"tokenizer": ""}),
        (["--text", "--token-ranges"], {"tokenizer": "ranges"}),
        (["--text", "--breaks"], {"tokenizer": "breaks"}),
        (["--lines"], {"tokenizer": "presegmented"}),
        (["--lines", "--token-ranges"], {"tokenizer": "presegmented;ranges"}),
        (["--text"], {"input": "generic_tokenizer"}),
        (["--words"], {"input": "horizontal"}),
    ):
        fields |= {"data": text, "tagger": "", "parser": ""}
        assert result_of(toy_server.parse(fields)) == of_command(toy_path, tmp_path, text, *words)


# -- errors ------------------------------------------------------------------------------------------------------------


MALFORMED = [
    ({}, "data: the parameter is missing"),
    ({"data": "1\ta\n", "parser": ""}, "data:1: 2 columns, 10 expected"),
    ({"data": TEXT, "model": "latin"}, "model: 'latin' is unknown; known: toy-2"),
    ({"data": TEXT, "input": "matxin"}, "input: 'matxin' is not a format; known: conllu, conllu=v2, horizontal,"),
    ({"data": TEXT, "output": "matxin"}, "output: 'matxin' is not a format; known: conllu, conllu=v2"),
    ({"data": TEXT, "output": "conllu=v1"}, "output: 'conllu=v1' is not a format; did you mean 'conllu=v2'?; kno"),
    ({"data": "a", "tokenizer": "magic"}, "tokenizer: 'magic' is no option; known: presegmented, ranges"),
    ({str(i): "x" for i in range(60)}, "more than 50 parameters"),
    ({"data": "a", "tokeniser": ""}, "unknown parameter 'tokeniser'; did you mean 'tokenizer'?"),
    ({"data": "a", "timeout": "5"}, "unknown parameter 'timeout'; known: data, model, tokenizer, input, tagger,"),
]


@pytest.mark.parametrize(("fields", "message"), MALFORMED)
def test_malformed_requests_are_answered_in_one_line(toy_server, fields, message):
    for response in (toy_server.parse(fields), toy_server.get("/process", params=fields)):
        assert is_line(response, 400)
        assert message in response.text


def test_other_malformed_requests(toy_server):
    for status, path, options in (
        (404, "/none", {}),
        (415, "/process", {"json": {"data": TEXT}}),
        (400, "/process", {"content": b"a", "headers": {"content-type": "multipart/form-data"}}),
        (400, "/process", {"files": {"data": ("a", b"\xff")}}),
        (400, "/process", {"data": {"data": b"\xff"}}),
    ):
        assert is_line(toy_server.post(path, **options), status)
    assert is_line(toy_server.request("PUT", "/process"), 405)
    assert talk(toy_server.port, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert toy_server.get("/models").status_code == 200


def test_large_requests_are_refused(toy_server):
    large = b"data=" + b"a" * 30_000
    chunks = (large[i : i + 1000] for i in range(0, len(large), 1000))
    for content in (large, chunks, b"data=" + b"a" * 3_000_000):
        response = toy_server.post("/process", content=content, headers=FORM)
        assert is_line(response, 413) and "more than 20000 bytes" in response.text
    assert is_line(toy_server.post("/process", files={"data": ("a", b"a" * 30_000)}), 413)
    assert toy_server.parse({"input": "horizontal", "data": "a " * 9000}).status_code == 200


def test_a_request_that_takes_too_long_is_given_up(strict):
    """Its worker is killed, and another serves the next request."""
    slow = DATA | {"data": "\n".join(nonsense(900, seed) for seed in range(12))}
    (worker,) = strict.workers
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(strict.parse, slow)
        assert work_until_end([worker]) < 2
    assert is_line(future.result(), 504) and "more than 1.5 s" in future.result().text
    parse_once_free(strict)
    assert said(strict, "replaced") and strict.metrics()['nonproj_workers_replaced_total{reason="time"}'] >= 1


# -- load --------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_hundreds_of_clients_get_their_own_answers(toy_server, toy_path, tmp_path):
    texts = [treebank(2, seed) for seed in range(40)]
    expected = of_command(toy_path, tmp_path, "".join(texts)).split("\n\n")
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        responses = list(pool.map(toy_server.parse, ({"data": text, "parser": ""} for text in texts * 10)))
    for number, response in enumerate(responses):
        assert result_of(response) == "\n\n".join(expected[2 * (number % 40) :][:2]) + "\n\n"


def test_a_busy_server_says_so_at_once(strict):
    """One request is worked on, one waits, and others are refused."""
    for _ in range(10):  # the machine may be busy, too, or the worker new
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            responses = list(pool.map(lambda _: strict.parse(DATA | {"data": nonsense(60)}), range(40)))
        codes = {response.status_code for response in responses}
        assert codes <= {200, 503, 504}
        if {200, 503} <= codes:
            break
        parse_once_free(strict)
    assert {200, 503} <= codes
    refused = next(response for response in responses if response.status_code == 503)
    assert is_line(refused, 503)
    assert int(refused.headers["retry-after"]) >= 1


@pytest.mark.thorough
def test_slow_clients_are_dropped_and_keep_nobody_waiting(strict):
    body, *slow = (socket.create_connection(("127.0.0.1", strict.port), 60) for _ in range(51))
    for connection in slow:
        connection.sendall(b"POST /process HTTP/1.1\r\nHost: localhost\r\n")
    body.sendall(b"POST /process HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\ndata=")
    for _ in range(5):
        assert strict.get("/models").status_code == 200
    answer = body.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408 ") and b"did not arrive within 1.5 s" in answer + body.recv(1000)
    for connection in slow:
        assert connection.recv(100) == b""  # closed after 10 s
        connection.close()
    body.close()


# -- start and end -----------------------------------------------------------------------------------------------------


def refuses(port: int) -> bool:
    """Whether a server refuses connections."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_a_signal_ends_the_server_after_its_requests_and_those_of_open_connections(toy_path, number):
    """One of these was used before, the other not; the response says that it is the last one."""
    fields = DATA | {"data": "\n".join(nonsense(300, seed) for seed in range(3))}
    with serving(toy_path) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        clients = [http.client.HTTPConnection("127.0.0.1", server.port) for _ in range(2)]
        for client in clients:
            client.connect()
        clients[0].request("GET", "/models")
        assert clients[0].getresponse().read()
        future = pool.submit(server.parse, fields)
        wait_until(lambda: server.metrics()['nonproj_workers{state="busy"}'], messages=server.messages)
        os.killpg(server.process.pid, number)  # as a terminal does
        wait_until(lambda: said(server, "stopping after the requests") and refuses(server.port))
        for client in clients:
            client.request("POST", "/process", urllib.parse.urlencode(DATA), FORM)
        for client in clients:
            response = client.getresponse()
            assert (response.status, response.headers["connection"]) == (200, "close")
            assert "den" in response.read().decode()
            client.close()
        assert server.process.wait(60) == 0
        assert result_of(future.result()).count("# sent_id") == 3
        assert server.messages[-1] == "stopped\n" and not said(server, "Traceback")
        assert running(server.process.pid) == []


@pytest.mark.thorough
def test_workers_end_with_a_server_that_is_killed(toy_path):
    with serving(toy_path) as server:
        workers = running(server.process.pid)
        server.process.kill()
        server.process.wait()
        assert len(workers) > 1 and work_until_end(workers) < 1
        assert running(server.process.pid) == []


def test_errors_of_the_command_are_one_line(toy_path, tmp_path, capsys):
    copy = shutil.copy(toy_path, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words, message in (
            (["--port", port], f"127.0.0.1:{port}: cannot bind: address already in use; --port 0 takes a free one"),
            (["--host", "none.invalid"], "none.invalid:8001: cannot bind: "),
            ([str(copy)], "another model is also called 'toy-2'"),
        ):
            assert main(["serve", str(toy_path), *words]) == 2
            error = capsys.readouterr().err
            assert error.startswith("nonproj: ") and message in error and error.count("\n") == 1
