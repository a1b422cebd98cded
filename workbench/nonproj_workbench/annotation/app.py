"""The HTTP interface of annotation: JSON for the page, with a token, on this machine only."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from nonproj.errors import NonprojError, one_line
from nonproj.server.hosts import HostCheck
from nonproj.server.receiving import body_of
from nonproj_workbench.annotation.draft import EditError
from nonproj_workbench.annotation.page import load_page
from nonproj_workbench.annotation.session import ChangedError, Session
from nonproj_workbench.annotation.storage import LockError

MOST_BYTES = 1 << 22
"""Maximum size of an edit, in bytes."""

BODY_SECONDS = 30.0
"""Seconds within which an edit has to arrive."""

STATUS = ((EditError, 400), (ChangedError, 409), (LockError, 423))
"""The status code of each error; others are 500."""

log = logging.getLogger("nonproj")


def make_app(session: Session, token: str) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    session : Session
    token : str
        Secret that requests must carry: in the page's address, in the header ``X-Token`` of all others.
    """
    routes = [
        Route("/", _page, methods=["GET"]),
        Route("/api/file", _answer(lambda session, _: session.file()), methods=["GET"]),
        Route("/api/status", _answer(_status), methods=["GET"]),
        Route("/api/sentence/{i:int}", _answer(lambda session, request: session.sentence(_i(request)))),
        Route("/api/sentence/{i:int}", _edit, methods=["POST"]),
        Route("/api/sentence/{i:int}/tree", _compute, methods=["POST"]),
        Route("/api/sentence/{i:int}/best", _answer(_best), methods=["GET"]),
        Route("/api/sentence/{i:int}/check", _answer(lambda session, request: session.check(_i(request)))),
        Route("/api/check", _answer(lambda session, _: session.check_all()), methods=["GET"]),
        Route("/api/agreement", _answer(lambda session, _: session.agreement()), methods=["GET"]),
        Route("/api/retrain", _answer(lambda session, _: session.retrain()), methods=["POST"]),
        Route("/api/export", _export, methods=["GET"]),
    ]
    handlers: dict[Any, Any] = {HTTPException: _http_error, NonprojError: _error, Exception: _unexpected}
    app = Starlette(routes=routes, exception_handlers=handlers, middleware=[Middleware(HostCheck)])
    app.state.session, app.state.token, app.state.page = session, token, load_page()
    return app


def _check_token(request: Request, given: str) -> None:
    """Refuse a request without the token."""
    if not secrets.compare_digest(given.encode(), request.app.state.token.encode()):
        raise HTTPException(403, "the token is missing or wrong; open the address that 'nonproj annotate' has printed")


async def _page(request: Request) -> Response:
    _check_token(request, request.query_params.get("token", ""))
    text, headers = request.app.state.page
    return HTMLResponse(text, headers=headers)


def _answer(answer: Callable[[Session, Request], Any]) -> Callable[[Request], Any]:
    """Return an endpoint that computes its answer in a thread, and sends it as JSON."""

    async def endpoint(request: Request) -> Response:
        """Answer a request."""
        _check_token(request, request.headers.get("x-token", ""))
        return await run_in_threadpool(_json, answer, request)

    return endpoint


def _json(answer: Callable[[Session, Request], Any], request: Request) -> Response:
    """Return the answer as JSON."""
    try:
        content = answer(request.app.state.session, request)
    except IndexError:
        raise HTTPException(404, "there is no such sentence") from None
    return _response(content)


def _response(content: Any, status: int = 200) -> Response:
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return Response(body, status, {"Cache-Control": "no-store"}, "application/json")


def _i(request: Request) -> int:
    return int(request.path_params["i"])


def _number(request: Request, name: str, default: int) -> int:
    """Return a number in the query of a request."""
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise HTTPException(400, f"{name}={text}: a number is expected")
    return int(text)


def _status(session: Session, request: Request) -> Any:
    return session.status(_number(request, "since", 0))


def _best(session: Session, request: Request) -> Any:
    return session.best(_i(request), _number(request, "k", 5))


async def _edit(request: Request) -> Response:
    content = await _content(request)
    if not isinstance(content.get("edit"), dict):
        raise HTTPException(400, "an edit is an object with 'version' and 'edit'")
    return await run_in_threadpool(_edited, request, content)


async def _compute(request: Request) -> Response:
    version = (await _content(request)).get("version")
    return await run_in_threadpool(_json, lambda session, request: session.compute(_i(request), version), request)


async def _content(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request."""
    _check_token(request, request.headers.get("x-token", ""))
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "an edit is JSON: Content-Type: application/json")
    body = await body_of(request, MOST_BYTES, BODY_SECONDS)
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the edit is not JSON") from None
    if not isinstance(content, dict):
        raise HTTPException(400, "an edit is an object with 'version' and 'edit'")
    return content


def _edited(request: Request, content: dict[str, Any]) -> Response:
    """Make an edit; if its version is outdated, answer with the current sentence."""
    session: Session = request.app.state.session
    try:
        return _response(session.edit(_i(request), content.get("version"), content["edit"]))
    except ChangedError as error:
        return _response({"error": str(error), "sentence": session.sentence(_i(request))}, 409)
    except IndexError:
        raise HTTPException(404, "there is no such sentence") from None


async def _export(request: Request) -> Response:
    given = request.headers.get("x-token", "") or request.query_params.get("token", "")
    _check_token(request, given)
    session: Session = request.app.state.session
    text = await run_in_threadpool(session.export, request.query_params.get("clean") == "1")
    name = session.storage.path.name.removesuffix(".gz").encode("ascii", "replace").decode().replace('"', "?")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return PlainTextResponse(text, headers=headers)


# -- errors ------------------------------------------------------------------------------------------------------------


async def _http_error(request: Request, error: HTTPException) -> Response:
    if request.url.path == "/":
        return PlainTextResponse(f"{one_line(error.detail)}\n", error.status_code)
    response = JSONResponse({"error": one_line(error.detail)}, error.status_code, error.headers)
    if error.status_code in (408, 413, 415):  # the rest of the body is not read
        response.headers["Connection"] = "close"
    return response


async def _error(request: Request, error: NonprojError) -> Response:
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
    return JSONResponse({"error": str(error)}, status)


async def _unexpected(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "internal error; see the messages of 'nonproj annotate'"}, 500)
