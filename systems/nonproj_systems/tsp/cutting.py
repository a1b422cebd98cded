"""Cuts for the Lagrangian: a linear program over the edges that are left finds them, and their multipliers.

The linear program has degrees, subtours, blossoms and combs.  Its duals are multipliers of degrees and combs; the
1-tree implies the subtours, whose duals move to the degrees.  What they prove is the value of a minimum 1-tree at these
multipliers, not that of the linear program.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from nonproj_systems.programs.solver import Program
from nonproj_systems.programs.tree_polytope import ConstraintRows
from nonproj_systems.tsp.ascent import on_grid
from nonproj_systems.tsp.fixing import fix_by_costs, sparse_marginals
from nonproj_systems.tsp.separation import Comb, crossing, random_groups, violated_combs, violated_subtours
from nonproj_systems.tsp.sparse import FORBIDDEN, Cuts, Graph, sparse_value

ROUNDS, SHRINKINGS, AT_ONCE, PATIENCE = 200, 10, 60, 12
"""Rounds of separation at most; graphs with sets shrunk in each; combs added in each; rounds without progress."""


class CutResult(NamedTuple):
    """Cuts over the edges of a graph, and multipliers.

    Attributes
    ----------
    cuts : Cuts
        Cuts whose multiplier is positive.
    multipliers : ndarray of shape (n + c,), float64
        Multipliers of the degrees and of these cuts, on the grid.
    value : float
        The optimum of the linear program.
    x : ndarray of shape (m,), float64
        Its solution.
    """

    cuts: Cuts
    multipliers: np.ndarray
    value: float
    x: np.ndarray


def comb_row(comb: Comb, graph: Graph) -> tuple[np.ndarray, float]:
    """Return a comb or subtour inequality as ``row @ x <= rhs``: float64[m], and the right-hand side.

    By the degrees, the edges that leave a tooth T are ``2 |T|`` less twice those inside it.
    """
    row, rhs = -1.0 * crossing(comb.handle, graph.tail, graph.head), -2.0
    if len(comb.teeth):
        rhs = -1.0 - 3.0 * len(comb.teeth) + 2.0 * comb.teeth.sum()
        for tooth in comb.teeth:
            row += 2.0 * (tooth[graph.tail] & tooth[graph.head])
    return row, rhs


def make_cuts(rows: list[np.ndarray], rhs: list[float]) -> Cuts:
    """Return inequalities ``row @ x <= rhs`` as `Cuts`."""
    entries = [np.flatnonzero(row) for row in rows]
    start = np.cumsum([0, *map(len, entries)]).astype(np.int64)
    edge = np.concatenate([np.zeros(0, np.int64), *entries])
    coefficient = np.concatenate([np.zeros(0), *(row[at] for row, at in zip(rows, entries, strict=True))])
    return Cuts(start, edge, coefficient, np.array(rhs, np.float64).reshape(-1))


class CutProgram:
    """The linear program of a graph, which grows by violated inequalities.

    Parameters
    ----------
    graph : Graph
    combs : list of Comb
        Inequalities to begin with.
    seed : int
        Seed for the sets that are shrunk.
    """

    def __init__(self, graph: Graph, combs: list[Comb] = (), seed: int = 1):
        self.graph, self.combs = graph, []
        self._random = np.random.default_rng(seed)
        self._program = Program()
        self._program.add_columns(-graph.weight)
        n, m = len(graph.degree), len(graph.tail)
        ends, twos = np.concatenate([graph.tail, graph.head]), np.full(n, 2.0)
        self._program.add_rows(ConstraintRows(ends, np.tile(np.arange(m), 2), np.ones(2 * m), twos, twos))
        self._known: set[bytes] = set()
        self.add(combs)

    def add(self, combs) -> int:
        """Add the inequalities that are new; return how many are."""
        before = len(self.combs)
        for comb in combs:
            row, rhs = comb_row(comb, self.graph)
            key = row.tobytes() + np.float64(rhs).tobytes()
            if key not in self._known:
                self._known.add(key)
                at = np.flatnonzero(row)
                one = np.zeros(len(at), np.int64)
                self._program.add_rows(ConstraintRows(one, at, row[at], np.array([-np.inf]), np.array([rhs])))
                self.combs.append(comb)
        return len(self.combs) - before

    def solve(self) -> tuple[float, np.ndarray]:
        """Return the optimum, a lower bound of the tours in the graph, and the solution."""
        if self._program.solve() != "optimal":
            raise ArithmeticError("the linear program of the cuts has no optimum")
        return -self._program.objective, np.clip(self._program.values, 0.0, 1.0)

    def separate(self, x: np.ndarray, combs: bool) -> list[Comb]:
        """Return violated inequalities: subtours; only if there are none, and if asked for, combs."""
        graph, at = self.graph, np.flatnonzero(x > 1e-9)
        support = (len(graph.degree), graph.tail[at].astype(np.int64), graph.head[at].astype(np.int64), x[at])
        found = violated_subtours(*support)
        if found or not combs:
            return found
        found = violated_combs(*support[1:], np.arange(support[0]))
        for _ in range(SHRINKINGS):
            found += violated_combs(*support[1:], random_groups(*support, self._random))
        return sorted(found, key=lambda comb: -comb.violation)[:AT_ONCE]

    def run(self, target: float, combs: bool = True, seconds: float = np.inf) -> float:
        """Solve and separate until nothing is violated, the target is reached or progress ends; return the optimum."""
        began, best, last = time.process_time(), -np.inf, 0
        for k in range(ROUNDS if combs else 100 * ROUNDS):
            value, x = self.solve()
            if value > best + 1e-4 * max(target - value, 0.0):
                best, last = value, k
            stuck = combs and k - last >= PATIENCE
            if value > target or stuck or time.process_time() - began > seconds:
                break
            if not self.add(self.separate(x, combs)):
                break
        return value

    def multipliers(self) -> CutResult:
        """Return the combs with positive duals, and the multipliers of the 1-tree that equal the duals."""
        graph, n = self.graph, len(self.graph.degree)
        value, x = self.solve()
        duals = self._program.duals
        u, kept = duals[:n].copy(), []
        for comb, dual in zip(self.combs, duals[n:], strict=True):
            if len(comb.teeth) and dual > 1e-7:
                kept.append((*comb_row(comb, graph), dual))
            elif not len(comb.teeth):
                u[comb.handle] -= dual
        u[0] = 0.0
        cuts = make_cuts([row for row, _, _ in kept], [rhs for _, rhs, _ in kept])
        return CutResult(cuts, on_grid(np.concatenate([u, [dual for _, _, dual in kept]])), value, x)


def fix_edges(graph: Graph, cuts: Cuts, multipliers: np.ndarray, length: float) -> tuple[float, np.ndarray]:
    """Return the dual at multipliers, and which edges may be in a tour shorter than a given length: bool[m]."""
    m = len(graph.tail)
    state, chosen = np.zeros(m, np.int8), np.zeros(m, np.int8)
    costs, marginal, order = np.zeros(m), np.zeros(m), np.argsort(graph.weight, kind="stable")
    value = sparse_value(graph, cuts, state, multipliers, order, costs, chosen)
    sparse_marginals(graph, state, costs, chosen, marginal)
    fix_by_costs(state, chosen, marginal, length - 1.0 - value)
    return value, state != FORBIDDEN


def restrict(graph: Graph, cuts: Cuts, kept: np.ndarray) -> tuple[Graph, Cuts]:
    """Return the graph with some of its edges, and the cuts over them."""
    tail, head = graph.tail[kept], graph.head[kept]
    degree = np.bincount(np.concatenate([tail, head]), minlength=len(graph.degree))
    number = np.cumsum(kept) - 1
    left = kept[cuts.edge]
    start = np.concatenate([[0], np.cumsum(left)])[cuts.start]
    found = Cuts(start, number[cuts.edge[left]], cuts.coefficient[left], cuts.rhs)
    return Graph(tail, head, graph.weight[kept], degree), found
