"""Pairwise Markov random fields: images, digits, and random fields, beside exact solvers.

Rush and Collins (2012), section 6.2.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from nonproj_systems.mrf.images import restore_binary, restore_grey, segment
from nonproj_systems.mrf.inference import METHODS, Inference, infer
from nonproj_systems.mrf.linear_program import solve_program
from nonproj_systems.mrf.model import MRF, grid
from research.experiments.layout import pick, seconds, table
from research.experiments.provenance import publish
from research.experiments.setting import timed
from research.experiments.store import Row, stored, write_rows

FLIPPED, NOISE = 0.2, 25.0
"""Share of flipped pixels of a binary image; standard deviation of the noise of a grey one."""

WEIGHTS = {"binary": (0.5, 0.7, 1.0, 1.4), "grey": (0.01, 0.02, 0.03, 0.045)}
"""Weights to choose from, on the flower; the photograph of China is the test."""

LEVELS = np.arange(8.0, 256.0, 16.0)
COLOURS = (4, 8)
PROGRAM_SECONDS, TREES_SECONDS, EXACT_SECONDS = 60.0, 20.0, 5.0


def main(results: Path, data: Path, short: bool) -> None:
    """Run all units that have no stored result; write ``mrf.md`` and ``mrf.csv`` after each."""
    units: dict[str, Callable[[], list[Row]]] = {
        "binary": lambda: run_restoring("binary", short),
        "grey": lambda: run_restoring("grey", short),
        "segmentation": lambda: run_segmentation(short),
        "digits": lambda: run_digits(3 if short else 50),
        "random": lambda: run_random(2 if short else 10),
    }
    rows: list[Row] = []
    # Compiling and imports are not measured.
    rng = np.random.default_rng(99)
    infer(grid(rng.normal(size=(10, 10, 3)), 1.5 * rng.normal(size=(180, 3, 3))), exact=True)
    for name, run in units.items():
        path = results / "runs" / "mrf" / f"{name}{'-short' if short else ''}.csv"
        rows += [{"unit": name, **row} for row in stored(path, run)]
        write_rows(results / "mrf.csv", rows)
        publish(results, "mrf", page(rows))


def photo(name: str, step: int) -> np.ndarray:
    """Return a sample image of scikit-learn, every ``step``-th pixel: float64[height, width, 3]."""
    from sklearn.datasets import load_sample_image

    return load_sample_image(f"{name}.jpg")[::step, ::step].astype(np.float64)


def task(kind: str, name: str, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the true and the noisy image."""
    true, rng = photo(name, step).mean(axis=2), np.random.default_rng(0)
    if kind == "grey":
        return true, true + rng.normal(scale=NOISE, size=true.shape)
    black = true > np.median(true)
    return black, black ^ (rng.random(true.shape) < FLIPPED)


def make(kind: str, noisy: np.ndarray, weight: float) -> MRF:
    """Return the field of a noisy image."""
    if kind == "grey":
        return restore_grey(noisy, LEVELS, NOISE, weight, 64.0)
    return restore_binary(noisy, FLIPPED, weight)


def error(kind: str, true: np.ndarray, found: np.ndarray) -> float:
    """Return the share of wrong pixels, or the root mean squared error of grey levels."""
    if kind == "grey":
        return float(np.sqrt(((found - true) ** 2).mean()))
    return float((found != true).mean())


def run_restoring(kind: str, short: bool) -> list[Row]:
    """Choose the weight on one photograph, restore the other by each method."""
    step = 8 if short else (1 if kind == "binary" else 2)

    def decoded(labels: np.ndarray, shape) -> np.ndarray:
        return (LEVELS[labels] if kind == "grey" else labels == 1).reshape(shape)

    true, noisy = task(kind, "flower", 8 if short else 4)
    errors = {w: error(kind, true, decoded(infer(make(kind, noisy, w)).labels, true.shape)) for w in WEIGHTS[kind]}
    weight = min(errors, key=errors.__getitem__)
    true, noisy = task(kind, "china", step)
    field = make(kind, noisy, weight)
    head: Row = {"nodes": field.n_nodes, "edges": field.n_edges, "states": int(field.n_states[0]), "weight": weight}
    head["error_before"] = error(kind, true, noisy)
    rows = []
    for method in METHODS:
        found = infer(field, method, seconds=TREES_SECONDS if method == "trees" else 100.0)
        rows.append(
            head | figures(method, found) | {"error_after": error(kind, true, decoded(found.labels, true.shape))}
        )
    if kind == "binary":
        (value, labels), spent = timed(minimum_cut, noisy, weight)
        rows.append(head | {"method": "PyMaxflow", "value": value, "bound": value, "status": "optimal"})
        rows[-1] |= {"seconds": spent, "error_after": error(kind, true, labels)}
    return rows


