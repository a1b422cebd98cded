"""The confidence of heads, labels and trees: a classifier that learns from a second parser's mistakes.

The second parser, with components of its own, is trained in fewer epochs, on one copy of each sentence outside some
held-out blocks, and parses these.  Strings that occur only in the blocks are unknown to it.  The classifier learns from
the evidence about each parsed word (`nonproj.confidence.evidence`), and from whether head and label are right: additive
models by logistic regression (`nonproj.learning.additive`).
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.components.base import Component, FitContext, UnfinishedFit, assemble
from nonproj.components.crossing import CrossingComponent
from nonproj.components.encoder import EncoderComponent
from nonproj.components.labeler import LabelerComponent
from nonproj.components.network import NetworkComponent
from nonproj.components.parser import ParserComponent
from nonproj.components.pruner import PrunerComponent
from nonproj.components.segmenter import SegmenterComponent
from nonproj.components.tagger import TaggerComponent
from nonproj.confidence.classifier import Classifier
from nonproj.confidence.evidence import FEATURES, Evidence
from nonproj.evaluation.alignment import judge_text
from nonproj.io.partial import given_words, is_partial
from nonproj.learning.additive import GradedSentence, fit_classifier
from nonproj.learning.corpus import Corpus
from nonproj.learning.encoders.start import learnt_before
from nonproj.learning.hyperparameters import CONFIDENCE
from nonproj.learning.memory import release_memory
from nonproj.linear.state import Fitted
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import evidence, label
from nonproj.scoring.encoders.scorer import numbers_of
from nonproj.scoring.vectors import VECTOR
from nonproj.scoring.vocabulary import FEAT, FIRST, TokenEncoder, Tokens
from nonproj.tagging.analyzer import Analyzer
from nonproj.tagging.encoded import encoded_tags
from nonproj.text.corpus import paragraphs, raw_text
from nonproj.text.formats import TextInput
from nonproj.text.segmenter import Segmenter
from nonproj.types import Sentence
from nonproj.workers.copies import run_apart

SECOND = (
    TaggerComponent,
    SegmenterComponent,
    EncoderComponent,
    PrunerComponent,
    LabelerComponent,
    CrossingComponent,
    ParserComponent,
    NetworkComponent,
)
"""The components of the second parser; those that need most memory come first."""

log = logging.getLogger("nonproj")


class ConfidenceComponent(Component):
    """The component that trains the confidence classifier."""

    name, kind = "confidence", Classifier
    needs, figures, parallel = ("segmenter", "tagger", "pruner"), ("confidence",), True

    @classmethod
    def fit(cls, corpus: Corpus, context: FitContext) -> Fitted:
        """Learn from sentences that a second parser has not seen, unless these or the errors in them are too few.

        The classifier of a continued model stays.
        """
        if context.start:
            return context.start.loaded(Classifier) or Fitted()
        sentences, share = corpus.sentences, context.config.confidence.share
        out = held_out(len(sentences), share)
        if share and context.files.encoder and (learnt := learnt_before(context.files.encoder)).size:
            seen = np.isin(numbers_of(sentence.forms for sentence in sentences), learnt)
            log.info("%d held-out sentences are left out: the encoder has learnt from them", int((out & seen).sum()))
            out &= ~seen
        words = sum(int(given_words(s).sum()) for s, own in zip(sentences, out, strict=True) if own)
        if words < CONFIDENCE.min_words or out.all():
            if share:
                log.info("no confidence: %d held-out words, %d are needed", words, CONFIDENCE.min_words)
            return Fitted()
        others = np.zeros(len(corpus.auxiliary.sentences), np.bool_)
        rest = corpus.subset(np.flatnonzero(~np.append(np.repeat(out, corpus.copies), others)))
        found = examine_held_out(rest.subset(rest.single_copies(0)), out, context)
        release_memory()
        if found.wrong < CONFIDENCE.min_wrong:
            text = "no confidence: %d of %d held-out heads are wrong, %d are needed"
            log.info(text, found.wrong, words, CONFIDENCE.min_wrong)
            return Fitted()
        # In a process that ends, because scikit-learn takes 80 MB, or 140 with pandas.
        classifier = run_apart(fit_classifier, found.outcomes, found.limit)
        right = 1.0 - found.wrong / words
        log.info("confidence: from %d held-out words, %.2f %% of heads right", words, 100 * right)
        context.meta["confidence"] = {"words": words, "sentences": int(out.sum()), "uas": right}
        return classifier


def held_out(count: int, share: float) -> np.ndarray:
    """Return a mask of the held-out sentences, bool[count]: blocks spread over the treebank.

    Examples
    --------
    >>> held_out(1000, 0.1).nonzero()[0][[0, -1]]
    array([900, 999])
    >>> held_out(15, 0.2).astype(int).tolist()
    [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    """
    block = np.arange(count) // max(1, min(CONFIDENCE.block, count // 10))
    return np.floor((block + 1) * share + 1e-9) > np.floor(block * share + 1e-9)


# -- the second parser


class HeldOutParses(NamedTuple):
    """The second parser's results on the held-out sentences.

    Attributes
    ----------
    outcomes : list of GradedSentence
    wrong : int
        Number of heads that are wrong with gold tags.
    limit : float
        The median cost of giving a word another head.
    """

    outcomes: list[GradedSentence]
    wrong: int
    limit: float


def examine_held_out(corpus: Corpus, out: np.ndarray, context: FitContext) -> HeldOutParses:
    """Train a second parser on the chosen sentences; return its results on the others, and free everything else."""
    sentences = corpus.sentences
    rest, held = ([s for s, own in zip(sentences, out, strict=True) if own == wanted] for wanted in (False, True))
    parser, context = second_parser(corpus.having(sentences=rest, held_out=()), context)
    tagger, segmenter = context.fitted_as(Analyzer), context.fitted_as(Segmenter)
    limit = median_cost(parser, list(itertools.compress(corpus.tagged, np.repeat(out, corpus.copies))))
    outcomes = examine(parser, held, limit)
    wrong = sum(int((~outcome.heads).sum()) for outcome in outcomes)
    if wrong >= CONFIDENCE.min_wrong and tagger:
        outcomes += examine(parser, tag(parser, tagger, held), limit)
    if wrong >= CONFIDENCE.min_wrong and tagger and segmenter:
        whole_trees = out & ~np.array([is_partial(sentence) for sentence in sentences])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], whole_trees, [False]]).astype(np.int8)))
        for first, end in edges.reshape(-1, 2).tolist():
            outcomes += examine_text(parser, segmenter, tagger, sentences[first:end], limit)
    return HeldOutParses(outcomes, wrong, limit)


def second_parser(corpus: Corpus, context: FitContext) -> tuple[Parser, FitContext]:
    """Train a parser on the chosen sentences; return it and the context with its components."""
    config, vocabulary, saves = context.config, context.vocabulary, context.unfinished
    tagger = dataclasses.replace(config.tagger, restarts=1)
    network = dataclasses.replace(config.network, epochs=(config.network.epochs + 1) // 2)
    training = dataclasses.replace(config.training, epochs=CONFIDENCE.epochs)
    config = dataclasses.replace(config, tagger=tagger, network=network, training=training)  # which take less time
    absent = {
        kind.name for kind in (Analyzer, Segmenter) if not (context.fitted_as(Analyzer) and context.fitted_as(kind))
    }
    context = context.having(
        config=config,
        run=dataclasses.replace(context.run, jobs=1),
        fitted={name: context.fitted[name] for name in ("clusters", "vectors", "vocabulary")},
        meta={name: context.meta[name] for name in ("multi_root", "projective", "coarse_tags")},
        unfinished=UnfinishedFit(),
        part_of="confidence",
    )
    for component in SECOND:
        if component.name not in absent:
            own = context.having(unfinished=saves) if component is EncoderComponent else context
            context = context.with_fitted(component.name, component.fit(corpus, own))
            release_memory()
    strings = known_strings(vocabulary.encoder.vocabularies, [corpus.numbers.tokens[i] for i in corpus.chosen])
    seen = dataclasses.replace(vocabulary, encoder=TokenEncoder(strings))
    parts = {name: each for name, each in context.fitted.items() if name not in ("tagger", "segmenter")}
    model = assemble(context.having(fitted=parts | {"vocabulary": seen}))
    decoding = dataclasses.replace(config.decoding, nbest=1, full=False, constraints="none")
    return Parser(model, decoding, tags="none"), context


def known_strings(vocabularies: dict[str, list[str]], tokens: Sequence[Tokens]) -> dict[str, list[str]]:
    """Return vocabularies in which strings that do not occur in given sentences are replaced by placeholders.

    Words with vectors are kept: they are known without occurring.
    """
    names = [name for name in vocabularies if name != FEAT]
    seen = {name: {number for t in tokens for number in t.atoms[:, j].tolist()} for j, name in enumerate(names)}
    seen[FEAT] = {number for t in tokens for number in t.feat.tolist()}
    return {
        name: [string if i in seen[name] or name == VECTOR else f"\t{i}" for i, string in enumerate(strings, FIRST)]
        for name, strings in vocabularies.items()
    }


def examine(parser: Parser, sentences: Sequence[Sentence], limit: float) -> list[GradedSentence]:
    """Parse sentences with gold trees; return the evidence for their words, and their correctness.

    Of a partial tree, words without a given head or label do not count.
    """
    outcomes = []
    number = {label: i for i, label in enumerate(parser.model.labels)}
    for sentence in sentences:
        batch = parser.run([sentence], until=label)
        right = batch.found[0][0].heads == sentence.heads
        gold = np.array([number.get(label, -1) for label in sentence.labels])
        labels = right & (batch.labels[0][0] == gold)
        found = evidence(batch, 0, limit)
        if is_partial(sentence):
            given = given_words(sentence) & (gold >= 0)
            if not given.any():
                continue
            features, numbers, tags, kind = found
            found = Evidence(features[given], numbers[given], tags[given], kind)
            right, labels = right[given], labels[given]
        outcomes.append(GradedSentence(found, right, labels, bool(right.all())))
    return outcomes


def median_cost(parser: Parser, sentences: Sequence[Sentence]) -> float:
    """Return the median cost of giving a word another head: the limit above which differences are not computed."""
    parsed = (parser.run([sentence], until=label) for sentence in sentences[:: -(-len(sentences) // CONFIDENCE.sample)])
    column = FEATURES.index("cost")
    return float(np.median(np.concatenate([evidence(batch, 0, -np.inf).features[:, column] for batch in parsed])))


def examine_text(
    parser: Parser, segmenter: Segmenter, tagger: Analyzer, gold: Sequence[Sentence], limit: float
) -> list[GradedSentence]:
    """Segment, tag and parse the plain text of consecutive gold sentences; return the evidence, and the correctness.

    A word that is not in the gold standard is wrong, and so is a tree whose sentence is not: see
    `nonproj.evaluation.alignment`.
    """
    words = min(TextInput().max_words, parser.request.max_words)
    found = segmenter.using(with_margins=True).segment(raw_text(paragraphs(gold)).text, TextInput(max_words=words))
    tagged = tag(parser, tagger, found)
    features, heads, labels = [], [], []
    for sentence in tagged:
        batch = parser.run([sentence], until=label)
        features.append(evidence(batch, 0, limit))
        heads.append(batch.found[0][0].heads)
        labels.append([parser.model.labels[i] for i in batch.labels[0][0]])
    verdicts = judge_text(gold, tagged, heads, labels)
    return [GradedSentence(own, *each) for own, each in zip(features, verdicts, strict=True)]


def tag(parser: Parser, tagger: Analyzer, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return sentences with predicted tags, by the scores of the parser's pretrained encoder, too, if it has one."""
    return tagger.apply(sentences, True, encoded_tags(parser.loaded.pretrained, tagger.tags, parser.request.max_words))
