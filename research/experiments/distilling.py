"""What a fast model learns from the trees that a model with an encoder gives to text, by the number of words of text.

    python -m research.experiments.distilling english-ewt --text brown.txt                 # a stopped run resumes
    python -m research.experiments.distilling english-ewt --text brown.txt --training 4000 # the first sentences alone
    python -m research.experiments.distilling english-ewt --text brown.txt --share 3       # more text in an epoch
    python -m research.experiments.distilling english-ewt --text brown.txt --set network.context=128 --words 400000

Each file of text has one sentence a line.  The teacher is the model of `research.experiments.neural`; missing models
are trained with the default options and without confidence.  Everything is measured on the development file.  Writes
``distilling.csv`` and ``distilling.md`` in the folder of results.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import yaml

from nonproj.cli.distil import Selection, words_of
from nonproj.components.trainer import train
from nonproj.errors import FileError
from nonproj.evaluation.parsing import evaluate_parser
from nonproj.evaluation.scores import Evaluation
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.io.conll import UPOS
from nonproj.io.temporary import replacing
from nonproj.kernels.interpreters import environment, python
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence
from research.experiments.__main__ import run_program
from research.experiments.layout import percent, table
from research.experiments.neural import NO_CHANGES, encoder_model, known, made
from research.experiments.neural_training import development
from research.experiments.neural_trees import mean_gain
from research.experiments.provenance import script, stamp
from research.experiments.setting import RESULTS, ROOT, Setting, configuration, treebank
from research.experiments.store import Row, write_rows
from research.experiments.text import LANGUAGES, PARTS, scores_of

WORDS = (0, 100_000, 200_000, 400_000, 800_000)
"""Amounts of text; larger ones contain the smaller ones."""

FILE = "distilling.csv"

FACTS = ("language", "training", "texts", "amount", "share", "options")
"""What says which model a row is of."""

FILES = ("features.vectors", "features.clusters")
"""Options that are files."""

INTRODUCTION = """# Trees of unlabelled text

