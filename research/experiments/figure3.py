"""Koo et al. (2010), figure 3: share of head automata that lazy decoding recomputes at each iteration."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nonproj.dual.decoding import dual_trace
from research.experiments.layout import NAMES, figure, languages, percent, pick, table
from research.experiments.setting import SETS, ExperimentSettings, workload
from research.experiments.store import Row

TITLE = "Figure 3 of Koo et al. (2010): head automata recomputed at each iteration"
SIZES = ("sentences", "iterations")
SHOWN = (1, 2, 5, 10, 50, 100, 500, 1000, 5000)


def units(setting: ExperimentSettings) -> list[tuple[str, str]]:
    """Return language and set of part types of each unit."""
    return [(language, parts) for language in setting.among("english", "danish") for parts in SETS[1:]]


def run(setting: ExperimentSettings, language: str, parts: str) -> list[Row]:
    """Return the mean share of automata decoded at each iteration, over windows of iterations."""
    work = workload(setting, language, parts)
    total, running = np.zeros(setting.iterations), np.zeros(setting.iterations)
    for problem in work.problems:
        _, trace = dual_trace(problem.parts, problem.scores, work.paper)
        total[: len(trace.decoded)] += trace.decoded / (len(problem.sentence) + 1)
        running[: len(trace.decoded)] += 1
    rows = []
    # About 20 windows for each factor of ten, with the iterations of the table among their ends.
    grid = {int(k) for k in np.geomspace(1, setting.iterations, 75)}
    ends = sorted(grid | {k for k in SHOWN if k <= setting.iterations})
    for begin, end in zip([0, *ends], ends, strict=False):
        count = running[begin:end].sum()
        if count:
            share = float(total[begin:end].sum() / count)
            row = {"language": language, "parts": parts, "iteration": end, "running": int(running[end - 1])}
            rows.append(row | {"recomputed": share})
    return rows


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return a table of the curves at some iterations."""
    lines = []
    for language in languages(rows):
        for parts in SETS[1:]:
            by_iteration = {row["iteration"]: row for row in pick(rows, language=language, parts=parts)}
            cells = [by_iteration.get(k) for k in SHOWN[:6]]
            shown = [f"**{percent(row['recomputed'], 1)}** ({row['running']})" if row else "–" for row in cells]
            lines.append([f"{language.title()} {NAMES[parts]}", *shown])
    header = ["% recomputed (sentences running)", *(f"k = {k}" for k in SHOWN[:6])]
    axis = f"The paper: {papers['axis']}."
    return [axis, table(header, lines), "![Head automata recomputed](figure3.png)"]


def plot(rows: list[Row], folder: Path) -> None:
    """Draw the curves."""

    def draw(axes) -> None:
        for language in languages(rows):
            for parts in SETS[1:]:
                curve = pick(rows, language=language, parts=parts)
                x, y = [row["iteration"] for row in curve], [100 * row["recomputed"] for row in curve]
                axes[0].plot(x, y, label=f"{language.title()} {NAMES[parts]}")
        axes[0].set(xscale="log", xlabel="iteration", ylabel="% of head automata recomputed", ylim=(0, None))

    figure(folder / "figure3.png", 1, draw)
