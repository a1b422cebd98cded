"""Run the experiments on the systems that are named.  Each writes a page, its rows and a figure."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from research.experiments.__main__ import run_program
from research.experiments.setting import ROOT

NAMES = ("constituency", "lexicalised", "mrf", "translation", "tsp")
"""Modules of `systems.experiments` with ``main(results, data, short)``: the folder to write the page to, the folder of
fetched data, and whether only a little is to be run."""


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the names of the experiments, the folders, and whether the experiments are short."""
    parser = argparse.ArgumentParser(prog="python -m systems.experiments", description=__doc__)
    parser.add_argument("names", nargs="+", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--short", action="store_true", help="a little of each; writes to systems/results/short")
    parser.add_argument("--results", type=Path, help="folder to write to (default: systems/results)")
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder to fetch data into")
    options = parser.parse_args(arguments)
    options.results = options.results or ROOT / "systems" / "results" / ("short" if options.short else "")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    return run_program(_run, arguments)


def _run(arguments: list[str] | None) -> None:
    """Run experiments."""
    options = parse_arguments(arguments)
    for name in options.names:
        importlib.import_module(f"systems.experiments.{name}").main(options.results, options.data, options.short)


if __name__ == "__main__":
    sys.exit(main())
