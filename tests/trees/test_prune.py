"""Pruning against its definition; the candidate arcs always contain a tree."""

import naive_trees as naive
import numpy as np
import pytest
from instances import seeds

from nonproj.trees.arborescence import maximum_arborescence, maximum_arborescence_sparse
from nonproj.trees.marginals import marginals
from nonproj.trees.projective import maximum_projective_tree, maximum_projective_tree_sparse
from nonproj.trees.pruning import prune

ROOTS = pytest.mark.parametrize("single_root", [False, True])


def draw(rng, n, single_root, scale, absent=0.0):
    scores = scale * rng.standard_normal((n + 1, n + 1))
    scores[rng.random(scores.shape) < absent] = -np.inf
    scores[0] = np.where(scores[0] == -np.inf, -3.0, scores[0])
    scores[1, 2:] = np.where(scores[1, 2:] == -np.inf, -3.0, scores[1, 2:])  # at least one tree with a single root
    return marginals(scores, single_root)[0]


def probable(p, threshold, max_heads):
    """Return the arcs within threshold and max_heads, by the definition."""
    arcs = set()
    for m in range(1, len(p)):
        heads = [h for h in range(len(p)) if h != m]
        best = max(p[h, m] for h in heads)
        heads = [h for h in heads if p[h, m] > 0 and p[h, m] >= threshold * best]
        arcs |= {(h, m) for h in sorted(heads, key=lambda h: (-p[h, m], h))[:max_heads]}
    return arcs


def logarithms(p):
    return np.log(p, where=p > 0, out=np.full(p.shape, -np.inf))


@ROOTS
@pytest.mark.parametrize("threshold", [0.0, 1e-4, 0.1, 1.0])
@pytest.mark.parametrize("max_heads", [1, 3, 100])
def test_kept_arcs_equal_the_definition(single_root, threshold, max_heads):
    rng = np.random.default_rng(max_heads)
    for _ in range(15):
        n = int(rng.integers(1, 20))
        p = draw(rng, n, single_root, rng.choice([0.0, 2.0, 30.0, 1000.0]), rng.choice([0.0, 0.5]))
        if rng.random() < 0.3:
            p = np.round(p, 1) + (p > 0) * 0.1  # ties
        space = prune(p, threshold=threshold, max_heads=max_heads, single_root=single_root)
        kept, scores = set(zip(space.head.tolist(), space.modifier.tolist(), strict=True)), logarithms(p)
        tree = maximum_arborescence(scores, single_root).tolist()
        within = probable(p, threshold, max_heads)
        assert within <= kept
        extra = {m: h for h, m in kept - within}
        assert len(extra) == len(kept - within)  # the tree adds at most one head per word
        # A tie may be broken differently: the kept arcs contain a tree that is equally good.
        best = maximum_arborescence_sparse(space, scores[space.head, space.modifier], single_root).tolist()
        assert naive.arc_score(best, scores) == pytest.approx(naive.arc_score(tree, scores), abs=1e-9)
        assert all((best[m], m) in kept for m in range(1, n + 1))
        assert not single_root or best.count(0) == 1


@ROOTS
@pytest.mark.parametrize("seed", seeds(10))
def test_projective_keeps_a_projective_tree(seed, single_root):
    rng = np.random.default_rng(seed)
    p = draw(rng, 15, single_root, scale=rng.choice([1.0, 300.0]))
    arcs = prune(p, threshold=1.0, max_heads=1, single_root=single_root, projective=True)
    heads = maximum_projective_tree_sparse(arcs, np.log(np.maximum(p[arcs.head, arcs.modifier], 1e-300)), single_root)
    assert naive.is_projective(heads.tolist())
    if (p[:, 1:] + np.eye(16)[:, 1:] > 0).all():
        expected = maximum_projective_tree(logarithms(p), single_root)
        np.testing.assert_array_equal(heads, expected)
