"""``nonproj evaluate``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import sys
import zlib
from typing import Any

from nonproj.cli.common import compile_ahead, decoding_options, load_model, progress_bar
from nonproj.cli.fitting import peek_sentences, warn_of_misfit
from nonproj.cli.reading import Treebanks
from nonproj.errors import ModelError
from nonproj.evaluation.errors import error_tables
from nonproj.evaluation.parsing import WARM_UP, evaluate_parser
from nonproj.evaluation.report import comparison_report, error_report, text_error_report, ud_report
from nonproj.evaluation.scores import Evaluation, evaluate
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.io.files import OpenedInput, byte_lines, open_input, stream_error
from nonproj.pipeline.parser import Parser


def run(options: argparse.Namespace) -> int:
    """Score a parsed file or a model, or compare two parsed files."""
    treebanks = Treebanks(options)
    if options.calibration:
        _calibrate(options, treebanks)
        return treebanks.report()
    if options.ud:
        result, text = _official_scores(options, treebanks)
    elif len(options.parsed) == 2:
        *evaluations, labelled = _evaluate_files(options, treebanks)
        result = compare(*evaluations, labelled=labelled)
        text = comparison_report(options.parsed, result)
        result = {"first": options.parsed[0], "second": options.parsed[1]} | result
        result, text = _add_errors(options, evaluations, labelled, result, text)
    else:
        if options.model:
            scores = _evaluate_model(options, treebanks)
        else:
            scores = evaluate(treebanks.read(options.gold, require_heads=True), treebanks.read(options.parsed[0]))
        result, text = _add_errors(options, [scores], True, scores.as_dict(), scores.table())
    sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n" if options.json else text)
    return treebanks.report()


def _add_errors(
    options: argparse.Namespace, evaluations: list[Evaluation], labelled: bool, result: dict[str, Any], text: str
) -> tuple[dict[str, Any], str]:
    """Return the result and its text, with error tables if requested."""
    if options.errors:
        errors = error_tables(evaluations, labelled=labelled)
        result, text = result | {"errors": errors}, text + error_report(errors)
    return result, text


def _calibrate(options: argparse.Namespace, treebanks: Treebanks) -> None:
    """Measure the calibration of a model's confidence."""
    from nonproj.evaluation.calibration import calibration_report, judge, judge_from_text, no_classifier

    model = load_model(options.model, options.gold)
    if "confidence" not in model.components:
        raise ModelError(no_classifier(options.model))
    decoding = dataclasses.replace(decoding_options(model.config.decoding, options), confidence=True)
    compile_ahead(options, model, decoding)
    source = open_input(options.gold)
    with source.closing:
        warn_of_misfit(model, source.name, peek_sentences(source, model), options.tags)
        gold = progress_bar(options, source)(treebanks.read(source, require_heads=True), "evaluate")
        parser = Parser(model, decoding, options.tags)
        if options.from_text:
            judged = judge_from_text(parser, list(gold), options.model)
        else:
            judged = judge(parser.parse_all(gold), options.model)
    figures = {name: each.as_dict() for name, each in judged.items()}
    text = json.dumps(figures, indent=2) + "\n" if options.json else calibration_report(judged)
    sys.stdout.write(text)


def _official_scores(options: argparse.Namespace, treebanks: Treebanks) -> tuple[dict[str, Any], str]:
    """Score one or two files with the official script of the CoNLL 2018 shared task."""
    from nonproj.evaluation.universal import ud_scores

    files: list[Any] = [options.gold, *options.parsed]
    contents = [_content(path, treebanks) for path in files] if options.errors or treebanks.skips else []
    scores = []
    for number in range(1, len(files)):
        pair = [_opened(*contents[i]) if contents else files[i] for i in (0, number)]
        scores.append(ud_scores(*pair))
    result: dict[str, Any] = {"gold": options.gold}
    for name, path, file in zip(("first", "second"), options.parsed, scores, strict=False):
        result[name if len(scores) == 2 else "system"] = {"file": path, "scores": file}
    text = ud_report(options.parsed, scores)
    if options.errors:
        result["errors"] = _text_errors(options, contents, treebanks)
        text += text_error_report(result["errors"])
    return result, text


def _text_errors(
    options: argparse.Namespace, contents: list[tuple[str, bytes]], treebanks: Treebanks
) -> dict[str, Any]:
    """Return the errors of parsed texts by kind, given the gold file and the parsed files."""
    from nonproj.evaluation.text_errors import text_errors
    from nonproj.evaluation.universal import universal_features

    gold, *systems = [list(conll.read(_opened(*content))) for content in contents]
    return text_errors(gold, systems, training_words(options.train, treebanks), universal_features())


def training_words(path: str | None, treebanks: Treebanks) -> set[str] | None:
    """Return the words of a training file; None without one."""
    return {form for sentence in treebanks.read(path) for form in sentence.forms} if path else None


def _content(path: str, treebanks: Treebanks) -> tuple[str, bytes]:
    """Return name and content of a file that is read twice, and may be a pipe, without what ``--on-error`` skips."""
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
    """Return a file that has been read."""
    return OpenedInput(io.BytesIO(content), name, contextlib.nullcontext())


def _evaluate_files(options: argparse.Namespace, treebanks: Treebanks) -> tuple[Evaluation, Evaluation, bool]:
    """Score two parsed files, and return whether all files have labels; a file whose labels are all ``_`` has none."""
    sentences = list(treebanks.read(options.gold, require_heads=True))
    outputs = [list(treebanks.read(path)) for path in options.parsed]
    labelled = all(any(set(s.labels) - {"_"} for s in file) for file in (sentences, *outputs))
    first, second = (evaluate(sentences, output) for output in outputs)
    return first, second, labelled


def _evaluate_model(options: argparse.Namespace, treebanks: Treebanks) -> Evaluation:
    """Score the trees of a model."""
    model = load_model(options.model, options.gold)
    decoding, source = decoding_options(model.config.decoding, options), open_input(options.gold)
    compile_ahead(options, model, decoding)
    with source.closing:
        warn_of_misfit(model, source.name, peek_sentences(source, model), options.tags)
        gold = treebanks.read(source, require_heads=True)
        parser = Parser(model, decoding, options.tags)
        return evaluate_parser(parser, gold, warm_up=WARM_UP, progress=progress_bar(options, source))