A student is a linear model trained on the training file, and on the trees that a teacher, the model with an encoder of
[neural.md](neural.md), gives to text (`nonproj distil`), without confidence; all options but the named ones are the
default ones. Development files: tags, UAS and LAS with given words and predicted tags (all words, punctuation
included), p by a paired permutation test against the student without text, and LAS from raw text by the official script
of the CoNLL 2018 shared task. The share is `treebank.silver_share`, words of text in an epoch relative to the
treebank's. The gain in LAS has half of its 95 % interval beside it, from the differences of the sentences. Speed is in
words per processor second with given words. `python -m research.experiments.distilling` makes this page.
"""

log = logging.getLogger("experiments")


def measure(
    setting: Setting,
    language: str,
    texts: Sequence[Path],
    amounts: Sequence[int] = WORDS,
    share: float = 1.0,
    changes: Mapping[str, object] = NO_CHANGES,
) -> None:
    """Measure teacher and students one by one; write the page, with what was measured before, after each of them.

    Parameters
    ----------
    setting : Setting
    language : str
    texts : sequence of Path
    amounts : sequence of int
        Words of text that the students learn from.
    share : float
        `treebank.silver_share`.
    changes : mapping of str to value
        Options of the students that are not the default ones.
    """
    gold = list(conll.read(development(setting, language), require_heads=True))
    teacher = encoder_model(dataclasses.replace(setting, training=0), language)
    silver = list(silver_of(setting, language, teacher, texts))
    facts: Row = {"language": language, "training": setting.training, "made": made(setting, language)}
    without: Row = {"texts": "", "share": 0.0, "options": ""}
    with_text: Row = {"texts": " ".join(path.stem for path in texts), "share": share}
    teacher_row = facts | without | {"amount": "teacher"}
    if not any(same(row, teacher_row) for row in known(setting, FILE)):
        keep(setting, teacher_row | figures(setting, language, teacher, gold)[0])
    row, first = figures(setting, language, student(setting, language, [], 0), gold)
    keep(setting, facts | without | {"amount": 0} | row)
    for amount in amounts:
        if not amount and not changes:
            continue
        chosen = sample(silver, amount)
        log.info("distilling, %s, %d words of text", language, amount)
        row, evaluation = figures(setting, language, student(setting, language, chosen, amount, share, changes), gold)
        row |= {"p_las": compare(evaluation, first, punctuation=True)["las"]["p"]}
        row["gain"], row["interval"] = gain_in_las(evaluation, first)
        row |= (with_text if chosen else {"texts": "", "share": 0.0}) | {"options": options_text(changes)}
        keep(setting, facts | {"amount": sum(map(len, chosen))} | row)
        if len(chosen) == len(silver) and amount:
            break


def gain_in_las(first: Evaluation, second: Evaluation) -> tuple[float, float]:
    """Return by how much the LAS of the first is higher, and half of the 95 % interval."""
    tables = first.words(), second.words()
    right = [(table["correct"] & table["label_correct"]).astype(int) for table in tables]
    sentence = tables[0]["sentence"]
    return mean_gain(np.bincount(sentence, right[0] - right[1]), np.bincount(sentence))


def options_text(changes: Mapping[str, object]) -> str:
    """Return the names and values of options, those of files without their folder.

    Examples
    --------
    >>> options_text({"network.context": 128, "features.vectors": "data/glove.vec.gz"})
    'features.vectors=glove.vec.gz network.context=128'
    """
    values = {key: Path(str(value)).name if key in FILES else value for key, value in changes.items()}
    return " ".join(f"{key}={value}" for key, value in sorted(values.items()))


def silver_of(setting: Setting, language: str, teacher: Path, texts: Sequence[Path]) -> Iterator[Sentence]:
    """Yield the trees of all texts, but for sentences of the treebank's files."""
    with_gold = [*treebank(setting, language), development(setting, language)]
    selection = Selection((words_of(s) for path in with_gold for s in conll.read(path)), 0.0, None)
    for text in texts:
        path = setting.models / f"{language}-{text.stem}.conllu"
        command = python("-m", "nonproj", "parse", "-q", "--resume", "--lines", "-m", str(teacher), str(text))
        if not path.exists():
            subprocess.run([*command, "-o", str(path)], check=True, cwd=ROOT, env=environment())
        yield from selection.of(conll.read(path))


def sample(sentences: Sequence[Sentence], words: int) -> list[Sentence]:
    """Return random sentences in their order, with so many words together at most; more words include fewer."""
    order = np.random.default_rng(0).permutation(len(sentences))
    sizes = np.cumsum([len(sentences[i]) for i in order])
    return [sentences[i] for i in sorted(order[: np.searchsorted(sizes, words, "right")].tolist())]


def student(
    setting: Setting,
    language: str,
    silver: Sequence[Sentence],
    amount: int,
    share: float = 1.0,
    changes: Mapping[str, object] = NO_CHANGES,
) -> Path:
    """Return the file of a student; train it if it is missing."""
    name = f"{language}-student-{setting.training}-{amount}" + (f"-{share:g}" if amount else "")
    name += "".join(f"-{each.replace('=', '-')}" for each in options_text(changes).split())
    path = setting.models / f"{name}.nonproj"
    if not path.exists():
        sentences = list(conll.read(treebank(setting, language)[0], require_heads=True))[: setting.training or None]
        config = configuration(setting, language, PARTS).with_overrides(
            {"confidence.share": 0, "treebank.silver_share": share, **changes}
        )
        checkpoint = path.with_name(f"{path.name}.checkpoint")
        train(sentences, config, silver=silver, checkpoint=checkpoint, resume=True).save(path)
        checkpoint.unlink()
    return path


