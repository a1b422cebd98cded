"""Bounds of the trees with an arc, what automata lose by arcs, and local search: against enumeration."""

import numpy as np
import pytest
from instances import seeds
from naive_dual import choices
from naive_trees import is_tree, pairs_of
from problems import FORMS, KINDS, SECOND_ORDER, UNIT, draw_problem, exact_values, trees_over

from nonproj.automata.compiled import compiled_starts
from nonproj.automata.losses import arc_losses
from nonproj.automata.workspace import as_split
from nonproj.dual.exclusion import inclusion_bounds
from nonproj.dual.options import DEFAULTS, UNLIMITED, DualOptions
from nonproj.dual.problem import problem_of
from nonproj.parts.space import tree_score


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
