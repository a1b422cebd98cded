"""Linear and integer programs against naive programs, enumeration of trees, and dual decomposition."""

import sys

import naive_programs
import naive_trees
import numpy as np
import pytest
from nonproj.programs.part_polytope import FAMILIES, grandparent_limits, grandparent_rows
from test_automata import draw_problem
from test_dual import trees_over

from nonproj.dual.decomposition import DualOptions, dual_decomposition
from nonproj.dual.subgradient import APPENDIX_A, POLYAK
from nonproj.parts.space import arc_space, full_arc_space, part_index, tree_score
from nonproj.programs.linear_program import LinearOptions, linear_program
from nonproj.programs.solver import Program
from nonproj.programs.tree_polytope import rows_of
from nonproj.trees.arborescence import maximum_arborescence_sparse
from nonproj.types import ARC, GRANDPARENT, SIBLING, PartScores

pytest.importorskip("highspy")

KINDS = ("continuous", "integer")


def near(value):
    """Equality up to the tolerances of HiGHS."""
    return pytest.approx(value, abs=1e-6, rel=1e-6)


def draw(seed, model, smallest, largest):
    """A random problem, every other one pruned, with a single root every third time."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(smallest, largest + 1))
    arcs, index, scores = draw_problem(rng, n, model, KINDS[seed // 2 % 2], bool(seed % 2))
    single_root = seed % 3 == 0
    try:
        maximum_arborescence_sparse(arcs, np.zeros(len(arcs.head)), single_root)
    except ValueError:
        single_root = False  # only several roots connect these arcs
    return arcs, index, scores, single_root


def enumerate_best(arcs, index, scores, single_root):
    """The score of the best tree."""
    trees = trees_over(arcs, single_root)
    return max(naive_trees.score_of_tree(tree, arcs, index, scores) for tree in trees)


def check_result(decoded, fractional, parts, options):
    """Assert what holds for every solution."""
    arcs, index, scores = parts
    assert fractional.status == "optimal"
    assert fractional.value == near(decoded.bound)
    for values in fractional[:3]:
        assert ((values >= -1e-6) & (values <= 1 + 1e-6)).all()
    heads = np.bincount(arcs.modifier, fractional.arc, len(arcs.start) - 1)
    np.testing.assert_allclose(heads[1:], 1.0, atol=1e-6)
    if options.single_root:
        assert fractional.arc[arcs.head == 0].sum() == near(1.0)
        assert (decoded.heads == 0).sum() == 1
    assert naive_trees.is_tree(decoded.heads.tolist())
    assert decoded.score == pytest.approx(tree_score(arcs, index, scores, decoded.heads))
    assert decoded.score <= decoded.bound
    assert decoded.certified or not decoded.agreed
    nearest = maximum_arborescence_sparse(arcs, fractional.arc, options.single_root)
    assert decoded.heads.tolist() == nearest.tolist()


@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
@pytest.mark.parametrize("relaxation", ["single", "multi"])
def test_optimum_matches_the_rows_in_the_papers(model, relaxation):
    """For any choice of families; the naive program keeps redundant flows and implied rows."""
    fractional_ones = 0
    for seed in range(36):
        rng = np.random.default_rng(seed + 1000)
        arcs, index, scores, single_root = draw(seed, model, 1, 6)
        families = FAMILIES if seed % 2 else tuple(name for name in FAMILIES if rng.random() < 0.5)
        options = LinearOptions(relaxation, "pairs" if seed % 5 == 0 else "paths", families, single_root=single_root)
        decoded, fractional = linear_program(arcs, index, scores, model, options)
        check_result(decoded, fractional, (arcs, index, scores), options)
        assert fractional.value == near(naive_programs.relaxed_optimum(arcs, index, scores, model, options))
        fractional_ones += not decoded.agreed
    if (model, relaxation) == (ARC, "multi"):
        assert fractional_ones == 0
    else:
        assert fractional_ones >= 3


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_compact_program_matches_that_over_all_trees_and_automaton_choices(model):
    loose = 0
    for seed in range(40):
        arcs, index, scores, single_root = draw(seed, model, 1, 4)
        options = LinearOptions("compact", single_root=single_root)
        decoded, fractional = linear_program(arcs, index, scores, model, options)
        check_result(decoded, fractional, (arcs, index, scores), options)
        trees = trees_over(arcs, single_root)
        assert fractional.value == near(naive_programs.hull_optimum(arcs, index, scores, model, trees))
        loose += not decoded.certified
    assert loose >= 3  # otherwise both might be the integer program


@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
def test_integer_programs_find_the_best_tree(model):
    sufficient = [FAMILIES, ("ArcGP", "GPArc"), ("OneGP", "NoGP"), ("OneGP", "GPArc")]
    for seed in range(50):
        arcs, index, scores, single_root = draw(seed, model, 1, 5)
        relaxation = ("single", "multi", "compact")[seed % 3 if seed % 2 else 0]
        siblings = "pairs" if seed % 5 == 0 else "paths"
        families = sufficient[seed % 4]
        options = LinearOptions(relaxation, siblings, families, integer=True, single_root=single_root)
        decoded, fractional = linear_program(arcs, index, scores, model, options)
        check_result(decoded, fractional, (arcs, index, scores), options)
        assert decoded.agreed
        assert decoded.certified
        assert decoded.score == near(enumerate_best(arcs, index, scores, single_root))


def optimum(arcs, index, scores, model, single_root):
    """The best tree's score by the integer program, and whether dual decomposition certifies the same."""
    integer = LinearOptions("single", integer=True, single_root=single_root)
    decoded, _ = linear_program(arcs, index, scores, model, integer)
    dual = dual_decomposition(arcs, index, scores, model, DualOptions(300, single_root=single_root))
    assert decoded.certified
    assert decoded.score >= dual.score - 1e-6 * (1 + abs(dual.score))
    if dual.certified:
        assert decoded.score == near(dual.score)
    return decoded.score, dual.certified


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_bounds_are_valid_and_tighter_for_smaller_polytopes(model):
    certified, strict = 0, {"single": 0, "pairs": 0, "subset": 0, "multi": 0}
    for seed in range(50):
        arcs, index, scores, single_root = draw(seed, model, 4, 8)
        best, known = optimum(arcs, index, scores, model, single_root)
        certified += known
        rng = np.random.default_rng(seed)
        some = tuple(name for name in FAMILIES if rng.random() < 0.6)
        bounds = {}
        for name, options in {
            "compact": LinearOptions("compact"),
            "multi": LinearOptions("multi"),
            "single": LinearOptions("single"),
            "pairs": LinearOptions("multi", "pairs"),
            "subset": LinearOptions("multi", families=some),
        }.items():
            if name == "subset" and model == SIBLING:
                continue
            options = options._replace(single_root=single_root)
            decoded, _ = linear_program(arcs, index, scores, model, options)
            bounds[name] = decoded.bound
            slack = 1e-6 * (1 + abs(decoded.bound))
            assert best <= decoded.bound + slack
            if decoded.certified:
                assert decoded.score == near(best)
        assert bounds["compact"] <= bounds["multi"] + slack
        for name in set(bounds) - {"compact", "multi"}:
            assert bounds["multi"] <= bounds[name] + slack
            strict[name] += bounds["multi"] < bounds[name] - 1e-3
        strict["multi"] += bounds["compact"] < bounds["multi"] - 1e-3
        if model == SIBLING:
            assert bounds["compact"] == near(bounds["multi"])
    assert certified >= 5
    assert strict["single"] >= 3
    assert strict["pairs"] >= 3
    if model == GRANDPARENT:
        assert strict["subset"] >= 3
        assert strict["multi"] >= 3


