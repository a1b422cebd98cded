"""Travelling salesman problems: kernels equal their twins, bounds lie below all tours, tours are proven optimal."""

import naive_tsp
import numpy as np
import pytest
from instances import seeds

from nonproj_systems.relaxation.solver import Limits
from nonproj_systems.relaxation.solver import solve as relax
from nonproj_systems.relaxation.steps import Constant
from nonproj_systems.relaxation.subgradient import Subgradient
from nonproj_systems.tsp.heuristic import neighbour_lists, search_tour
from nonproj_systems.tsp.instance import make_instance
from nonproj_systems.tsp.one_tree import edges_of, minimum_one_tree, new_one_tree
from nonproj_systems.tsp.oracle import degree_problem, evaluate
from nonproj_systems.tsp.solver import Options, solve, tour_of


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
        value, marginal, tree = evaluate(instance, u[1:])
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


# -- the bound ---------------------------------------------------------------------------------------------------------


def test_no_dual_value_is_above_the_optimum_and_the_bound_nears_that_of_the_subtour_program():
    for seed in seeds(200):
        instance = draw(seed)
        optimum = naive_tsp.shortest(instance.weights.tolist())
        found = solve(instance, Options(nodes=0))
        assert found.course.max() <= optimum * (1 + 1e-9) + 1e-6
        if seed % 5 == 0 and len(instance.weights) < 9 and not found.certified:
            limit = naive_tsp.subtour_bound(instance.weights.tolist())
            assert found.root_bound <= limit + 1e-6 * (1 + limit)
            assert found.root_bound >= 0.999 * limit - 1e-6


def test_the_problem_of_few_edges_is_that_of_all_with_the_others_forbidden():
    for seed in seeds(40):
        instance, random = draw(seed, 6), np.random.default_rng(seed)
        kept = np.triu(random.random((6, 6)) < 0.7, 1)
        kept[np.arange(5), np.arange(1, 6)] = kept[0, 5] = True
        trees = [each for each in naive_tsp.one_trees(6) if all(kept[edge] for edge in each)]
        u = random.integers(-300, 300, 5) / 4
        best, _ = naive_tsp.lagrangian(instance.weights.tolist(), np.append(0.0, u), trees)
        found = relax(degree_problem(instance, kept), Subgradient(Constant(1.0)), start=u, limits=Limits(1))
        assert -found.dual_bound == pytest.approx(best, abs=1e-6)


# -- tours -------------------------------------------------------------------------------------------------------------


def test_local_search_reports_the_length_of_its_tour():
    """Moves in both directions, of all sizes, around the end of the array."""
    short = 0
    chosen = seeds(150)
    for seed in chosen:
        instance = draw(seed, 5 + seed % 25)
        n = len(instance.weights)
        near = neighbour_lists(instance.weights)
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


def test_a_walk_through_a_1_tree_is_the_tour_if_it_is_one():
    instance = make_instance([[0, 2, 3, 2], [2, 0, 2, 3], [3, 2, 0, 2], [2, 3, 2, 0]])
    assert tour_of(evaluate(instance, np.zeros(3))[2]).tolist() in ([0, 1, 2, 3], [0, 3, 2, 1])
    star = make_instance([[0, 9, 9, 9, 9], [9, 0, 1, 1, 1], [9, 1, 0, 5, 5], [9, 1, 5, 0, 5], [9, 1, 5, 5, 0]])
    assert is_tour(star, tour_of(evaluate(star, np.zeros(4))[2]))


def test_limits_end_the_search_with_a_bound():
    instance = draw(3, 60, kind=1)
    optimum = solve(instance)
    for options in (Options(seconds=0.0), Options(nodes=0), Options(nodes=2, kicks=0)):
        found = solve(instance, options)
        assert found.bound <= optimum.value <= found.value and is_tour(instance, found.tour)
        assert found.certified or found.status == "limit"
