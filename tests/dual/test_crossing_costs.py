"""Costs of crossed arcs: the trees of highest value, against enumeration and integer programs."""

import itertools

import naive_integer
import naive_trees
import numpy as np
import pytest
from instances import seeds
from naive_crossing import cross, crossed_arcs, value
from problems import (
    HIGHER_ORDER,
    KINDS,
    SUBSETS,
    by_arc,
    draw_arcs_of_words,
    draw_costs,
    draw_problem,
    draw_scores,
    trees_over,
)

from nonproj import decode_scores
from nonproj.dual.check_proofs import check_line
from nonproj.dual.crossing import CrossingCosts
from nonproj.dual.decoding import branch_and_bound, k_best
from nonproj.dual.options import DEFAULTS, SEARCH, DualOptions, SearchOptions
from nonproj.dual.proofs import as_line, search_with_proof
from nonproj.parts.arcs import arc_space, full_arc_space
from nonproj.parts.space import part_space
from nonproj.trees.projective import is_projective


def draw_few_arcs(rng, n):
    """At most three heads for each word, a chain among them."""
    arcs = {(m - 1, m) for m in range(1, n + 1)}
    for m in range(1, n + 1):
        arcs |= {(int(h), m) for h in rng.integers(0, n + 1, 2) if h != m}
    return arc_space(*zip(*sorted(arcs), strict=True), n)


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("name", [*HIGHER_ORDER, *SUBSETS])
def test_equals_integer_programs(name, costly):
    """Longer sentences, with the one program whose variables say which arcs are crossed, or without costs."""
    moved, chosen = 0, seeds(12 if costly else 40, least=2, part=20)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts = part_space(draw_few_arcs(rng, int(rng.integers(8, 9 if costly else 13))), name)
        scores = draw_scores(rng, KINDS[seed % 2], len(parts))
        costs = 5.0 * np.abs(rng.normal(size=len(parts.arcs.head))) * (rng.random(len(parts.arcs.head)) < 0.6)
        found = branch_and_bound(parts, scores, DEFAULTS, SEARCH, costs if costly else None)
        assert found.certified
        best = naive_integer.best_score(parts, scores, costs=costs if costly else None)
        assert best == pytest.approx(found.score, abs=1e-6)
        moved += not np.array_equal(found.tree, branch_and_bound(parts, scores).tree)
    assert moved >= costly * len(chosen) / 4


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_costs_of_zero_change_nothing(name):
    for seed in range(6):
        parts, scores = draw_problem(np.random.default_rng(seed), 9, name, "continuous", pruned=True)
        zeros = np.zeros(len(parts.arcs.head))
        for one, other in zip(k_best(parts, scores, 4), k_best(parts, scores, 4, DEFAULTS, SEARCH, zeros), strict=True):
            assert one.tree.tolist() == other.tree.tolist() and one[1:] == other[1:]
        high = zeros + 5.0
        one, other = branch_and_bound(parts, scores, DualOptions(projective=True)), DualOptions(projective=True)
        assert one[1:] == branch_and_bound(parts, scores, other, SEARCH, high)[1:]


@pytest.mark.parametrize("name", HIGHER_ORDER)
@pytest.mark.parametrize("k", [1, 3])
def test_a_projective_tree_is_found_where_the_first_tree_takes_all_the_work(k, name):
    tried = 0
    for seed in range(8):
        parts, scores = draw_problem(np.random.default_rng(seed), 12, name, "continuous", pruned=True)
        few = SearchOptions(work_per_word=1)
        if not is_projective(branch_and_bound(parts, scores, DEFAULTS, few).tree):
            found = k_best(parts, scores, k, DEFAULTS, few, np.full(len(parts.arcs.head), 500.0))[0]
            assert is_projective(found.tree) and found.nodes == 1
            tried += 1
    assert tried >= 4


