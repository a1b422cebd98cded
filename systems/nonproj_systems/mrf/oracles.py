"""Max-product and sum-product on forests, compiled, as oracles of the relaxation library."""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s
from nonproj_systems.mrf.cover import Forests, make_forests
from nonproj_systems.mrf.model import MRF, Graph
from nonproj_systems.mrf.trws import improve
from nonproj_systems.relaxation.primal import Proposal, Repair
from nonproj_systems.relaxation.problem import Problem


class ForestOracle:
    """The best labels of one forest of a cover; the variables say which state each of its nodes has.

    Parameters
    ----------
    field : MRF
    forests : Forests
    number : int
        Number of the forest.

    Notes
    -----
    All that it returns costs one or two passes over the forest.  Ties go to the lowest states.
    """

    def __init__(self, field: MRF, forests: Forests, number: int):
        self.field, self.forests, self.number = field, forests, number
        begin, end = forests.begin[number : number + 2].tolist()
        nodes, self._copy = forests.node[begin:end], forests.copy[begin : end + 1] - forests.copy[begin]
        first, sizes = field.graph.first[nodes], field.n_states[nodes]
        self.view = np.repeat(first - self._copy[:-1], sizes) + np.arange(self._copy[-1])
        self._sizes = sizes

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the maximum, the variables there, and the states of the forest's nodes, int64."""
        best, labels = np.empty(len(scores)), np.empty(len(self._sizes), np.int64)
        scores = np.ascontiguousarray(scores, np.float64)
        value = max_product(self.field.graph, self.forests, self.number, scores, best, labels)
        chosen = np.zeros(len(scores))
        chosen[self._copy[:-1] + labels] = 1.0
        return value, chosen, labels

    def max_marginals(self, scores: np.ndarray) -> np.ndarray:
        """Return the maximum where each variable is 0 and where it is 1, float64[n, 2]; minus infinity if never."""
        found = np.empty((2, len(scores)))
        scores = np.ascontiguousarray(scores, np.float64)
        _both_ways(self.field.graph, self.forests, self.number, scores, 0.0, found)
        ones = found[0] + found[1]
        return np.stack([_others(ones, self._copy), ones], axis=1)

    def marginals(self, scores: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        """Return the smoothed maximum and its gradient, by sum-product."""
        found = np.empty((2, len(scores)))
        scores = np.ascontiguousarray(scores, np.float64)
        value = _both_ways(self.field.graph, self.forests, self.number, scores, float(temperature), found)
        totals = found[0] + found[1]
        totals -= np.repeat(np.maximum.reduceat(totals, self._copy[:-1]), self._sizes)
        shares = np.exp(totals / temperature)
        return value, shares / np.repeat(np.add.reduceat(shares, self._copy[:-1]), self._sizes)


def make_problem(field: MRF, cover: list[np.ndarray]) -> Problem:
    """Return the problem of a cover: an oracle for each forest; the shared variables are the states of the nodes.

    Parameters
    ----------
    field : MRF
    cover : list of ndarray
        The edges of each forest; see `nonproj_systems.mrf.cover`.

    Examples
    --------
    >>> from nonproj_systems.relaxation.solver import solve
    >>> from nonproj_systems.relaxation.steps import Decaying
    >>> from nonproj_systems.relaxation.subgradient import Subgradient
    >>> from nonproj_systems.mrf.cover import spanning_forests
    >>> triangle = MRF([[0.0, 3.0], [2.0, 0.0], [1.0, 0.0]], [[0, 1], [1, 2], [0, 2]], np.eye(2))
    >>> found = solve(make_problem(triangle, spanning_forests(triangle)), Subgradient(Decaying(1.0)))
    >>> found.primal_value, found.certified
    (7.0, True)
    """
    forests = make_forests(field, cover)
    oracles = [ForestOracle(field, forests, f) for f in range(len(forests.begin) - 1)]
    return Problem(oracles, len(field.graph.unary), [oracle.view for oracle in oracles])


def groups(field: MRF) -> list[np.ndarray]:
    """Return the variables of each node: the groups of `CoordinateDescent`."""
    first = field.graph.first
    return [np.arange(first[i], first[i + 1]) for i in range(field.n_nodes)]


def local_search(field: MRF) -> Repair:
    """Return the heuristic that changes the labels of the reference copies, one at a time, while they get better."""

    def repair(proposal: Proposal) -> tuple[float, np.ndarray]:
        """Return the score of the labels, and the labels."""
        chosen = proposal.copies[proposal.problem.reference]
        labels = np.flatnonzero(chosen > 0.5) - field.graph.first[:-1]
        improve(field.graph, field.graph.unary, labels)
        return field.score(labels), labels

    return repair


def _others(values: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """Return for each entry the maximum of the other entries of its node; minus infinity if there is no other."""
    sizes = np.diff(begin)
    best = np.maximum.reduceat(values, begin[:-1])
    is_best = values == np.repeat(best, sizes)
    second = np.maximum.reduceat(np.where(is_best, -np.inf, values), begin[:-1])
    several = np.add.reduceat(is_best.astype(np.int64), begin[:-1]) > 1
    return np.where(is_best & ~np.repeat(several, sizes), np.repeat(second, sizes), np.repeat(best, sizes))


@kernel
def max_product(graph: Graph, forests: Forests, number: int, scores: Float64s, best: Float64s, labels: Int64s) -> float:
    """Return the maximum of one forest with scores added to its copies, and write its labels.

    ``scores`` and ``best`` are float64, the copies of this forest; ``labels`` int64, its positions.
    """
    begin, end = forests.begin[number], forests.begin[number + 1]
    offset = forests.copy[begin]
    for p in range(begin, end):
        at, node, share = forests.copy[p] - offset, graph.first[forests.node[p]], forests.node_share[p]
        for x in range(forests.copy[p + 1] - forests.copy[p]):
            best[at + x] = share * graph.unary[node + x] + scores[at + x]
    total = 0.0
    for p in range(end - 1, begin - 1, -1):
        at, k = forests.copy[p] - offset, forests.copy[p + 1] - forests.copy[p]
        q, e = forests.parent[p], forests.edge[p]
        if q < 0:
            top = -np.inf
            for x in range(k):
                top = max(top, best[at + x])
            total += top
            continue
        to, size = forests.copy[q] - offset, forests.copy[q + 1] - forests.copy[q]
        step, stride = (size, 1) if graph.ends[e, 0] == forests.node[p] else (1, k)
        share = forests.edge_share[p] * graph.scale[e]
        for y in range(size):
            top, place = -np.inf, graph.table[e] + y * stride
            for x in range(k):
                top = max(top, best[at + x] + share * graph.values[place])
                place += step
            best[to + y] += top
    for p in range(begin, end):
        at, k = forests.copy[p] - offset, forests.copy[p + 1] - forests.copy[p]
        q, e, chosen, top = forests.parent[p], forests.edge[p], 0, -np.inf
        place, step, share = 0, 0, 0.0
        if q >= 0:
            y, size = labels[q - begin], forests.copy[q + 1] - forests.copy[q]
            step, stride = (size, 1) if graph.ends[e, 0] == forests.node[p] else (1, k)
            place, share = graph.table[e] + y * stride, forests.edge_share[p] * graph.scale[e]
        for x in range(k):
            value = best[at + x] + (share * graph.values[place + x * step] if q >= 0 else 0.0)
            if value > top:
                top, chosen = value, x
        labels[p - begin] = chosen
    return total


@kernel
def _both_ways(
    graph: Graph, forests: Forests, number: int, scores: Float64s, temperature: float, found: Float64s
) -> float:
    """Pass messages up and down; ``found[0] + found[1]`` is then the (smoothed) maximum with each state.

    A temperature of 0 is the maximum itself.  ``found[0]`` is what comes from below, own scores included.
    """
    begin, end = forests.begin[number], forests.begin[number + 1]
    offset, total, up, down = forests.copy[begin], 0.0, found[0], found[1]
    for p in range(begin, end):
        at, node, share = forests.copy[p] - offset, graph.first[forests.node[p]], forests.node_share[p]
        for x in range(forests.copy[p + 1] - forests.copy[p]):
            up[at + x] = share * graph.unary[node + x] + scores[at + x]
            down[at + x] = 0.0
    for p in range(end - 1, begin - 1, -1):
        if forests.parent[p] < 0:
            at, k = forests.copy[p] - offset, forests.copy[p + 1] - forests.copy[p]
            total += _join(up[at : at + k], temperature)
        else:
            _pass_up(graph, forests, p, offset, temperature, up)
    rest = np.empty(found.shape[1])
    for p in range(begin, end):
        q = forests.parent[p]
        if q >= 0:
            _pass_down(graph, forests, p, offset, temperature, found, rest)
        else:
            # What is outside a tree: the other trees.
            at, k = forests.copy[p] - offset, forests.copy[p + 1] - forests.copy[p]
            own = _join(up[at : at + k], temperature)
            for x in range(k):
                down[at + x] = total - own
    return total


@kernel
def _pass_up(graph: Graph, forests: Forests, p: int, offset: int, temperature: float, up: Float64s) -> None:
    """Add the message of a position to its parent."""
    at, k = forests.copy[p] - offset, forests.copy[p + 1] - forests.copy[p]
    q, e = forests.parent[p], forests.edge[p]
    to, size = forests.copy[q] - offset, forests.copy[q + 1] - forests.copy[q]
    step, stride = (size, 1) if graph.ends[e, 0] == forests.node[p] else (1, k)
    share, row = forests.edge_share[p] * graph.scale[e], np.empty(k)
    for y in range(size):
        for x in range(k):
            row[x] = up[at + x] + share * graph.values[graph.table[e] + y * stride + x * step]
        up[to + y] += _join(row, temperature)


@kernel
def _pass_down(
    graph: Graph, forests: Forests, p: int, offset: int, temperature: float, found: Float64s, rest: Float64s
) -> None:
    """Write the message from the parent of a position: everything except the message from this position."""
    up, down = found[0], found[1]
    at, k = forests.copy[p] - offset, forests.copy[p + 1] - forests.copy[p]
    q, e = forests.parent[p], forests.edge[p]
    to, size = forests.copy[q] - offset, forests.copy[q + 1] - forests.copy[q]
    step, stride = (size, 1) if graph.ends[e, 0] == forests.node[p] else (1, k)
    share, row, column = forests.edge_share[p] * graph.scale[e], np.empty(k), np.empty(size)
    for y in range(size):
        for x in range(k):
            row[x] = up[at + x] + share * graph.values[graph.table[e] + y * stride + x * step]
        own = _join(row, temperature)
        # A state that is forbidden, at the parent or by all states here, stays so.
        rest[y] = up[to + y] + down[to + y] - own if own > -np.inf else -np.inf
    for x in range(k):
        for y in range(size):
            column[y] = rest[y] + share * graph.values[graph.table[e] + y * stride + x * step]
        down[at + x] = _join(column[:size], temperature)


@kernel
def _join(values: Float64s, temperature: float) -> float:
    """Return the maximum, or ``temperature * log(sum(exp(values / temperature)))``."""
    top = -np.inf
    for x in range(values.shape[0]):
        top = max(top, values[x])
    if temperature == 0.0 or top == -np.inf:
        return top
    total = 0.0
    for x in range(values.shape[0]):
        total += np.exp((values[x] - top) / temperature)
    return top + temperature * np.log(total)
