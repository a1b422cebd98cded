"""``nonproj train``."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from nonproj.cli.common import progress_bar, worker_pool
from nonproj.errors import ConfigError, FileError
from nonproj.evaluation.parsing import WARM_UP, evaluate_parser
from nonproj.io import conll
from nonproj.learning.trainer import train
from nonproj.options.config import Config
from nonproj.pipeline import Parser
from nonproj.types import Sentence

EXIT_INTERRUPTED = 130
log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Train a model; Ctrl-C saves the last complete epoch, and ``--resume`` continues from it."""
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
    test = list(conll.read(test, require_heads=True)) if test else []  # read now, to report errors before the training
    log.info("training on %d sentences, %d words of %s", len(sentences), sum(map(len, sentences)), path)
    progress = progress_bar(options)
    with worker_pool(options) as workers:
        model = train(
            sentences,
            config,
            held_out=held_out,
            checkpoint=checkpoint,
            resume=options.resume,
            progress=progress,
            workers=workers,
            shards=options.shards,
        )
    model.save(output)
    log.info("%s is written, %.1f MB", output, output.stat().st_size / 1e6)
    if model.meta["interrupted"]:
        log.warning("%s is kept; the same command with --resume continues from it", checkpoint)
        return EXIT_INTERRUPTED
    checkpoint.unlink(missing_ok=True)
    if test:
        sys.stdout.write(evaluate_parser(Parser(model), test, warm_up=WARM_UP, progress=progress).table())
    return 0


def _config(options: argparse.Namespace) -> Config:
    """Return the configuration, overridden by the command-line options."""
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
    """Return training and held-out sentences: the last share of the training file, or another file."""
    if isinstance(wanted, str):
        return sentences, list(conll.read(wanted, require_heads=True))
    kept = len(sentences) - int(len(sentences) * wanted)
    return sentences[:kept], sentences[kept:]
