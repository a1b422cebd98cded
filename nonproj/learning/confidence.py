"""Training of the confidence classifier, on sentences that a second parser has not seen.

The second parser has its own pruner and labeler.  It learns from all but some blocks of sentences, in fewer epochs, and
parses these.  Strings that occur only there are unknown to it.  What is known about each of the words that it parses,
and whether head and label are right, is what the classifier learns from: see `nonproj.confidence`.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.confidence.classifier import TREE_FEATURES, Additive, Classifier, Confidence
from nonproj.confidence.evidence import FEATURES, Case, Evidence
from nonproj.learning.crossing import learn_price
from nonproj.learning.mixing import Mixing, make_examples
from nonproj.learning.network import learn_network
from nonproj.learning.perceptron import start_epoch
from nonproj.learning.preparation import Prepared
from nonproj.model import LABEL_LINES, Model
from nonproj.pipeline import Parser
from nonproj.scoring.score import quantise
from nonproj.scoring.vocabulary import FEAT, FIRST, Encoder, Tokens
from nonproj.types import ArcSpace, Sentence

BLOCK = 100
"""Held-out sentences are in blocks of so many, because sentences of one text are alike; fewer in small treebanks."""

MIN_WORDS, MIN_WRONG = 500, 25
"""Held-out words, and those with a wrong head, without which no classifier is trained."""

KNOTS = 8
"""Knots of the function of each feature, at quantiles."""

MIN_COUNT = 30
"""Labels and tags that occur less often add nothing."""

STRENGTH = {"heads": 0.05, "labels": 0.05, "trees": 0.3}
"""The inverse of the strength of regularisation, as scikit-learn's ``C``."""

_SAMPLE = 200  # sentences from which the median loss is estimated

log = logging.getLogger("nonproj")


class Outcome(NamedTuple):
    """A held-out sentence of ``n`` words: the evidence, and whether each head and its label are right, bool[n]."""

    evidence: Evidence
    heads: np.ndarray
    labels: np.ndarray


def learn_confidence(trainer, spaces: list[ArcSpace]) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Train the classifier; return its state, or None if the held-out sentences are too few, or too few arcs wrong.

    Parameters
    ----------
    trainer : Trainer
        After its pruner.
    spaces : list of ArcSpace
        The candidate arcs of each sentence.
    """
    began, options = time.perf_counter(), trainer.config.confidence
    mask = held_out(len(trainer.sentences), trainer.prepared.copies, options.share)
    words = sum(len(s) for s, out in zip(trainer.sentences, mask, strict=True) if out)
    if words < MIN_WORDS or mask.all():
        if options.share:
            log.info("no confidence: %d held-out words, %d are needed", words, MIN_WORDS)
        return None
    parser = second_parser(trainer, spaces, np.flatnonzero(~mask))
    chosen = np.flatnonzero(mask).tolist()
    predicted = [_predicted(trainer, i) for i in chosen]
    sentences = [trainer.sentences[i] for i in chosen]
    limit = median_loss(parser, sentences)
    if trainer.config.decoding.crossing == "auto":
        trainer.meta["crossing"] = parser.price = learn_price(parser, sentences, limit)
    outcomes = examine(parser, sentences, predicted, limit)
    wrong = sum(int((~outcome.heads).sum()) for outcome in outcomes)
    if wrong < MIN_WRONG:
        log.info("no confidence: %d of %d held-out heads are wrong, %d are needed", wrong, words, MIN_WRONG)
        return None
    classifier = fit_classifier(outcomes, limit)
    seconds, share = time.perf_counter() - began, 1.0 - wrong / words
    log.info("confidence: %.1f s, from %d held-out words, %.2f %% of heads right", seconds, words, 100 * share)
    trainer.meta["confidence"] = {"words": words, "sentences": len(chosen), "uas": share}
    return classifier.state()


def held_out(count: int, copies: int, share: float) -> np.ndarray:
    """Return which sentences are held out, bool[count]: blocks spread over the treebank, with all copies.

    Examples
    --------
    >>> held_out(1000, 1, 0.1).nonzero()[0][[0, -1]]
    array([900, 999])
    >>> held_out(30, 2, 0.2).astype(int).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    """
    sentences = np.arange(count) // copies
    block = sentences // max(1, min(BLOCK, count // copies // 10))
    return np.floor((block + 1) * share + 1e-9) > np.floor(block * share + 1e-9)


def _predicted(trainer, i: int) -> bool:
    """Return whether sentence ``i`` has the tagger's tags."""
    if trainer.prepared.copies == 2:
        return i % 2 == 1
    return trainer.config.training.tags != "gold" and "tagger" in trainer.prepared.components


# -- the second parser


