"""The command ``nonproj-systems tsp``."""

from __future__ import annotations

import argparse
import json
import math
import sys

from nonproj.cli.values import positive, seconds
from nonproj.errors import ConfigError, DependencyError, needs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="symmetric problems of TSPLIB95 (type TSP)")
    add("-o", "--output", metavar="TOUR", help="write the tour in TSPLIB95 format; for one FILE only")
    add("--picture", metavar="PNG", help="draw the tour, the 1-tree and the course of the bound; for one FILE only")
    add("--json", action="store_true", help="print results, tours included, as lines of JSON")
    text = "limit on processor time per problem; the best tour and bound found are reported (default: none)"
    add("--seconds", type=seconds, default=math.inf, metavar="S", help=text)
    add(
        "--kicks",
        type=positive,
        default=1000,
        metavar="K",
        help="number of kicks of the local search per city (default: 1000)",
    )
    add("--seed", type=positive, default=1, metavar="N", help="seed of the local search (default: 1)")


def run(options: argparse.Namespace) -> int:
    """Solve the problems one by one; return the exit code."""
    for name in ("output", "picture"):
        if getattr(options, name) and len(options.files) > 1:
            raise ConfigError(f"--{name}", f"there are {len(options.files)} problems; it is for one only")
    from nonproj_systems.tsp.instance import read
    from nonproj_systems.tsp.output import as_data, describe, save_picture, write_tour
    from nonproj_systems.tsp.solver import Options, solve

    if options.picture:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise DependencyError(needs("--picture needs", "matplotlib", "pictures", of="nonproj-systems")) from None
    limits = Options(options.seconds, kicks=options.kicks, seed=options.seed)
    for path in options.files:
        instance = read(path)
        name = instance.name or path
        result = solve(instance, limits)
        line = json.dumps(as_data(name, result)) if options.json else describe(name, result)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        if options.output:
            write_tour(options.output, name, result)
        if options.picture:
            save_picture(options.picture, instance, result)
    return 0
