"""Travelling salesman problems: kernels equal their twins, bounds lie below all tours, tours are proven optimal."""

from __future__ import annotations

import naive_tsp
import numpy as np
import pytest
from instances import seeds

from nonproj_systems.relaxation.solver import Limits
from nonproj_systems.relaxation.solver import solve as relax
from nonproj_systems.relaxation.steps import Constant, Decaying
from nonproj_systems.relaxation.subgradient import Subgradient
from nonproj_systems.tsp.ascent import Deflected, Steps, ascend, degree_problem, evaluate, root_steps
from nonproj_systems.tsp.heuristic import neighbour_lists, search_tour
from nonproj_systems.tsp.instance import make_instance
from nonproj_systems.tsp.one_tree import edges_of, minimum_one_tree, new_one_tree
from nonproj_systems.tsp.preconditioner import by_clusters, precondition
from nonproj_systems.tsp.solver import Options, solve

pytest.importorskip("highspy")


def draw(seed, n=None, kind=None):
    """A random instance: points in the plane, or weights without a triangle inequality, or a few small integers."""
    random = np.random.default_rng(seed)
    n = int(random.integers(5, 10)) if n is None else n
    kind = seed % 3 if kind is None else kind
    if kind == 0:
        points = random.integers(0, 1000, (n, 2))
        return make_instance(np.rint(np.hypot(*(points[:, None] - points).T)).astype(int))
    weights = np.triu(random.integers(0, 10**6 if kind == 1 else 4, (n, n)), 1)
    return make_instance(weights + weights.T)


def is_tour(instance, tour):
    return sorted(tour.tolist()) == list(range(len(instance.weights)))


# -- 1-trees -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_a_minimum_1_tree_and_its_marginals_equal_enumeration(n):
    trees = naive_tsp.one_trees(n)
    for seed in range(40 if n < 6 else 10):
        instance, random = draw(seed, n), np.random.default_rng(seed)
        u = np.append(0.0, random.integers(-300, 300, n - 1) / 4)
        value, marginal, tree = evaluate(instance, u)
        weights = instance.weights.tolist()
        best, _ = naive_tsp.lagrangian(weights, u, trees)
        assert value == pytest.approx(best, abs=1e-6)
        edges = [tuple(edge) for edge in edges_of(tree).tolist()]
        assert sorted(edges) in trees
        for i, j in naive_tsp.pairs(n):
            forced, _ = naive_tsp.lagrangian(weights, u, [each for each in trees if (i, j) in each])
            assert marginal[i, j] == marginal[j, i] == pytest.approx(forced - best, abs=1e-6)


def test_larger_1_trees_equal_kruskal():
    for seed in seeds(60):
        instance = draw(seed, 10 + seed % 30)
        n = len(instance.weights)
        u = np.append(0.0, np.random.default_rng(seed).standard_normal(n - 1) * 50)
        costs, tree = instance.weights + (u[:, None] + u[None, :]), new_one_tree(n)
        value, edges = naive_tsp.kruskal(instance.weights.tolist(), u.tolist())
        assert minimum_one_tree(costs, tree) - 2 * u.sum() == pytest.approx(value, rel=1e-9, abs=1e-6)
        assert len(set(map(tuple, edges_of(tree).tolist()))) == len(edges) == n


