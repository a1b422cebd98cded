"""Marginals and the partition function against enumeration, finite differences and extreme scores."""

import math

import naive_domain
import naive_trees as naive
import numpy as np
import pytest

from nonproj.trees.arborescence import maximum_arborescence
from nonproj.trees.marginals import marginals
from nonproj.trees.wide_marginals import wide_marginals

ROOTS = pytest.mark.parametrize("single_root", [False, True])


def draw(rng, n, scale=1.0, absent=0.0):
    scores = scale * rng.standard_normal((n + 1, n + 1))
    scores[rng.random(scores.shape) < absent] = -np.inf
    return scores


@ROOTS
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 300.0, 3000.0])
@pytest.mark.parametrize("absent", [0.0, 0.4])
def test_equals_enumeration(n, single_root, scale, absent):
    rng = np.random.default_rng(10 * n + int(scale))
    for _ in range(2 if n == 5 else 6):
        scores = draw(rng, n, scale, absent)
        log_partition, expected = naive.log_partition(scores, single_root)
        if log_partition == -math.inf:
            with pytest.raises(ValueError, match="no tree"):
                marginals(scores, single_root)
            continue
        p, got = marginals(scores, single_root)
        assert got == pytest.approx(log_partition, rel=1e-12, abs=1e-11)
        # Relative accuracy of small marginals, as far down as sums of scores themselves are exact.
        np.testing.assert_allclose(p, expected, rtol=1e-9, atol=1e-290)
        assert (p[scores == -np.inf] == 0.0).all()
        assert (np.diag(p) == 0.0).all()
        assert (p[:, 0] == 0.0).all()


@ROOTS
@pytest.mark.parametrize("seed", range(5))
def test_a_constant_added_to_a_column_shifts_only_the_partition_function(seed, single_root):
    rng = np.random.default_rng(seed)
    scores = draw(rng, 12, 3.0)
    shift = rng.normal(0.0, 1e3, 13)
    p, log_partition = marginals(scores, single_root)
    q, shifted = marginals(scores + shift, single_root)
    np.testing.assert_allclose(q, p, atol=1e-9)
    assert shifted == pytest.approx(log_partition + shift[1:].sum(), abs=1e-8)


@ROOTS
@pytest.mark.parametrize("n", [1, 7, 40, 65])
def test_wide_marginals_equal_compiled_ones_and_none_is_lost(n, single_root):
    scores = draw(np.random.default_rng(n), n, 15.0, absent=0.3)
    p, log_partition = marginals(scores, single_root)
    q = np.zeros_like(p)
    status, log_space = wide_marginals(scores, single_root, q, True)
    assert status == 0
    assert log_space == pytest.approx(log_partition, rel=1e-12)
    assert n < 65 or q[q > 0].min() < 1e-30
    np.testing.assert_allclose(p, q, rtol=1e-8, atol=1e-290)


@pytest.mark.parametrize("depth", [20.0, 50.0, 200.0, 2000.0])
def test_two_words_that_prefer_each_other(depth):
    # Root arcs are improbable, so the Laplacian is nearly singular.
    scores = np.array([[0.0, -depth, -depth], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    p, log_partition = marginals(scores)
    both = math.exp(-2 * depth) / (2 * math.exp(-depth)) if depth < 300 else 0.0
    assert log_partition == pytest.approx(math.log(2.0) - depth + math.log1p(both), rel=1e-14)
    np.testing.assert_allclose(p[:, 1], [(0.5 + both) / (1 + both), 0.0, 0.5 / (1 + both)], rtol=1e-12)
    p, log_partition = marginals(scores, single_root=True)
    assert log_partition == pytest.approx(math.log(2.0) - depth, rel=1e-14)
    np.testing.assert_allclose(p[:, 1], [0.5, 0.0, 0.5], rtol=1e-12)


@pytest.mark.parametrize("n", [4, 20])
@pytest.mark.parametrize("depth", [30.0, 400.0])
def test_nested_cycles_with_improbable_exits(n, depth):
    # The only tree has the arcs m + 1 -> m, which score -depth; the reverse arcs score 0 and make cycles.
    scores = np.full((n + 1, n + 1), -np.inf)
    for m in range(1, n):
        scores[m + 1, m] = -depth
        scores[m, m + 1] = 0.0
    scores[0, n] = -depth
    for single_root in (False, True):
        p, log_partition = marginals(scores, single_root)
        assert log_partition == pytest.approx(-n * depth, rel=1e-14)  # the chain 0, n, n - 1 .. 1 is the only tree
        np.testing.assert_allclose(p[maximum_arborescence(scores)[1:], np.arange(1, n + 1)], 1.0, rtol=1e-12)


@ROOTS
def test_huge_scores_concentrate_on_the_best_tree(single_root):
    for seed in range(5):
        scores = 1e5 * draw(np.random.default_rng(seed), 25)
        p, log_partition = marginals(scores, single_root)
        heads = maximum_arborescence(scores, single_root)
        np.testing.assert_array_equal(p.argmax(axis=0)[1:], heads[1:])
        assert log_partition == pytest.approx(naive.arc_score(heads.tolist(), scores), rel=1e-12)


WIDE = [
    # The best tree has an arc of -1e9: the digits of the others must not be lost.
    [[0, 0.0656, -0.0137, 0.0455], [0, 0, -1e9, -1e9], [0, -1e9, 0, -1e6], [0, -1e9, -1e9, 0]],
    # Equal trees far from the best heads of all words.
    [[0, -9e10, 9e10, -4e10], [0, 0, -9e10, 4e10], [0, -4e10, 0, 4e10], [0, -4e10, -4e10, 0]],
    # Equal and unequal scores too large for a product of rates.
    [[0, 1e24, 1e24, -1e4], [0, 0, 1e24, 2e24], [0, 1e24, 0, 2e24], [0, -1e30, 0, 0]],
    # A difference of 1e4 between scores of 1e13.
    [[0, 1e13, 1e13 - 0.25, 0], [0, 0, 1e13, 1e13 - 1e4], [0, 1e13 + 0.25, 0, 1e13 - 1e4 - 0.5], [0, 0, 0, 0]],
]


@ROOTS
@pytest.mark.parametrize("scores", WIDE)
def test_large_scores_lose_no_digits(scores, single_root):
    found = marginals(scores, single_root)[0]
    np.testing.assert_allclose(found, naive_domain.marginals(3, np.array(scores), single_root), atol=1e-12)


def test_what_rounding_would_decide_is_refused():
    cycle = np.array([[0.0, -1e14, -1e14], [0.0, 0.0, 1e9], [0.0, 1e9, 0.0]])
    with pytest.raises(ValueError, match=r"the best tree scores 1e\+14 less than the best heads of all words"):
        marginals(cycle)
    p = marginals(cycle, strict=False)[0]
    assert p[:, 1:].sum(axis=0).tolist() == [1.0, 1.0] and sorted(p[0, 1:].tolist()) == [0.0, 1.0]
    far = np.array([[0.0, -2.7e34, -3.2e34], [0.0, 0.0, -3e34], [0.0, 6e33, 0.0]])
    assert marginals(far, True, strict=False)[0].tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
