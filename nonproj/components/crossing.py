"""The price of a non-projective tree, chosen on sentences that the parser has not seen.

Parsers predict non-projective arcs too often where there are few: the best of very many trees is more often one of the
many non-projective ones than the gold tree is.  A price of such trees corrects this, see `nonproj.dual.decoding`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from nonproj.automata.compiled import has_compiled_automata
from nonproj.evaluation.scores import Evaluation
from nonproj.learning.hyperparameters import CROSSING
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import decode
from nonproj.trees.projective import is_projective
from nonproj.types import Sentence

log = logging.getLogger("nonproj")


def learn_price(parser: Parser, sentences: Sequence[Sentence], cost: float) -> float:
    """Return the price with which most heads of some sentences are right, without punctuation.

    Parameters
    ----------
    parser : Parser
        Without a price.
    sentences : sequence of Sentence
        With gold trees; the parser has not been trained on them.
    cost : float
        The median cost of a word's other heads, see `nonproj.confidence.alternatives.costs`.

    Returns
    -------
    float
        0 if trees are projective, the parser's automata are not compiled or no price is better.
    """
    types = parser.loaded.scorer.types
    if parser.request.options.projective or (len(types) > 1 and not has_compiled_automata(types)):
        return 0.0
    prices = [share * cost for share in CROSSING.prices]
    evaluations = [Evaluation() for _ in prices]
    for sentence in sentences:
        batch = parser.run([sentence], until=decode)
        best = batch.found[0][0]
        for price, evaluation in zip(prices, evaluations, strict=True):
            tree = best
            if price > 0.0 and not is_projective(best.tree):
                tree = decode(batch._replace(request=replace(batch.request, price=price))).found[0][0]
            evaluation.add(sentence, tree.heads)
    gold = evaluations[0].as_dict()["with_punctuation"]["nonprojective"]["gold"]
    figures = [evaluation.as_dict()["without_punctuation"] for evaluation in evaluations]
    right = [round((each["uas"] or 0.0) * each["words"]) for each in figures]
    chosen = right.index(max(right))
    if gold < CROSSING.min_arcs or right[chosen] <= right[0] + CROSSING.min_gain * gold:
        chosen = 0
    arcs = evaluations[chosen].as_dict()["with_punctuation"]["nonprojective"]
    text = "price of a non-projective tree: %.4g; %d predicted, %d gold, %d in both"
    log.info(text, prices[chosen], arcs["predicted"], arcs["gold"], arcs["common"])
    return prices[chosen]
