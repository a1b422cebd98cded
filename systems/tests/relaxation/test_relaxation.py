"""Laws of every step rule: weak duality at each iteration, monotone bounds, convergence, and certificates."""

import functools
import itertools
from fractions import Fraction

import naive_relaxation as naive
import numpy as np
import pytest
from relaxations import CONVERGENT, METHODS, draw_parts, draw_sentence, problem_of

from nonproj.automata.general import general_automata
from nonproj.dual.decoding import dual_decomposition
from nonproj.dual.options import DualOptions
from nonproj_systems.parsing.oracles import AutomataOracle, TreeOracle
from nonproj_systems.programs.linear_program import LinearOptions, linear_program
from nonproj_systems.relaxation.branch_and_bound import branch_and_bound
from nonproj_systems.relaxation.oracles import Chain, Enumerated
from nonproj_systems.relaxation.primal import Completion
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import AGREED, CLOSED, EARLY, Limits, solve

N = 7


@functools.cache
def references(seed, n_parts, rows):
    """A random problem, its linear and its integer optimum."""
    parts, found = draw_parts(seed, n_parts, N, rows=rows)
    return parts, found, naive.program(parts, N, found), naive.optimum(parts, found)[0]


@functools.cache
def sentence_references(seed, name):
    """A random sentence as a problem, its linear and its integer optimum."""
    parts, n, space, scores = draw_sentence(seed, name)
    return parts, n, space, scores, naive.program(parts, n), naive.program(parts, n, integer=True)


def loose_seed():
    """The seed of the first random problem whose relaxation has a gap."""
    return next(seed for seed in range(20) if references(seed, 5, False)[2] > references(seed, 5, False)[3] + 0.01)


