"""Max-product on forests, compiled, as oracles of the relaxation library."""

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
    """The best labels of one forest of a cover; the variables are indicators of its nodes' states.

    Parameters
    ----------
    field : MRF
    forests : Forests
    number : int
        Number of the forest.

    Notes
    -----
    Ties go to the lowest states.
    """

    def __init__(self, field: MRF, forests: Forests, number: int):
        self.field, self.forests, self.number = field, forests, number
        begin, end = forests.begin[number : number + 2].tolist()
        self.nodes, self._copy = forests.node[begin:end], forests.copy[begin : end + 1] - forests.copy[begin]
        first, sizes = field.graph.first[self.nodes], field.n_states[self.nodes]
        self.view = np.repeat(first - self._copy[:-1], sizes) + np.arange(self._copy[-1])

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the maximum, indicators of its variables, and the states of the forest's nodes, int64."""
        best, labels = np.empty(len(scores)), np.empty(len(self.nodes), np.int64)
        scores = np.ascontiguousarray(scores, np.float64)
        value = _max_product(self.field.graph, self.forests, self.number, scores, best, labels)
        chosen = np.zeros(len(scores))
        chosen[self._copy[:-1] + labels] = 1.0
        return value, chosen, labels


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


def labels_of(field: MRF, problem: Problem, solutions: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the labels, int64[V], of solutions that agree, one of each forest."""
    labels = np.zeros(field.n_nodes, np.int64)
    for oracle, states in zip(problem.oracles, solutions, strict=True):
        assert isinstance(oracle, ForestOracle)
        labels[oracle.nodes] = states
    return labels


def local_search(field: MRF) -> Repair:
    """Return the heuristic that changes the labels of the reference copies one at a time while the score rises."""

    def repair(proposal: Proposal) -> tuple[float, np.ndarray]:
        """Return the score of the labels, and the labels."""
        chosen = proposal.copies[proposal.problem.reference]
        labels = np.flatnonzero(chosen > 0.5) - field.graph.first[:-1]
        improve(field.graph, labels)
        return field.score(labels), labels

    return repair


@kernel
def _max_product(
    graph: Graph, forests: Forests, number: int, scores: Float64s, best: Float64s, labels: Int64s
) -> float:
    """Return the maximum of one forest with scores added to its copies, and write its labels.

    ``scores`` and ``best`` have an entry for each copy in this forest, ``labels`` one for each position.
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
