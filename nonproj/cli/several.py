"""``nonproj parse`` by workers, of one file, or of several into a folder: one pool parses all of them."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

from nonproj.cli.common import optional_output, progress_bar, worker_pool
from nonproj.cli.targets import ParseTarget
from nonproj.errors import FileError, counted, one_line
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
    options: argparse.Namespace, model: Model, decoding: DecodingConfig, text: TextOptions, source: OpenedInput
) -> ParseLog:
    """Parse files; each output appears when it is complete, and an error leaves those of the files before it.

    ``source`` is the first file.
    """
    reference = ModelRef.of(options.model, decoding, options.tags, bool(options.proofs))
    keep(reference, model)
    statistics, proofs = (optional_output(path) for path in (options.stats, options.proofs))
    sources = [source, *(target.source for target in options.targets[1:])]
    tasks = ((end, task) for each in sources for task, end in tasks_and_ends(each, text))
    totals, progress = ParseLog(None), progress_bar(options, None if options.to_folder else source)
    with worker_pool(options) as pool, statistics as lines, proofs as proved:
        results = parse_tasks(pool or InProcess(), reference, tasks, text)
        for target in options.targets:
            counts = ParseLog(lines, proved)
            if options.to_folder:
                make_folder(os.path.dirname(target.output))
            with open_table(target.output, options.format) as stream:
                written = _written(results, stream, target.document, PieceJoiner(text.plain is not None))
                for record in progress(written, "parse"):
                    counts.add(record)
            totals.extend(counts)
            if options.to_folder:
                report(target, counts)
    return totals


def _written(
    results: Iterator[tuple[bool, ParsedPiece]], stream: Any, document: str, joined: PieceJoiner
) -> Iterator[ParseRecord | MalformedUnit]:
    """Write the pieces of one file, and yield their records."""
    for is_end, parsed in results:
        stream.write(joined.add(parsed, document))
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
    figures = counted(counts.sentences, "sentence"), counted(counts.words, "word")
    log.info("%s: %s, %s", one_line(target.output), *figures)


def summarise(options: argparse.Namespace, totals: ParseLog) -> None:
    """Write a line about all files to standard error."""
    if not options.quiet:
        files = counted(len(options.targets), "file", ",")
        figures = f"{counted(totals.sentences, 'sentence', ',')}, {counted(totals.words, 'word', ',')}"
        sys.stderr.write(f"{files} in {one_line(options.output)}: {figures}\n")
