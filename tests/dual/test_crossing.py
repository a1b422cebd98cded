"""The price of non-projective trees: the trees of highest value, against enumeration."""

import dataclasses

import numpy as np
import pytest
import toy
from instances import seeds
from naive_crossing import crossing_arcs, value
from problems import ALL_SETS, HIGHER_ORDER, KINDS, draw_problem, trees_over
from staged import scored

from nonproj.components.crossing import learn_price
from nonproj.components.trainer import train
from nonproj.dual.decoding import branch_and_bound, decode_trusted, dual_decomposition, k_best, priced_search
from nonproj.dual.options import DEFAULTS, SEARCH, DualOptions, SearchOptions, crossing_price
from nonproj.errors import ConfigError
from nonproj.learning.hyperparameters import CROSSING
from nonproj.options.config import Config
from nonproj.parts.arcs import full_arc_space, subset
from nonproj.parts.space import part_space, tree_score
from nonproj.pipeline.parser import Parser
from nonproj.trees.projective import is_projective
from nonproj.types import Sentence

PRICES = (0.0, 0.3, 1.0, 4.0, 1000.0)


def value_of(parts, scores, heads, price):
    return value([int(head) for head in heads], tree_score(parts, scores, heads), price)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("name", ALL_SETS)
def test_equals_enumeration(name, single_root, kind):
    """The best tree and the k best, at any price, with and without pruning, after one iteration or many."""
    tried, moved, kept, chosen = 0, 0, 0, seeds(24, least=10 if name != "third" else 24)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, int(rng.integers(3, 6)), name, kind, pruned=bool(seed % 2))
        options = DualOptions(single_root=single_root, max_iterations=(2, 250)[seed % 3 > 0])
        trees = trees_over(parts.arcs, single_root)
        if not trees:
            continue
        price, search = PRICES[seed % len(PRICES)], SearchOptions(node_iterations=1 + seed % 30)
        known = {tuple(tree): value_of(parts, scores, tree, price) for tree in trees}
        expected = sorted(known.values(), reverse=True)
        k = int(rng.choice([1, 3, 10]))
        best = priced_search(parts, scores, price, options, search)
        ranked = decode_trusted(parts, scores, options, search, k, price)
        np.testing.assert_allclose([tree.score for tree in ranked], expected[:k], atol=1e-7)
        assert len({tuple(tree.tree) for tree in ranked}) == len(ranked) == min(k, len(trees))
        assert best.score == pytest.approx(expected[0], abs=1e-7)
        for tree in [best, *ranked]:
            assert tree.certified and tree.score == pytest.approx(known[tuple(tree.tree.tolist())], abs=1e-7)
            assert tree.score <= tree.bound <= tree.score + 1e-6
        first = branch_and_bound(parts, scores, options)
        lost = value_of(parts, scores, first.tree, price) < first.score - 1e-7
        moved += lost and best.score > value_of(parts, scores, first.tree, price) + 1e-7
        kept += lost and np.array_equal(best.tree, first.tree)
        tried += 1
    assert tried >= 0.5 * len(chosen)
    assert moved >= 1
    assert moved + kept >= len(chosen) / 12


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_longer_sentences(name):
    """The better of the best tree, less the price, and of the best projective one, each found by itself."""
    moved = 0
    for seed in range(8):
        parts, scores = draw_problem(np.random.default_rng(seed), 14, name, "continuous", pruned=True)
        first = branch_and_bound(parts, scores)
        projective = branch_and_bound(parts, scores, DualOptions(projective=True))
        price = (first.score - projective.score) * (0.5, 0.9, 1.1, 2.0)[seed % 4]
        found = priced_search(parts, scores, price)
        expected = max(value_of(parts, scores, tree.tree, price) for tree in (first, projective))
        assert found.certified and found.score == pytest.approx(expected)
        assert found.score == pytest.approx(value_of(parts, scores, found.tree, price))
        assert found.iterations >= dual_decomposition(parts, scores).iterations and 0.0 <= found.recomputed <= 1.0
        moved += not np.array_equal(found.tree, first.tree)
    assert 1 <= moved < 8


