"""Parses gold sentences with a model and scores the trees."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any

from nonproj.evaluation.scores import Evaluation
from nonproj.options.config import Config
from nonproj.pipeline.parser import BATCH, Parser, batches
from nonproj.pipeline.parses import Parse
from nonproj.types import Sentence

WARM_UP = 10
"""Number of sentences parsed before timing starts, so that compilation is not counted."""


def evaluate_parser(
    parser: Parser,
    gold: Iterable[Sentence],
    *,
    warm_up: int = 0,
    progress: Callable[..., Any] | None = None,
    on_parse: Callable[[Parse], object] | None = None,
) -> Evaluation:
    """Parse sentences and compare the trees with the gold trees.

    Parameters
    ----------
    parser : Parser
    gold : iterable of Sentence
        With gold heads; read in batches, so memory use is constant.
    warm_up : int
        Number of sentences first parsed once without timing.
    progress : callable, optional
        ``progress(iterable, description)`` wraps the loop over the sentences.
    on_parse : callable, optional
        Called with each `Parse`, in order.

    Returns
    -------
    Evaluation
        ``seconds`` is the wall-clock time of parsing alone.

    Raises
    ------
    DataError
        A sentence has no gold heads.
    """
    gold = iter(gold)
    first = list(islice(gold, warm_up))
    for _ in parser.parse_all(first):
        pass
    evaluation, seconds = Evaluation(), 0.0
    sentences = chain(first, gold)
    for batch in batches(progress(sentences, "evaluate") if progress else sentences, BATCH):
        start = time.perf_counter()
        parses = list(parser.parse_all(batch))
        seconds += time.perf_counter() - start
        for sentence, parse in parses:
            evaluation.add(sentence, parse.decoded.heads, parse.labels, parse.decoded)
            if on_parse:
                on_parse(parse)
    evaluation.seconds, evaluation.given = seconds, given_input(parser)
    return evaluation


def given_input(parser: Parser) -> str:
    """Return the input that a parser gets from the gold file, in words, for tables of figures."""
    if parser.loaded.analyzer is None or parser.request.tags == "none":
        return "given: words, sentences and tags"
    if parser.request.tags == "all":
        return "given: words and sentences; predicted: tags"
    return "given: words, sentences and tags; predicted: missing tags"


def tested_tags(config: Config) -> str:
    """Return the tags that a parser predicts when tested: all, or only missing ones if it was trained on gold tags."""
    return "missing" if config.training.tags == "gold" else "all"