@pytest.mark.parametrize("seed", seeds(200, least=20))
def test_what_trees_pay(seed):
    """Crossed arcs, what crosses them, and the least that is paid, from the definitions."""
    rng = np.random.default_rng(seed)
    arcs = draw_arcs_of_words(rng, int(rng.integers(2, 6)), bool(seed % 2))
    pairs, costs = naive_trees.pairs_of(arcs), draw_costs(rng, KINDS[seed % 2], len(arcs.head))
    crossing, keep = CrossingCosts(arcs.head, arcs.modifier, costs), rng.random(len(pairs)) < 0.8
    for arc, pair in enumerate(pairs):
        crossers = [cross(pair, other) or cross(other, pair) for other in pairs]
        assert crossing.crossers(arc).tolist() == [cross(pair, other) for other in pairs] == crossers
        cheapest = min(costs[crossing.crossers(arc) & keep], default=np.inf)
        assert crossing.cheapest_crossers(keep)[arc] == cheapest
    trees = trees_over(arcs)
    paid = {}
    for tree in trees:
        heads, own = np.array(tree, np.int32), crossed_arcs(tree)
        assert sorted(arcs.modifier[crossing.crossed(heads)].tolist()) == own
        assert bool(own) != naive_trees.is_projective(tree)
        used = [pairs.index((tree[m], m)) for m in range(1, len(tree))]
        if keep[used].all():
            paid[frozenset(arc for arc in used if pairs[arc][1] in own)] = crossing.of(heads)
            assert crossing.of(heads) == pytest.approx(-value(tree, 0.0, by_arc(arcs, costs)))
    for count in range(3):
        for some in itertools.combinations(np.flatnonzero(keep).tolist(), count):
            least = min((each for arcs, each in paid.items() if arcs and arcs.issuperset(some)), default=np.inf)
            assert crossing.least(keep, some) <= least + 1e-12
    pairs = [(a, b) for a, b in itertools.combinations(np.flatnonzero(keep).tolist(), 2) if crossing.crossers(a)[b]]
    if costs.any() and not len(crossing.must_cross(keep)):
        assert crossing.least(keep, ()) == pytest.approx(min((costs[a] + costs[b] for a, b in pairs), default=np.inf))


def test_arrays():
    """A batch with labels, lengths, masks and any dtype is its sentences, and every tree is proved."""
    rng = np.random.default_rng(3)
    arcs, costs = rng.normal(size=(3, 6, 6)), np.abs(rng.normal(size=(3, 6, 6)))
    labels, siblings = rng.normal(size=(3, 6, 6, 2)), rng.normal(size=(3, 6, 6, 6))
    arcs[:, 2, 4] = -np.inf
    costs[:, 2, 4] = np.nan  # of an arc that is forbidden
    given = {"k": 3, "single_root": False, "proofs": True}
    found = decode_scores(arcs, siblings, label_scores=labels, crossing_costs=costs, lengths=[5, 0, 3], **given)
    for b, n in ((0, 5), (2, 3)):
        i, j = (b, slice(n + 1), slice(n + 1)), (b, slice(n + 1), slice(n + 1), slice(n + 1))
        alone = decode_scores(arcs[i], siblings[j], label_scores=labels[i], crossing_costs=costs[i], **given)
        assert check_line(found.proofs[b])[1].status == check_line(alone.proofs)[1].status == "optimal"
        for one, other in zip(alone.trees, found.trees[b], strict=True):
            assert one.heads.tolist() == other.heads.tolist() and one[1:] == other[1:]
    plain, zeros = decode_scores(arcs), decode_scores(arcs, crossing_costs=np.zeros((3, 6, 6), np.float32))
    assert all(np.array_equal(one, other) for one, other in zip(plain[:5], zeros[:5], strict=True))


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, 1e300])
def test_wrong_costs(wrong):
    parts, costs = part_space(full_arc_space(3), "sibling"), np.ones((2, 4, 4))
    costs[1, 3, 2] = wrong
    message = "the cost of crossing arc 3 -> 2 is .*; a number from 0 to 1e.290 is expected"
    with pytest.raises(ValueError, match=f"^sentence 1: {message}"):
        decode_scores(np.zeros((2, 4, 4)), crossing_costs=costs)
    with pytest.raises(ValueError, match=message):
        k_best(parts, np.zeros(len(parts)), 2, costs=costs[1, parts.arcs.head, parts.arcs.modifier])
    with pytest.raises(ValueError, match=r"costs has shape \(3,\); one cost for each of 9 arcs"):
        branch_and_bound(parts, np.zeros(len(parts)), costs=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"crossing_costs has shape \(3, 3\), which does not match \(4, 4\)"):
        decode_scores(np.zeros((4, 4)), crossing_costs=np.zeros((3, 3)))


def test_where_every_tree_crosses():
    """Costs are due, whatever they are, and the tree is certified and proved."""
    parts = part_space(full_arc_space(4), "grandparent")
    wanted = {(0, 2), (2, 4), (4, 1), (2, 3)}
    scores = np.zeros(len(parts))
    scores[: len(parts.arcs.head)] = [0.0 if arc in wanted else -np.inf for arc in naive_trees.pairs_of(parts.arcs)]
    costs = np.where(parts.arcs.head == 0, 2.5, 1e20)
    (found,), proof = search_with_proof(parts, scores, DEFAULTS, SEARCH, costs=costs)
    assert found.tree.tolist() == [-1, 4, 0, 2, 2] and found.certified and found.score == -1e20 - 2.5
    assert check_line(as_line(proof))[1].about["costs"]