def second_parser(trainer, spaces: list[ArcSpace], chosen: np.ndarray) -> Parser:
    """Train a parser on some of the trainer's sentences."""
    weights = {
        "pruner": trainer.fit_pruner(chosen, "confidence: pruner").weights,
        "labeler": trainer.fit_labeler(chosen, "confidence: labeler").averaged(),
        "parser": _second_weights(trainer, spaces, chosen),
    }
    tables = {name: quantise(table) for name, table in weights.items()}
    meta = {name: trainer.meta[name] for name in ("multi_root", "projective")}
    meta["scale"] = {name: scale for name, (_, scale) in tables.items()}
    vocabularies = known_strings(trainer.encoder.vocabularies, [trainer.tokens[i] for i in chosen])
    arrays = {name: table for name, (table, _) in tables.items()}
    if trainer.lines:
        arrays[LABEL_LINES] = trainer.lines.table
    prepared = Prepared({}, arrays, [])
    prepared.add("network", learn_network(trainer, spaces, chosen, "confidence: network"))
    first = trainer.config, vocabularies, trainer.files, trainer.labels
    model = Model(*first, prepared.arrays, meta, prepared.components)
    decoding = dataclasses.replace(trainer.config.decoding, nbest=1, full=False, constraints="none", joint=False)
    parser = Parser(model, decoding, tags="none")
    parser.encoder = Encoder(vocabularies, trainer.encoder.clusters)
    return parser


def _second_weights(trainer, spaces: list[ArcSpace], chosen: np.ndarray) -> np.ndarray:
    """Return the weights of the second parser, trained as the first one, by workers if there are any."""
    learner = trainer.learner()
    perceptron = learner.perceptron()
    tokens, arcs = [trainer.tokens[i] for i in chosen], [spaces[i] for i in chosen]
    heads, labels = [trainer.sentences[i].heads for i in chosen], [trainer.gold_labels[i] for i in chosen]
    if trainer.workers:
        mixing = Mixing(trainer.workers, learner, tokens, heads, arcs, min(trainer.shards, len(chosen)), labels)
    else:
        examples = make_examples(tokens, heads, arcs, trainer.config.parts, labels)
    for epoch in range(trainer.config.confidence.epochs):
        began, name = time.perf_counter(), f"confidence: epoch {epoch + 1}"
        start_epoch(epoch, [perceptron], trainer.config.training.average_from)
        order = np.arange(len(chosen))
        if trainer.config.training.shuffle:
            order = np.random.default_rng((trainer.config.seed, 4, epoch)).permutation(order)
        if trainer.workers:
            missed = mixing.epoch(perceptron, order, lambda items, name=name: trainer.progress(items, name))
        else:
            missed = sum(perceptron.update(examples[i]) for i in trainer.progress(order, name))
        log.info("%s: %.1f s, %d training mistakes", name, time.perf_counter() - began, missed)
    return perceptron.averaged()


def known_strings(vocabularies: dict[str, list[str]], tokens: Sequence[Tokens]) -> dict[str, list[str]]:
    """Return vocabularies in which strings that do not occur in some sentences are replaced by what occurs nowhere."""
    names = [name for name in vocabularies if name != FEAT]
    seen = {name: {number for t in tokens for number in t.atoms[:, j].tolist()} for j, name in enumerate(names)}
    seen[FEAT] = {number for t in tokens for number in t.feat.tolist()}
    return {
        name: [string if i in seen[name] else f"\t{i}" for i, string in enumerate(strings, FIRST)]
        for name, strings in vocabularies.items()
    }


def examine(parser: Parser, sentences: Sequence[Sentence], predicted: Sequence[bool], limit: float) -> list[Outcome]:
    """Parse sentences with gold trees; return what is known about their words, and what is right."""
    outcomes = []
    number = {label: i for i, label in enumerate(parser.model.labels)}
    for sentence, own in zip(sentences, predicted, strict=True):
        case = _case(parser, sentence, own)
        right = case.decoded.heads[1:] == sentence.heads[1:]
        gold = np.array([number[label] for label in sentence.labels])
        outcomes.append(Outcome(parser.evidence(case, limit), right, right & (case.labels == gold)))
    return outcomes


def _case(parser: Parser, sentence: Sentence, predicted: bool) -> Case:
    """Parse a sentence."""
    tokens = parser.encode(sentence)
    arcs, marginals = parser.candidates_of(sentence, tokens, None)
    parts, scores = parser.score(tokens, arcs)
    decoded, lowest = parser.decode_recorded(parts, scores)
    return Case(tokens, parts, scores, marginals, decoded, lowest, *parser.label_arcs(tokens, decoded.heads), predicted)


