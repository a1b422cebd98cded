"""``nonproj train``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from nonproj.cli.arguments import with_values
from nonproj.cli.common import check_outputs, progress_bar
from nonproj.cli.provenance import digest, name_and_licence, provenance
from nonproj.cli.reading import Treebanks
from nonproj.cli.training_progress import log_file, training_progress
from nonproj.components.base import RunOptions
from nonproj.components.continuing import continued_config
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, FileError, counted, one_line
from nonproj.evaluation.calibration import judge
from nonproj.evaluation.card import calibration_of_test, figures_of_test
from nonproj.evaluation.parsing import WARM_UP, evaluate_parser, tested_tags
from nonproj.io.beside import check_no_links
from nonproj.io.files import check_folder, is_direct
from nonproj.io.temporary import reserved
from nonproj.learning.corpus import RELATED, SILVER, Auxiliary
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.options.sections import TreebankConfig
from nonproj.pipeline.parser import Parser
from nonproj.text.lexicon import UserLexicon
from nonproj.types import Sentence
from nonproj.workers.processes import cores

EXIT_INTERRUPTED = 130
log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Train a model; Ctrl-C saves the last complete epoch, and ``--resume`` continues from it."""
    start = Model.load_trained(options.start) if options.start else None
    config = config_of(options, start)
    files = {"train": options.train or config.treebank.train, "test": options.test or config.treebank.test}
    if not files["train"]:
        raise ConfigError("treebank.train", "no training file; name a treebank")
    if config.treebank.silver and options.related:
        raise ConfigError("treebank.silver", "excludes related treebanks")
    jobs = cores() if options.jobs == -1 else options.jobs or min(2, cores())
    options = with_values(options, **files, jobs=jobs)
    output, checkpoint = outputs(options, config)
    record = f"{output}.log" if checkpoint and not options.quiet else None
    with reserved(output) if checkpoint else contextlib.nullcontext(), log_file(record, options.resume):
        return _run(options, config, output, checkpoint, start)


def _run(
    options: argparse.Namespace, config: Config, output: Path, checkpoint: Path | None, start: Model | None
) -> int:
    """Train a model on a treebank, and evaluate it on a test file."""
    path, treebanks, partial = options.train, Treebanks(options), config.treebank.partial
    own = {"require_heads": partial == "none", "ignore_heads": partial == "misc"}
    lexicon = UserLexicon.of(options.lexicon)
    sentences, held_out = _hold_out(treebanks, treebanks.read_all(path, **own), config.treebank.held_out, own)
    # These files are read now, to report errors before the training.
    silver, test = (treebanks.read_all(name, require_heads=True) for name in (config.treebank.silver, options.test))
    log.info("training on %s of %s", _size(sentences), one_line(path))
    if start:
        log.info("continuing %s", one_line(options.start))
    if silver:
        log.info("and on %s, parsed automatically: %s", _size(silver), one_line(str(config.treebank.silver)))
        auxiliary = Auxiliary(silver, SILVER)
    else:
        auxiliary = Auxiliary(_others(treebanks, path, options.related, [*sentences, *held_out, *test]), RELATED)
    words = sum(map(len, chain(sentences, auxiliary.sentences)))
    with resumable(checkpoint, options.resume), training_progress(options, config, words) as progress:
        run = RunOptions(checkpoint, options.resume, progress, options.jobs)
        model = train(sentences, config, held_out=held_out, auxiliary=auxiliary, start=start, run=run)
    known = start.loaded(UserLexicon) if start else None
    if lexicon := lexicon.over(known) if lexicon else known:
        model.add_component(UserLexicon.name, lexicon.state())
    _name_sources(model.meta, options, config)
    model.meta |= provenance(config, path, options.test, len(held_out))
    model.save(output)
    if not options.quiet:
        details = f"; details are in {output}.log" if checkpoint else ""
        sys.stderr.write(f"wrote {one_line(str(output))}{one_line(details)}\n")
    if model.meta["interrupted"]:
        _say_how_to_resume(checkpoint)
        return EXIT_INTERRUPTED
    if checkpoint:
        checkpoint.unlink(missing_ok=True)
    if test:
        evaluate_on(model, test, progress_bar(options))
        if checkpoint:  # without one, the output is a device or a pipe and cannot be rewritten
            model.save(output)
    return treebanks.report()


def _name_sources(meta: dict[str, Any], options: argparse.Namespace, config: Config) -> None:
    """Record the names of texts, teacher, related treebanks and continued model in the training history."""
    if "silver" in meta:
        texts = getattr(options, "texts", None) or [str(config.treebank.silver)]
        meta["silver"] |= {"texts": ", ".join(Path(text).name for text in texts)}
        meta["silver"] |= {"teacher": Path(options.teacher).name} if "teacher" in options else {}
    if "related" in meta:
        meta["related"] |= {"treebanks": "; ".join(map(name_and_licence, options.related))}
    if "continued" in meta:
        meta["continued"] |= {"model": Path(options.start).name, "sha256": digest(options.start)}


