"""How much the scores of an encoder should count beside the linear ones, on development files.

    python -m research.experiments.neural_weights tamil        # a stopped run can be resumed; others keep their figures

The models are those of `research.experiments.neural`, which are trained if they are missing; only their scales are
changed.
Writes ``neural-weights.csv`` and ``neural-weights.md`` in the folder of results.
"""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Sequence

import numpy as np

from nonproj.evaluation.parsing import evaluate_parser
from nonproj.evaluation.scores import Evaluation
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.io.conll import UPOS
from nonproj.io.temporary import replacing
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.scoring.encoders.scorer import LABEL_WEIGHT, TAG_WEIGHT, WEIGHT
from nonproj.types import Sentence
from research.experiments.__main__ import run_program
from research.experiments.layout import percent, pick, table
from research.experiments.neural import encoder_model, known, made
from research.experiments.neural_training import development
from research.experiments.provenance import script, stamp
from research.experiments.setting import Setting
from research.experiments.store import Row, write_rows
from research.experiments.text import LANGUAGES, parse_arguments

NAMES = ("weight", "label_weight", "tag_weight")
"""The columns of the weights that are compared."""

DEFAULTS = (WEIGHT, LABEL_WEIGHT, TAG_WEIGHT)
FACTORS = (0.35, 0.5, 1.0, 1.4)
"""Other values of ``weight``, with ``label_weight`` the default, and the reverse."""

OF_TAGS = (0.5, 2.0, 4.0)
"""Other values of ``tag_weight``."""

FILE = "neural-weights.csv"

INTRODUCTION = """# Weights of encoder and linear scores

The scores of the encoder are multiplied by a weight for parts, one for labels and one for tags, and added
to those of the linear model and its tagger. Development files: given words, predicted tags, all words, punctuation
included. Each line changes one of the three weights, the first has the default ones; p by a paired permutation test
against it. `python -m research.experiments.neural_weights` makes this page.
"""

log = logging.getLogger("experiments")


def settings() -> list[tuple[float, ...]]:
    """Return the weights that are compared, the default ones first."""
    found = [DEFAULTS]
    for place, values in enumerate((FACTORS, FACTORS, OF_TAGS)):
        found += [tuple(value if i == place else default for i, default in enumerate(DEFAULTS)) for value in values]
    return list(dict.fromkeys(found))


def measure(setting: Setting, languages: Sequence[str]) -> None:
    """Measure treebanks one by one; write the page, with what was measured before, after each of them."""
    for language in languages:
        path = encoder_model(setting, language)
        gold = list(conll.read(development(setting, language), require_heads=True))[: setting.sentences or None]
        rows: list[Row] = []
        first: Evaluation | None = None
        for weights in settings():
            log.info("weights, %s, %s", language, weights)
            row, evaluation = figures(with_weights(Model.load_trained(path), weights), gold)
            row |= {"p_las": compare(evaluation, first, punctuation=True)["las"]["p"]} if first else {}
            first = first or evaluation
            facts = {"language": language, "made": made(setting, language)}
            rows.append(facts | dict(zip(NAMES, weights, strict=True)) | row)
        kept = [row for row in known(setting, FILE) if row["language"] != language] + rows
        kept.sort(key=lambda row: LANGUAGES.index(str(row["language"])))
        write_rows(setting.results / FILE, kept)
        write_page(setting)


def with_weights(model: Model, weights: Sequence[float]) -> Model:
    """Return a model whose encoder has other weights than those that it was trained with."""
    values = dict(model.components["encoder"])
    factors = [new / default for new, default in zip(weights, DEFAULTS, strict=True)]
    values |= {"scale": values["scale"] * factors[0], "label_scale": values["label_scale"] * factors[1]}
    if "tags" in values:
        values["tags"] = values["tags"] | {"scale": values["tags"]["scale"] * factors[2]}
    return dataclasses.replace(model, components=model.components | {"encoder": values})


def figures(model: Model, gold: Sequence[Sentence]) -> tuple[Row, Evaluation]:
    """Return the accuracy of a model."""
    parser = Parser(model, tags="all")
    tagged = parser.tag(gold)
    right = [a[UPOS] == b[UPOS] for s, t in zip(gold, tagged, strict=True) for a, b in zip(s.rows, t.rows, strict=True)]
    evaluation = evaluate_parser(parser, list(gold))
    scores = evaluation.as_dict()["with_punctuation"]
    return {"upos": float(np.mean(right)), "uas": scores["uas"], "las": scores["las"]}, evaluation


def write_page(setting: Setting) -> None:
    """Write the page."""
    titles, lines, rows = script("treebanks").TREEBANKS, [], known(setting, FILE)
    for language in dict.fromkeys(str(row["language"]) for row in rows):
        own = pick(rows, language=language)
        title = titles[language].title
        for i, row in enumerate(own):
            shares = [percent(row[each]) for each in ("upos", "uas", "las")]
            p = f"{row['p_las']:.3f}" if isinstance(row.get("p_las"), int | float) else "–"
            lines.append(["" if i else title, *(f"{row[name]:g}" for name in NAMES), *shares, p])
    path = setting.results / "neural-weights.md"
    with replacing(path) as temporary:
        header = ["", *(f"`{name}`" for name in NAMES), "UPOS", "UAS", "LAS", "p of LAS"]
        temporary.write_text(f"{INTRODUCTION}\n{table(header, lines)}\n", encoding="utf-8")
    stamp(path, "neural-weights")


def _run(arguments: list[str] | None) -> None:
    """Run the command line."""
    setting, languages = parse_arguments(arguments, "research.experiments.neural_weights", __doc__.split("\n")[0])
    measure(setting, languages)


if __name__ == "__main__":
    sys.exit(run_program(_run, None))
