"""Rush et al. (2010), table 1: number of iterations until the exact solution is found."""

from __future__ import annotations

import numpy as np

from experiments.layout import NAMES, table
from experiments.setting import Setting, workload
from experiments.store import Row
from nonproj.dual.decomposition import dual_decomposition
from nonproj.types import MODELS

TITLE = "Table 1 of Rush et al. (2010): sentences by number of iterations"
SIZES = ("sentences",)
LIMIT = 50
BINS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 10), (11, 20), (21, 50))


def units(setting: Setting) -> list[tuple[str, str]]:
    """Language and model."""
    return [(language, model) for language in setting.languages for model in MODELS[1:]]


def run(setting: Setting, language: str, model: str) -> list[Row]:
    """Return the share of sentences in each range of iterations."""
    work, rows = workload(setting, language, model), []
    for rule, options in (("paper", work.paper), ("polyak", work.options)):
        own = options._replace(max_iterations=LIMIT)
        decoded = [dual_decomposition(*problem.parts, work.order, own) for problem in work.problems]
        counts = np.array([each.iterations if each.agreed else LIMIT + 1 for each in decoded])
        for low, high in (*BINS, (LIMIT + 1, LIMIT + 1)):
            share = float(((counts >= low) & (counts <= high)).mean())
            row = {"language": language, "model": model, "rule": rule, "low": low, "high": high, "share": share}
            rows.append(row | {"sentences": len(counts)})
    return rows


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return one table."""
    lines = [[f"{name} (paper)", *map(str, shares)] for name, shares in papers["rows"].items()]
    by_line: dict[tuple, list] = {}
    for row in rows:
        key = (row["language"], row["model"], row["rule"])
        by_line.setdefault(key, []).append(f"{100 * row['share']:.1f}")
    for (language, model, rule), shares in by_line.items():
        lines.append([f"**{language.title()} {NAMES[model]}**, {rule}", *shares])
    return [table(["per cent of sentences", *papers["bins"]], lines)]
