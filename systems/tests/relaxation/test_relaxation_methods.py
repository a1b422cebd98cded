"""Every method against its naive twin, oracles against enumeration, and refusals."""

import itertools

import naive_relaxation as naive
import numpy as np
import pytest
from relaxations import METHODS, draw_parts, problem_of

from nonproj_systems.relaxation.admm import ADMM, ActiveSet
from nonproj_systems.relaxation.coordinate import CoordinateDescent
from nonproj_systems.relaxation.evaluation import Evaluator
from nonproj_systems.relaxation.oracles import Chain, Choice, Enumerated, Forced
from nonproj_systems.relaxation.primal import best_of, complete, from_oracle, rounding
from nonproj_systems.relaxation.problem import Problem, at_least, at_most, carry
from nonproj_systems.relaxation.solver import Limits, solve
from nonproj_systems.relaxation.steps import Constant, Decaying, Halving, PerIncrease, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient

N = 7

# -- twins -------------------------------------------------------------------------------------------------------------

STEPS = {
    "constant": (Constant(0.3), lambda duals, _: 0.3),
    "decaying": (Decaying(0.8, 0.5), lambda duals, _: 0.8 / len(duals) ** 0.5),
    "per increase": (PerIncrease(size=0.7), lambda duals, _: 0.7 / (naive.increases(duals) + 1)),
    "halving": (Halving(size=0.5), lambda duals, _: 0.5 / 2 ** naive.increases(duals)),
    "polyak": (
        Polyak(scale=0.9, target=-5.0, patience=10**9),
        lambda duals, moving: 0.9 * (duals[-1] + 5.0) / sum(r * r for r in moving),
    ),
}


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_the_subgradient_method_equals_its_twin_step_by_step(name, rows):
    rule, step = STEPS[name]
    longest = 0
    for seed in range(8):
        parts, found = draw_parts(seed, 4, N, rows=rows)
        duals, steps, path, average = naive.subgradient(naive.Dual(parts, found), step, 40)
        ours = solve(problem_of(parts, N, found), Subgradient(rule), limits=Limits(40, tolerance=-1.0))
        assert ours.iterations == len(duals)
        np.testing.assert_allclose(ours.trace.dual, duals, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.trace.step, steps, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.best_multipliers, path[int(np.argmin(duals))], rtol=1e-9, atol=1e-9)
        longest = max(longest, len(duals))
        if not ours.agreed:
            np.testing.assert_allclose(ours.average, average, rtol=1e-9, atol=1e-9)
    assert longest == 40


def test_weighted_averages_disagree_by_the_multipliers_over_the_sum_of_the_steps():
    """The residual of the averages is the distance that the multipliers have gone, over the sum of the steps."""
    parts, _ = draw_parts(4, 5, N)
    problem = problem_of(parts, N)
    copies = []
    found = solve(
        problem,
        Subgradient(Decaying(1.0)),
        repair=lambda proposal: (copies.append(proposal.copies.copy()) or -np.inf, None),
        limits=Limits(100, tolerance=-1.0),
    )
    steps = np.array(found.trace.step)
    mean = steps @ np.array(copies) / steps.sum()
    np.testing.assert_allclose(problem.differences(mean), -found.multipliers / steps.sum(), atol=1e-9)


def test_coordinate_descent_equals_its_twin():
    for seed in range(10):
        parts, _ = draw_parts(seed, 4, N, n_solutions=12)
        dual = naive.Dual(parts)
        both = [all({x[k] for x in xs} == {0, 1} for k in range(len(view))) for xs, _, view in parts]
        if not all(both):
            continue  # the twin has no rule for variables that have one value only
        ours = solve(problem_of(parts, N), CoordinateDescent(), limits=Limits(6, tolerance=-1.0))
        for sweeps in range(1, ours.iterations):
            assert ours.trace.dual[sweeps] == pytest.approx(dual(naive.coordinate_descent(dual, sweeps))[0], abs=1e-9)


