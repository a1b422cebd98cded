"""``nonproj parse``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from nonproj.cli import several
from nonproj.cli.arguments import with_values
from nonproj.cli.common import check_outputs, optional_output, progress_bar, reading_rules
from nonproj.cli.fitting import peek_sentences, warn_of_misfit
from nonproj.cli.loading import compile_ahead, decoding_options, load_model
from nonproj.cli.reading import list_broken
from nonproj.cli.targets import ParseTarget, are_several, targets_of
from nonproj.errors import ConfigError, DataError, NonprojError, counted
from nonproj.evaluation.certificates import ParseLog, TextOptions, annotate, left_out
from nonproj.evaluation.confidence import NO_CONFIDENCE, ConfidenceOutput
from nonproj.io import conll
from nonproj.io.beside import check_no_links
from nonproj.io.broken import STOP, read_units, until_error
from nonproj.io.files import OpenedInput, open_input
from nonproj.io.tables import format_of, open_table
from nonproj.model.model import Model
from nonproj.options.sections import DecodingConfig
from nonproj.pipeline.parser import BATCH, Parser
from nonproj.text.formats import TextInput
from nonproj.text.input import read_text, read_text_units
from nonproj.text.lexicon import UserLexicon

_MANY_UNKNOWN = 0.05
"""Share of words with unknown tags that triggers a warning: the tags of a treebank are a closed class."""

log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Parse files or a stream; an output is renamed to its final name when it is complete.

    Return 1 if ``--on-error`` skipped anything, else 0.
    """
    if to_folder := are_several(options.inputs, options.output):
        targets, form = targets_of(options), options.format or "conllu"
    else:
        targets, form = [ParseTarget(options.input, options.output)], format_of(options.output, options.format)
    options = with_values(options, to_folder=to_folder, targets=targets, format=form)
    _check_files(options)
    options = with_values(options, lexicon=UserLexicon.of(options.lexicon))
    first = targets[0].source
    confidence = ConfidenceOutput(options.write_confidence, options.min_confidence or 0.0)
    is_wanted = confidence.write or options.min_confidence is not None
    model = load_model(options.model, first, confidence=is_wanted)
    if options.lexicon:
        warn_of_tags(options.lexicon, model)
    decoding = decoding_options(model.config.decoding, options)
    wanted = confidence != NO_CONFIDENCE or options.stats or options.stats_comments
    decoding = dataclasses.replace(decoding, confidence=decoding.confidence and bool(wanted))
    compile_ahead(options, model, decoding)
    start = time.perf_counter()
    rules, plain = reading_rules(options, ignore_heads=True, may_be_empty=True), None
    if options.plain:
        plain = TextInput(options.plain, options.token_ranges, breaks=options.breaks).check()
        plain = plain.within(decoding.cut_words, decoding.max_words)
    comments = options.stats_comments or options.format != "conllu"  # from which other formats take the certificate
    text = TextOptions(comments, options.deps, rules, plain, confidence, options.on_error)
    with (source := open_input(first)).closing:
        unfit = warn_of_misfit(model, source.name, peek_sentences(source, model, plain), options.tags)
        alone = not (to_folder or options.resume or options.scheduler) and options.jobs in (None, 1)
        parse_all = _parse if alone else several.parse
        with _hint(to_folder and text.on_error == STOP):
            totals = parse_all(options, model, decoding, text, source)
    if to_folder:
        several.summarise(options, totals)
    remedy = "without --no-tag, missing tags are predicted" if options.tags == "none" else "--tag predicts all tags"
    remedy = remedy if "tagger" in model.components else "the model has no tagger"
    _summarise(totals, decoding, remedy, time.perf_counter() - start, unfit)
    if options.deps == conll.DROP and (message := left_out(totals.enhanced_words, totals.empty_nodes)):
        log.warning("%s; --deps keep keeps %s", message, "them" if options.format == "conllu" else "the dependencies")
    _report(totals, options)
    return 1 if totals.refused else 0


def warn_of_tags(lexicon: UserLexicon, model: Model) -> None:
    """Warn of a lexicon's coarse tags that the model's tagger lacks: they are used, but may be mistakes."""
    known = {tag[0] for tag in (model.components.get("tagger") or {}).get("tagger", {}).get("tags", ())}
    wanted = dict.fromkeys(word.upos for each in lexicon.entries for word in each.words) if known else {}
    if other := [tag for tag in wanted if tag not in {"_", *known}]:
        log.warning("--lexicon has tags that the model lacks: %s; they are written as they are", ", ".join(other[:5]))


