"""Branch and bound against enumeration and integer programs, and its result at the limit."""

import math

import naive_trees
import numpy as np
import pytest
from problems import ARC_GRANDPARENT, HIGHER_ORDER, KINDS, best_score, draw_problem, draw_tree

from nonproj.automata.compiled import GAIN_WORK, HEAD_WORK, compiled_starts, count_work
from nonproj.automata.third import STATE_WORK
from nonproj.dual.decoding import branch_and_bound, dual_decomposition
from nonproj.dual.options import UNLIMITED, DualOptions, SearchOptions, check_options
from nonproj.dual.problem import problem_of
from nonproj.dual.search import _Search
from nonproj.dual.subgradient import AGREED
from nonproj.parts.arcs import arc_space
from nonproj.parts.space import part_space, tree_score


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_the_only_tree_is_agreed_on_at_once(name):
    """The only arc into a word is also forced in the automata, regardless of its score there."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        heads = draw_tree(rng, n).tolist()
        parts = part_space(arc_space(heads[1:], range(1, n + 1), n), name)
        scores = rng.normal(scale=100, size=len(parts))
        options = check_options(DualOptions())
        problem = problem_of(parts, scores, options)
        found = problem.restricted_bound(np.ones(n, bool), problem.copies, options, -np.inf, UNLIMITED)
        np.testing.assert_allclose(found.copies.reshape(3, n).sum(axis=0), scores[:n], atol=1e-9)
        assert (found.descent.outcome, found.descent.iterations) == (AGREED, 1)
        assert found.tree.tolist() == heads
        assert found.descent.score == pytest.approx(best_score(parts, scores, [heads]), abs=1e-9)


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_without_a_search_it_is_dual_decomposition(name):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        parts, scores = draw_problem(rng, int(rng.integers(2, 12)), name, KINDS[seed % 2], pruned=False)
        options = DualOptions(max_iterations=20)
        plain = dual_decomposition(parts, scores, options)
        found = branch_and_bound(parts, scores, options, SearchOptions(work_per_word=0))
        assert found.tree.tolist() == plain.tree.tolist()
        assert found[1:] == plain[1:]


def work(parts):
    """Transitions of each head's Viterbi and gains, over both sides and with each grandparent, and once more.

    With parts of third order also each pair of modifiers, and each three of them, START and END included.
    """
    counts = []
    for h in range(len(parts.arcs.start) - 1):
        sizes = [len(naive_trees.candidates(parts.arcs, h, side)) for side in (0, 1)]
        one = sum(((k + 1) * (k + 2) // 2 if "sibling" in parts.names else k + 1) + GAIN_WORK * k for k in sizes)
        for orders in [(2, 3)] if "trisibling" in parts.names else [(2,)] if "grandsibling" in parts.names else []:
            one += STATE_WORK * sum(math.comb(k + 2, order) for k in sizes for order in orders)
        into = sum(m == h for _, m in naive_trees.pairs_of(parts.arcs))
        counts.append(HEAD_WORK + (one * (1 + into) if "grandparent" in parts.names and h > 0 else one))
    return counts


@pytest.mark.parametrize("name", HIGHER_ORDER)
def test_work_is_counted(name):
    for seed in range(10):
        parts, _ = draw_problem(np.random.default_rng(seed), 7, name, "continuous", pruned=bool(seed % 2))
        assert count_work(parts.arcs, compiled_starts(parts)).tolist() == work(parts)


@pytest.mark.parametrize(
    ("name", "limits"), [("grandparent", (60_000, 300_000, 900_000)), (ARC_GRANDPARENT, (30_000, 200_000))]
)
def test_the_longer_the_search_the_narrower_the_gap(name, limits):
    """A limit leaves the incumbent and a true bound; it is exceeded by the two last iterations at most."""
    rng = np.random.default_rng(1)
    parts, scores = draw_problem(rng, 14, name, "continuous", pruned=False)
    optimum = branch_and_bound(parts, scores)
    assert optimum.certified
    assert optimum.nodes > 20
    assert optimum.score == pytest.approx(tree_score(parts, scores, optimum.tree))
    gaps, costs = [], work(parts)
    for limit in (0, *limits):
        found = branch_and_bound(parts, scores, DualOptions(max_iterations=10), SearchOptions(limit, 10))
        assert found.score - 1e-9 <= optimum.score <= found.bound + 1e-9
        decoded = found.recomputed * found.iterations * len(found.tree)
        if limit:
            assert decoded * min(costs) <= limit * 14 + 2 * sum(costs)
        assert (found.bound - found.score <= 1e-9 * (1 + abs(found.score))) == found.certified
        gaps.append(found.bound - found.score)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[-1]


@pytest.mark.parametrize("most_open", [1, 3])
def test_a_full_heap_is_searched_depth_first(monkeypatch, most_open):
    """The heap and the stack stay small, and the same tree is certified."""
    longest = 0
    for seed in range(4):
        parts, scores = draw_problem(np.random.default_rng(seed), 10, "grandparent", "continuous", pruned=False)
        options = DualOptions(max_iterations=10), SearchOptions(10**9, 10)
        plain = branch_and_bound(parts, scores, *options)
        sizes, expand = [], _Search.expand

        def watched(search, node, sizes=sizes, expand=expand):
            expand(search, node)
            sizes.append((len(search.open.heap), len(search.open.stack)))

        with monkeypatch.context() as patch:
            patch.setattr(_Search, "expand", watched)
            patch.setattr("nonproj.dual.search.OPEN_BYTES", 33 * len(parts.arcs.head) * most_open)
            found = branch_and_bound(parts, scores, *options)
        assert plain.certified and found.certified
        assert found.score == pytest.approx(plain.score, abs=1e-9)
        assert max(heap for heap, _ in sizes) <= most_open
        assert max(stack for _, stack in sizes) <= len(parts.arcs.head)
        longest = max(longest, *(stack for _, stack in sizes))
    assert longest >= 3
