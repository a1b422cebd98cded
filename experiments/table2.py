"""Koo et al. (2010), table 2: dual decomposition against linear programs, on sentences and on random scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.layout import NAMES, beside, languages, percent, pick, table
from experiments.measure import unlabelled
from experiments.setting import BETA, RANDOM, Setting, timed, workload
from experiments.store import Row
from nonproj.dual.decomposition import DualOptions, dual_decomposition
from nonproj.dual.subgradient import APPENDIX_A
from nonproj.parts.space import full_arc_space, part_index
from nonproj.programs.linear_program import LinearOptions, linear_program
from nonproj.types import MODELS, Decoded, PartScores

TITLE = "Table 2 of Koo et al. (2010): dual decomposition against linear programs"
SIZES = ("sentences", "iterations", "instances")
WORDS = 10
ILP_INSTANCES = 50
"""Random instances for the integer program, whose solutions are all integral."""

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


def units(setting: Setting) -> list[tuple[str, str, str]]:
    """Language (or random scores), model and method."""
    places = (*setting.among("english", "danish"), RANDOM)
    return [(place, model, method) for place in places for model in MODELS[1:] for method in METHODS]


def run(setting: Setting, language: str, model: str, method: str) -> list[Row]:
    """Solve every problem by one method."""
    if language == RANDOM:
        order = MODELS.index(model)
        count = setting.instances if method != "ILP" else min(setting.instances, ILP_INSTANCES)
        problems, options = random_problems(count, order), DualOptions()
    else:
        work = workload(setting, language, model)
        order, options = work.order, work.options
        problems = [problem.parts for problem in work.problems]
    solve = decoder(method, order, options, setting.iterations)
    solve(*problems[0])  # compile before timing
    decoded, spent = timed(lambda: [solve(*parts) for parts in problems])
    uas = ""
    if language != RANDOM:
        uas = unlabelled([*work.problems], [each.heads for each in decoded])
    row = {"language": language, "model": model, "method": method, "problems": len(problems), "uas": uas}
    row["integral"] = float(np.mean([each.agreed for each in decoded]))
    row["score"] = float(np.mean([each.score for each in decoded]))
    row["bound"] = float(np.mean([each.bound for each in decoded]))
    return [row | {"seconds": spent / len(problems)}]


def decoder(method: str, order: int, options: DualOptions, iterations: int) -> Callable[..., Decoded]:
    """Return a decoder of arcs, index and scores by its name in `METHODS`."""
    if method in LINEAR:
        linear = LINEAR[method]._replace(single_root=options.single_root)
        return lambda *parts: linear_program(*parts, order, linear)[0]
    limit = min(iterations, int(method.rpartition("-")[2]))
    if method.startswith("DD"):
        options = options._replace(rule=APPENDIX_A, beta=BETA)
    options = options._replace(max_iterations=limit)
    return lambda *parts: dual_decomposition(*parts, order, options)


def random_problems(count: int, order: int) -> list[tuple]:
    """Return problems of `WORDS` words with random scores, the same in every run."""
    arcs = full_arc_space(WORDS)
    index, rng = part_index(arcs, order), np.random.default_rng(2010)
    sizes = int(index.sibling_start[-1]), int(index.grandparent_start[-1])
    return [
        (arcs, index, PartScores(np.zeros(len(arcs.head)), *(rng.standard_normal(size) for size in sizes)))
        for _ in range(count)
    ]


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return a table for each model."""
    places = [place for place in languages(rows) if place != RANDOM]
    header = ["", *(f"{p.title()} {what}" for p in places for what in ("UAS", "integral", "time")), "random integral"]
    text = ["Each cell: the paper (WSJ section 22) / **ours**, shares in per cent, times as multiples of DD-5000's."]
    for model in MODELS[1:]:
        theirs = papers["rows"][model]
        reference = float(theirs["DD-5000"]["time"])
        lines = []
        for method in METHODS:
            cells, paper = [], theirs.get(method, {})
            for place in places:
                row = pick(rows, language=place, model=model, method=method)[0]
                base = pick(rows, language=place, model=model, method="DD-5000")[0]["seconds"]
                shown = paper if place == "english" else {}
                time = None if not shown else f"{float(shown['time']) / reference:.2g}"
                cells.append(beside(shown.get("uas"), percent(row["uas"])))
                cells.append(beside(shown.get("integral"), percent(row["integral"])))
                cells.append(beside(time, f"{row['seconds'] / base:.2g}"))
            drawn = pick(rows, language=RANDOM, model=model, method=method)[0]
            lines.append([method, *cells, beside(paper.get("random"), percent(drawn["integral"], 1))])
        sizes = [(place, pick(rows, language=place, model=model)[0]["problems"]) for place in (*places, RANDOM)]
        counts = ", ".join(f"{place.title()} {size}" for place, size in sizes)
        text += [f"{NAMES[model]} ({counts}):", table(header, lines)]
    return text
