"""The sparse Lagrangian with forced edges and cuts, fixing of edges, and separation: against enumeration of tours."""

from __future__ import annotations

import itertools

import naive_tsp
import numpy as np
import pytest
from instances import seeds
from scipy.sparse import csr_matrix

from nonproj_systems.relaxation.problem import Problem, at_most, equal_to
from nonproj_systems.relaxation.solver import Limits
from nonproj_systems.relaxation.solver import solve as relax
from nonproj_systems.tsp.ascent import Deflected, Steps
from nonproj_systems.tsp.fixing import propagate, sparse_marginals
from nonproj_systems.tsp.instance import make_instance
from nonproj_systems.tsp.separation import (
    cut_tree,
    random_groups,
    violated_blossoms,
    violated_combs,
    violated_subtours,
)
from nonproj_systems.tsp.solver import Options, solve
from nonproj_systems.tsp.sparse import FORBIDDEN, FORCED, FREE, NO_CUTS, Cuts, make_graph, sparse_ascend, sparse_value

pytest.importorskip("highspy")

from nonproj_systems.tsp.cutting import CutProgram, comb_row, fix_edges, make_cuts, restrict  # noqa: E402


def draw_graph(seed, n=7, share=0.7):
    """A random sparse graph that has the tour 0, 1, ..., n - 1; small weights have ties."""
    random = np.random.default_rng(seed)
    weights = np.triu(random.integers(0, 5 if seed % 2 else 1000, (n, n)), 1)
    kept = random.random((n, n)) < share
    kept[np.arange(n - 1), np.arange(1, n)] = kept[0, n - 1] = True
    return make_graph(weights + weights.T, kept), random


def edge_list(graph):
    return list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))


def all_tours(graph):
    """All tours of a graph, bool[k, m]."""
    n, number = len(graph.degree), {edge: e for e, edge in enumerate(edge_list(graph))}
    found = []
    for rest in itertools.permutations(range(1, n)):
        if rest[0] < rest[-1]:
            edges = [(min(i, j), max(i, j)) for i, j in itertools.pairwise((0, *rest, 0))]
            if all(edge in number for edge in edges):
                found.append(np.isin(np.arange(len(number)), [number[edge] for edge in edges]))
    return np.array(found)


def all_one_trees(graph):
    """All 1-trees of a graph, bool[k, m]."""
    number = {edge: e for e, edge in enumerate(edge_list(graph))}
    trees = [tree for tree in naive_tsp.one_trees(len(graph.degree)) if all(edge in number for edge in tree)]
    return np.array([np.isin(np.arange(len(number)), [number[edge] for edge in tree]) for tree in trees])


def draw_cuts(tours, random):
    """Random inequalities that all tours satisfy, some of them tightly."""
    rows = random.integers(-1, 3, (3, tours.shape[1])).astype(float)
    return make_cuts(list(rows), [float((tours @ row).max()) for row in rows]), rows


def evaluate(graph, cuts, state, u):
    m = len(graph.tail)
    costs, chosen = np.zeros(m), np.zeros(m, np.int8)
    order = np.random.default_rng(0).permutation(m)
    value = sparse_value(graph, cuts, state, u, order, costs, chosen)
    return value, costs, chosen


# -- the sparse Lagrangian ---------------------------------------------------------------------------------------------


