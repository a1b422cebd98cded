"""The history of measurements: a CSV file with one figure per line, as a table and as a plot.

    python -m research.benchmarks.history [--measure words_per_second] [--plot history.png]

Times on different machines are not comparable and the file does not name the machine: keep one history per machine.
"""

from __future__ import annotations

import argparse
import csv
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numba

ROOT = Path(__file__).resolve().parents[2]
PATH = Path(__file__).with_name("history.csv")


class Figure(NamedTuple):
    """One measured figure.

    Attributes
    ----------
    date : str
        Start of the run, UTC; the same for all figures of a run.
    commit : str
        Commit of the source, followed by "+" if there were uncommitted changes.
    python, numba : str
        Versions.
    treebank, model : str
        Stem of the test file and of the model file, or "-".
    measure : str
        Dotted name, as in ``stage.decode.cpu``.
    value : float
    unit : str
    """

    date: str
    commit: str
    python: str
    numba: str
    treebank: str
    model: str
    measure: str
    value: float
    unit: str


def commit() -> str:
    """Return the commit, followed by "+" if there are uncommitted changes; "unknown" without git."""

    def git(*words):
        return subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()

    try:
        name = git("rev-parse", "--short=10", "HEAD")
        changed = git("status", "--porcelain", "--", "nonproj", "features", "research/benchmarks/*.py")
    except OSError:
        return "unknown"
    return name + ("+" if changed else "") if name else "unknown"


class Run:
    """The figures of one run.

    Examples
    --------
    >>> run = Run()
    >>> run.add("danish", "arc", "words_per_second", 20000.0, "words/s")
    >>> run.figures[0].measure
    'words_per_second'
    """

    def __init__(self):
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._stamp = (date, commit(), platform.python_version(), numba.__version__)
        self.figures: list[Figure] = []

    def add(self, treebank: str, model: str, measure: str, value: float, unit: str) -> None:
        """Add a figure."""
        self.figures.append(Figure(*self._stamp, treebank, model, measure, float(value), unit))


def append(path: Path, figures: Iterable[Figure]) -> None:
    """Append figures to a CSV file; create it if it is missing."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if new:
            writer.writerow(Figure._fields)
        writer.writerows([*figure[:7], f"{figure.value:.6g}", figure.unit] for figure in figures)


def load(path: Path) -> list[Figure]:
    """Read a CSV file of figures.

    Raises
    ------
    ValueError
        If the file is not a history.
    """
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    if not rows or tuple(rows[0]) != Figure._fields:
        raise ValueError(f"{path}: the first line is not {','.join(Figure._fields)}")
    figures = []
    for number, row in enumerate(rows[1:], 2):
        try:
            figures.append(Figure(*row[:7], float(row[7]), row[8]))
        except (ValueError, IndexError):
            raise ValueError(f"{path}:{number}: not a figure") from None
    return figures


def last_run(figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures of the latest run."""
    latest = max(figure.date for figure in figures)
    return [figure for figure in figures if figure.date == latest]


def series(figures: Iterable[Figure], measure: str) -> dict[str, list[Figure]]:
    """Return the figures of one measure by treebank and model, in order of date."""
    found: dict[str, list[Figure]] = {}
    for figure in sorted(figures, key=lambda figure: figure.date):
        if figure.measure == measure:
            found.setdefault(f"{figure.treebank} {figure.model}", []).append(figure)
    return found


def table(figures: Iterable[Figure], measure: str) -> str:
    """Return the history of one measure as plain text."""
    lines = [f"{'date':<22}{'commit':<14}{measure:>20}   treebank and model"]
    for name, line in series(figures, measure).items():
        lines += [f"{f.date:<22}{f.commit:<14}{f.value:>20.4g}   {name}, {f.unit}" for f in line]
    return "\n".join(lines) + "\n"


def plot(figures: Iterable[Figure], measure: str, target: Path) -> None:
    """Plot the history of one measure with a line for each treebank and model."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    unit = ""
    for name, line in series(figures, measure).items():
        dates = [datetime.fromisoformat(figure.date) for figure in line]
        axes.plot(dates, [figure.value for figure in line], marker="o", label=name)
        unit = line[-1].unit
    axes.set(title=measure, ylabel=unit)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    if unit:
        axes.legend(fontsize="small")
    drawing.autofmt_xdate()
    drawing.savefig(target, dpi=120)
    pyplot.close(drawing)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=PATH)
    parser.add_argument("--measure", default="words_per_second", help="measure to show; 'list' lists all")
    parser.add_argument("--plot", type=Path, metavar="PNG")
    options = parser.parse_args()
    if not options.file.exists():
        raise SystemExit(f"{options.file} does not exist; 'make bench' creates it")
    try:
        figures = load(options.file)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    measures = sorted({figure.measure for figure in figures})
    if options.measure == "list":
        sys.stdout.write("\n".join(measures) + "\n")
        return
    if options.measure not in measures:
        raise SystemExit(f"no measure '{options.measure}' in {options.file}; --measure list lists all")
    sys.stdout.write(table(figures, options.measure))
    if options.plot:
        plot(figures, options.measure, options.plot)


if __name__ == "__main__":
    main()
