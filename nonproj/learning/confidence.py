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
from nonproj.confidence.evidence import FEATURES, KINDS, Case, Evidence
from nonproj.evaluation.alignment import judge_text
from nonproj.io.partial import given_words, is_partial
from nonproj.learning.additive import fit_additive
from nonproj.learning.crossing import learn_price
from nonproj.learning.encoders.stage import EncoderStage
from nonproj.learning.labeler import fit_labeler
from nonproj.learning.material import Material
from nonproj.learning.memory import release_memory
from nonproj.learning.mixing import Shards, learner_of, training_on
from nonproj.learning.network import learn_network
from nonproj.learning.preparation import lack_tags
from nonproj.learning.pruner import fit_pruner
from nonproj.learning.stage import Learnt, Stage
from nonproj.linear.component import Setting
from nonproj.linear.optimisers import run_epochs
from nonproj.linear.perceptron import start_epoch
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.scoring.encoders.scorer import EncoderScorer
from nonproj.scoring.vectors import VECTOR
from nonproj.scoring.vocabulary import FEAT, FIRST, Encoder, Tokens
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.encoded import EncodedTags, encoded_tags
from nonproj.text.corpus import paragraphs, raw_text
from nonproj.text.input import TextInput
from nonproj.text.segmenter import Segmenter
from nonproj.types import Sentence
from nonproj.workers.processes import run_apart

BLOCK = 100
"""Held-out sentences are in blocks of so many, because sentences of one text are alike; fewer in small treebanks."""

EPOCHS = 5
"""Epochs of the second parser's perceptron, however many the first has, so that a resumed training may have more."""

MIN_WORDS, MIN_WRONG = 500, 25
"""Held-out words, and those with a wrong head, without which no classifier is trained."""

STRENGTH = {"heads": 0.05, "labels": 0.05, "trees": 0.3}
"""The inverse of the strength of regularisation, as scikit-learn's ``C``."""

_SAMPLE = 200  # sentences from which the median cost is estimated

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


