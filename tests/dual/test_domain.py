"""The numeric domain: forbidden arcs, scales from 1e-30 to 1e30, and refusals."""

import random

import naive_domain
import naive_trees
import numpy as np
import pytest
from instances import seeds
from problems import best_score, check_laws, draw_problem, trees_over

import nonproj
from nonproj.dual.check_proofs import check_line
from nonproj.dual.decoding import branch_and_bound, dual_decomposition, k_best
from nonproj.dual.domain import normalise_scores
from nonproj.dual.options import SEARCH, DualOptions
from nonproj.dual.proofs import as_line, search_with_proof
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import part_space
from nonproj.trees.domain import forbidden_arcs, without_forbidden
from research.attack.campaign import generator
from research.attack.exact import KINDS, MASKS, Exact

FLOAT32 = float(np.finfo(np.float32).min)


@pytest.mark.parametrize("seed", seeds(300))
def test_forbidden_arcs_are_those_of_the_rule(seed):
    rng = random.Random(seed)
    scale = 10.0 ** rng.uniform(-30, 30)
    values = [rng.choice((scale * rng.gauss(0, 1), rng.choice(MASKS), 0.0)) for _ in range(rng.randint(1, 12))]
    is_forbidden = naive_domain.forbidden(values)
    assert forbidden_arcs(values).tolist() == [is_forbidden(value) for value in values]


