"""``nonproj-systems translate``: train a model on sentence pairs, translate a file."""

from __future__ import annotations

import argparse
import json
import logging
import time
from contextlib import nullcontext

from nonproj.cli.values import positive
from nonproj.errors import ConfigError, DataError, SizeError
from nonproj.io.files import open_output
from nonproj_systems.progress import progress

log = logging.getLogger("nonproj")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the two actions to the command's parser, which is one of `nonproj.cli.arguments`."""
    parser.add_commands(
        "action",
        "ACTION",
        [
            ("train", "train a model on two files, one sentence a line", _add_train),
            ("decode", "translate a file, one sentence a line", _add_decode),
        ],
    )


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="SOURCE", help="sentences of the source language, one per line (may be .gz)")
    add("target", metavar="TARGET", help="their translations, line by line")
    add("-o", "--output", required=True, metavar="MODEL", help="the model file to write")
    text = "other sentence pairs to tune the weights on, for BLEU (default: fixed weights)"
    add("--tune", nargs=2, metavar=("SOURCE", "TARGET"), help=text)
    add("--tune-pairs", type=positive, default=500, metavar="N", help="use the first N of them (default: 500)")
    add("--max-phrase", type=positive, default=7, metavar="N", help="maximum length of a phrase in words (default: 7)")


def _add_decode(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-m", "--model", required=True, metavar="MODEL", help="a model made by 'nonproj-systems translate train'")
    add("input", nargs="?", default="-", metavar="FILE", help="sentences, one per line (default: standard input)")
    add("-o", "--output", default="-", metavar="OUT", help="file to write (default: standard output)")
    add("--stats", metavar="FILE", help="write score, bound and certificate of each translation as lines of JSON")
    add("--tokens", action="store_true", help="write tokens in lower case, separated by spaces")
    text = "maximum number of translations of a source phrase (default: 10)"
    add("--translations", type=positive, default=10, metavar="N", help=text)
    add("--limit", type=positive, default=4, metavar="N", help="distortion limit, in words (default: 4)")
    text = "maximum number of iterations of the subgradient method in each round (default: 100)"
    add("--iterations", type=positive, default=100, metavar="K", help=text)
    add(
        "--beam",
        type=positive,
        metavar="N",
        help="use stack decoding with N hypotheses per stack instead, without certificates",
    )


def run(options: argparse.Namespace) -> int:
    """Train or decode."""
    if not options.action:
        raise ConfigError("translate", "an action is expected: train or decode")
    return {"train": _train, "decode": _decode}[options.action](options)


def _train(options: argparse.Namespace) -> int:
    """Train a model and write it."""
    from nonproj.cli.main import start_logging
    from nonproj_systems.translation.model import train
    from nonproj_systems.translation.text import read_pairs
    from nonproj_systems.translation.tuning import tune

    start_logging(options, logging.INFO)
    source, target = read_pairs(options.source, options.target)
    held_out = read_pairs(*options.tune) if options.tune else None
    model = train(source, target, longest=options.max_phrase, log=log.info)
    if held_out:
        tune(model, *(side[: options.tune_pairs] for side in held_out), log=log.info)
    model.save(options.output)
    return 0


def _decode(options: argparse.Namespace) -> int:
    """Translate a file, line by line."""
    from nonproj_systems.translation.decoding import DecodingOptions
    from nonproj_systems.translation.model import TranslationModel
    from nonproj_systems.translation.text import read_lines
    from nonproj_systems.translation.translator import translate

    model = TranslationModel.load(options.model)
    decoding = DecodingOptions(iterations=options.iterations)
    place = "<stdin>" if options.input == "-" else options.input
    statistics = open_output(options.stats) if options.stats else nullcontext()
    begin, exact, number = time.perf_counter(), 0, 0
    with open_output(options.output) as stream, statistics as lines:
        for number, line in enumerate(progress(read_lines(options.input), "translate", options.quiet > 0), 1):
            try:
                found = translate(
                    model,
                    line,
                    decoding,
                    translations=options.translations,
                    limit=options.limit,
                    beam=options.beam or 0,
                )
            except SizeError as error:
                raise DataError(place, number, str(error)) from None
            stream.write((" ".join(found.tokens) if options.tokens else found.text) + "\n")
            exact += found.certified
            if lines is not None:
                lines.write(json.dumps(_record(number, found)) + "\n")
    seconds = time.perf_counter() - begin
    log.info(f"{number} sentences, {exact} proven optimal, {seconds:.1f} s")
    return 0


def _record(number: int, found) -> dict[str, object]:
    """Return the statistics of a translation as JSON values; numbers that are not finite are null."""
    value, bound = (each if abs(each) < float("inf") else None for each in (found.value, found.bound))
    return {
        "line": number,
        "status": found.status,
        "score": value,
        "bound": bound,
        "certified": bool(found.certified),
        "iterations": found.iterations,
        "counted": found.counted,
        "phrases": found.phrases,
    }
