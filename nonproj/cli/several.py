"""``nonproj parse`` by workers, of one file, or of several into a folder: one pool parses all of them."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from nonproj.cli.common import optional_output, progress_bar, worker_pool
from nonproj.cli.targets import ParseTarget
from nonproj.errors import FileError, one_line
from nonproj.evaluation.certificates import ParseLog, ParseRecord, TextOptions
from nonproj.io.broken import MalformedUnit
from nonproj.io.files import OpenedInput
from nonproj.io.tables import open_table
from nonproj.io.temporary import reason
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.workers.parsing import ModelRef, ParsedPiece, PieceJoiner, keep, parse_tasks, tasks_and_ends
from nonproj.workers.pool import InProcess

log = logging.getLogger("nonproj")


def parse(
    options: argparse.Namespace,
    model: Model,
    decoding: DecodingConfig,
    text: TextOptions,
    source: OpenedInput | None = None,
) -> ParseLog:
    """Parse files; each output appears when it is complete, and an error leaves those of the files before it.

    ``source`` is the only file; None if there are several.
    """
    targets = options.targets or [ParseTarget(options.input, options.output)]
    reference = ModelRef.of(options.model, decoding, options.tags, bool(options.proofs))
    keep(reference, model)
    workers: Any = worker_pool(options)
    statistics, proofs = (optional_output(path) for path in (options.stats, options.proofs))
    tasks = ((end, task) for target in targets for task, end in tasks_and_ends(source or target.source, text))
    totals, progress = ParseLog(None), progress_bar(options, source)
    with InProcess() if isinstance(workers, nullcontext) else workers as pool, statistics as lines, proofs as proved:
        results = parse_tasks(pool, reference, tasks, text)
        for target in targets:
            counts = ParseLog(lines, proved)
            if options.targets:
                make_folder(os.path.dirname(target.output))
            with open_table(target.output, options.format) as stream:
                for record in progress(_written(results, stream, PieceJoiner(text.plain is not None)), "parse"):
                    counts.add(record)
            totals.extend(counts)
            if options.targets:
                report(target, counts)
    return totals


def _written(
    results: Iterator[tuple[bool, ParsedPiece]], stream: Any, joined: PieceJoiner
) -> Iterator[ParseRecord | MalformedUnit]:
    """Write the pieces of one file, and yield their records."""
    for is_end, parsed in results:
        stream.write(joined.add(parsed))
        yield from parsed.records
        if parsed.error:
            raise parsed.error
        if is_end:
            return


def make_folder(folder: str) -> None:
    """Make a folder that outputs are written to, unless it exists."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(folder, f"cannot be made: {reason(error)}") from None


def report(target: ParseTarget, counts: ParseLog) -> None:
    """Say that a file is finished."""
    log.info("%s: %d sentences, %d words", one_line(target.output), counts.sentences, counts.words)


def summarise(options: argparse.Namespace, totals: ParseLog) -> None:
    """Write a line about all files to standard error."""
    if not options.quiet:
        count = len(options.targets)
        files = f"{count:,} file{'s' * (count != 1)}"
        figures = f"{totals.sentences:,} sentences, {totals.words:,} words"
        sys.stderr.write(f"{files} in {one_line(options.output)}: {figures}\n")
