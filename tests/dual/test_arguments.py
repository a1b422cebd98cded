"""Boolean and integer arguments: numpy's scalars count as Python's, and anything else is one clear error."""

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
