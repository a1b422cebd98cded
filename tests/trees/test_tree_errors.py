"""Errors of functions of trees, which name what is wrong."""

from functools import partial

import numpy as np
import pytest

from nonproj.parts.arcs import full_arc_space
from nonproj.trees.arborescence import maximum_arborescence, maximum_arborescence_sparse
from nonproj.trees.marginals import marginals
from nonproj.trees.projective import maximum_projective_tree, maximum_projective_tree_sparse
from nonproj.trees.pruning import prune
from nonproj.trees.sampling import sample_trees

ARCS, NO_TREE, NAN = full_arc_space(2), np.full((3, 3), -np.inf), np.full((3, 3), np.nan)
TWO_ROOTS = np.array([[0.0, 0.0, 0.0], [-np.inf] * 3, [-np.inf] * 3])
SECOND_WITHOUT = np.stack([np.zeros((3, 3)), np.where(np.arange(3) == 1, -np.inf, np.zeros((3, 3)))])
NUMBERS, ONE_ROOT, MASK = "not NaN or plus infinity", "no tree with a single root", float(np.finfo(np.float32).min)


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (maximum_arborescence, (NO_TREE,), "no tree spans the words"),
        (maximum_arborescence, (TWO_ROOTS, True), ONE_ROOT),
        (maximum_arborescence, (NAN,), NUMBERS),
        (maximum_arborescence, (np.zeros((2, 3)),), r"scores has shape \(2, 3\)"),
        (maximum_arborescence_sparse, (ARCS, np.zeros(3)), "one score for each of 4 arcs"),
        (maximum_arborescence_sparse, (ARCS, [0.0, np.inf, 0.0, 0.0]), NUMBERS),
        (maximum_projective_tree, (NAN,), NUMBERS),
        (maximum_projective_tree, (np.zeros(3),), r"scores has shape \(3,\)"),
        (maximum_projective_tree, (TWO_ROOTS, True), "no projective tree with a single root"),
        (maximum_projective_tree_sparse, (ARCS, np.zeros(5)), "one score for each of 4 arcs"),
        (marginals, (NAN,), NUMBERS),
        (marginals, (NO_TREE,), "no tree spans the words"),
        (marginals, (TWO_ROOTS, True), ONE_ROOT),
        (marginals, (np.zeros((2, 3)),), r"scores has shape \(2, 3\)"),
        (partial(prune, threshold=2.0), (np.eye(3),), "threshold is 2.0"),
        (partial(prune, threshold=np.nan), (np.eye(3),), "threshold is nan"),
        (partial(prune, max_heads=0), (np.eye(3),), "max_heads is 0"),
        (prune, (-np.ones((3, 3)),), "marginals must be probabilities"),
        (prune, (np.zeros(4),), r"marginals has shape \(4,\)"),
        (prune, (np.zeros((3, 3)),), "no tree spans the words"),
        (partial(prune, single_root=True), (np.exp(TWO_ROOTS) * [[0.0, 1.0, 1.0]],), ONE_ROOT),
        (sample_trees, (np.zeros((4, 4)), -1), "count is -1; 0 or more is expected"),
        (sample_trees, (NO_TREE, 1), "no tree"),
        (sample_trees, ([[0, 1, MASK], [0, 0, MASK], [0, 1, 0]], 1), "no tree"),
        (sample_trees, (SECOND_WITHOUT, 3), "sentence 1: no tree spans the words"),
        (sample_trees, (np.zeros((3, 3), complex), 3), "scores is complex"),
    ],
)
def test_errors_name_what_is_wrong(call, arguments, message):
    with pytest.raises(ValueError, match=message):
        call(*arguments)


def test_what_is_allowed():
    assert maximum_arborescence(TWO_ROOTS).tolist() == [-1, 0, 0]
    assert list(zip(*prune(np.exp(TWO_ROOTS) * [[0.0, 1.0, 1.0]])[:2], strict=True)) == [(0, 1), (0, 2)]