@pytest.mark.parametrize("model", [SIBLING, GRANDPARENT])
def test_dual_decomposition_converges_to_the_compact_optimum(model):
    """Its bound is never below, and within 0.1 % for at least one schedule of step sizes."""
    schedules = [(rule, beta, k) for k in (300, 3000, 30000) for rule in (POLYAK, APPENDIX_A) for beta in (0.5, 0.001)]
    loose = 0
    for seed in range(40):
        arcs, index, scores, single_root = draw(seed, model, 4, 6)
        options = LinearOptions("compact", single_root=single_root)
        decoded, fractional = linear_program(arcs, index, scores, model, options)
        loose += not decoded.certified
        gap = np.inf
        for rule, beta, k in schedules:
            options = DualOptions(k, beta, single_root=single_root, rule=rule)
            gap = min(gap, dual_decomposition(arcs, index, scores, model, options).bound - fractional.value)
            assert gap >= -1e-6
            if gap <= 1e-3 * abs(fractional.value):
                break
        assert gap <= 1e-3 * abs(fractional.value)
    assert loose >= 10


@pytest.mark.parametrize("single_root", [False, True])
def test_multi_commodity_flow_is_integral_for_arc_models(single_root):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arcs = full_arc_space(int(rng.integers(1, 9)))
        scores = PartScores(rng.standard_normal(len(arcs.head)), np.zeros(0), np.zeros(0))
        options = LinearOptions(single_root=single_root)
        decoded, _ = linear_program(arcs, part_index(arcs, ARC), scores, ARC, options)
        assert decoded.agreed
        assert decoded.heads.tolist() == maximum_arborescence_sparse(arcs, scores.arc, single_root).tolist()


