"""The number of connections: floods of them, few descriptors, and which are closed when there are too many."""

import asyncio
import concurrent.futures
import contextlib
import errno
import os
import resource
import signal
import socket

import pytest
from command import wait_until
from serving import GOLDEN, serving, with_application

from nonproj.cli.main import main
from nonproj.server import accepting, connections
from nonproj.server.accepting import Listener, OncePerMinute
from nonproj.server.connections import LEAST_FILES, allow_files

FLOOD = 3000
"""Number of connections of a flood: more than there may be open files, and than the system's queue holds."""


def connect(port: int) -> None:
    """Connect and close at once."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10):
        pass


def limit_files(server, count: int) -> None:
    """Limit the open files of a running server."""
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (count, count))


# -- descriptors -------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit")
def test_a_flood_of_connections_does_not_exhaust_descriptors():
    """Nor do idle clients take those that a new worker needs."""
    with serving(GOLDEN) as server, concurrent.futures.ThreadPoolExecutor(4) as pool:
        limit_files(server, 300)
        made = [pool.submit(connect, server.port) for _ in range(FLOOD)]
        wait_until(lambda: sum(each.done() for each in made) > 300)
        assert server.parse().status_code == 200
        concurrent.futures.wait(made)
        assert server.parse().status_code == 200
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(400)]
        [worker] = server.workers
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: server.workers not in (set(), {worker}))
        for client in idle:
            client.close()
        wait_until(lambda: server.parse().status_code == 200)
        assert server.metrics()['nonproj_workers_replaced_total{reason="died"}'] == 1
        server.stop()
        assert sum(not line.startswith("127.0.0.1 ") for line in server.messages) <= 6, server.messages[:20]


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit")
def test_requests_beyond_the_limit_of_connections_are_refused():
    """None of the others is idle: the server waits for the body of a request on each."""
    header = b"POST /process HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
    with serving(GOLDEN) as server, contextlib.ExitStack() as stack:
        limit_files(server, LEAST_FILES)
        for _ in range(2 * accepting.ACCEPTED):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            client.sendall(header)
            assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        response = server.parse()
        assert (response.status_code, response.headers["connection"]) == (503, "close")
        assert response.text == "busy: too many connections; try again later\n"
        assert server.get("/models").status_code == 200


def test_the_limit_on_open_files_is_raised_as_far_as_permitted(monkeypatch, capsys):
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: given.append(limits))
    for limits in ((64, resource.RLIM_INFINITY), (64, 4096), (64, 300), (5000, 5000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limits=limits: limits)
        allow_files()
    assert given == [(1348, resource.RLIM_INFINITY), (1348, 4096), (300, 300)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 255))
    assert main(["serve", str(GOLDEN), "--port", "0"]) == 2
    message = "nonproj: ulimit -n: 255 open files are allowed, and a server needs 256; raise the hard limit: "
    error = capsys.readouterr().err
    assert error.startswith(f"{message}'ulimit -n 256', ") and error.count("\n") == 1


class ExhaustedSocket(socket.socket):
    """A socket from which the first attempts to accept a connection fail."""

    errors = [errno.EMFILE, errno.EMFILE, errno.ENOBUFS, errno.EMFILE]

    def accept(self):
        if self.errors:
            error = self.errors.pop()
            raise OSError(error, os.strerror(error))
        return super().accept()


def test_a_listener_reports_each_error_once_and_goes_on(monkeypatch, caplog):
    monkeypatch.setattr(accepting, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(accepting.log, "filters", [OncePerMinute()])

    async def connect() -> bytes:
        listener = Listener(endpoint, Greeting)
        reader, writer = await asyncio.open_connection(*endpoint.getsockname())
        greeting = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        listener.close()
        await listener.wait_closed()
        return greeting

    with ExhaustedSocket(socket.AF_INET, socket.SOCK_STREAM) as endpoint:
        endpoint.bind(("127.0.0.1", 0))
        assert asyncio.run(connect()) == b"welcome"
    reasons = ["too many open files", "no buffer space available"]
    assert caplog.messages == [f"cannot accept connections: {reason}" for reason in reasons]


class Greeting(asyncio.Protocol):
    """Sends a greeting, and closes the connection."""

    def connection_made(self, transport) -> None:
        transport.write(b"welcome")
        transport.close()


# -- which connections are closed --------------------------------------------------------------------------------------


async def answer(scope, receive, send) -> None:
    """An application that answers requests for ``/`` only."""
    if scope["path"] != "/":
        await receive()  # the request is complete
        await receive()  # the client has disconnected
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def are_open(*clients) -> list[bool]:
    """Whether the server still has each connection open, some time after it got another one."""
    reads = [asyncio.wait_for(reader.read(1), 0.2) for reader, _ in clients]
    found = await asyncio.gather(*reads, return_exceptions=True)
    return [isinstance(each, TimeoutError) for each in found]


def test_idle_connections_are_closed_for_others(monkeypatch):
    """First those without any request, then those that have been idle for longest; never those with a request."""
    monkeypatch.setattr(connections, "CONNECTIONS", 3)
    monkeypatch.setattr(connections, "REFUSED", 1)

    async def work(port: int) -> None:
        async def connect(path: str = ""):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if path:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            if path == "/":
                assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
            return reader, writer

        used, busy = await connect("/"), [await connect("/wait")]
        silent = await connect()
        assert await are_open(used, *busy, silent) == [True] * 3
        busy.append(await connect("/wait"))
        assert await are_open(used, *busy, silent) == [True, True, True, False]
        busy.append(await connect("/wait"))
        assert await are_open(used, *busy) == [False, True, True, True]
        busy.append(await connect("/wait"))  # one more than the limit; none is idle
        refused = await connect()
        assert await are_open(*busy, refused) == [True] * 4 + [False]
        for _, writer in busy:
            writer.close()

    asyncio.run(with_application(answer, work))
