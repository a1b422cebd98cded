"""Marginals and max-marginals of the parser's own oracles and of the joint problem's, and every method on them."""

from __future__ import annotations

import itertools
import math

import naive_automata
import naive_joint
import numpy as np
import pytest
from joint_problems import draw_joint
from naive_trees import candidates, pairs_of
from problems import KINDS, as_functions, draw_automata, trees_over
from relaxations import CONVERGENT, METHODS

from nonproj.automata.general import check_automata
from nonproj.dual.options import DEFAULTS
from nonproj_systems.joint_tags.oracles import joint_oracles
from nonproj_systems.parsing.oracles import AutomataOracle, TreeOracle
from nonproj_systems.relaxation.oracles import Forced
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import Limits, solve


def smoothed(values, temperature):
    """The smoothed maximum, term by term."""
    finite = [value for value in values if value > -math.inf]
    top = max(finite)
    return top + temperature * math.log(math.fsum(math.exp((value - top) / temperature) for value in finite))


def all_paths(automaton, arcs, scores, h):
    """The value of every path of a head, and the arcs that it takes, from the definition."""
    pairs, sides = pairs_of(arcs), []
    for side in (0, 1):
        q, row, found = 2 * h + side, candidates(arcs, h, side), []
        for taken in itertools.product([False, True], repeat=len(row)):
            chosen = [pairs.index((h, m)) for m in itertools.compress(row, taken)]
            for states in itertools.product(range(automaton.n_states(q)), repeat=len(row) + 1):
                value = naive_automata.path_score(automaton, q, row, taken, states)
                found.append((value + math.fsum(scores[a] for a in chosen), chosen))
        sides.append(found)
    return [(one + two, left + right) for (one, left), (two, right) in itertools.product(*sides)]


def by_enumeration(solutions, n, temperature):
    """The smoothed maximum of (value, variables that are 1), its marginals, and the max-marginals of n variables."""
    value = smoothed([value for value, _ in solutions], temperature)
    marginals, maxima = np.zeros(n), np.full((n, 2), -np.inf)
    for own, chosen in solutions:
        marginals[chosen] += math.exp((own - value) / temperature)
        one = np.zeros(n, np.int64)
        one[chosen] = 1
        maxima[np.arange(n), one] = np.maximum(maxima[np.arange(n), one], own)
    return value, marginals, maxima


@pytest.mark.parametrize("kind", KINDS)
def test_automata_equal_the_enumeration_of_their_paths(kind):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        arcs, automata, scores = draw_automata(rng, 3, kind, bool(seed % 2), 0.15)
        oracle = AutomataOracle(arcs, check_automata(arcs, automata), scores)
        multipliers, temperature = rng.normal(size=len(scores)), float(rng.uniform(0.3, 2.0))
        try:
            best, *_ = oracle(multipliers)
        except ValueError:  # some head has no path at all
            continue
        value, means = oracle.marginals(multipliers, temperature)
        maxima, expected, total = oracle.max_marginals(multipliers), 0.0, 0.0
        for h in range(4):
            paths = all_paths(as_functions(arcs, automata), arcs, scores + multipliers, h)
            soft, marginals, top = by_enumeration(paths, len(scores), temperature)
            mine = arcs.head == h
            np.testing.assert_allclose(means[mine], marginals[mine], atol=1e-9)
            highest = max(value for value, _ in paths)
            np.testing.assert_allclose(maxima[mine] - best, top[mine] - highest, atol=1e-9)
            expected, total = expected + soft, total + highest
        assert value == pytest.approx(expected) and best == pytest.approx(total)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single_root", [False, True])
def test_trees_equal_their_enumeration(kind, single_root):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        arcs, _, scores = draw_automata(rng, 4, kind, bool(seed % 2), 0.0)
        trees = trees_over(arcs, single_root)
        if not trees:
            continue
        multipliers, pairs = rng.normal(size=len(scores)), pairs_of(arcs)
        solutions = []
        for tree in trees:
            chosen = [pairs.index((tree[m], m)) for m in range(1, 5)]
            solutions.append((float((scores + multipliers)[chosen].sum()), chosen))
        value, means = TreeOracle(arcs, scores, single_root).marginals(multipliers, 0.7)
        expected, marginals, _ = by_enumeration(solutions, len(scores), 0.7)
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(means, marginals, atol=1e-9)
    with pytest.raises(ValueError, match="marginals of projective trees are not known; leave out projective"):
        TreeOracle(arcs, scores, projective=True).marginals(multipliers, 1.0)