def test_omitted_rows_are_implied():
    saved = 0
    for seed in range(20):
        arcs, index, scores, _ = draw(seed, GRANDPARENT, 3, 6)
        found = []
        for implied in (False, True):
            program = Program()
            program.add_columns(scores.arc)
            # One head for each word and no flow: this is enough to imply ArcGP.
            into = [np.arange(arcs.start[m], arcs.start[m + 1]) for m in range(1, len(arcs.start) - 1)]
            program.add_rows(rows_of([(group, np.ones(len(group))) for group in into], 1.0, 1.0))
            first = program.add_columns(scores.grandparent, 0.0, grandparent_limits(arcs, index))
            program.add_rows(grandparent_rows(arcs, index, first, implied=implied))
            assert program.solve() == "optimal"
            found.append((program.objective, program.n_rows))
        assert found[0][0] == near(found[1][0])
        saved += found[1][1] - found[0][1]
    assert saved > 0


@pytest.mark.parametrize("model", [ARC, SIBLING, GRANDPARENT])
@pytest.mark.parametrize("relaxation", ["single", "multi", "compact"])
def test_sentences_of_no_or_one_word(model, relaxation):
    for n in (0, 1):
        arcs = full_arc_space(n)
        index = part_index(arcs, model)
        sizes = len(arcs.head), index.sibling_start[-1], index.grandparent_start[-1]
        scores = PartScores(*[np.ones(size) for size in sizes])
        for integer in (False, True):
            decoded, _ = linear_program(arcs, index, scores, model, LinearOptions(relaxation, integer=integer))
            assert decoded.heads.tolist() == [-1, 0][: n + 1]
            assert decoded.score == decoded.bound == tree_score(arcs, index, scores, decoded.heads)
            assert decoded.agreed


def test_errors_name_the_invalid_argument():
    arcs = full_arc_space(2)
    index = part_index(arcs, SIBLING)
    scores = PartScores(np.zeros(4), np.zeros(index.sibling_start[-1]), np.zeros(0))
    for options, message in [
        (LinearOptions("double"), "relaxation is 'double'; one of single, multi, compact is expected"),
        (LinearOptions(siblings="all"), "siblings is 'all'; one of paths, pairs is expected"),
        (LinearOptions(families=("GP",)), "families has 'GP'; ArcGP, GPArc, OneGP and NoGP are expected"),
        (LinearOptions(tolerance=-1.0), "tolerance is -1.0; 0 or more is expected"),
        (LinearOptions(seconds=0.0), "seconds is 0.0; more than 0 is expected"),
    ]:
        with pytest.raises(ValueError, match=message):
            linear_program(arcs, index, scores, SIBLING, options)
    with pytest.raises(ValueError, match="model is 3"):
        linear_program(arcs, index, scores, 3)
    with pytest.raises(ValueError, match="index.sibling_start is not that of model 0"):
        linear_program(arcs, index, scores, ARC)
    with pytest.raises(ValueError, match=r"scores.arc\[1\] is nan"):
        linear_program(arcs, index, scores._replace(arc=np.array([0.0, np.nan, 0.0, 0.0])), SIBLING)
    islands = arc_space([2, 1], [1, 2], 2)
    with pytest.raises(ValueError, match="no tree spans the words"):
        linear_program(islands, part_index(islands, ARC), PartScores(np.zeros(2), np.zeros(0), np.zeros(0)), ARC)


