"""The defences of the server: bodies, connections, hosts, changing models, dead workers."""

import asyncio
import contextlib
import functools
import os
import resource
import signal
import sys

import h11
import pytest
from command import wait_until
from serving import DATA, GOLDEN, put, serving, talk, until, with_application

from nonproj.cli.main import main
from nonproj.errors import ConfigError
from nonproj.server import connections
from nonproj.server.bodies import decoded, multipart
from nonproj.server.connections import FREE_CHUNKS, LEAST_CHUNK, Connection, Writing
from nonproj.server.copies import private_copy
from nonproj.server.hosts import HostCheck, check_host, check_origin
from nonproj.server.processing import RequestError

# -- bodies ------------------------------------------------------------------------------------------------------------


def part(name: str, data: bytes, header: bytes = b"") -> bytes:
    """A part of a multipart form with the boundary ``x``."""
    return b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n' % (name.encode(), header, data)


def test_no_codec_but_utf8_is_ever_used(server):
    def ask(kind):
        body = part("data", b"") + part("parser", b"") + b"--x--\r\n"
        response = server.post("/process", content=body, headers={"content-type": kind})
        return response.status_code, response.text

    for charset in ("punycode", "idna", "utf-7", "unicode_escape", "hex", "latin-1", "nonsense"):
        for kind in (f"multipart/form-data; boundary=x; charset={charset}", f"multipart/form-data;charset={charset}"):
            assert ask(kind) == (415, f"charset: '{charset}' is not UTF-8\n")
    assert ask("multipart/form-data; boundary=x; charset=UTF-8")[0] == 200


def test_multipart_forms_are_read():
    body = part("data", "blåbær".encode(), b'; filename="a.txt"\r\nContent-Type: text/plain; charset=punycode')
    assert multipart(body + part("parser", b"") + b"--x--\r\n", b"x") == {"data": "blåbær", "parser": ""}
    assert multipart(part("data", b"\xef\xbb\xbfa") + b"--x--\r\n", b"x") == {"data": "a"}
    assert multipart(part("data", b"a\r\n--y\r\n") + b"--x--\r\n", b"x") == {"data": "a\r\n--y\r\n"}


MALFORMED = [
    (part("data", b"a"), b"", "there is no boundary"),
    (part("data", b"a"), b"x", "its end is missing"),
    (part("data", b"\xff") + b"--x--\r\n", b"x", "data: byte 0 is not UTF-8"),
    (part("data", b"", b"; a=" + b"b" * 5000) + b"--x--\r\n", b"x", "malformed form: "),
    (b"--x\r\nA: b\r\n\r\n\r\n--x--\r\n", b"x", "malformed form: Field name not found"),
    (b"".join(part(f"p{i}", b"a") for i in range(51)) + b"--x--\r\n", b"x", "more than 50 parameters"),
    (b"--x\r\n" + b"A: b\r\n" * 5000 + b"\r\n\r\n--x--\r\n", b"x", "malformed form: "),
    (b"nonsense", b"x", "malformed form: "),
]


@pytest.mark.parametrize(("body", "boundary", "message"), MALFORMED)
def test_malformed_forms_are_refused(body, boundary, message):
    with pytest.raises(RequestError, match=message):
        multipart(body, boundary)


def test_encoded_forms_are_utf8():
    assert decoded(b"data=bl%C3%A5+b&parser=") == {"data": "blå b", "parser": ""}
    for data in (b"data=\xff", b"data=%FF"):
        with pytest.raises(RequestError, match="not UTF-8"):
            decoded(data)


def chunks(size: int, count: int) -> bytes:
    """Some chunks of a body."""
    return (b"%x\r\n%s\r\n" % (size, b"a" * size)) * count


