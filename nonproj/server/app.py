"""The interface of the server: paths, parameters, limits and errors.

``/process`` and ``/models`` are those of UDPipe's REST interface; ``/`` is a page on which one types a sentence and
sees its tree.  Errors are one line of plain text.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import importlib.resources
import json
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from nonproj.errors import ClusterError, DataError, NonprojError, one_line
from nonproj.pictures.svg import tree_script
from nonproj.server.pool import BusyError, GoneError, TimeLimitError, WorkerPool
from nonproj.server.processing import INPUTS, OUTPUTS, RequestError, Result, Task, process
from nonproj.workers.parsing import ModelRef

STATUS = (
    (BusyError, 503),
    (TimeLimitError, 504),
    (ClusterError, 503),
    (GoneError, 499),
    (RequestError, 400),
    (DataError, 400),
)
"""The status of the response to each error; others are 500."""

MAX_FIELDS = 50

DISCARD_SECONDS = 1.0
"""Time during which the rest of a request that is too large is discarded."""

log = logging.getLogger("nonproj")


class Service(NamedTuple):
    """What the server offers.

    Attributes
    ----------
    pool : WorkerPool
        Prepared by `nonproj.server.processing.prepare` for these models.
    models : dict of str to (ModelRef, ModelRef)
        For each name the model that predicts missing tags, and the same that predicts all; the first is the default.
    max_bytes : int
        Limit for the body of a request.
    """

    pool: WorkerPool
    models: dict[str, tuple[ModelRef, ModelRef]]
    max_bytes: int

    @property
    def components(self) -> dict[str, list[str]]:
        """What each model has."""
        return {name: info.components for name, info in self._infos.items()}

    @property
    def notes(self) -> dict[str, list[str]]:
        """What users of each model's tokenizer should know."""
        return {name: info.notes for name, info in self._infos.items()}

    @property
    def _infos(self) -> dict[str, Any]:
        return dict(zip(self.models, self.pool.prepared, strict=True))


def make_app(service: Service) -> Starlette:
    """Return the application."""
    routes = [
        Route("/", _page, methods=["GET"]),
        Route("/models", _models, methods=["GET", "POST"]),
        Route("/process", _process, methods=["GET", "POST"]),
    ]
    handlers = {HTTPException: _http_error, NonprojError: _error, Exception: _unexpected}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.service, app.state.page = service, _load_page()
    return app


# -- pages -------------------------------------------------------------------------------------------------------------


