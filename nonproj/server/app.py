"""The HTTP interface: paths, and errors as one line of plain text.

``/process`` and ``/models`` are those of UDPipe's REST interface; ``/`` is a page that draws the tree of a sentence;
``/health`` and ``/metrics`` are for operators.
"""

from __future__ import annotations

import functools
import logging
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from nonproj import __version__
from nonproj.errors import ClusterError, DataError, NonprojError, one_line
from nonproj.pictures.pages import headers, join_modules, resource
from nonproj.server.admission import BusyError, GoneError, MemoryLimitError, TimeLimitError
from nonproj.server.bodies import parameters_of
from nonproj.server.connections import Protocol, Writing
from nonproj.server.hosts import HostCheck
from nonproj.server.monitoring import Metrics, Monitor, RequestFacts, record
from nonproj.server.parameters import check_names, model_name, task_of
from nonproj.server.pool import WorkerPool
from nonproj.server.processing import Answer, RequestError, check_health, json_body, respond
from nonproj.server.receiving import until_gone
from nonproj.server.reloading import Reloader

STATUS = (
    (BusyError, 503),
    (TimeLimitError, 504),
    (MemoryLimitError, 413),
    (ClusterError, 503),
    (GoneError, 499),
    (RequestError, 400),
    (DataError, 400),
)
"""The status code of each error; others are 500."""

log = logging.getLogger("nonproj")


class ServerOptions(NamedTuple):
    """The address of the server, and its limits, by the names of the options of ``nonproj serve``.

    Attributes
    ----------
    host, port : str and int
        Port 0 is any free port.
    jobs : int
        Number of worker processes.
    waiting : int
        Maximum number of waiting requests.
    timeout : float
        Target for the response time in seconds, and limit on the processing time.
    max_bytes : int
        Maximum size of the body of a request.
    max_worker_memory : int
        Memory limit of a worker process, in MiB.
    allowed_host, allowed_origin : sequence of str
        See `nonproj.server.hosts.HostCheck`.
    """

    host: str
    port: int
    jobs: int
    waiting: int
    timeout: float
    max_bytes: int
    max_worker_memory: int
    allowed_host: Sequence[str]
    allowed_origin: Sequence[str]


class Service(NamedTuple):
    """The objects that requests need.

    Attributes
    ----------
    pool : WorkerPool
        Prepared by `nonproj.server.processing.prepare` for the models.
    reloader : Reloader
        Has the models, of which the first is the default, and loads them again on demand.
    options : ServerOptions
    """

    pool: WorkerPool
    reloader: Reloader
    options: ServerOptions


def routes() -> list[Route]:
    """Return the paths of the server, with their methods."""
    return [
        Route("/", _page, methods=["GET"]),
        Route("/models", _models, methods=["GET", "POST"]),
        Route("/process", _process, methods=["GET", "POST"]),
        Route("/health", _health, methods=["GET"]),
        Route("/metrics", _metrics, methods=["GET"]),
    ]


def make_app(service: Service) -> ASGIApp:
    """Return the application."""
    handlers: dict[Any, Any] = {HTTPException: _http_error, NonprojError: _error, Exception: _unexpected}
    hosts, origins = service.options.allowed_host, service.options.allowed_origin
    middleware = [Middleware(HostCheck, hosts=hosts, origins=origins)]
    if origins:
        middleware.append(Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"]))
    app = Starlette(routes=routes(), exception_handlers=handlers, middleware=middleware)
    app.state.service, app.state.page = service, _load_page()
    writing = Writing(app)
    app.state.metrics = Metrics([route.path for route in routes()], service.pool, service.reloader, writing)
    return Monitor(writing, app.state.metrics)


# -- pages -------------------------------------------------------------------------------------------------------------


_DRAWING = ("tree.js", "certificate.js", "tree.css")
"""Files that draw a tree in a page."""


def _load_page() -> tuple[str, dict[str, str]]:
    """Return the start page, and headers that allow a browser to run only the page's own scripts and styles."""
    text = resource("nonproj.server", "page.html")
    tree, certificate, style = (resource("nonproj.pictures", name) for name in _DRAWING)
    text = text.replace("{script}", join_modules([tree, certificate])).replace("{style}", style)
    script, style = (re.findall(f"<{tag}.*?>(.*?)</{tag}>", text, re.DOTALL)[0] for tag in ("script", "style"))
    return text, headers(script, style)


async def _page(request: Request) -> Response:
    text, headers = request.app.state.page
    return HTMLResponse(text, headers=headers)


async def _models(request: Request) -> Response:
    models = request.app.state.service.pool.workers.prepared
    return _json(json_body({"models": models, "default_model": next(iter(models))}))


async def _process(request: Request) -> Response:
    service: Service = request.app.state.service
    _refuse_the_crowd(request)
    given = await parameters_of(request, service.options.max_bytes, service.options.timeout)
    check_names(given)
    name = model_name(given.get("model", ""), list(service.reloader.models))
    task = task_of(given, service.pool.workers.prepared[name])
    kind = (name, task.plain and task.plain.format, task.tag, task.parse, task.certificates)
    gone = functools.partial(until_gone, request)
    outcome = await service.pool.call(respond, name, task, kind=kind, size=len(task.data), gone=gone)
    answer: Answer = outcome.value
    record(request.scope, RequestFacts(name, answer.sentences, answer.words, outcome.waited, outcome.seconds))
    return _json(answer.body)


async def _health(request: Request) -> Response:
    """Respond with the state of the server, which is well if a worker answers, or all are busy."""
    service: Service = request.app.state.service
    pool, models = service.pool, list(service.reloader.models)
    well = await pool.workers.check(check_health, models[0])
    state: dict[str, Any] = {
        "status": "ok" if well else "no worker is ready",
        "version": __version__,
        "models": models,
        "workers": pool.workers.size,
        "ready": pool.workers.ready,
        "idle": pool.workers.idle,
        "waiting": pool.waiting,
    }
    return JSONResponse(state, 200 if well else 503, {"Cache-Control": "no-store"} | ({} if well else _retry(1.0)))


async def _metrics(request: Request) -> Response:
    return Response(generate_latest(request.app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json; charset=utf-8")


def _refuse_the_crowd(request: Request) -> None:
    """Refuse requests on connections beyond the limit."""
    connection: Protocol | None = request.scope.get("state", {}).get("connection")
    if connection is not None and connection.excess > 0:
        message = "busy: too many connections; try again later"
        raise HTTPException(503, message, {**_retry(1.0), "Connection": "close"})


# -- errors ------------------------------------------------------------------------------------------------------------


def _retry(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(math.ceil(seconds))}


def _plain(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{one_line(message)}\n", status, headers)


async def _http_error(request: Request, error: HTTPException) -> Response:
    response = _plain(error.status_code, error.detail, error.headers)
    if error.status_code in (408, 413, 415):  # the rest of the body is not read
        response.headers["Connection"] = "close"
    return response


async def _error(request: Request, error: NonprojError) -> Response:
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
    if status == 500:
        log.error("%s", error)
    headers = _retry(getattr(error, "retry_after", 1.0)) if status == 503 else None
    return _plain(status, str(error), headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    return _plain(500, "internal error; see the server's log")
