"""Confidence on test files: calibration, ranking, and the marginals of the first-order model beside it."""

from __future__ import annotations

import csv
import logging
from pathlib import Path

import numpy as np

from experiments.setting import ROOT
from nonproj.evaluation.calibration import SURE, Judged, judge, plot_calibration
from nonproj.io import conll
from nonproj.learning.trainer import train
from nonproj.model import Model
from nonproj.options.config import Config
from nonproj.pipeline import Parser

CONFIGS = {"Danish": "danish", "Basque": "basque", "Greek": "greek", "English": "english-ewt"}
"""The name of the configuration of each language, and of its model."""

NAMES = {"marginals": "heads, marginals", "heads": "heads", "labels": "heads and labels", "trees": "trees"}
COLUMNS = ("language", "tags", "probabilities", "count", "right", "mean", "calibration_error", "noise", "area")
COLUMNS += tuple(f"surest_{100 * share:.0f}" for share in SURE)

INTRODUCTION = """# Confidence

Each model is trained by `nonproj train` on the whole training file, with gold and jackknifed tags (`--tags both`),
and tested on the test file, with its gold tags and with predicted ones. Nothing was tuned on a test file: features
and regularisation were settled on the last tenth of the Danish training file. `python -m experiments confidence`
makes this page, for the models it finds in `models/`; it trains the Danish one if there is none. [How sure the parser
is](../docs/confidence.md) explains the method.

All figures are per cent, of all words, punctuation included. ECE is the expected calibration error over ten bins of
equal width; "by chance" is its mean if all probabilities were exactly true, which a finite file makes positive. AUC
is the probability that a right head has a higher confidence than a wrong one. The last columns are the share of right
ones among the surest 50, 75 and 90 %. The first line of each group is the baseline: the marginal of the arc in the
first-order model, which pruning computes anyway. A tree is right if all its heads are.
"""

log = logging.getLogger("nonproj")


def main(results: Path, data: Path, short: bool) -> None:
    """Write ``confidence.csv``, ``confidence.md`` and ``confidence.png`` into a folder."""
    rows, drawn = [], {}
    for language, name in CONFIGS.items():
        test = data.parent / (Config.load(ROOT / "configs" / f"{name}.yaml").treebank.test or "")
        path = ROOT / "models" / f"{name}.nonproj"
        if not test.is_file() or not (path.is_file() or language == "Danish"):
            log.warning("%s is left out: there is no %s", language, path if test.is_file() else test)
            continue
        model = Model.load(path) if path.is_file() and not short else _train(name, data, short)
        sentences = list(conll.read(test))
        for tags in ("gold", "predicted"):
            judged = _judge(model, sentences, tags)
            rows += [(language, tags, about, *each.as_dict().values()) for about, each in judged.items()]
            drawn[language, tags] = judged
    results.mkdir(parents=True, exist_ok=True)
    with open(results / "confidence.csv", "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([COLUMNS, *rows])
    (results / "confidence.md").write_text(page(rows), encoding="utf-8")
    if drawn:
        plot_calibration(next(iter(drawn.values())), results / "confidence.png")


def _train(name: str, data: Path, short: bool) -> Model:
    """Train a model as its configuration says, with gold and jackknifed tags; a small one if ``short``."""
    config = Config.load(ROOT / "configs" / f"{name}.yaml").with_overrides({"training.tags": "both"})
    sentences = list(conll.read(data.parent / config.treebank.train))
    if short:
        changes = {"features.bits": 18, "training.epochs": 2, "training.tags": "gold", "tagger.epochs": 1}
        changes |= {"confidence.epochs": 1, "confidence.share": 0.3, "segmenter.epochs": 0, "tagger.restarts": 1}
        sentences, config = sentences[:300], config.with_overrides(changes)
    return train(sentences, config)


def _judge(model: Model, sentences: list, tags: str) -> dict[str, Judged]:
    """Return what is right of each kind, the marginals of the arcs first."""
    parser = Parser(model, tags="none" if tags == "gold" else "all")
    pairs, marginals = list(parser.parse_all(sentences)), []
    for sentence, parse in pairs:
        p, heads = parser.marginals(parser.encode(sentence)), parse.decoded.heads[1:]
        marginals.append(p[heads, np.arange(1, len(heads) + 1)])
    judged = judge(pairs)
    return {"marginals": Judged(np.concatenate(marginals), judged["heads"].right)} | judged


def page(rows: list[tuple]) -> str:
    """Return the page of results."""
    head = ("", "tags", "", "number", "right", "ECE", "by chance", "AUC", *(f"{100 * share:.0f} %" for share in SURE))
    lines = [INTRODUCTION, f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for language, tags, about, count, right, _, *figures in rows:
        cells = [language, tags, NAMES[about], f"{count:,}", *(f"{100 * value:.2f}" for value in (right, *figures))]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "Reliability diagrams of the first of these, with 95 % intervals; bars are the share of each bin:",
        "",
    ]
    return "\n".join([*lines, "![Share right against confidence, in ten bins](confidence.png)", ""])
