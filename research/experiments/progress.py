"""Rush and Collins (2012), figures 8 and 9: the bound on one sentence over the iterations, by step size rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nonproj.automata.general import general_automata
from nonproj.dual.decoding import dual_decomposition
from nonproj.parts.space import tree_score
from nonproj_systems.parsing.oracles import AutomataOracle, TreeOracle
from nonproj_systems.relaxation.steps import AppendixA, Decaying, Polyak
from nonproj_systems.relaxation.subgradient import relax
from nonproj_systems.relaxation.trace import Trace
from research.experiments.layout import figure, pick, table
from research.experiments.setting import BETA, ExperimentSettings, Problem, workload
from research.experiments.store import Row

TITLE = "Figures 8 and 9 of Rush and Collins (2012): the bound over the iterations"
SIZES = ("sentences", "iterations")
LONGEST = 300
RULES = ("paper", "polyak", "constant 0.1", "constant 0.02", "constant 0.004", "decaying 0.1")
SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 300)


def units(setting: ExperimentSettings) -> list[tuple[str, str]]:
    """Return language and set of part types of each unit."""
    return [(setting.languages[0], "sibling")]


def run(setting: ExperimentSettings, language: str, parts: str) -> list[Row]:
    """Record the bounds of one sentence under each step size rule."""
    work = workload(setting, language, parts)
    own = work.paper._replace(max_iterations=min(LONGEST, setting.iterations))
    decoded = [dual_decomposition(problem.parts, problem.scores, own) for problem in work.problems]
    number = int(np.argmax([each.iterations if each.agreed else -1 for each in decoded]))
    problem, rows = work.problems[number], []
    gap = _trace(problem, own.single_root, BETA, AppendixA(), 1)
    gap = gap["dual"][0] - gap["primal"][0]
    for name in RULES:
        beta = work.options.beta if name == "polyak" else BETA
        trace = _trace(problem, own.single_root, beta, _rule(name, gap), own.max_iterations)
        dual, primal = np.minimum.accumulate(trace["dual"]), np.maximum.accumulate(trace["primal"])
        for k in range(len(dual)):
            row = {"language": language, "parts": parts, "sentence": number + 1, "words": len(problem.sentence)}
            row |= {"rule": name, "iteration": k + 1, "dual": trace["dual"][k], "primal": trace["primal"][k]}
            rows.append(row | {"best_dual": float(dual[k]), "best_primal": float(primal[k]), "step": trace["step"][k]})
    return rows


def _rule(name: str, gap: float):
    """Return a new step size rule by name; constant and decaying steps are multiples of the first gap."""
    if name == "paper":
        return AppendixA()
    if name == "polyak":
        return Polyak()
    kind, size = name.split()
    return Decaying(float(size) * gap, power=0.5 if kind == "decaying" else 0.0)


def _trace(problem: Problem, single_root: bool, beta: float, rule, limit: int) -> Trace:
    """Run the subgradient method with a step size rule; return its trace."""
    _, parts, scores = problem
    arcs, arc_scores = parts.arcs, scores[parts.range("arc")]
    return relax(
        TreeOracle(arcs, beta * arc_scores, single_root),
        AutomataOracle(arcs, general_automata(parts, scores), (1.0 - beta) * arc_scores),
        lambda tree: tree_score(parts, scores, tree),
        len(arcs.head),
        rule=rule,
        max_iterations=limit,
    ).trace


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return a table of the gap at some iterations, and the iteration at which it closes."""
    lines = []
    for rule in RULES:
        course = pick(rows, rule=rule)
        gaps = [row["best_dual"] - row["best_primal"] for row in course]
        closed = next((k for k, gap in enumerate(gaps, 1) if gap <= 1e-9 * (1 + abs(course[-1]["best_primal"]))), "–")
        cells = [f"{gaps[k - 1]:.3g}" if k <= len(gaps) else "" for k in SHOWN[::2]]
        lines.append([rule, *cells, closed])
    first = rows[0]
    return [
        f"Best dual minus best primal after k iterations; {str(first['language']).title()} test sentence "
        f"{first['sentence']}, {first['words']} words; the optimum is {max(row['best_primal'] for row in rows):.4g}.",
        table(["step sizes", *(f"k = {k}" for k in SHOWN[::2]), "closed at"], lines),
        "![Figure 8](figure8.png)",
        "![Figure 9](figure9.png)",
    ]


def plot(rows: list[Row], folder: Path) -> None:
    """Plot both figures."""

    def bounds(axes) -> None:
        for rule, line in (("paper", "-"), ("polyak", "--")):
            course = pick(rows, rule=rule)
            k = [row["iteration"] for row in course]
            axes[0].plot(k, [row["best_primal"] for row in course], line, color="C0", label=f"best primal, {rule}")
            axes[0].plot(k, [row["best_dual"] for row in course], line, color="C3", label=f"best dual, {rule}")
            gaps = [row["best_dual"] - row["best_primal"] for row in course]
            axes[1].plot(k, gaps, line, color="C2", label=f"gap, {rule}")
        axes[0].set(xlabel="iteration", ylabel="value")
        axes[1].set(xlabel="iteration", ylabel="gap")

    def steps(axes) -> None:
        for rule in RULES:
            course = pick(rows, rule=rule)
            k = [row["iteration"] for row in course]
            axes[0].plot(k, [row["dual"] for row in course], label=rule, linewidth=0.9)
            axes[1].plot(k[:-1], [row["step"] for row in course[:-1]], label=rule, linewidth=0.9)
        optimum = max(row["best_primal"] for row in rows)
        start = (rows[0]["dual"] - optimum) or 1.0
        axes[0].set(xlabel="iteration", ylabel="dual", ylim=(optimum - 0.05 * start, optimum + 1.5 * start))
        axes[1].set(xlabel="iteration", ylabel="step size", yscale="log")

    figure(folder / "figure8.png", 2, bounds)
    figure(folder / "figure9.png", 2, steps)
