"""Progress of ``nonproj train`` on standard error; details are in a file beside the model."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from typing import Any, cast

from nonproj.cli.common import progress_bar
from nonproj.cli.signals import heeding
from nonproj.components.progress import TrainingProgress, expected_times
from nonproj.io.beside import open_beside
from nonproj.options.config import Config

log = logging.getLogger("nonproj")


@contextlib.contextmanager
def training_progress(options: argparse.Namespace, config: Config, words: int) -> Iterator[Callable[..., Any]]:
    """Show the progress of training inside the context; yields ``progress(iterable, description)``.

    With ``--verbose`` or ``--quiet`` it is shown as by other commands.
    """
    if options.verbose or options.quiet or options.command != "train":
        yield progress_bar(options)
        return
    shown = TrainingProgress(expected_times(config, words, options.jobs), sys.stderr)
    handlers = list(log.handlers)
    for handler in handlers:  # behind this one, which makes room for their messages
        log.removeHandler(handler)
    for handler in (shown, *handlers):
        log.addHandler(handler)
    try:
        yield lambda items, description: shown.wrap(heeding(items), description)
    finally:
        shown.clear()
        log.removeHandler(shown)


class _LogFile(logging.FileHandler):
    """A log whose name is derived from that of the model."""

    def _open(self) -> TextIOWrapper:
        stream = open(self.baseFilename, self.mode, encoding=self.encoding, opener=open_beside)  # noqa: SIM115
        return cast(TextIOWrapper, stream)


@contextlib.contextmanager
def log_file(path: str | None, resumed: bool) -> Iterator[None]:
    """Inside the context, write all messages to a file, too; a resumed training appends to it.

    The file is made by the first message, when all inputs have been read.
    """
    if path is None:
        yield
        return
    level, handler = log.level, _LogFile(path, "a" if resumed else "w", "utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    handler.setLevel(min(level, logging.INFO))
    log.addHandler(handler)
    log.setLevel(min(level, logging.INFO))
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        handler.close()