@contextlib.contextmanager
def _hint(wanted: bool) -> Iterator[None]:
    """Add a hint to an error in one of several files: how to parse the others nevertheless."""
    try:
        yield
    except DataError as error:
        if not wanted:
            raise
        message = f"{error.message}; --on-error skip leaves it out and goes on"
        raise type(error)(error.path, error.line, message) from None


def _check_files(options: argparse.Namespace) -> None:
    """Raise an error if an output is also an input or another output; make the folder of several outputs."""
    inputs, outputs, replaceable = {"model": options.model, "lexicon": options.lexicon}, dict[str, str | None](), ""
    if options.to_folder:
        for target in options.targets:
            check_no_links(target.output, options.output)
        inputs |= {f"input {target.source}": target.source for target in options.targets}
        outputs |= {f"output of {target.source}": target.output for target in options.targets}
    else:
        inputs["input"], outputs["output"] = options.input, options.output
        replaceable = "" if options.resume else "input"  # a run killed just before its end still needs its input
    outputs |= {"--stats": options.stats, "--proofs": options.proofs}
    if options.resume:
        if options.proofs:
            raise ConfigError("--proofs", "cannot be continued; leave out --resume")
        outputs["--resume"] = several.partial_of(options)
    check_outputs(outputs, inputs, replaceable)
    if options.to_folder:
        several.make_folder(options.output)


def _parse(
    options: argparse.Namespace, model: Model, decoding: DecodingConfig, text: TextOptions, source: OpenedInput
) -> ParseLog:
    """Parse in this process: a file in batches, a stream sentence by sentence."""
    progress = progress_bar(options, source)
    statistics, proofs = (optional_output(path) for path in (options.stats, options.proofs))
    with open_table(options.output, options.format) as stream, statistics as lines, proofs as proof_lines:
        totals = ParseLog(lines, proof_lines)
        failures: list[NonprojError] = []
        parser = Parser(model, decoding, options.tags, bool(options.proofs), options.lexicon)
        units, size = _units(parser, source, text), BATCH if os.path.isfile(options.input) else 1
        if text.on_error == STOP:
            units = progress(until_error(units, failures), "parse")
            parses = until_error(parser.parse_all(units, size), failures)
        else:
            parses = parser.try_all(progress(units, "parse"), size)
        items: Iterable[Any] = annotate(parses, text.comments, totals.add, text.confidence)
        if options.input == "-":
            items = _flushed(items, [each for each in (stream, lines, proof_lines) if each])
        conll.write(items, stream, deps=text.deps)
        if failures:
            raise failures[0]
    return totals


def _units(parser: Parser, source: OpenedInput, text: TextOptions) -> Iterable[Any]:
    """Return the sentences of the input, including malformed ones."""
    if text.plain:
        read = read_text if text.on_error == STOP else read_text_units
        return read(source, parser.segmenter, text.plain)
    return read_units(source, text.rules, stop=text.on_error == STOP)


def _summarise(totals: ParseLog, decoding: DecodingConfig, remedy: str, seconds: float, unfit: bool) -> None:
    """Log figures, and warnings about certificates and unknown tags; ``remedy`` says what to do about the tags."""
    size = counted(totals.sentences, "sentence"), counted(totals.words, "word")
    message = "%s, %s, %.2f s; %d of the trees provably the best over their candidate arcs"
    log.info(message, *size, seconds, totals.certified)
    if totals.certified < totals.sentences:
        open_ = totals.sentences - totals.certified
        hint = "raise --search-limit" if decoding.exact else "use --exact"
        log.warning("%d of %s without a certificate; %s", open_, counted(totals.sentences, "sentence"), hint)
    if totals.unknown_tags > _MANY_UNKNOWN * totals.words and not unfit:
        share = 100 * totals.unknown_tags / totals.words
        log.warning("%.0f %% of the words have no tag or one unseen in training; %s", share, remedy)
    if totals.full:
        message = "%d of them over all arcs; for %d, pruning had removed an arc of the best tree"
        log.info(message, totals.full, totals.changed)


def _report(totals: ParseLog, options: argparse.Namespace) -> None:
    """Report the units that ``--on-error`` has skipped."""
    if totals.refused:
        list_broken(totals, "; the --stats file lists all" if options.stats else "; --stats lists all")
        broken = counted(totals.refused, "broken line" if options.plain else "broken sentence")
        log.error("nonproj: %s left out, %s parsed", broken, counted(totals.sentences, "sentence"))


def _flushed(items: Iterable[Any], streams: list[TextIO]) -> Iterator[Any]:
    """Yield the items, and flush the output after each."""
    for item in items:
        yield item
        for stream in streams:
            stream.flush()
