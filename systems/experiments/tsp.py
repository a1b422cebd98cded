"""Travelling salesman problems of TSPLIB95, and of cities in clusters: bounds, tours and proofs.

Rush and Collins (2012), section 6.3.
"""

from __future__ import annotations

import logging
import math
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np

from nonproj_systems.tsp.ascent import Steps, ascend, evaluate, root_steps
from nonproj_systems.tsp.cutting import CutProgram
from nonproj_systems.tsp.heuristic import neighbour_lists, search_tour
from nonproj_systems.tsp.instance import Instance, make_instance, read
from nonproj_systems.tsp.one_tree import edges_of
from nonproj_systems.tsp.output import plot
from nonproj_systems.tsp.preconditioner import by_clusters
from nonproj_systems.tsp.solver import PLAIN_NODES, Options, solve
from nonproj_systems.tsp.sparse import make_graph
from research.experiments.layout import table
from research.experiments.setting import ROOT
from research.experiments.store import Row, appearing, read_rows, write_rows

SECONDS, PLAIN_SECONDS, SEEDS, NEIGHBOURS = 600.0, 120.0, 5, 10
"""Processor seconds for each problem, with and without cuts; seeds of the local search; edges per city of the first
linear program."""

SHORT = ("burma14", "gr24", "bays29", "gr48", "pr107")
"""The problems of the short version."""

SHAPES = ((6, 25, 1000, 10), (6, 25, 1000, 3), (6, 25, 100_000, 10), (20, 10, 1000, 5), (12, 25, 10_000, 50))
"""Problems of cities in clusters: clusters, cities of each, side of the square of their centres, standard deviation."""

CLUSTER_SEEDS = 3

PICTURE = "gr48"


def main(results: Path, data: Path | None, short: bool) -> None:
    """Solve all problems, or those of a short run; write ``tsp.md``, ``tsp.csv`` and ``tsp.png``."""
    folder = locate(data)
    names = SHORT if short else sorted((path.stem for path in folder.glob("*.tsp")), key=_size)
    shapes = [(*shape, seed) for shape in SHAPES for seed in range(1, CLUSTER_SEEDS + 1)]
    rows, log = [], logging.getLogger("experiments")
    for name in (*names, *(shapes[:1] if short else shapes)):
        label = name if isinstance(name, str) else "-".join(map(str, name))
        path = results / "runs" / "tsp" / f"{label}.csv"
        if not path.is_file():
            log.info("tsp: %s", label)
            if isinstance(name, str):
                row = measure(label, read(str(folder / f"{name}.tsp")), optima(folder)[name])
            else:
                row = measure(label, clustered(*name), None)
            write_rows(path, [row])
        rows += read_rows(path)
    write_rows(results / "tsp.csv", rows)
    with appearing(results / "tsp.md") as temporary:
        temporary.write_text(page(rows), encoding="utf-8")
    import matplotlib

    matplotlib.use("Agg")
    instance = read(str(folder / f"{PICTURE}.tsp"))
    with appearing(results / "tsp.png") as temporary:
        plot(instance, solve(instance)).savefig(temporary, format="png", dpi=100)


def clustered(clusters: int, size: int, side: int, deviation: float, seed: int) -> Instance:
    """Return a problem of cities in clusters, normally distributed about centres in a square."""
    random = np.random.default_rng(seed)
    centres = random.integers(0, side, (clusters, 1, 2))
    points = np.rint(centres + deviation * random.standard_normal((clusters, size, 2))).reshape(-1, 2)
    weights = np.rint(np.hypot(*(points[:, None] - points).T)).astype(np.int64)
    return make_instance(weights, f"{clusters} clusters of {size} cities", points)


def _size(name: str) -> tuple[int, str]:
    """Return the number of cities, which is part of a problem's name, and the name."""
    return int(re.findall(r"\d+", name)[0]), name


