"""Danish words without tags: the linear model and the one with an encoder on the test file of CoNLL-X.

All tags of the test file are replaced by predicted ones, as ``nonproj evaluate -m MODEL --tag FILE`` does.  What is
learnt and how long was chosen before the test file was read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from nonproj.evaluation.parsing import evaluate_parser
from nonproj.evaluation.scores import Evaluation
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from research.experiments.layout import percent, table
from research.experiments.provenance import NAMES, of_models
from research.experiments.setting import ROOT, Setting
from research.experiments.store import Row
from research.experiments.text import PARTS

LANGUAGE = "danish"
CONFIG = ROOT / "configs" / "danish-untagged.yaml"
CHANGES: Mapping[str, object] = {}
"""Options of the encoder that are not the default ones."""

TITLE = """## Danish without tags

The test file of CoNLL-X, whose words are given and tags predicted; UAS and LAS without punctuation, as in the shared
task, and of all words; p by a paired permutation test without punctuation. Both models learn from gold and predicted
tags (`configs/danish-untagged.yaml`); the encoder's options are the default ones.
"""


def own_setting(setting: Setting) -> Setting:
    """Return the setting in which the models are trained, in a folder of their own."""
    return dataclasses.replace(setting, config=setting.config or CONFIG, models=setting.models / "untagged")


def untagged_rows(setting: Setting, models: Mapping[str, Path], test: Path) -> list[Row]:
    """Return a row for each model by its name, the first of which the others are compared with."""
    gold = list(conll.read(test, require_heads=True))[: setting.sentences or None]
    rows: list[Row] = []
    first: Evaluation | None = None
    for name, path in models.items():
        evaluation = evaluate_parser(Parser(Model.load_trained(path), tags="all"), gold)
        figures = evaluation.as_dict()
        row: Row = {"model": name, "made": made(setting), "words": figures["words"]}
        for key, prefix in (("without_punctuation", ""), ("with_punctuation", "all_")):
            row |= {f"{prefix}{each}": figures[key][each] for each in ("uas", "las")}
        row["certified"] = figures["certificates"]["certified"]
        if first is not None:
            p = compare(evaluation, first, punctuation=False)
            row |= {"p_uas": p["uas"]["p"], "p_las": p["las"]["p"]}
        first = first or evaluation
        rows.append(row)
    return rows


def made(setting: Setting) -> str:
    """Return what the figures depend on, in the words of a page's record."""
    found = of_models([(LANGUAGE, PARTS)], {"encoder.folder": "e5-small", **CHANGES}, own_setting(setting))
    return ", ".join(f"{name} {value}" for name, value in zip(NAMES, found, strict=True))


def untagged_section(rows: Sequence[Row]) -> str:
    """Return the section of the page."""
    lines = []
    for row in rows:
        shares = [percent(row[each]) for each in ("uas", "las", "all_uas", "all_las")]
        p = [f"{row[each]:.4f}" if isinstance(row.get(each), float) else "–" for each in ("p_uas", "p_las")]
        lines.append([str(row["model"]), *shares, *p, percent(row["certified"], 1)])
    header = ["", "UAS", "LAS", "UAS, all words", "LAS, all words", "p of UAS", "p of LAS", "certified %"]
    return TITLE + "\n" + table(header, lines)
