"""The k best trees, bounds of trees with and without an arc, and local search: against enumeration."""

import numpy as np
import pytest
from instances import seeds
from naive_dual import choices
from naive_trees import is_tree, pairs_of
from problems import (
    ALL_SETS,
    FORMS,
    HIGHER_ORDER,
    KINDS,
    SECOND_ORDER,
    SUBSETS,
    UNIT,
    all_values,
    check_ranked,
    draw_costs,
    draw_problem,
    exact_values,
    trees_over,
)

from nonproj.automata.compiled import compiled_starts
from nonproj.automata.losses import arc_losses
from nonproj.automata.workspace import as_split
from nonproj.dual import search as search_module
from nonproj.dual.decoding import k_best
from nonproj.dual.exclusion import inclusion_bounds
from nonproj.dual.options import APPENDIX_A, DEFAULTS, POLYAK, SEARCH, UNLIMITED, DualOptions, SearchOptions
from nonproj.dual.problem import problem_of
from nonproj.dual.search import OPEN_BYTES
from nonproj.parts.space import tree_score


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ALL_SETS)
def test_equals_enumeration(name, form, kind, costly, monkeypatch):
    """With costs of crossed arcs or none, few iterations in each node or many, pruned or not, a heap or a stack."""
    tried, searched, chosen = 0, 0, seeds(60 if name != "third" else 25)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, int(rng.integers(1, 6)), name, kind, pruned=bool(seed % 2))
        costs = draw_costs(rng, kind, len(parts.arcs.head)) if costly else None
        options = DualOptions(int(rng.choice([1, 10, 250])), rule=APPENDIX_A if seed % 3 == 0 else POLYAK, **form)
        search = SearchOptions(node_iterations=int(rng.choice([1, 3, 30])))  # few narrow a set to one tree
        trees = trees_over(parts.arcs, **form)
        k = int(rng.choice([1, 2, 5, 12, 10_000 if len(trees) < 60 else 30]))
        if not trees:
            with pytest.raises(ValueError, match="no tree|no projective tree"):
                k_best(parts, scores, k, options, search, costs)
            continue
        monkeypatch.setattr(search_module, "OPEN_BYTES", OPEN_BYTES if seed % 4 else 1)
        found = k_best(parts, scores, k, options, search, costs)
        check_ranked(found, all_values(parts, scores, costs, trees), k)
        tried += 1
        searched += found[0].nodes > 0
    assert tried >= 0.65 * len(chosen)
    assert searched >= (0 if name == "arc" else tried / 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", [0.0, 0.5])
@pytest.mark.parametrize("name", [*SUBSETS, pytest.param(("arc", "trisibling"), id="by tables")])
def test_other_sets_equal_enumeration(name, cost, kind):
    for seed in seeds(15):
        parts, scores = draw_problem(np.random.default_rng(seed), 4, name, kind, pruned=bool(seed % 2))
        costs = np.full(len(parts.arcs.head), cost)
        values = all_values(parts, scores, costs, trees_over(parts.arcs))
        check_ranked(k_best(parts, scores, 6, costs=costs), values, 6)


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_without_work_left_trees_are_returned_under_a_bound(name, costly):
    short, chosen = 0, seeds(12)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, 7 if name == "third" else 9, name, "continuous", pruned=True)
        costs = 2.0 * np.abs(rng.normal(size=len(parts.arcs.head))) if costly else None
        k, few = int(rng.choice([1, 3, 8])), DualOptions(max_iterations=3)
        exact = k_best(parts, scores, k, DEFAULTS, SEARCH, costs)
        for limit in ({"work_per_word": 2_000}, {"search": False}, {"work_per_word": 0}):
            found = k_best(parts, scores, k, few, SearchOptions(**limit), costs)
            assert 1 <= len(found) <= k
            own = all_values(parts, scores, costs, [tree.tree.tolist() for tree in found])
            for tree, best in zip(found, exact, strict=False):
                assert tree.score == pytest.approx(own[tuple(tree.tree.tolist())])
                assert tree.score <= best.score + 1e-7 <= tree.bound + 2e-7
                assert best.certified and (not tree.certified or tree.score == pytest.approx(best.score, abs=1e-7))
            short += not all(tree.certified for tree in found)
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
        trees = trees_over(parts.arcs)
        exact = exact_values(parts, scores, trees)
        for m in range(1, 5):
            others = [value for other, value in zip(trees, exact, strict=True) if other[m] != tree[m]]
            best = max(others, default=-np.inf)
            assert bounds[m] * UNIT >= best
            compared += best > -np.inf
            assert name != "arc" or bounds[m] == pytest.approx(best / UNIT, abs=1e-7)
    assert compared >= 40 / 25 * len(chosen)


