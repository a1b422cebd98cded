"""The subgradient method on problems without trees."""

import itertools

import numpy as np
import pytest

from nonproj_systems.relaxation.steps import AppendixA, Decaying, Polyak, Progress
from nonproj_systems.relaxation.subgradient import relax


def sequence_oracle(unary, pairwise):
    """Return the oracle of the best label sequence; shared variables say which label each position has."""
    n, k = unary.shape

    def solve(multipliers):
        scores = unary + multipliers.reshape(n, k)
        sequences = itertools.product(range(k), repeat=n)
        best, arg = -np.inf, None
        for labels in sequences:
            value = sum(scores[i, label] for i, label in enumerate(labels))
            value += sum(pairwise[a, b] for a, b in itertools.pairwise(labels))
            if value > best:
                best, arg = value, labels
        shared = np.zeros((n, k))
        shared[np.arange(n), arg] = 1
        return float(best), shared.ravel(), arg

    return solve


def problem(seed, n=4, k=3):
    """Return two taggers with different scores that must agree, their objective, its size and its optimum."""
    rng = np.random.default_rng(seed)
    ones, twos = (rng.standard_normal((n, k)) for _ in range(2))
    first, second = (rng.standard_normal((k, k)) for _ in range(2))
    left, right = sequence_oracle(ones, first), sequence_oracle(twos, second)

    def objective(labels):
        value = sum(ones[i, label] + twos[i, label] for i, label in enumerate(labels))
        return float(value + sum(first[a, b] + second[a, b] for a, b in itertools.pairwise(labels)))

    optimum = max(objective(labels) for labels in itertools.product(range(k), repeat=n))
    return left, right, objective, n * k, optimum


@pytest.mark.parametrize("rule", [AppendixA, Polyak, lambda: Decaying(1.0), lambda: Decaying(2.0, power=1.0)])
def test_two_taggers_agree_on_the_optimum(rule):
    agreed = certified = 0
    for seed in range(25):
        left, right, objective, size, optimum = problem(seed)
        result = relax(left, right, objective, size, rule=rule(), max_iterations=400)
        assert result.primal_value <= optimum + 1e-9
        assert optimum <= result.dual_bound + 1e-9
        assert objective(result.solution) == pytest.approx(result.primal_value)
        assert result.certified or not result.agreed
        if result.certified:
            assert result.primal_value == pytest.approx(optimum, abs=1e-7)
            certified += 1
        assert result.iterations == len(result.trace["dual"])
        agreed += result.agreed
    assert agreed >= 15
    assert certified >= agreed


def test_appendix_a_shrinks_its_step_only_when_the_dual_rises():
    rule = AppendixA()
    duals = [10.0, 8.0, 9.0, 7.0, 7.5]
    steps = [rule(Progress(dual, 4.0, 4.0, False, 1.0)) for dual in duals]
    assert steps == [6.0, 6.0, 3.0, 3.0, 2.0]


def test_polyak_divides_the_gap_by_the_norm_and_decays_after_its_patience():
    rule = Polyak(scale=1.5, patience=2, decay=0.5)
    assert rule(Progress(10.0, 2.0, 4.0, False, 3.0)) == pytest.approx(1.5 * 6 / 3)
    assert rule(Progress(10.0, 2.0, 4.0, True, 3.0)) == pytest.approx(1.5 * 6 / 3)
    assert rule(Progress(10.0, 2.0, 4.0, True, 3.0)) == pytest.approx(0.75 * 6 / 3)
    assert rule(Progress(4.0, 2.0, 4.0, False, 3.0)) == pytest.approx(1e-6 * 5)


def test_decaying_divides_by_the_iteration():
    rule = Decaying(3.0, power=1.0)
    assert [rule(Progress(1, 0, 0, False, 1)) for _ in range(3)] == [3.0, 1.5, 1.0]


def test_bounds_hold_at_each_iteration():
    """Every dual value is an upper bound, every primal value a lower one, also before the end."""
    left, right, objective, size, optimum = problem(3)
    result = relax(left, right, objective, size, rule=Decaying(1.0), max_iterations=50, tolerance=-1.0)
    assert min(result.trace["dual"]) >= optimum - 1e-9
    assert max(result.trace["primal"]) <= optimum + 1e-9
    assert result.dual_bound == max(min(result.trace["dual"]), result.primal_value)


def choosers():
    """Return two oracles that choose one of three items, and their objective."""
    h, f = np.array([3.0, 2.0, 0.0]), np.array([0.0, 2.0, 3.0])

    def chooser(scores):
        def choose(multipliers):
            best = int(np.argmax(scores + multipliers))
            return float((scores + multipliers)[best]), np.eye(3)[best], best

        return choose

    return chooser(h), chooser(f), lambda item: float((h + f)[item])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_raise(wrong):
    left, right, objective = choosers()
    for name, oracles in (
        ("left", (lambda u: (wrong, *left(u)[1:]), right)),
        ("right", (left, lambda u: (wrong, *right(u)[1:]))),
    ):
        with pytest.raises(ValueError, match=f"the maximum of the {name} oracle is {wrong}; a finite number"):
            relax(*oracles, objective, 3, rule=Decaying(1.0))
    with pytest.raises(ValueError, match=f"the step rule returned {wrong}; a finite step is expected"):
        relax(left, right, objective, 3, rule=lambda progress: wrong)
    if wrong != -np.inf:
        with pytest.raises(ValueError, match=f"the objective is {wrong}; a number is expected, or minus infinity"):
            relax(left, right, lambda item: wrong, 3, rule=Decaying(1.0))


def test_a_forbidden_solution_is_the_last_resort_and_never_certified():
    left, right, objective = choosers()
    allowed = relax(left, right, lambda item: -np.inf if item == 0 else objective(item), 3, rule=Decaying(1.0))
    assert (allowed.solution, allowed.primal_value, allowed.agreed) == (1, 4.0, True)
    assert allowed.trace["primal"][0] == -np.inf  # the left oracle's first choice is forbidden
    none = relax(left, right, lambda item: -np.inf, 3, rule=Decaying(1e-3), max_iterations=5, tolerance=10.0)
    assert (none.solution, none.primal_value, none.dual_bound) == (0, -np.inf, pytest.approx(6.0, abs=0.1))
    assert not none.certified and none.iterations == 5
