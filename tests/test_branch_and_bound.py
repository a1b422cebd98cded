"""Branch and bound against enumeration and against integer programs, and what its limit leaves."""

import naive_trees
import numpy as np
import pytest
from test_automata import draw_problem
from test_dual import check_laws, trees_over

from nonproj.dual.branch_and_bound import SearchOptions, _bound, _restrict, branch_and_bound
from nonproj.dual.decomposition import DualOptions, check_options, dual_decomposition
from nonproj.dual.subgradient import _AGREED, APPENDIX_A, POLYAK, _start
from nonproj.parts.space import arc_space_from_mask, part_index, tree_score
from nonproj.types import ARC, GRANDPARENT, SIBLING, PartScores

KINDS = ("continuous", "integer")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["any", "single_root", "projective", "single_root projective"])
@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
def test_certifies_what_enumeration_finds(model, form, kind):
    tried = searched = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        arcs, index, scores = draw_problem(rng, int(rng.integers(1, 6)), model, kind, pruned=bool(seed % 2))
        options = DualOptions(
            max_iterations=int(rng.choice([1, 10, 250])),
            single_root="single_root" in form,
            projective="projective" in form,
            rule=APPENDIX_A if seed % 3 == 0 else POLYAK,
        )
        trees = trees_over(arcs, options.single_root, options.projective)
        if not trees:
            with pytest.raises(ValueError, match="no tree|no projective tree"):
                branch_and_bound(arcs, index, scores, model, options)
            continue
        found = branch_and_bound(arcs, index, scores, model, options, SearchOptions(node_iterations=1 + seed % 30))
        check_laws(found, arcs, index, scores, max(naive_trees.score_of_tree(t, arcs, index, scores) for t in trees))
        assert found.certified
        assert found.heads.tolist() in trees
        tried += 1
        searched += found.nodes > 0
    assert tried >= 40
    assert searched >= (0 if model == ARC else tried / 4)


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("seed", range(150))
def test_agrees_with_the_integer_program(seed, model):
    """Each of 300 instances, of 4 to 8 words: integer program, search and enumeration; and the programs' bounds."""
    pytest.importorskip("highspy")
    from nonproj.programs.linear_program import LinearOptions, linear_program

    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    arcs, index, scores = draw_problem(rng, n, model, KINDS[seed % 2], pruned=seed % 4 > 1)
    found = branch_and_bound(arcs, index, scores, model)
    assert found.certified
    optimum = pytest.approx(found.score, abs=1e-6)
    single, multi, integer = (
        linear_program(arcs, index, scores, model, options)[0]
        for options in (LinearOptions("single"), LinearOptions("multi"), LinearOptions("single", integer=True))
    )
    assert integer.score == optimum
    assert single.bound >= multi.bound - 1e-6
    assert multi.bound >= found.score - 1e-6
    if n <= 5:
        assert max(naive_trees.score_of_tree(t, arcs, index, scores) for t in trees_over(arcs)) == optimum


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
@pytest.mark.parametrize("seed", range(20))
def test_a_restricted_problem_scores_its_trees_as_the_whole_does(seed, model):
    rng = np.random.default_rng(seed)
    arcs, index, scores = draw_problem(rng, int(rng.integers(2, 6)), model, "continuous", pruned=False)
    keep = rng.random(len(arcs.head)) < 0.6
    fewer, fewer_index, fewer_scores, number = _restrict(arcs, index, scores, model, keep)
    assert number.tolist() == np.flatnonzero(keep).tolist()
    mask = np.zeros((len(arcs.start) - 1,) * 2, bool)
    mask[arcs.head[keep], arcs.modifier[keep]] = True
    for found, expected in zip(fewer, arc_space_from_mask(mask), strict=True):
        assert found.tolist() == expected.tolist()
    for found, expected in zip(fewer_index, part_index(fewer, model), strict=True):
        assert found.tolist() == expected.tolist()
    trees = trees_over(fewer)
    for tree in trees:
        whole = tree_score(arcs, index, scores, tree)
        assert tree_score(fewer, fewer_index, fewer_scores, tree) == pytest.approx(whole, abs=1e-9)
    assert len(trees) == sum(all(mask[h, m] for m, h in enumerate(t) if m) for t in trees_over(arcs))


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_one_tree_is_agreed_on_at_once(model):
    """The arc that is its modifier's only one is forced upon the automata, too, whatever they think of it."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        heads = [-1] + [0] * n
        order = 1 + rng.permutation(n)
        for position in range(1, n):
            heads[order[position]] = int(rng.choice([0, *order[:position]]))
        mask = np.zeros((n + 1, n + 1), bool)
        mask[heads[1:], range(1, n + 1)] = True
        arcs = arc_space_from_mask(mask)
        index = part_index(arcs, model)
        sizes = n, index.sibling_start[-1], index.grandparent_start[-1]
        scores = PartScores(*[rng.normal(scale=100, size=size) for size in sizes])
        options = check_options(DualOptions())
        tree, start = np.empty(n + 1, np.int32), np.array(_start(scores, model, options))
        outcome, iterations, score, _, _ = _bound(
            arcs, index, scores, model, options, np.ones(n, bool), start, -np.inf, np.empty((3, n)),
            np.empty(n, np.int64), tree,
        )  # fmt: skip
        assert (outcome, iterations) == (_AGREED, 1)
        assert tree.tolist() == heads
        assert score == pytest.approx(naive_trees.score_of_tree(heads, arcs, index, scores), abs=1e-9)


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_without_a_search_it_is_dual_decomposition(model):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        arcs, index, scores = draw_problem(rng, int(rng.integers(2, 12)), model, KINDS[seed % 2], pruned=False)
        options = DualOptions(max_iterations=20)
        plain = dual_decomposition(arcs, index, scores, model, options)
        found = branch_and_bound(arcs, index, scores, model, options, SearchOptions(automata_limit=0))
        assert found.heads.tolist() == plain.heads.tolist()
        assert found[1:] == plain[1:]


def test_a_limit_stops_between_what_is_known_and_what_is_proved():
    """The longer it may search, the narrower the gap; it goes over its limit by the two children of one node."""
    rng = np.random.default_rng(1)
    arcs, index, scores = draw_problem(rng, 14, GRANDPARENT, "continuous", pruned=False)
    optimum = branch_and_bound(arcs, index, scores, GRANDPARENT)
    assert optimum.certified
    assert optimum.nodes > 20
    gaps = []
    for limit in (0, 200, 1000, 3000):
        search = SearchOptions(limit, 10)
        found = branch_and_bound(arcs, index, scores, GRANDPARENT, DualOptions(max_iterations=10), search)
        assert found.score - 1e-9 <= optimum.score <= found.bound + 1e-9
        decoded = found.recomputed * found.iterations * len(found.heads)
        assert decoded <= limit + 3 * 10 * len(found.heads)
        assert (found.bound - found.score <= 1e-9 * (1 + abs(found.score))) == found.certified
        gaps.append(found.bound - found.score)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[-1]


@pytest.mark.parametrize(
    "search, message",
    [
        (SearchOptions(automata_limit=-1), "automata_limit is -1; 0 or more is expected"),
        (SearchOptions(node_iterations=0), "node_iterations is 0; 1 or more is expected"),
    ],
)
def test_bad_limits_are_named(search, message):
    arcs, index, scores = draw_problem(np.random.default_rng(0), 3, SIBLING, "continuous", pruned=False)
    with pytest.raises(ValueError, match=message):
        branch_and_bound(arcs, index, scores, SIBLING, search=search)
