"""Confidence on test files: calibration, ranking, and comparison with the marginals of the first-order model."""

from __future__ import annotations

import csv
import dataclasses
import logging
from pathlib import Path

import numpy as np

from nonproj.components.trainer import train
from nonproj.evaluation.calibration import BINS, SURE, Outcomes, judge, judge_from_text
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.batch import Batch
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import estimate, evidence, prune
from nonproj.trees.marginals import marginals
from research.experiments.provenance import ROOT
from research.experiments.setting import Setting, check_model, treebank

CONFIGS = {"Turkish": "turkish", "Danish": "danish", "Greek": "greek", "English": "english-ewt"}
"""The name of the treebank of each language, of its configuration and of its model."""

INPUTS = ("gold tags", "predicted tags", "plain text")
NAMES = {
    "marginals": "heads, marginals",
    "earlier": "heads, knowing less",
    "heads": "heads",
    "labels": "heads and labels",
    "trees": "trees",
}
COLUMNS = ("language", "input", "probabilities", "count", "right", "mean", "calibration_error", "noise", "area")
COLUMNS += tuple(f"surest_{100 * share:.0f}" for share in SURE)

INTRODUCTION = """# Confidence

Each model is trained by `nonproj train` on the whole training file, with gold and jackknifed tags (`--tags both`), and
tested on the test file: with gold tags, with predicted tags, and on plain text, where sentences, words and tags are
predicted. On plain text, words that are not in the gold file count as wrong, and so do trees whose sentences are not.
The text consists of the file's tokens, separated by blanks except after `SpaceAfter=No`, which Danish does not have.
Nothing was tuned on a test file. `python -m research.experiments confidence` makes this page, for the models it finds
in `models/confidence`; it trains those that are missing. [Confidence](../../docs/confidence.md) explains the
method, and `nonproj evaluate -m MODEL GOLD --calibration [--tag | --text]` makes the figures of one line.

All figures are per cent, of all words, punctuation included. ECE is the expected calibration error over ten bins of
equal width; "by chance" is its mean if all probabilities were exactly true, which a finite file makes positive. AUC
is the probability that a right head has a higher confidence than a wrong one. The last columns are the share of right
ones among the most confident 50, 75 and 90 %. A tree is right if all its heads are. There are two baselines.
"Marginals" are those of the arc in the first-order model, which pruning computes anyway. "Knowing less" is the
classifier for input with one source of errors less: the one for gold tags, applied to predicted tags, and the one for
given words, applied to plain text.
"""

log = logging.getLogger("nonproj")


