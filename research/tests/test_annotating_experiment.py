"""The simulated annotator: what is annotated, how actions are counted, and the tables of the page."""

import numpy as np
import pytest
import toy

from nonproj.components.trainer import train
from nonproj.options.config import Config
from research.experiments import annotating
from research.experiments.correcting import STRATEGIES, constrained, correct, corrections

SMALL = {
    "parts": "sibling",
    "features.bits": 14,
    "pruner.bits": 12,
    "labeler.bits": 14,
    "labeler.epochs": 1,
    "pruner.folds": 0,
    "training.epochs": 1,
    "network.epochs": 0,
    "tagger.epochs": 0,
    "segmenter.epochs": 0,
    "confidence.share": 0.0,
    "pruner.threshold": 1e-4,
    "decoding.projective": False,
}


@pytest.fixture(scope="module")
def parser():
    """A parser that has learnt little, so that it makes mistakes."""
    return constrained(train(toy.noisy_sentences(12), Config().with_overrides(SMALL)))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("labelled", [False, True])
def test_an_annotator_needs_at_most_an_action_for_each_word_read(parser, labelled, strategy):
    saved = 0
    for sentence in toy.noisy_sentences(40)[12:]:
        row = correct(parser, sentence, labelled, strategy)
        assert (row["actions"] == 0) == (row["wrong"] == 0)
        assert row["actions"] == row["certified"] <= len(sentence)
        saved += row["wrong"] - row["actions"]
    assert saved >= 0


def test_totals_are_sums(parser):
    sentences = toy.noisy_sentences(30)[12:]
    rows = corrections(parser, sentences)
    assert [(row["labels"], row["strategy"]) for row in rows] == [(k, s) for k in (0, 1) for s in STRATEGIES]
    single = [correct(parser, sentence, True, "read") for sentence in sentences]
    assert rows[-1]["actions"] == sum(row["actions"] for row in single)
    assert rows[-1]["saved"] == pytest.approx(1 - rows[-1]["actions"] / sum(row["wrong"] for row in single))


@pytest.mark.parametrize("strategy", annotating.NAMES)
def test_all_strategies_annotate_as_many_arcs(parser, strategy):
    pool = toy.noisy_sentences(60)
    given = [np.zeros(len(sentence), bool) for sentence in pool]
    for arcs in (15, 31):
        before = [each.copy() for each in given]
        annotating.annotate(strategy, parser, pool, given, arcs)
        assert sum(int(each.sum()) for each in given) == arcs
        assert all((now >= old).all() for now, old in zip(given, before, strict=True))
    whole = [each for each in given if each.any()]
    if strategy in ("random", "sentences"):
        assert sum(not each.all() for each in whole) <= 1
    found = annotating.partial_trees(pool, given)
    assert len(found) == len(whole)
    assert [sum(row[6] != "_" for row in sentence.rows) for sentence in found] == [each.sum() for each in whole]