def test_only_arcs_count():
    scores = np.array([[-1e30, 5.0, -1e9], [np.inf, -1e38, 2.0], [3.0, 1.0, -1e38]])
    kept = without_forbidden(scores)
    assert kept[0, 2] == -np.inf and kept[0, 0] == -1e30 and kept[1, 1] == -1e38
    assert without_forbidden(scores[:1, :1]) is not None
    ordinary = np.array([[0.0, 3e6, -1e9], [0.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    assert without_forbidden(ordinary).tolist() == ordinary.tolist()


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-10, 1e10, 1e30, 1e280])
@pytest.mark.parametrize("name", ["sibling", "grandparent", "third", ("arc", "trisibling")])
def test_certificates_at_all_scales(name, scale):
    """The trees, bounds and certificates of scores are those of the same scores in other units."""
    for seed in range(12):
        parts, scores = draw_problem(np.random.default_rng(seed), 4, name, "continuous", pruned=bool(seed % 2))
        unit = 2.0 ** round(np.log2(scale))
        decoded, plain = dual_decomposition(parts, scores * unit), dual_decomposition(parts, scores)
        assert decoded.heads.tolist() == plain.heads.tolist()
        assert (decoded.score, decoded.bound) == (plain.score * unit, plain.bound * unit)
        assert decoded[3:] == plain[3:]
        check_laws(plain, parts, scores, best_score(parts, scores, trees_over(parts.arcs)))


def test_a_low_arc_does_not_count_for_the_scale():
    """A mask of -1e4 is an ordinary low score, but no best tree has it, so certificates keep their digits."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, 5, "grandparent", "continuous", pruned=False)
        n_arcs = len(parts.arcs.head)
        low = rng.random(n_arcs) < 0.3
        low[parts.arcs.head == 0] = False
        scores[:n_arcs][low] = -1e4
        given = normalise_scores(parts, scores, DualOptions())
        assert given.options.scale == np.abs(given.relative).max() < 1e3
        ranked = k_best(parts, scores, 3)
        best = sorted(map(naive_trees.tree_scorer(parts, scores), trees_over(parts.arcs)), reverse=True)[:3]
        assert [tree.score for tree in ranked] == pytest.approx(best, rel=1e-12)
        assert all(tree.certified for tree in ranked)


@pytest.mark.parametrize("seed", [475, 696, 936, 1076])
def test_low_arcs_do_not_swallow_the_digits_of_arcs_alone(seed):
    """The heads of a word without a good head but the root, which contraction adds to the scores of others."""
    rng = np.random.default_rng(seed)
    matrix = 1e-20 * rng.normal(size=(4, 4))
    matrix[rng.random((4, 4)) < 0.5] = -1e6
    parts = part_space(full_arc_space(3), "arc")
    scores = matrix[parts.arcs.head, parts.arcs.modifier]
    best = best_score(parts, scores.astype(np.longdouble), trees_over(parts.arcs))
    for decoded in (dual_decomposition(parts, scores), k_best(parts, scores, 2)[0]):
        assert decoded.certified and abs(best) < 1e-18
        assert abs(decoded.score - best) <= 1e-9 * 1e-20


REFUSED = [
    ("arc_scores", (0, 1), np.nan, r"arc_scores\[0, 1\] is nan; a finite score is expected, or minus infinity"),
    ("arc_scores", (0, 1), np.inf, r"arc_scores\[0, 1\] is inf; a finite score is expected"),
    ("arc_scores", (2, 1), 1e300, r"arc_scores\[2, 1\] is 1e\+300; the maximum absolute value is 1e\+290"),
    ("siblings", (0, 1, 2), -np.inf, r"siblings\[0, 1, 2\] is -inf; .*only an arc can be forbidden"),
    ("siblings", (0, 1, 2), FLOAT32, r"siblings\[0, 1, 2\] is -3.40.*too low to be added .*only an arc"),
    ("grandparents", (0, 2, 1), 1e299, r"grandparents\[0, 2, 1\] is 1e\+299; the maximum absolute value is"),
]


@pytest.mark.parametrize(("name", "place", "value", "message"), REFUSED)
@pytest.mark.parametrize("k", [1, 2])
def test_what_cannot_be_added_is_named(name, place, value, message, k):
    arrays = {name: np.ones((3,) * axes) for name, axes in (("arc_scores", 2), ("siblings", 3), ("grandparents", 3))}
    arrays[name][place] = value
    with pytest.raises(ValueError, match=message):
        nonproj.decode_scores(**arrays, k=k)
    if name == "arc_scores":
        with pytest.raises(ValueError, match=message):
            nonproj.decode_scores(arrays["arc_scores"], k=k)
    batch = {name: np.stack([np.ones_like(values), values]) for name, values in arrays.items()}
    with pytest.raises(ValueError, match=message.replace(r"\[", r"\[1, ", 1)):
        nonproj.decode_scores(**batch, k=k)


@pytest.mark.parametrize("decode", [branch_and_bound, dual_decomposition])
def test_parts_that_cannot_be_added_are_named(decode):
    parts = part_space(full_arc_space(2), "sibling")
    with pytest.raises(ValueError, match=r"scores has shape \(18,\); one for each part is expected: arc 4, sibling 15"):
        decode(parts, np.zeros(18))
    for value, message in ((np.nan, "is nan; scores must be finite"), (-1e30, "too low"), (1e300, "sums need")):
        with pytest.raises(ValueError, match=rf"scores\[6\] \(sibling 2\) is .*{message}|{message}"):
            decode(parts, np.where(np.arange(len(parts)) == 6, value, 0.0))


def test_work_is_limited_and_the_status_says_so():
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(4, 13, 13)), rng.normal(size=(4, 13, 13, 13)), rng.normal(size=(4, 13, 13, 13))
    little, more = (nonproj.decode_scores(*arrays, work_per_word=work) for work in (1_000, 20_000_000))
    assert (little.status == "limit").all() and not little.certified.any()
    assert (little.bounds >= more.scores - 1e-9).all() and (little.scores <= more.bounds + 1e-9).all()
    assert ((more.status == "optimal") == more.certified).all() and more.certified.any()
    assert nonproj.decode_scores(arrays[0]).status.tolist() == ["optimal"] * 4


@pytest.mark.parametrize("first", range(0, 20 * len(KINDS), len(KINDS)))
def test_random_instances_against_enumeration(first, tmp_path):
    """Part of the lane of the attack, see `research.attack.exact`."""
    lane = Exact(tmp_path)
    for number in range(first * 25, first * 25 + 5 * len(KINDS)):
        lane.case(generator("exact", 7, number), number)
    assert lane.notes["certified"] > 3 * lane.notes["not certified"]


def test_forbidden_arcs_are_no_candidates_of_a_proof():
    """Siblings may score so high that a tree with a forbidden arc would be the best one."""
    parts = part_space(full_arc_space(2), "sibling")
    scores = np.full(len(parts), 1e19)
    scores[:4] = [-1e20, 1.0, 2.0, 3.0]
    found, proof = search_with_proof(parts, scores, DualOptions(), SEARCH, 3)
    assert (proof["candidates"], proof["outside"]) == ([[2], [0, 1]], "forbidden")
    assert [tree.heads.tolist() for tree in found] == [[2, 0]]
    check_line(as_line(proof))