def _load_page() -> tuple[str, dict[str, str]]:
    """Return the start page, and headers that let a browser run what is in it and nothing else."""
    text = importlib.resources.files("nonproj.server").joinpath("page.html").read_text(encoding="utf-8")
    text = text.replace("{tree.js}", tree_script())
    allowed = {}
    for tag in ("script", "style"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        allowed[tag] = f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
    policy = f"default-src 'none'; script-src {allowed['script']}; style-src {allowed['style']}; connect-src 'self'"
    policy += "; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return text, {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }


async def _page(request: Request) -> Response:
    text, headers = request.app.state.page
    return HTMLResponse(text, headers=headers)


async def _models(request: Request) -> Response:
    service: Service = request.app.state.service
    return _json({"models": service.components, "default_model": next(iter(service.models))})


async def _process(request: Request) -> Response:
    service: Service = request.app.state.service
    given = await _parameters(request, service)
    name = _model_name(given.get("model", ""), list(service.models))
    task = _task(given, service.components[name])
    reference = service.models[name][task.tag]
    result: Result = await service.pool.call(process, reference, task, gone=request.is_disconnected)
    notes = service.notes[name] if task.tokenizer is not None else []
    content = {"model": name, "acknowledgements": notes, "result": result.text}
    if task.certificates:
        content["certificates"] = result.certificates
    return await asyncio.to_thread(_json, content)


def _json(content: dict[str, Any]) -> Response:
    text = json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
    return Response(text + b"\n", media_type="application/json; charset=utf-8")


# -- parameters --------------------------------------------------------------------------------------------------------


async def _parameters(request: Request, service: Service) -> dict[str, str]:
    """Return the parameters of the query and the form, which overrides it."""
    given = _decoded(request.scope["query_string"])
    if request.method == "POST":
        try:
            async with asyncio.timeout(service.pool.timeout):
                given |= await _form(request, service.max_bytes)
        except TimeoutError:
            raise HTTPException(408, f"the request did not arrive within {service.pool.timeout:g} s") from None
        except ClientDisconnect:
            raise GoneError("the client has left") from None
    return given


async def _form(request: Request, max_bytes: int) -> dict[str, str]:
    """Return the fields of a form, of which files are texts, too."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > max_bytes:
        raise await _too_large(request.receive, max_bytes, {"more_body": True})
    limited = Request(request.scope, _limited(request.receive, max_bytes))
    kind = request.headers.get("content-type", "application/x-www-form-urlencoded").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return _decoded(await limited.body())
    if kind != "multipart/form-data":
        message = f"{kind} is not a form: application/x-www-form-urlencoded or multipart/form-data expected"
        raise HTTPException(415, message)
    try:
        async with limited.form(max_files=MAX_FIELDS, max_fields=MAX_FIELDS, max_part_size=max_bytes) as form:
            return {name: await _text(name, value) for name, value in form.items()}
    except HTTPException as error:  # starlette's own, of which the status is 400
        raise error if error.status_code != 400 else RequestError(f"malformed form: {error.detail}") from None
    except (MultiPartException, ValueError, KeyError) as error:
        raise RequestError(f"malformed form: {error}") from None


async def _text(name: str, value: UploadFile | str) -> str:
    """Return the text of a field or file."""
    if isinstance(value, str):
        return value
    try:
        return (await value.read()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{name}: byte {error.start} is not UTF-8") from None


def _decoded(data: bytes) -> dict[str, str]:
    """Return the fields of an encoded form or a query."""
    try:
        pairs = parse_qsl(data.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError:
        raise RequestError("the parameters are not UTF-8") from None
    except ValueError:
        raise RequestError(f"more than {MAX_FIELDS} parameters") from None
    return dict(pairs)


def _limited(
    receive: Callable[[], Awaitable[dict[str, Any]]], max_bytes: int
) -> Callable[[], Awaitable[dict[str, Any]]]:
    """Return a function that receives a body up to a limit."""
    left = max_bytes

    async def limited() -> dict[str, Any]:
        """Receive a message; raise HTTPException when the body exceeds the limit."""
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise await _too_large(receive, max_bytes, message)
        return message

    return limited


async def _too_large(
    receive: Callable[[], Awaitable[dict[str, Any]]], max_bytes: int, message: dict[str, Any]
) -> HTTPException:
    """Return the error after discarding what arrives: a client that is still sending may not read a response."""
    left = 16 * max_bytes
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while left > 0 and message.get("more_body"):
                message = await receive()
                left -= len(message.get("body", b""))
    return HTTPException(413, f"the request has more than {max_bytes} bytes; send less at a time")


def _model_name(given: str, names: list[str]) -> str:
    """Return the model of that name, or the first of which it is the beginning, up to a hyphen; else the default."""
    if not given:
        return names[0]
    found = [name for name in names if name == given] + [name for name in names if name.startswith(f"{given}-")]
    if not found:
        raise RequestError(f"model: there is no {given!r}; known: {', '.join(names)}")
    return found[0]


def _task(given: dict[str, str], components: list[str]) -> Task:
    """Return what the parameters ask for."""
    wanted = {name: given.get(name, "none") != "none" for name in ("tokenizer", "tagger", "parser", "certificates")}
    data, tokenizer = given.get("data"), given.get("tokenizer") if wanted["tokenizer"] else None
    kind, output = given.get("input", "conllu"), given.get("output", "conllu")
    if data is None:
        raise RequestError("data: the parameter is missing")
    if kind == "generic_tokenizer" and tokenizer is None:
        tokenizer = ""
    for name in ("tokenizer", "tagger", "parser"):
        if wanted[name] and name not in components:
            raise RequestError(f"{name}: the model has none")
    for name, value, known in (("input", kind, INPUTS), ("output", output, OUTPUTS)):
        if value not in known:
            raise RequestError(f"{name}: {value!r} is no format; known: {', '.join(known)}")
    return Task(data, tokenizer, kind, wanted["tagger"], wanted["parser"], output, wanted["certificates"])


# -- errors ------------------------------------------------------------------------------------------------------------


def _plain(status: int, message: str) -> Response:
    headers = {"Retry-After": "1"} if status == 503 else None
    return PlainTextResponse(f"{one_line(message)}\n", status, headers)


async def _http_error(request: Request, error: HTTPException) -> Response:
    response = _plain(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    if error.status_code in (408, 413):  # the rest of the body is not read
        response.headers["Connection"] = "close"
    return response


async def _error(request: Request, error: NonprojError) -> Response:
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
    if status == 500:
        log.error("%s", error)
    return _plain(status, str(error))


async def _unexpected(request: Request, error: Exception) -> Response:
    return _plain(500, "internal error; the server's messages tell more")
