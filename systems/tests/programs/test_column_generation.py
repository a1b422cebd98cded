"""Price and cut against the full program; its separation, pricing and bounds against their definitions."""

import math
from dataclasses import replace

import naive_pricing
import naive_programs
import naive_trees
import numpy as np
import pytest
import toy
import yaml
from instances import seeds
from problems import ARC_GRANDPARENT, KINDS

from nonproj.components.trainer import train
from nonproj.errors import SizeError
from nonproj.options.config import Config
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import part_space
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.scorer import score_parts
from nonproj.scoring.templates import load_templates, part_templates
from nonproj.scoring.vocabulary import TokenEncoder
from nonproj.types import Sentence
from nonproj_systems.programs.bounds import grandparent_bounds, parts_of_triples
from nonproj_systems.programs.column_generation import PricingOptions, full_program, price_and_cut
from nonproj_systems.programs.linear_program import LinearOptions, linear_program
from nonproj_systems.programs.price_and_cut import PricingParser
from nonproj_systems.programs.pricing import ADDED, promising_parts, violated_arc_gp, violated_cutsets

pytest.importorskip("highspy")

BOUNDS = ("exact", "loose", "infinite", "mixed")


def near(value):
    return pytest.approx(value, abs=1e-6, rel=1e-6)


def draw(seed, smallest=2, largest=7):
    """Scores of all arcs and grandparent parts, of similar size, so that some relaxations are fractional."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(smallest, largest + 1)) + 1
    if KINDS[seed % 2] == "integer":
        return rng.integers(-2, 3, (n_nodes,) * 2).astype(float), rng.integers(-3, 4, (n_nodes,) * 3).astype(float)
    return rng.standard_normal((n_nodes,) * 2), 1.5 * rng.standard_normal((n_nodes,) * 3)


def upper_of(cube, kind, rng):
    """Upper bounds of these scores."""
    infinite = {"exact": 0.0, "loose": 0.0, "infinite": 1.0, "mixed": 0.3}[kind]
    loose = cube + (rng.random(cube.shape) * 2 if kind in ("loose", "mixed") else 0.0)
    return np.where(rng.random(cube.shape) < infinite, np.inf, loose)


class Scores:
    """Scores of grandparent parts, with a list of all parts scored."""

    def __init__(self, cube):
        self.cube, self.asked = cube, []

    def __call__(self, parts):
        assert parts.dtype == np.int32
        self.asked += [tuple(part) for part in parts.tolist()]
        return self.cube[tuple(parts.T)]


def parts_of(arc, cube):
    """Return the part space of all arcs and grandparent parts, and their scores."""
    parts = part_space(full_arc_space(len(arc) - 1), ARC_GRANDPARENT)
    arcs = parts.arcs
    g, h, m = PART_TYPES["grandparent"].rows(arcs, parts.start("grandparent")).nodes.T
    return parts, np.concatenate([arc[arcs.head, arcs.modifier], cube[g, h, m]])


def check(decoded, counts, arc, cube):
    """Assert the properties of every result."""
    heads = decoded.tree.tolist()
    assert naive_trees.is_tree(heads)
    words = range(1, len(heads))
    parts = [(heads[heads[m]], heads[m], m) for m in words if heads[m]]
    assert decoded.score == near(sum(arc[heads[m], m] for m in words) + sum(cube[part] for part in parts))
    assert decoded.score <= decoded.bound
    assert decoded.certified == (decoded.bound - decoded.score <= 1e-6 * (1 + abs(decoded.score)))
    assert decoded.certified or not decoded.agreed
    assert counts.grandparents == len(naive_pricing.grandparent_parts(len(heads)))
    assert counts.added <= counts.scored <= counts.grandparents


@pytest.mark.parametrize("bounds", BOUNDS)
def test_price_and_cut_reaches_the_optimum_of_the_full_program(bounds):
    """LP(M) with all families of rows, for any valid bounds; no part is scored twice."""
    fractional = certified = 0
    chosen = seeds(40)
    for seed in chosen:
        arc, cube = draw(seed)
        single_root = seed % 3 == 0
        scores = Scores(cube)
        upper = upper_of(cube, bounds, np.random.default_rng(seed))
        decoded, counts = price_and_cut(arc, upper, scores, PricingOptions(heads=seed % 4, single_root=single_root))
        options = LinearOptions(single_root=single_root)
        expected = linear_program(*parts_of(arc, cube), options)[0]
        assert decoded.bound == near(expected.bound)
        check(decoded, counts, arc, cube)
        assert len(scores.asked) == len(set(scores.asked)) == counts.scored
        assert set(scores.asked) <= set(naive_pricing.grandparent_parts(len(arc)))
        assert not single_root or (decoded.tree == 0).sum() == 1
        fractional += not decoded.agreed
        certified += decoded.certified
    assert fractional > 5 / 40 * len(chosen)
    assert certified > 5 / 40 * len(chosen)


def test_price_and_cut_reaches_the_optimum_of_the_rows_in_the_papers():
    for seed in range(10):
        arc, cube = draw(seed + 100, 1, 5)
        decoded, _ = price_and_cut(arc, np.full(cube.shape, np.inf), Scores(cube))
        assert decoded.bound == near(naive_programs.relaxed_optimum(*parts_of(arc, cube), LinearOptions("multi")))


@pytest.mark.parametrize("arcs,grandparents", [(1e-3, 1e3), (1e5, 1e5), (1e3, 1e-3), (0.0, 1.0), (0.0, 0.0)])
def test_scores_may_have_any_magnitude(arcs, grandparents):
    for seed in range(6):
        arc, cube = draw(seed + 300, 5, 9)
        arc, cube = arcs * arc, grandparents * cube
        expected = full_program(arc, Scores(cube))[0].bound
        decoded, _ = price_and_cut(arc, np.full(cube.shape, np.inf), Scores(cube))
        assert decoded.bound == pytest.approx(expected, rel=1e-6, abs=1e-6 * max(arcs, grandparents))


def test_the_full_program_has_the_same_optimum():
    for seed in range(20):
        arc, cube = draw(seed + 200)
        options = PricingOptions(single_root=bool(seed % 2))
        scores = Scores(cube)
        decoded, counts = full_program(arc, scores, options)
        check(decoded, counts, arc, cube)
        assert counts.scored == counts.added == counts.grandparents == len(scores.asked)
        assert decoded.bound == near(price_and_cut(arc, cube, Scores(cube), options)[0].bound)


def test_parts_that_cannot_matter_are_not_scored():
    """If one tree is the best by far, only the initial parts are scored."""
    rng = np.random.default_rng(0)
    n = 14
    heads = np.array([-1, *(int(rng.integers(m)) for m in range(1, n + 1))])
    arc = rng.standard_normal((n + 1, n + 1))
    arc[heads[1:], np.arange(1, n + 1)] += 100.0
    cube = rng.standard_normal((n + 1,) * 3)
    decoded, counts = price_and_cut(arc, np.full(cube.shape, 5.0), Scores(cube))
    assert decoded.tree.tolist() == heads.tolist()
    assert decoded.certified
    assert counts.scored < 8 * n < counts.grandparents / 10


def test_sentences_of_no_or_one_word_have_no_grandparent_parts():
    assert price_and_cut(np.zeros((1, 1)), np.zeros((1, 1, 1)), Scores(None))[0].tree.tolist() == [-1]
    decoded, counts = price_and_cut(np.full((2, 2), 3.0), np.zeros((2, 2, 2)), Scores(np.zeros((2, 2, 2))))
    assert (decoded.tree.tolist(), decoded.score, decoded.bound) == ([-1, 0], 3.0, 3.0)
    assert (counts.grandparents, counts.scored) == (0, 0)


def test_errors_name_the_invalid_argument():
    arc, cube = np.zeros((4, 4)), np.zeros((4, 4, 4))
    scores = Scores(cube)
    wrong = arc.copy()
    wrong[1, 2] = np.inf
    nan = cube.copy()
    nan[0, 1, 2] = np.nan
    for arguments, message in (
        ((np.zeros((3, 4)), cube, scores), "arc_scores has the shape"),
        ((arc, np.zeros((4, 4)), scores), "upper_bounds has the shape"),
        ((wrong, cube, scores), "arc_scores has an entry that is not finite"),
        ((arc, nan, scores), "upper_bounds has an entry that is NaN"),
        ((arc, cube, scores, PricingOptions(heads=-1)), "heads is -1"),
        ((arc, cube, scores, PricingOptions(tolerance=np.nan)), "tolerance is nan"),
        ((arc, cube, lambda parts: np.zeros(1)), "one finite number for each"),
    ):
        with pytest.raises(ValueError, match=message):
            price_and_cut(*arguments)


# -- separation and pricing


def fractional_arcs(seed):
    """Values of arcs that sum to 1 into each word: convex combinations of few head vectors, trees or not."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 7))
    arcs = np.zeros((n_nodes, n_nodes))
    for weight in rng.dirichlet(np.ones(int(rng.integers(1, 4)))):
        for m in range(1, n_nodes):
            arcs[rng.choice([h for h in range(n_nodes) if h != m]), m] += weight
    return arcs


