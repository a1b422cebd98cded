"""What each command of the command line does; `nonproj.cli.main` reads the arguments and handles what goes wrong."""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import numpy as np

from nonproj.errors import ConfigError, FileError, ModelError
from nonproj.evaluation import scores as evaluation
from nonproj.io import conll
from nonproj.io.files import open_output
from nonproj.learning.trainer import train as train_model
from nonproj.model import Model
from nonproj.options.config import Config, DecodingConfig
from nonproj.pipeline import BATCH, Parser
from nonproj.types import Sentence
from nonproj.workers import parsing as parallel
from nonproj.workers import pool as engine

EXIT_INTERRUPTED = 130
log = logging.getLogger("nonproj")


# -- train -------------------------------------------------------------------------------------------------------------


def train(options: argparse.Namespace) -> int:
    """``nonproj train``: the last whole epoch is saved even after Ctrl-C, and can be gone on from."""
    config = _config(options)
    output, checkpoint = Path(options.output), Path(f"{options.output}.checkpoint")
    if not output.parent.is_dir():
        raise FileError(options.output, f"cannot be written: there is no folder {str(output.parent)!r}")
    if output.is_dir():
        raise FileError(options.output, "cannot be written: this is a folder, a file is expected")
    path = options.train or config.treebank.train
    if not path:
        raise ConfigError("treebank.train", "there is nothing to train on; name a treebank")
    sentences = list(conll.read(path, require_heads=True))
    sentences, held_out = _hold_out(sentences, config.treebank.held_out)
    test = options.test or config.treebank.test
    test = list(conll.read(test, require_heads=True)) if test else []  # now, so that a fault shows before the training
    log.info("training on %d sentences, %d words of %s", len(sentences), sum(map(len, sentences)), path)
    with _workers(options) as workers:
        model = train_model(
            sentences,
            config,
            held_out=held_out,
            checkpoint=checkpoint,
            resume=options.resume,
            progress=_progress(options),
            workers=workers,
            shards=options.shards,
        )
    model.save(output)
    log.info("%s is written, %.1f MB", output, output.stat().st_size / 1e6)
    if model.meta["interrupted"]:
        log.warning("%s is kept; the same command with --resume goes on from it", checkpoint)
        return EXIT_INTERRUPTED
    checkpoint.unlink(missing_ok=True)
    if test:
        sys.stdout.write(_measure(Parser(model), test, _progress(options)).table())
    return 0


def _config(options: argparse.Namespace) -> Config:
    """The configuration file, and what the command line has in place of it."""
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
        "treebank.held_out": options.held_out,
    }
    overrides |= {key: value for key, value in named.items() if value is not None}
    config = Config.load(options.config) if options.config else Config()
    return config.with_overrides(overrides)


def _hold_out(sentences: list[Sentence], wanted: str | float) -> tuple[list[Sentence], list[Sentence]]:
    """Split off a share of the sentences, the last ones; or read another file."""
    if isinstance(wanted, str):
        return sentences, list(conll.read(wanted, require_heads=True))
    kept = len(sentences) - int(len(sentences) * wanted)
    return sentences[:kept], sentences[kept:]


def _progress(options: argparse.Namespace):
    """Return ``progress(iterable, description)``: a bar on a terminal, and nothing elsewhere."""
    if options.quiet or not sys.stderr.isatty():
        return lambda items, description: items
    from tqdm import tqdm

    return lambda items, description: tqdm(items, description, leave=False, file=sys.stderr)


# -- parse -------------------------------------------------------------------------------------------------------------