def figures(setting: Setting, language: str, path: Path, gold: list[Sentence]) -> tuple[Row, Evaluation]:
    """Return the accuracy and speed of a model on the development file."""
    parser = Parser(Model.load_trained(path), tags="all")
    tagged = parser.tag(gold)
    evaluate_parser(parser, gold)  # loads the kernels, and the pages of the model's file
    right = [a[UPOS] == b[UPOS] for s, t in zip(gold, tagged, strict=True) for a, b in zip(s.rows, t.rows, strict=True)]
    began = time.process_time()
    evaluation = evaluate_parser(parser, gold)
    speed = len(right) / (time.process_time() - began)
    scores = evaluation.as_dict()["with_punctuation"]
    row: Row = {"upos": float(np.mean(right)), "uas": scores["uas"], "las": scores["las"]}
    row |= {"raw_las": scores_of(path, development(setting, language))["LAS"], "speed": speed}
    return row | {"megabytes": path.stat().st_size / 1e6}, evaluation


# -- the page ----------------------------------------------------------------------------------------------------------


def keep(setting: Setting, row: Row) -> None:
    """Write a row in the place of the one of the same model, and the page."""
    rows = [*(each for each in known(setting, FILE) if not same(each, row)), row]
    rows.sort(key=lambda each: (each["language"], each["amount"] != "teacher", len(str(each["options"]))))
    write_rows(setting.results / FILE, rows)
    write_page(setting)


def same(one: Row, other: Row) -> bool:
    """Return whether two rows are of the same model."""
    return all(one[name] == other[name] for name in FACTS)


def write_page(setting: Setting) -> None:
    """Write the page."""
    titles, lines = script("treebanks").TREEBANKS, []
    for row in known(setting, FILE):
        sentences = f", {row['training']:,} sentences" if row["training"] else ""
        name = "teacher" if row["amount"] == "teacher" else f"{row['amount']:,}"
        shares = [percent(row[each]) for each in ("upos", "uas", "las")]
        name += f" of {row['texts']}" if row["amount"] not in ("teacher", 0) else ""
        share = f"{row['share']:g}" if row["share"] else "–"
        p = row.get("p_las")
        tested = ["–", "–"]
        if isinstance(p, float):
            tested = [f"{100 * float(str(row['gain'])):+.2f} ± {100 * float(str(row['interval'])):.2f}", f"{p:.4f}"]
        rest = [percent(row["raw_las"]), f"{row['speed']:,.0f}", f"{row['megabytes']:.0f}"]
        options = f"`{row['options']}`" if row["options"] else "–"
        title = titles[str(row["language"])].title + sentences
        lines.append([title, name, share, options, *shares, *tested, *rest])
    header = ["", "words of text", "share", "options", "UPOS", "UAS", "LAS", "gain in LAS", "p"]
    header += ["raw text: LAS", "words a second", "MB"]
    path = setting.results / "distilling.md"
    with replacing(path) as temporary:
        temporary.write_text(f"{INTRODUCTION}\n{table(header, lines)}\n", encoding="utf-8")
    stamp(path, "distilling")


def _run(arguments: list[str] | None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m research.experiments.distilling", description=__doc__.split("\n")[0]
    )
    parser.add_argument("language", choices=LANGUAGES, metavar="LANGUAGE", help=f"one of {', '.join(LANGUAGES)}")
    parser.add_argument("--text", type=Path, action="append", required=True, metavar="FILE", help="one sentence a line")
    parser.add_argument("--training", type=int, default=0, help="number of sentences of the treebank (default: all)")
    parser.add_argument("--share", type=float, default=1.0, help="words of text in an epoch for each of the treebank")
    parser.add_argument(
        "--words", type=int, action="append", help=f"words of text (default: {', '.join(map(str, WORDS))})"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="another option of the students"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to (default: research/results)")
    parser.add_argument("--models", type=Path, default=ROOT / "models", help="missing models are trained")
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder of treebanks and encoders")
    options = parser.parse_args(arguments)
    setting = Setting(options.results.resolve(), options.models, options.data, training=options.training)
    changes = {key: yaml.safe_load(value) for key, _, value in (each.partition("=") for each in options.set)}
    texts, amounts = [path.resolve() for path in options.text], options.words or WORDS
    Config().with_overrides(changes)  # before hours of training
    for path in texts:
        if not path.is_file():
            raise FileError(str(path), "no such file")
    measure(setting, options.language, texts, amounts, options.share, changes)


if __name__ == "__main__":
    sys.exit(run_program(_run, None))
