"""A simulated annotator who corrects parses: with and without decoding the rest again after each correction.

The annotator reads from left to right and corrects the first word whose head or label is wrong.  Without decoding again
that is one action for each wrong word.  With it, the correction and everything to its left are constraints, under which
the parser decodes the sentence again; what was wrong further right may become right, and what was right may become
wrong.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nonproj.io.copies import with_misc
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence
from research.experiments.store import Row

STRATEGIES = ("corrected", "read")
"""Constraints on the next tree: the corrected words alone, or all words up to the last correction."""


def constrained(model: Model) -> Parser:
    """Return the model's parser for given tags and for constraints in MISC, without estimates of confidence."""
    return Parser(model, replace(model.config.decoding, constraints="misc", confidence=False), tags="none")


def correct(parser: Parser, sentence: Sentence, labelled: bool, strategy: str) -> Row:
    """Return the figures of one sentence that is corrected until it is right.

    Parameters
    ----------
    parser : Parser
        Result of `constrained`.
    sentence : Sentence
        With a gold tree.
    labelled : bool
        Whether labels are corrected, too; an action then sets head and label of a word.
    strategy : str
        One of `STRATEGIES`.

    Returns
    -------
    dict
        ``wrong`` words at first, ``actions`` with decoding again, ``certified`` trees and ``seconds`` of decoding
        after a correction.
    """
    gold = np.asarray(sentence.heads)
    labels = np.array(sentence.labels, object)
    given: list[dict[str, str | None]] = [{} for _ in gold]
    row: Row = {"words": len(gold), "actions": 0, "certified": 0, "seconds": 0.0}
    position, wrong = 0, _wrong(parser, sentence, gold, labels if labelled else None, row)
    row |= {"wrong": int(wrong.sum()), "certified": 0, "seconds": 0.0}
    actions = 0
    while wrong.any():
        place = int(wrong.argmax())
        for i in range(position if strategy == "read" else place, place + 1):
            given[i] = {"Head": str(gold[i])} | ({"Deprel": labels[i]} if labelled else {})
        position = max(position, place + 1) if strategy == "read" else position
        actions += 1
        wrong = _wrong(parser, with_misc(sentence, given), gold, labels if labelled else None, row)
        wrong &= np.array([not each for each in given])  # a projective parser cannot obey all that is given
    return row | {"actions": actions}


def _wrong(parser: Parser, sentence: Sentence, gold: np.ndarray, labels: np.ndarray | None, row: Row) -> np.ndarray:
    """Return a mask of the wrong words of the constrained parse; add its certificate and time to the figures."""
    began = time.process_time()
    parse = parser.parse(sentence)
    row["seconds"] = float(row["seconds"]) + time.process_time() - began  # type: ignore[arg-type]
    row["certified"] = int(row["certified"]) + parse.decoded.certified  # type: ignore[call-overload]
    wrong = np.asarray(parse.decoded.heads != gold)
    return wrong if labels is None else wrong | (np.array(parse.labels, object) != labels)


def corrections(parser: Parser, sentences: Sequence[Sentence]) -> list[Row]:
    """Return the figures of all sentences together: a row for heads, and for heads and labels, by each strategy."""
    parser.parse(sentences[0])  # compile
    rows = []
    for labelled in (False, True):
        for strategy in STRATEGIES:
            found = [correct(parser, sentence, labelled, strategy) for sentence in sentences]
            columns = {name: np.array([float(row[name]) for row in found]) for name in found[0]}  # type: ignore[arg-type]
            rows.append({"labels": int(labelled), "strategy": strategy, "sentences": len(found)} | _totals(columns))
    return rows


def _totals(columns: dict[str, np.ndarray]) -> Row:
    """Return sums over sentences, and the share of actions saved with its standard error, over sentences."""
    wrong, actions = columns["wrong"], columns["actions"]
    saved = 1.0 - actions.sum() / wrong.sum()
    rest = actions - (1.0 - saved) * wrong  # of a ratio of sums
    error = float(np.sqrt((rest**2).sum()) / wrong.sum())
    row: Row = {name: float(column.sum()) for name, column in columns.items()}
    worse = float((actions > wrong).mean())
    return row | {"saved": float(saved), "error": error, "sentences_wrong": int((wrong > 0).sum()), "worse": worse}
