"""``nonproj evaluate``."""

from __future__ import annotations

import argparse
import json
import sys

from nonproj.cli.common import decoding_options, load_model, progress_bar, worker_pool
from nonproj.evaluation.parsing import WARM_UP, evaluate_parser
from nonproj.evaluation.report import comparison_report
from nonproj.evaluation.scores import Evaluation, evaluate
from nonproj.evaluation.significance import compare
from nonproj.io import conll
from nonproj.pipeline import Parser
from nonproj.workers.parsing import ModelRef, evaluate_text


def run(options: argparse.Namespace) -> int:
    """Score a parsed file or a model, or compare two parsed files."""
    if len(options.parsed) == 2:
        result = _compare_files(options.gold, options.parsed)
        text = comparison_report(options.parsed, result)
        result = {"first": options.parsed[0], "second": options.parsed[1]} | result
    else:
        if options.model:
            scores = _evaluate_model(options)
        else:
            scores = evaluate(conll.read(options.gold, require_heads=True), conll.read(options.parsed[0]))
        result, text = scores.as_dict(), scores.table()
    sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n" if options.json else text)
    return 0


def _compare_files(gold: str, parsed: list[str]) -> dict:
    """Compare two parsed files; a file whose labels are all ``_`` has none."""
    sentences = list(conll.read(gold, require_heads=True))
    outputs = [list(conll.read(path)) for path in parsed]
    labelled = all(any(set(s.labels) - {"_"} for s in file) for file in (sentences, *outputs))
    first, second = (evaluate(sentences, output) for output in outputs)
    return compare(first, second, labelled=labelled)


def _evaluate_model(options: argparse.Namespace) -> Evaluation:
    """Score the trees of a model, parsed by workers or in this process."""
    model = load_model(options.model)
    decoding, progress = decoding_options(model.config.decoding, options), progress_bar(options)
    with worker_pool(options) as workers:
        if workers:
            return evaluate_text(workers, ModelRef.of(options.model, decoding), options.gold, progress)
        gold = conll.read(options.gold, require_heads=True)
        return evaluate_parser(Parser(model, decoding), gold, warm_up=WARM_UP, progress=progress)
