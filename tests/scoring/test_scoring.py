"""Lists of parts and their scores over pruned arcs, from the definitions; every template, both widths of weights."""

import naive_scoring as naive
import numpy as np
import pytest
from instances import seeds
from problems import draw_arcs, draw_features
from toy import draw_sentence

from nonproj.linear.perceptron import AveragedArrays
from nonproj.linear.weights import quantise
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.registry import PART_SETS, PART_TYPES
from nonproj.parts.space import part_space
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.scorer import Scorer, add_parts, dense_arc_scores, score_parts
from nonproj.scoring.templates import CODE_BITS, attributes_of, load_templates
from nonproj.scoring.vocabulary import TokenEncoder

BITS = 12
SMALL = {
    "plain": ("arc", ["none"], ["h.pos m.pos", "m-1.suffix2", "h+3.shape m-3.tag"]),
    "three codes": ("arc", ["distance", "none", "direction"], ["h.pos", "h.form m.lemma"]),
    "between": ("arc", ["direction"], ["between.pos", "h.pos between.tag m+1.pos", "between.form m.pos"]),
    "feat of one": ("arc", ["distance"], ["h.feat", "m.feat h.pos", "m-1.pos h.feat"]),
    "feats of both": ("arc", ["none"], ["h.feat m.feat", "h.pos m.feat h.feat m.pos"]),
    "all kinds": ("arc", ["direction", "distance"], ["h.feat", "between.cpos h.cpos", "h.prefix2", "m.feat h.feat"]),
    "ends": ("sibling", ["none", "direction", "distance"], ["s.pos", "m.pos", "s-1.pos m+1.pos", "h+2.form s.form"]),
    "one end": ("sibling", ["distance"], ["h.pos s+3.pos", "m-3.pos"]),
    "order": ("grandparent", ["order"], ["g.pos h.pos m.pos", "g-2.form m+2.form", "h+1.cpos"]),
    "chain codes": ("grandparent", ["none", "order", "direction"], ["g.tag", "h.tag", "m.tag"]),
}


def parts_of(part, arcs):
    """The rows of all parts of a type."""
    return PART_TYPES[part].rows(arcs, PART_TYPES[part].number(arcs, 0))


@pytest.mark.parametrize("part", ["arc", "sibling", "grandparent"])
@pytest.mark.parametrize("seed", seeds(12))
def test_rows_are_in_the_order_of_part_numbers(part, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    arcs = draw_arcs(rng, n)
    parts, expected = parts_of(part, arcs), naive.listed(part, arcs)
    assert parts.nodes.tolist() == [list(nodes) for nodes, _ in expected]
    for number, name in enumerate(PART_TYPES[part].codes):
        if part == "sibling":
            codes = [naive.sibling_code(name, *nodes, side, n) for nodes, side in expected]
        else:
            codes = [naive.code_of(name, part, nodes, n) for nodes, _ in expected]
        assert parts.codes[:, number].tolist() == codes
        assert max(codes, default=0) < 1 << CODE_BITS


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("n", [1, 2, 6])
def test_every_kind_of_template_equals_the_twin(name, n):
    """All parts, not a sample: scores, and the weights that an update with a change for every part leaves."""
    part, codes, templates = SMALL[name]
    spec = {"part": part, "codes": codes, "templates": templates}
    rng, sentence, encoder, table = draw_features(n, spec, n)
    arcs = draw_arcs(rng, n)
    parts = parts_of(part, arcs)
    weights = rng.standard_normal(1 << BITS).astype(np.float32)
    hashed = hash_tokens(encoder.encode(sentence), table, len(weights))
    places = [
        naive.places(sentence, encoder.vocabularies, spec, nodes, BITS, side)
        for nodes, side in naive.listed(part, arcs)
    ]
    scores = score_parts(hashed, parts, weights)
    expected = [sum(float(weights[i]) for i in found) for found in places]
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    delta = rng.integers(-2, 3, len(scores)).astype(float)
    changed, total = weights.copy(), np.zeros(len(weights))
    add_parts(hashed, parts, delta, AveragedArrays(changed, total, 5.0))
    moved = np.zeros(len(weights))
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
    assert short.dtype == np.int16
    assert np.abs(short).max() == 32767
    assert np.abs(short * scale - weights).max() <= scale / 2 + 1e-7
    parts = parts_of("arc", full_arc_space(7))
    hashed = hash_tokens(encoder.encode(sentence), table, len(weights))
    exact = score_parts(hashed, parts, (short * scale).astype(np.float32))
    np.testing.assert_allclose(score_parts(hashed, parts, short, scale), exact, atol=1e-3)


def test_a_table_of_zeros_can_be_quantised():
    short, scale = quantise(np.zeros(16, np.float32))
    assert scale > 0
    assert not short.any()


@pytest.mark.parametrize("name", [*PART_SETS, ["arc", "grandparent"]], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_scorer_puts_the_part_types_together(name, seed):
    """Each type's scores are its own file's; one update of all types is the sum of theirs, over one table."""
    files = load_templates(parts="third")
    rng = np.random.default_rng(seed)
    sentence = draw_sentence(rng, 5)
    encoder = TokenEncoder.from_sentences([sentence], attributes_of(files), 1)
    arcs = draw_arcs(rng, 5)
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
        for p in rng.permutation(len(listed))[:15]:
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
    scores = dense_arc_scores(encoder.encode(sentence), table, weights)
    for h in range(n + 1):
        for m in range(n + 1):
            if m == 0 or m == h:
                assert scores[h, m] == -np.inf
            else:
                places = naive.places(sentence, encoder.vocabularies, spec, (h, m), BITS)
                assert scores[h, m] == sum(float(weights[i]) for i in places)


@pytest.mark.parametrize("seed", range(5))
def test_the_update_is_the_transpose_of_the_score(seed):
    """x . (F w) == (F' x) . w for any x and w."""
    spec = load_templates()["grandparent"]
    rng, sentence, encoder, table = draw_features(seed, spec, 9)
    arcs = full_arc_space(9)
    parts = parts_of("grandparent", arcs)
    weights = rng.integers(-5, 6, 1 << BITS).astype(np.float32)
    hashed = hash_tokens(encoder.encode(sentence), table, len(weights))
    x = rng.integers(-1, 2, len(parts.nodes)).astype(float)
    transposed, total = np.zeros_like(weights), np.zeros(len(weights))
    add_parts(hashed, parts, x, AveragedArrays(transposed, total, 1.0))
    assert x @ score_parts(hashed, parts, weights) == transposed.astype(float) @ weights
    assert (total == transposed).all()


def test_an_encoder_forgets_and_stays_right(monkeypatch):
    monkeypatch.setattr("nonproj.scoring.vocabulary._CACHED_WORDS", 10)
    rng = np.random.default_rng(6)
    sentences = [draw_sentence(rng, 8) for _ in range(30)]
    encoder = TokenEncoder.from_sentences(sentences, ["form", "suffix2", "shape"], rare=1)
    fresh = [TokenEncoder(encoder.vocabularies).encode(s) for s in sentences]
    for _ in range(2):
        for sentence, expected in zip(sentences, fresh, strict=True):
            tokens = encoder.encode(sentence)
            assert (tokens.atoms == expected.atoms).all()
            assert tokens.feat.tolist() == expected.feat.tolist()
