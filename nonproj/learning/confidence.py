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

from nonproj.confidence.classifier import TREE_FEATURES, Additive, Classifier, Confidence, Models
from nonproj.confidence.evidence import FEATURES, KINDS, LARGE, Case, Evidence
from nonproj.evaluation.alignment import judge_text
from nonproj.io.conll import with_rows
from nonproj.learning.crossing import learn_price
from nonproj.learning.labeler import fit_labeler
from nonproj.learning.material import Material
from nonproj.learning.mixing import Mixing, learner_of, make_examples
from nonproj.learning.network import learn_network
from nonproj.learning.preparation import Prepared
from nonproj.learning.pruner import fit_pruner
from nonproj.linear.perceptron import start_epoch
from nonproj.linear.weights import quantise
from nonproj.model.model import LABEL_LINES, Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.scoring.vocabulary import FEAT, FIRST, Encoder, Tokens
from nonproj.tagging.analyzer import Analyzer
from nonproj.text.corpus import paragraphs, raw_text
from nonproj.text.input import TextInput
from nonproj.text.segmenter import Segmenter
from nonproj.types import Sentence

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
    """A held-out sentence of ``n`` words.

    Attributes
    ----------
    evidence : Evidence
    heads, labels : ndarray of shape (n,), bool
        Whether each head, and head and label, are right.
    tree : bool
        Whether the sentence and all its heads are right.
    """

    evidence: Evidence
    heads: np.ndarray
    labels: np.ndarray
    tree: bool


class Shards(NamedTuple):
    """Workers that train a parser by iterative parameter mixing, and the number of shards."""

    workers: Any
    count: int


def learn_confidence(
    material: Material, given: Sequence[Sentence], prepared: Prepared, shards: Shards | None = None
) -> tuple[Classifier | None, dict[str, Any]]:
    """Train the classifier.

    Parameters
    ----------
    material : Material
        All sentences, with their candidate arcs.
    given : sequence of Sentence
        The sentences of the treebank, of which those of the material may be copies with other tags.
    prepared : Prepared
    shards : Shards, optional
        Workers that train the second parser.

    Returns
    -------
    classifier : Classifier or None
        None if the held-out sentences are too few, or too few arcs wrong.
    history : dict
        What the model keeps of it.
    """
    began, config, history = time.perf_counter(), material.config, {}
    mask = held_out(len(material.sentences), prepared.copies, config.confidence.share)
    own = mask[:: prepared.copies]
    words = sum(len(s) for s, out in zip(given, own, strict=True) if out)
    if words < MIN_WORDS or mask.all():
        if config.confidence.share:
            log.info("no confidence: %d held-out words, %d are needed", words, MIN_WORDS)
        return None, {}
    parser = second_parser(material._replace(chosen=np.flatnonzero(~mask)), shards)
    sentences = [material.sentences[i] for i in np.flatnonzero(mask)]
    limit = median_loss(parser, sentences)
    if config.decoding.crossing == "auto":
        history["crossing"] = parser.price = learn_price(parser, sentences, limit)
    outcomes = examine(parser, [given[i] for i in np.flatnonzero(own)], limit)
    wrong = sum(int((~outcome.heads).sum()) for outcome in outcomes)
    if wrong < MIN_WRONG:
        log.info("no confidence: %d of %d held-out heads are wrong, %d are needed", wrong, words, MIN_WRONG)
        return None, history
    known = prepared.components
    if "tagger" in known:
        components = second_components(given, own, config, material.progress, "segmenter" in known)
        outcomes += examine_predictions(parser, components, given, own, limit)
    classifier = fit_classifier(outcomes, limit)
    seconds, share = time.perf_counter() - began, 1.0 - wrong / words
    log.info("confidence: %.1f s, from %d held-out words, %.2f %% of heads right", seconds, words, 100 * share)
    history["confidence"] = {"words": words, "sentences": int(own.sum()), "uas": share}
    return classifier, history


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


# -- the second parser


def second_parser(material: Material, shards: Shards | None) -> Parser:
    """Train a parser on the chosen sentences."""
    weights = {
        "pruner": fit_pruner(material, "confidence: pruner").weights,
        "labeler": fit_labeler(material, "confidence: labeler").mean(),
        "parser": _second_weights(material, shards),
    }
    tables = {name: quantise(table) for name, table in weights.items()}
    meta: dict[str, Any] = {"multi_root": material.multi_root, "projective": material.decoding.projective}
    meta["scale"] = {name: scale for name, (_, scale) in tables.items()}
    vocabularies = known_strings(material.encoder.vocabularies, [material.tokens[i] for i in material.chosen])
    arrays = {name: table for name, (table, _) in tables.items()}
    if material.lines:
        arrays[LABEL_LINES] = material.lines.table
    prepared = Prepared({}, arrays, [])
    prepared.add("network", learn_network(material, "confidence: network"))
    first = material.config, vocabularies, dict(material.files), material.labels
    model = Model(*first, prepared.arrays, meta, prepared.components)
    decoding = dataclasses.replace(material.config.decoding, nbest=1, full=False, constraints="none", joint=False)
    parser = Parser(model, decoding, tags="none")
    parser.encoder = Encoder(vocabularies, material.encoder.clusters, material.encoder.coarse)
    return parser