# -- the ascent --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0.0, 0.25])
@pytest.mark.parametrize("polyak", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_the_ascent_equals_the_library_step_by_step(memory, polyak, scaled):
    compared = 0
    chosen = seeds(60)
    for seed in chosen:
        instance = draw(seed, 5 + seed % 20)
        n = len(instance.weights)
        target = float(instance.length(np.arange(n))) if polyak else -np.inf
        steps = Steps(1.5 * 0.9 ** np.arange(30) if polyak else np.repeat([16.0, 4.0, 1.0, 0.5], 8), target, memory)
        preconditioner = by_clusters(instance.weights) if scaled else None
        mine = ascend(instance, steps, preconditioner=preconditioner)
        method = Deflected(steps, preconditioner)
        found = relax(degree_problem(instance), method, limits=Limits(len(steps.sizes)))
        if scaled and seed % 3 == 2:  # equal small weights: rounding chooses among 1-trees
            continue
        assert mine.course == pytest.approx(-np.array(found.trace.dual), rel=1e-6, abs=1e-6)
        assert mine.is_tour == (found.status == "agreed")
        assert mine.bound == pytest.approx(-found.dual_bound, rel=1e-6, abs=1e-6)
        if not mine.is_tour and not polyak and not scaled:
            assert (mine.multipliers[1:] == found.best_multipliers).all() and mine.multipliers[0] == 0
        compared += len(mine.course)
    assert compared > 500 / 60 * len(chosen)


def test_the_ascent_equals_the_library_by_its_own_rules():
    """The method of the tutorial, as `Subgradient` has it, with its step rules."""
    for seed in seeds(30):
        instance = draw(seed, 12)
        for rule, sizes in ((Constant(2.0), np.full(40, 2.0)), (Decaying(64.0, 1.0), 64.0 / np.arange(1, 41))):
            mine = ascend(instance, Steps(sizes, -np.inf, 0.0))
            found = relax(degree_problem(instance), Subgradient(rule), limits=Limits(40))
            assert mine.course == pytest.approx(-np.array(found.trace.dual), rel=1e-9, abs=1e-6)


def test_the_ascent_equals_the_plain_loop():
    """Without ties: another minimum 1-tree would be another subgradient."""
    for seed in seeds(40):
        instance = draw(seed, 6 + seed % 10, kind=1)
        sizes = 1000.0 * 0.9 ** np.arange(40)
        target = float(instance.length(np.arange(len(instance.weights))))
        for steps, scale in ((Steps(sizes, -np.inf, 0.0), None), (Steps(sizes / 1000, target, 0.4), target)):
            course = naive_tsp.ascend(instance.weights.tolist(), steps.sizes, scale, steps.memory)
            assert ascend(instance, steps).course == pytest.approx(course, rel=1e-7)


def test_the_preconditioner_is_that_of_the_definition():
    for seed in seeds(60):
        instance = draw(seed, 3 + seed % 12)
        matrix = naive_tsp.cluster_matrix(instance.weights.tolist())
        assert np.linalg.eigvalsh(matrix).min() > 0
        found = by_clusters(instance.weights)
        for slope in np.random.default_rng(seed).integers(-2, 3, (3, len(matrix))).astype(float):
            assert precondition(found, slope) == pytest.approx(matrix @ slope, rel=1e-9, abs=1e-9)


def test_coincident_cities_and_equal_or_negative_weights_have_a_preconditioner():
    points = np.repeat(np.arange(5) * 10, 3)
    for weights in (
        np.abs(points[:, None] - points),
        np.ones((6, 6), int),
        np.zeros((6, 6), int),
        -np.ones((6, 6), int),
    ):
        found = by_clusters(make_instance(weights).weights)
        assert np.isfinite(found.scale).all() and (found.scale[: len(weights)] > 0).all() and (found.scale >= 0).all()
        assert (found.parent[:-1] > np.arange(len(found.parent) - 1)).all()


@pytest.mark.parametrize("side, deviation", [(1000, 10), (1000, 3), (100_000, 10)])
def test_on_clusters_the_bound_is_that_of_the_subtour_program(side, deviation):
    """Within the usual number of iterations; plain subgradients leave up to 19 per cent."""
    from systems.experiments.tsp import clustered, subtour_bound

    for seed in range(3):
        instance = clustered(6, 25, side, deviation, seed)
        n = len(instance.weights)
        near = neighbour_lists(np.zeros((n, n)), instance.weights)
        length, _ = search_tour(instance, near, 10 * n)
        steps = root_steps(n, length)
        found = ascend(instance, steps, preconditioner=by_clusters(instance.weights))
        limit = subtour_bound(instance, length)
        assert len(found.course) <= 5000
        assert 0.999 * limit <= found.bound <= limit * (1 + 1e-9)
    assert limit <= solve(instance, Options(kicks=0, nodes=0)).value


def test_no_dual_value_is_above_the_optimum_and_the_bound_nears_that_of_the_subtour_program():
    for seed in seeds(200):
        instance = draw(seed)
        optimum = naive_tsp.shortest(instance.weights.tolist())
        preconditioner = by_clusters(instance.weights)
        found = ascend(instance, root_steps(len(instance.weights), optimum), preconditioner=preconditioner)
        assert found.course.max() <= optimum * (1 + 1e-12) + 1e-9
        if found.is_tour:
            assert found.bound == pytest.approx(optimum)
        if seed % 5 == 0 and len(instance.weights) < 9:
            limit = naive_tsp.subtour_bound(instance.weights.tolist())
            assert found.bound <= limit + 1e-6 * (1 + limit)
            assert found.bound >= 0.999 * limit - 1e-6


# -- tours -------------------------------------------------------------------------------------------------------------


def test_local_search_reports_the_length_of_its_tour():
    """Moves in both directions, of all sizes, around the end of the array."""
    short = 0
    chosen = seeds(150)
    for seed in chosen:
        instance = draw(seed, 5 + seed % 25)
        n = len(instance.weights)
        near = neighbour_lists(np.zeros((n, n)), instance.weights)
        start = np.random.default_rng(seed).permutation(n)
        length, tour = search_tour(instance, near, 30, seed=seed, start=start)
        assert is_tour(instance, tour) and instance.length(tour) == length <= instance.length(start)
        if n < 9:
            short += length == naive_tsp.shortest(instance.weights.tolist())
    assert short >= 20 / 150 * len(chosen)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_tours_are_proven_and_equal_dynamic_programming(kind):
    for seed in seeds(80):
        instance = draw(1000 + seed, 3 + seed % 8, kind)
        found = solve(instance, Options(kicks=seed % 2))
        assert found.certified and found.bound == found.value == instance.length(found.tour)
        assert is_tour(instance, found.tour) and found.tour[0] == 0
        assert found.value == naive_tsp.shortest(instance.weights.tolist())
        assert found.root_bound <= found.value


def test_larger_tours_equal_the_integer_program():
    for seed in seeds(20):
        instance = draw(seed, 14 + seed)
        found = solve(instance, Options(kicks=0))
        assert found.certified and instance.length(found.tour) == found.value
        assert found.value == naive_tsp.integer_program(instance.weights.tolist())