def locate(data: Path | None) -> Path:
    """Return the folder of problems; fetch them if they are missing."""
    command = [
        sys.executable,
        str(ROOT / "systems" / "data_scripts" / "tsplib.py"),
        "--out",
        str(data or ROOT / "data"),
    ]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode:
        raise SystemExit(found.returncode)
    return Path(found.stdout.strip())


def optima(folder: Path) -> dict[str, int]:
    """Return the published lengths of optimal tours."""
    text = (ROOT / "systems" / "data_scripts" / "tsplib.py").read_text(encoding="utf-8")
    return {name: int(length) for name, length in re.findall(r'"(\w+)": \((\d+), "', text)}


def measure(name: str, instance: Instance, optimum: int | None) -> Row:
    """Return the row of a problem; where no optimum is published, the length found stands for it."""
    found = solve(instance, Options(seconds=SECONDS))
    published, optimum = optimum is not None, found.value if optimum is None else optimum
    began = time.process_time()
    exact = subtour_bound(instance, optimum)
    row: Row = {
        "problem": name,
        "published": int(published),
        "cities": len(instance.weights),
        "optimum": optimum,
        "root_bound": found.root_bound,
        "subtour_bound": exact,
        "subtour_seconds": time.process_time() - began,
        "iterations": found.iterations,
        "plain_root_bound": plain_bound(instance, optimum),
        "heuristic": found.heuristic_value,
        "hits": sum(local_search(instance, optimum, seed) == optimum for seed in range(1, SEEDS + 1)),
        "edges": found.edges,
        "length": found.value,
        "bound": found.bound,
        "status": found.status,
        "nodes": found.nodes,
        "cuts": found.cuts,
        "cut_bound": found.cut_bound if found.cut_bound > -np.inf else "",
        "seconds": found.seconds,
    }
    plain = found if found.nodes < PLAIN_NODES else solve(instance, Options(seconds=PLAIN_SECONDS, cuts=False))
    return row | {"plain_status": plain.status, "plain_bound": plain.bound, "plain_nodes": plain.nodes,
                  "plain_seconds": plain.seconds}  # fmt: skip


def plain_bound(instance: Instance, optimum: int) -> float:
    """Return the bound of an ascent without preconditioner, in twice the iterations and with the best steps for it.

    A long memory and a scale of Polyak's steps that falls from 2 to 0.001.
    """
    n = len(instance.weights)
    k = 2 * len(root_steps(n, optimum).sizes)
    return ascend(instance, Steps(2.0 * 0.0005 ** (np.arange(k) / k), optimum * 1.01, 0.8)).bound


def local_search(instance: Instance, optimum: int, seed: int) -> int:
    """Return the length of the tour that local search finds with the usual number of kicks."""
    n = len(instance.weights)
    bound = ascend(instance, root_steps(n, optimum * 1.01), preconditioner=by_clusters(instance.weights))
    _, marginal, _ = evaluate(instance, bound.multipliers)
    return search_tour(instance, neighbour_lists(marginal, instance.weights), Options().kicks * n, optimum, seed)[0]


def subtour_bound(instance: Instance, optimum: int) -> float:
    """Return the optimum of the linear program with all subtour inequalities, by HiGHS.

    It begins with a few edges at each city.  The value of the 1-tree over all edges at the program's multipliers bounds
    the optimum over all edges from below; the edges of that 1-tree are added until both are equal.
    """
    n, weights = len(instance.weights), instance.weights
    near = neighbour_lists(np.zeros((n, n)), weights, NEIGHBOURS)
    kept = np.zeros((n, n), np.bool_)
    kept[np.repeat(np.arange(n), near.shape[1]), near.ravel()] = True
    tour = search_tour(instance, near, n, optimum)[1]
    kept[tour, np.roll(tour, -1)] = True
    combs = []
    while True:
        kept |= kept.T
        program = CutProgram(make_graph(weights, kept), combs)
        value = program.run(np.inf, combs=False)
        multipliers = program.multipliers().multipliers
        below, marginal, tree = evaluate(instance, multipliers)
        if value - below <= 1e-5 * value:
            return value
        combs = program.combs
        kept[tuple(edges_of(tree).T)] = True
        kept |= (marginal == 0.0) & (weights > 0)


