"""The command ``nonproj-systems mrf``: most probable labels of a file in the UAI format."""

from __future__ import annotations

import argparse
import json
import math
import sys

from nonproj.cli.values import positive, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = "Find the most probable labels of a pairwise Markov random field, an upper bound, and a proof."
    add = parser.add_argument
    add("file", metavar="FILE.uai", help="a field in UAI format, with functions of one or two variables")
    add("-o", "--output", metavar="OUT.MPE", help="output file of labels, in the UAI result format")
    text = "trws: message passing (default); trees: the subgradient method over spanning trees"
    add("--method", choices=("trws", "trees"), default="trws", help=text)
    add("--exact", action="store_true", help="close remaining gaps by branch and bound")
    add(
        "--seconds",
        type=seconds,
        default=math.inf,
        metavar="SECONDS",
        help="limit on processor time, checked between steps",
    )
    add("--iterations", type=positive, default=1000, metavar="N", help="maximum number of iterations (default: 1000)")
    add("--json", action="store_true", help="print all figures as JSON")


def run(options: argparse.Namespace) -> int:
    """Run the command; scores are natural logarithms of the product of the functions."""
    from nonproj_systems.mrf.inference import infer
    from nonproj_systems.mrf.uai import read_uai, write_mpe

    field = read_uai(options.file)
    limits = {"seconds": options.seconds, "max_iterations": options.iterations}
    found = infer(field, options.method, exact=options.exact, **limits)
    if options.output and found.value > float("-inf"):
        write_mpe(found.labels, options.output)
    figures = {
        "nodes": field.n_nodes,
        "edges": field.n_edges,
        "value": found.value,
        "bound": found.bound,
        "status": found.status,
        "iterations": found.iterations,
        "searched": found.searched,
        "seconds": round(found.seconds, 3),
    }
    # Labels on standard output are not mixed with figures.
    stream = sys.stderr if options.output == "-" else sys.stdout
    if options.json:
        known = {name: None if value in (float("inf"), float("-inf")) else value for name, value in figures.items()}
        stream.write(json.dumps(known) + "\n")
    else:
        lines = [f"{name:<11}{value}" for name, value in figures.items()]
        stream.write("\n".join(lines) + "\n")
    return 0
