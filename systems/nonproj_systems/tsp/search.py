"""Branch and bound over forced and forbidden edges, depth first; each bound is a minimum 1-tree at exact multipliers.

Volgenant and Jonker (1982) branch at a node of degree above 2.  Here a branch forces or forbids one edge, chosen by
strong branching among those that the 1-trees of the last iterations agree about least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int8s, Int64s
from nonproj_systems.tsp.fixing import fix_by_costs, propagate, sparse_marginals
from nonproj_systems.tsp.sparse import FORBIDDEN, FORCED, FREE, Cuts, Graph, sparse_ascend, sparse_value

CANDIDATES = 6
"""Edges tried by strong branching."""


class Stack(NamedTuple):
    """Open nodes; the last is explored first.

    Attributes
    ----------
    state : ndarray of shape (k, m), int8
    multipliers : ndarray of shape (k, n + c), float64
    bound : ndarray of shape (k,), float64
    """

    state: np.ndarray
    multipliers: np.ndarray
    bound: np.ndarray


@kernel
def _copy_node(state: Int8s, u: Float64s, to_state: Int8s, to_u: Float64s) -> None:
    """Copy the states of edges, and the multipliers, of a node; loops compile faster than slices."""
    for e in range(len(state)):
        to_state[e] = state[e]
    for i in range(len(u)):
        to_u[i] = u[i]


@kernel
def _count_free(state: Int8s) -> int:
    """Count the free edges."""
    free = 0
    for e in range(len(state)):
        free += state[e] == FREE
    return free


@kernel
def _tighten(relaxation: tuple[Graph, Cuts, Int64s], state: Int8s, u: Float64s, incumbent: Float64s) -> int:
    """Fix edges by reduced costs at multipliers ``u``; return the number fixed, -1 if no better tour remains."""
    graph, cuts, order = relaxation
    m = len(graph.tail)
    costs, chosen, marginal = np.empty(m), np.empty(m, np.int8), np.empty(m)
    value = sparse_value(graph, cuts, state, u, order, costs, chosen)
    if value > incumbent[0] - 1.0:
        return -1
    sparse_marginals(graph, state, costs, chosen, marginal)
    fixed = fix_by_costs(state, chosen, marginal, incumbent[0] - 1.0 - value)
    if fixed > 0 and not propagate(graph, state):
        return -1
    return fixed


@kernel
def _bound_node(
    relaxation: tuple[Graph, Cuts, Int64s],
    state: Int8s,
    u: Float64s,
    steps: tuple[Float64s, float, float, float],
    incumbent: Float64s,
    best: Int8s,
    mean: Float64s,
) -> float:
    """Bound a node: ascend, fix edges, and again while many are fixed; return the bound, infinity if fathomed."""
    graph, cuts, order = relaxation
    if not propagate(graph, state):
        return np.inf
    free = _count_free(state)
    while True:
        bound = sparse_ascend(relaxation, state, u, steps, incumbent, best, mean)
        if bound > incumbent[0] - 1.0:
            return np.inf
        fixed = _tighten(relaxation, state, u, incumbent)
        if fixed < 0:
            return np.inf
        if 10 * fixed <= free:
            return bound
        free -= fixed


@kernel
def _choose(state: Int8s, mean: Float64s, candidates: Int64s) -> int:
    """Write the free edges that are nearest to half chosen on average; return how many."""
    count = 0
    for _ in range(len(candidates)):
        least, edge = 2.0, -1
        for e in range(len(state)):
            if state[e] == FREE:
                away = abs(mean[e] - 0.5)
                known = False
                for k in range(count):
                    known = known or candidates[k] == e
                if away < least and not known:
                    least, edge = away, e
        if edge < 0 or (least >= 0.5 and count > 0):
            break
        candidates[count] = edge
        count += 1
    return count


@kernel
def _branch(
    relaxation: tuple[Graph, Cuts, Int64s],
    state: Int8s,
    u: Float64s,
    steps: tuple[Float64s, float, float, float],
    incumbent: Float64s,
    best: Int8s,
    children: tuple[Int8s, Float64s, Float64s, Float64s, Int64s],
) -> int:
    """Choose an edge by strong branching and write both children; return 2, or 1 if a side of some edge is fathomed.

    With 1, the first child is the node with that edge fixed to its other side; with 0, both sides are fathomed.
    """
    graph, cuts, order = relaxation
    m = len(state)
    child_state, child_u, child_bound, mean, candidates = children
    many = _choose(state, mean, candidates)
    trial, trial_u, trial_bound = np.empty((2, m), np.int8), np.empty((2, len(u))), np.empty(2)
    unused, score = np.empty(m), -np.inf
    for k in range(many):
        for side in range(2):
            _copy_node(state, u, trial[side], trial_u[side])
            trial[side, candidates[k]] = FORCED if side == 0 else FORBIDDEN
            trial_bound[side] = np.inf
            if propagate(graph, trial[side]):
                trial_bound[side] = sparse_ascend(
                    relaxation, trial[side], trial_u[side], steps, incumbent, best, unused
                )
        closed = (trial_bound[0] > incumbent[0] - 1.0) + (trial_bound[1] > incumbent[0] - 1.0)
        if closed == 2:
            return 0
        low, high = min(trial_bound[0], trial_bound[1]), max(trial_bound[0], trial_bound[1])
        if closed == 1 or low + 0.1 * min(high, incumbent[0]) > score:
            score = low + 0.1 * min(high, incumbent[0])
            first = 0 if trial_bound[0] < trial_bound[1] else 1
            for place in range(2):
                side = first if place == 1 else 1 - first
                _copy_node(trial[side], trial_u[side], child_state[place], child_u[place])
                child_bound[place] = trial_bound[side]
            if closed == 1:
                _copy_node(child_state[1], child_u[1], child_state[0], child_u[0])
                child_bound[0] = child_bound[1]
                return 1
    return 2


@kernel
def _finish(graph: Graph, state: Int8s, incumbent: Float64s, best: Int8s) -> None:
    """Note the tour of a node without free edges."""
    length = 0.0
    for e in range(len(state)):
        if state[e] == FORCED:
            length += graph.weight[e]
    if length < incumbent[0]:
        incumbent[0] = length
        for e in range(len(state)):
            best[e] = 1 if state[e] == FORCED else 0


@kernel
def search(
    relaxation: tuple[Graph, Cuts, Int64s],
    stack: Stack,
    top: int,
    schedules: tuple[tuple[Float64s, float, float, float], tuple[Float64s, float, float, float]],
    incumbent: Float64s,
    best: Int8s,
    limit: int,
) -> tuple[int, int]:
    """Explore up to ``limit`` nodes of the stack, whose top ``top`` are open; return how many are open, and explored.

    ``incumbent`` and ``best``, the length and the edges of the best tour, are updated.  It ends early if the stack is
    full.
    """
    stack_state, stack_u, stack_bound = stack
    graph, cuts, order = relaxation
    m, size_u, nodes = stack_state.shape[1], stack_u.shape[1], 0
    state, u, mean = np.empty(m, np.int8), np.empty(size_u), np.empty(m)
    candidates = np.empty(CANDIDATES, np.int64)
    child_state, child_u, child_bound = np.empty((2, m), np.int8), np.empty((2, size_u)), np.empty(2)
    children = (child_state, child_u, child_bound, mean, candidates)
    while top > 0 and nodes < limit and top + 2 <= len(stack_bound):
        top -= 1
        if stack_bound[top] > incumbent[0] - 1.0:
            continue
        nodes += 1
        _copy_node(stack_state[top], stack_u[top], state, u)
        bound = stack_bound[top]
        while True:
            value = _bound_node(relaxation, state, u, schedules[0], incumbent, best, mean)
            if value > incumbent[0] - 1.0:
                break
            bound = max(bound, value)
            if _count_free(state) == 0:
                _finish(graph, state, incumbent, best)
                break
            count = _branch(relaxation, state, u, schedules[1], incumbent, best, children)
            if count == 1:
                _copy_node(child_state[0], child_u[0], state, u)
                continue
            for k in range(count):
                _copy_node(child_state[k], child_u[k], stack_state[top], stack_u[top])
                stack_bound[top] = max(bound, child_bound[k])
                top += 1
            break
    return top, nodes
