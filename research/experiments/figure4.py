"""Koo et al. (2010), figure 4: accuracy, certificates and agreement with K = 5000 as K grows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nonproj.dual.decoding import dual_decomposition
from research.experiments.layout import NAMES, beside, figure, languages, percent, pick, shown, table
from research.experiments.measure import summary
from research.experiments.setting import SETS, ExperimentSettings, timed, workload
from research.experiments.store import Row

TITLE = "Figure 4 of Koo et al. (2010): early stopping"
SIZES = ("sentences", "iterations")
LIMITS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500)
RULES = ("paper", "polyak")


def units(setting: ExperimentSettings) -> list[tuple[str, str]]:
    """Return language and set of part types of each unit."""
    return [(language, parts) for language in setting.among("english", "danish") for parts in SETS[1:]]


def run(setting: ExperimentSettings, language: str, parts: str) -> list[Row]:
    """Decode with each limit K and compare with the highest."""
    work, rows = workload(setting, language, parts), []
    limits = [*(k for k in LIMITS if k < setting.iterations), setting.iterations]
    for rule, options in zip(RULES, (work.paper, work.options), strict=True):
        outcomes = {}
        for k in limits:
            own = options._replace(max_iterations=k)
            outcomes[k] = timed(lambda o=own: [dual_decomposition(p.parts, p.scores, o) for p in work.problems])
        best = [each.heads for each in outcomes[limits[-1]][0]]
        for k, (decoded, spent) in outcomes.items():
            same = [np.array_equal(each.heads, heads) for each, heads in zip(decoded, best, strict=True)]
            row = {"language": language, "parts": parts, "rule": rule, "K": k, "match": float(np.mean(same))}
            rows.append(row | summary(work.problems, decoded, spent))
    return rows


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return a table for each language of the sibling model, as in the paper; the plot has both."""
    text = []
    for language in languages(shown(rows)):
        for parts in SETS[1:2]:
            lines = []
            for k in sorted({row["K"] for row in rows} - {2, 5, 25, 100, 500, 1000, 2500}):
                paper, polyak = (pick(rows, language=language, parts=parts, rule=rule, K=k)[0] for rule in RULES)
                theirs = papers["rows"].get(k, {}) if parts == "sibling" and language == "english" else {}
                cells = [beside(theirs.get(name), percent(paper[name])) for name in ("uas", "agreed", "match")]
                lines.append([k, *cells, *(percent(polyak[name]) for name in ("uas", "agreed", "match"))])
            header = ["K", "UAS", "certificates", "match", "Polyak: UAS", "certificates", "match"]
            text += [f"{language.title()}, {NAMES[parts]}; the paper / **ours**:", table(header, lines)]
    return [*text, "![Early stopping](figure4.png)"]


def plot(rows: list[Row], folder: Path) -> None:
    """Plot the three curves of the paper for each set of part types, in the first language."""

    def draw(axes) -> None:
        for each, parts in zip(axes, SETS[1:], strict=True):
            for rule, line in zip(RULES, ("-", "--"), strict=True):
                curve = pick(rows, language=languages(rows)[0], parts=parts, rule=rule)
                for name, colour in (("uas", "C0"), ("agreed", "C1"), ("match", "C2")):
                    label = {"uas": "% UAS", "agreed": "% certificates", "match": "% match"}[name]
                    values = [100 * row[name] for row in curve]
                    each.plot([row["K"] for row in curve], values, line, color=colour, label=f"{label}, {rule}")
            each.set(xscale="log", xlabel="maximum number of iterations K", ylabel="per cent")
            each.set_title(f"{languages(rows)[0].title()} {NAMES[parts]}", fontsize="medium")

    figure(folder / "figure4.png", 2, draw)
