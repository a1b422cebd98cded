"""Travelling salesman problems of TSPLIB95: bounds, tours and proofs.

Rush and Collins (2012), section 6.3.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import numpy as np

from nonproj_systems.tsp.instance import read
from nonproj_systems.tsp.output import plot
from nonproj_systems.tsp.solver import Options, solve
from research.experiments.layout import table
from research.experiments.provenance import publish
from research.experiments.setting import ROOT, fetched
from research.experiments.store import Row, appearing, stored, write_rows

SECONDS, CITIES = 60.0, 105
"""Processor seconds for each problem, and cities of the largest one."""

SHORT = ("burma14", "gr24", "bays29", "gr48")
"""The problems of the short version."""

PICTURE = "gr48"


def main(results: Path, data: Path, short: bool) -> None:
    """Solve all problems, or those of a short run; write ``tsp.md``, ``tsp.csv`` and ``tsp.png``."""
    folder = fetched("systems/data_scripts/tsplib.py", data)[0]
    names = SHORT if short else sorted((name for name in optima() if _size(name)[0] <= CITIES), key=_size)
    rows = []
    for name in names:
        rows += stored(results / "runs" / "tsp" / f"{name}.csv", lambda name=name: measure(folder, name))
    write_rows(results / "tsp.csv", rows)
    publish(results, "tsp", page(rows))
    import matplotlib

    matplotlib.use("Agg")
    instance = read(str(folder / f"{PICTURE}.tsp"))
    with appearing(results / "tsp.png") as temporary:
        plot(instance, solve(instance)).savefig(temporary, format="png", dpi=100)


def _size(name: str) -> tuple[int, str]:
    """Return the number of cities, which is part of a problem's name, and the name."""
    return int(re.findall(r"\d+", name)[0]), name


def optima() -> dict[str, int]:
    """Return the published lengths of optimal tours."""
    text = (ROOT / "systems" / "data_scripts" / "tsplib.py").read_text(encoding="utf-8")
    return {name: int(length) for name, length in re.findall(r'"(\w+)": \((\d+), "', text)}


def measure(folder: Path, name: str) -> list[Row]:
    """Return the row of a problem."""
    instance = read(str(folder / f"{name}.tsp"))
    found = solve(instance, Options(seconds=SECONDS))
    row: Row = {"problem": name, "cities": len(instance.weights), "optimum": optima()[name], "length": found.value}
    return [row | {key: getattr(found, key) for key in ("root_bound", "bound", "edges", "status", "nodes", "seconds")}]


HEAD = """# Travelling salesman: bounds, tours and proofs for TSPLIB95

Made by `make reproduce-systems-tsp`; [docs/tsp.md](../docs/tsp.md) describes the method. One core; times are
processor seconds, without those of compiling.
"""
NOTES = """
*Bound*: Held and Karp's. *Edges*: those left per city when branch and bound begins; *nodes*: those that it bounds.
*Status*: proven optimal, or the bound that is reached, in per cent of the optimum.

The tutorial has no figures for this problem. Held and Karp (1971) prove tours of up to 64 cities, of problems of their
time. They branch at a city of degree above 2, here at an edge that about half of the last 1-trees have.
"""


def page(rows: list[Row]) -> list[str]:
    """Return the parts of the page."""
    proven = [row for row in rows if row["status"] == "optimal"]
    right = sum(row["length"] == row["optimum"] for row in rows)
    shares = [100 * row["root_bound"] / row["optimum"] for row in rows]
    small = [row["seconds"] for row in rows if row["cities"] <= 60]
    findings = (
        f"{len(proven)} of {len(rows)} tours are proven optimal within {SECONDS:.0f} s; those of up to 60 cities in at "
        f"most {max(small):.1f} s. {right} of {len(rows)} lengths equal the published optima. Held and Karp's bound is "
        f"on average {np.mean(shares):.2f} % of the optimal length, at least {min(shares):.2f} %."
    )
    header = ["problem", "optimum", "bound", "edges", "status", "nodes", "seconds"]
    lines = []
    for row in rows:
        status = "proven" if row["status"] == "optimal" else f"{100 * row['bound'] / row['optimum']:.2f} %"
        edges = f"{row['edges'] / row['cities']:.1f}" if row["edges"] else "–"
        lines.append([row["problem"], row["optimum"], f"{row['root_bound']:.1f}", edges, status, row["nodes"]])
        lines[-1].append(f"{row['seconds']:.2f}")
    picture = f"![The tour of {PICTURE}, the 1-tree of the bound, and the course of the bound](tsp.png)"
    return [HEAD, textwrap.fill(findings, 118), picture, table(header, lines), NOTES]