def test_groups_are_blocks_and_mostly_give_lower_bounds_on_chains():
    singles, groups, lowest = [], [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tables = [Chain(rng.standard_normal((5, 4)), 2 * rng.standard_normal((4, 4))) for _ in range(3)]
        problem, positions = Problem(tables, 20), np.arange(20).reshape(5, 4)
        for bounds, given in ((singles, ()), (groups, positions)):
            found = solve(problem, CoordinateDescent(given), limits=Limits(60))
            assert (np.diff(found.trace.dual) <= 1e-9).all()
            bounds.append(found.dual_bound)
        lowest.append(solve(problem, METHODS["bundle"]()).dual_bound)
    assert sum(lowest) - 1e-6 <= sum(groups) < sum(singles)
    assert (np.array(groups) >= np.array(lowest) - 1e-6).all()


def test_smoothed_values_and_gradients_equal_enumeration():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        parts, _ = draw_parts(seed, 1, N)
        price, temperature = rng.standard_normal(N), float(rng.choice([0.01, 0.3, 2.0]))
        value, means = Enumerated(*parts[0][:2]).marginals(price, temperature)
        expected = naive.smoothed(parts[0], price.tolist(), temperature)
        assert value == pytest.approx(expected[0], rel=1e-10)
        np.testing.assert_allclose(means, expected[1], atol=1e-10)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 20.0])
def test_quadratic_subproblems_equal_a_general_solver(penalty):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        parts, _ = draw_parts(seed, 1, N, n_solutions=8)
        counts = rng.random(N) < 0.7
        active = ActiveSet(counts)
        for _ in range(3):  # the active set is kept from one problem to the next
            price, centre = rng.standard_normal(N), rng.random(N)
            x = active.solve(Enumerated(*parts[0][:2]), price, centre, penalty, 100)
            twin, value = naive.quadratic(parts[0], price, centre, penalty, counts)
            own = active._weights @ (active._own + active._points @ price)
            reached = own - penalty / 2 * ((x - centre)[counts] ** 2).sum()
            assert reached == pytest.approx(value, abs=1e-6)
            np.testing.assert_allclose(x[counts], twin[counts], atol=1e-3)


def test_a_choice_projects_onto_the_simplex():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scores, price, centre = rng.standard_normal((3, 5))
        part = (np.eye(5).astype(int).tolist(), scores.tolist(), list(range(5)))
        twin, _ = naive.quadratic(part, price, centre, 1.5, np.ones(5, bool))
        np.testing.assert_allclose(Choice(scores).quadratic(price, centre, 1.5), twin, atol=1e-4)


def test_admm_moves_as_its_definition_says():
    parts, _ = draw_parts(2, 4, N)
    problem, ours = problem_of(parts, N), []
    solve(
        problem,
        ADMM(1.3),
        limits=Limits(6, tolerance=-1.0),
        callback=lambda result: ours.append(result.multipliers.copy()) or False,
    )
    dual = naive.Dual(parts)
    prices, x = dual.prices([0.0] * dual.size), dual([0.0] * dual.size)[1]
    copies = [np.array(part[0][k], float) for part, k in zip(parts, x, strict=True)]
    seen = np.bincount(np.concatenate([view for _, _, view in parts]), minlength=N)

    def average():
        return sum(np.bincount(view, c, N) for c, (_, _, view) in zip(copies, parts, strict=True)) / seen

    centre = average()
    for k in range(1, len(ours)):
        for i, part in enumerate(parts):
            view = np.array(part[2])
            copies[i] = naive.quadratic(part, np.array(prices[i]), centre[view], 1.3, seen[view] > 1)[0]
        centre = average()
        apart = [c - centre[view] for c, (_, _, view) in zip(copies, parts, strict=True)]
        prices = [list(np.array(p) - 1.3 * d) for p, d in zip(prices, apart, strict=True)]
        expected = [-prices[j][b] for _, (j, b) in dual.pairs]
        np.testing.assert_allclose(ours[k], expected, atol=2e-3)
        if k == 3:
            break  # the penalty may change later


# -- oracles -----------------------------------------------------------------------------------------------------------


def listed(oracle, n, k):
    """All solutions of a chain as an enumerated part."""
    sequences = list(itertools.product(range(k), repeat=n))
    scores = [
        sum(oracle.unary[i, label] for i, label in enumerate(labels))
        + sum(oracle.pairwise[i, a, b] for i, (a, b) in enumerate(itertools.pairwise(labels)))
        for labels in sequences
    ]
    return Enumerated([np.eye(k)[list(labels)].ravel() for labels in sequences], scores), sequences


