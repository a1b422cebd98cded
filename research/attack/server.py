"""Lane of requests to a live server: malformed, half sent, too large; afterwards it answers as before."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import time
from pathlib import Path
from urllib.parse import quote, quote_from_bytes

from research.attack import material, mutators
from research.attack.campaign import BreachError, Lane
from research.attack.live import Live, exchange, status_of
from research.attack.properties import check_message, require
from research.attack.text import draw_text

PATIENCE = 20.0
"""Seconds within which a normal request must be answered, regardless of earlier requests."""

MAX_BYTES = 200_000
"""Limit of a request's body."""

_READ = 2.0
_VALUES = ["", "none", "1", "x", "conllu", "horizontal", "generic_tokenizer", "presegmented", "ranges", "\0", "é"]
_NAMES = ["data", "model", "input", "output", "tokenizer", "tagger", "parser", "certificates", "dat", "\n"]
_NAMES += ["x" * 300, ""]
_PATHS = ["/process", "/process", "/process", "/models", "/", "/health", "/metrics", "//process", "/../process"]
_PATHS += ["/process%00", "/process/../models", "*", "/%ff", "/x" * 5000]
_METHODS = ["GET", "POST", "POST", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "CONNECT", "get", "X" * 300]
_METHODS += ["\0"]
_CHARSETS = ["utf-8", "punycode", "idna", "utf-7", "hex", "rot13", "utf-16", "unicode_escape", "no-such-charset"]
_CHARSETS += ["é", ""]
_HEADERS = [b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked, chunked"]
_HEADERS += [b"Content-Length: -1"]
_HEADERS += [b"Content-Length: 99999999999999999999", b"Content-Length: 1, 2", b"Content-Length: 0x10"]
_HEADERS += [b"Content-Length: 5"]
_HEADERS += [b"Expect: 100-continue", b"Expect: x", b"Connection: upgrade\r\nUpgrade: websocket", b"Upgrade: h2c"]
_HEADERS += [b"Host: ", b"Host: evil"]
_HEADERS += [b"Host: a\r\nHost: b", b"Origin: http://evil", b"Content-Encoding: gzip", b"X: " + b"a" * 70_000]
_HEADERS += [b"X\0Y: 1", b" folded: 1", b":"]
_HEADERS += [b"Content-Type: text/plain", b"Content-Type: multipart/form-data", b"Content-Type: ;;;"]
_HEADERS += [b"Content-Type: \xff", b"Range: bytes=0-"]


class Server(Lane):
    """Sends requests to a server process, by sockets, and a normal one after each."""

    name = "server"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.model = folder / "toy.nonproj"
        self.model.write_bytes(material.model_with_components("arc"))
        self.notes = {"answers": 0, "started": 0}
        self.live: Live | None = None
        self.expected = b""
        self._start()

    def _start(self) -> None:
        self.live = Live("serve", str(self.model), "--port", "0", "--max-bytes", str(MAX_BYTES), "--timeout", "10")
        self.notes["started"] += 1
        answer = self._normal()
        require(not self.expected or answer == self.expected, "a new server answers differently")
        self.expected = answer

    def case(self, rng: random.Random, number: int) -> str:
        """Send something, then a normal request."""
        if self.live is None:
            self._start()
        kinds = (self._bytes, self._lines, self._form, self._form, self._multipart, self._multipart, self._chunks)
        kind = rng.choice((*kinds, self._slow, self._many))
        try:
            status = kind(rng)
            require(self._normal() == self.expected, "another answer than before")
            self._check_process()
        except Exception:
            self.close()
            raise
        return f"{kind.__name__[1:]}, {status}"

    def close(self) -> None:
        """End the server."""
        if self.live:
            self.live.end()
        self.live = None

    def _check_process(self) -> None:
        """Check that the server lives, and has not failed unnoticed."""
        said = "".join(self.live.messages)
        require(self.live.process.poll() is None, f"the server has ended: {said[-1500:]}")
        require("Traceback" not in said, f"a traceback: {said[-1500:]}")
        del self.live.messages[:-20]

    def _normal(self) -> bytes:
        """Return the answer to a normal request; a busy server may refuse it at first."""
        data = "data=" + quote("Den hund ser Kat. Den kat ser den hund.") + "&tokenizer=&tagger=&parser="
        head = f"POST /process HTTP/1.1\r\nHost: 127.0.0.1:{self.live.port}\r\nConnection: close\r\n"
        head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(data)}\r\n\r\n"
        deadline, answer = time.monotonic() + PATIENCE, b""
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                answer = exchange(self.live.port, [(head + data).encode()], deadline - time.monotonic())
            status = status_of(answer)
            if status == 200:
                body = answer.partition(b"\r\n\r\n")[2]
                found = json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])
                return str(found["result"]).encode()
            if self.live.process.poll() is not None or status not in (503, None):
                break
            time.sleep(0.1)
        said = "".join(self.live.messages)[-1500:]
        raise BreachError(f"a normal request is answered by {answer[:300]!r}; the server said: {said}")

    # -- what is sent

    def _send(self, pieces: list[bytes], wait: float = _READ, pause: float = 0.0) -> object:
        """Send pieces on one connection; return the status, after checking the responses."""
        self.current = {"request": b"".join(pieces)}
        answer = b""
        with contextlib.suppress(OSError):
            answer = exchange(self.live.port, pieces, wait, pause)
        self.notes["answers"] += bool(answer)
        status = status_of(answer)
        require(status != 500, f"an internal error: {answer[:500]!r}")
        head, _, body = answer.partition(b"\r\n\r\n")
        ours = b"text/plain" in head.lower() and b"chunked" not in head.lower() and body.count(b"HTTP/1") == 0
        if status and 400 <= status < 500 and ours and body:
            check_message(body.decode().removesuffix("\n"))
        return status or "no answer"

    def _head(self, rng: random.Random, length: int | None, *lines: bytes) -> bytes:
        method, path = ("POST", "/process") if rng.random() < 0.8 else (rng.choice(_METHODS), rng.choice(_PATHS))
        host = f"Host: 127.0.0.1:{self.live.port}".encode()
        headers = [host, *lines, *([b"Content-Length: %d" % length] if length is not None else [])]
        if rng.random() < 0.2:
            headers.insert(rng.randrange(len(headers) + 1), rng.choice(_HEADERS))
        if rng.random() < 0.05:
            headers += [b"X%d: 1" % number for number in range(rng.choice((99, 5000)))]
        version = "HTTP/1.1" if rng.random() < 0.95 else rng.choice(("HTTP/1.0", "HTTP/2.0", "HTTP/9.9", "", "x"))
        return f"{method} {path} {version}\r\n".encode() + b"\r\n".join(headers) + b"\r\nConnection: close\r\n\r\n"

    def _bytes(self, rng: random.Random) -> object:
        """Send random or damaged bytes."""
        if rng.random() < 0.5:
            return self._send([rng.randbytes(rng.choice((1, 10, 1000, 100_000)))], 0.5)
        whole = self._head(rng, 9) + b"data=Den.&"
        return self._send([mutators.damage(rng, whole)], 0.5)

    def _lines(self, rng: random.Random) -> object:
        """Send several requests at once, or one with strange line ends."""
        one = self._head(rng, 10) + b"data=Den%2E"
        whole = one * rng.choice((1, 2, 50))
        if rng.random() < 0.5:
            whole = whole.replace(b"\r\n", rng.choice((b"\n", b"\r", b"\r\r\n", b"\n\r", b"\0\r\n")))
        return self._send([whole], 0.5)

    def _form(self, rng: random.Random) -> object:
        """Send parameters of any names and values."""
        fields = [("data", draw_text(rng))] if rng.random() < 0.9 else []
        fields += [(name, rng.choice(("", "", "", "1", "x"))) for name in ("tokenizer", "tagger", "parser")]
        if rng.random() < 0.3:
            fields += [(rng.choice(_NAMES), rng.choice(_VALUES)) for _ in range(rng.choice((1, 2, 60)))]
        data = "&".join(f"{quote(name)}={quote(value)}" for name, value in fields).encode()
        if rng.random() < 0.2:
            data += (
                b"&data="
                + quote_from_bytes(rng.randbytes(20)).encode()
                + rng.choice((b"%", b"%f", b"%zz", b"&&&=", b"\xff"))
            )
        if rng.random() < 0.03:
            data += b"&data=" + b"a" * 2 * MAX_BYTES
        length = len(data) if rng.random() < 0.9 else rng.choice((0, len(data) // 2, len(data) + 5, None))
        return self._send([self._head(rng, length, b"Content-Type: application/x-www-form-urlencoded"), data])

    def _multipart(self, rng: random.Random) -> object:
        """Send a form in parts, with strange charsets, boundaries and headers of parts."""
        boundary = rng.choice((b"b", b"b" * 200, b"--", b"\xe9", b"a b", b""))
        parts = [(b"tokenizer", b""), (b"data", draw_text(rng).encode() * rng.choice((1, 1, 20)))]
        parts += [(rng.choice(_NAMES).encode(), rng.randbytes(9)) for _ in range(rng.choice((0, 1, 60)))]
        body = b""
        for name, value in parts:
            kind = rng.choice(("", f"; charset={rng.choice(_CHARSETS)}")).encode()
            file = rng.choice(
                (b"", b'; filename="x"', b"; filename*=utf-7''%2Bx", b'; filename="' + b"x" * 5000 + b'"')
            )
            body += b"--" + boundary + b'\r\nContent-Disposition: form-data; name="' + name + b'"' + file
            body += b"\r\nContent-Type: text/plain" + kind + b"\r\n\r\n" + value + b"\r\n"
        body += b"--" + boundary + b"--\r\n"
        if rng.random() < 0.3:
            body = mutators.damage(rng, body)
        charset = rng.choice(("", f"; charset={rng.choice(_CHARSETS)}")).encode()
        return self._send(
            [self._head(rng, len(body), b"Content-Type: multipart/form-data; boundary=" + boundary + charset), body]
        )

    def _chunks(self, rng: random.Random) -> object:
        """Send a body in chunks, many small ones or wrong ones."""
        kind = b"Content-Type: application/x-www-form-urlencoded"
        head = self._head(rng, None, kind, b"Transfer-Encoding: chunked")
        body = b"1\r\na\r\n" * rng.choice((1, 10, 20_000)) + rng.choice(
            (b"0\r\n\r\n", b"", b"-1\r\n", b"ffffffffffffffff1\r\n", b"zz\r\n")
        )
        if rng.random() < 0.3:
            body = b"5;" + b"x" * rng.choice((1, 100_000)) + b"\r\ndata=\r\n" + body
        return self._send([head, body], 1.0)

    def _slow(self, rng: random.Random) -> object:
        """Send a request in pieces and leave before the end, or before the answer."""
        whole = self._head(rng, 2000, b"Content-Type: application/x-www-form-urlencoded") + b"data=" + b"a+" * 900
        cuts = sorted(rng.randrange(len(whole)) for _ in range(3))
        pieces = [whole[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]
        return self._send(pieces, rng.choice((0.0, 0.2)), 0.05)

    def _many(self, rng: random.Random) -> object:
        """Open many connections that send nothing or half a request."""
        sockets = []
        with contextlib.suppress(OSError):
            for _ in range(rng.choice((5, 50))):
                sockets.append(socket.create_connection(("127.0.0.1", self.live.port), timeout=2.0))
                sockets[-1].sendall(rng.choice((b"", b"POST /process", self._head(rng, 1000))))
        for one in sockets:
            one.close()
        return f"{len(sockets)} connections"
