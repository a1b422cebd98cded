"""``nonproj audit``: find errors in the annotation of a treebank."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nonproj.cli.common import check_outputs, reading_rules, worker_pool
from nonproj.cli.fitting import warn_of_misfit
from nonproj.cli.loading import load_model
from nonproj.cli.provenance import digest
from nonproj.cli.reading import Treebanks
from nonproj.cli.signals import heeding
from nonproj.cli.train import config_of
from nonproj.errors import ConfigError, DependencyError, FileError, counted, one_line
from nonproj.evaluation.suitability import first_sentences
from nonproj.io import conll
from nonproj.io.beside import check_no_links
from nonproj.io.checks import ReadingRules
from nonproj.io.columns import FEATS, LEMMA, UPOS
from nonproj.io.files import open_output
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.types import Sentence
from nonproj.workers.partial import JobLog, Record, file_digest, task_digest
from nonproj.workers.pool import in_order
from nonproj_workbench.audit.folds import Fold, predict_fold, read_predictions
from nonproj_workbench.audit.nuclei import variations
from nonproj_workbench.audit.output import marked, without_misc, write_table
from nonproj_workbench.audit.predictions import Prediction
from nonproj_workbench.audit.report import write_audit_report
from nonproj_workbench.audit.suspicions import KINDS, Suspicion, find_suspicions
from nonproj_workbench.validation import UNIVERSAL, UNIVERSAL_TAGS, Violation, check_level, violations

FOLDS = 5
"""Default number of folds; with a given model, number of tasks into which the work is divided."""

FEW = 500
"""Number of training sentences below which a warning is given: most suspicions are then false."""

LEAST = 50
"""Minimum number of training sentences: with fewer, nearly all suspicions are false."""

REPORT, TABLE, PARTIAL = "report.html", "suspicions.csv", "audit.partial"

log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Predict every sentence by a model that was not trained on it, and write the ranked suspicions."""
    for path in (*options.treebanks, *options.others):
        if not Path(path).is_file():
            raise FileError(path, "not a file; a file of a treebank is expected")
    model = _trained_before(options) if options.model else None
    config = model.config if model else _config(options)
    options.folds = options.folds or FOLDS
    folder = _checked_folder(options.output)
    marks = _outputs(options, folder)
    check_level(options.level or 0, options.language)
    treebanks, rules = Treebanks(options), reading_rules(options, require_heads=True)
    sentences, others = (
        [sentence for path in paths for sentence in treebanks.read_all(path, require_heads=True)]
        for paths in (options.treebanks, options.others)
    )
    _check(options, sentences, others)
    if model:
        warn_of_misfit(model, options.treebanks[0], first_sentences(sentences), None)
    folder.mkdir(exist_ok=True)
    broken = _violations(options, sentences)
    predictions = predict_all(options, config, rules, folder, sentences)
    varied = variations([*sentences, *others], len(sentences))
    found = find_suspicions(sentences, predictions, varied, broken)
    _write(options, folder, marks, sentences, predictions, found)
    for path in _temporary(options, folder):
        path.unlink(missing_ok=True)
    counts = ", ".join(f"{len(found[kind])} {kind}" for kind in KINDS if found[kind]) or "none"
    sys.stdout.write(f"suspicions: {counts}; see {one_line(str(folder / REPORT))}\n")
    return treebanks.report()


def _config(options: argparse.Namespace) -> Config:
    """Return the configuration of the models: nothing is held out, and there is no segmenter."""
    options.train, options.held_out = options.treebanks[0], "0"
    config = config_of(options)
    if config.treebank.silver:
        raise ConfigError("treebank.silver", "'nonproj audit' learns from annotated trees only")
    return dataclasses.replace(config, segmenter=dataclasses.replace(config.segmenter, epochs=0))


