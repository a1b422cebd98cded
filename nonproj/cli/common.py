"""Functions shared by the commands: reading rules, outputs, workers, progress."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any, BinaryIO, TextIO

from nonproj.cli.signals import heed, heeding
from nonproj.components.progress import clock
from nonproj.errors import FileError
from nonproj.io.checks import ReadingRules
from nonproj.io.files import OpenedInput, identity, is_direct, open_output
from nonproj.io.terminal import unescaped
from nonproj.workers.pool import InProcess, Workers

LINE_EVERY = 20.0
"""Seconds between two lines of progress, where standard error is no terminal."""


def worker_pool(options: argparse.Namespace) -> AbstractContextManager[Workers]:
    """Return the context manager of the requested workers, by default of this process alone."""
    if getattr(options, "scheduler", None):
        from nonproj.workers.cluster import Cluster  # imports asyncio, which other commands do not need

        return Cluster(options.scheduler, options.scheduler_timeout, heed)
    if getattr(options, "jobs", None) in (None, 1):
        return InProcess()
    from nonproj.workers.processes import Processes  # imports multiprocessing

    return Processes(options.jobs)


def optional_output(path: str | None) -> AbstractContextManager[TextIO | None]:
    """Return the context manager of an optional output; it yields None without a path."""
    return open_output(path) if path else nullcontext()


def reading_rules(options: argparse.Namespace, **rules: bool) -> ReadingRules:
    """Return the rules for reading treebanks given by the command line."""
    limit = {"max_line": options.max_line} if options.max_line else {}
    return ReadingRules(**limit, **rules)


def check_outputs(outputs: Mapping[str, str | None], inputs: Mapping[str, str | None], replaceable: str = "") -> None:
    """Raise an error if an output is also an input or another output.

    Parameters
    ----------
    outputs, inputs : mapping of str to str or None
        From the role of a file to its path; ``-`` is standard output or input.
    replaceable : str
        Role of the input that the first output may replace, unless that is a descriptor, a device or a pipe.
    """
    known = {identity(path, 0): name for name, path in inputs.items() if path}
    for name, path in outputs.items():
        if not path or (place := identity(path, 1)) is None:
            continue
        if place in known and (known[place] != replaceable or path == "-" or is_direct(path)):
            raise FileError("<stdout>" if path == "-" else path, f"{name} is the same file as the {known[place]}")
        known[place], replaceable = name, ""


def progress_bar(options: argparse.Namespace, source: OpenedInput | None = None) -> Callable[..., Any]:
    """Return ``progress(iterable, description)``, which checks for signals and shows a bar on a terminal, else lines.

    If ``source``, the result of `open_input`, is a file, the bar shows the share of it that has been read.
    """
    if options.quiet:
        return lambda items, description: heeding(items)
    if not sys.stderr.isatty():
        return lambda items, description: _by_lines(heeding(items), description)
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # else a thread, with which workers cannot be forked
    bar = partial(tqdm, leave=False, file=unescaped(sys.stderr))
    if source is not None:
        with suppress(OSError, AttributeError):
            facts = os.fstat(source.stream.fileno())
            if stat.S_ISREG(facts.st_mode):
                bar = partial(bar, total=facts.st_size, unit="B", unit_scale=True)
                return lambda items, description: heeding(_by_bytes(items, source.stream, bar(desc=description)))
    return lambda items, description: heeding(bar(items, description))


def _by_lines(items: Iterable[Any], description: str) -> Iterator[Any]:
    """Yield the items, and write their number to standard error from time to time."""
    began = written = time.monotonic()
    for count, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - written > LINE_EVERY:
            written = now
            sys.stderr.write(f"{description}: {count:,} done after {clock(now - began)}\n")
            sys.stderr.flush()


def _by_bytes(items: Iterable[Any], stream: BinaryIO, bar: Any) -> Iterator[Any]:
    """Yield the items, and show the position in the stream they are read from."""
    with bar:
        for item in items:
            yield item
            if not stream.closed:
                bar.update(stream.tell() - bar.n)