def _second_weights(material: Material, shards: Shards | None) -> np.ndarray:
    """Return the weights of the second parser, trained as the first one, by workers if there are any."""
    config, chosen, learner = material.config, material.chosen, learner_of(material)
    perceptron = learner.perceptron()
    tokens, arcs = [material.tokens[i] for i in chosen], [material.spaces[i] for i in chosen]
    heads, labels = [material.sentences[i].tree for i in chosen], [material.gold[i] for i in chosen]
    if shards:
        mixing = Mixing(shards.workers, learner, tokens, heads, arcs, min(shards.count, len(chosen)), labels)
    else:
        examples = make_examples(tokens, heads, arcs, config.parts, labels)
    for epoch in range(config.confidence.epochs):
        began, name = time.perf_counter(), f"confidence: epoch {epoch + 1}"
        start_epoch(epoch, [perceptron], config.training.average_from)
        order = np.arange(len(chosen))
        if config.training.shuffle:
            order = np.random.default_rng((config.seed, 4, epoch)).permutation(order)
        if shards:
            missed = mixing.epoch(perceptron, order, lambda items, name=name: material.progress(items, name))
        else:
            missed = sum(perceptron.update(examples[i]) for i in material.progress(order, name))
        log.info("%s: %.1f s, %d training mistakes", name, time.perf_counter() - began, missed)
    return perceptron.mean()


def known_strings(vocabularies: dict[str, list[str]], tokens: Sequence[Tokens]) -> dict[str, list[str]]:
    """Return vocabularies in which strings that do not occur in some sentences are replaced by what occurs nowhere."""
    names = [name for name in vocabularies if name != FEAT]
    seen = {name: {number for t in tokens for number in t.atoms[:, j].tolist()} for j, name in enumerate(names)}
    seen[FEAT] = {number for t in tokens for number in t.feat.tolist()}
    return {
        name: [string if i in seen[name] else f"\t{i}" for i, string in enumerate(strings, FIRST)]
        for name, strings in vocabularies.items()
    }


def examine(
    parser: Parser, sentences: Sequence[Sentence], limit: float, tag_margins: Sequence[np.ndarray] | None = None
) -> list[Outcome]:
    """Parse sentences with gold trees; return what is known about their words, and what is right.

    ``tag_margins`` are those of their tags, if these are predicted.
    """
    outcomes = []
    number = {label: i for i, label in enumerate(parser.model.labels)}
    for sentence, margins in zip(sentences, tag_margins or [None] * len(sentences), strict=True):
        case = _case(parser, sentence, margins)
        right = case.decoded.heads == sentence.heads
        gold = np.array([number[label] for label in sentence.labels])
        labels = right & (case.labels == gold)
        outcomes.append(Outcome(parser.evidence(case, limit), right, labels, bool(right.all())))
    return outcomes


def _case(parser: Parser, sentence: Sentence, tag_margins: np.ndarray | None) -> Case:
    """Parse a sentence."""
    tokens = parser.encode(sentence)
    arcs, marginals = parser.candidates_of(sentence, tokens, None)
    parts, scores = parser.score(tokens, arcs)
    found = parser.decode_all(parts, scores)
    labelled = parser.label_arcs(tokens, found[0].tree)
    return Case(tokens, parts, scores, marginals, found[0], found.copies, *labelled, tag_margins, sentence.margins)


