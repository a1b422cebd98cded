"""Rush et al. (2010), table 1: number of iterations until the exact solution."""

from __future__ import annotations

import numpy as np

from nonproj.dual.decoding import dual_decomposition
from research.experiments.layout import NAMES, pick, shown, table
from research.experiments.setting import SETS, ExperimentSettings, workload
from research.experiments.store import Row

TITLE = "Table 1 of Rush et al. (2010): sentences by number of iterations"
SIZES = ("sentences",)
LIMIT = 50
BINS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 10), (11, 20), (21, 50))


def units(setting: ExperimentSettings) -> list[tuple[str, str]]:
    """Return language and set of part types of each unit."""
    return [(language, parts) for language in setting.languages for parts in SETS[1:]]


def run(setting: ExperimentSettings, language: str, parts: str) -> list[Row]:
    """Count the sentences in each range."""
    work, rows = workload(setting, language, parts), []
    for rule, options in (("paper", work.paper), ("polyak", work.options)):
        own = options._replace(max_iterations=LIMIT)
        decoded = [dual_decomposition(problem.parts, problem.scores, own) for problem in work.problems]
        counts = np.array([each.iterations if each.agreed else LIMIT + 1 for each in decoded])
        for low, high in (*BINS, (LIMIT + 1, LIMIT + 1)):
            share = float(((counts >= low) & (counts <= high)).mean())
            row = {"language": language, "parts": parts, "rule": rule, "low": low, "high": high, "share": share}
            rows.append(row | {"sentences": len(counts)})
    return rows


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return one table."""
    lines = [[f"{name} (paper)", *map(str, shares)] for name, shares in papers["rows"].items()]
    by_line: dict[tuple, list] = {}
    for row in pick(shown(rows), parts="grandparent"):
        key = (row["language"], row["parts"], row["rule"])
        by_line.setdefault(key, []).append(f"{100 * row['share']:.1f}")
    for (language, parts, rule), shares in by_line.items():
        lines.append([f"**{language.title()} {NAMES[parts]}**, {rule}", *shares])
    return [table(["% of sentences", *papers["bins"]], lines)]
