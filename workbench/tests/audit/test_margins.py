"""Exact differences of the best trees without and with an arc, compared with those of all trees."""

import numpy as np
import pytest
from instances import seeds
from naive_crossing import value
from naive_trees import difference, pairs_of
from problems import ALL_SETS, KINDS, draw_problem, trees_over

from nonproj.dual.crossing import crossing_costs
from nonproj.dual.options import DualOptions, SearchOptions
from nonproj.parts.space import tree_score
from nonproj_workbench.audit.margins import arc_differences


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["any", "single_root", "projective", "costs"])
@pytest.mark.parametrize("name", ALL_SETS)
def test_differences_equal_those_of_all_trees(name, form, kind):
    options = DualOptions(single_root=form == "single_root", projective=form == "projective")
    compared = infinite = 0
    chosen = range(14, -1, -1)[: len(seeds(15, least=6))]  # among the last ones, some arcs are in all trees
    for seed in chosen:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 6))
        parts, scores = draw_problem(rng, n, name, kind, pruned=bool(seed % 2))
        trees = trees_over(parts.arcs, options.single_root, options.projective)
        if not trees:
            continue
        tree = np.array(trees[rng.integers(len(trees))], np.int32)
        wanted = np.append(False, rng.random(n) < 0.8)
        costs = np.full(len(parts.arcs.head), 0.75) if form == "costs" else None
        crossing = crossing_costs(parts.arcs, costs, options.projective)
        found = arc_differences(parts, scores, tree, wanted, options, crossing=crossing)

        def worth(each, parts=parts, scores=scores):
            score = tree_score(parts, scores, np.array(each, np.int32))
            return value(list(each), score, dict.fromkeys(pairs_of(parts.arcs), 0.75) if form == "costs" else None)

        for m in range(n + 1):
            if not wanted[m]:
                assert np.isnan(found.score[m]) and not found.certified[m]
                continue
            expected = difference(trees, worth, tree[m], m)
            assert found.score[m] == pytest.approx(expected, abs=1e-7) and found.certified[m]
            compared += 1
            infinite += np.isinf(expected)
    assert compared > 20 / 15 * len(chosen) and infinite


def test_without_work_left_differences_are_not_certified():
    few = DualOptions(max_iterations=1)
    certified = []
    for seed in range(10):
        parts, scores = draw_problem(np.random.default_rng(seed), 8, "third", "continuous", pruned=False)
        tree = np.array([-1, 0, *range(1, 8)], np.int32)
        found = arc_differences(parts, scores, tree, np.arange(9) > 0, few, SearchOptions(search=False))
        certified += found.certified[1:].tolist()
    assert not all(certified)
