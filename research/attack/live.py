"""Servers that are attacked while they run, and requests to them."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time

from research.attack.campaign import ROOT, BreachError, UnavailableError
from research.attack.properties import require

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


class Live:
    """A server in a separate process.

    Parameters
    ----------
    *words : str
        The command line.

    Attributes
    ----------
    port : int
    token : str
        Token of annotation.
    """

    def __init__(self, *words: str):
        command, environment = [sys.executable, "-P", "-m", "nonproj", *words], os.environ | {"PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, env=environment)
        self.messages: list[str] = []
        self.port, self.token = 0, ""
        threading.Thread(target=self._read, daemon=True).start()
        deadline = time.monotonic() + 300.0
        while not self.port:
            if self.process.poll() is not None and "needs the package" in "".join(self.messages):
                raise UnavailableError(self.messages[-1].strip())
            require(self.process.poll() is None, f"the server has ended: {''.join(self.messages)[-1500:]}")
            require(time.monotonic() < deadline, "the server does not start")
            time.sleep(0.05)

    def _read(self) -> None:
        for line in self.process.stdout:
            text = line.decode("utf-8", "replace")
            self.messages.append(text)
            if found := re.search(r"http://[^\s:]+:(\d+)/(?:[?]token=(\S+))?$", text.rstrip()):
                self.token, self.port = found[2] or "", int(found[1])

    def end(self) -> None:
        """Terminate the process."""
        self.process.terminate()
        try:
            self.process.wait(15.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise BreachError("the server does not end after SIGTERM") from None


def exchange(port: int, pieces: list[bytes], wait: float, pause: float = 0.0) -> bytes:
    """Send pieces to the server on one connection, and return its response until it closes, or for some time."""
    deadline, answer = time.monotonic() + wait, b""
    with socket.create_connection(("127.0.0.1", port), timeout=max(wait, 1.0)) as connection:
        for piece in pieces:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(piece)
            if pause:
                time.sleep(pause)
        while (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            try:
                block = connection.recv(1 << 16)
            except (TimeoutError, ConnectionResetError):
                break
            if not block:
                break
            answer += block
    return answer


def status_of(answer: bytes) -> int | None:
    """Return the status of a response, the last one that is not 1xx, or None."""
    found = [int(status) for status in _STATUS.findall(answer)]
    return found[-1] if found else None