@pytest.mark.parametrize("name", HIGHER_ORDER)
@pytest.mark.parametrize("k", [1, 3])
def test_a_projective_tree_is_found_where_the_first_tree_takes_all_the_work(k, name):
    tried = 0
    for seed in range(8):
        parts, scores = draw_problem(np.random.default_rng(seed), 12, name, "continuous", pruned=True)
        few = SearchOptions(work_per_word=1)
        first = branch_and_bound(parts, scores, DEFAULTS, few)
        if not is_projective(first.tree):
            found = decode_trusted(parts, scores, DEFAULTS, few, k, 1000.0)[0]
            assert is_projective(found.tree) and found.nodes == 1
            tried += 1
    assert tried >= 4


@pytest.mark.parametrize("name", ["sibling", "grandparent"])
def test_without_work_left_the_bound_holds(name):
    short = 0
    for seed in range(10):
        parts, scores = draw_problem(np.random.default_rng(seed), 12, name, "continuous", pruned=True)
        gap = branch_and_bound(parts, scores).score
        gap -= branch_and_bound(parts, scores, DualOptions(projective=True)).score
        exact, few = priced_search(parts, scores, 0.8 * gap), DualOptions(max_iterations=3)
        for limit in ({"work_per_word": 2_000}, {"search": False}, {"work_per_word": 0}):
            search = SearchOptions(**limit)
            found = priced_search(parts, scores, 0.8 * gap, few, search)
            for tree in (found, *decode_trusted(parts, scores, few, search, 1, 0.8 * gap)):
                assert tree.score == pytest.approx(value_of(parts, scores, tree.tree, 0.8 * gap))
                assert tree.score <= exact.score + 1e-7 <= tree.bound + 2e-7
                assert not tree.certified or tree.score == pytest.approx(exact.score)
            short += not found.certified
    assert short >= 3


def test_where_no_projective_tree_exists():
    """Of 0 -> 2 -> 4 -> 1 and 2 -> 3 over these arcs alone; the price is due, and the tree is certified."""
    space = full_arc_space(4)
    arcs = zip(space.head.tolist(), space.modifier.tolist(), strict=True)
    keep = np.array([arc in {(0, 2), (2, 4), (4, 1), (2, 3)} for arc in arcs])
    for name in ("arc", "sibling", "grandparent", "third"):
        parts = part_space(subset(space, keep), name)
        found = priced_search(parts, np.ones(len(parts)), 2.5)
        assert found.tree.tolist() == [-1, 4, 0, 2, 2] and found.certified
        assert found.score == pytest.approx(tree_score(parts, np.ones(len(parts)), found.tree) - 2.5)


def test_at_no_price_and_among_projective_trees_nothing_changes():
    for seed in range(6):
        parts, scores = draw_problem(np.random.default_rng(seed), 9, "grandparent", "continuous", pruned=True)
        for price, options in ((0.0, DEFAULTS), (5.0, DualOptions(projective=True))):
            found, expected = priced_search(parts, scores, price, options), branch_and_bound(parts, scores, options)
            assert found.tree.tolist() == expected.tree.tolist() and found[1:] == expected[1:]
        for found, expected in zip(
            decode_trusted(parts, scores, DEFAULTS, SEARCH, 4), k_best(parts, scores, 4), strict=True
        ):
            assert found.tree.tolist() == expected.tree.tolist() and found.score == expected.score
            assert found.certified and expected.certified and found.bound == pytest.approx(expected.bound, rel=1e-9)


def test_wrong_arguments():
    parts = part_space(full_arc_space(3), "sibling")
    for price in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"price is .*; a number from 0 to 1,000,000,000 is expected"):
            priced_search(parts, np.zeros(len(parts)), price)
    with pytest.raises(ValueError, match="finite"):
        priced_search(parts, np.full(len(parts), np.nan), 1.0)