def _trained_before(options: argparse.Namespace) -> Model:
    """Return the given model; raise an error if it has learnt from an audited file."""
    for name in ("config", "parts", "tags", "encoder", "epochs", "seed", "set", "folds"):
        if getattr(options, name) not in (None, []):
            raise ConfigError(f"--{name}", "is about the training of models; --model names a trained one")
    model = load_model(options.model, options.treebanks[0])
    learnt = model.meta.get("data", {}).get("train_sha256")
    for path in options.treebanks:
        if learnt and learnt == digest(path):
            text = f"{one_line(options.model)} has learnt from {one_line(path)}, so it repeats its errors"
            raise ConfigError("--model", text)
    return model


def _checked_folder(output: str) -> Path:
    """Return the folder to write to; raise an error if it can be neither made nor written to."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise FileError(output, "this is a file; a folder is expected")
    parent = folder if folder.exists() else folder.absolute().parent
    if not parent.is_dir():
        raise FileError(output, f"cannot be made: there is no folder {str(parent)!r}")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise FileError(output, "cannot be written: permission denied")
    return folder


def _outputs(options: argparse.Namespace, folder: Path) -> list[Path]:
    """Return the path of the marked copy of each file; raise an error if another file has this path."""
    marks = [folder / Path(path).name.removesuffix(".gz") for path in options.treebanks]
    named = [folder / REPORT, folder / TABLE, *_temporary(options, folder), *marks]
    inputs: dict[str, str | None] = {f"treebank {path}": path for path in options.treebanks}
    inputs |= {f"file {path}": path for path in options.others}
    inputs |= {"configuration": options.config, "model": options.model}
    outputs: dict[str, str | None] = {f"output {path.name}": str(path) for path in named}
    if len(outputs) < len(named):
        raise ConfigError("TREEBANK", "two files have the same name; copies of both are written to one folder")
    for path in named:
        check_no_links(path, folder)
    check_outputs(outputs, inputs)
    return marks


def _temporary(options: argparse.Namespace, folder: Path) -> list[Path]:
    """Return the files that an interrupted run leaves: completed folds, and a checkpoint of each."""
    return [folder / PARTIAL, *(folder / f"fold{k + 1}.checkpoint" for k in range(options.folds))]


def _check(options: argparse.Namespace, sentences: Sequence[Sentence], others: Sequence[Sentence]) -> None:
    """Raise an error if there are too few sentences; warn of options that are valid, but probably mistakes."""
    if options.model:
        options.folds = min(FOLDS, len(sentences))
    elif options.folds < 2:
        raise ConfigError("--folds", "at least 2 are needed")
    elif options.folds > len(sentences):
        text = (
            f"{options.folds} folds need as many sentences, and the treebank has {counted(len(sentences), 'sentence')}"
        )
        raise ConfigError("--folds", f"{text}; --model names a trained model")
    learnt = len(sentences) - len(sentences) // options.folds + len(others)
    if learnt < LEAST and not options.model:
        text = f"each model would learn from {counted(learnt, 'sentence')}, and needs {LEAST} at least, better {FEW}"
        raise ConfigError("TREEBANK", f"{text}; name more files by --with, or a trained model by --model")
    if learnt < FEW and not options.model:
        text = "each model learns from about %d sentences, which are few: expect many false suspicions; "
        log.warning(text + "name more files by --with", learnt)
    known = {tuple(sentence.forms) for sentence in others}
    shared = sum(tuple(sentence.forms) in known for sentence in sentences)
    if shared > len(sentences) / 4:
        text = "has probably seen them" if options.model else "does not learn from them where it predicts them"
        log.warning(f"%d of %d sentences are in the files of --with, too; the model {text}", shared, len(sentences))
    columns = {"tags": range(UPOS, FEATS + 1), "lemmas": (LEMMA,), "labels": (7,)}
    for name, numbers in columns.items():
        if not any(row[column] != "_" for sentence in sentences for row in sentence.rows for column in numbers):
            log.warning("the treebank has no %s; they are not checked", name)


def _violations(options: argparse.Namespace, sentences: Sequence[Sentence]) -> list[Violation]:
    """Return the official validator's errors; none if it cannot check the treebank and no level is requested."""
    if options.level == 0:
        return []
    if options.level is None:
        tags = {row[UPOS] for sentence in sentences for row in sentence.rows}
        if not tags <= UNIVERSAL_TAGS:
            log.info("the tags are not those of Universal Dependencies; the official validator is omitted")
            return []
        try:
            check_level(UNIVERSAL, None)
        except DependencyError as error:
            log.warning("without the rules of Universal Dependencies: %s", error)
            return []
    return violations(sentences, options.level or UNIVERSAL, options.language)


