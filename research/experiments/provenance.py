"""Provenance of the figures of each page of results, recorded on the page when it is made.

    python -m research.experiments.provenance               # list the records that differ from this version
    python -m research.experiments.provenance --mark        # mark these pages

A record is a paragraph below the title of a page, or of one of its sections.  Nothing but the repository is read, and
nothing trained, so `research/tests/test_provenance.py` finds stale pages at once.  Of the code, only the number
`nonproj.components.preparation.LEARNING` is part of a record.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from nonproj.components.preparation import LEARNING
from nonproj.learning.hyperparameters import GRAPHS
from nonproj.model.container import FORMAT
from nonproj.options.config import Config
from nonproj.scoring.templates import template_files
from research.experiments.setting import RANDOM, RESULTS, ROOT, TREEBANKS, ExperimentSettings, configuration
from research.experiments.store import appearing

TODAY = ExperimentSettings(RESULTS, ROOT / "models")
EXPERIMENTS = (
    *("table1", "table2", "table3", "figure3", "figure4"),
    *("automata", "iterations", "progress", "pricing"),
)
"""The experiments whose tables and figures are sections of ``README.md``, in its order."""

NONE = "none"
"""Placeholder for an ingredient on which a page does not depend."""

NAMES = ("configuration", "templates", "data", "model format", "learning")
EARLIER = "**Measured on an earlier version**"
"""Mark on a page: the ingredients that follow, up to a full stop, have changed since."""

_RECORD = re.compile(rf"Made from: (?P<made>[^.]+)\.(?:\n{re.escape(EARLIER)}: (?P<changed>[^.]+)\.)?")
_IGNORED = {"treebank": ("train", "test", "dev", "silver", "partial"), "features": ("folder",), "decoding": ("graphs",)}
"""Options that are file names, or change nothing for whole trees."""


_WITHOUT = {
    "treebank": ({"silver_share": 1.0}, ("silver_share",)),
    "features": ({"vectors": None}, ("vectors",)),
    "segmenter": ({"network_share": 0.0}, ("network_share",)),
}
"""By section, values that change nothing, and the options left out with these values, as in versions without them."""


class Ingredients(NamedTuple):
    """Dependencies of figures.

    Attributes
    ----------
    configuration : str
        Digest of the options of the models, as they result from the files in ``configs``, or of the constants of the
        experiment's module.
    templates : str
        Digest of the feature templates, without comments.
    data : str
        Digest of the names of the data and the SHA-256 of their files, as ``data_scripts`` knows them.
    format : str
        `nonproj.model.container.FORMAT`.
    learning : str
        `nonproj.components.preparation.LEARNING`.
    """

    configuration: str
    templates: str
    data: str
    format: str
    learning: str

    def changed(self, other: Ingredients) -> list[str]:
        """Return the names of the differences.

        Examples
        --------
        >>> Ingredients("a", "b", "c", "4", "1").changed(Ingredients("a", "x", "c", "4", "2"))
        ['templates', 'learning']
        """
        return [name for name, mine, theirs in zip(NAMES, self, other, strict=True) if mine != theirs]

    def line(self, now: Ingredients) -> str:
        """Return the record of a page; it names what differs from ``now``."""
        made = ", ".join(f"{name} {value}" for name, value in zip(NAMES, self, strict=True))
        changed = ", ".join(self.changed(now))
        return f"Made from: {made}." + (f"\n{EARLIER}: {changed}." if changed else "")


def digest(value: Any) -> str:
    """Return eight hexadecimal digits for a value of JSON.

    Examples
    --------
    >>> digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1}) != digest({"a": 1, "b": [3]})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


# -- what pages depend on ----------------------------------------------------------------------------------------------


def of_models(
    models: Sequence[tuple[str, str]],
    changes: Mapping[str, object] | None = None,
    setting: ExperimentSettings = TODAY,
    text: bool = False,
) -> Ingredients:
    """Return the ingredients of models of this version, each a treebank and a set of part types.

    ``changes`` are options set by an experiment, overriding the configuration; with ``text``, the figures are of
    plain text, and depend on the segmenter's options too.
    """
    configs = {f"{each[0]}-{each[1]}": configuration(setting, *each).with_overrides(changes or {}) for each in models}
    return of_configs(configs, {language: treebank(language, setting) for language, _ in models}, text)


def of_configs(configs: Mapping[str, Config], data: Any, text: bool = False) -> Ingredients:
    """Return the ingredients of models by name, and of data that can be written as JSON; ``text``: see `of_models`."""
    options = {name: _options(asdict(config), text) for name, config in configs.items()}
    templates = {name: _templates(config.parts) for name, config in configs.items()}
    return Ingredients(digest(options), digest(templates), digest(data), str(FORMAT), str(LEARNING))