def main(results: Path, data: Path, short: bool) -> None:
    """Write ``confidence.csv``, ``confidence.md`` and ``confidence.png`` into a folder."""
    rows, drawn = [], {}
    for language, name in list(CONFIGS.items())[: 1 if short else None]:
        model, sentences = _model(name, results, data, short)
        for given in INPUTS:
            judged = _judge(model, sentences, given)
            rows += [(language, given, about, *each.as_dict().values()) for about, each in judged.items()]
            drawn[language, given] = judged
    results.mkdir(parents=True, exist_ok=True)
    with open(results / "confidence.csv", "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([COLUMNS, *rows])
    (results / "confidence.md").write_text(page(rows), encoding="utf-8")
    draw(drawn["Turkish", INPUTS[-1]], results / "confidence.png")


def draw(judged: dict[str, Outcomes], path: Path) -> None:
    """Draw a reliability diagram for each kind: the share of correct predictions against the probability."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(judged), 3.6), layout="constrained")
    axes = figure.subplots(1, len(judged), squeeze=False)[0]
    for axis, (name, each) in zip(axes, judged.items(), strict=True):
        mean, right, size = each.bins().T
        error = 1.96 * np.sqrt(np.maximum(right * (1.0 - right), 1e-9) / np.maximum(size, 1))
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axis.bar(np.arange(BINS) / BINS + 0.05, size / size.sum(), 0.09, color="0.88")
        axis.errorbar(mean, right, error, marker="o", markersize=4, color="#0072b2", linewidth=1.5, capsize=2)
        title = f"{name}: ECE {each.calibration_error():.3f}, AUC {each.area():.3f}"
        axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="share right", title=title)
        axis.title.set_fontsize(9)
    figure.savefig(path, dpi=150)


def _model(name: str, results: Path, data: Path, short: bool) -> tuple[Model, list]:
    """Return a model, trained with gold and jackknifed tags if it is missing, and the sentences of its test file."""
    files = treebank(Setting(results, results, data), name)
    config = Config.load(ROOT / "configs" / f"{name}.yaml").with_overrides({"training.tags": "both"})
    test = list(conll.read(files[1], require_heads=True))
    path = ROOT / "models" / "confidence" / f"{name}.nonproj"
    if short:
        changes = {"features.bits": 18, "training.epochs": 2, "tagger.epochs": 1, "tagger.folds": 2}
        changes |= {
            "network.epochs": 0,
            "confidence.share": 0.3,
            "segmenter.epochs": 1,
            "tagger.restarts": 1,
        }
        return train(list(conll.read(files[0]))[:300], config.with_overrides(changes)), test[:30]
    if not path.is_file():
        log.info("training %s", path)
        path.parent.mkdir(parents=True, exist_ok=True)
        trained = train(list(conll.read(files[0])), config)
        if trained.meta["interrupted"]:
            raise KeyboardInterrupt
        trained.save(path)
    check_model(path, path.stat().st_mtime, config)
    return Model.load(path), test


def _judge(model: Model, sentences: list, given: str) -> dict[str, Outcomes]:
    """Return the accuracy of each kind, baselines first: see `INTRODUCTION`."""
    parser = Parser(model, tags="none" if given == "gold tags" else "all")
    if given == "plain text":
        earlier = without(Parser(model, tags="all"), text=None)
        return {"earlier": judge_from_text(earlier, sentences)["heads"]} | judge_from_text(parser, sentences)
    pairs, of_heads = list(parser.parse_all(sentences)), []
    for sentence, parse in pairs:
        [scores] = parser.with_request(tags="none").run([sentence], until=prune).first_order
        p, heads = marginals(scores, parser.request.options.single_root)[0], parse.decoded.heads
        of_heads.append(p[heads, np.arange(1, len(heads) + 1)])
    judged = judge(pairs)
    found = {"marginals": Outcomes(np.concatenate(of_heads), judged["heads"].right)}
    if given == "predicted tags":
        earlier = without(Parser(model, tags="all"), tagged=None, text=None)
        found["earlier"] = judge(earlier.parse_all(sentences))["heads"]
    return found | judged


def without(parser: Parser, **models: None) -> Parser:
    """Return a parser without some models of the classifier."""
    classifier = dataclasses.replace(parser.loaded.classifier, **models)

    def estimate_without(batch: Batch) -> Batch:
        """Estimate confidence by the other models."""
        own = [evidence(batch, i, classifier.limit) for i in range(len(batch.sentences))]
        return batch._replace(confidence=list(map(classifier.confidence, own)))

    return parser.with_stages([estimate_without if stage is estimate else stage for stage in parser.stages])


def page(rows: list[tuple]) -> str:
    """Return the page of results."""
    head = ("", "input", "", "number", "right", "ECE", "by chance", "AUC", *(f"{100 * share:.0f} %" for share in SURE))
    lines = [INTRODUCTION, f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for language, given, about, count, right, _, *figures in rows:
        cells = [language, given, NAMES[about], f"{count:,}", *(f"{100 * value:.2f}" for value in (right, *figures))]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "Reliability diagrams of Turkish plain text, with 95 % intervals; bars are the share of each bin:",
        "",
    ]
    return "\n".join([*lines, "![Share right against confidence, in ten bins](confidence.png)", ""])
