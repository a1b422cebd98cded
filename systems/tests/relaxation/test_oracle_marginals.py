"""Marginals and max-marginals of the parser's own oracles and of the joint problem's, and every method on them."""

from __future__ import annotations

import itertools
import math

import naive_automata
import numpy as np
import pytest
from naive_trees import candidates, pairs_of
from problems import KINDS, as_functions, draw_automata, trees_over

from nonproj.automata.general import check_automata
from nonproj_systems.parsing.oracles import AutomataOracle, TreeOracle


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