def check_laws(found, relaxed, exact):
    """Check everything that holds for every method; ``relaxed`` and ``exact`` are the two optima."""
    trace = found.trace
    assert len(trace) == found.iterations == len(trace.primal) == len(trace.step) == len(trace.calls)
    assert min(trace.dual) >= relaxed - 1e-7
    assert max(trace.primal) <= exact + 1e-7
    assert (np.diff(trace.best_dual) <= 0).all() and (trace.best_primal[1:] >= trace.best_primal[:-1]).all()
    assert found.dual_bound == max(trace.best_dual[-1], found.primal_value)
    assert np.diff(trace.calls).min(initial=0) >= 0 and found.calls >= trace.calls[-1]
    assert all(0.0 <= share <= 1.0 for share in trace.share)
    assert found.certified or not found.agreed
    if found.certified:
        assert found.primal_value == pytest.approx(exact, abs=1e-6)
        assert found.dual_bound == pytest.approx(exact, abs=1e-6)
    if found.status in (AGREED, CLOSED):
        assert found.certified


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("n_parts", [3, pytest.param(5, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", METHODS)
def test_random_problems(name, n_parts, rows):
    certified = 0
    for seed in range(10):
        parts, found, relaxed, exact = references(seed, n_parts, rows)
        result = solve(problem_of(parts, N, found), METHODS[name](), repair=Completion(), limits=Limits(150))
        check_laws(result, relaxed, exact)
        # A certificate needs a tight relaxation.
        assert relaxed - exact < 1e-7 or not result.certified
        certified += result.certified
    assert certified >= 1


def test_some_relaxations_are_tight_and_some_are_not():
    for n_parts in (3, 5):
        gaps = [references(seed, n_parts, False)[2] - references(seed, n_parts, False)[3] for seed in range(10)]
        assert min(gaps) >= -1e-8 and max(gaps) > 0.01
        assert sum(gap < 1e-7 for gap in gaps) >= 2


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("name", CONVERGENT)
def test_the_bound_converges_to_the_optimum_of_the_linear_program(name, rows):
    if rows and name != "1/sqrt(k)":
        return
    compared, (iterations, near) = 0, CONVERGENT[name]
    for seed in range(6):
        parts, found, relaxed, _ = references(seed, 3, rows)
        result = solve(problem_of(parts, N, found), METHODS[name](), limits=Limits(iterations))
        assert relaxed - 1e-8 <= result.dual_bound <= relaxed + near
        compared += not result.certified
    assert compared >= 2


@pytest.mark.parametrize("parts_name", ["sibling", pytest.param("grandparent", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", METHODS)
def test_sentences(name, parts_name):
    """A tree and the automata of the heads, each its own oracle."""
    certified = 0
    for seed in range(8):
        parts, n, space, scores, relaxed, exact = sentence_references(seed, parts_name)
        result = solve(problem_of(parts, n), METHODS[name](), repair=Completion(), limits=Limits(200))
        check_laws(result, relaxed, exact)
        assert exact == pytest.approx(best_tree(space, scores), abs=1e-7)
        certified += result.certified
    assert certified >= 3


def best_tree(space, scores):
    """The score of the best tree, by the integer program of the parser."""
    return linear_program(space, scores, LinearOptions(integer=True))[0].score


@pytest.mark.parametrize("seed", range(6))
def test_the_parsers_linear_program_is_that_of_the_listed_parts(seed):
    _, _, space, scores, relaxed, _ = sentence_references(seed, "sibling")
    decoded, _ = linear_program(space, scores, LinearOptions("multi", "paths"))
    assert decoded.bound == pytest.approx(relaxed, abs=1e-7)


@pytest.mark.parametrize("name", METHODS)
def test_the_parsers_own_oracles(name):
    """The compiled tree and automata."""
    for seed in range(3):
        parts, n, space, scores, relaxed, exact = sentence_references(seed, "sibling")
        tree = TreeOracle(space.arcs, 0.5 * scores[:n])
        heads = AutomataOracle(space.arcs, general_automata(space, scores), 0.5 * scores[:n])
        result = solve(Problem([tree, heads], n), METHODS[name](), repair=Completion(), limits=Limits(200))
        check_laws(result, relaxed, exact)
        compiled = dual_decomposition(space, scores, DualOptions(max_iterations=400))
        assert result.primal_value <= compiled.bound + 1e-7 and compiled.score <= result.dual_bound + 1e-7


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_branch_and_bound_proves_the_optimum(name, rows):
    split = 0
    for seed in range(10):
        parts, found, _, exact = references(seed, 5, rows)
        result = branch_and_bound(
            problem_of(parts, N, found), METHODS[name](), limits=Limits(40), node_limits=Limits(15)
        )
        assert result.certified and result.status == "optimal"
        assert result.primal_value == pytest.approx(exact, abs=1e-7)
        assert result.dual_bound == pytest.approx(exact, abs=1e-7) and result.dual_bound >= result.primal_value
        assert min(result.bounds) >= exact - 1e-7 and (np.diff(result.bounds) <= 0).all()
        assert max(result.incumbents) <= exact + 1e-7
        split += result.nodes > 0
    assert split >= 1 or rows


def test_branch_and_bound_without_a_solution_or_nodes():
    parts = [([[1, 0], [0, 1]], [1.0, 0.0], [0, 1]), ([[1, 1], [0, 0]], [1.0, 0.0], [0, 1])]
    none = branch_and_bound(problem_of(parts, 2), METHODS["constant"]())
    assert (none.status, none.primal_value, none.solution, none.certified) == ("infeasible", -np.inf, None, False)
    parts, _, _, exact = references(loose_seed(), 5, False)
    cut = branch_and_bound(problem_of(parts, N), METHODS["constant"](), limits=Limits(5), max_nodes=0)
    assert (cut.status, cut.nodes, cut.certified) == ("open", 0, False) and cut.dual_bound >= exact


# -- the loop ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_a_run_continues_from_its_multipliers_and_methods_start_anew(name):
    parts, _, relaxed, _ = references(1, 5, False)
    problem, method = problem_of(parts, N), METHODS[name]()
    first = solve(problem, method, limits=Limits(30))
    again = solve(problem, method, limits=Limits(30))
    assert first.trace.dual == again.trace.dual and first.trace.step == again.trace.step
    warm = solve(problem, method, start=first.best_multipliers, limits=Limits(5))
    assert warm.trace.dual[0] == pytest.approx(first.trace.best_dual[-1], abs=1e-9)


def test_callbacks_and_limits_end_a_run():
    parts, _, _, exact = references(loose_seed(), 5, False)
    problem, seen = problem_of(parts, N), []

    def watch(result):
        seen.append((result.iterations, result.dual_bound))
        return result.iterations == 7

    stopped = solve(problem, METHODS["1/k"](), callback=watch)
    assert stopped.status == "callback" and stopped.iterations == 7 == len(seen)
    assert seen[-1][1] == stopped.dual_bound
    few = solve(problem, METHODS["1/k"](), limits=Limits(max_calls=23))
    assert few.status == "limit" and 23 <= few.calls < 23 + len(parts)
    assert solve(problem, METHODS["1/k"](), limits=Limits(seconds=0.0)).iterations == 1
    early = solve(problem, METHODS["halving"](), limits=Limits(2000, patience=20))
    assert early.status == EARLY and 20 < early.iterations < 2000 and early.dual_bound >= exact
    fathomed = solve(problem, METHODS["1/k"](), incumbent=early.dual_bound + 1.0)
    assert fathomed.status == "fathomed" and not fathomed.certified


def test_oracles_whose_multipliers_did_not_move_are_not_called():
    calls = [0, 0, 0]

    class Counted:
        def __init__(self, i, oracle):
            self.i, self.oracle = i, oracle

        def __call__(self, scores):
            calls[self.i] += 1
            return self.oracle(scores)

    # The third part shares no variable, so it is called once.
    parts = [
        ([[1, 0], [0, 1]], [1.0, 0.0], [0, 1]),
        ([[1, 0], [0, 1]], [0.0, 1.5], [0, 1]),
        ([[0], [1]], [0.0, 1.0], [2]),
    ]
    plain = problem_of(parts, 3)
    counted = Problem([Counted(i, oracle) for i, oracle in enumerate(plain.oracles)], 3, plain.views)
    lazy = solve(counted, METHODS["1/(t+1)"](), limits=Limits(20))
    assert lazy.trace.dual == solve(plain, METHODS["1/(t+1)"](), limits=Limits(20)).trace.dual
    assert calls[2] == 1 and calls[0] > 1 and sum(calls) == lazy.calls
    assert lazy.trace.share[0] == 1.0 and max(lazy.trace.share[1:]) == pytest.approx(2 / 3)


def test_averaged_solutions_approach_an_optimum_of_the_linear_program():
    near = 0.1
    for seed in range(6):
        parts, _, relaxed, _ = references(seed, 3, False)
        found = solve(problem_of(parts, N), METHODS["1/sqrt(k)"](), limits=Limits(1500, tolerance=-1.0))
        if found.agreed:
            continue
        # Within a small box around the averages there is a solution as good as the optimum.
        rows = [(np.eye(N)[j].tolist(), float(found.average[j]), True) for j in range(N)]
        loose = [(row, limit + near, False) for row, limit, _ in rows]
        loose += [([-c for c in row], -limit + near, False) for row, limit, _ in rows]
        assert naive.program(parts, N, loose) == pytest.approx(relaxed, abs=near)


@pytest.mark.parametrize("exact", [False, True])
def test_bounds_are_rounded_outward(exact):
    """The bound is at least the optimum as an exact fraction, by enumeration."""
    states = [list(labels) for labels in itertools.product(range(2), repeat=3)]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        unary, pairwise, listed = rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 2, 2)), rng.normal(size=8)
        optimum = max(
            Fraction(listed[number])
            + sum(Fraction(unary[j, i, x[i]]) for i in range(3) for j in range(2))
            + sum(Fraction(pairwise[j, x[i], x[i + 1]]) for i in range(2) for j in range(2))
            for number, x in enumerate(states)
        )
        chains = [Chain(unary[j], pairwise[j]) for j in range(2)]
        problem = Problem([*chains, Enumerated(np.eye(2)[states].reshape(8, 6), listed)], 6)
        method, limits = METHODS["1/k"](), Limits(1 + seed)
        found = branch_and_bound(problem, method) if exact else solve(problem, method, limits=limits)
        assert optimum <= Fraction(found.dual_bound) <= optimum + (Fraction(1, 10**9) if found.certified else 100)
