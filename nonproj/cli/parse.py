"""``nonproj parse``."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any, TextIO

from nonproj.cli.common import (
    check_outputs,
    compile_ahead,
    decoding_options,
    load_model,
    progress_bar,
    reading_rules,
    worker_pool,
)
from nonproj.errors import ConfigError, ModelError
from nonproj.evaluation.calibration import no_classifier
from nonproj.evaluation.certificates import ParseLog, TextOptions, annotate
from nonproj.evaluation.confidence import NO_CONFIDENCE, ConfidenceOutput
from nonproj.io import conll
from nonproj.io.files import open_input, open_output
from nonproj.model import Model
from nonproj.pipeline import BATCH
from nonproj.text.input import TextInput, read_text
from nonproj.workers.parsing import ModelRef, make_parser, parse_text

_MANY_UNKNOWN = 0.05
"""Share of words with unknown tags from which on a warning is due: tags of treebanks are a closed class."""

log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Parse a file or a stream; the output is renamed to its final name when it is complete."""
    inputs = {"model": options.model, "input": options.input}
    check_outputs({"output": options.output, "--stats": options.stats}, inputs, replaceable="input")
    model = load_model(options.model, options.input)
    decoding, confidence = decoding_options(model.config.decoding, options), _confidence(options, model)
    wanted = confidence != NO_CONFIDENCE or options.stats or options.stats_comments
    decoding = dataclasses.replace(decoding, confidence=decoding.confidence and bool(wanted))
    compile_ahead(options, model, decoding)
    start = time.perf_counter()
    source = open_input(options.input)
    rules, plain = reading_rules(options, ignore_heads=True), None
    if options.plain:
        plain = TextInput(options.plain, options.token_ranges, min(TextInput().max_words, decoding.max_words))
    text = TextOptions(options.stats_comments, options.keep_deps, rules, plain, confidence)
    progress = progress_bar(options, source)
    statistics = open_output(options.stats) if options.stats else nullcontext()
    with source[2], worker_pool(options) as workers, open_output(options.output) as stream, statistics as lines:
        totals = ParseLog(lines)
        if workers:
            records = parse_text(workers, ModelRef.of(options.model, decoding, options.tags), source, stream, text)
            for record in progress(records, "parse"):
                totals.add(record)
        else:
            errors, parser = [], make_parser(model, decoding, options.tags)
            sentences = read_text(source, parser.segmenter, plain) if plain else conll.read(source, rules)
            sentences = progress(conll.until_error(sentences, errors), "parse")
            batch = BATCH if os.path.isfile(options.input) else 1
            items = annotate(parser.parse_all(sentences, batch), text.comments, totals.add, confidence)
            if options.input == "-":
                items = _flushed(items, [stream, lines] if lines else [stream])
            conll.write(items, stream, keep_deps=text.keep_deps)
            if errors:
                raise errors[0]
    seconds = time.perf_counter() - start
    message = "%d sentences, %d words, %.2f s; %d trees are provably the best over their candidate arcs"
    log.info(message, totals.sentences, totals.words, seconds, totals.certified)
    if totals.certified < totals.sentences:
        open_ = totals.sentences - totals.certified
        hint = "--search-limit buys more" if decoding.exact else "--exact searches on"
        log.warning("%d of %d sentences without a certificate; %s", open_, totals.sentences, hint)
    if totals.unknown_tags > _MANY_UNKNOWN * totals.words:
        share = 100 * totals.unknown_tags / totals.words
        hint = "--tag predicts all tags" if "tagger" in model.components else "the model has no tagger"
        text = "%.0f %% of the words have no tag, or one that the model was not trained with; %s"
        log.warning(text, share, hint)
    if totals.full:
        log.info("%d of them over all arcs; pruning had hidden %d of the trees", totals.full, totals.changed)
    return 0


def _confidence(options: argparse.Namespace, model: Model) -> ConfidenceOutput:
    """Return what is written about confidence; raise `ModelError` if it is asked for and the model has none."""
    if options.mark_unsure and options.min_confidence is None:
        raise ConfigError("--mark-unsure", "needs --min-confidence")
    output = ConfidenceOutput(options.write_confidence, options.min_confidence or 0.0, options.mark_unsure)
    if options.write_confidence or options.min_confidence is not None:
        if "confidence" not in model.components:
            raise ModelError(no_classifier(options.model))
        if options.joint:
            raise ConfigError("--joint", "no confidence is known where tags and trees are decided jointly")
    return output


def _flushed(items: Iterable[Any], streams: list[TextIO]) -> Iterator[Any]:
    """Yield the items, and flush after each is written."""
    for item in items:
        yield item
        for stream in streams:
            stream.flush()