def parse(options: argparse.Namespace) -> int:
    """``nonproj parse``: sentence by sentence; what it writes takes its name only when it is complete."""
    _check_statistics(options)
    model = _model(options)
    begin = time.perf_counter()
    statistics = open_output(options.stats) if options.stats else nullcontext()
    with _workers(options) as workers, open_output(options.output) as stream, statistics as lines:
        notes = Notes(lines)
        if workers:
            recipe = parallel.Recipe.of(options.model, _decoding(model.config.decoding, options))
            facts = parallel.parse_text(workers, recipe, options.input, stream, options.stats_comments)
            for fact in _progress(options)(facts, "parse"):
                notes.add(fact)
        else:
            parser = Parser(model, _decoding(model.config.decoding, options))
            flush = [s for s in (stream, lines) if s and options.input == "-"]
            # What comes through a pipe is answered sentence by sentence.
            batch, faults = BATCH if os.path.isfile(options.input) else 1, []
            sentences = parallel.until_fault(conll.read(options.input), faults)
            parses = parser.parse_all(_progress(options)(sentences, "parse"), batch)
            conll.write(_flushed(parallel.annotated(parses, options.stats_comments, notes.add), flush), stream)
            if faults:
                raise faults[0]
    seconds = time.perf_counter() - begin
    text = "%d sentences, %d words, %.2f s; %d trees are provably the best over their candidate arcs"
    log.info(text, notes.sentences, notes.words, seconds, notes.certified)
    if notes.full:
        log.info("%d of them over all arcs; pruning had hidden %d of the trees", notes.full, notes.changed)
    return 0


class Notes:
    """Counts sentences, and writes what is known of each as a line of JSON."""

    def __init__(self, lines: TextIO | None):
        self.lines = lines
        self.sentences = self.words = self.certified = self.full = self.changed = 0

    def add(self, fact: tuple[str, int, int, dict]) -> None:
        """Take the path, line, words and statistics of a sentence."""
        path, line, words, facts = fact
        self.sentences += 1
        self.words += words
        self.certified += facts["certified"]
        self.full += facts["full"] and facts["certified"]
        self.changed += facts["changed"]
        if self.lines:
            place = {"sentence": self.sentences, "path": path, "line": line, "words": words}
            self.lines.write(json.dumps(place | facts, ensure_ascii=False) + "\n")


def _flushed(items: Iterable, streams: list[TextIO]) -> Iterator:
    """Flush after each item is written, so that a pipe is answered at once."""
    for item in items:
        yield item
        for stream in streams:
            stream.flush()


def _workers(options: argparse.Namespace):
    """The workers that were asked for; none where this process does it all."""
    if getattr(options, "scheduler", None):
        return engine.Cluster(options.scheduler)
    if getattr(options, "shards", None):
        return engine.Here()
    return engine.Processes(options.jobs) if getattr(options, "jobs", None) not in (None, 1) else nullcontext()


def _model(options: argparse.Namespace) -> Model:
    """Load the model that is to parse."""
    model = Model.load(options.model)
    if "parser" not in model.weights:
        raise ModelError(f"{options.model}: a checkpoint, not a model; finish it by 'nonproj train ... --resume'")
    return model


def _decoding(decoding: DecodingConfig, options: argparse.Namespace) -> DecodingConfig:
    names = ("projective", "single_root", "max_iterations", "exact", "full")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if given.get("max_iterations", 1) < 1:
        raise ConfigError("decoding.max_iterations", f"{options.max_iterations} is not a positive integer")
    return dataclasses.replace(decoding, **given)


def _check_statistics(options: argparse.Namespace) -> None:
    """Refuse statistics that would overwrite the input or run into the output; a device may be written twice."""
    wanted = options.stats
    if wanted == options.output == "-":
        raise FileError("<stdout>", "--stats is the same file as the output")
    if not wanted or wanted == "-" or (os.path.exists(wanted) and not os.path.isfile(wanted)):
        return
    for name in ("output", "input"):
        other = getattr(options, name)
        if other != "-" and os.path.realpath(wanted) == os.path.realpath(other):
            raise FileError(wanted, f"--stats is the same file as the {name}")


# -- evaluate ----------------------------------------------------------------------------------------------------------


def evaluate(options: argparse.Namespace) -> int:
    """``nonproj evaluate``: of a parsed file, or of a model."""
    if options.model:
        result = _evaluate_model(options)
    else:
        result = evaluation.evaluate(conll.read(options.gold, require_heads=True), conll.read(options.system))
    sys.stdout.write(json.dumps(result.as_dict(), indent=2) + "\n" if options.json else result.table())
    return 0


