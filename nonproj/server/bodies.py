"""Bodies of requests, parsed in threads, never in the event loop.

All text is UTF-8.  Other encodings named in a body are never looked up in Python's registry.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from nonproj.server.processing import RequestError
from nonproj.server.receiving import BodyLimits, body_of

MAX_FIELDS = 50

MAX_PART_HEADER = 4096
"""Maximum length of a header of a multipart part, and maximum number of headers of all parts together."""

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"

_threads = ThreadPoolExecutor(2, "bodies")


async def parameters_of(request: Request, limits: BodyLimits) -> dict[str, str]:
    """Return the parameters of the query and of the form.

    Raises
    ------
    HTTPException, GoneError
        From `nonproj.server.receiving.body_of`; or the body is not a form (415).
    RequestError
        It is malformed, or a parameter is given twice.
    """
    given = decoded(request.scope["query_string"])
    if request.method != "POST":
        return given
    kind, options = media_type(request.headers.get("content-type", FORM))
    if kind not in (FORM, MULTIPART):
        raise HTTPException(415, f"{kind} is not a form: {FORM} or {MULTIPART} expected")
    charset = options.get(b"charset", b"utf-8").decode("latin-1")
    if charset.lower().replace("_", "-") not in ("utf-8", "utf8", "us-ascii"):
        raise HTTPException(415, f"charset: {charset[:40]!r} is not UTF-8")
    body = await body_of(request, limits)
    read, arguments = (decoded, ()) if kind == FORM else (multipart, (options.get(b"boundary", b""),))
    form = await asyncio.get_running_loop().run_in_executor(_threads, read, body, *arguments)
    return _unique([*given.items(), *form.items()])


def _unique(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return parameters by name; raise RequestError if one is given twice."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise RequestError(f"{name[:100]}: the parameter is given more than once")
        found[name] = value
    return found


def media_type(header: str) -> tuple[str, dict[bytes, bytes]]:
    """Return the media type in a header, and its options.

    Examples
    --------
    >>> media_type("Multipart/Form-Data; boundary=x")
    ('multipart/form-data', {b'boundary': b'x'})
    """
    kind, options = parse_options_header(header[:MAX_PART_HEADER])
    return kind.decode("latin-1").strip().lower(), options


def decoded(data: bytes) -> dict[str, str]:
    """Return the fields of an encoded form or a query.

    Examples
    --------
    >>> decoded(b"data=a+b&parser=")
    {'data': 'a b', 'parser': ''}
    """
    try:
        pairs = parse_qsl(data.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError:
        raise RequestError("the parameters are not UTF-8") from None
    except ValueError:
        raise RequestError(f"more than {MAX_FIELDS} parameters") from None
    return _unique(pairs)


def multipart(body: bytes, boundary: bytes) -> dict[str, str]:
    """Return the fields of a multipart form, including files, as texts.

    Examples
    --------
    >>> multipart(b'--x\\r\\nContent-Disposition: form-data; name="data"\\r\\n\\r\\na\\r\\n--x--\\r\\n', b"x")
    {'data': 'a'}
    """
    if not boundary:
        raise RequestError("malformed form: there is no boundary")
    form = _Form()
    try:
        parser = MultipartParser(boundary, form.callbacks())
        parser.write(body)
        parser.finalize()
    except (FormParserError, ValueError) as error:
        raise RequestError(f"malformed form: {error}") from None
    if not form.complete:
        raise RequestError("malformed form: its end is missing")
    return _unique([(name, _text(name, data)) for name, data in form.fields])


def _text(name: str, data: bytearray) -> str:
    """Return the text of a field or file."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{name[:100]}: byte {error.start} is not UTF-8") from None


class _Form:
    """The parts of a multipart form, from the events of its parser."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, bytearray]] = []
        self.complete = False
        self._name, self._value, self._headers, self._parts = bytearray(), bytearray(), 0, 0
        self._disposition: bytes | None = None
        self._data = bytearray()

    def callbacks(self) -> Any:
        """Return the callbacks of the parser."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._extend(self._name, data, start, end),
            "on_header_value": lambda data, start, end: self._extend(self._value, data, start, end),
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": lambda data, start, end: self._data.extend(memoryview(data)[start:end]),
            "on_end": self._end,
        }

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > MAX_FIELDS:
            raise RequestError(f"more than {MAX_FIELDS} parameters")
        self._disposition = None

    def _extend(self, text: bytearray, data: bytes, start: int, end: int) -> None:
        if len(text) + end - start > MAX_PART_HEADER:
            raise RequestError(f"malformed form: a header of more than {MAX_PART_HEADER} bytes")
        text.extend(data[start:end])

    def _end_header(self) -> None:
        self._headers += 1
        if self._headers > MAX_PART_HEADER:
            raise RequestError(f"malformed form: more than {MAX_PART_HEADER} headers")
        if self._name.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._name.clear()
        self._value.clear()

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"name" not in options:
            raise RequestError("malformed form: a part without a name")
        self._data = bytearray()
        self.fields.append((options[b"name"].decode("utf-8", "replace"), self._data))

    def _end(self) -> None:
        self.complete = True
