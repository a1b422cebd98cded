"""The course of dual decomposition, against the trace of the compiled loop and the definition of the dual."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest
from problems import draw_problem

from nonproj.dual.course import course
from nonproj.dual.decoding import dual_trace
from nonproj.dual.options import APPENDIX_A, DualOptions


@pytest.mark.parametrize("kind", ["continuous", "integer"])
@pytest.mark.parametrize("parts", ["sibling", "grandparent"])
def test_the_course_is_that_of_the_compiled_loop(parts, kind):
    long = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        problem = draw_problem(rng, int(rng.integers(2, 9)), parts, kind, pruned=bool(seed % 2))
        forms = {} if seed % 2 else {"single_root": bool(seed % 3), "projective": seed % 5 == 0}  # a tree is there
        options = DualOptions(max_iterations=40, rule=APPENDIX_A if seed % 4 == 0 else 1, **forms)
        decoded, trace = dual_trace(*problem, options)
        found = course(*problem, options)
        assert len(found) == decoded.iterations == len(trace.dual)
        np.testing.assert_allclose([each.dual for each in found], trace.dual, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose([each.primal for each in found], trace.primal, rtol=1e-12, atol=1e-9)
        arcs = problem[0].arcs
        for each in found:
            assert naive_trees.is_tree(each.tree.tolist())
            score = naive_trees.score_of_tree(each.tree.tolist(), *problem)
            assert each.primal == pytest.approx(score, abs=1e-9)
        y = found[-1].tree[arcs.modifier] == arcs.head
        assert decoded.agreed == (np.array_equal(y, found[-1].z) and np.array_equal(y, found[-1].z_grandparent))
        long = max(long, len(found))
        assert [each.dual for each in course(*problem, options, longest=2)] == [each.dual for each in found[:2]]
    assert long > 10


def test_arcs_alone_have_no_course():
    assert course(*draw_problem(np.random.default_rng(0), 4, "arc", "continuous", pruned=False)) == []
