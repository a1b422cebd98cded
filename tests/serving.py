"""A server in a separate process, for tests."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from command import ROOT, running, start, wait_until

from nonproj.errors import FileError
from nonproj.server.memory import limit_memory

GOLDEN = ROOT / "tests" / "golden" / "model.nonproj"
"""A small model."""

DATA = {"data": "den hund ser hus", "input": "horizontal", "parser": ""}
"""A short request."""

HTTP: dict = {"timeout": 60, "verify": ssl.create_default_context()}
"""Options of requests: by default, httpx makes a context for each of them, in 20 ms, although none here needs it."""

FORM = {"content-type": "application/x-www-form-urlencoded"}
"""The header of a request whose fields are in its body."""

WORDS = ("den", "stor", "lille", "hund", "kat", "mand", "hus", "ser", "jager", "kender", "sovende", ".")


class Server:
    """A running server: its address, its messages and its process."""

    def __init__(self, *words: str):
        self.process = start("serve", *words, "--port", "0", stdout=subprocess.PIPE, text=True)
        self.messages: list[str] = []
        self.url = ""
        threading.Thread(target=self._read, daemon=True).start()
        wait_until(lambda: self.url or self.process.poll() is not None, messages=self.messages)
        assert self.url, self.messages

    def _read(self) -> None:
        for line in self.process.stderr:
            self.messages.append(line)
            if found := re.search(r" at (http://\S+)/$", line.rstrip()):
                self.url = found[1]

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.url.rpartition(":")[2])

    @property
    def workers(self) -> set[int]:
        """The numbers of the processes that it has started."""
        return {*running(self.process.pid)} - {self.process.pid}

    def request(self, method: str, path: str, **options):
        """The answer to a request."""
        return importlib.import_module("httpx").request(method, f"{self.url}{path}", **(HTTP | options))

    get, post = functools.partialmethod(request, "GET"), functools.partialmethod(request, "POST")

    def parse(self, fields: dict = DATA, **options):
        """The answer to a request to parse, with these fields as a form."""
        return self.post("/process", data=fields, **options)

    def metrics(self) -> dict[str, float]:
        """The numbers that it counts."""
        lines = self.get("/metrics").text.splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(30)


@contextlib.contextmanager
def serving(path: Path, *words: str) -> Iterator[Server]:
    """Serve a model until the context ends."""
    server = Server(str(path), *words)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def nonsense(count: int, seed: int = 0) -> str:
    """A line with a number of words in random order, which takes long to parse."""
    return " ".join(random.Random(seed).choices(WORDS, k=count))


def talk(port: int, *data: bytes, end: bool = False) -> bytes:
    """Answer of a server until it closes the connection; with ``end``, the client says that it has sent all."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client, contextlib.suppress(ConnectionError):
        for block in data:
            client.sendall(block)
        if end:
            client.shutdown(socket.SHUT_WR)
        while block := client.recv(65536):
            answer += block
    return answer


async def with_application(app, work):
    """Return the result of a coroutine function called with the port of an application's server."""
    accepting, library = map(importlib.import_module, ("nonproj.server.accepting", "nonproj.server.library"))
    with accepting.bind("127.0.0.1", 0) as listener:
        started = asyncio.Event()
        server = library.Server(library.configuration(app, timeout_graceful_shutdown=10), started.set)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        await started.wait()
        try:
            return await asyncio.wait_for(work(listener.getsockname()[1]), 120)
        finally:
            server.stop()
            await running


# -- requests while a server changes -----------------------------------------------------------------------------------


def put(source: Path, target: Path) -> None:
    """Replace a model file, as a careful program does."""
    os.replace(shutil.copy(source, target.with_suffix(".new")), target)


async def until(condition) -> None:
    """Wait for a condition, while other coroutines work."""
    while not condition():
        await asyncio.sleep(0.02)


def said(server, text: str) -> int:
    """Number of times that the server has said something."""
    return sum(text in message for message in list(server.messages))


def reload(server, outcome: str = "serving the reloaded toy") -> None:
    """Have a server read its models again, and wait until it has said that it has, or something else."""
    before = said(server, outcome)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: said(server, outcome) > before, messages=server.messages)


class Stream:
    """Requests in a steady stream, some on connections of their own, some on one that stays open; a context manager."""

    def __init__(self, url: str, **options):
        self._library = importlib.import_module("httpx")
        self.answers: list[str] = []
        self._url, self._options, self._over = url, options, threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(kept,)) for kept in (False, True)]

    def __enter__(self) -> Stream:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Wait for the last answers."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _send(self, kept: bool) -> None:
        with contextlib.ExitStack() as stack:
            client = stack.enter_context(self._client()) if kept else None
            while not self._over.is_set():
                try:
                    with contextlib.nullcontext(client) if client else self._client() as own:
                        response = own.post("/process", data=DATA)
                    self.answers.append(response.text if response.status_code == 200 else f"{response.status_code}")
                except self._library.HTTPError as error:
                    self.answers.append(repr(error))
                time.sleep(0.02)

    def _client(self):
        return self._library.Client(base_url=self._url, **(HTTP | {"timeout": 120} | self._options))

    def wait_for(self, count: int) -> None:
        """Wait for this number of further answers."""
        wanted = len(self.answers) + count
        wait_until(lambda: len(self.answers) >= wanted)


# -- calls for worker processes ----------------------------------------------------------------------------------------


def nothing() -> str:
    """Prepare a worker process for nothing."""
    return "prepared"


def rest(seconds: float, value: str = "rested", marker: str = "") -> str:
    """Return after some time, and leave a file as soon as it begins."""
    if marker:
        Path(marker).touch()
    time.sleep(seconds)
    return value


def prepare_at_most(folder: str, times: int) -> str:
    """Succeed a number of times only."""
    number = len(list(Path(folder).iterdir()))
    if number >= times:
        raise FileError(folder, "cannot be loaded any more")
    (Path(folder) / str(number)).touch()
    return "prepared"


def limited(megabytes: int) -> str:
    """Limit the memory of a worker process."""
    limit_memory(megabytes)
    return "prepared"


def take(megabytes: int) -> int:
    """Allocate memory."""
    return len(bytearray(megabytes << 20))