@pytest.mark.parametrize("seed", range(8))
def test_chains_and_choices_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    pairwise = rng.standard_normal((n - 1, k, k) if seed % 2 else (k, k))
    chain, scores = Chain(rng.standard_normal((n, k)), pairwise), rng.standard_normal(n * k)
    twin, sequences = listed(chain, n, k)
    own = rng.standard_normal(k)
    pairs = [(chain, twin, scores), (Choice(own), Enumerated(np.eye(k), own), scores[:k])]
    for ours, other, price in pairs:
        value, chosen, solution = ours(price)
        expected, variables, number = other(price)
        assert value == pytest.approx(expected) and chosen.tolist() == variables.tolist()
        assert solution == (sequences[number] if ours is chain else number)
        np.testing.assert_allclose(ours.max_marginals(price), other.max_marginals(price), atol=1e-12)
        np.testing.assert_allclose(Forced(ours).max_marginals(price), other.max_marginals(price), atol=1e-5)
        for temperature in (0.05, 1.0):
            (soft, means), (expected, others) = (each.marginals(price, temperature) for each in (ours, other))
            assert soft == pytest.approx(expected, rel=1e-9)
            np.testing.assert_allclose(means, others, atol=1e-9)


# -- primal heuristics -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_completion_finds_the_best_solutions_with_given_variables(seed):
    parts, rows = draw_parts(seed, 3, 6, n_solutions=5, rows=bool(seed % 2))
    problem = problem_of(parts, 6, rows)
    for x in itertools.product([0.0, 1.0], repeat=6):
        values = []
        for solutions, scores, view in parts:
            matching = [s for xs, s in zip(solutions, scores, strict=True) if xs == [int(x[j]) for j in view]]
            values.append(max(matching, default=-np.inf))
        allowed = all(naive.satisfied(row, dict(enumerate(x))) for row in rows)
        assert complete(problem, np.array(x))[0] == pytest.approx(sum(values) if allowed else -np.inf, abs=1e-9)


def test_heuristics_by_oracle_by_rounding_and_the_best_of_both():
    parts, _ = draw_parts(0, 3, N)
    problem = problem_of(parts, N)
    worth = from_oracle(lambda number: -float(number), 1)
    rounded = rounding(lambda x: (complete(problem, x.astype(float))[0], "rounded"))
    seen = []
    spy = lambda proposal: seen.append(proposal) or (-np.inf, None)  # noqa: E731
    solve(problem, METHODS["1/k"](), repair=spy, limits=Limits(3))
    for proposal in seen:
        assert worth(proposal) == (-float(proposal.solutions[1]), proposal.solutions[1])
        assert best_of(worth, lambda _: (1.0, "one"))(proposal) == (1.0, "one")
        assert rounded(proposal)[1] == "rounded"


# -- tightening --------------------------------------------------------------------------------------------------------


def test_multipliers_are_carried_to_extended_problems():
    parts, rows = draw_parts(5, 3, N, rows=True)
    parts.append(draw_parts(6, 1, N)[0][0])
    small, large = problem_of(parts[:3], N, rows), problem_of(parts, N, [*rows, ([1.0] * N, 3.0, False)])
    multipliers = np.random.default_rng(0).standard_normal(small.n_multipliers)
    ours = carry(small, large, multipliers)
    # The old part of the Lagrangian is what it was.
    old = slice(0, small.offsets[-1])
    np.testing.assert_allclose(large.scores(ours)[old], small.scores(multipliers), atol=1e-12)
    assert large.constant(ours) == pytest.approx(small.constant(multipliers))


# -- constraints -------------------------------------------------------------------------------------------------------


def test_scores_and_differences_are_transposed_and_duals_equal_the_definition():
    from scipy import sparse

    for seed in range(6):
        rng = np.random.default_rng(seed)
        parts, rows = draw_parts(seed, 4, N, rows=True)
        problem, dual = problem_of(parts, N, rows), naive.Dual(parts, rows)
        u, x = rng.standard_normal(problem.n_multipliers), rng.standard_normal(len(problem.variable))
        assert problem.scores(u) @ x == pytest.approx(u @ problem.differences(x))
        u[problem.nonnegative] = np.abs(u[problem.nonnegative])
        evaluation, (value, _, residual) = Evaluator(problem)(u), dual(u.tolist())
        assert evaluation.dual == pytest.approx(value)
        np.testing.assert_allclose(evaluation.residual, residual, atol=1e-9)
        matrix, rhs = np.array([row for row, _, _ in rows]), np.array([limit for _, limit, _ in rows])
        thin = Problem(problem.oracles, N, problem.views, at_most(sparse.csr_array(matrix), rhs))
        thick = Problem(problem.oracles, N, problem.views, at_least(-matrix, -rhs))
        u = np.abs(u)
        assert Evaluator(thin)(u).dual == pytest.approx(Evaluator(thick)(u).dual)