def _others(treebanks: Treebanks, own: str, paths: Sequence[str], others: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences of related treebanks, except those that are also in other files."""
    known, found = {tuple(sentence.forms) for sentence in others}, list[Sentence]()
    for path in paths:
        if path == own or (Path(path).exists() and Path(own).exists() and os.path.samefile(path, own)):
            raise ConfigError("--related", f"{one_line(path)} is the treebank itself")
        read = treebanks.read_all(path, require_heads=True)
        kept = [sentence for sentence in read if tuple(sentence.forms) not in known]
        log.info("and on %s of %s", _size(kept), one_line(path))
        if len(kept) < len(read):
            log.info("%d sentences of %s are left out: they are in other files", len(read) - len(kept), one_line(path))
        found += kept
    return found


def _size(sentences: Sequence[Sentence]) -> str:
    """Return the numbers of sentences and words."""
    return f"{counted(len(sentences), 'sentence')}, {counted(sum(map(len, sentences)), 'word')}"


@contextlib.contextmanager
def resumable(checkpoint: Path | None, resume: bool) -> Iterator[None]:
    """Log how to resume, if training is interrupted in a component, before there is a model."""
    before = _version(checkpoint)
    try:
        yield
    except KeyboardInterrupt:
        if resume or _version(checkpoint) != before:
            _say_how_to_resume(checkpoint)
        raise


def _version(path: Path | None) -> int | None:
    """Return the modification time of a file, None if there is none."""
    return path.stat().st_mtime_ns if path and path.exists() else None


def _say_how_to_resume(checkpoint: Path | None) -> None:
    if checkpoint and checkpoint.exists():
        log.warning("kept %s; continue with the same command and --resume", one_line(str(checkpoint)))


def evaluate_on(model: Model, test: list[Sentence], progress: Callable[..., Any] | None) -> None:
    """Evaluate a model on a test file, print the table, and record it in the model."""
    parser = Parser(model, tags=tested_tags(model.config))
    parses: list[Any] = []
    evaluation = evaluate_parser(parser, test, warm_up=WARM_UP, progress=progress, on_parse=parses.append)
    sys.stdout.write(evaluation.table())
    tags = "from the file; missing ones are predicted" if parser.request.tags == "missing" else "predicted"
    model.meta["test"] = figures_of_test(evaluation.as_dict()) | {"tags": tags}
    if all(parse.confidence is not None for parse in parses):
        model.meta["calibration"] = calibration_of_test(judge(zip(test, parses, strict=True)))


def outputs(options: argparse.Namespace, config: Config) -> tuple[Path, Path | None]:
    """Return the paths of model and checkpoint, neither of them an input; a device or a pipe has no checkpoint."""
    output = Path(options.output)
    if options.output == "-":
        raise FileError("-", "a model needs a file name")
    if not output.parent.is_dir():
        raise FileError(options.output, f"cannot be written: there is no folder {str(output.parent)!r}")
    if output.is_dir():
        raise FileError(options.output, "cannot be written: this is a folder, a file is expected")
    if not is_direct(output):
        check_folder(output)
    checkpoint = None if is_direct(output) else Path(f"{options.output}.checkpoint")
    held_out, folder = config.treebank.held_out, config.features.folder
    inputs = {"treebank": options.train, "configuration": options.config, "test file": options.test}
    inputs |= {"model to continue": options.start, "lexicon": options.lexicon}
    inputs["held-out file"] = held_out if isinstance(held_out, str) else None
    inputs["automatically parsed file"] = config.treebank.silver
    inputs |= {f"related treebank {number}": name for number, name in enumerate(options.related, 1)}
    inputs |= {f"template file {path.name}": str(path) for path in Path(folder or os.devnull).glob("*")}
    beside = {"checkpoint": str(checkpoint), "log": f"{options.output}.log"} if checkpoint else {}
    for path in beside.values():
        check_no_links(path, os.path.dirname(options.output))
    check_outputs({"model": options.output, **beside}, inputs)
    return output, checkpoint


def config_of(options: argparse.Namespace, start: Model | None = None) -> Config:
    """Return the configuration, or that of a continued model, with the command line's overrides."""
    overrides = {}
    for text in options.set:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(key, "section.key=value is expected after --set")
        overrides[key.strip()] = value.strip()
    named = {
        "parts": options.parts,
        "seed": options.seed,
        "training.epochs": options.epochs,
        "training.tags": options.tags,
        "treebank.held_out": options.held_out,
        "encoder.folder": options.encoder,
    }
    overrides |= {key: value for key, value in named.items() if value is not None}
    if start and options.config:
        raise ConfigError("--config", "excludes --from: the options are those of the model; --set changes some")
    config = Config.load(options.config) if options.config else continued_config(start) if start else Config()
    if options.train:  # the configuration's files belong to another treebank
        share = config.treebank.held_out
        share = TreebankConfig().held_out if isinstance(share, str) else share
        treebank = dataclasses.replace(config.treebank, train=None, test=None, held_out=share)
        config = dataclasses.replace(config, treebank=treebank)
    return config.with_overrides(overrides, text=True)


def _hold_out(
    treebanks: Treebanks, sentences: list[Sentence], wanted: str | float, rules: dict[str, bool]
) -> tuple[list[Sentence], list[Sentence]]:
    """Return training sentences and held-out ones: the last share of the training file, or another file."""
    if isinstance(wanted, str):
        return sentences, treebanks.read_all(wanted, **rules)
    if wanted and len(sentences) == 1:
        raise ConfigError("treebank.held_out", "there is one sentence only, to learn from")
    kept = len(sentences) - (max(1, int(len(sentences) * wanted)) if wanted else 0)
    return sentences[:kept], sentences[kept:]
