"""Lists of parts and their scores over pruned arcs, from the definitions: every template, all widths of weights."""

import naive_scoring as naive
import naive_trees
import numba
import numpy as np
import pytest
from problems import draw_arcs, draw_features
from toy import draw_sentence

from nonproj.linear.perceptron import AveragedArrays
from nonproj.linear.weights import quantise
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.registry import PART_SETS, PART_TYPES
from nonproj.parts.space import part_space
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.prefetch import prefetch
from nonproj.scoring.scorer import Scorer, add_parts, dense_arc_scores, score_parts
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vocabulary import TokenEncoder

BITS = 12
SMALL = {
    "plain": ("arc", ["none"], ["h.pos m.pos", "m-1.suffix2", "h+3.shape m-3.tag"]),
    "between": ("arc", ["direction"], ["between.pos", "h.pos between.tag m+1.pos", "between.form m.pos"]),
    "feats of both": ("arc", ["none"], ["h.feat m.feat", "h.pos m.feat h.feat m.pos"]),
    "all kinds": ("arc", ["direction", "distance"], ["h.feat", "between.cpos h.cpos", "h.prefix2", "m.feat h.feat"]),
    "ends": ("sibling", ["none", "direction", "distance"], ["s.pos", "m.pos", "s-1.pos m+1.pos", "h+2.form s.form"]),
    "chain": ("grandparent", ["none", "order", "direction"], ["g.pos h.pos m.pos", "g-2.form m+2.form", "h+1.cpos"]),
}


def parts_of(part, arcs):
    """The rows of all parts of a type."""
    return PART_TYPES[part].rows(arcs, PART_TYPES[part].number(arcs, 0))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("n", [1, 2, 6])
def test_every_kind_of_template_equals_the_twin(name, n):
    """All parts, not a sample: scores, and the weights that an update with a change for every part leaves."""
    part, codes, templates = SMALL[name]
    spec = {"part": part, "codes": codes, "templates": templates}
    rng, sentence, encoder, table = draw_features(n, spec, n)
    arcs, weights = draw_arcs(rng, n), rng.standard_normal(1 << BITS).astype(np.float32)
    parts, hashed = parts_of(part, arcs), hash_tokens(encoder.encode(sentence), table, len(weights))
    listed = naive.listed(part, arcs)
    places = [naive.places(sentence, encoder.vocabularies, spec, nodes, BITS, side) for nodes, side in listed]
    expected = [sum(float(weights[i]) for i in each) for each in places]
    np.testing.assert_allclose(score_parts(hashed, parts, weights), expected, atol=1e-9)
    delta = rng.integers(-2, 3, len(places)).astype(float)
    changed, total, moved = weights.copy(), np.zeros(len(weights)), np.zeros(len(weights))
    add_parts(hashed, parts, delta, AveragedArrays(changed, total, 5.0))
    for change, found in zip(delta, places, strict=True):
        np.add.at(moved, found, change)
    np.testing.assert_allclose(changed, weights + moved, atol=1e-4)
    assert (total == 5 * moved).all()


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_16_bits_score_as_what_they_stand_for(seed):
    spec = load_templates()["arc"]
    rng, sentence, encoder, table = draw_features(seed, spec, 7)
    weights = rng.standard_normal(1 << BITS).astype(np.float32)
    short, scale = quantise(weights)
    assert short.dtype == np.int16 and np.abs(short).max() == 32767
    assert np.abs(short * scale - weights).max() <= scale / 2 + 1e-7
    parts, hashed = parts_of("arc", full_arc_space(7)), hash_tokens(encoder.encode(sentence), table, len(weights))
    exact = score_parts(hashed, parts, (short * scale).astype(np.float32))
    np.testing.assert_allclose(score_parts(hashed, parts, short, scale), exact, atol=1e-3)


@pytest.mark.parametrize("name", [*PART_SETS, ["arc", "grandparent"]], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_scorer_puts_the_part_types_together(name, seed):
    """Each type's scores are its own file's; one update of all types is the sum of theirs, over one table."""
    files = load_templates(parts="third")
    rng, n = np.random.default_rng(seed), [1, 5, 14][seed]
    sentence = draw_sentence(rng, n)
    encoder = TokenEncoder.from_sentences([sentence], attributes_of(files), 1)
    arcs = draw_arcs(rng, n)
    parts = part_space(arcs, name)
    weights = rng.integers(-4, 5, 1 << BITS).astype(np.float32)
    scorer = Scorer(files, encoder.attributes, name)
    features = scorer.features(encoder.encode(sentence), parts, len(weights))
    scores = scorer.score_unlabelled(features, weights)
    assert scores.shape == (len(parts),)
    moved, delta = np.zeros(len(weights)), np.zeros(len(parts))
    for part in parts.names:
        first, listed = parts.range(part).start, naive.listed(part, arcs)
        assert parts.range(part).stop == first + len(listed)
        for p in rng.permutation(len(listed))[: 5 * n]:
            places = naive.places(sentence, encoder.vocabularies, files[part], listed[p][0], BITS, listed[p][1])
            assert scores[first + p] == sum(float(weights[i]) for i in places)
            delta[first + p] = rng.integers(-2, 3)
            np.add.at(moved, places, delta[first + p])
    changed, total = weights.copy(), np.zeros(len(weights))
    scorer.add(features, delta, AveragedArrays(changed, total, 2.0))
    assert (changed == weights + moved).all()
    assert (total == 2 * moved).all()


@pytest.mark.parametrize("n", [1, 4, 9])
def test_dense_scores_are_those_of_all_arcs(n):
    spec = load_templates()["pruner"]
    rng, sentence, encoder, table = draw_features(n, spec, n)
    weights = rng.integers(-9, 10, 1 << BITS).astype(np.float32)
    expected = np.full((n + 1, n + 1), -np.inf)
    for h, m in naive_trees.pairs_of(full_arc_space(n)):
        places = naive.places(sentence, encoder.vocabularies, spec, (h, m), BITS)
        expected[h, m] = sum(float(weights[i]) for i in places)
    assert dense_arc_scores(encoder.encode(sentence), table, weights).tolist() == expected.tolist()


def add(weights, places):
    """Ask for all weights, and for one that does not exist, then add them."""
    prefetch(weights, np.uint64(1 << 40))
    for i in range(places.shape[0]):
        prefetch(weights, np.uint64(places[i]))
    total = 0
    for i in range(places.shape[0]):
        total += weights[places[i]]
    return total


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32])
def test_the_instruction_is_compiled_and_changes_no_sum(kind):
    compiled = numba.njit(add)
    weights, places = np.arange(100).astype(kind), np.array([3, 99, 0, 3])
    assert compiled(weights, places) == 105
    if not numba.config.DISABLE_JIT:
        (code,) = compiled.inspect_llvm().values()
        assert "call void @llvm.prefetch" in code