def test_a_body_in_crumbs_is_refused_after_a_counted_number_of_chunks():
    header = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    small = (1, 200_000, FREE_CHUNKS + 99), (LEAST_CHUNK - 1, 200_000, 20 * FREE_CHUNKS)
    for size, count, most in (*small, (LEAST_CHUNK, 50_000, 50_001)):
        connection, seen = Connection(h11.SERVER), 0
        connection.receive_data(header + chunks(size, count))
        with pytest.raises(h11.RemoteProtocolError) if size < LEAST_CHUNK else contextlib.nullcontext():
            while connection.next_event() is not h11.NEED_DATA:
                seen += 1
        assert seen <= most if size < LEAST_CHUNK else seen == most


def test_crumbs_and_double_lengths_are_answered_and_closed(server):
    header = b"POST /process HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    chunked, length, body = b"Transfer-Encoding: chunked\r\n", b"Content-Length: %s\r\n", b"\r\n5\r\ndata=\r\n0\r\n\r\n"
    crumbs = header + chunked + b"\r\n" + chunks(1, 200_000) + b"0\r\n\r\n"
    answer = talk(server.port, crumbs)
    assert answer.startswith(b"HTTP/1.1 400 ") or answer == b""  # the rest of the body may reset the connection first
    talk(server.port, crumbs.replace(b"/process", b"/nothing"))
    unended = chunked + body.replace(b"=\r\n", b"=XX")  # no line ends after the chunk
    lengths = [length % number + b"\r\ndata=" for number in (b"1" * 10_000, b"9" * 21)]
    for rest in (*lengths, unended, length % b"5" + chunked + body):
        answer = talk(server.port, header + rest)
        assert answer.startswith(b"HTTP/1.1 400 ") and b"Traceback" not in answer
    assert answer.endswith(b"a request may not have both Content-Length and Transfer-Encoding\n")
    assert talk(server.port, header + b"Connection: close\r\n" + chunked + body).startswith(b"HTTP/1.1 200 ")
    assert server.get("/models").status_code == 200


# -- hosts and origins -------------------------------------------------------------------------------------------------


def scope(address: str = "127.0.0.1", **headers: str) -> dict:
    """The scope of a request."""
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "server": (address, 8001), "headers": pairs, "path": "/process"}


CHECK = HostCheck(None, ["Parser.example.org"], ["https://example.org"])


def test_hosts():
    """The address that the connection arrives at is one of the server's own."""
    own = "localhost:8001 LOCALHOST a.localhost:1 127.0.0.1:8001 127.9.9.9 [::1]:8001 10.0.0.7:8001"
    own += " parser.example.org parser.example.org:443"
    assert not [host for host in own.split() if CHECK.problem(scope("10.0.0.7", host=host))]
    others = "10.0.0.8:8001 evil.parser.example.org parser.example.org.evil.com evil.com localhost.evil.com"
    others += " 127.0.0.1.evil.com 127.0.0.1@evil.com evil.com#localhost"
    for host in (*others.split(), ""):
        assert CHECK.problem(scope("10.0.0.7", host=host))[0] == 421, host
    assert HostCheck(None, ["*"]).problem(scope(host="evil.com")) is None
    # A socket for both versions of the protocol, such as ListenStream=8001 makes one, knows its own address, too.
    assert CHECK.problem(scope("::ffff:192.0.2.7", host="192.0.2.7:8001")) is None
    assert CHECK.problem(scope("::ffff:192.0.2.8", host="192.0.2.7:8001"))[0] == 421


