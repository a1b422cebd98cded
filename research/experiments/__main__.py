"""Run experiments: all that reproduce the papers' tables and figures, or those named.  A stopped run can be resumed.

python -m research.experiments table2 --languages danish
python -m research.experiments text --languages all
python -m research.experiments --stale  # all pages of an earlier version; hours
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from nonproj.errors import NonprojError
from research.experiments.provenance import is_current, sections
from research.experiments.runner import EXPERIMENTS, run_all
from research.experiments.setting import LANGUAGES, RESULTS, ROOT, ExperimentSettings
from research.experiments.text import NOTE

ENCODERS = ("neural",)
"""Pages about encoders, which need PyTorch."""

PAGES = ("text", "proofs", "annotating", "confidence", "graphs", "crossing", *ENCODERS)
"""Modules with a page of their own, run only if named.

Each has ``LANGUAGES``, the treebanks that it measures by default, perhaps ``ALL`` that it can, and ``measure(setting,
languages)``, which writes the page.
"""

SYSTEMS = tuple(name for name, section in sections().items() if section[0].startswith("systems/"))
"""Modules of `systems.experiments`, with a page of their own, and ``main(results, data, short)``."""

NAMES = (*PAGES[:-1], *EXPERIMENTS, *SYSTEMS, *ENCODERS)

SHORT = {
    "languages": ("danish", "english"),
    "sentences": 12,
    "program_sentences": 3,
    "program_words": 12,
    "iterations": 300,
    "instances": 3,
    "training": 300,
    "config": ROOT / "research" / "experiments" / "short.yaml",
}
"""Sizes of the short version, which only shows that everything runs."""


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options, with the names of the experiments, the treebanks, and the setting."""
    parser = argparse.ArgumentParser(prog="python -m research.experiments", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--short", action="store_true", help="few sentences and small models")
    parser.add_argument(
        "--stale", action="store_true", help="only pages that an earlier version has made, of all pages"
    )
    parser.add_argument("--models", type=Path, help="folder of LANGUAGE-PARTS.nonproj; missing models are trained")
    parser.add_argument("--results", type=Path, help="folder to write to (default: research/results, systems/results)")
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder to fetch treebanks and encoders into")
    parser.add_argument("--languages", default="", help="comma-separated; all: all that an experiment can take")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"unknown experiment {name}; choose from {', '.join(NAMES)}")
    options.chosen = tuple(filter(None, options.languages.split(",")))
    for language in options.chosen:
        for known in {known_to(name) for name in options.names or EXPERIMENTS}:
            if language not in (*known, "all"):
                parser.error(f"unknown language {language}; choose from {', '.join(known)}")
    results = options.results or (RESULTS / "short" if options.short else RESULTS)
    models = options.models or (results / "models" if options.short else ROOT / "models")
    options.setting = ExperimentSettings(results.resolve(), models, options.data)
    if options.short:
        options.setting = replace(options.setting, **SHORT)
    if options.stale:
        options.names = [name for name in stale() if name in (options.names or NAMES)]
    elif not options.names:
        options.names = list(EXPERIMENTS)
    return options


def known_to(name: str) -> tuple[str, ...]:
    """Return the treebanks that an experiment can take."""
    if name in EXPERIMENTS:
        return LANGUAGES
    if name in SYSTEMS:
        return ()
    module = importlib.import_module(f"research.experiments.{name}")
    return tuple(getattr(module, "ALL", module.LANGUAGES))


def stale() -> Iterable[str]:
    """Yield the pages and sections that an earlier version made, in whole or, as a note on the page says, in part."""
    for name in NAMES:
        page, title, _ = sections()[name]
        if is_current(name) and (title or NOTE not in (ROOT / page).read_text(encoding="utf-8")):
            continue
        if name in ENCODERS and find_spec("torch") is None:
            sys.stdout.write(f"{name}: needs PyTorch; run: pip install '.[train-encoder]'\n")
        elif name != "crossing":  # it has rows of earlier versions, too
            yield name


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, with one thread and messages of progress."""
    # One thread, so that times of all methods compare.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("experiments").setLevel(logging.INFO)
    try:
        run(parse_arguments(arguments))
    except KeyboardInterrupt:
        sys.stderr.write("stopped; run the same command to resume\n")
        return 130
    except NonprojError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def run(options: argparse.Namespace) -> None:
    """Run experiments one after the other, those of the papers' tables and figures together."""
    setting, chosen, names = options.setting, options.chosen, options.names
    for name in names:
        if name in PAGES:
            module = importlib.import_module(f"research.experiments.{name}")
            module.measure(setting, known_to(name) if "all" in chosen else chosen or module.LANGUAGES)
        elif name in SYSTEMS:
            results = options.results or ROOT / "systems" / "results" / ("short" if options.short else "")
            importlib.import_module(f"systems.experiments.{name}").main(results, options.data, options.short)
    if papers := [name for name in names if name in EXPERIMENTS]:
        run_all(replace(setting, languages=chosen) if chosen and "all" not in chosen else setting, papers)


if __name__ == "__main__":
    sys.exit(main())