def test_violated_cutsets_are_found_if_there_are_any():
    empty = 0
    chosen = seeds(200)
    for seed in chosen:
        arcs = fractional_arcs(seed)
        sets = violated_cutsets(arcs, 1e-6)
        expected = naive_pricing.violated_cutsets(arcs, 1e-6)
        found = [frozenset(np.flatnonzero(members).tolist()) for members in sets]
        assert set(found) <= set(expected)
        assert bool(found) == bool(expected)
        assert len(found) == len(set(found))
        empty += not found
    assert 0.1 * len(chosen) < empty < 0.9 * len(chosen)


def test_all_violated_rows_arc_gp_are_found():
    for seed in seeds(60):
        arcs = fractional_arcs(seed)
        rng = np.random.default_rng(seed)
        state = (rng.random((len(arcs),) * 3) < 0.3).astype(np.uint8) * ADDED
        added = {tuple(part) for part in np.argwhere(state).tolist()}
        found = [tuple(part) for part in violated_arc_gp(arcs, state, 1e-6).tolist()]
        assert sorted(found) == sorted(naive_pricing.violated_arc_gp(arcs, added, 1e-6))


def test_duals_are_feasible_if_no_part_is_promising():
    """Complete the duals of OneGP and GPArc as `promising_parts` describes; each arc's slack must cover them."""
    none = 0
    chosen = seeds(100)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        n_nodes = int(rng.integers(3, 6))
        slack = rng.uniform(0, 3, (n_nodes, n_nodes))
        optimistic = np.full((n_nodes,) * 3, -np.inf)
        for part in naive_pricing.grandparent_parts(n_nodes):
            optimistic[part] = rng.uniform(-3, 2.3)
        no_columns = np.full((n_nodes, n_nodes), -np.inf)
        state = np.zeros(optimistic.shape, np.uint8)
        if len(promising_parts(slack, optimistic, state, no_columns)):
            continue
        none += 1
        required = np.zeros(slack.shape)
        for h in range(1, n_nodes):
            for m in range(1, n_nodes):
                one_gp = min(slack[h, m], optimistic[:, h, m].max()) if h != m else -np.inf
                required[h, m] += max(one_gp, -1e9)
                for g in range(n_nodes):
                    if optimistic[g, h, m] > -np.inf:
                        required[g, h] += max(0.0, optimistic[g, h, m] - one_gp)
        assert (required <= slack + 1e-12).all()
    assert 0.1 * len(chosen) < none < 0.9 * len(chosen)


