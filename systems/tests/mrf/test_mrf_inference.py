"""Markov random fields: certified labels are optimal, by enumeration and by the integer program; bounds are bounds."""

import itertools
from fractions import Fraction

import naive_mrf as naive
import numpy as np
import pytest
from instances import seeds

from nonproj_systems.mrf.inference import METHODS, infer
from nonproj_systems.mrf.linear_program import solve_program
from nonproj_systems.mrf.model import MRF, grid

FORBIDDEN = range(1000, 1060)


def random(seed):
    """Return a random field, for odd seeds with ties, for those in `FORBIDDEN` with forbidden states and pairs."""
    rng = np.random.default_rng(seed)
    raw = naive.random_field(rng, integers=seed % 2 == 1, density=rng.uniform(0.3, 1.0))
    if seed in FORBIDDEN:
        for scores in (*raw[0], *raw[2]):
            scores[rng.random(scores.shape) < 0.15] = -np.inf
        for scores in raw[0]:
            scores[rng.integers(len(scores))] = 0.0
    return raw


@pytest.mark.parametrize("seed", [*seeds(120), *FORBIDDEN])
def test_certified_labels_are_optimal(seed):
    raw = random(seed)
    field, best = MRF(*raw), naive.maximum(raw)
    for method, exact in itertools.product(METHODS, (False, True)):
        found = infer(field, method, exact=exact, max_iterations=60)
        assert found.bound >= best - 1e-7
        if best == -np.inf:
            assert found.value == -np.inf and found.status in ("infeasible", "open")
            assert not exact or found.status == "infeasible"
            continue
        assert all(bound >= best - 1e-7 for bound in found.trace.dual)  # weak duality at every iteration
        assert found.value <= best + 1e-9 and abs(found.value - naive.score(raw, found.labels)) < 1e-9
        if found.certified:
            assert abs(found.value - best) < 1e-6
        assert not exact or found.status == "optimal"


@pytest.mark.parametrize("seed", range(0, 220, 4))
def test_programs_agree(seed):
    """The integer program is the optimum; the linear program is between it and every bound of trees."""
    for raw in (random(seed), random(FORBIDDEN[seed % 60])):
        field, best = MRF(*raw), naive.maximum(raw)
        status, value, bound, labels = solve_program(field, integer=True)
        if best == -np.inf:
            assert status == "infeasible"
            continue
        assert status == "optimal" and abs(value - best) < 1e-6 and abs(field.score(labels) - best) < 1e-6
        _, relaxed, _, labels = solve_program(field)
        assert relaxed >= best - 1e-6 and (labels is None or abs(field.score(labels) - best) < 1e-6)
        if np.isneginf(field.penalty):
            assert all(infer(field, method).bound >= relaxed - 1e-6 for method in METHODS)


@pytest.mark.parametrize("seed", range(6))
def test_grids_are_proven(seed):
    rng = np.random.default_rng(seed)
    field = grid(*naive.random_grid(rng, 6, 5, 2 + seed % 2, integers=seed % 2 == 1))
    found = infer(field, exact=True)
    assert found.certified and abs(found.value - solve_program(field, integer=True)[1]) < 1e-6


def test_limits():
    rng = np.random.default_rng(3)
    field = grid(*naive.random_grid(rng, 30, 30, 4))
    short = infer(field, exact=True, seconds=1e-9)
    assert short.iterations == 1 and not short.searched
    assert short.status == "open" and short.bound > short.value
    long = infer(field, max_iterations=50)
    assert len(long.trace) <= 50 and (np.diff(long.trace.dual) <= 1e-9).all()
    searched = infer(field, exact=True, max_iterations=5, seconds=1.0)
    assert 0 < searched.seconds < 10.0 and searched.status == "open"


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match="^the method is 'belief'; one of trws, trees is expected$"):
        infer(MRF(np.zeros((2, 2)), [[0, 1]], np.eye(2)), "belief")


@pytest.mark.parametrize("method", METHODS)
def test_bounds_are_rounded_outward(method):
    """The bound is at least the optimum as an exact fraction, by enumeration."""
    edges = list(itertools.combinations(range(4), 2))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        unary, tables = rng.normal(size=(4, 2)), rng.normal(size=(6, 2, 2))
        optimum = max(
            sum(Fraction(unary[i, x[i]]) for i in range(4))
            + sum(Fraction(table[x[i], x[j]]) for (i, j), table in zip(edges, tables, strict=True))
            for x in itertools.product(range(2), repeat=4)
        )
        for exact in (False, True):
            found = infer(MRF(unary, edges, tables), method, max_iterations=1 + seed, exact=exact)
            assert optimum <= Fraction(found.bound) <= optimum + (Fraction(1, 10**8) if found.certified else 100)
