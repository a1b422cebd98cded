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
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import decode
from nonproj.trees.projective import is_projective
from nonproj.types import Sentence

PRICES = (0.0, 0.02, 0.04, 0.06, 0.09, 0.13, 0.2, 0.3)
"""The prices tried, as fractions of the median cost of a word's other heads, which gives the scale of scores."""

MIN_GAIN = 0.02
"""The number of heads by which a price must be better than none, as a fraction of the non-projective gold arcs."""

MIN_ARCS = 10
"""Non-projective arcs in the gold trees without which there is no price."""

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
    prices = [share * cost for share in PRICES]
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
    if gold < MIN_ARCS or right[chosen] <= right[0] + MIN_GAIN * gold:
        chosen = 0
    arcs = evaluations[chosen].as_dict()["with_punctuation"]["nonprojective"]
    text = "price of a non-projective tree: %.4g; %d predicted, %d gold, %d in both"
    log.info(text, prices[chosen], arcs["predicted"], arcs["gold"], arcs["common"])
    return prices[chosen]