def test_the_joint_arborescence_and_tagger_equal_enumeration():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        problem = draw_joint(rng, 3, "continuous", most=2, pruned=bool(seed % 2))
        space, made = problem.space, joint_oracles(problem)
        n_arcs, temperature = len(space.arc), 0.8
        scores = rng.normal(size=made.n_variables)
        sequences = list(naive_joint.all_tags(space.first))
        tagged = [[int(space.first[i] + t) for i, t in enumerate(tags)] for tags in sequences]
        solutions = [
            (naive_joint.chain_score(tags, space.first, problem.chain), [e - 1 for e in chosen[1:]])
            for tags, chosen in zip(sequences, tagged, strict=True)
        ]
        solutions = [(value + float(scores[n_arcs:][chosen].sum()), chosen) for value, chosen in solutions]
        value, means = made.oracles[1].marginals(scores[n_arcs:], temperature)
        expected, marginals, _ = by_enumeration(solutions, len(space.word) - 1, temperature)
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(means, marginals, atol=1e-9)
        # The arborescence chooses the tags at both ends of each arc for that arc alone.
        pairs = pairs_of(space.words)
        own = made.oracles[0].y_score + scores[:n_arcs] + scores[n_arcs:][space.tagged.modifier - 1]
        solutions = []
        for tree in trees_over(space.words):
            choices = [np.flatnonzero(space.arc == pairs.index((tree[m], m))).tolist() for m in range(1, 4)]
            for arcs in itertools.product(*choices):
                ends = [n_arcs + int(space.tagged.modifier[a]) - 1 for a in arcs]
                solutions.append((float(own[list(arcs)].sum()), [*arcs, *ends]))
        value, means = made.oracles[0].marginals(scores, temperature)
        expected, marginals, _ = by_enumeration(solutions, made.n_variables, temperature)
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(means, marginals, atol=1e-9)


def test_the_marginals_of_joint_oracles_are_derivatives_and_approach_their_maxima():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        made = joint_oracles(draw_joint(rng, 3, "continuous", most=2))
        for oracle, view in zip(made.oracles, made.views, strict=True):
            scores, step = rng.normal(size=len(view)), 1e-5
            _, means = oracle.marginals(scores, 0.6)
            for j in range(len(view)):
                moved = scores.copy()
                moved[j] += step
                above = oracle.marginals(moved, 0.6)[0]
                moved[j] -= 2 * step
                assert means[j] == pytest.approx((above - oracle.marginals(moved, 0.6)[0]) / (2 * step), abs=1e-6)
            value, chosen, _ = oracle(scores)
            soft, means = oracle.marginals(scores, 1e-4)
            assert value - 1e-9 <= soft <= value + 0.01
            np.testing.assert_allclose(means, chosen, atol=1e-3)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_bounds_the_joint_problem(name):
    certified, near = 0, CONVERGENT["smoothing"][1]
    for seed in range(4):
        problem = draw_joint(np.random.default_rng(seed), 2 + seed % 2, "continuous", most=2)
        optimum, _ = naive_joint.best_jointly(problem.space.first, problem.parts, problem.scores, problem.chain)
        made = joint_oracles(problem, DEFAULTS)
        forced = name in ("coordinate", "simultaneous")
        oracles = [Forced(oracle) for oracle in made.oracles] if forced else made.oracles
        relaxed = Problem(oracles, made.n_variables, made.views)
        found = solve(relaxed, METHODS[name](), repair=made.repair, limits=Limits(40 if forced else 150))
        assert min(found.trace.dual) >= optimum - 1e-7 and max(found.trace.primal) <= optimum + 1e-7
        assert (np.diff(found.trace.best_dual) <= 0).all() and (np.diff(found.trace.best_primal) >= 0).all()
        if found.certified:
            assert found.primal_value == pytest.approx(optimum, abs=1e-6)
        certified += found.certified
        if name == "bundle":
            lowest = found.dual_bound
            for other in ("smoothing", "admm"):
                again = solve(Problem(made.oracles, made.n_variables, made.views), METHODS[other](), limits=Limits(150))
                assert again.dual_bound == pytest.approx(lowest, abs=10 * near)
    assert certified >= 2
