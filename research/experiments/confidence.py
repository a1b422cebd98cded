"""Confidence on test files: calibration, ranking, and comparison with the marginals of the first-order model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nonproj.evaluation.calibration import BINS, SURE, Outcomes, judge, judge_from_text
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import prune
from nonproj.trees.marginals import marginals
from research.experiments.layout import figure, percent, table
from research.experiments.provenance import publish
from research.experiments.setting import ExperimentSettings, configuration, trained_file, treebank
from research.experiments.store import Row, read_rows, replace_rows

LANGUAGES = ("turkish", "danish", "greek", "english-ewt")
FILE = "confidence.csv"

INPUTS = ("gold tags", "predicted tags", "plain text")
NAMES = {
    "marginals": "heads, marginals",
    "heads": "heads",
    "labels": "heads and labels",
    "trees": "trees",
}
WITH = {"marginals": LANGUAGES[-1:], "heads": LANGUAGES}
WITH |= dict.fromkeys(("labels", "trees"), (LANGUAGES[0], LANGUAGES[-1]))
"""Treebanks for which the page shows each kind of probability; the file has all."""

INTRODUCTION = """# Confidence

[Confidence](../../docs/confidence.md) on test files, on which nothing was tuned: with gold tags, with predicted tags,
and on plain text, whose wrongly segmented words count as wrong, and so do trees whose sentences are not right. The text
consists of the file's tokens, separated by blanks except after `SpaceAfter=No`. `python -m research.experiments
confidence` makes this page, and `nonproj evaluate -m MODEL GOLD --calibration [--tag | --text]` the figures of a line.

All figures are per cent, of all words, punctuation included. ECE is the expected calibration error over ten bins of
equal width; "by chance" is its mean if all probabilities were exactly true. AUC is the probability that a right head
has a higher confidence than a wrong one. The last columns are the share of right ones among the most confident 50 and
90 %. The baseline is the marginals of the first-order model. [The file](confidence.csv) has all rows of all languages.
"""


def measure(setting: ExperimentSettings, languages: Sequence[str]) -> None:
    """Judge the models of treebanks one by one; write the page, and for Turkish the diagram."""
    for language in languages:
        config = configuration(setting, language, "grandparent").with_overrides({"training.tags": "both"})
        path = trained_file(setting.models / "confidence" / f"{language}.nonproj", setting, language, config)
        model, rows = Model.load(path), []
        sentences = list(conll.read(treebank(setting, language)[1], require_heads=True))[: setting.sentences or None]
        for given in INPUTS:
            judged = _judge(model, sentences, given)
            names: Row = {"language": language, "input": given}
            rows += [names | {"probabilities": about} | each.as_dict() for about, each in judged.items()]
        replace_rows(setting.results / FILE, language, rows, LANGUAGES)
        if language == LANGUAGES[0]:
            draw(judged, setting.results / "confidence.png")
        publish(setting.results, "confidence", page(read_rows(setting.results / FILE)))


def draw(judged: dict[str, Outcomes], path: Path) -> None:
    """Draw a reliability diagram for each kind: the share of correct predictions against the probability."""

    def bins(axes) -> None:
        for axis, (name, each) in zip(axes, judged.items(), strict=True):
            mean, right, size = each.bins().T
            error = 1.96 * np.sqrt(np.maximum(right * (1.0 - right), 1e-9) / np.maximum(size, 1))
            axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
            axis.bar(np.arange(BINS) / BINS + 0.05, size / size.sum(), 0.09, color="0.88")
            axis.errorbar(mean, right, error, marker="o", markersize=4, color="#0072b2", linewidth=1.5, capsize=2)
            title = f"{name}: ECE {each.calibration_error():.3f}, AUC {each.area():.3f}"
            axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="share right", title=title)

    figure(path, len(judged), bins)


def _judge(model: Model, sentences: list, given: str) -> dict[str, Outcomes]:
    """Return the outcomes of each kind of probability, baselines first: see `INTRODUCTION`."""
    parser = Parser(model, tags="none" if given == "gold tags" else "all")
    if given == "plain text":
        return judge_from_text(parser, sentences)
    pairs, of_heads = list(parser.parse_all(sentences)), []
    for sentence, parse in pairs:
        [scores] = parser.with_request(tags="none").run([sentence], until=prune).first_order
        p, heads = marginals(scores, parser.request.options.single_root)[0], parse.decoded.heads
        of_heads.append(p[heads, np.arange(1, len(heads) + 1)])
    judged = judge(pairs)
    return {"marginals": Outcomes(np.concatenate(of_heads), judged["heads"].right)} | judged


def page(rows: Sequence[Row]) -> list[str]:
    """Return the parts of the page."""
    shares = [f"{100 * share:.0f}" for share in (SURE[0], SURE[-1])]
    head = ["", "input", "", "number", "right", "ECE", "by chance", "AUC", *(f"{share} %" for share in shares)]
    lines = []
    figures = ["right", "calibration_error", "noise", "area", *(f"surest_{share}" for share in shares)]
    for row in rows:
        if row["language"] not in WITH.get(str(row["probabilities"]), ()):  # an earlier version had others
            continue
        title = str(row["language"]).partition("-")[0].title()
        cells = [title, str(row["input"]), NAMES[str(row["probabilities"])], f"{row['count']:,}"]
        lines.append([*cells, *(percent(row[name]) for name in figures)])
    said = "Reliability diagrams of Turkish plain text, with 95 % intervals; bars are the share of each bin:"
    return [INTRODUCTION, table(head, lines), said, "![Share right against confidence, in ten bins](confidence.png)"]
