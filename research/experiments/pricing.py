"""Riedel, Smith and McCallum (2012), tables 1 and 2: price and cut against brute force, and looser polytopes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nonproj.evaluation.scores import Evaluation
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.grandparent import Grandparent
from nonproj.pipeline.stages import number, prune, score
from nonproj.trees.arborescence import maximum_arborescence_sparse
from nonproj.types import PartSpace, Sentence
from nonproj_systems.programs.linear_program import add_tree
from nonproj_systems.programs.part_rows import FAMILIES, grandparent_rows, upper_bounds
from nonproj_systems.programs.price_and_cut import PricingParser
from nonproj_systems.programs.solver import Program
from research.experiments.layout import languages, percent, pick, seconds, table
from research.experiments.setting import GRANDPARENTS, ExperimentSettings, model_file, timed, treebank
from research.experiments.store import Row

TITLE = "Tables 1 and 2 of Riedel et al. (2012): price and cut, and tighter polytopes"
SIZES = ("sentences", "program_sentences", "program_words")

METHODS = ("brute force", "price and cut")
POLYTOPES = {
    "ArcGP + GPArc": (("ArcGP", "GPArc"), False),
    "OneGP + NoGP": (("OneGP", "NoGP"), False),
    "all": (FAMILIES, True),
    "all, not implied": (FAMILIES, False),
}
"""Families of constraints, and whether to keep rows that other rows imply."""


def units(setting: ExperimentSettings) -> list[tuple[str, str, str]]:
    """Return language, set of part types and table of each unit."""
    languages = setting.among("danish", "dutch")
    return [(each, GRANDPARENTS, name) for each in languages for name in ("price and cut", "families")]


def run(setting: ExperimentSettings, language: str, parts: str, part: str) -> list[Row]:
    """Solve each sentence by both methods, or over each polytope."""
    parser = PricingParser(Model.load(model_file(setting, language, parts)))
    path = treebank(setting, language)[1]
    sentences = list(conll.read(path, require_heads=True))[: setting.sentences or None]
    head = {"language": language, "parts": parts, "part": part}
    if part == "price and cut":
        return [head | row for row in _price(parser, sentences)]
    short = [sentence for sentence in sentences if len(sentence) <= setting.program_words]
    return [head | row for row in _families(parser, _spread(short, setting.program_sentences))]


def _spread(items: Sequence[Sentence], count: int) -> list[Sentence]:
    """Return ``count`` items at equal distances, or all if there are fewer."""
    return [items[i] for i in np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(int))]


def _price(parser: PricingParser, sentences: Sequence[Sentence]) -> Iterable[Row]:
    """Parse each sentence by both methods; times include encoding and scoring."""
    parser.parse(sentences[0]), parser.brute_force(sentences[0])  # compile before timing
    brute = [timed(parser.brute_force, sentence) for sentence in sentences]
    priced = [timed(parser.parse, sentence) for sentence in sentences]
    exact = np.array([decoded.bound for (decoded, _), _ in brute])
    for method, runs in zip(METHODS, (brute, priced), strict=True):
        decoded, counts = [each[0][0] for each in runs], [each[0][1] for each in runs]
        parts = sum(each.grandparents for each in counts)
        yield {
            "method": method,
            "sentences": len(runs),
            "seconds": sum(spent for _, spent in runs) / len(runs),
            "scored": sum(each.scored for each in counts) / max(parts, 1),
            "added": sum(each.added for each in counts) / max(parts, 1),
            "scored_mean": float(np.mean([each.scored / each.grandparents for each in counts if each.grandparents])),
            "objective": sum(each.bound for each in decoded) / float(exact.sum()),
            "same": float(np.mean([np.isclose(e.bound, b, 1e-6, 1e-6) for e, b in zip(decoded, exact, strict=True)])),
            "integer": float(np.mean([each.agreed for each in decoded])),
            "uas": _accuracy(sentences, [each.heads for each in decoded]),
        }


def _accuracy(sentences: Sequence[Sentence], trees: Sequence[np.ndarray]) -> float:
    """Return UAS."""
    evaluation = Evaluation()
    for sentence, heads in zip(sentences, trees, strict=True):
        evaluation.add(sentence, heads)
    return evaluation.uas


def _families(parser: PricingParser, sentences: Sequence[Sentence]) -> Iterable[Row]:
    """Solve the complete program with each choice of families; times exclude scoring."""
    problems = []
    for sentence in sentences:
        arcs = full_arc_space(len(sentence))
        batch = parser.parser.with_request(tags="none").run([sentence], until=prune)
        batch = score(number(batch._replace(arcs=[arcs])))
        problems.append((batch.spaces[0], batch.scores[0]))
    for name, (families, implied) in POLYTOPES.items():
        single_root = parser.options.single_root
        solved = [timed(_solve, *problem, families, implied, single_root) for problem in problems]
        yield {
            "method": name,
            "sentences": len(sentences),
            "seconds": sum(spent for _, spent in solved) / len(solved),
            "bound": float(np.mean([bound for (_, _, bound), _ in solved])),
            "integer": float(np.mean([integral for (_, integral, _), _ in solved])),
            "uas": _accuracy(sentences, [heads[1:] for (heads, _, _), _ in solved]),
        }


def _solve(
    parts: PartSpace, scores: np.ndarray, families, implied: bool, single_root: bool
) -> tuple[np.ndarray, bool, float]:
    """Solve a program of arcs and grandparents with a single-commodity flow.

    Returns
    -------
    tree : ndarray of shape (N,), int32
    integral : bool
        Whether the solution is integral.
    optimum : float
    """
    program, arcs, start = Program(), parts.arcs, parts.start("grandparent")
    add_tree(program, arcs, scores[parts.range("arc")], "single", single_root)
    first = program.add_columns(scores[parts.range("grandparent")], 0.0, upper_bounds(Grandparent(), arcs, start))
    program.add_rows(grandparent_rows(arcs, start, first, families, implied))
    if program.solve() != "optimal":
        raise ArithmeticError("HiGHS did not solve the program")
    used = program.values[: len(arcs.head)]
    values = np.concatenate([used, program.values[first:]])
    integral = bool(np.abs(values - np.rint(values)).max(initial=0.0) < 1e-6)
    return maximum_arborescence_sparse(arcs, used, single_root), integral, program.objective


def page(rows: list[Row], papers: dict) -> list[str]:
    """Lay out both tables."""
    lines = []
    for name, theirs in papers["price and cut"].items():
        figures = [f"{theirs[key]} %" for key in ("speed", "scored", "added", "objective", "integer", "uas")]
        lines.append([f"{name} (paper)", *figures, "–"])
    rest = []
    for name, polytopes in papers["families"].items():
        for families, theirs in polytopes.items():
            rest.append(
                [f"{name} (paper), {families}", *(f"{theirs[key]} %" for key in ("speed", "integer", "uas")), "–"]
            )
    for language in languages(rows):
        brute, priced = (pick(rows, language=language, method=method)[0] for method in METHODS)
        lines.append([f"**{language.title()}** ({brute['sentences']} sentences)", *_relative(brute, priced)])
        own = pick(rows, language=language, part="families")
        for row in own if language == languages(rows)[0] else ():
            cells = [f"{percent(own[0]['seconds'] / row['seconds'], 0)} %", f"{percent(row['integer'], 1)} %"]
            title = f"**{language.title()}** ({row['sentences']} sentences), {row['method']}"
            rest.append([title, *cells, f"{percent(row['uas'])} %", seconds(row["seconds"])])
    header = ["price and cut, relative to brute force", "sentences per second", "GPs scored", "GPs added", "objective"]
    return [
        table([*header, "integer solutions", "UAS", "seconds per sentence, brute force / price and cut"], lines),
        table(["polytope", "sentences per second, relative", "integer solutions", "UAS", "seconds per sentence"], rest),
    ]


def _relative(brute: Row, priced: Row) -> list[str]:
    """Return the cells of price and cut relative to brute force."""
    return [
        f"{percent(brute['seconds'] / priced['seconds'], 0)} %",
        f"{percent(priced['scored'], 1)} % (mean over sentences {percent(priced['scored_mean'], 1)} %)",
        f"{percent(priced['added'], 1)} %",
        f"{percent(priced['objective'], 3)} % (equal for {percent(priced['same'], 1)} % of sentences)",
        f"{percent(priced['integer'], 1)} %",
        f"{percent(priced['uas'])} %",
        f"{seconds(brute['seconds'])} / {seconds(priced['seconds'])}",
    ]
