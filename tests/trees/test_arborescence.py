"""Maximum spanning arborescences and projective trees against enumeration, and their invariants."""

from fractions import Fraction

import naive_trees as naive
import networkx
import numpy as np
import pytest
from instances import seeds

from nonproj.parts.arcs import arc_space_from_mask
from nonproj.trees.arborescence import maximum_arborescence, maximum_arborescence_sparse
from nonproj.trees.projective import is_projective, maximum_projective_tree, maximum_projective_tree_sparse

PROJECTIVE = pytest.mark.parametrize("projective", [False, True])
DECODERS = {False: (maximum_arborescence, maximum_arborescence_sparse)}
DECODERS[True] = maximum_projective_tree, maximum_projective_tree_sparse


def draw(rng, n, kind):
    if kind == "integer":
        return rng.integers(-3, 4, (n + 1, n + 1)).astype(float)
    scores = rng.standard_normal((n + 1, n + 1))
    if kind == "magnitudes":
        # Multiples of 2**-10 below 2**41: sums and differences are exact.
        scores = np.round(scores * 2.0 ** rng.integers(0, 40, scores.shape) * 1024) / 1024
    if kind == "absent":
        scores[rng.random(scores.shape) < 0.5] = -np.inf
    return scores


def solve_both(scores, single_root, projective=False):
    """Return the heads by the dense and by the sparse algorithm, or None if there is no tree."""
    arcs, (dense, sparse) = arc_space_from_mask(scores > -np.inf), DECODERS[projective]
    found = []
    for decode, arguments in ((dense, (scores,)), (sparse, (arcs, scores[arcs.head, arcs.modifier]))):
        try:
            found.append(decode(*arguments, single_root).tolist())
        except ValueError as error:
            assert ("no projective tree" if projective else "no tree") in str(error)
            found.append(None)
    return found


@PROJECTIVE
@pytest.mark.parametrize("kind", ["continuous", "integer", "magnitudes", "absent"])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_equals_enumeration(n, single_root, kind, projective):
    rng = np.random.default_rng(n)
    trees = naive.tree_array(n, single_root, projective).tolist()
    for _ in range(20 if n == 5 else 60):
        scores = draw(rng, n, kind)
        table = scores.tolist()
        expected = max(sum(table[h][m] for m, h in enumerate(tree) if m) for tree in trees)
        for heads in solve_both(scores, single_root, projective):
            if heads is None:
                assert expected == -np.inf
                continue
            assert heads in trees
            assert naive.arc_score(heads, scores) == pytest.approx(expected, rel=1e-15, abs=1e-12)


@PROJECTIVE
@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.parametrize("kind", ["continuous", "integer", "absent"])
def test_dense_and_sparse_agree_on_longer_sentences(seed, kind, projective):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    scores = draw(rng, n, kind)
    np.fill_diagonal(scores[:, 1:], rng.standard_normal(n))  # 0 -> 1 -> 2 ... is a projective tree
    for single_root in (False, True):
        dense, sparse = solve_both(scores, single_root, projective)
        assert naive.arc_score(dense, scores) == pytest.approx(naive.arc_score(sparse, scores), rel=1e-12)
        assert all(naive.is_tree(heads) for heads in (dense, sparse))
        assert not single_root or dense.count(0) == sparse.count(0) == 1
        assert not projective or all(map(naive.is_projective, (dense, sparse)))


@pytest.mark.parametrize("seed", seeds(20))
def test_single_root_tree_is_the_best_over_all_root_words(seed):
    rng = np.random.default_rng(seed)
    n = 30
    scores = draw(rng, n, "continuous")
    scores[0] += 3.0  # many roots unless restricted to one
    candidates = []
    for root in range(1, n + 1):
        only = scores.copy()
        only[0] = -np.inf
        only[0, root] = scores[0, root]
        candidates.append(naive.arc_score(maximum_arborescence(only), scores))
    for heads in solve_both(scores, True):
        assert naive.arc_score(heads, scores) == pytest.approx(max(candidates), abs=1e-9)


@pytest.mark.parametrize("low", [-1e4, -1e8, -1e20])
def test_low_arcs_that_no_best_tree_has_take_no_digits(low):
    """With a single root, a cycle may be contracted by a low arc before the root's arc into it is looked at."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scores = 1e-13 * rng.normal(size=(4, 4))
        scores[1:][rng.random((3, 4)) < 0.4] = low
        exact = {tuple(tree): sum(Fraction(scores[tree[m], m]) for m in (1, 2, 3)) for tree in naive.all_trees(3, True)}
        best = max(exact.values())
        for heads in solve_both(scores, True):
            assert abs(exact[tuple(heads)] - best) <= 1e-12 * abs(best)


@pytest.mark.parametrize("big", [1e3, 1e6, 1e9])
def test_large_root_scores_do_not_hide_small_differences(big):
    rng = np.random.default_rng(7)
    for _ in range(20):
        scores = rng.integers(-1000, 1000, (5, 5)) / 1024.0
        scores[0] = big
        trees = naive.all_trees(4, single_root=True)
        exact = [sum(Fraction(float(scores[h, m])) for m, h in enumerate(t) if m and h) for t in trees]
        for heads in solve_both(scores, True):
            # All root scores are equal, so the other arcs alone decide.
            got = sum(Fraction(float(scores[h, m])) for m, h in enumerate(heads) if m and h)
            assert heads in trees
            assert got == max(exact)


@PROJECTIVE
@pytest.mark.parametrize("seed", seeds(10))
def test_a_constant_added_to_a_column_keeps_the_tree(seed, projective):
    rng = np.random.default_rng(seed)
    scores = draw(rng, 12, "continuous")
    shifted = scores + rng.normal(0.0, 10.0, 13)
    for single_root in (False, True):
        assert solve_both(scores, single_root, projective) == solve_both(shifted, single_root, projective)


def test_ties_are_broken_by_the_lowest_head():
    for heads in solve_both(np.zeros((6, 6)), False):
        assert heads == [-1, 0, 0, 0, 0, 0]


def test_input_may_be_read_only_and_is_not_changed():
    scores = draw(np.random.default_rng(0), 8, "continuous")
    copy = scores.copy()
    scores.flags.writeable = False
    np.testing.assert_array_equal(maximum_arborescence(scores), maximum_arborescence(copy))
    np.testing.assert_array_equal(scores, copy)


@pytest.mark.parametrize("n", [10, 30, 60])
def test_equals_networkx(n):
    scores = draw(np.random.default_rng(n), n, "continuous")
    graph = networkx.from_numpy_array(scores * (np.arange(n + 1) > 0), create_using=networkx.DiGraph)
    expected = networkx.maximum_spanning_arborescence(graph).size("weight")
    assert naive.arc_score(maximum_arborescence(scores), scores) == pytest.approx(expected)


# -- projective trees -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 6))
def test_which_trees_are_projective(n):
    for tree in naive.all_trees(n):
        assert is_projective(np.array(tree, np.int32)) == naive.is_projective(tree)


@pytest.mark.parametrize("seed", seeds(20))
def test_equals_the_arborescence_if_that_is_projective(seed):
    rng = np.random.default_rng(seed)
    n = 20
    target = maximum_projective_tree(draw(rng, n, "continuous"), single_root=True)
    scores = draw(rng, n, "continuous")
    scores[target[1:], np.arange(1, n + 1)] += 20.0
    for single_root in (False, True):
        np.testing.assert_array_equal(maximum_projective_tree(scores, single_root), target)
        np.testing.assert_array_equal(maximum_arborescence(scores, single_root), target)