def of_modules(modules: Sequence[str], data: Any, config: Config | None = None) -> Ingredients:
    """Return the ingredients of an experiment by its modules: their constants, its data, and perhaps a parser."""
    constants = [_constants(importlib.import_module(name)) for name in modules]
    if config is None:
        return Ingredients(digest(constants), NONE, digest(data), NONE, NONE)
    found = of_configs({"parser": config}, data)
    return found._replace(configuration=digest([constants, found.configuration]))


def of_experiment(name: str, setting: ExperimentSettings = TODAY) -> Ingredients:
    """Return the ingredients of a table or figure of `research.experiments.runner`."""
    module = importlib.import_module(f"research.experiments.{name}")
    units = [(unit[0], unit[1]) for unit in module.units(setting) if unit[0] != RANDOM]
    found = of_models(sorted(set(units)), setting=setting)
    sizes = [_constants(module), [getattr(setting, size) for size in module.SIZES]]
    return found._replace(configuration=digest([sizes, found.configuration]))


def _options(config: dict[str, Any], text: bool) -> dict[str, Any]:
    """Return the options of a configuration, except file names and those of components absent or not measured."""
    for section, names in _IGNORED.items():
        config[section] = {key: value for key, value in config[section].items() if key not in names}
    for section, (values, names) in _WITHOUT.items():
        if all(config[section][key] == value for key, value in values.items()):
            config[section] = {key: value for key, value in config[section].items() if key not in names}
    if not text:
        config["decoding"]["sentences_by_trees"] = False  # it decides only in plain text
    used = {"segmenter": text, "encoder": config["encoder"]["folder"] is not None}
    return {name: section for name, section in config.items() if used.get(name, True)}


def _templates(parts: Sequence[str]) -> dict[str, Any]:
    """Return the content of the template files of a set of part types; with those of labels, if any."""
    names = [*template_files(parts, True, True), "tagger", "lemmatizer"]
    paths = {name: ROOT / "features" / f"{name}.yaml" for name in names}
    return {name: yaml.safe_load(path.read_text("utf-8")) for name, path in paths.items() if path.exists()}


def _constants(module: Any) -> dict[str, str]:
    """Return the constants of a module that are numbers or tuples and dictionaries of them: sizes and settings."""
    return {
        name: repr(value)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int | float | tuple | dict) and " at 0x" not in repr(value)
    }


def script(name: str, folder: str = "data_scripts") -> Any:
    """Return a module of a folder of scripts."""
    place = str(ROOT / folder)
    if place not in sys.path:
        sys.path.append(place)
    return importlib.import_module(name)


def treebank(language: str, setting: ExperimentSettings = TODAY) -> dict[str, str]:
    """Return the SHA-256 of each file of a treebank, or its release if its files are not known."""
    if language in setting.files:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in setting.files[language]}
    if language.startswith("UD_"):
        return {language: script("universal").RELEASE}
    return dict(script("treebanks").TREEBANKS[TREEBANKS.get(language, language)].files)


def _with_constants(name: str, of: Callable[[Any], Ingredients], *more: object) -> Callable[[], Ingredients]:
    """Return the function of the ingredients of a page: those of its models, and the constants of its module."""

    def found() -> Ingredients:
        module = importlib.import_module(f"research.experiments.{name}")
        made = of(module)
        return made._replace(configuration=digest([_constants(module), *more, made.configuration]))

    return found


def _annotating(module: Any) -> Ingredients:
    """Return the ingredients of the simulated annotation: two kinds of models of two treebanks."""
    kinds = {"corrected": module.CORRECTED, "curves": module.CURVES}
    pairs = [(language, kind) for language in module.LANGUAGES for kind in kinds]
    configs = {f"{language}-{kind}": module.options_of(language, kinds[kind]) for language, kind in pairs}
    return of_configs(configs, {language: treebank(language) for language in module.LANGUAGES})


def _proofs(module: Any) -> Ingredients:
    """Return the ingredients of the page about proofs, whose models are small."""
    pairs = [(language, parts) for language in module.LANGUAGES for parts in module.SETS]
    return of_models(pairs, setting=replace(TODAY, config=module.CONFIG))


def _graphs(module: Any) -> Ingredients:
    """Return the ingredients of the page about enhanced graphs."""
    return of_models([(language, "grandparent") for language in module.LANGUAGES], text=True)


def _grandparents(*languages: str, text: bool = False, **changes: object) -> Callable[[], Ingredients]:
    options = {name.replace("__", "."): value for name, value in changes.items()}
    return lambda: of_models([(language, "grandparent") for language in languages], options, text=text)


_UNIVERSAL = (*script("treebanks").RELEASED, "greek", "english-ewt")

