"""``nonproj parse``."""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import TextIO

from nonproj.cli.common import decoding_options, load_model, progress_bar, worker_pool
from nonproj.errors import FileError
from nonproj.evaluation.certificates import ParseLog, annotate
from nonproj.io import conll
from nonproj.io.files import open_output
from nonproj.pipeline import BATCH, Parser
from nonproj.workers.parsing import ModelRef, parse_text

log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Parse a file or a stream; the output is renamed to its final name when it is complete."""
    _check_statistics(options)
    model = load_model(options.model)
    decoding = decoding_options(model.config.decoding, options)
    start = time.perf_counter()
    statistics = open_output(options.stats) if options.stats else nullcontext()
    with worker_pool(options) as workers, open_output(options.output) as stream, statistics as lines:
        totals = ParseLog(lines)
        if workers:
            reference = ModelRef.of(options.model, decoding)
            records = parse_text(workers, reference, options.input, stream, options.stats_comments)
            for record in progress_bar(options)(records, "parse"):
                totals.add(record)
        else:
            _parse_here(Parser(model, decoding), options, stream, totals)
    seconds = time.perf_counter() - start
    text = "%d sentences, %d words, %.2f s; %d trees are provably the best over their candidate arcs"
    log.info(text, totals.sentences, totals.words, seconds, totals.certified)
    if totals.full:
        log.info("%d of them over all arcs; pruning had hidden %d of the trees", totals.full, totals.changed)
    return 0


def _parse_here(parser: Parser, options: argparse.Namespace, stream: TextIO, totals: ParseLog) -> None:
    """Parse in this process: a file in batches, a pipe sentence by sentence, flushing after each."""
    batch, errors = BATCH if os.path.isfile(options.input) else 1, []
    sentences = conll.until_error(conll.read(options.input), errors)
    parses = parser.parse_all(progress_bar(options)(sentences, "parse"), batch)
    items = annotate(parses, options.stats_comments, totals.add)
    if options.input == "-":
        items = _flushed(items, [s for s in (stream, totals.stream) if s])
    conll.write(items, stream)
    if errors:
        raise errors[0]


def _flushed(items: Iterable, streams: list[TextIO]) -> Iterator:
    """Yield the items, and flush after each is written."""
    for item in items:
        yield item
        for stream in streams:
            stream.flush()


def _check_statistics(options: argparse.Namespace) -> None:
    """Raise if the statistics would overwrite the input or the output; a device may be written twice."""
    path = options.stats
    if path == options.output == "-":
        raise FileError("<stdout>", "--stats is the same file as the output")
    if not path or path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        return
    for name in ("output", "input"):
        other = getattr(options, name)
        if other != "-" and os.path.realpath(path) == os.path.realpath(other):
            raise FileError(path, f"--stats is the same file as the {name}")
