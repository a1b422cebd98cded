"""What makes a model usable: kernels and writers rely on all of these conditions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nonproj.errors import ConfigError
from nonproj.scoring.templates import CODE_BITS, LABEL_BITS, attributes_of, check_templates
from nonproj.scoring.vocabulary import ATTRIBUTES, FEAT, FIRST

if TYPE_CHECKING:
    from nonproj.options.config import Config

TABLES = ("parser", "pruner", "labeler", "perceptron", "total")
"""Arrays that are weight tables: kernels index them by hash and rely on their size being a power of two."""

COMPONENTS = ("tagger", "segmenter", "confidence", "clusters", "network")
"""Parts of a pipeline that a model may have beside its parser; they check their own arrays when they are built."""

_COMPLETE = ({"pruner", "labeler", "parser"}, {"pruner", "labeler", "perceptron", "total", "arcs"})
"""The arrays of a model, and those of a checkpoint."""

_NO_LABEL = re.compile("[\t\n\r\ud800-\udfff]")


class ModelFields(Protocol):
    """The fields of a `nonproj.model.Model`."""

    config: Config
    vocabularies: dict[str, list[str]]
    templates: dict[str, dict[str, Any]]
    labels: list[str]
    weights: dict[str, np.ndarray]
    meta: dict[str, Any]
    components: dict[str, dict[str, Any]]


def problem_of(model: ModelFields) -> str | None:
    """Return why a parser cannot use this `nonproj.model.Model`, or None."""
    if not model.labels or len(model.labels) > 1 << LABEL_BITS or not _are_strings(model.labels):
        return f"1 to {1 << LABEL_BITS} labels expected"
    for label in model.labels:
        if _NO_LABEL.search(label):
            return f"the label '{label}' cannot be a column of a file"
    if not _is_history(model.meta):
        return "the training history is not of names and values"
    for name, strings in model.vocabularies.items():
        if name not in ATTRIBUTES and name != FEAT:
            return f"unknown attribute '{name}'"
        if not _are_strings(strings):
            return f"the vocabulary of the attribute '{name}' is not a list of strings"
    try:
        used = check_templates(model.templates, model.config.parts)
    except ConfigError as error:
        return str(error)
    for name in (*used, FEAT):
        if name not in model.vocabularies:
            return f"templates name '{name}', which has no vocabulary"
    for name, state in model.components.items():
        if name not in COMPONENTS or type(state) is not dict:
            return f"unknown component '{name}'"
    scale = model.meta.get("scale", {})
    if not isinstance(scale, dict) or not all(type(v) is float and 0 < v < 1e30 for v in scale.values()):
        return "a scale of the weights is not a positive number"
    return _problem_of_lines(model) or _problem_of_weights(model.weights)


def _problem_of_lines(model: ModelFields) -> str | None:
    """Return why the lines of labels cannot be used, or None."""
    table = model.weights.get("label_lines")
    if table is None:
        return None
    size = FIRST + len(model.vocabularies.get("pos", ()))
    if table.dtype != np.int32 or table.shape != (size, size, 2) or "pos" not in attributes_of(model.templates):
        return "the lines of labels do not fit the tags"
    return None


def _problem_of_weights(weights: dict[str, np.ndarray]) -> str | None:
    """Return why a parser cannot use these arrays, or None; integers are not read, so their pages stay unmapped."""
    for name, table in weights.items():
        sizes = [1 << bits for bits in range(LABEL_BITS + CODE_BITS if name == "labeler" else CODE_BITS, 32)]
        kind = name.rstrip("0123456789")  # the perceptrons of a checkpoint after the first have a number
        dtypes = {"total": ("float64",), "perceptron": ("float32",)}.get(kind, ("float32", "int16"))
        if kind not in TABLES:
            continue
        if table.dtype not in dtypes or table.ndim != 1 or len(table) not in sizes:
            size = f"a power of two of at least {sizes[0]} entries"
            return f"the weights of '{name}' are not a table of {dtypes[0]} with {size}"
        if table.dtype.kind == "f" and not np.isfinite([table.min(), table.max()]).all():  # both are NaN if one is
            return f"some weights of '{name}' are not finite"
    if not any(names <= weights.keys() for names in _COMPLETE):
        return f"one of the arrays {', '.join(sorted(_COMPLETE['perceptron' in weights]))} is missing"
    return None


def _is_history(meta: dict[str, Any]) -> bool:
    """Return whether the training history is of the form that reports show: single values, records, a list of these."""
    log = meta.get("log", [])
    records = [value for name, value in meta.items() if name != "log" and type(value) in (dict, list)]
    records += log if type(log) is list else [log]
    return all(type(r) is dict and not any(type(item) in (dict, list) for item in r.values()) for r in records)


def _are_strings(items: object) -> bool:
    return type(items) is list and all(type(item) is str for item in items)
