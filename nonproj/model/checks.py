"""Validation of a model before use: the conditions that kernels and writers rely on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nonproj.errors import ConfigError
from nonproj.io.strings import LABEL, TEXT, VOCABULARY, problem, problem_of_record
from nonproj.linear.state import KNOWN
from nonproj.linear.weights import problem_of_table
from nonproj.scoring.templates import CODE_BITS, LABEL_BITS, attributes_of, check_templates
from nonproj.scoring.vocabulary import ATTRIBUTES, FEAT, FIRST

if TYPE_CHECKING:
    from nonproj.options.config import Config

TABLES = {"parser", "pruner", "labeler"}
"""Arrays that are weight tables: kernels index them by hash and need their size to be a power of two."""

COMPONENTS = (
    *("tagger", "segmenter", "lexicon", "crossing", "graphs"),
    *("confidence", "clusters", "vectors", "network", "encoder"),
)
"""Optional components of a model besides its parser; their states are checked when they are loaded."""

_MAX_EPOCHS, _MAX_RECORDS = 100_000, 1000

DONE = "done"
"""Key of a checkpoint's components in its metadata; its arrays are checked when it is resumed."""

UNFINISHED = "unfinished"
"""Name of the state of a component that has not completed its epochs, in a checkpoint."""


Header = Mapping[str, Any]
"""The values of a model's file; their types have been checked."""

Weights = Mapping[str, np.ndarray]


def defect_of(config: Config, header: Header, weights: Weights) -> str | None:
    """Return why a parser cannot use the options, the values and the arrays of a model's file, or None."""
    if not header["labels"] or len(header["labels"]) > 1 << LABEL_BITS:
        return f"1 to {1 << LABEL_BITS} labels expected"
    found = problem(header["labels"], LABEL) or _problem_of_history(header["meta"]) or _problem_of_options(config)
    if found:
        return found
    for name, strings in header["vocabularies"].items():
        if name not in ATTRIBUTES and name != FEAT:
            return f"unknown attribute '{name}'"
        if found := problem(strings, VOCABULARY):
            return f"the vocabulary of the attribute '{name}': {found}"
    try:
        used = check_templates(header["templates"], config.parts)
    except ConfigError as error:
        return str(error)
    for name in (*used, FEAT):
        if name not in header["vocabularies"]:
            return f"templates name '{name}', which has no vocabulary"
    scale = header["meta"].get("scale", {})
    if not isinstance(scale, dict) or not all(type(v) is float and 0 < v < 1e30 for v in scale.values()):
        return "a scale of the weights is not a positive number"
    found = _problem_of_components(header["components"]) or _problem_of_lines(header, weights)
    return found or _problem_of_places(header["labels"], weights) or _problem_of_weights(header["meta"], weights)


def _problem_of_components(components: Mapping[str, Any]) -> str | None:
    """Return why a component is unknown, or None; `nonproj.linear.state.load` checks their states."""
    for name, state in components.items():
        if name not in COMPONENTS and name not in KNOWN and name != UNFINISHED:
            return f"unknown component '{name}'; import the module that registers it"
        if type(state) is not dict:
            return f"the component '{name}' is no record"
    return None


def _problem_of_lines(header: Header, weights: Weights) -> str | None:
    """Return why the array of allowed labels per arc, ``label_lines``, cannot be used, or None."""
    table = weights.get("label_lines")
    if table is None:
        return None
    size = FIRST + len(header["vocabularies"].get("pos", ()))
    if table.dtype != np.int32 or table.shape != (size, size, 2) or "pos" not in attributes_of(header["templates"]):
        return "the lines of labels do not fit the tags"
    return None


def _problem_of_places(labels: list[str], weights: Weights) -> str | None:
    """Return why the masks of labels below the root and below words, ``label_places``, cannot be used, or None."""
    places = weights.get("label_places")
    if places is None or (places.dtype == np.uint8 and places.shape == (2, len(labels)) and places.any(1).all()):
        return None
    return "the places of labels do not fit the labels"


def _problem_of_weights(meta: Mapping[str, Any], weights: Weights) -> str | None:
    """Return why a parser cannot use the arrays, or None; integer arrays are not read: their pages stay unmapped."""
    for name, table in weights.items():
        if name not in TABLES:
            continue
        least = LABEL_BITS + CODE_BITS if name == "labeler" else CODE_BITS
        if found := problem_of_table(table, ("float32", "int16"), least):
            return f"the weights of '{name}' are {found}"
    is_checkpoint = DONE in meta and "parser" not in weights
    if not is_checkpoint and not weights.keys() >= TABLES:
        return f"one of the arrays {', '.join(sorted(TABLES))} is missing"
    return None


def _problem_of_options(config: Config) -> str | None:
    """Return why the options cannot be shown, or None."""
    sections = [section for section in config.as_dict().values() if isinstance(section, dict)]
    found = problem([value for section in sections for value in section.values() if isinstance(value, str)], TEXT)
    return f"the options: {found}" if found else None


def _problem_of_history(meta: dict[str, Any]) -> str | None:
    """Return why reports cannot show the training history (single values, records, one list of records), or None."""
    log = meta.get("log", [])
    if type(log) is not list or len(log) > _MAX_EPOCHS:
        return f"the log of training is not a list of up to {_MAX_EPOCHS} records"
    inner = {name: value for name, value in meta.items() if name != "log" and type(value) in (dict, list)}
    if len(inner) > _MAX_RECORDS:
        return f"the training history has more than {_MAX_RECORDS} records"
    single = {name: None if name in inner or name == "log" else value for name, value in meta.items()}
    found = next(filter(None, (problem_of_record(record) for record in (single, *inner.values(), *log))), None)
    return f"the training history: {found}" if found else None