# -- predictions -------------------------------------------------------------------------------------------------------


def predict_all(
    options: argparse.Namespace, config: Config, rules: ReadingRules, folder: Path, sentences: Sequence[Sentence]
) -> list[Prediction]:
    """Return the prediction of each sentence; completed folds are kept, and ``--resume`` continues after them."""
    if not options.resume:
        for path in _temporary(options, folder):
            path.unlink(missing_ok=True)
    paths, others = tuple(options.treebanks), tuple(options.others)
    checkpoints = [str(path) for path in _temporary(options, folder)[1:]]
    shared, given = (paths, others, rules, config, options.folds), (options.model or "", options.on_error)
    folds = [Fold(*shared, k, checkpoint, options.resume, *given) for k, checkpoint in enumerate(checkpoints)]
    with JobLog(folder / PARTIAL, _facts(options, config)) as partial, worker_pool(options) as pool:
        done = {record.task for record in partial.records()}
        left = [fold for fold in folds if task_digest(fold.number) not in done]
        if done:
            log.info("resuming: %d of %d folds are complete", len(folds) - len(left), len(folds))
        progress = _progress if pool.size == 1 else None
        calls = ((fold, progress) for fold in left)
        for fold, output in zip(left, in_order(pool, predict_fold, calls), strict=True):
            partial.append(Record(task_digest(fold.number), output, b"", {}))
            Path(fold.checkpoint).unlink(missing_ok=True)
        lines = (line for record in partial.records() for line in record.output.decode().splitlines())
        try:
            return read_predictions(lines, sentences)
        except (ValueError, KeyError, TypeError, IndexError):
            raise FileError(str(partial.path), "is damaged; remove it") from None


def _progress(items: Any, _: str) -> Iterator[Any]:
    """Yield the items, and heed signals."""
    return heeding(items)


def _facts(options: argparse.Namespace, config: Config) -> dict[str, Any]:
    """Return the properties that must be the same when an audit is resumed."""
    named: dict[str, Any] = {"--folds": options.folds, "--max-line": options.max_line}
    named["--on-error"] = options.on_error
    sections = dataclasses.asdict(config)
    named |= {
        f"{section}.{name}": value
        for section, own in sections.items()
        if isinstance(own, dict)
        for name, value in own.items()
    }
    named |= {name: value for name, value in sections.items() if not isinstance(value, dict)}
    digests = [[file_digest(path) for path in paths] for paths in (options.treebanks, options.others)]
    return {"model": file_digest(options.model) if options.model else "", "input": digests, "options": named}


# -- output ------------------------------------------------------------------------------------------------------------


def _write(
    options: argparse.Namespace,
    folder: Path,
    marks: Sequence[Path],
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
    found: dict[str, list[Suspicion]],
) -> None:
    """Write the page, the table and the marked copies."""
    title = f"Audit of {', '.join(Path(path).name for path in options.treebanks)}"
    with open_output(folder / REPORT) as stream:
        write_audit_report(stream, sentences, predictions, found, title, options.most)
    with open_output(folder / TABLE) as stream:
        write_table(stream, sentences, found)
    chosen = [each for ranked in found.values() for each in ranked[: options.most]]
    copies = marked(sentences, chosen)
    for given, path in zip(options.treebanks, marks, strict=True):
        own = [copy for copy, sentence in zip(copies, sentences, strict=True) if sentence.path == given]
        if without_misc(own):
            text = "%s: columns 9 and 10 are PHEAD and PDEPREL, so there is no place for marks; no copy is written"
            log.warning(text, one_line(given))
            continue
        with open_output(path) as stream:
            conll.write(((sentence, None) for sentence in own), stream)
