"""Confidence and k best trees of models with a pretrained encoder, on test files.

    python -m research.experiments.neural_confidence tamil     # a stopped run can be resumed; others keep their figures

The models are those of ``nonproj train --encoder`` with the default options, ``LANGUAGE-ENCODER-confidence.nonproj``;
missing ones are trained, which needs PyTorch.  Writes ``neural-confidence.csv`` and ``neural-confidence.md`` in the
folder of results.
"""

from __future__ import annotations

import dataclasses
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nonproj.components.trainer import train
from nonproj.evaluation.calibration import SURE, judge, judge_from_text
from nonproj.io import conll
from nonproj.io.temporary import replacing
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence
from research.experiments.__main__ import run_program
from research.experiments.confidence import NAMES
from research.experiments.layout import pick, table
from research.experiments.neural import encoder_of, known, made
from research.experiments.provenance import script, stamp
from research.experiments.setting import ROOT, Setting, configuration, treebank
from research.experiments.store import Row, write_rows
from research.experiments.text import LANGUAGES, PARTS, parse_arguments

K = (1, 2, 5, 10, 50)
"""Numbers of best trees."""

FILE = "neural-confidence.csv"

INTRODUCTION = """# Confidence and k best trees with an encoder

Models of `nonproj train --encoder` with the default options: the classifier of right and wrong arcs has learnt from
sentences that a second encoder, fine-tuned for half as many epochs, has not seen. Test files, all words, punctuation
included, nothing tuned on them; columns are those of [confidence.md](confidence.md).
`python -m research.experiments.neural_confidence` makes this page.
"""

BEST = """UAS of the most accurate of the k best trees of each sentence, with given words and predicted tags; "complete"
is the share of sentences whose gold heads are among them, "certified" that of those all of whose k trees are proven.
"""

log = logging.getLogger("experiments")


def measure(setting: Setting, languages: Sequence[str]) -> None:
    """Measure treebanks one by one; write the page, with what was measured before, after each of them."""
    for language in languages:
        log.info("confidence, %s", language)
        model = Model.load_trained(model_of(setting, language))
        decoding = dataclasses.replace(model.config.decoding, confidence=True)
        parser = Parser(model, decoding, tags="all")
        gold = list(conll.read(treebank(setting, language)[1], require_heads=True))[: setting.sentences or None]
        facts = {"language": language, "made": made(setting, language)}
        judged = {"predicted tags": judge(parser.parse_all(gold)), "plain text": judge_from_text(parser, gold)}
        rows = [
            facts | {"input": given, "about": about} | each.as_dict()
            for given, kinds in judged.items()
            for about, each in kinds.items()
        ]
        rows += [facts | {"input": "k best", "about": k, **best} for k, best in best_of(parser, gold).items()]
        kept = [row for row in known(setting, FILE) if row["language"] != language] + rows
        kept.sort(key=lambda row: LANGUAGES.index(str(row["language"])))
        write_rows(setting.results / FILE, kept)
        write_page(setting)


def model_of(setting: Setting, language: str) -> Path:
    """Return the file of a model with an encoder and a classifier; train it if it is missing."""
    path = setting.models / f"{language}-{encoder_of(language)}-confidence.nonproj"
    if path.exists():
        return path
    folder = setting.data / "encoders" / encoder_of(language)
    if not folder.exists():
        command = [
            sys.executable,
            "data_scripts/fetch_encoder.py",
            encoder_of(language),
            "--out",
            str(setting.data.resolve()),
        ]
        subprocess.run(command, check=True, cwd=ROOT)
    sentences = list(conll.read(treebank(setting, language)[0], require_heads=True))[: setting.training or None]
    config = configuration(setting, language, PARTS).with_overrides({"encoder.folder": str(folder)})
    checkpoint = path.with_name(f"{path.name}.checkpoint")
    train(sentences, config, checkpoint=checkpoint, resume=True).save(path)
    checkpoint.unlink()
    return path


def best_of(parser: Parser, gold: Sequence[Sentence]) -> dict[int, Row]:
    """Return what the best ones of k trees are worth, by k."""
    right: dict[int, list[np.ndarray]] = {k: [] for k in K}
    certified: dict[int, list[bool]] = {k: [] for k in K}
    for sentence, parse in parser.with_nbest(max(K)).parse_all(gold):
        trees = [parse, *(parse.others or ())]
        each = [tree.decoded.heads == sentence.heads for tree in trees]
        for k in K:
            right[k].append(max(each[:k], key=lambda found: int(found.sum())))
            certified[k].append(all(tree.decoded.certified for tree in trees[:k]))
    return {
        k: {
            "uas": float(np.concatenate(right[k]).mean()),
            "complete": float(np.mean([found.all() for found in right[k]])),
            "certified": float(np.mean(certified[k])),
        }
        for k in K
    }


def write_page(setting: Setting) -> None:
    """Write the page."""
    titles, rows = script("treebanks").TREEBANKS, known(setting, FILE)
    calibrated, best = [], []
    for language in dict.fromkeys(str(row["language"]) for row in rows):
        title = titles[language].title
        for row in pick(rows, language=language):
            if row["input"] == "k best":
                shares = [f"{100 * float(str(row[name])):.2f}" for name in ("uas", "complete", "certified")]
                best.append([title, str(row["about"]), *shares])
                continue
            shares = [f"{100 * float(str(row[name])):.2f}" for name in FIGURES]
            calibrated.append([title, str(row["input"]), NAMES[str(row["about"])], f"{row['count']:,}", *shares])
    header = ["", "input", "", "number", "right", "ECE", "by chance", "AUC", *(f"{100 * s:.0f} %" for s in SURE)]
    tables = table(header, calibrated), table(["", "k", "UAS", "complete", "certified"], best)
    path = setting.results / "neural-confidence.md"
    with replacing(path) as temporary:
        temporary.write_text("\n".join([INTRODUCTION, tables[0], "", BEST, tables[1], ""]), encoding="utf-8")
    stamp(path, "neural-confidence")


FIGURES = ("right", "calibration_error", "noise", "area", *(f"surest_{100 * share:.0f}" for share in SURE))
"""The columns of figures of the first table."""


def _run(arguments: list[str] | None) -> None:
    """Run the command line."""
    setting, languages = parse_arguments(arguments, "research.experiments.neural_confidence", __doc__.split("\n")[0])
    measure(setting, languages)


if __name__ == "__main__":
    sys.exit(run_program(_run, None))