class ConfidenceStage(Stage):
    """The classifier, and the price of a non-projective tree.

    Parameters
    ----------
    encoder : EncoderStage
        The second parser's encoder is fine-tuned as that of the first, for half as many epochs.
    """

    name, needs, kind = "confidence", ("segmenter", "tagger", "pruner"), Classifier
    figures = ("confidence", "crossing")

    def __init__(self, encoder: EncoderStage):
        self.encoder = encoder

    def fit(self, sentences: Sequence[Sentence], setting: Setting) -> Learnt:
        """Learn from sentences that a second parser has not seen, unless these or the errors in them are too few."""
        began, config, figures = time.perf_counter(), setting.config, dict[str, Any]()
        material: Material = setting.material.pruned(setting.predicted["pruner"])
        count = len(material.sentences) - material.silver
        copies, mask = count // len(sentences), np.zeros(len(material.sentences), np.bool_)
        mask[:count] = held_out(count, count // len(sentences), config.confidence.share)
        own = mask[:count:copies]
        words = sum(int(given_words(s).sum()) for s, out in zip(sentences, own, strict=True) if out)
        if words < MIN_WORDS or own.all():
            if config.confidence.share:
                log.info("no confidence: %d held-out words, %d are needed", words, MIN_WORDS)
            return Learnt()
        learnt = material._replace(chosen=np.flatnonzero(~mask))
        outcomes, wrong, limit, price = self._examined(sentences, own, learnt, setting)
        release_memory()
        if price is not None:
            figures["crossing"] = price
        if wrong < MIN_WRONG:
            log.info("no confidence: %d of %d held-out heads are wrong, %d are needed", wrong, words, MIN_WRONG)
            return Learnt(figures=figures)
        classifier = run_apart(fit_classifier, outcomes, limit)  # scikit-learn takes 80 MB, or 140 with pandas
        seconds, share = time.perf_counter() - began, 1.0 - wrong / words
        log.info("confidence: %.1f s, from %d held-out words, %.2f %% of heads right", seconds, words, 100 * share)
        figures["confidence"] = {"words": words, "sentences": int(own.sum()), "uas": share}
        return Learnt(classifier, classifier.state(), figures=figures)

    def _examined(
        self, sentences: Sequence[Sentence], own: np.ndarray, material: Material, setting: Setting
    ) -> tuple[list[Outcome], int, float, float | None]:
        """Return what a second parser, which learns from the chosen sentences, makes of the others; all else is freed.

        These are the outcomes, how many heads are wrong with gold tags, the limit of costs, and the price of a
        non-projective tree, None if none is to be learnt.
        """
        pretrained = None
        components = second_components(sentences, own, setting)  # they need most memory, so they are learnt first
        release_memory()
        if self.encoder.path is not None:
            rest = [s for s, out in zip(sentences, own, strict=True) if not out]
            analyzer = components[0] if components else None
            pretrained = self.encoder.fine_tuned(rest, setting, analyzer, self.name)
        parser = second_parser(material, setting.shards, pretrained)
        unseen = np.delete(np.arange(len(material.sentences)), material.chosen).tolist()
        limit, price = median_cost(parser, [material.sentences[i] for i in unseen]), None
        whole = [material.sentences[i] for i in unseen if not is_partial(material.sentences[i])]
        if setting.config.decoding.crossing == "auto" and whole:
            price = parser.price = learn_price(parser, whole, limit)
        outcomes = examine(parser, [s for s, out in zip(sentences, own, strict=True) if out], limit)
        wrong = sum(int((~outcome.heads).sum()) for outcome in outcomes)
        if wrong >= MIN_WRONG and components:
            encoded = encoded_tags(parser.pretrained, components[0].tags, parser.max_words)
            outcomes += examine_predictions(parser, Components(*components, encoded), sentences, own, limit)
        return outcomes, wrong, limit, price


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


def second_parser(material: Material, shards: Shards | None, pretrained: EncoderScorer | None = None) -> Parser:
    """Train a parser on the chosen sentences, and give it an encoder that has learnt from the same."""
    meta: dict[str, Any] = {"multi_root": material.multi_root, "projective": material.decoding.projective}
    vocabularies = known_strings(material.encoder.vocabularies, [material.tokens[i] for i in material.chosen])
    arrays = material.rounded(_second_tables(material, shards), meta)
    release_memory()
    model = Model(material.config, vocabularies, material.files, material.labels, arrays, meta)
    model.add_component("network", learn_network(material, "confidence: network"))
    model.add_component("encoder", pretrained.state() if pretrained else None)
    decoding = dataclasses.replace(material.config.decoding, nbest=1, full=False, constraints="none")
    parser = Parser(model, decoding, tags="none")
    parser.encoder = Encoder(vocabularies, material.encoder.clusters, material.encoder.coarse)
    return parser


def _second_tables(material: Material, shards: Shards | None) -> dict[str, np.ndarray]:
    """Return the tables of the second parser, float32."""
    return {
        "pruner": fit_pruner(material, "confidence: pruner").weights,
        "labeler": fit_labeler(material, "confidence: labeler").mean(),
        "parser": _second_weights(material, shards),
    }


def _second_weights(material: Material, shards: Shards | None) -> np.ndarray:
    """Return the weights of the second parser, trained as the first one, by workers if there are any."""
    config, perceptron = material.config, learner_of(material).perceptron()
    training = training_on(material, shards)

    def run(epoch: int) -> str:
        """Learn for an epoch; return its figures for the log."""
        start_epoch(epoch, [perceptron], config.training.average_from)
        order = np.flatnonzero(material.in_epoch(epoch)[material.chosen])
        order = np.random.default_rng((config.seed, 4, epoch)).permutation(order)
        name = f"confidence: epoch {epoch + 1}"
        missed = training.epoch(perceptron, order, lambda items: material.progress(items, name))
        return f"{missed} training mistakes"

    run_epochs("confidence:", range(EPOCHS), run)
    return perceptron.mean()


def known_strings(vocabularies: dict[str, list[str]], tokens: Sequence[Tokens]) -> dict[str, list[str]]:
    """Return vocabularies in which strings that do not occur in some sentences are replaced by what occurs nowhere.

    Words with vectors are known without sentences.
    """
    names = [name for name in vocabularies if name != FEAT]
    seen = {name: {number for t in tokens for number in t.atoms[:, j].tolist()} for j, name in enumerate(names)}
    seen[FEAT] = {number for t in tokens for number in t.feat.tolist()}
    return {
        name: [string if i in seen[name] or name == VECTOR else f"\t{i}" for i, string in enumerate(strings, FIRST)]
        for name, strings in vocabularies.items()
    }


def examine(parser: Parser, sentences: Sequence[Sentence], limit: float) -> list[Outcome]:
    """Parse sentences with gold trees; return what is known about their words, and what is right.

    Of a partial tree, words without a given head or label do not count.
    """
    outcomes = []
    number = {label: i for i, label in enumerate(parser.model.labels)}
    for sentence in sentences:
        case = _case(parser, sentence)
        right = case.decoded.heads == sentence.heads
        gold = np.array([number.get(label, -1) for label in sentence.labels])
        labels = right & (case.labels == gold)
        evidence = parser.evidence(case, limit)
        if is_partial(sentence):
            given = given_words(sentence) & (gold >= 0)
            if not given.any():
                continue
            features, numbers, tags, kind = evidence
            evidence = Evidence(features[given], numbers[given], tags[given], kind)
            right, labels = right[given], labels[given]
        outcomes.append(Outcome(evidence, right, labels, bool(right.all())))
    return outcomes


def _case(parser: Parser, sentence: Sentence) -> Case:
    """Parse a sentence."""
    tokens = parser.encode(sentence)
    arcs, marginals = parser.candidates_of(sentence, tokens, None)
    parts, scores = parser.score(tokens, arcs)
    found = parser.decode_all(parts, scores)
    labelled = parser.label_arcs(tokens, found[0].tree)
    margins = sentence.tag_margins, sentence.boundary_margins
    return Case(tokens, found.problem, found.copies, marginals, found[0], *labelled, *margins)


def median_cost(parser: Parser, sentences: Sequence[Sentence]) -> float:
    """Return the median cost of the words' other heads, beyond which the difference is not computed."""
    cases = (_case(parser, sentence) for sentence in sentences[:: -(-len(sentences) // _SAMPLE)])
    column = FEATURES.index("cost")
    return float(np.median(np.concatenate([parser.evidence(case, -np.inf).features[:, column] for case in cases])))


# -- predicted tags and plain text


class Components(NamedTuple):
    """What predicts tags and words for the second parser; without a segmenter there is no plain text."""

    analyzer: Analyzer
    segmenter: Segmenter | None
    encoded: EncodedTags | None


def second_components(
    sentences: Sequence[Sentence], mask: np.ndarray, setting: Setting
) -> tuple[Analyzer, Segmenter | None] | None:
    """Train a tagger and a segmenter, as far as there are such, on the sentences that are not held out."""
    if not setting.fitted["tagger"]:
        return None
    config, progress = setting.config, setting.progress
    rest = [sentence for sentence, out in zip(sentences, mask, strict=True) if not out]
    tagged = [sentence for sentence, lacks in zip(rest, lack_tags(rest), strict=True) if not lacks]
    began, segmenter = time.perf_counter(), None
    options = dataclasses.replace(config.tagger, restarts=1)
    analyzer = Analyzer.fit(tagged, options, config.seed, progress, config.features.folder)
    if setting.fitted["segmenter"] is not None:
        release_memory()
        segmenter = Segmenter.fit(rest, config.segmenter, config.seed, progress)
        segmenter.with_margins = True
    log.info("confidence: tagger and segmenter: %.1f s", time.perf_counter() - began)
    return analyzer, segmenter


def examine_predictions(
    parser: Parser,
    components: Components,
    sentences: Sequence[Sentence],
    mask: np.ndarray,
    limit: float,
) -> list[Outcome]:
    """Return what `examine` returns of held-out sentences with predicted tags, and of their plain text.

    Parameters
    ----------
    parser : Parser
        That of `second_parser`.
    components : Components
    sentences : sequence of Sentence
        All sentences of the treebank.
    mask : ndarray of bool
        Which of them are held out.
    limit : float
        As for `nonproj.confidence.evidence.gather`.
    """
    analyzer, segmenter, encoded = components
    held = [sentence for sentence, out in zip(sentences, mask, strict=True) if out]
    outcomes = examine(parser, analyzer.apply(held, True, encoded), limit)
    if segmenter is not None:
        whole = mask & ~np.array([is_partial(sentence) for sentence in sentences])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], whole, [False]]).astype(np.int8)))
        for first, end in edges.reshape(-1, 2).tolist():
            outcomes += examine_text(parser, components, sentences[first:end], limit)
    return outcomes


def examine_text(parser: Parser, components: Components, gold: Sequence[Sentence], limit: float) -> list[Outcome]:
    """Segment, tag and parse the plain text of consecutive gold sentences; return what is known, and what is right.

    A word that is not in the gold standard is wrong, and so is a tree whose sentence is not: see
    `nonproj.evaluation.alignment`.
    """
    analyzer, segmenter, encoded = components
    assert segmenter is not None
    words = min(TextInput().max_words, parser.max_words)
    found = segmenter.segment(raw_text(paragraphs(gold)).text, TextInput(max_words=words))
    tagged = analyzer.apply(found, True, encoded)
    cases = [_case(parser, sentence) for sentence in tagged]
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
