"""Rush and Collins (2012), section 8: the alternatives to subgradient optimisation on the same problems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from nonproj.automata.general import general_automata
from nonproj.dual.decoding import dual_decomposition
from nonproj.parts.space import tree_score
from nonproj_systems.parsing.oracles import AutomataOracle, TreeOracle
from nonproj_systems.relaxation import problem as relaxed
from nonproj_systems.relaxation.admm import ADMM
from nonproj_systems.relaxation.bundle import Bundle
from nonproj_systems.relaxation.coordinate import CoordinateDescent
from nonproj_systems.relaxation.oracles import Chain
from nonproj_systems.relaxation.primal import Proposal, from_oracle
from nonproj_systems.relaxation.smoothing import AcceleratedGradient
from nonproj_systems.relaxation.solver import Limits, solve
from nonproj_systems.relaxation.steps import AppendixA, Constant, Decaying, Halving, PerIncrease, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient
from research.experiments.layout import figure, pick, table
from research.experiments.setting import RANDOM, ExperimentSettings, Problem, workload
from research.experiments.store import Row

TITLE = "Section 8 of Rush and Collins (2012): step sizes and alternatives to the subgradient method"
SIZES = ("sentences", "instances")
GRID, LABELS = 6, 3
"""Random grids of 6 by 6 words with 3 labels: each row and each column is a chain."""

MOST_SENTENCES, MOST_GRIDS, MOST_CALLS = 5, 5, 1000
CALLS = (20, 50, 100, 200, 500, 1000)
SECONDS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)

METHODS: dict[str, Callable] = {
    "constant": lambda size, _: Subgradient(Constant(0.3 * size)),
    "c / sqrt(k)": lambda size, _: Subgradient(Decaying(size)),
    "c / (t + 1)": lambda size, _: Subgradient(PerIncrease(size=size)),
    "halving": lambda size, _: Subgradient(Halving(size=size)),
    "appendix A": lambda size, _: Subgradient(AppendixA()),
    "Polyak": lambda size, _: Subgradient(Polyak()),
    "MPLP": lambda _, groups: CoordinateDescent(groups),
    "smoothing": lambda size, _: AcceleratedGradient(size),
    "ADMM": lambda size, _: ADMM(size),
    "bundle": lambda size, _: Bundle(size),
}
"""Each takes the size of a step and the groups of labels; the first six are step rules of the subgradient method."""

NOT_ON_SENTENCES = {"MPLP"}
"""Trees have max-marginals only by force, one call for each arc."""


def units(setting: ExperimentSettings) -> list[tuple[str, str]]:
    """Return language and set of part types of each unit."""
    return [(RANDOM, "grids"), (setting.languages[0], "sibling")]


def run(setting: ExperimentSettings, language: str, parts: str) -> list[Row]:
    """Record how much of the first gap each method leaves after some calls and some seconds."""
    if language == RANDOM:
        problems = [_grid(seed) for seed in range(min(setting.instances, MOST_GRIDS))]
        names, groups, size = list(METHODS), np.arange(GRID * GRID * LABELS).reshape(-1, LABELS), 1.0
    else:
        work = workload(setting, language, parts)
        decoded = [dual_decomposition(each.parts, each.scores, work.options) for each in work.problems]
        hardest = sorted(range(len(decoded)), key=lambda i: -decoded[i].iterations)[:MOST_SENTENCES]
        problems = [_sentence(work.problems[i], work.options.single_root) for i in sorted(hardest)]
        names, groups, size = [name for name in METHODS if name not in NOT_ON_SENTENCES], (), None
    rows = []
    for number, (problem, repair) in enumerate(problems, 1):
        rows += _compare(
            problem, repair, names, groups, size, {"language": language, "parts": parts, "problem": number}
        )
    return rows


def _compare(problem, repair, names, groups, size, head: Row) -> list[Row]:
    """Return the rows of one problem."""
    first = solve(problem, Subgradient(Constant(1.0)), repair=repair, limits=Limits(1)).trace
    # Scores of sentences are large: steps are shares of the first gap.
    size = size or 0.02 * max(first.dual[0] - first.primal[0], 1e-6)
    limits = Limits(10**6, tolerance=-1.0, max_calls=MOST_CALLS)
    traces = {name: solve(problem, METHODS[name](size, groups), repair=repair, limits=limits).trace for name in names}
    lowest = min(trace.best_dual[-1] for trace in traces.values())
    scale, rows = max(first.dual[0] - lowest, 1e-9), []
    for name, trace in traces.items():
        left = (trace.best_dual - lowest) / scale
        left = np.where(left < 1e-9, 0.0, left)
        for against, spent, budgets in (("calls", trace.calls, CALLS), ("seconds", trace.seconds, SECONDS)):
            for budget in budgets:
                k = int(np.searchsorted(spent, budget, side="right")) - 1
                row = head | {"method": name, "against": against, "budget": budget}
                rows.append(row | {"left": float(left[k]) if k >= 0 else 1.0})
    return rows


def _grid(seed: int):
    """Return the problem of a random grid: the chains of rows and columns share their labels."""
    rng, cells = np.random.default_rng(seed), np.arange(GRID * GRID).reshape(GRID, GRID)
    unary = rng.standard_normal((GRID * GRID, LABELS))
    chains = [*cells, *cells.T]
    oracles = [Chain(0.5 * unary[chain], 2 * rng.standard_normal((GRID - 1, LABELS, LABELS))) for chain in chains]
    views = [(chain[:, None] * LABELS + np.arange(LABELS)).ravel() for chain in chains]

    def repair(proposal: Proposal) -> tuple[float, object]:
        """Score the labels that the rows chose."""
        labels = np.array(proposal.solutions[:GRID])
        both = [*labels, *labels.T]
        value = float(unary[np.arange(GRID * GRID), labels.ravel()].sum())
        for chain, row in zip(oracles, both, strict=True):
            value += float(chain.pairwise[np.arange(GRID - 1), row[:-1], row[1:]].sum())
        return value, labels

    return relaxed.Problem(oracles, GRID * GRID * LABELS, views), repair


def _sentence(problem: Problem, single_root: bool):
    """Return the problem of a sentence: tree and head automata share the arcs."""
    _, parts, scores = problem
    arcs, half = parts.arcs, 0.5 * scores[parts.range("arc")]
    oracles = [TreeOracle(arcs, half, single_root), AutomataOracle(arcs, general_automata(parts, scores), half)]
    return relaxed.Problem(oracles, len(arcs.head)), from_oracle(lambda tree: tree_score(parts, scores, tree))


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return a table for each set of problems, by calls; the plot has those by seconds, too."""
    found = ["Share of the first gap (first dual value minus lowest bound) that is left, in per cent; means."]
    for language, parts in dict.fromkeys((row["language"], row["parts"]) for row in rows):
        mine = pick(rows, language=language, parts=parts)
        n = len({row["problem"] for row in mine})
        what = (
            f"{n} random grids"
            if language == RANDOM
            else f"the {n} hardest sentences of {language.title()}, sibling model"
        )
        lines = []
        for name in dict.fromkeys(row["method"] for row in mine):
            course = pick(mine, method=name, against="calls")
            lines.append([name, *(f"{100 * _mean(course, budget):.3g}" for budget in CALLS[1::2])])
        found.append(table([f"{what}; left after", *(f"{budget} calls" for budget in CALLS[1::2])], lines))
    return [*found, "![Methods](methods.png)"]


def _mean(rows: list[Row], budget: float) -> float:
    """Return the mean remaining share at a budget."""
    return float(np.mean([row["left"] for row in rows if row["budget"] == budget]))


def plot(rows: list[Row], folder: Path) -> None:
    """Plot the remaining gap against calls and seconds, on grids and on sentences."""

    def draw(axes) -> None:
        for each, (language, against) in zip(axes, _panels(rows), strict=True):
            for color, name in enumerate(METHODS):
                course = pick(rows, language=language, method=name, against=against)
                budgets = sorted({row["budget"] for row in course})
                if course:
                    each.plot(
                        budgets,
                        [max(_mean(course, b), 1e-6) for b in budgets],
                        label=name,
                        color=f"C{color}",
                        linewidth=0.9,
                    )
            each.set(xscale="log", yscale="log", xlabel=against, ylabel="share of the gap left")
            each.set_title("grids" if language == RANDOM else f"{language.title()} sentences", fontsize="medium")

    figure(folder / "methods.png", len(_panels(rows)), draw)


def _panels(rows: list[Row]) -> list[tuple]:
    """Return language and horizontal axis of each panel."""
    return [
        (each, against) for each in dict.fromkeys(row["language"] for row in rows) for against in ("calls", "seconds")
    ]
