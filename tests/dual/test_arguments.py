"""Arguments: numpy's scalars count as Python's booleans and integers, and anything wrong is one clear error."""

from functools import partial

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


ARRAYS, SAMPLES, MARGINALS = partial(decode_scores, SCORES), partial(sample_trees, SCORES), partial(marginals, SCORES)
PRUNED, RANKED = partial(prune, SCORES), partial(k_best, PARTS, OF_PARTS)
SPARSE = maximum_arborescence_sparse, maximum_projective_tree_sparse


def loop(**given):
    """Dual decomposition with these options."""
    return dual_decomposition(PARTS, OF_PARTS, DualOptions(**given))


def searched(**given):
    """Branch and bound with these limits."""
    return branch_and_bound(PARTS, OF_PARTS, search=SearchOptions(**given))


FLAGS = [(ARRAYS, name) for name in ("single_root", "projective", "marginals")]
FLAGS += [(partial(SAMPLES, 1), "single_root"), (MARGINALS, "single_root"), (MARGINALS, "strict")]
FLAGS += [(PRUNED, "single_root"), (PRUNED, "projective"), (loop, "single_root"), (loop, "projective")]
FLAGS += [(partial(call, SCORES), "single_root") for call in (maximum_arborescence, maximum_projective_tree)]
FLAGS += [(partial(call, ARCS, np.zeros(4)), "single_root") for call in SPARSE] + [(searched, "search")]
INTEGERS = [(ARRAYS, "k", 1), (ARRAYS, "work_per_word", 0), (SAMPLES, "count", 0), (partial(SAMPLES, 1), "seed", 0)]
INTEGERS += [(PRUNED, "max_heads", 1), (RANKED, "k", 1), (loop, "max_iterations", 1)]
INTEGERS += [(searched, "work_per_word", 0), (searched, "node_iterations", 1)]


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


NO_TREE, NAN = np.full((3, 3), -np.inf), np.full((3, 3), np.nan)
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