def test_origins():
    cross = {"sec_fetch_site": "cross-site"}
    own = [{}, {"sec_fetch_site": "same-origin"}, {"sec_fetch_site": "none", "sec_fetch_mode": "navigate"}]
    own += [cross | {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}]
    own += [{"origin": name} for name in ("http://localhost:8001", "https://localhost:8001", "https://example.org")]
    assert not [each for each in own if CHECK.problem(scope(host="localhost:8001", **each))]
    others = [cross | {"sec_fetch_mode": "no-cors"}, cross | {"sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}]
    foreign = ("http://localhost:9000", "http://example.org", "https://evil.com", "null")
    for each in (*others, *({"origin": name} for name in foreign)):
        assert CHECK.problem(scope(host="localhost:8001", **each))[0] == 403, each


def test_hosts_and_origins_of_a_running_server(server):
    for name, value, status in (
        ("host", "parser.example.org", 200),
        ("host", "localhost", 200),
        ("host", "rebound.example.com", 421),
        ("origin", "https://evil.com", 403),
        ("origin", "https://example.org", 200),
    ):
        answer = server.parse(headers={name: value})
        assert answer.status_code == status
        assert status != 421 or answer.text.startswith("Host: 'rebound.example.com' is not a name of this server")
    assert answer.headers["access-control-allow-origin"] == "https://example.org"


def test_malformed_hosts_and_origins_are_refused(capsys):
    for host in ("a:80", "http://a", "a/b", ""):
        with pytest.raises(ConfigError, match="--allowed-host: .* is not a host name"):
            check_host(host)
    assert [check_host("::1"), check_host("*")] == ["::1", "*"]
    for origin in ("example.org", "https://example.org/", "https://a/b", ""):
        with pytest.raises(ConfigError, match="--allowed-origin: .* is not an origin"):
            check_origin(origin)
    assert main(["serve", str(GOLDEN), "--allowed-host", "a:80"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# -- models ------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_server_owns_its_models(path, other):
    """The file is overwritten in place, then replaced by another, then removed; and the worker dies each time."""
    overwrite, replace = functools.partial(path.write_bytes, b"\xff" * path.stat().st_size), (lambda: put(other, path))
    with serving(path) as server:
        expected = server.parse().json()
        for number, change in enumerate((overwrite, replace, path.unlink), 1):
            change()
            assert server.parse().json() == expected
            [worker] = server.workers
            os.kill(worker, signal.SIGKILL)
            assert server.parse().json() == expected
            assert server.metrics()['nonproj_workers_replaced_total{reason="died"}'] == number


def test_a_damaged_model_is_found_when_it_is_copied(tmp_path, capsys):
    damaged = bytearray(GOLDEN.read_bytes())
    damaged[-5] ^= 0xFF
    (tmp_path / "a.nonproj").write_bytes(damaged)
    assert main(["serve", str(tmp_path / "a.nonproj"), "--port", "0"]) == 2
    message = f"nonproj: {tmp_path}/a.nonproj: damaged: the array 'network.labels' does not match its checksum\n"
    assert capsys.readouterr().err == message


def test_a_copy_cannot_be_written_to(tmp_path):
    with private_copy(str(GOLDEN)) as copy:
        assert copy.labels
        with pytest.raises(OSError), open(copy.path, "r+b") as stream:
            stream.write(b"x")
            stream.flush()
    assert not os.path.exists(copy.path)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit")
def test_a_server_that_cannot_start_workers_ends_with_an_error():
    with serving(GOLDEN) as server:
        [worker] = server.workers
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (3, 3))
        os.kill(worker, signal.SIGKILL)
        assert server.process.wait(120) == 2
        wait_until(lambda: server.messages[-1].startswith("nonproj: no worker process can be started: "))
        assert not any("Traceback" in message for message in server.messages)


# -- clients that do not read ------------------------------------------------------------------------------------------


async def send_much(scope, receive, send) -> None:
    """An application whose responses have 20 MB."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"20000000")]})
    await send({"type": "http.response.body", "body": b"a" * 20_000_000})


async def ask(port: int):
    """Ask for a response, without reading it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    await writer.drain()
    writer.transport.pause_reading()
    return reader, writer


def test_clients_that_do_not_read_are_dropped_and_others_are_not(monkeypatch):
    monkeypatch.setattr(connections, "WRITE_SECONDS", 0.5)
    monkeypatch.setattr(connections, "WRITE_SPEED", 1e9)
    writing = Writing(send_much)

    async def work(port: int):
        idle = [await ask(port) for _ in range(5)]
        most = 0
        while writing.dropped < 5:
            most = max(most, writing.unsent)
            await asyncio.sleep(0.01)
        monkeypatch.setattr(connections, "WRITE_SECONDS", 60.0)
        for _, writer in idle:
            writer.close()
        reader, writer = await ask(port)
        writer.transport.resume_reading()
        header, body = await reader.readuntil(b"\r\n\r\n"), await reader.readexactly(20_000_000)
        writer.close()
        await until(lambda: not writing.unsent)
        return header, len(body), most

    header, length, most = asyncio.run(with_application(writing, work))
    assert header.startswith(b"HTTP/1.1 200 ") and length == 20_000_000
    assert most <= 100_000_000 and writing.dropped == 5


def test_unsent_bytes_are_limited(monkeypatch):
    """Many clients do not read: those that have taken longest are dropped at once."""
    monkeypatch.setattr(connections, "UNSENT_BYTES", 45_000_000)
    monkeypatch.setattr(connections, "WRITE_SECONDS", 600.0)
    writing = Writing(send_much)

    async def work(port: int):
        clients = []
        for number in range(1, 7):
            clients.append(await ask(port))
            await until(lambda: len(writing._clients) + writing.dropped == number)  # noqa: B023
            assert writing.unsent <= 45_000_000
        dropped = writing.dropped
        for _, writer in clients:
            writer.close()
        await until(lambda: not writing.unsent)
        return dropped

    assert 3 <= asyncio.run(with_application(writing, work)) <= 5


def test_a_socket_buffers_no_response():
    """The server waits until a piece is in the system's hands before it hands over the next."""
    seen = []

    async def app(scope, receive, send) -> None:
        connection = scope["state"]["connection"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(400):
            seen.append(connection.transport.get_write_buffer_size())
            await send({"type": "http.response.body", "body": b"a" * 65536, "more_body": True})

    async def work(port: int):
        _, writer = await ask(port)
        await until(lambda: seen and seen[-1])
        for _ in range(1000):  # turns of the loop, in which more could be handed over
            await asyncio.sleep(0)
        writer.close()
        return max(seen)

    assert asyncio.run(with_application(app, work)) < 2 * 65536


# -- for operators -----------------------------------------------------------------------------------------------------


def test_health_asks_a_worker(server):
    answer = server.get("/health")
    assert answer.status_code == 200
    assert {"status": "ok", "models": ["english-ewt-arc"], "workers": 1}.items() <= answer.json().items()
    [worker] = server.workers
    os.kill(worker, signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: server.get("/health").status_code == 200)
    assert worker not in server.workers


def test_metrics_and_the_log_count_requests(server):
    before, messages = server.metrics(), len(server.messages)
    for fields, status in ((DATA, 200), (DATA, 200), ({"data": "a", "input": "b"}, 400)):
        assert server.parse(fields, params={"output": "conllu"}).status_code == status
    server.get("/no%0Awhere?data=secret")
    after = server.metrics()
    for name, more in (
        ('nonproj_requests_total{path="/process",status="200"}', 2),
        ('nonproj_requests_total{path="/process",status="400"}', 1),
        ('nonproj_requests_total{path="other",status="404"}', 1),
        ('nonproj_words_total{model="english-ewt-arc"}', 8),
        ('nonproj_sentences_total{model="english-ewt-arc"}', 2),
        ("nonproj_queue_seconds_count", 2),
        ('nonproj_work_seconds_count{model="english-ewt-arc"}', 2),
    ):
        assert after[name] - before.get(name, 0) == more, name
    assert after["nonproj_queue_length"] == 0
    assert after['nonproj_workers{state="idle"}'] == 1
    assert after["nonproj_workers_resident_memory_bytes"] > 1 << 20
    wait_until(lambda: len(server.messages) >= messages + 5)
    lines = [line for line in server.messages[messages:] if "/metrics" not in line]
    expected = ["POST /process 200", "POST /process 200", "POST /process 400", "GET /no\\nwhere 404"]
    assert [" ".join(line.split(" ")[1:4]) for line in lines] == expected
    assert lines[0].startswith("127.0.0.1 POST ") and "; english-ewt-arc: 1 sentence, 4 words, waited " in lines[0]
    assert not any("secret" in line for line in lines)