def figures(method: str, found: Inference) -> Row:
    """Return the figures of a run."""
    names = ("value", "bound", "status", "iterations", "searched", "seconds")
    return {"method": method} | {name: getattr(found, name) for name in names}


def minimum_cut(noisy: np.ndarray, weight: float) -> tuple[float, np.ndarray]:
    """Return the optimum of a binary image by PyMaxflow, and its pixels; NaN where it is not installed."""
    try:
        import maxflow
    except ImportError:
        return float("nan"), noisy
    cut = maxflow.Graph[float]()
    nodes = cut.add_grid_nodes(noisy.shape)
    cut.add_grid_edges(nodes, weight, symmetric=True)
    black, white = np.log(np.where(noisy, FLIPPED, 1 - FLIPPED)), np.log(np.where(noisy, 1 - FLIPPED, FLIPPED))
    cut.add_grid_tedges(nodes, -black, -white)
    n_edges = noisy.shape[0] * (noisy.shape[1] - 1) + noisy.shape[1] * (noisy.shape[0] - 1)
    value = weight * n_edges - cut.maxflow()
    return float(value), ~cut.get_grid_segments(nodes)


def run_segmentation(short: bool) -> list[Row]:
    """Cut both photographs into regions of the colours of k-means."""
    from sklearn.cluster import KMeans

    rows = []
    for name in ("china", "flower"):
        image = photo(name, 10 if short else 3)
        for k in COLOURS:
            means = KMeans(k, n_init=1, random_state=0).fit(image.reshape(-1, 3)).cluster_centers_
            field = segment(image, means, 30.0, 2.0)
            head: Row = {"image": name, "nodes": field.n_nodes, "edges": field.n_edges, "states": k}
            for method, limit in (("trws", 100.0), ("trees", TREES_SECONDS)):
                rows.append(head | figures(method, infer(field, method, seconds=limit)))
    return rows


def judges(field: MRF) -> Row:
    """Return value, bound and seconds of both programs by HiGHS."""
    row: Row = {}
    (_, relaxed, _, labels), spent = timed(solve_program, field, False, PROGRAM_SECONDS)
    row |= {"lp_bound": relaxed, "lp_integral": int(labels is not None), "lp_seconds": spent}
    (status, value, bound, _), spent = timed(solve_program, field, True, PROGRAM_SECONDS)
    row |= {"ip_status": status, "ip_value": value, "ip_bound": bound, "ip_seconds": spent}
    return row


def run_digits(count: int) -> list[Row]:
    """Restore handwritten digits of 8 by 8 pixels and 5 grey levels."""
    from sklearn.datasets import load_digits

    rows, rng = [], np.random.default_rng(0)
    for number, digit in enumerate(load_digits().images[:count]):
        noisy = digit + rng.normal(scale=4.0, size=digit.shape)
        field = restore_grey(noisy, np.arange(0.0, 17.0, 4.0), 4.0, 0.2, 8.0)
        rows.append({"instance": number} | compare(field))
    return rows


def run_random(count: int) -> list[Row]:
    """Solve random grids and random graphs whose edges want both equal and different states."""
    rows = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        ends = [(i, j) for i in range(16) for j in range(i) if rng.random() < 0.6]
        fields = {
            "grid 10 x 10, 3 states": grid(rng.normal(size=(10, 10, 3)), 1.5 * rng.normal(size=(180, 3, 3))),
            "spin glass 10 x 10": grid(0.3 * rng.normal(size=(10, 10, 2)), np.eye(2), 2.0 * rng.normal(size=180)),
            "graph of 16 nodes, 3 states": MRF(rng.normal(size=(16, 3)), ends, rng.normal(size=(len(ends), 3, 3))),
        }
        rows += [{"kind": kind, "instance": seed} | compare(field) for kind, field in fields.items()]
    return rows


def compare(field: MRF) -> Row:
    """Return the figures of message passing and of the exact method, beside those of the judges."""
    row: Row = {"nodes": field.n_nodes, "edges": field.n_edges}
    for name, exact in (("trws", False), ("exact", True)):
        found = infer(field, exact=exact, seconds=EXACT_SECONDS)
        row |= {f"{name}_{what}": value for what, value in figures(name, found).items() if what != "method"}
    return row | judges(field)


# -- the page ----------------------------------------------------------------------------------------------------------

HEAD = """# Markov random fields

Rush and Collins (2012), section 6.2, describe the method and give no figures. [The system's page](../docs/mrf.md)
describes the default method, `trws`, and the tutorial's, `trees`. Seconds are those of one processor. A field counts as
*proven* if the gap and the rounding error of the bound are at most 1e-9 of its value."""

