"""Eisner's algorithm against enumeration and against the arborescence."""

import naive_trees as naive
import numpy as np
import pytest
from instances import seeds
from test_arborescence import draw

from nonproj.parts.arcs import arc_space_from_mask
from nonproj.trees.arborescence import maximum_arborescence
from nonproj.trees.projective import is_projective, maximum_projective_tree, maximum_projective_tree_sparse


@pytest.mark.parametrize("kind", ["continuous", "integer", "absent"])
@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_equals_enumeration(n, single_root, kind):
    rng = np.random.default_rng(n)
    trees = [tree for tree in naive.all_trees(n, single_root) if naive.is_projective(tree)]
    for _ in range(40):
        scores = draw(rng, n, kind)
        table = scores.tolist()
        expected = max(sum(table[h][m] for m, h in enumerate(tree) if m) for tree in trees)
        if expected == -np.inf:
            with pytest.raises(ValueError, match="no projective tree"):
                maximum_projective_tree(scores, single_root)
            continue
        heads = maximum_projective_tree(scores, single_root).tolist()
        assert heads in trees
        assert naive.arc_score(heads, scores) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("single_root", [False, True])
def test_sparse_equals_dense_with_absent_arcs(seed, single_root):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    mask = rng.random((n + 1, n + 1)) < 0.3
    chain = np.arange(1, n + 1)
    mask[chain - 1, chain] = True  # 0 -> 1 -> 2 ... is projective
    scores = np.where(mask, draw(rng, n, "continuous"), -np.inf)
    arcs = arc_space_from_mask(mask)
    sparse = maximum_projective_tree_sparse(arcs, scores[arcs.head, arcs.modifier], single_root).tolist()
    assert sparse == maximum_projective_tree(scores, single_root).tolist()
    assert naive.is_tree(sparse)
    assert naive.is_projective(sparse)
    assert not single_root or sparse.count(0) == 1
    arborescence = maximum_arborescence(scores, single_root)
    assert naive.arc_score(sparse, scores) <= naive.arc_score(arborescence, scores) + 1e-9


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


@pytest.mark.parametrize("seed", seeds(10))
def test_a_constant_added_to_a_column_keeps_the_tree(seed):
    rng = np.random.default_rng(seed)
    scores = draw(rng, 15, "continuous")
    shifted = scores + rng.normal(0.0, 10.0, 16)
    for single_root in (False, True):
        expected = maximum_projective_tree(scores, single_root)
        np.testing.assert_array_equal(maximum_projective_tree(shifted, single_root), expected)


def test_mirrored_sentences_have_mirrored_trees():
    # The root stays at the left, so only the arcs between words are mirrored.
    n = 12
    scores = draw(np.random.default_rng(3), n, "continuous")
    mirror = np.r_[0, np.arange(n, 0, -1)]
    heads = maximum_projective_tree(scores, single_root=True)
    mirrored = maximum_projective_tree(scores[np.ix_(mirror, mirror)], single_root=True)
    np.testing.assert_array_equal(mirror[mirrored[mirror][1:]], heads[1:])
