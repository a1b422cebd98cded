"""Costs of crossed arcs in a parser: learnt from gold trees, paid by trees, and proved."""

import dataclasses

import numpy as np
import pytest
import toy
from naive_crossing import crossed_arcs, crossing_arcs

from nonproj.components.trainer import train
from nonproj.dual.decoding import branch_and_bound
from nonproj.dual.options import SearchOptions
from nonproj.errors import ConfigError, ModelError
from nonproj.learning.crossing import CrossingLearner, loss_weights
from nonproj.learning.hyperparameters import CROSSING
from nonproj.linear.state import load
from nonproj.options.config import Config
from nonproj.parts.arc import Arc
from nonproj.parts.arcs import arc_space
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import crossing_costs, score
from nonproj.scoring.crossing import FREE, CrossingScorer, crossing_places, sums_of
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.labels import label_scores
from nonproj.scoring.templates import load_templates, part_templates
from nonproj.trees.crossing import nonprojective

SMALL = toy.FROM_GOLD_TAGS | {"training.epochs": 2, "decoding.projective": False}


@pytest.fixture(scope="module")
def model():
    """A parser that has seen few sentences, so that it hesitates."""
    return train(toy.sentences(40), Config().with_overrides(SMALL))


def parser_of(model, **decoding):
    options = {"threshold": 1e-9} | decoding  # the overconfident pruner would leave a single candidate
    return Parser(model, dataclasses.replace(model.config.decoding, **options), tags="none")


def scored(parser, sentence):
    """A sentence whose parts have scores, and the costs of its arcs."""
    batch = parser.run([sentence], until=score)
    costs = next(iter(crossing_costs(batch, [0])), None)
    return batch, None if costs is None else costs.costs


def encoded(model, sentence):
    """A sentence as integers, and the numbers of its labels."""
    labels = np.array([model.labels.index(label) for label in sentence.labels])
    return parser_of(model).loaded.encoder.encode(sentence), labels


def rows_of(tree):
    """The arcs of a tree as parts."""
    words = np.arange(1, len(tree))
    return Arc().rows(arc_space(tree[1:], words, len(words)), np.empty(0, np.int64))


def test_trees_are_the_best_ones_less_their_costs(model):
    moved = paid = 0
    for factor in (1.0, 1000.0):
        free, parser = parser_of(model, crossing=0.0), parser_of(model, crossing=factor, nbest=2)
        for sentence in toy.sentences(40, seed=7):
            batch, costs = scored(parser, sentence)
            found, first = parser.parse(sentence), free.parse(sentence)
            given = batch.spaces[0], batch.scores[0], parser.request.options
            best = branch_and_bound(*given, SearchOptions(10**8), costs)
            assert found.decoded.certified and found.decoded.score == pytest.approx(best.score)
            tree = found.decoded.tree.tolist()
            own = dict(zip(zip(batch.arcs[0].head, batch.arcs[0].modifier, strict=True), costs, strict=True))
            assert found.paid == pytest.approx(sum(own[tree[m], m] for m in crossed_arcs(tree)))
            assert all(found.decoded.score >= other.decoded.score for other in found.others)
            assert first.decoded.score >= found.decoded.score and first.paid == 0.0
            moved += not np.array_equal(first.decoded.tree, found.decoded.tree)
            paid += found.paid > 0.0
    assert moved and paid


def test_costs_are_those_of_the_probability(model):
    """By the scores of all labels, of which each arc has one."""
    parser, scorer = parser_of(model), model.loaded(CrossingScorer)
    for sentence in toy.sentences(5, seed=9):
        batch, costs = scored(parser, sentence)
        labels, table = batch.known.of_labels.argmax(axis=1), parser.loaded.crossing_table
        rows = Arc().rows(batch.arcs[0], np.empty(0, np.int64))
        hashed = hash_tokens(batch.tokens[0], table, len(scorer.weights))
        sums = label_scores(hashed, rows, len(model.labels), scorer.weights)[np.arange(len(labels)), labels]
        probability = 1.0 / (1.0 + np.exp(-scorer.scale * sums))
        expected = scorer.unit * np.maximum(-np.log(probability) - FREE, 0.0)
        np.testing.assert_allclose(costs, expected, atol=1e-6 * scorer.unit)


