"""Koo et al. (2010), table 2: dual decomposition against linear programs, on sentences and on random scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nonproj.dual.decoding import dual_decomposition
from nonproj.dual.options import APPENDIX_A, DualOptions
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import part_space
from nonproj.types import Decoded, PartSpace
from nonproj_systems.programs.linear_program import LinearOptions, linear_program
from research.experiments.layout import NAMES, beside, languages, percent, pick, table
from research.experiments.measure import unlabelled
from research.experiments.setting import BETA, RANDOM, SETS, ExperimentSettings, timed, workload
from research.experiments.store import Row

TITLE = "Table 2 of Koo et al. (2010): dual decomposition against linear programs"
SIZES = ("sentences", "iterations", "instances")
WORDS = 10
ENOUGH = 50
"""Number of random instances for the integer program, whose solutions are all integral."""

LINEAR = {
    "LP(S)": LinearOptions("single"),
    "LP(M)": LinearOptions("multi"),
    "LP(S) pairs": LinearOptions("single", "pairs", ("ArcGP", "GPArc")),
    "LP(M) pairs": LinearOptions("multi", "pairs", ("ArcGP", "GPArc")),
    "compact": LinearOptions("compact"),
    "ILP": LinearOptions("single", integer=True, seconds=300.0),
}
DUAL = ("DD-5000", "DD-250", "Polyak-250")
METHODS = (*LINEAR, *DUAL)


def units(setting: ExperimentSettings) -> list[tuple[str, str, str]]:
    """Return language (or random scores), set of part types and method of each unit."""
    places = (*setting.among("english", "danish"), RANDOM)
    return [(place, parts, method) for place in places for parts in SETS[1:] for method in METHODS]


def run(setting: ExperimentSettings, language: str, parts: str, method: str) -> list[Row]:
    """Solve every problem with one method."""
    if language == RANDOM:
        count = setting.instances if method != "ILP" else min(setting.instances, ENOUGH)
        problems, options = random_problems(count, parts), DualOptions()
    else:
        work = workload(setting, language, parts)
        options, problems = work.options, [(problem.parts, problem.scores) for problem in work.problems]
    solve = decoder(method, options, setting.iterations)
    solve(*problems[0])  # compile before timing
    decoded, spent = timed(lambda: [solve(*problem) for problem in problems])
    uas = ""
    if language != RANDOM:
        uas = unlabelled([*work.problems], [each.heads for each in decoded])
    row = {"language": language, "parts": parts, "method": method, "problems": len(problems), "uas": uas}
    row["integral"] = float(np.mean([each.agreed for each in decoded]))
    row["score"] = float(np.mean([each.score for each in decoded]))
    row["bound"] = float(np.mean([each.bound for each in decoded]))
    return [row | {"seconds": spent / len(problems)}]


def decoder(method: str, options: DualOptions, iterations: int) -> Callable[[PartSpace, np.ndarray], Decoded]:
    """Return a function of parts and scores that solves the problem by a method of `METHODS`."""
    if method in LINEAR:
        linear = LINEAR[method]._replace(single_root=options.single_root)
        return lambda parts, scores: linear_program(parts, scores, linear)[0]
    limit = min(iterations, int(method.rpartition("-")[2]))
    if method.startswith("DD"):
        options = options._replace(rule=APPENDIX_A, beta=BETA)
    options = options._replace(max_iterations=limit)
    return lambda parts, scores: dual_decomposition(parts, scores, options)


def random_problems(count: int, names: str) -> list[tuple[PartSpace, np.ndarray]]:
    """Draw problems of `WORDS` words over all arcs, the same ones every time; arcs themselves score 0."""
    parts, rng = part_space(full_arc_space(WORDS), names), np.random.default_rng(2010)
    zeros = np.zeros(len(parts.arcs.head))
    return [(parts, np.concatenate([zeros, rng.standard_normal(len(parts) - len(zeros))])) for _ in range(count)]


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return a table for each set of part types."""
    places = [place for place in languages(rows) if place != RANDOM]
    header = ["", *(f"{p.title()} {what}" for p in places for what in ("UAS", "integral", "time")), "random integral"]
    text = ["Each cell: the paper (WSJ section 22) / **ours**, shares in per cent, times as multiples of DD-5000's."]
    for parts in SETS[1:]:
        theirs = papers["rows"][parts]
        reference = float(theirs["DD-5000"]["time"])
        lines = []
        for method in (each for each in METHODS if not each.endswith("pairs")):
            cells, paper = [], theirs.get(method, {})
            for place in places:
                row = pick(rows, language=place, parts=parts, method=method)[0]
                base = pick(rows, language=place, parts=parts, method="DD-5000")[0]["seconds"]
                shown = paper if place == "english" else {}
                time = None if not shown else f"{float(shown['time']) / reference:.2g}"
                cells.append(beside(shown.get("uas"), percent(row["uas"])))
                cells.append(beside(shown.get("integral"), percent(row["integral"])))
                cells.append(beside(time, f"{row['seconds'] / base:.2g}"))
            drawn = pick(rows, language=RANDOM, parts=parts, method=method)[0]
            lines.append([method, *cells, beside(paper.get("random"), percent(drawn["integral"], 1))])
        sizes = [(place, pick(rows, language=place, parts=parts)[0]["problems"]) for place in (*places, RANDOM)]
        counts = ", ".join(f"{place.title()} {size}" for place, size in sizes)
        text += [f"{NAMES[parts]} ({counts}):", table(header, lines)]
    return text
