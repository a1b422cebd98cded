"""Third-order parts beyond the tests over all sets: the best trees, integer programs, limits, the parser."""

import dataclasses
import math

import naive_integer
import naive_trees
import numpy as np
import pytest
import toy
from instances import seeds
from problems import KINDS, SUBSETS, check_laws, draw_problem, draw_scores, trees_over
from staged import scored

import nonproj.pipeline.parser
from nonproj.components.trainer import train
from nonproj.dual.decoding import branch_and_bound, k_best
from nonproj.errors import ConfigError, SizeError
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.arcs import arc_space, full_arc_space
from nonproj.parts.space import part_space
from nonproj.pipeline.parser import Parser


@pytest.mark.parametrize("name", SUBSETS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_set_is_searched_to_its_best_trees(name, kind):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, 4, name, kind, pruned=bool(seed % 2))
        expected = sorted(map(naive_trees.tree_scorer(parts, scores), trees_over(parts.arcs)))[::-1]
        found = branch_and_bound(parts, scores)
        assert found.certified
        check_laws(found, parts, scores, expected[0])
        np.testing.assert_allclose([tree.score for tree in k_best(parts, scores, 5)], expected[:5], atol=1e-7)


def draw_pruned(rng, n):
    """At most three heads for each word, a chain among them."""
    arcs = {(m - 1, m) for m in range(1, n + 1)}
    for m in range(1, n + 1):
        arcs |= {(int(h), m) for h in rng.integers(0, n + 1, 2) if h != m}
    heads, modifiers = zip(*sorted(arcs), strict=True)
    return arc_space(heads, modifiers, n)


@pytest.mark.parametrize("name", ["third", *SUBSETS])
@pytest.mark.parametrize("seed", seeds(4, least=2))
def test_agrees_with_the_integer_program_up_to_twelve_words(seed, name):
    rng = np.random.default_rng(seed)
    parts = part_space(draw_pruned(rng, int(rng.integers(9, 13))), name)
    scores = draw_scores(rng, KINDS[seed % 2], len(parts))
    found = branch_and_bound(parts, scores)
    assert found.certified
    assert naive_integer.best_score(parts, scores) == pytest.approx(found.score, abs=1e-6)


def test_more_parts_than_fit_are_counted_before_they_are_listed():
    full, flat = full_arc_space(150), arc_space(np.zeros(5000, int), np.arange(1, 5001), 5000)
    second = len(part_space(full, "grandparent"))
    sizes = [(h - 1 if h else 0, 150 - h) for h in range(151)]
    grandsiblings = sum(150 * math.comb(k + 2, 2) for h, both in enumerate(sizes) for k in both if h)
    for arcs, parts, message in (
        (full, "third", f"{second + grandsiblings} parts up to type grandsibling over 150 words; the maximum"),
        # 2e10 triples: more than 32 bits count
        (flat, ("arc", "trisibling"), f"{5000 + math.comb(5002, 3)} parts up to type trisibling over 5000 words"),
    ):
        with pytest.raises(SizeError, match=f"^{message}"):
            part_space(arcs, parts)


# -- the parser --------------------------------------------------------------------------------------------------------

SMALL = toy.FROM_GOLD_TAGS | dict.fromkeys(("labeler.epochs", "network.epochs"), 1) | {"training.epochs": 3}


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.from_bytes(train(toy.sentences(40), Config().with_overrides(SMALL | {"parts": "third"})).to_bytes())


def test_a_parser_over_all_arcs_finds_the_best_tree(model):
    """Up to `FULL_WORDS_THIRD` words: then the model's best tree, and its second best, by enumeration."""
    full = Parser(model, dataclasses.replace(model.config.decoding, full=True, crossing=0.0))
    ranked = Parser(model, dataclasses.replace(model.config.decoding, nbest=2, threshold=1e-9, crossing=0.0))
    checked = 0
    for sentence in [s for s in toy.sentences(40, seed=1) if len(s) <= 5]:
        parse = full.parse(sentence)
        assert parse.decoded.certified and len(parse.arcs.head) == len(sentence) ** 2
        parts, scores = scored(full, sentence, full_arc_space(len(sentence)))
        trees = trees_over(parts.arcs, full.request.options.single_root, full.request.options.projective)
        best = sorted(map(naive_trees.tree_scorer(parts, scores), trees), reverse=True)
        assert parse.decoded.score == pytest.approx(best[0], rel=1e-9)
        found = ranked.parse(sentence)
        if len(found.arcs.head) == len(sentence) ** 2:
            assert found.others[0].decoded.score == pytest.approx(best[1], rel=1e-9)
            checked += 1
    assert checked >= 3


def test_longer_sentences_keep_their_pruned_tree(model, monkeypatch):
    monkeypatch.setattr(nonproj.pipeline.stages, "FULL_WORDS_THIRD", 5)
    plain, full = (Parser(model, dataclasses.replace(model.config.decoding, full=full)) for full in (False, True))
    lengths = set()
    for sentence in toy.sentences(20, seed=1):
        before, after = plain.parse(sentence), full.parse(sentence)
        lengths.add(len(sentence) > 5)
        assert (after.pruned is None) == (len(sentence) > 5)
        if after.pruned is None:
            assert after.decoded.tree.tolist() == before.decoded.tree.tolist()
    assert lengths == {True, False}


def test_a_set_without_a_decoder_is_refused_before_training():
    with pytest.raises(ConfigError) as caught:
        train(toy.sentences(3), Config().with_overrides(SMALL | {"parts": ["arc", "grandsibling"]}))
    assert str(caught.value).startswith("parts: there is no decoder for arc,grandsibling; there are for ")