def test_without_highs_the_error_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(ImportError, match=r"linear programs need HiGHS: pip install nonproj\[programs\]"):
        Program()


def knapsack(seed=0, upper=1.0):
    """A program with packing rows, its matrix and its costs."""
    rng = np.random.default_rng(seed)
    matrix, costs = rng.random((8, 20)), rng.random(20)
    program = Program()
    program.add_columns(costs, upper=upper)
    program.add_rows(rows_of([(np.arange(20), row) for row in matrix], -np.inf, 2.0))
    return program, matrix, costs


def test_duals_price_columns():
    """Signs are as documented, strong duality holds, and only columns of positive reduced cost change the optimum."""
    entered = 0
    for seed in range(20):
        program, matrix, costs = knapsack(seed)
        assert program.solve() == "optimal"
        duals, x = program.duals, program.values
        reduced = costs - duals @ matrix
        assert (duals >= -1e-7).all()
        assert (reduced[x < 1e-7] <= 1e-7).all()
        assert (reduced[x > 1 - 1e-7] >= -1e-7).all()
        assert program.objective == near(2.0 * duals.sum() + np.maximum(reduced, 0).sum())
        before = program.objective
        column = np.random.default_rng(seed).random(8)
        for reduced_cost in (-0.01, 0.01):
            new = program.add_columns([duals @ column + reduced_cost], entries=(np.zeros(8), np.arange(8), column))
            assert program.solve() == "optimal"
            assert new == program.n_columns - 1
            if reduced_cost < 0:
                assert program.objective == near(before)
            else:
                entered += program.objective > before + 1e-7
    assert entered >= 15


def test_solving_again_starts_from_the_last_basis():
    warm = cold = 0
    for seed in range(10):
        program, _, _ = knapsack(seed)
        program.solve()
        cut = rows_of([(np.arange(20), np.ones(20))], -np.inf, 0.9 * program.values.sum())
        program.add_rows(cut)
        assert program.solve() == "optimal"
        warm += program.iterations
        fresh, _, _ = knapsack(seed)
        fresh.add_rows(cut)
        fresh.solve()
        cold += fresh.iterations
        assert program.objective == near(fresh.objective)
        assert program.n_rows == 9
    assert 0 < warm < cold / 2


def test_statuses_are_reported():
    program, _, _ = knapsack()
    program.add_rows(rows_of([(np.arange(20), np.ones(20))], 50.0, np.inf))
    assert program.solve() == "infeasible"
    program, _, _ = knapsack(upper=np.inf)
    program.add_columns([1.0], upper=np.inf)
    assert program.solve() == "unbounded"


def test_integer_columns_are_solved_to_optimality():
    program, _, _ = knapsack()
    program.solve()
    relaxed = program.objective
    program.set_integer(np.arange(20))
    assert program.solve() == "optimal"
    np.testing.assert_allclose(program.values, program.values.round(), atol=1e-6)
    assert program.objective == near(program.bound)
    assert program.objective < relaxed


def test_invalid_columns_and_rows_are_rejected():
    """HiGHS itself accepts a cost of NaN, and reports an optimum."""
    program, _, _ = knapsack()
    with pytest.raises(ValueError, match="HiGHS rejects these rows: a number is out of range"):
        program.add_rows(rows_of([([99], [1.0])], 0.0, 1.0))
    with pytest.raises(ValueError, match=r"costs\[1\] is nan; costs must be finite"):
        program.add_columns([0.0, np.nan])
    with pytest.raises(ValueError, match="bounds 0 are 2.0 and 1.0; lower <= upper is expected"):
        program.add_columns([0.0], 2.0, 1.0)
    assert (program.n_columns, program.n_rows) == (20, 8)


@pytest.mark.parametrize("integer", [False, True])
def test_time_limit_returns_a_tree_without_a_certificate(integer):
    arcs, index, scores, _ = draw(8, GRANDPARENT, 8, 8)
    options = LinearOptions("compact", integer=integer, seconds=1e-9)
    decoded, fractional = linear_program(arcs, index, scores, GRANDPARENT, options)
    assert fractional.status == "stopped"
    assert naive_trees.is_tree(decoded.heads.tolist())
    assert decoded.score == tree_score(arcs, index, scores, decoded.heads)
    assert decoded.bound > decoded.score
    assert not decoded.agreed
    assert not decoded.certified
