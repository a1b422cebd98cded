"""Koo et al. (2010), table 3: projective against non-projective decoding."""

from __future__ import annotations

from nonproj.dual.decoding import dual_decomposition
from nonproj.trees.crossing import nonprojective
from research.experiments.layout import languages, percent, pick, table
from research.experiments.measure import summary
from research.experiments.setting import SETS, ExperimentSettings, timed, workload
from research.experiments.store import Row

TITLE = "Table 3 of Koo et al. (2010): projective and non-projective decoding"
SIZES = ("sentences", "iterations")


def units(setting: ExperimentSettings) -> list[tuple[str, str]]:
    """Return language and set of part types of each unit."""
    return [(language, parts) for language in setting.languages for parts in SETS[1:]]


def run(setting: ExperimentSettings, language: str, parts: str) -> list[Row]:
    """Decode twice over the same arcs, which contain trees of both kinds."""
    work = workload(setting, language, parts, projective=True)
    gold = [nonprojective(problem.sentence.heads) for problem in work.problems]
    crossing = sum(int(flags.sum()) for flags in gold) / sum(map(len, gold))
    rows = []
    for projective in (False, True):
        options = work.paper._replace(projective=projective)
        decoded, spent = timed(lambda o=options: [dual_decomposition(p.parts, p.scores, o) for p in work.problems])
        row = {"language": language, "parts": parts, "projective": int(projective), "crossing": crossing}
        rows.append(row | summary(work.problems, decoded, spent))
    return rows


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return one table."""
    lines = [[f"{name} (paper)", *row.values(), "–"] for name, row in papers["rows"].items()]
    for language in languages(rows):
        cells = []
        for parts in SETS[1:]:
            cells += [percent(pick(rows, language=language, parts=parts, projective=p)[0]["uas"]) for p in (0, 1)]
        lines.append([f"**{language.title()}**", *cells, percent(pick(rows, language=language)[0]["crossing"])])
    return [table(["UAS", "Sib", "P-Sib", "G+S", "P-G+S", "crossing arcs"], lines)]