def draw_copies(rng, scores, n_arcs):
    """Copies of the scores of arcs at random multipliers; they sum to the scores but for rounding."""
    z, grandparent = rng.normal(size=(2, n_arcs))
    return np.concatenate([scores[:n_arcs] - z - grandparent, z, grandparent])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_losses_equal_enumeration(name, kind):
    """The automata of both ends of each arc, with it and without any condition."""
    finite, chosen = 0, seeds(25, least=8)
    for seed in chosen:
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, int(rng.integers(1, 6)), name, kind, pruned=bool(seed % 2))
        n_arcs, above = len(parts.arcs.head), "grandparent" in parts.names
        copies = draw_copies(rng, scores, n_arcs)
        split, heads = as_split(copies, n_arcs), range(len(parts.arcs.start) - 1)
        total, losses = arc_losses(parts.arcs, compiled_starts(parts), scores, split)
        valued = [[(each, each.value(split.z, split.grandparent)) for each in choices(parts, scores, h)] for h in heads]
        best = [max((value for _, value in own), default=-np.inf) for own in valued]
        assert total == pytest.approx(sum(best), abs=1e-9)
        for a, (h, m) in enumerate(pairs_of(parts.arcs)):
            having = max((value for each, value in valued[h] if a in each.chosen), default=-np.inf)
            expected = best[h] - having
            if above:
                under = [value for each, value in valued[m] if each.grandparent == a]
                expected += best[m] - max(under, default=-np.inf)
            assert losses[a] == pytest.approx(expected, abs=1e-9)
            finite += np.isfinite(expected)
    assert finite > 4 * len(chosen)


@pytest.mark.parametrize("form", FORMS[:3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_they_bound_all_trees_with_and_without_each_arc(name, kind, form):
    """In exact arithmetic, so they are rounded outward, at the best multipliers and at random ones."""
    compared = near = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, int(rng.integers(2, 6)), name, kind, pruned=bool(seed % 2))
        options, trees = DualOptions(**form), trees_over(parts.arcs, **form)
        if not trees:
            continue
        problem = problem_of(parts, scores, options)
        copies = problem.bound(options, UNLIMITED).copies if seed % 3 else draw_copies(rng, scores, len(problem.head))
        found = inclusion_bounds(problem.instance, copies, options)
        assert is_tree(found.tree.tolist()) and found.work > 0
        exact = exact_values(parts, scores, trees)
        for a, (h, m) in enumerate(pairs_of(parts.arcs)):
            having = max((value for tree, value in zip(trees, exact, strict=True) if tree[m] == h), default=-np.inf)
            lacking = max((value for tree, value in zip(trees, exact, strict=True) if tree[m] != h), default=-np.inf)
            assert having <= found.bounds[a] * UNIT and lacking <= found.without[a] * UNIT
            compared += having > -np.inf
            near += having > -np.inf and found.bounds[a] - having / UNIT < 1e-6
    assert compared > 100 and near > 20


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_local_search_ends_where_no_word_has_a_better_head(name, single_root):
    """The score never falls, the result is a tree over the same arcs, and the word below a single root stays."""
    improved = 0
    options = DEFAULTS._replace(single_root=single_root)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, 5, name, "continuous", pruned=bool(seed % 2))
        problem, trees = problem_of(parts, scores, options), trees_over(parts.arcs, single_root)
        for start in [trees[i] for i in rng.integers(0, len(trees), 3)] if trees else []:
            tree = np.array(start, np.int32)
            problem.improve(tree, options, 10**6)
            assert tree.tolist() in trees
            reached, before = (tree_score(parts, scores, each) for each in (tree, start))
            assert reached >= before
            assert problem.score(tree) == pytest.approx(reached, abs=1e-9)
            improved += reached > before
            for other in trees:
                if (np.array(other) != tree).sum() == 1:
                    assert tree_score(parts, scores, other) <= reached + 1e-8
    assert improved > 20