RESTORED = """## Noisy photographs

The photographs that scikit-learn carries. *Binary*: black and white at the median, a fifth of the pixels flipped, 427
by 640; the error is the share of wrong pixels, in per cent. *Grey*: every second pixel, Gaussian noise of deviation 25,
16 levels; the error is the root of the mean squared difference. Weights were chosen on the flower, the errors are those
of the photograph of China. `trees` had {limit:g} seconds. A minimum cut (PyMaxflow) is exact for two states and
specialised in them."""

SEGMENTED = """## Segmentation

Both photographs, every third pixel, into regions of the 4 or 8 colours of k-means; borders follow contrast."""

SMALL = """## Digits and random fields, beside exact solvers

Fifty handwritten digits (8 by 8 pixels, noise of deviation 4, 5 levels), and random fields whose edges want equal or
different states, which have gaps; branch and bound (*exact*) had {exact:g} seconds. The linear program is that of the
local polytope. Every proven value was compared with the integer program's: {agree}."""


def page(rows: list[Row]) -> list[str]:
    """Return the parts of the page."""
    found = [HEAD, RESTORED.format(limit=TREES_SECONDS), restoring_table(rows), SEGMENTED, segmentation_table(rows)]
    return [*found, SMALL.format(agree=agreement(rows), exact=EXACT_SECONDS), *small_tables(rows)]


def gap(row: Row) -> str:
    """Return the gap between bound and value, or that there is none."""
    return "proven" if row["status"] == "optimal" else f"{row['bound'] - row['value']:.2g}"


def restoring_table(rows: list[Row]) -> str:
    """Return a line for each task and method."""
    lines = []
    for row in pick(rows, unit="binary") + pick(rows, unit="grey"):
        scale = 100 if row["unit"] == "binary" else 1
        errors = f"{scale * row['error_before']:.2f} → {scale * row['error_after']:.2f}"
        lines.append([f"{row['unit']}, {row['method']}", row["nodes"], errors])
        lines[-1] += [f"{row['value']:.7g}", gap(row), row["iterations"] or "–", seconds(row["seconds"])]
    head = ["task and method", "nodes", "error", "value", "gap", "iterations", "seconds"]
    return table(head, lines)


def segmentation_table(rows: list[Row]) -> str:
    """Return a line for each photograph, number of colours and method."""
    lines = []
    for row in pick(rows, unit="segmentation"):
        lines.append([f"{row['image']}, {row['states']} colours, {row['method']}", f"{row['value']:.7g}"])
        lines[-1] += [gap(row), row["iterations"], seconds(row["seconds"])]
    return table(["photograph and method", "value", "gap", "iterations", "seconds"], lines)


def _small(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows of digits and random fields by kind."""
    found = {"digits": pick(rows, unit="digits")}
    for row in pick(rows, unit="random"):
        found.setdefault(str(row["kind"]), []).append(row)
    return found


def small_tables(rows: list[Row]) -> list[str]:
    """Return the proven shares and bounds, and the seconds."""
    shares, times = [], []
    for kind, mine in _small(rows).items():
        n = len(mine)
        if n == 0:
            continue

        def mean(name: str, mine=mine) -> float:
            return float(np.mean([row[name] for row in mine]))

        optimum = mean("ip_value")
        bounds = [mean(f"{name}_bound") for name in ("lp", "trws", "exact")]
        gaps = [f"{100 * max(bound - optimum, 0.0) / abs(optimum):.3f}" for bound in bounds]
        proven = [sum(row[f"{name}_status"] == "optimal" for row in mine) for name in ("trws", "exact")]
        lp = sum(row["lp_integral"] for row in mine)
        shares.append([kind, n, *gaps, lp, *proven, f"{mean('exact_searched'):.1f}"])
        names = ("trws", "exact", "lp", "ip")
        times.append([kind, *(seconds(mean(f"{name}_seconds")) for name in names)])
    head = ["fields", "number", "gap of the LP, %", "of TRW-S, %", "exact, %", "LP integral", "proven by TRW-S"]
    head += ["by exact", "nodes"]
    seconds_head = ["mean seconds", "TRW-S", "exact", "LP, HiGHS", "integer program, HiGHS"]
    return [table(head, shares), table(seconds_head, times)]


def agreement(rows: list[Row]) -> str:
    """Return how many proven values equal those of the integer program."""
    checked = wrong = 0
    for row in pick(rows, unit="digits") + pick(rows, unit="random"):
        for name in ("trws", "exact"):
            if row[f"{name}_status"] == "optimal":
                checked += 1
                wrong += row["ip_status"] != "optimal" or abs(row[f"{name}_value"] - row["ip_value"]) > 1e-3
    return f"{checked - wrong} of {checked} agree"
