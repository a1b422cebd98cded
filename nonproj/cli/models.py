"""``nonproj models``: the models that are installed."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from nonproj.errors import ModelError, one_line
from nonproj.evaluation.card import record
from nonproj.model.installed import InstalledModel, default, installed
from nonproj.model.model import Model

_NONE = "no model is installed; 'nonproj package' makes a package of a model, for pip\n"


def run(options: argparse.Namespace) -> int:
    """Print a table of the installed models, or JSON."""
    facts = [describe(each) for each in installed()]
    if options.json:
        sys.stdout.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
        return 0
    if not facts:
        sys.stdout.write(_NONE)
        return 0
    titles = ("name", "package", "version", "language", "treebank", "UAS", "LAS", "tags", "MB", "licence")
    rows = [titles, *(_cells(each) for each in facts)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(titles))]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(line.rstrip() + "\n")
    return 0


def describe(model: InstalledModel) -> dict[str, Any]:
    """Return the facts about an installed model; ``error`` says why it cannot be used."""
    facts: dict[str, Any] = model._asdict() | {"path": str(model.path), "default": _is_default(model)}
    try:
        meta = Model.load_trained(model.path).meta
    except ModelError as error:
        return facts | {"error": str(error)}
    data, test = record(meta, "data"), record(meta, "test")
    facts |= {"megabytes": model.path.stat().st_size / 1e6}
    facts |= {"language": data.get("language"), "treebank": data.get("name"), "licence": data.get("licence")}
    return facts | {name: test.get(name) for name in ("uas", "las", "tags")}


def _is_default(model: InstalledModel) -> bool:
    """Return whether a model is the one that parses if none is named."""
    try:
        return model.path == default()
    except ModelError:  # there is no default
        return False


def _cells(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row of the table."""
    named = f"{facts['name']} (default)" if facts["default"] else facts["name"], facts["package"], facts["version"]
    if "error" in facts:
        return (*named, f"cannot be used: {one_line(facts['error'])}", *[""] * 6)
    shares = [f"{100 * facts[name]:.2f}" if isinstance(facts[name], float) else "–" for name in ("uas", "las")]
    texts = (one_line(str(facts[name] or "–")) for name in ("language", "treebank", "tags", "licence"))
    language, treebank, tags, licence = texts
    return (*named, language, treebank, *shares, tags, f"{facts['megabytes']:.1f}", licence)
