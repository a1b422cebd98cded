"""Run experiments: all that reproduce the papers' tables and figures, or those named.  A stopped run can be resumed.

python -m research.experiments table2 --languages danish
python -m research.experiments text --languages all
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nonproj.errors import NonprojError
from research.experiments.runner import EXPERIMENTS, run_all
from research.experiments.setting import LANGUAGES, RESULTS, ROOT, ExperimentSettings

PAGES = ("confidence", "text", "crossing", "neural", "annotating", "audit", "proofs", "graphs")
"""Modules with a page of their own, run only if named.

Each has ``LANGUAGES``, the treebanks that it measures by default, perhaps ``ALL`` that it can, and ``measure(setting,
languages)``, which writes the page.
"""

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


def parse_arguments(arguments: list[str] | None = None) -> tuple[ExperimentSettings, list[str], Sequence[str]]:
    """Return the setting, the names of the experiments, and the treebanks that the command line names."""
    names = (*EXPERIMENTS, *PAGES)
    parser = argparse.ArgumentParser(prog="python -m research.experiments", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument(
        "--short", action="store_true", help="few sentences and small models of the papers' experiments"
    )
    parser.add_argument("--models", type=Path, help="folder of LANGUAGE-PARTS.nonproj; missing models are trained")
    parser.add_argument("--results", type=Path, help="folder to write to (default: research/results)")
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder to fetch treebanks and encoders into")
    parser.add_argument("--languages", default="", help="comma-separated; all: all that an experiment can take")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in names:
            parser.error(f"unknown experiment {name}; choose from {', '.join(names)}")
    results = options.results or (RESULTS / "short" if options.short else RESULTS)
    models = options.models or (results / "models" if options.short else ROOT / "models")
    setting = ExperimentSettings(results.resolve(), models, options.data)
    if options.short:
        setting = replace(setting, **SHORT)
    chosen = tuple(filter(None, options.languages.split(",")))
    for language in chosen:
        for known in {known_to(name) for name in options.names or EXPERIMENTS}:
            if language not in (*known, "all"):
                parser.error(f"unknown language {language}; choose from {', '.join(known)}")
    return setting, options.names or list(EXPERIMENTS), chosen


def known_to(name: str) -> tuple[str, ...]:
    """Return the treebanks that an experiment can take."""
    if name in EXPERIMENTS:
        return LANGUAGES
    module = importlib.import_module(f"research.experiments.{name}")
    return tuple(getattr(module, "ALL", module.LANGUAGES))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    return run_program(_run, arguments)


def _run(arguments: list[str] | None) -> None:
    """Run experiments."""
    setting, names, chosen = parse_arguments(arguments)
    for name in [name for name in names if name in PAGES]:
        module = importlib.import_module(f"research.experiments.{name}")
        module.measure(setting, known_to(name) if "all" in chosen else chosen or module.LANGUAGES)
    if papers := [name for name in names if name in EXPERIMENTS]:
        run_all(replace(setting, languages=chosen) if chosen and "all" not in chosen else setting, papers)


def run_program(run: Callable[[list[str] | None], None], arguments: list[str] | None) -> int:
    """Run a program of experiments, with one thread and messages of progress; return its exit code."""
    # One thread, so that times of all methods compare.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("experiments").setLevel(logging.INFO)
    try:
        run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; run the same command to resume\n")
        return 130
    except NonprojError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