def median_loss(parser: Parser, sentences: Sequence[Sentence]) -> float:
    """Return the median loss of the words of some sentences, beyond which the difference is not computed."""
    cases = (_case(parser, sentence, None) for sentence in sentences[:: -(-len(sentences) // _SAMPLE)])
    column = FEATURES.index("cost")
    return float(np.median(np.concatenate([parser.evidence(case, -np.inf).features[:, column] for case in cases])))


# -- predicted tags and plain text


def second_components(
    sentences: Sequence[Sentence], mask: np.ndarray, config: Config, progress: Any, segmented: bool
) -> tuple[Analyzer, Segmenter | None]:
    """Train a tagger, and a segmenter if ``segmented``, on the sentences that are not held out."""
    rest = [sentence for sentence, out in zip(sentences, mask, strict=True) if not out]
    began, segmenter = time.perf_counter(), None
    options = dataclasses.replace(config.tagger, restarts=1)
    analyzer = Analyzer.fit(rest, options, config.seed, progress, config.features.folder)
    if segmented:
        segmenter = Segmenter.fit(rest, config.segmenter, config.seed, progress)
        segmenter.with_margins = True
    log.info("confidence: tagger and segmenter: %.1f s", time.perf_counter() - began)
    return analyzer, segmenter


def examine_predictions(
    parser: Parser,
    components: tuple[Analyzer, Segmenter | None],
    sentences: Sequence[Sentence],
    mask: np.ndarray,
    limit: float,
) -> list[Outcome]:
    """Return what `examine` returns of held-out sentences with predicted tags, and of their plain text.

    Parameters
    ----------
    parser : Parser
        That of `second_parser`.
    components : tuple of Analyzer and Segmenter or None
        Of `second_components`; without a segmenter there is no plain text.
    sentences : sequence of Sentence
        All sentences of the treebank.
    mask : ndarray of bool
        Which of them are held out.
    limit : float
        As for `nonproj.confidence.evidence.gather`.
    """
    analyzer, segmenter = components
    held = [sentence for sentence, out in zip(sentences, mask, strict=True) if out]
    rows, margins = analyzer.annotate_with_margins(held, overwrite=True)
    tagged = [with_rows(*pair) for pair in zip(held, rows, strict=True)]
    outcomes = examine(parser, tagged, limit, margins)
    if segmenter is not None:
        edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
        for first, end in edges.reshape(-1, 2).tolist():
            outcomes += examine_text(parser, (analyzer, segmenter), sentences[first:end], limit)
    return outcomes


def examine_text(
    parser: Parser, components: tuple[Analyzer, Segmenter], gold: Sequence[Sentence], limit: float
) -> list[Outcome]:
    """Segment, tag and parse the plain text of consecutive gold sentences; return what is known, and what is right.

    A word that is not in the gold standard is wrong, and so is a tree whose sentence is not: see
    `nonproj.evaluation.alignment`.
    """
    analyzer, segmenter = components
    words = min(TextInput().max_words, parser.max_words)
    found = segmenter.segment(raw_text(paragraphs(gold)).text, TextInput(max_words=words))
    rows, margins = analyzer.annotate_with_margins(found, overwrite=True)
    tagged = [with_rows(*pair) for pair in zip(found, rows, strict=True)]
    cases = [_case(parser, *pair) for pair in zip(tagged, margins, strict=True)]
    labels = [[parser.model.labels[i] for i in case.labels] for case in cases]
    verdicts = judge_text(gold, tagged, [case.decoded.heads for case in cases], labels)
    return [Outcome(parser.evidence(case, limit), *each) for case, each in zip(cases, verdicts, strict=True)]


# -- the classifier


def fit_classifier(outcomes: Sequence[Outcome], limit: float) -> Classifier:
    """Train the models of each kind of evidence.

    Parameters
    ----------
    outcomes : sequence of Outcome
    limit : float
        That of the evidence.
    """
    models = {}
    for kind in KINDS:
        own = [outcome for outcome in outcomes if outcome.evidence.kind == kind]
        if own:
            models[kind] = fit_models(own)
    return Classifier(limit, **models)


def fit_models(outcomes: Sequence[Outcome]) -> Models:
    """Train the models of heads, of the labels of right heads, and of trees, from evidence of one kind."""
    kind = outcomes[0].evidence.kind
    features, *categories = (np.concatenate([o.evidence[k] for o in outcomes]) for k in range(3))
    right, labelled = (np.concatenate([o[k] for o in outcomes]) for k in (1, 2))
    heads = fit_additive(features, tuple(categories), right, STRENGTH["heads"])
    among = features[right], tuple(numbers[right] for numbers in categories)
    labels = fit_additive(*among, labelled[right], STRENGTH["labels"])
    unknown = Additive(np.zeros((len(TREE_FEATURES), 1)), np.zeros((len(TREE_FEATURES), 1)), *np.zeros((3, 1)))
    classifier = Classifier(0.0, **{kind: Models(heads, labels, unknown)})
    rows = np.array([_summary(classifier.confidence(outcome.evidence)) for outcome in outcomes])
    trees = fit_additive(rows, (), np.array([outcome.tree for outcome in outcomes]), STRENGTH["trees"])
    return Models(heads, labels, trees)


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
    """Return the places between which the function of a feature is linear, float64[KNOTS], the last one repeated.

    They are at quantiles; `LARGE`, where there was no doubt, is a place by itself.
    """
    doubtful = column[column < LARGE]
    count = KNOTS - (len(doubtful) < len(column))
    places = np.unique(np.quantile(doubtful, np.linspace(0.0, 1.0, count))) if len(doubtful) else np.zeros(0)
    if len(doubtful) < len(column):
        places = np.append(places, LARGE)
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