def median_loss(parser: Parser, sentences: Sequence[Sentence]) -> float:
    """Return the median loss of the words of some sentences, beyond which the difference is not computed."""
    cases = (_case(parser, sentence, False) for sentence in sentences[:: -(-len(sentences) // _SAMPLE)])
    column = FEATURES.index("loss")
    return float(np.median(np.concatenate([parser.evidence(case, -np.inf).features[:, column] for case in cases])))


# -- the classifier


def fit_classifier(outcomes: Sequence[Outcome], limit: float) -> Classifier:
    """Train the models of heads, of the labels of right heads, and of trees.

    Parameters
    ----------
    outcomes : sequence of Outcome
    limit : float
        That of the evidence.
    """
    evidence = Evidence(*(np.concatenate(arrays) for arrays in zip(*(o.evidence for o in outcomes), strict=True)))
    right, labelled = (np.concatenate([o[k] for o in outcomes]) for k in (1, 2))
    categories = evidence.labels, evidence.tags
    heads = fit_additive(evidence.features, categories, right, STRENGTH["heads"])
    among = evidence.features[right], tuple(numbers[right] for numbers in categories)
    labels = fit_additive(*among, labelled[right], STRENGTH["labels"])
    unknown = Additive(np.zeros((len(TREE_FEATURES), 1)), np.zeros((len(TREE_FEATURES), 1)), *np.zeros((3, 1)))
    classifier = Classifier(heads, labels, unknown, limit)
    rows = np.array([_summary(classifier.confidence(outcome.evidence)) for outcome in outcomes])
    trees = fit_additive(rows, (), np.array([outcome.heads.all() for outcome in outcomes]), STRENGTH["trees"])
    return classifier._replace(trees=trees)


def _summary(confidence: Confidence) -> tuple[float, float, float]:
    """Return the `TREE_FEATURES` of a sentence."""
    p = np.clip(confidence.heads, 1e-12, 1.0 - 1e-12)
    return np.log(-np.log(p).sum()), (np.log(p) - np.log1p(-p)).min(), np.log(len(p))


def fit_additive(features: np.ndarray, categories: tuple[Any, ...], right: np.ndarray, strength: float) -> Additive:
    """Fit an additive model by logistic regression.

    Parameters
    ----------
    features : ndarray of shape (n, F), float64
    categories : tuple of ndarray of shape (n,), int64
        The numbers of labels and of tags, or none.
    right : ndarray of shape (n,), bool
    strength : float
        See `STRENGTH`.

    Examples
    --------
    >>> x = np.linspace(-2.0, 2.0, 400)[:, None]
    >>> model = fit_additive(x, (), np.arange(400) * 157 % 400 < 100.0 * (x[:, 0] + 2.0), 1.0)
    >>> bool((np.diff(model.values[0]) > 0.0).all()), model.labels.tolist()
    (True, [0.0])
    """
    from sklearn.linear_model import LogisticRegression  # takes a second to import
    from threadpoolctl import threadpool_limits

    knots = np.stack([_knots(column) for column in features.T])
    blocks = [_hats(column, places) for column, places in zip(features.T, knots, strict=True)]
    sizes = [int(numbers.max(initial=-1)) + 1 for numbers in categories]
    blocks += [_indicators(numbers, size) for numbers, size in zip(categories, sizes, strict=True)]
    if right.all() or not right.any():
        coefficients, bias = np.zeros(sum(block.shape[1] for block in blocks)), np.log(right.sum() + 0.5)
        bias -= np.log((~right).sum() + 0.5)
    else:
        model = LogisticRegression(C=strength, solver="newton-cholesky", max_iter=100)
        with threadpool_limits(1):
            model.fit(np.concatenate(blocks, axis=1), right)
        coefficients, bias = model.coef_[0], model.intercept_[0]
    parts = np.split(coefficients, np.cumsum([block.shape[1] for block in blocks])[:-1])
    for places, own in zip(knots, parts, strict=False):
        own[places == places[-1]] = own[places == places[-1]][0]
    values, tables = np.stack(parts[: len(knots)]), [*parts[len(knots) :], np.zeros(1), np.zeros(1)][:2]
    return Additive(knots, values, *tables, np.array([bias]))


def _knots(column: np.ndarray) -> np.ndarray:
    """Return the places between which the function of a feature is linear, float64[KNOTS], the last one repeated."""
    places = np.unique(np.quantile(column, np.linspace(0.0, 1.0, KNOTS)))
    return np.concatenate([places, np.full(KNOTS - len(places), places[-1])])


def _hats(column: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return the values of the linear B-splines over the knots, float64[n, K]; zero for repeated knots."""
    different = np.unique(knots)
    hats = np.zeros((len(column), len(knots)))
    for k in range(len(different)):
        hats[:, k] = np.interp(column, different, np.arange(len(different)) == k)
    return hats


def _indicators(numbers: np.ndarray, size: int) -> np.ndarray:
    """Return a column for each number, float64[n, size]; all zero for numbers that are rarer than `MIN_COUNT`."""
    rows = np.eye(size)
    rows[np.bincount(numbers, minlength=size) < MIN_COUNT] = 0.0
    return rows[numbers]
