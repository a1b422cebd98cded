"""The subgradient method against its naive twin, oracles against enumeration, and primal heuristics."""

import itertools

import naive_relaxation as naive
import numpy as np
import pytest
from relaxations import METHODS, draw_parts, problem_of

from nonproj_systems.relaxation.evaluation import Evaluator
from nonproj_systems.relaxation.oracles import Chain, Enumerated
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
    """The residual of the weighted averages is the negated final multipliers over the sum of the steps."""
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
def test_chains_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    pairwise = rng.standard_normal((n - 1, k, k) if seed % 2 else (k, k))
    chain, scores = Chain(rng.standard_normal((n, k)), pairwise), rng.standard_normal(n * k)
    twin, sequences = listed(chain, n, k)
    value, chosen, solution = chain(scores)
    expected, variables, number = twin(scores)
    assert value == pytest.approx(expected) and chosen.tolist() == variables.tolist()
    assert solution == sequences[number]


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
