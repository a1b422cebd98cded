"""Marginals of trees with given arcs, against enumeration and against marginals of minus infinity."""

import naive_partial
import naive_trees
import numpy as np
import pytest

from nonproj.trees.constrained import constrained_marginals
from nonproj.trees.marginals import marginals


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_equals_enumeration(n, share, single_root):
    rng, found, none = np.random.default_rng(n), 0, 0
    for _ in range(8):
        scores = 3.0 * rng.standard_normal((n + 1, n + 1))
        density, words = rng.choice([0.5, 1.0]), range(1, n + 1)
        allowed = rng.random((n + 1, n + 1)) < density
        for m in words:
            if rng.random() < share:
                allowed[:, m] = np.arange(n + 1) == rng.choice([h for h in range(n + 1) if h != m])
        trees = [tree for tree in naive_trees.all_trees(n, single_root) if allowed[tree[1:], words].all()]
        if not trees:
            none += 1
            with pytest.raises(ValueError, match="no tree"):
                constrained_marginals(scores, allowed, single_root)
            continue
        found += 1
        expected, p = naive_partial.log_likelihood(scores, trees)
        got, log_partition = constrained_marginals(scores, allowed, single_root)
        assert log_partition == pytest.approx(expected, rel=1e-11, abs=1e-10)
        np.testing.assert_allclose(got, p, rtol=1e-9, atol=1e-14)
    assert found + none == 8 and (found or share == 1.0)


def test_equals_marginals_of_minus_infinity_in_long_sentences():
    rng, n = np.random.default_rng(0), 30
    heads = np.array([-1, *(int(rng.integers(m)) for m in range(1, n + 1))])  # each on its left, so a tree
    given = rng.permutation(np.arange(1, n + 1))[:18]
    allowed = np.ones((n + 1, n + 1), bool)
    allowed[:, given] = False
    allowed[heads[given], given] = True
    scores = 4.0 * rng.standard_normal((n + 1, n + 1))
    wanted, log_wanted = marginals(np.where(allowed, scores, -np.inf))
    p, log_partition = constrained_marginals(scores, allowed, False)
    np.testing.assert_allclose(p, wanted, atol=1e-10)
    assert log_partition == pytest.approx(log_wanted)


def test_extreme_scores_neither_overflow_nor_vanish():
    scores = np.zeros((4, 4))
    scores[0, 1], scores[2, 3], scores[1, 2] = 3000.0, -3000.0, 5000.0
    allowed = np.ones((4, 4), bool)
    allowed[:, 2] = np.arange(4) == 1
    p, log_partition = constrained_marginals(scores, allowed, True)
    assert p[0, 1] == pytest.approx(1.0) and p[1, 2] == 1.0 and log_partition == pytest.approx(8000.0)


def test_the_scores_are_unchanged():
    scores, allowed = np.zeros((3, 3)), np.ones((3, 3), bool)
    allowed[:, 1] = [True, False, False]
    constrained_marginals(scores, allowed, True)
    assert not scores.any() and allowed.sum() == 7
