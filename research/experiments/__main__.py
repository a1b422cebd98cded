"""Reproduce the papers' tables and figures: all of the parser's, or those named.  A stopped run can be resumed."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nonproj.errors import NonprojError
from research.experiments.provenance import stamp
from research.experiments.runner import EXPERIMENTS, run_all
from research.experiments.setting import LANGUAGES, RESULTS, ROOT, Setting

PAGES: tuple[str, ...] = ("confidence", "text", "neural")
"""Modules of `experiments` with a separate page, run only if named.

Each has ``main(results, data, short)``: the folder to write its page to, the folder of fetched data, and whether only a
little is to be run.
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


def parse_arguments(arguments: list[str] | None = None) -> tuple[Setting, list[str], bool]:
    """Return the setting, the names of the experiments that the command line asks for, and whether they are short."""
    parser = argparse.ArgumentParser(prog="python -m research.experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join((*EXPERIMENTS, *PAGES))}")
    parser.add_argument(
        "--short", action="store_true", help="few sentences and small models; writes to research/results/short"
    )
    parser.add_argument("--models", type=Path, help="folder of LANGUAGE-PARTS.nonproj; missing models are trained")
    parser.add_argument("--results", type=Path, help="folder to write to (default: research/results)")
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder to fetch treebanks into")
    parser.add_argument("--languages", default="", help=f"comma-separated, from {','.join(LANGUAGES)}")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in EXPERIMENTS and name not in PAGES:
            parser.error(f"unknown experiment {name}; choose from {', '.join((*EXPERIMENTS, *PAGES))}")
    results = options.results or (RESULTS / "short" if options.short else RESULTS)
    models = options.models or (results / "models" if options.short else ROOT / "models")
    setting = Setting(results, models, options.data)
    if options.short:
        setting = replace(setting, **SHORT)
    chosen = tuple(options.languages.split(",")) if options.languages else setting.languages
    for language in chosen:
        if language not in LANGUAGES:
            parser.error(f"unknown language {language}; choose from {', '.join(LANGUAGES)}")
    return replace(setting, languages=chosen), options.names or list(EXPERIMENTS), options.short


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    return run_program(_run, arguments)


def _run(arguments: list[str] | None) -> None:
    """Run experiments."""
    setting, names, short = parse_arguments(arguments)
    for name in PAGES:
        if name in names:
            importlib.import_module(f"research.experiments.{name}").main(setting.results, setting.data, short)
            stamp(setting.results / f"{name}.md", name)
    if not set(names) <= set(PAGES):
        run_all(setting, [name for name in names if name not in PAGES])


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
