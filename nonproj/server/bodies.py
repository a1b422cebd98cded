"""Bodies of requests, parsed in threads, never in the event loop.

All text is UTF-8.  Other encodings named in a body are never looked up in Python's registry.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import Request

from nonproj.server.processing import RequestError
from nonproj.server.receiving import body_of

MAX_FIELDS = 50

_LONGEST_TYPE = 4096
"""Number of characters of the header Content-Type that are read."""

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"

_threads = ThreadPoolExecutor(2, "bodies")


async def parameters_of(request: Request, max_bytes: int, seconds: float) -> dict[str, str]:
    """Return the parameters of the query and of the form; limits are as for `nonproj.server.receiving.body_of`.

    Raises
    ------
    HTTPException, GoneError
        As for `body_of`; also if the body is not a form (415).
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
    body = await body_of(request, max_bytes, seconds)
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
    kind, options = parse_options_header(header[:_LONGEST_TYPE])
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
    fields, ended = list[tuple[bytes, bytes]](), list[bool]()

    def add(part: Field | File) -> None:
        """Keep a field or a file, which is in memory."""
        if len(fields) == MAX_FIELDS:
            raise RequestError(f"more than {MAX_FIELDS} parameters")
        if isinstance(part, File):
            part.file_object.seek(0)
        value = part.file_object.read() if isinstance(part, File) else part.value
        fields.append((part.field_name or b"", value or b""))

    try:
        limits = {"MAX_MEMORY_FILE_SIZE": len(body)}
        parser = FormParser(MULTIPART, add, add, lambda: ended.append(True), boundary=boundary, config=limits)
        parser.write(body)
        parser.finalize()
    except (FormParserError, ValueError) as error:
        raise RequestError(f"malformed form: {error}") from None
    if not ended:
        raise RequestError("malformed form: its end is missing")
    return _unique([_decoded(*field) for field in fields])


def _decoded(name: bytes, data: bytes) -> tuple[str, str]:
    """Return the name and the text of a field or file."""
    text = name.decode("utf-8", "replace")
    try:
        return text, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{text[:100]}: byte {error.start} is not UTF-8") from None