@pytest.fixture(scope="module")
def model():
    """A parser that has seen few sentences, so that it hesitates."""
    small = dict.fromkeys(("features.bits", "pruner.bits", "labeler.bits"), 14)
    small |= {"training.epochs": 2, "confidence.share": 0.0, "decoding.projective": False}
    return train(toy.sentences(25), Config().with_overrides(small))


def parser_of(model, **decoding):
    return Parser(model, dataclasses.replace(model.config.decoding, **decoding))


def crosses(parse):
    return bool(crossing_arcs(parse.decoded.tree.tolist()))


def projective_score(parser, sentence):
    """The score of the best projective tree over the candidate arcs of a parser of all trees."""
    parts, scores = scored(parser, sentence)
    try:
        return branch_and_bound(parts, scores, parser.request.options._replace(projective=True)).score
    except ValueError:  # there is none
        return -np.inf


def test_a_parser_with_a_price(model):
    """Its trees have the highest value of the trees without a price and of the projective trees."""
    sentences = toy.sentences(40, seed=7)
    free = parser_of(model)
    found = [(free.parse(s), projective_score(free, s)) for s in sentences]
    gaps = sorted(tree.decoded.score - score for tree, score in found if crosses(tree) and score > -np.inf)
    assert len(gaps) >= 2
    price = float(gaps[len(gaps) // 2] + gaps[len(gaps) // 2 - 1]) / 2.0
    priced, several = parser_of(model, crossing=price), parser_of(model, crossing=price, nbest=3)
    kept = 0
    for sentence, (first, score) in zip(sentences, found, strict=True):
        tree, ranked = priced.parse(sentence), several.parse(sentence)
        expected = max(score, first.decoded.score - price * crosses(first))
        assert tree.decoded.certified and tree.decoded.score == pytest.approx(expected)
        assert ranked.decoded.score == pytest.approx(expected)
        assert all(other.decoded.score <= expected + 1e-7 for other in ranked.others)
        kept += crosses(tree)
    assert 0 < kept < sum(crosses(tree) for tree, _ in found)
    assert parser_of(model, crossing=price, projective=True).request.price == 0.0


def test_the_price_is_that_with_which_most_heads_are_right(model, monkeypatch):
    """Gold trees are those of the parser at one of the prices, so that price has no wrong head."""
    monkeypatch.setattr("nonproj.components.crossing.CROSSING", dataclasses.replace(CROSSING, min_arcs=1))
    sentences, free = toy.sentences(40, seed=8), parser_of(model)
    found = [(free.parse(s), projective_score(free, s)) for s in sentences]
    gaps = sorted(tree.decoded.score - score for tree, score in found if crosses(tree) and score > -np.inf)
    loss = float(gaps[len(gaps) // 2] + gaps[len(gaps) // 2 - 1]) / 2.0 / CROSSING.prices[3]
    found = []
    for share in (0.0, CROSSING.prices[3]):
        teacher = parser_of(model, crossing=share * loss)
        gold = [Sentence(s.rows, teacher.parse(s).decoded.tree) for s in sentences]
        assert any(crossing_arcs(g.tree.tolist()) for g in gold)
        price = learn_price(free, gold, loss)
        parser = parser_of(model, crossing=price)
        found.append((price, all(np.array_equal(parser.parse(g).decoded.tree, g.tree) for g in gold)))
    assert found[0] == (0.0, True)
    assert found[1][0] > 0.0 and found[1][1]


def test_a_model_keeps_the_price(model):
    model.meta["crossing"] = 7.5
    try:
        assert Parser(model).request.price == 7.5 and parser_of(model, crossing=0.0).request.price == 0.0
    finally:
        del model.meta["crossing"]
    assert Parser(model).request.price == 0.0
    with pytest.raises(ConfigError, match="decoding.crossing"):
        model.config.with_overrides({"decoding.crossing": -1})
    assert crossing_price(dataclasses.replace(model.config.decoding, crossing=1.0), {}, DEFAULTS) == 1.0
    assert crossing_price(model.config.decoding, {}, DEFAULTS) == 0.0