def test_sparse_values_and_marginals_equal_enumeration():
    checked = 0
    chosen = seeds(100)
    for seed in chosen:
        graph, random = draw_graph(seed, 6)
        n, m = len(graph.degree), len(graph.tail)
        trees, tours = all_one_trees(graph), all_tours(graph)
        cuts, rows = draw_cuts(tours, random)
        u = np.append(0.0, random.integers(-40, 40, n - 1) / 8)
        v = np.maximum(random.integers(-8, 16, 3), 0) / 8
        state = random.choice([FREE, FREE, FREE, FORCED, FORBIDDEN], m).astype(np.int8)
        if not propagate(graph, state):
            continue
        value, costs, chosen = evaluate(graph, cuts, state, np.append(u, v))
        ends = np.array([[float(i in edge) for i in range(n)] for edge in edge_list(graph)])
        price = graph.weight + ends @ u + rows.T @ v
        assert costs == pytest.approx(price)
        allowed = trees[(trees[:, state == FORCED].all(1)) & ~trees[:, state == FORBIDDEN].any(1)]
        totals = allowed @ price
        assert value == pytest.approx(totals.min() - 2 * u.sum() - v @ cuts.rhs)
        assert chosen.sum() == n and totals.min() == pytest.approx(price[chosen == 1].sum())
        marginal = np.zeros(m)
        sparse_marginals(graph, state, costs, chosen, marginal)
        for e in np.flatnonzero(state == FREE):
            other = totals[allowed[:, e] != chosen[e]]
            least = other.min() - totals.min() if len(other) else np.inf
            assert marginal[e] == pytest.approx(least, abs=1e-9)
            checked += 1
    assert checked > len(chosen)


def test_propagation_keeps_all_tours():
    fixed, closed = 0, 0
    chosen = seeds(150)
    for seed in chosen:
        graph, random = draw_graph(seed, 7)
        tours = all_tours(graph)
        state = random.choice([FREE, FREE, FREE, FORCED, FORBIDDEN], len(graph.tail)).astype(np.int8)
        left = tours[tours[:, state == FORCED].all(1) & ~tours[:, state == FORBIDDEN].any(1)]
        before = (state == FREE).sum()
        if not propagate(graph, state):
            assert not len(left)
            closed += 1
            continue
        assert left[:, state == FORCED].all() and not left[:, state == FORBIDDEN].any()
        fixed += before - (state == FREE).sum()
        if not (state == FREE).any():
            assert len(left) == 1
    assert fixed > 100 / 150 * len(chosen) and closed > 10 / 150 * len(chosen)


class SparseOracle:
    """The sparse 1-tree as an oracle of the library, by `sparse_value` without multipliers."""

    def __init__(self, graph):
        self.graph = graph

    def __call__(self, scores):
        graph = self.graph._replace(weight=self.graph.weight - scores)
        value, _, chosen = evaluate(graph, NO_CUTS, np.zeros(len(scores), np.int8), np.zeros(len(graph.degree)))
        return -value, chosen.astype(float), None


@pytest.mark.parametrize("memory", [0.0, 0.25])
def test_the_sparse_ascent_with_cuts_equals_the_library(memory):
    """The multipliers of inequalities included, which are projected; weights are continuous, without ties."""
    for seed in seeds(20):
        graph, random = draw_graph(seed, 7)
        graph = graph._replace(weight=random.random(len(graph.tail)) * 100)
        n, m = len(graph.degree), len(graph.tail)
        cuts, rows = draw_cuts(all_tours(graph), random)
        sizes = 8.0 * 0.8 ** np.arange(25)
        ends = np.array([[float(i in edge) for edge in edge_list(graph)] for i in range(1, n)])
        limits = [equal_to(csr_matrix(ends), np.full(n - 1, 2.0)), at_most(csr_matrix(rows), cuts.rhs)]
        problem = Problem([SparseOracle(graph)], m, constraints=limits)
        method = Deflected(Steps(sizes, -np.inf, memory))
        found = relax(problem, method, limits=Limits(25))
        u, mean = np.zeros(n + 3), np.zeros(m)
        incumbent, best, state = np.array([1e9]), np.zeros(m, np.int8), np.zeros(m, np.int8)
        relaxation = (graph, cuts, np.arange(m))
        bound = sparse_ascend(relaxation, state, u, (sizes, -np.inf, memory, 0.0), incumbent, best, mean)
        assert bound == pytest.approx(-found.dual_bound, rel=1e-9)
        assert u[1:] == pytest.approx(found.best_multipliers, abs=1e-6)
        tours = all_tours(graph)
        assert bound <= (tours @ graph.weight).min() + 1e-9 <= incumbent[0] + 2e-9
        if incumbent[0] < 1e9:
            assert best.sum() == n and (tours == (best == 1)).all(1).any()


