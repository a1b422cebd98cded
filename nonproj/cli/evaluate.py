"""``nonproj evaluate``."""

from __future__ import annotations

import argparse
import io
import json
import sys
import zlib
from typing import Any

from nonproj.cli.common import progress_bar
from nonproj.cli.reading import Treebanks
from nonproj.errors import one_line
from nonproj.evaluation.errors import error_tables
from nonproj.evaluation.report import comparison_report, error_report, text_error_report, ud_report
from nonproj.evaluation.scores import Evaluation, evaluate
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.io.files import OpenedInput, byte_lines, open_input, stream_error


def run(options: argparse.Namespace) -> int:
    """Score a parsed file or a model, or compare two parsed files."""
    treebanks = Treebanks(options)
    if options.calibration:
        result, text = _calibrate(options, treebanks)
    elif options.ud:
        result, text = _official_scores(options, treebanks)
    else:
        evaluations, labelled = _evaluate(options, treebanks)
        if len(evaluations) == 2:
            compared = compare(*evaluations, labelled=labelled)
            names = [f"{one_line(path)}: {each.given}" for path, each in zip(options.parsed, evaluations, strict=True)]
            text = comparison_report(names, compared)
            result = {"first": options.parsed[0], "second": options.parsed[1]} | compared
        else:
            result, text = evaluations[0].as_dict(), evaluations[0].table()
        if options.errors:
            errors = error_tables(evaluations, labelled=labelled)
            result, text = result | {"errors": errors}, text + error_report(errors)
    sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n" if options.json else text)
    return treebanks.report()


def _calibrate(options: argparse.Namespace, treebanks: Treebanks) -> tuple[dict[str, Any], str]:
    """Return the calibration of a model's confidence, as JSON values and as text."""
    from nonproj.cli.fitting import parser_and_input
    from nonproj.evaluation.calibration import calibration_report, judge, judge_from_text
    from nonproj.evaluation.parsing import given_input

    parser, source = parser_and_input(options, options.gold, confidence=True)
    given = "given: the plain text" if options.from_text else given_input(parser)
    with source.closing:
        gold = progress_bar(options, source)(treebanks.read(source, require_heads=True), "evaluate")
        if options.from_text:
            judged = judge_from_text(parser, list(gold), options.model)
        else:
            judged = judge(parser.parse_all(gold), options.model)
    return {name: each.as_dict() for name, each in judged.items()}, f"{calibration_report(judged)}{given}\n"


def _official_scores(options: argparse.Namespace, treebanks: Treebanks) -> tuple[dict[str, Any], str]:
    """Score one or two files with the official script of the CoNLL 2018 shared task."""
    from nonproj.evaluation.text_errors import text_errors
    from nonproj.evaluation.universal import ud_scores, universal_features

    features = universal_features()  # or the error for the missing package, before any file is read
    gold, *systems = [_content(path, treebanks) for path in (options.gold, *options.parsed)]
    scores = [ud_scores(_opened(*gold), _opened(*system)) for system in systems]
    result: dict[str, Any] = {"gold": options.gold}
    for name, path, figures in zip(("first", "second"), options.parsed, scores, strict=False):
        result[name if len(scores) == 2 else "system"] = {"file": path, "scores": figures}
    text = ud_report(options.parsed, scores)
    if options.errors:
        known = {form for s in treebanks.read(options.train) for form in s.forms} if options.train else None
        sentences, *parsed = [list(conll.read(_opened(*content))) for content in (gold, *systems)]
        result["errors"] = text_errors(sentences, parsed, known, features)
        text += text_error_report(result["errors"])
    return result, text


def _content(path: str, treebanks: Treebanks) -> tuple[str, bytes]:
    """Return the name of a file, which may be a pipe, and its content in memory, without skipped sentences."""
    stream, name, closing = opened = open_input(path)
    if treebanks.skips:
        return name, "".join(line for sentence in treebanks.read(opened) for line in sentence.lines).encode()
    lines: list[bytes] = []
    with closing:
        try:
            lines.extend(byte_lines(stream))
        except (EOFError, OSError, zlib.error) as error:
            raise stream_error(error, name, len(lines)) from None
    return name, b"".join(lines)


def _opened(name: str, content: bytes) -> OpenedInput:
    """Return an opened input with this name and content."""
    return OpenedInput(io.BytesIO(content), name)


def _evaluate(options: argparse.Namespace, treebanks: Treebanks) -> tuple[list[Evaluation], bool]:
    """Score a model or parsed files; return the evaluations, and whether labels are compared."""
    if options.model:
        from nonproj.cli.fitting import parser_and_input  # imports kernels, which files alone do not need
        from nonproj.evaluation.parsing import WARM_UP, evaluate_parser

        parser, source = parser_and_input(options, options.gold)
        with source.closing:
            gold = treebanks.read(source, require_heads=True)
            return [evaluate_parser(parser, gold, warm_up=WARM_UP, progress=progress_bar(options, source))], True
    if len(options.parsed) == 1:
        gold = treebanks.read(options.gold, require_heads=True)
        return [evaluate(gold, treebanks.read(options.parsed[0]))], True
    sentences = list(treebanks.read(options.gold, require_heads=True))
    outputs = [list(treebanks.read(path)) for path in options.parsed]
    labelled = all(any(set(s.labels) - {"_"} for s in file) for file in (sentences, *outputs))
    return [evaluate(sentences, output) for output in outputs], labelled
