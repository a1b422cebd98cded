"""The k best trees against enumeration, for all kinds of trees, scores with ties, and limits of work."""

from fractions import Fraction

import numpy as np
import pytest
from instances import seeds
from naive_trees import part_numbers
from problems import ALL_SETS, HIGHER_ORDER, KINDS, SECOND_ORDER, draw_problem, trees_over

from nonproj.dual.decoding import branch_and_bound, k_best
from nonproj.dual.options import DEFAULTS, UNLIMITED, DualOptions, SearchOptions
from nonproj.dual.problem import problem_of
from nonproj.parts.space import tree_score


def ranked_scores(parts, scores, trees):
    """The scores of all trees, best first."""
    return sorted((tree_score(parts, scores, tree) for tree in trees), reverse=True)


def exact_score(parts, scores, tree):
    """The score of a tree as a fraction, without rounding."""
    numbers = [number for listed in part_numbers(tree, parts).values() for number in listed]
    return sum(Fraction(float(scores[number])) for number in numbers)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["any", "single_root", "projective"])
@pytest.mark.parametrize("name", ALL_SETS)
def test_equals_enumeration(name, form, kind):
    tried, chosen = 0, seeds(30)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, int(rng.integers(1, 6)), name, kind, pruned=bool(seed % 2))
        options = DualOptions(single_root=form == "single_root", projective=form == "projective")
        trees = trees_over(parts.arcs, options.single_root, options.projective)
        if not trees:
            with pytest.raises(ValueError, match="no tree|no projective tree"):
                k_best(parts, scores, 3, options)
            continue
        k = int(rng.choice([1, 2, 5, 12, 10_000 if len(trees) < 60 else 30]))
        found = k_best(parts, scores, k, options, SearchOptions(node_iterations=1 + seed % 30))
        expected = ranked_scores(parts, scores, trees)[:k]
        np.testing.assert_allclose([tree.score for tree in found], expected, atol=1e-7)
        assert len({tuple(tree.tree) for tree in found}) == len(found) == min(k, len(trees))
        for tree in found:
            assert tree.tree.tolist() in trees and tree.certified
            assert tree.score == pytest.approx(tree_score(parts, scores, tree.tree), abs=1e-7)
            assert tree.score <= tree.bound <= tree.score + 1e-6
        tried += 1
    assert tried >= 0.65 * len(chosen)


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_a_set_that_is_narrowed_to_one_tree_gives_it(name, projective):
    """With a single iteration in each node, sets lose all arcs but those of a tree that has not been seen."""
    options = DualOptions(max_iterations=1, projective=projective)
    for seed in range(60):
        parts, scores = draw_problem(np.random.default_rng(seed), 3 + seed % 2, name, "continuous", pruned=False)
        found = k_best(parts, scores, 6, options, SearchOptions(node_iterations=1))
        expected = ranked_scores(parts, scores, trees_over(parts.arcs, False, projective))[:6]
        np.testing.assert_allclose([tree.score for tree in found], expected, atol=1e-7)


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_the_best_tree_is_that_of_branch_and_bound_and_scores_fall(name):
    for seed in seeds(6, least=3):
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, 12, name, "continuous", pruned=True)
        found = k_best(parts, scores, 10)
        assert found[0].score == pytest.approx(branch_and_bound(parts, scores).score)
        assert (np.diff([tree.score for tree in found]) <= 1e-9).all()
        assert all(tree.certified for tree in found)


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_without_work_left_trees_are_returned_under_a_bound(name):
    short, left, chosen = 0, SearchOptions(work_per_word=40_000), seeds(12)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, 10, name, "continuous", pruned=True)
        exact, found = k_best(parts, scores, 20), k_best(parts, scores, 20, DEFAULTS, left)
        assert 1 <= len(found) <= 20
        for tree, best in zip(found, exact, strict=False):
            assert tree.bound >= best.score - 1e-7
            assert tree.score <= best.score + 1e-7
            assert not tree.certified or tree.score == pytest.approx(best.score, abs=1e-7)
        short += not all(tree.certified for tree in found) or len(found) < 20
    assert short >= len(chosen) / 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ALL_SETS)
def test_bounds_of_excluded_arcs_are_bounds(name, kind):
    compared, chosen = 0, seeds(25)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, 4, name, kind, pruned=bool(seed % 2))
        problem = problem_of(parts, scores, DEFAULTS)
        first = problem.bound(DEFAULTS, UNLIMITED)
        tree = first.tree
        bounds = problem.exclusion_bounds(first.copies, DEFAULTS, tree, np.ones(len(parts.arcs.head), np.bool_))
        for m in range(1, 5):
            others = [other for other in trees_over(parts.arcs) if other[m] != tree[m]]
            best = max((exact_score(parts, scores, other) for other in others), default=-np.inf)
            assert bounds[m] >= best
            compared += best > -np.inf
            if name == "arc":
                assert bounds[m] == pytest.approx(float(best), abs=1e-7)
    assert compared >= 40 / 25 * len(chosen)