NOTES = """
*Bound*: Held and Karp's, by the ascent; *of optimum*: its share of the optimal length, in per cent; *of LP*: its share
of the optimum of the linear program. *Hits*: runs of the local search that find an optimal tour. *Edges*: those left
per city when the search begins. *Nodes* and *cuts* of the whole search; *with cuts*: the root's bound with them, in per
cent of the optimum. *1-trees only*: nodes and seconds without cuts; where these do not suffice, the bound that is
reached, in per cent of the optimum.

**Beside the papers.** The tutorial has no figures for this problem. Held and Karp (1971) prove tours of up to 64
cities, of problems of their time; as there, the bounds are so sharp that the search trees are small. Differences: they
and Volgenant and Jonker (1982) branch at a city of degree above 2, here strong branching chooses an edge; here edges
are fixed at every node, and the Lagrangian can have cuts.
"""


CLUSTER_NOTES = """
The name gives the number of clusters, the cities of each, the side of the square of their centres, the standard
deviation of the cities about them, and a seed. *Plain*: the bound without preconditioner, in twice the iterations,
with steps chosen for it; in per cent of the optimum of the linear program, as *of LP*. The other columns are
those above.
"""


def page(rows: list[Row]) -> str:
    """Return the page."""
    clusters, rows = [row for row in rows if not row["published"]], [row for row in rows if row["published"]]
    return "\n".join([
        "# Travelling salesman: bounds, tours and proofs for TSPLIB95, and for cities in clusters",
        "",
        "Made by `make reproduce-systems-tsp`; [docs/tsp.md](../docs/tsp.md) describes the method. One core; times are",
        "processor seconds, without those of compiling.",
        "",
        *_findings(rows),
        "",
        f"![The tour of {PICTURE}, the 1-tree of the bound, and the course of the bound](tsp.png)",
        "",
        _table(rows),
        NOTES,
        "## Cities in clusters",
        "",
        _cluster_findings(clusters),
        "",
        _cluster_table(clusters),
        CLUSTER_NOTES,
    ])  # fmt: skip


def floor(share: float) -> str:
    """Return a number rounded down to three decimals.

    Examples
    --------
    >>> floor(99.99996)
    '99.999'
    """
    return f"{math.floor(1000 * share) / 1000:.3f}"


def _findings(rows: list[Row]) -> list[str]:
    """Return what the figures say, as a list of Markdown."""
    proven = [row for row in rows if row["status"] == "optimal"]
    plain = [row for row in rows if row["plain_status"] == "optimal"]
    cut = [str(row["problem"]) for row in rows if row["nodes"] >= PLAIN_NODES]
    small, middle = ([row for row in rows if row["cities"] <= most] for most in (60, 150))
    longest = [f"{max(row['seconds'] for row in some):.1f} s" for some in (rows, small, middle)]
    right = sum(row["length"] == row["optimum"] for row in rows)
    of_optimum = [row["root_bound"] / row["optimum"] for row in rows]
    of_program = min(row["root_bound"] / row["subtour_bound"] for row in rows)
    hits = [sum(row["hits"] for row in some) for some in (middle, rows)]
    findings = (
        f"- **Proofs**: {len(proven)} of {len(rows)} tours are proven optimal, in at most {longest[0]} each; "
        f"those of up to 60 cities in at most {longest[1]}, of up to 150 in at most {longest[2]}. "
        f"{right} of {len(rows)} lengths equal the published optima.",
        f"- **1-trees alone** (`--no-cuts`, {PLAIN_SECONDS:.0f} s at most) prove {len(plain)} of {len(rows)}. "
        f"Cuts are looked for after {PLAIN_NODES} nodes, which is the case for {', '.join(cut) or 'none'}.",
        f"- **Bounds**: the ascent's bound is at least {floor(100 * of_program)} % of the optimum of the linear "
        "program with all subtour inequalities (HiGHS), the best that 1-trees can reach. "
        f"It is on average {100 * np.mean(of_optimum):.2f} % of the optimal length, "
        f"at least {100 * min(of_optimum):.2f} %, at most {100 * max(of_optimum):.2f} %.",
        f"- **Local search** finds an optimal tour in {hits[0]} of {SEEDS * len(middle)} runs ({SEEDS} seeds) "
        f"on problems of up to 150 cities, in {hits[1]} of {SEEDS * len(rows)} on all.",
    )
    return [textwrap.fill(each, 118, subsequent_indent="  ") for each in findings]


