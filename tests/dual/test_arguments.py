"""Boolean and integer arguments: numpy's scalars count as Python's, and anything else is one clear error."""

from __future__ import annotations

import numpy as np
import pytest

from nonproj.dual.arrays import decode_scores
from nonproj.dual.decoding import branch_and_bound, dual_decomposition, k_best
from nonproj.dual.options import DualOptions, SearchOptions
from nonproj.parts.arcs import full_arc_space
from nonproj.parts.space import part_space
from nonproj.trees.arborescence import maximum_arborescence, maximum_arborescence_sparse
from nonproj.trees.marginals import marginals
from nonproj.trees.projective import maximum_projective_tree, maximum_projective_tree_sparse
from nonproj.trees.pruning import prune
from nonproj.trees.sampling import sample_trees

SCORES = np.arange(9.0).reshape(3, 3)
ARCS = full_arc_space(2)
PARTS = part_space(ARCS, "sibling")
OF_PARTS = np.arange(float(len(PARTS)))


FLAGS = [
    (lambda **given: decode_scores(SCORES, **given), "single_root"),
    (lambda **given: decode_scores(SCORES, **given), "projective"),
    (lambda **given: decode_scores(SCORES, **given), "marginals"),
    (lambda **given: sample_trees(SCORES, 1, **given), "single_root"),
    (lambda **given: marginals(SCORES, **given), "single_root"),
    (lambda **given: marginals(SCORES, **given), "strict"),
    (lambda **given: prune(SCORES, **given), "single_root"),
    (lambda **given: prune(SCORES, **given), "projective"),
    (lambda **given: maximum_arborescence(SCORES, **given), "single_root"),
    (lambda **given: maximum_arborescence_sparse(ARCS, np.zeros(4), **given), "single_root"),
    (lambda **given: maximum_projective_tree(SCORES, **given), "single_root"),
    (lambda **given: maximum_projective_tree_sparse(ARCS, np.zeros(4), **given), "single_root"),
    (lambda **given: dual_decomposition(PARTS, OF_PARTS, DualOptions(**given)), "single_root"),
    (lambda **given: dual_decomposition(PARTS, OF_PARTS, DualOptions(**given)), "projective"),
    (lambda **given: branch_and_bound(PARTS, OF_PARTS, search=SearchOptions(**given)), "search"),
]

INTEGERS = [
    (lambda **given: decode_scores(SCORES, **given), "k", 1),
    (lambda **given: decode_scores(SCORES, **given), "work_per_word", 0),
    (lambda **given: sample_trees(SCORES, **given), "count", 0),
    (lambda **given: sample_trees(SCORES, 1, **given), "seed", 0),
    (lambda **given: prune(SCORES, **given), "max_heads", 1),
    (lambda **given: k_best(PARTS, OF_PARTS, **given), "k", 1),
    (lambda **given: dual_decomposition(PARTS, OF_PARTS, DualOptions(**given)), "max_iterations", 1),
    (lambda **given: branch_and_bound(PARTS, OF_PARTS, search=SearchOptions(**given)), "work_per_word", 0),
    (lambda **given: branch_and_bound(PARTS, OF_PARTS, search=SearchOptions(**given)), "node_iterations", 1),
]


def shown(found):
    """Return a result in a form that can be compared."""
    if isinstance(found, tuple):
        return [shown(each) for each in found]
    return found.tolist() if isinstance(found, np.ndarray) else repr(found)


@pytest.mark.parametrize(("call", "name"), FLAGS)
def test_flags(call, name):
    for wrong in ("no", "", 2, -1, 1.0, None, [True]):
        with pytest.raises(ValueError) as caught:
            call(**{name: wrong})
        assert str(caught.value) == f"{name} is {wrong!r}; True or False is expected"
    for value in (False, True):
        expected = shown(call(**{name: value}))
        assert shown(call(**{name: np.bool_(value)})) == shown(call(**{name: int(value)})) == expected


@pytest.mark.parametrize(("call", "name", "least"), INTEGERS)
def test_integers(call, name, least):
    for wrong in ("a", "1", 1.5, None, [1], True, np.bool_(True)):
        with pytest.raises(ValueError) as caught:
            call(**{name: wrong})
        assert str(caught.value) == f"{name} is {wrong!r}; an integer is expected"
    with pytest.raises(ValueError, match=f"^{name} is {least - 1}; "):
        call(**{name: least - 1})
    for kind in (np.int64, np.uint8):
        assert shown(call(**{name: kind(3)})) == shown(call(**{name: 3}))