def _evaluate_model(options: argparse.Namespace) -> evaluation.Evaluation:
    """Parse and evaluate, by workers or here."""
    model = _model(options)
    decoding = _decoding(model.config.decoding, options)
    with _workers(options) as workers:
        if workers:
            recipe = parallel.Recipe.of(options.model, decoding)
            return parallel.evaluate_text(workers, recipe, options.gold, _progress(options))
        return _measure(Parser(model, decoding), conll.read(options.gold, require_heads=True), _progress(options))


def _measure(parser: Parser, gold: Iterable[Sentence], progress) -> evaluation.Evaluation:
    """Parse and evaluate; only parsing is timed, and not the first sentences, which are parsed twice."""
    gold = iter(gold)
    first = list(islice(gold, parallel.WARM_UP))
    for sentence in first:
        parser.parse(sentence)
    result, seconds = evaluation.Evaluation(), 0.0
    stream = iter(progress(chain(first, gold), "evaluate"))
    while group := list(islice(stream, BATCH)):
        begin = time.perf_counter()
        parses = list(parser.parse_all(group))
        seconds += time.perf_counter() - begin
        for sentence, parse in parses:
            result.add(sentence, parse.decoded.heads, parse.labels, parse.decoded)
    result.seconds = seconds
    return result


# -- inspect -----------------------------------------------------------------------------------------------------------


def inspect(options: argparse.Namespace) -> int:
    """``nonproj inspect``: what a model is made of."""
    model = Model.verify(options.model) if options.verify else Model.load(options.model)
    facts = describe(model)
    facts["verified"] = True if options.verify else None
    if options.json:
        sys.stdout.write(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(_as_text(options.model, facts))
    return 0


def describe(model: Model) -> dict:
    """Return what a model is made of, as plain numbers and strings."""
    return {
        "config": model.config.as_dict(),
        "weights": {
            name: {
                "entries": table.size,
                "megabytes": table.nbytes / 1e6,
                "nonzero": float(np.count_nonzero(table) / max(table.size, 1)),
            }
            for name, table in model.weights.items()
        },
        "alphabets": {name: len(strings) for name, strings in model.alphabets.items()},
        "labels": len(model.labels),
        "templates": {name: len(spec["templates"]) for name, spec in model.templates.items()},
        "training": model.meta,
    }


def _as_text(path: str, facts: dict) -> str:
    """Lay the description of a model out as plain text."""
    meta = dict(facts["training"])
    lines = [f"{path}: {', '.join(facts['config']['parts'])}"]
    if facts["verified"]:
        lines.append("checksums are right")
    lines += ["", "weights"]
    for name, table in facts["weights"].items():
        share = f"{100 * table['nonzero']:.1f} % are not zero"
        lines.append(f"  {name:<20}{table['entries']:>12} {table['megabytes']:>8.1f} MB   {share}")
    lines += ["", "strings known"]
    lines += [f"  {name:<20}{size:>12}" for name, size in (facts["alphabets"] | {"labels": facts["labels"]}).items()]
    lines += ["", "templates"]
    lines += [f"  {name:<20}{size:>12}" for name, size in facts["templates"].items()]
    lines += ["", "configuration"]
    lines += [f"  {name:<34}{_short(value)}" for name, value in _flat(facts["config"])]
    epochs = meta.pop("log", [])
    lines += ["", "training"]
    lines += [f"  {name:<34}{_short(value)}" for name, value in _flat(meta)]
    if epochs:
        columns = list(epochs[-1])
        lines += ["", "".join(f"{name:>12}" for name in columns)]
        lines += ["".join(f"{_short(epoch.get(name)):>12}" for name in columns) for epoch in epochs]
    return "\n".join(lines) + "\n"


def _flat(values: dict, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Give nested entries by their dotted names."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)