def test_arcs_that_cross_in_training_cost_less(model):
    """Arcs of gold trees that the model has not seen."""
    costs, crossed, table = [], [], parser_of(model).loaded.crossing_table
    for sentence in toy.sentences(40, seed=11):
        tokens, labels = encoded(model, sentence)
        costs += model.loaded(CrossingScorer).costs(tokens, rows_of(sentence.tree), labels, table).tolist()
        crossed += [m in crossed_arcs(sentence.tree.tolist()) for m in range(1, len(labels) + 1)]
    costs, crossed = np.array(costs), np.array(crossed)
    assert crossed.any() and costs[crossed].mean() < 0.7 * costs[~crossed].mean()


def test_the_logistic_model_follows_its_gradient(model):
    """On one sentence the loss falls, and crossed arcs become likely."""
    sentence = next(s for s in toy.sentences(40) if nonprojective(s.heads).any())
    tokens, labels = encoded(model, sentence)
    table = part_templates(load_templates(labelled=True)["crossing"], parser_of(model).loaded.encoder.attributes)
    learner = CrossingLearner(table, 14)
    losses = [learner.update(tokens, sentence.tree, labels) for _ in range(80)]
    assert losses[0] == (pytest.approx(np.log(2.0) * len(labels)), len(labels)) and losses[-1][0] < 0.3 * losses[0][0]
    listed = crossing_places(tokens, rows_of(sentence.tree), labels, table, len(learner.weights))
    likely = sums_of(listed, learner.weights) > 0.0
    assert (np.flatnonzero(likely) + 1).tolist() == crossed_arcs(sentence.tree.tolist())
    assert learner.update(tokens, np.full(len(labels) + 1, -1), labels) == (0.0, 0)


def test_an_arc_without_features_is_as_likely_as_not(model):
    """Neighbours have no words between them."""
    spec = {"part": "labelled_arc", "codes": ["none"], "templates": ["between.pos"]}
    table = part_templates(spec, parser_of(model).loaded.encoder.attributes)
    tokens = parser_of(model).loaded.encoder.encode(next(s for s in toy.sentences(40) if len(s) > 3))
    n = tokens.n_nodes - 1
    arcs, weights = rows_of(np.array([-1, 3, *range(1, n)])), np.ones(1 << 14, np.int16)
    sums = sums_of(crossing_places(tokens, arcs, np.zeros(n, np.int64), table, len(weights)), weights)
    assert sums.tolist() == [1.0] + [0.0] * (n - 1)


def test_non_projective_arcs_weigh_more_in_training():
    for sentence in toy.sentences(30):
        weights = loss_weights(sentence.tree)
        heavy = crossing_arcs(sentence.tree.tolist())
        assert weights.tolist() == [CROSSING.weight if m in heavy else 1.0 for m in range(len(weights))]
    assert loss_weights(np.array([-1, 3, 0, -1, 1], np.int32)).tolist() == [1.0] * 5


def test_where_there_are_no_costs(model):
    sentence = toy.sentences(1)[0]
    for decoding in ({"crossing": 0.0}, {"projective": True}):
        assert scored(parser_of(model, **decoding), sentence)[1] is None
    projective = [s for s in toy.sentences(60) if not nonprojective(s.heads).any()]
    plain = train(projective, Config().with_overrides(toy.FROM_GOLD_TAGS | {"training.epochs": 1}))
    assert "crossing" not in plain.components and Parser(plain).parse(sentence).paid is None
    for value in (-1, 1001, "none"):
        with pytest.raises(ConfigError, match="decoding.crossing"):
            model.config.with_overrides({"decoding.crossing": value})


@pytest.mark.parametrize("change", [{"unit": -1.0}, {"unit": float("nan")}, {"scale": 0.0}, {}])
def test_an_unsound_state_is_refused(model, change):
    values, arrays = model.loaded(CrossingScorer).state()
    with pytest.raises(ModelError, match="crossed arcs"):
        load(CrossingScorer, (values | change, arrays if change else {"weights": arrays["weights"][:-1]}))


def test_a_continued_model_keeps_its_costs(model):
    continued = train(toy.sentences(20, seed=3), start=model)
    one, other = continued.loaded(CrossingScorer), model.loaded(CrossingScorer)
    assert np.array_equal(one.weights, other.weights) and one.unit == other.unit