# -- bounds, and a model


@pytest.fixture(scope="module")
def files():
    """Arc and grandparent templates, some of the latter over two words."""
    files = load_templates()
    del files["sibling"]
    texts = ["g.pos h.pos m.pos", "g.pos m.pos", "g.form h.pos m.form", "h+1.pos m.form", "g.pos h.pos m-1.form"]
    files["grandparent"] = {**files["grandparent"], "templates": texts}
    return files


@pytest.fixture(scope="module")
def sentences():
    return toy.sentences(40)


@pytest.fixture(scope="module")
def model(files, sentences, tmp_path_factory):
    """Trained briefly, without pruning."""
    folder = tmp_path_factory.mktemp("features")
    for name, spec in files.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    options = {"features.folder": str(folder), "features.bits": 14, "pruner.bits": 12, "labeler.bits": 12}
    options |= {"pruner.threshold": 1e-300, "pruner.folds": 0, "labeler.epochs": 0, "training.epochs": 2}
    options |= {"parts": ARC_GRANDPARENT}
    options |= {"network.epochs": 0}
    return train(sentences, Config().with_overrides(options))


@pytest.mark.parametrize("dtype", [np.int16, np.float32])
@pytest.mark.parametrize("codes", [["direction", "order"], ["none"], ["order"]])
def test_bounds_match_their_definition_and_no_part_scores_more(model, sentences, dtype, codes):
    parser = PricingParser(model).parser
    spec = {**model.templates["grandparent"], "codes": codes}
    table = part_templates(spec, parser.loaded.encoder.attributes)
    rng = np.random.default_rng(0)
    weights = rng.integers(-1000, 1000, 1 << 12).astype(dtype)
    for sentence in sentences[:4]:
        hashed = hash_tokens(parser.loaded.encoder.encode(sentence), table, len(weights))
        bounds = grandparent_bounds(hashed, weights, 0.5)
        triples = naive_pricing.grandparent_parts(len(sentence) + 1)
        scores = score_parts(hashed, parts_of_triples(triples), weights, 0.5)
        upper = bounds.upper[tuple(np.array(triples).T)]
        assert (upper >= scores).all()
        assert np.isfinite(bounds.upper).sum() == len(triples)
        types = [[naive_pricing.types_of(hashed, t, slot) for slot in range(3)] for t in range(len(table.salt))]
        assert bounds.lookups == sum(map(math.prod, types))
        for number in rng.choice(len(triples), 12):
            assert upper[number] == 0.5 * naive_pricing.upper_bound(hashed, weights, triples[number])


