"""Provenance of the pages of ``systems/results``; `experiments.provenance` records it on them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from nonproj.options.config import Config
from research.experiments.provenance import Ingredients, of_modules, script


def _of(modules: str, data: Callable[[], object], config: Config | None = None) -> Callable[[], Ingredients]:
    names = [f"systems.experiments.{name}" for name in modules.split()]
    return lambda: of_modules(names, data(), config)


def _script(name: str, value: str) -> Callable[[], object]:
    return lambda: getattr(script(name, "systems/data_scripts"), value)


PAGES: dict[str, Callable[[], Ingredients]] = {
    "constituency": _of("constituency", _script("fetch_brackets", "DIGEST")),
    "lexicalised": _of("lexicalised", _script("fetch_brackets", "DIGEST"), Config()),
    "mrf": _of("mrf", lambda: None),
    "translation": _of("translation", _script("fetch_translation", "FILES")),
    "tsp": _of("tsp", _script("tsplib", "PROBLEMS")),
}
"""The ingredients of each page, as this version has them; none where the package is not installed."""

if find_spec("nonproj_systems") is None:
    PAGES.clear()