PAGES: dict[str, Callable[[], Ingredients]] = {
    "confidence": _grandparents("danish", "greek", "english-ewt", "turkish", training__tags="both", text=True),
    "text": _grandparents(*_UNIVERSAL, text=True),
    "crossing": _grandparents("danish", "dutch", "basque", *_UNIVERSAL, text=True),
    "neural": _grandparents(*_UNIVERSAL, text=True, encoder__folder="pretrained"),
    "annotating": _with_constants("annotating", _annotating),
    "proofs": _with_constants("proofs", _proofs),
    "graphs": _with_constants("graphs", _graphs, asdict(GRAPHS)),
}
"""The ingredients of each page of ``results`` with one record, as this version has them."""

OTHERS = ("systems",)
"""Folders of other packages in the repository, with ``results`` and with `PAGES` in ``experiments/provenance.py``."""


def sections() -> dict[str, tuple[str, str, Callable[[], Ingredients]]]:
    """Return page, title (the page's own: an empty string) and ingredients of each record, by a name for it.

    Packages that are not installed have no pages.
    """
    found = {name: (f"research/results/{name}.md", "", of) for name, of in PAGES.items()}
    for name in EXPERIMENTS:
        title = importlib.import_module(f"research.experiments.{name}").TITLE
        found[name] = ("research/results/README.md", title, functools.partial(of_experiment, name))
    for folder in OTHERS:
        if (ROOT / folder / "experiments").is_dir():
            pages = importlib.import_module(f"{folder}.experiments.provenance").PAGES
            found |= {name: (f"{folder}/results/{name}.md", "", of) for name, of in pages.items()}
    return found


# -- records on pages --------------------------------------------------------------------------------------------------


def recorded(text: str, title: str = "") -> Ingredients | None:
    """Return the provenance of a page, or of its section with a title; None without a record."""
    place = _below(text, title)
    match = _RECORD.match(text, place) if place else None
    if match is None:
        return None
    parts = match["made"].split(", ")
    return Ingredients(*(part.removeprefix(f"{name} ") for name, part in zip(NAMES, parts, strict=True)))


def with_record(text: str, made: Ingredients, now: Ingredients, title: str = "") -> str:
    """Return a page with the provenance of itself, or of its section with a title.

    Examples
    --------
    >>> old, new = Ingredients("a", "b", "c", "4", "1"), Ingredients("a", "b", "c", "4", "2")
    >>> page = with_record("# Page\\n\\nText.\\n", old, new)
    >>> print(page, end="")
    # Page
    <BLANKLINE>
    Made from: configuration a, templates b, data c, model format 4, learning 1.
    **Measured on an earlier version**: learning.
    <BLANKLINE>
    Text.
    >>> recorded(page) == old, recorded(with_record(page, new, new)) == new
    (True, True)
    """
    place = _below(text, title)
    if not place:
        raise ValueError(f"the page has no heading {title!r} with an empty line below")
    match = _RECORD.match(text, place)
    rest = text[match.end() :].lstrip("\n") if match else text[place:]
    return f"{text[:place]}{made.line(now)}\n\n{rest}"


def _below(text: str, title: str) -> int:
    """Return the position of the first paragraph below a heading; 0 if there is no heading."""
    heading = re.search(rf"^## {re.escape(title)}\n\n" if title else r"\A# .*\n\n", text, re.MULTILINE)
    return heading.end() if heading else 0


def is_current(name: str) -> bool:
    """Return whether a page or section was made from this version."""
    page, title, of = sections()[name]
    return recorded((ROOT / page).read_text(encoding="utf-8"), title) == of()


def stamp(path: Path, name: str, made: Ingredients | None = None) -> None:
    """Write the record of a page or section into its file: made from this version, unless said otherwise."""
    now = sections()[name][2]()
    text = path.read_text(encoding="utf-8")
    path.write_text(with_record(text, made or now, now, sections()[name][1]), encoding="utf-8")


def publish(folder: Path, name: str, parts: Sequence[str], by_hand: str = "") -> None:
    """Write a page with its record.

    Parameters
    ----------
    folder : Path
        Folder of the results.
    name : str
        Name of the page.
    parts : sequence of str
        Its paragraphs, separated by blank lines.
    by_hand : str
        Heading of the part at the end of the page that is written by hand, and kept; empty if there is none.
    """
    path = folder / f"{name}.md"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    place = before.find(f"\n{by_hand}") if by_hand else -1
    with appearing(path) as temporary:
        text = "\n\n".join(part.strip("\n") for part in parts) + "\n"
        temporary.write_text(text + (before[place:] if place >= 0 else ""), encoding="utf-8")
    stamp(path, name)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m research.experiments.provenance", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--mark", action="store_true", help="say on each page what has changed since it was made")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of the repository")
    options = parser.parse_args(arguments)
    for name, (page, title, of) in sections().items():
        path = options.root / page
        found = recorded(path.read_text(encoding="utf-8"), title) if path.exists() else None
        if found is None:
            continue
        made, now = found, of()
        if options.mark:
            stamp(path, name, made)
        if changed := made.changed(now):
            sys.stdout.write(f"{name} ({page}): {', '.join(changed)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