def test_edges_fixed_by_costs_are_in_no_shorter_tour():
    removed = 0
    chosen = seeds(60)
    for seed in chosen:
        graph, random = draw_graph(seed, 7, 0.9)
        tours = all_tours(graph)
        lengths = tours @ graph.weight
        length = float(np.sort(lengths)[min(2, len(lengths) - 1)])
        program = CutProgram(graph)
        program.run(np.inf)
        found = program.multipliers()
        value, kept = fix_edges(graph, found.cuts, found.multipliers, length)
        assert value <= lengths.min()
        assert not tours[lengths < length][:, ~kept].any()
        removed += (~kept).sum()
        smaller, cuts = restrict(graph, found.cuts, kept | tours[lengths.argmin()])
        state = np.zeros(len(smaller.tail), np.int8)
        again, _, _ = evaluate(smaller, cuts, state, found.multipliers)
        assert again >= value - 1e-9
    assert removed > len(chosen)


# -- separation --------------------------------------------------------------------------------------------------------


def draw_fractional(seed, n=9, subtours=True):
    """A fractional solution of degrees and, if asked for, all subtour inequalities: ends of edges, and values."""
    random = np.random.default_rng(seed)
    weights = np.triu(random.integers(0, 40, (n, n)), 1)
    graph = make_graph(weights + weights.T, np.ones((n, n), bool))
    program = CutProgram(graph)
    if subtours:
        program.run(np.inf, combs=False)
    _, x = program.solve()
    at = np.flatnonzero(x > 1e-9)
    return n, graph.tail[at].astype(np.int64), graph.head[at].astype(np.int64), x[at], program


def cut_values(n, tail, head, x):
    """The value of every cut by a set without node 0."""
    sets = np.array(list(itertools.product([False, True], repeat=n - 1)))[1:]
    sets = np.column_stack([np.zeros(len(sets), bool), sets])
    return sets, (sets[:, tail] != sets[:, head]) @ x


def test_a_cut_tree_has_a_minimum_cut_of_each_pair():
    for seed in seeds(40):
        random = np.random.default_rng(seed)
        n = int(random.integers(3, 8))
        tail, head = np.triu_indices(n, 1)
        kept = random.random(len(tail)) < 0.7
        tail, head, capacity = tail[kept], head[kept], random.integers(0, 6, kept.sum()) / 2
        sides, flow = cut_tree(n, tail, head, capacity)
        assert flow == pytest.approx([capacity[side[tail] != side[head]].sum() for side in sides])
        sets, values = cut_values(n, tail, head, capacity)
        for i, j in naive_tsp.pairs(n):
            least = values[sets[:, i] != sets[:, j]].min()
            assert flow[sides[:, i] != sides[:, j]].min() == pytest.approx(least)


def test_subtours_are_found_exactly_and_the_program_has_the_subtour_bound():
    found = 0
    for seed in range(25):
        n, tail, head, x, _ = draw_fractional(seed, 8, subtours=False)
        subtours = violated_subtours(n, tail, head, x)
        sets, values = cut_values(n, tail, head, x)
        assert bool(subtours) == bool((values < 2 - 1e-6).any())
        if subtours:
            assert max(each.violation for each in subtours) == pytest.approx(2 - values.min())
        found += bool(subtours)
        program = draw_fractional(seed, 8)[4]
        weights = np.zeros((8, 8))
        weights[program.graph.tail, program.graph.head] = program.graph.weight
        bound = naive_tsp.subtour_bound((weights + weights.T).tolist())
        assert program.solve()[0] == pytest.approx(bound, abs=1e-6)
        value, _, _ = evaluate(program.graph, NO_CUTS, np.zeros(28, np.int8), program.multipliers().multipliers)
        assert value == pytest.approx(bound, abs=0.05)
    assert found >= 5