def test_bounds_of_templates_over_two_words_are_exact(model, sentences):
    parser = PricingParser(model).parser
    spec = {**model.templates["grandparent"], "templates": ["g.pos m.form", "h.pos m.pos", "g.form h.form"]}
    weights = np.random.default_rng(1).standard_normal(1 << 12).astype(np.float32)
    table = part_templates(spec, parser.loaded.encoder.attributes)
    hashed = hash_tokens(parser.loaded.encoder.encode(sentences[0]), table, len(weights))
    triples = naive_pricing.grandparent_parts(len(sentences[0]) + 1)
    scores = score_parts(hashed, parts_of_triples(triples), weights)
    upper = grandparent_bounds(hashed, weights).upper
    np.testing.assert_allclose(upper[tuple(np.array(triples).T)], scores, atol=1e-5)


def test_bounds_reject_invalid_arguments(model, sentences):
    parser = PricingParser(model).parser
    tokens, tables = parser.loaded.encoder.encode(sentences[0]), parser.loaded.scorer.tables
    weights = np.zeros(1 << 12, np.float32)
    hashed = hash_tokens(tokens, tables[1], len(weights))
    with pytest.raises(ValueError, match="weights has the shape"):
        grandparent_bounds(hashed, weights[:16])
    with pytest.raises(ValueError, match="scale is"):
        grandparent_bounds(hashed, weights, 0.0)
    with pytest.raises(ValueError, match="templates over sets"):
        grandparent_bounds(hash_tokens(tokens, tables[0], len(weights)), weights)
    spec = {"part": "grandparent", "codes": ["none"], "templates": ["g.pos h.pos m.pos"]}
    long = Sentence([[str(i), "a", "a", "N", "N", "_", "0", "x", "_", "_"] for i in range(1, 601)])
    hashed = hash_tokens(TokenEncoder({"pos": ["N"], "feat": []}).encode(long), part_templates(spec, ["pos"]), 16)
    with pytest.raises(SizeError, match="217081801 triples over 600 words"):
        grandparent_bounds(hashed, np.zeros(16, np.float32))
    with pytest.raises(ValueError, match="shape"):
        parts_of_triples([[1, 2]])


def test_a_model_reaches_the_optimum_of_brute_force_and_scores_fewer_parts(model, sentences):
    parser = PricingParser(model)
    scored = total = compared = 0
    for sentence in sentences:
        decoded, counts = parser.parse(sentence)
        expected, full = parser.brute_force(sentence)
        assert decoded.bound == near(expected.bound)
        assert full.scored == full.grandparents == counts.grandparents
        if expected.certified and decoded.certified:
            assert expected.score == near(decoded.score)
            compared += 1
        assert counts.lookups > 0
        scored, total = scored + counts.scored, total + counts.grandparents
    assert scored < 0.4 * total
    assert compared >= len(sentences) / 2


@pytest.mark.parametrize("parts", [("arc",), ("arc", "sibling", "grandparent")])
def test_other_sets_of_part_types_are_refused(model, parts):
    other = replace(model, config=model.config.with_overrides({"parts": parts}))
    message = f"price and cut is for arcs and grandparents, not for {', '.join(parts)}$"
    with pytest.raises(ValueError, match=message):
        PricingParser(other)