def _cluster_findings(rows: list[Row]) -> str:
    """Return what the figures of problems with clusters say."""
    proven = [row for row in rows if row["status"] == "optimal"]
    of_program = [100 * row["root_bound"] / row["subtour_bound"] for row in rows]
    plain = [100 * row["plain_root_bound"] / row["subtour_bound"] for row in rows]
    text = (
        f"The hard case for the ascent: {len(proven)} of {len(rows)} tours are proven optimal, in at most "
        f"{max(row['seconds'] for row in rows):.1f} s each. The ascent's bound is at least "
        f"{floor(min(of_program))} % of the optimum of the linear program, after at most "
        f"{max(row['iterations'] for row in rows)} iterations; "
        f"without the preconditioner of clusters at least {min(plain):.1f} %, on average {np.mean(plain):.1f} %."
    )
    return textwrap.fill(text, 118)


def _cluster_table(rows: list[Row]) -> str:
    """Return the table of the problems with clusters."""
    header = ["problem", "length", "status", "bound", "of LP", "plain", "nodes", "cuts", "seconds"]
    lines = []
    for row in rows:
        shares = [f"{100 * row[key] / row['subtour_bound']:.3f}" for key in ("root_bound", "plain_root_bound")]
        status = "proven" if row["status"] == "optimal" else f"{100 * row['bound'] / row['length']:.2f} %"
        lines.append([row["problem"], row["length"], status, f"{row['root_bound']:.1f}", *shares, row["nodes"],
                      row["cuts"] or "–", f"{row['seconds']:.2f}"])  # fmt: skip
    return table(header, lines)


def _table(rows: list[Row]) -> str:
    """Return the table of all problems."""
    header = ["problem", "optimum", "bound", "of optimum", "of LP", "hits", "edges", "length", "status", "nodes",
              "cuts", "with cuts", "seconds", "1-trees only"]  # fmt: skip
    lines = []
    for row in rows:
        share = lambda value, row=row: f"{100 * value / row['optimum']:.2f}"  # noqa: E731
        alone = f"{row['plain_nodes']}, {row['plain_seconds']:.1f} s"
        if row["plain_status"] != "optimal":
            alone = f"{share(row['plain_bound'])} % after {row['plain_seconds']:.0f} s"
        status = "proven" if row["status"] == "optimal" else f"{share(row['bound'])} %"
        lines.append([
            row["problem"], row["optimum"], f"{row['root_bound']:.1f}", share(row["root_bound"]),
            f"{100 * row['root_bound'] / row['subtour_bound']:.3f}", f"{row['hits']}/{SEEDS}",
            f"{row['edges'] / row['cities']:.1f}" if row["edges"] else "–", row["length"], status, row["nodes"],
            row["cuts"] or "–", share(row["cut_bound"]) if row["cut_bound"] != "" else "–", f"{row['seconds']:.2f}",
            alone if row["nodes"] >= PLAIN_NODES else "same",
        ])  # fmt: skip
    return table(header, lines)
