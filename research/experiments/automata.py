"""Koo et al. (2010), section 7.6: accuracy of the automata's choice z* alone, and over the iterations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nonproj.automata.general import general_automata
from nonproj.automata.relaxed import decode_relaxed
from nonproj.parts.space import tree_score
from nonproj_systems.parsing.oracles import AutomataOracle, TreeOracle
from nonproj_systems.relaxation.steps import AppendixA
from nonproj_systems.relaxation.subgradient import relax
from research.experiments.layout import NAMES, beside, figure, languages, percent, pick, shown, table
from research.experiments.measure import counted, words
from research.experiments.setting import BETA, SETS, ExperimentSettings, Problem, workload
from research.experiments.store import Row

TITLE = "Section 7.6 of Koo et al. (2010): how good is z* alone?"
SIZES = ("sentences",)
SHOWN = (1, 2, 3, 5, 10, 20, 50, 100, 200)


def units(setting: ExperimentSettings) -> list[tuple[str, str]]:
    """Return language and set of part types of each unit."""
    return [(language, parts) for language in setting.languages for parts in SETS[1:]]


def run(setting: ExperimentSettings, language: str, parts: str) -> list[Row]:
    """Compare the arcs that the automata choose with the gold tree."""
    work = workload(setting, language, parts)
    head = {"language": language, "parts": parts}
    total = sum(words(problem) for problem in work.problems)
    chosen = [decode_relaxed(p.parts, p.scores, work.options.tau) for p in work.problems]
    rows = [head | _shares("z", 0, work.problems, [each.z for each in chosen], total)]
    if parts != "sibling":
        z_grandparent = [each.z_grandparent for each in chosen]
        return [*rows, head | _shares("z grandparent", 0, work.problems, z_grandparent, total)]
    recorded = [_follow(problem, work.options.single_root) for problem in work.problems]
    for i, k in enumerate(SHOWN):
        for what, side in (("z", 0), ("y", 1)):
            rows.append(head | _shares(what, k, work.problems, [each[side][i] for each in recorded], total))
    return rows


def _shares(what: str, k: int, problems: list[Problem], chosen: list[np.ndarray], total: int) -> Row:
    """Return precision and recall of the chosen arcs; ``chosen`` has an array of 0 and 1 for each sentence."""
    picked = right = 0
    for problem, arcs in zip(problems, chosen, strict=True):
        mine = (arcs > 0) & counted(problem)
        picked += int(mine.sum())
        right += int((problem.sentence.tree[problem.arcs.modifier] == problem.arcs.head)[mine].sum())
    return {"what": what, "iteration": k, "precision": right / max(picked, 1), "recall": right / total}


class _Recorder:
    """An oracle that records which arcs it chooses at each call."""

    def __init__(self, oracle):
        self.oracle, self.calls = oracle, []

    def __call__(self, scores: np.ndarray):
        answer = self.oracle(scores)
        self.calls.append(answer[1].astype(np.int8))
        return answer


def _follow(problem: Problem, single_root: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Run figure 1 of the paper; return the arcs of the automata and of the tree at the iterations `SHOWN`."""
    _, parts, scores = problem
    arcs, arc_scores = parts.arcs, scores[parts.range("arc")]
    trees = _Recorder(TreeOracle(arcs, BETA * arc_scores, single_root))
    automata = general_automata(parts, scores)
    heads = _Recorder(AutomataOracle(arcs, automata, (1.0 - BETA) * arc_scores))
    relax(
        trees,
        heads,
        lambda tree: tree_score(parts, scores, tree),
        len(arcs.head),
        rule=AppendixA(),
        max_iterations=SHOWN[-1],
    )
    at = [min(k, len(heads.calls)) - 1 for k in SHOWN]
    return [heads.calls[k] for k in at], [trees.calls[k] for k in at]


def page(rows: list[Row], papers: dict) -> list[str]:
    """Return the comparison with the paper, and the automata over the iterations."""
    lines = []
    for row in pick(shown(rows), iteration=0):
        arcs = "z*↑" if row["what"] == "z grandparent" else "z*"
        name = f"{str(row['language']).title()} {NAMES[row['parts']]}, {arcs}"
        theirs = papers if row["language"] == "english" and row["parts"] == "sibling" else {}
        lines.append([name, *(beside(theirs.get(side), percent(row[side])) for side in ("precision", "recall"))])
    courses = []
    for language in languages(shown(rows)):
        for what in ("z", "y"):
            course = {row["iteration"]: row for row in pick(rows, language=language, parts="sibling", what=what)}
            cells = [f"{percent(course[k]['precision'], 1)} / {percent(course[k]['recall'], 1)}" for k in SHOWN[::2]]
            courses.append([f"{language.title()}, {what}(k)", *cells])
    return [
        "The paper (PTB validation) / **ours**:",
        table(["arcs", "precision", "recall"], lines),
        "Precision / recall, sibling model:",
        table(["", *(f"k = {k}" for k in SHOWN[::2])], courses),
        "![Automata and trees](automata.png)",
    ]


def plot(rows: list[Row], folder: Path) -> None:
    """Plot precision and recall of automata and trees over the iterations."""

    def draw(axes) -> None:
        shared = [100 * row[side] for row in rows if row["parts"] == "sibling" for side in ("precision", "recall")]
        for each, (what, side) in zip(axes, (("z", "precision"), ("z", "recall"), ("y", "recall")), strict=True):
            for language in languages(rows):
                course = [row for row in pick(rows, language=language, parts="sibling", what=what) if row["iteration"]]
                x, y = [row["iteration"] for row in course], [100 * row[side] for row in course]
                each.plot(x, y, label=language.title())
            each.set(xscale="log", xlabel="iteration", ylabel="per cent", ylim=(min(shared) - 1, max(shared) + 1))
            each.set_title({"z": f"{side} of the automata", "y": "accuracy of the trees"}[what], fontsize="medium")

    figure(folder / "automata.png", 3, draw)
