"""The description of the interface in OpenAPI format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nonproj.server.parameters import PARAMETERS, Parameter

TEXT = {"text/plain": {"schema": {"type": "string"}}}
RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds after which to retry."}}

ERRORS: dict[str, dict[str, Any]] = {
    "400": {"description": "A parameter or the data is malformed; one line says where and why.", "content": TEXT},
    "403": {"description": "The request comes from a page of another origin.", "content": TEXT},
    "408": {"description": "The request did not arrive in time.", "content": TEXT},
    "413": {"description": "The request is too large, or exceeds the memory limit of a worker.", "content": TEXT},
    "415": {"description": "The body is not a form, or not UTF-8.", "content": TEXT},
    "421": {"description": "The host is not a name of this server.", "content": TEXT},
    "503": {"description": "The request could not be answered in time; try again.", "content": TEXT, "headers": RETRY},
    "504": {"description": "The processing time of the request exceeded the limit.", "content": TEXT},
}


def describe(version: str, models: Sequence[str]) -> dict[str, Any]:
    """Return the description.

    Parameters
    ----------
    version : str
        Version of the program.
    models : sequence of str
        Names of models; the first is the default.

    Examples
    --------
    >>> sorted(describe("1.0.0", ["danish"])["paths"])
    ['/', '/health', '/metrics', '/models', '/openapi.json', '/process']
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nonproj",
            "version": version,
            "description": "Dependency parsing over HTTP, with the REST interface of UDPipe.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {
            "/process": _process(models),
            "/models": _models(),
            "/health": {"get": _get("Whether a worker responds", "application/json", {"type": "object"}, "503")},
            "/metrics": {"get": _get("Metrics in Prometheus format", "text/plain", {"type": "string"})},
            "/openapi.json": {"get": _get("This description", "application/json", {"type": "object"})},
            "/": {"get": _get("A page that draws trees", "text/html", {"type": "string"})},
        },
    }


def _process(models: Sequence[str]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {parameter.name: _schema(parameter, models) for parameter in PARAMETERS},
        "required": ["data"],
        "additionalProperties": False,
    }
    result = {
        "type": "object",
        "required": ["model", "acknowledgements", "result"],
        "properties": {
            "model": {"type": "string"},
            "acknowledgements": {"type": "array", "items": {"type": "string"}},
            "result": {"type": "string"},
            "certificates": {"type": "array", "items": {"type": "object"}},
        },
    }
    responses = {"200": _content("The result", "application/json", result), **ERRORS}
    query = [
        {
            "name": parameter.name,
            "in": "query",
            "required": parameter.name == "data",
            "description": parameter.text,
            "allowEmptyValue": True,
            "schema": _schema(parameter, models),
        }
        for parameter in PARAMETERS
    ]
    bodies = {kind: {"schema": schema} for kind in ("multipart/form-data", "application/x-www-form-urlencoded")}
    summary = "Segment, tag and parse a text"
    return {
        "get": {"summary": summary, "parameters": query, "responses": responses},
        "post": {"summary": summary, "requestBody": {"required": True, "content": bodies}, "responses": responses},
    }


def _models() -> dict[str, Any]:
    steps = {"type": "array", "items": {"enum": ["tokenizer", "tagger", "parser"]}}
    properties = {
        "models": {"type": "object", "additionalProperties": steps},
        "default_model": {"type": "string"},
    }
    schema = {"type": "object", "required": list(properties), "properties": properties}
    operation = _get("The models, their components, and the default model", "application/json", schema)
    return {"get": operation, "post": operation}


def _schema(parameter: Parameter, models: Sequence[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "description": parameter.text}
    if parameter.values:
        schema["enum"] = list(parameter.values)
    if parameter.name == "model":
        schema["examples"] = list(models)
    return schema


def _get(summary: str, kind: str, schema: dict[str, Any], *errors: str) -> dict[str, Any]:
    responses = {"200": _content(summary, kind, schema), **{status: ERRORS[status] for status in errors}}
    return {"summary": summary, "responses": responses}


def _content(description: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {kind: {"schema": schema}}}