def test_blossoms_are_found_exactly():
    """Over all handles and all odd sets of edges that leave them."""
    violated = 0
    chosen = seeds(120)
    for seed in chosen:
        n, tail, head, x, _ = draw_fractional(seed, 7 + seed % 3)
        sets, _ = cut_values(n, tail, head, x)
        least = np.inf
        for side in sets:
            out = x[side[tail] != side[head]]
            for size in range(1, len(out) + 1, 2):
                # The best choice of a given size: the largest values.
                order = np.sort(out)[::-1]
                if size >= 3:
                    least = min(least, order[size:].sum() + (1 - order[:size]).sum())
        found = violated_blossoms(n, tail, head, x)
        assert bool(found) == (least < 1 - 1e-4)
        if found:
            assert max(violation for _, _, violation in found) == pytest.approx(1 - least)
            violated += 1
    assert violated >= 5 / 120 * len(chosen)


def test_all_tours_satisfy_the_combs_that_a_fractional_solution_violates():
    n, combs, shrunk = 9, 0, 0
    complete = make_graph(np.ones((n, n)), np.ones((n, n), bool))
    tours = all_tours(complete)
    chosen = seeds(150)
    for seed in chosen:
        _, tail, head, x, _ = draw_fractional(seed, n)
        full = np.zeros((n, n))
        full[tail, head] = x
        random = np.random.default_rng(seed)
        for k in range(4):
            group = np.arange(n) if k == 0 else random_groups(n, tail, head, x, random)
            for comb in violated_combs(tail, head, x, group):
                row, rhs = comb_row(comb, complete)
                assert (tours @ row).max() <= rhs + 1e-9
                assert row @ full[complete.tail, complete.head] - rhs == pytest.approx(comb.violation, abs=1e-6)
                combs += 1
                shrunk += (comb.teeth.sum(1) > 2).any()
    assert combs >= 10 / 150 * len(chosen)


# -- the search with cuts ----------------------------------------------------------------------------------------------


def test_the_search_with_cuts_equals_the_integer_program(monkeypatch):
    """Cuts from the first node on, so that they are used at all."""
    monkeypatch.setattr("nonproj_systems.tsp.solver.PLAIN_NODES", 0)
    used = 0
    chosen = seeds(40)
    for seed in chosen:
        random = np.random.default_rng(seed)
        n = 14 + seed % 18
        points = random.integers(0, 1000 if seed % 2 else 20, (n, 2))
        weights = np.rint(np.hypot(*(points[:, None] - points).T)).astype(int)
        instance = make_instance(weights)
        found = solve(instance, Options(kicks=0))
        exact = naive_tsp.integer_program(weights.tolist())
        assert found.certified and found.value == found.bound == exact == instance.length(found.tour)
        assert found.root_bound <= exact and found.cut_bound <= exact
        used += found.cut_bound > -np.inf
    assert used >= 6 / 40 * len(chosen)


def test_limits_leave_a_bound():
    random = np.random.default_rng(5)
    points = random.integers(0, 1000, (40, 2))
    instance = make_instance(np.rint(np.hypot(*(points[:, None] - points).T)).astype(int))
    exact = solve(instance)
    limited = solve(instance, Options(nodes=0, kicks=0))
    assert limited.status == "limit" and limited.root_bound <= limited.bound <= exact.value <= limited.value
    stopped = solve(instance, Options(kicks=0), callback=lambda result: True)
    assert stopped.status in ("stopped", "optimal") and stopped.bound <= exact.value <= stopped.value
    assert exact.certified and isinstance(exact.cuts, int) and Cuts._fields[0] == "start"
