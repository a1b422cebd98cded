"""What the commands share: loading a model, decoding options, workers, progress."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable
from contextlib import nullcontext

from nonproj.errors import ModelError
from nonproj.model import Model
from nonproj.options.config import DecodingConfig
from nonproj.workers.pool import Cluster, InProcess, Processes


def load_model(path: str) -> Model:
    """Load a model for parsing; a checkpoint is an error."""
    model = Model.load(path)
    if "parser" not in model.weights:
        raise ModelError(f"{path}: a checkpoint, not a model; finish it with 'nonproj train ... --resume'")
    return model


def decoding_options(decoding: DecodingConfig, options: argparse.Namespace) -> DecodingConfig:
    """Return the model's decoding options, overridden by those of the command line."""
    names = ("projective", "single_root", "max_iterations", "max_words", "exact", "full")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return dataclasses.replace(decoding, **given)


def worker_pool(options: argparse.Namespace):
    """Return the context manager of the requested workers; it yields None where this process does all the work."""
    if getattr(options, "scheduler", None):
        return Cluster(options.scheduler)
    if getattr(options, "shards", None):
        return InProcess()
    return Processes(options.jobs) if getattr(options, "jobs", None) not in (None, 1) else nullcontext()


def progress_bar(options: argparse.Namespace) -> Callable:
    """Return ``progress(iterable, description)``, which shows a bar on a terminal and nothing elsewhere."""
    if options.quiet or not sys.stderr.isatty():
        return lambda items, description: items
    from tqdm import tqdm

    return lambda items, description: tqdm(items, description, leave=False, file=sys.stderr)
