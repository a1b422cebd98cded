"""Clusters of three nodes: a tighter relaxation, by block coordinate descent (MPLP; Sontag et al. 2008).

Scores are kept as a reparametrisation: of nodes, of edges, and of clusters, whose sum is the field's score.  The bound
is the sum of all their maxima.  A block is an edge with its ends, or a cluster with its edges and nodes; its maxima are
replaced by its joint maximum, so the bound never rises.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s
from nonproj_systems.mrf.model import MRF, Graph, incidence


class Tight(NamedTuple):
    """A reparametrisation with clusters, changed in place.

    Attributes
    ----------
    first : ndarray of shape (V + 1,), int64
    nodes : ndarray of shape (S,), float64
        Scores of states.
    ends : ndarray of shape (E, 2), int64
        Edges of the graph, and those that clusters add.
    begin : ndarray of shape (E + 1,), int64
    edges : ndarray of float64
        The tables of all edges.
    triples : ndarray of shape (C, 3), int64
        The nodes of each cluster, in increasing order.
    sides : ndarray of shape (C, 3), int64
        Its edges: first and second node, first and third, second and third.
    shares : ndarray of shape (C, 3), int64
        Place in ``given`` of the cluster's share of each of these edges.
    given : ndarray of float64
    """

    first: np.ndarray
    nodes: np.ndarray
    ends: np.ndarray
    begin: np.ndarray
    edges: np.ndarray
    triples: np.ndarray
    sides: np.ndarray
    shares: np.ndarray
    given: np.ndarray


def start_from(field: MRF, unary: np.ndarray, messages: np.ndarray) -> Tight:
    """Return the reparametrisation that messages of `nonproj_systems.mrf.trws` have reached, without clusters.

    The ends of edges are in increasing order.
    """
    graph, sizes = field.graph, field.n_states
    nodes = unary.copy()
    ends = np.sort(graph.ends, axis=1)
    begin = np.concatenate([[0], np.cumsum(sizes[ends].prod(axis=1))])
    edges = np.empty(begin[-1])
    _spread(graph, messages, nodes, begin, edges)
    none = np.empty((0, 3), np.int64)
    return Tight(graph.first, nodes, ends, begin, edges, none, none, none, np.empty(0))


def add_clusters(tight: Tight, triples: list[tuple[int, int, int]]) -> Tight:
    """Return the reparametrisation with more clusters, each a triple of nodes in increasing order."""
    sizes = np.diff(tight.first)
    known = {(i, j): e for e, (i, j) in enumerate(tight.ends.tolist())}
    added: list[tuple[int, int]] = []
    sides = []
    for a, b, c in triples:
        for pair in ((a, b), (a, c), (b, c)):
            if pair not in known:
                known[pair] = len(tight.ends) + len(added)
                added.append(pair)
        sides.append((known[a, b], known[a, c], known[b, c]))
    ends = np.concatenate([tight.ends, np.array(added, np.int64).reshape(-1, 2)])
    lengths = sizes[ends].prod(axis=1)
    begin = np.concatenate([[0], np.cumsum(lengths)])
    edges = np.concatenate([tight.edges, np.zeros(begin[-1] - len(tight.edges))])
    new = np.array(sides, np.int64).reshape(-1, 3)
    starts = len(tight.given) + np.concatenate([[0], np.cumsum(lengths[new].ravel())])
    return tight._replace(
        ends=ends,
        begin=begin,
        edges=edges,
        triples=np.concatenate([tight.triples, np.array(triples, np.int64).reshape(-1, 3)]),
        sides=np.concatenate([tight.sides, new]),
        shares=np.concatenate([tight.shares, starts[:-1].reshape(-1, 3)]),
        given=np.concatenate([tight.given, np.zeros(starts[-1] - len(tight.given))]),
    )


def descend(tight: Tight, n_sweeps: int) -> float:
    """Sweep over all edges and clusters, to and fro; return the bound."""
    k = int(np.diff(tight.first).max())
    return float(_descend(tight, n_sweeps, np.empty((3, k, k)), np.empty((2, k))))


def gains(tight: Tight, triples: np.ndarray) -> np.ndarray:
    """Return by how much each new cluster would lower the bound at once, float64[C].

    ``triples``, int64[C, 3], are nodes in increasing order; ``sides`` are looked up.
    """
    keys = tight.ends[:, 0] * len(tight.first) + tight.ends[:, 1]
    order = np.argsort(keys)
    sides = np.empty((len(triples), 3), np.int64)
    for s, (p, q) in enumerate(((0, 1), (0, 2), (1, 2))):
        wanted = triples[:, p] * len(tight.first) + triples[:, q]
        place = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
        sides[:, s] = np.where(keys[order[place]] == wanted, order[place], -1)
    found = np.empty(len(triples))
    _gains(tight, triples, sides, found)
    return found


def decode_tight(tight: Tight, forward: bool) -> np.ndarray:
    """Return labels, int64[V], chosen node by node given those before."""
    order = np.arange(len(tight.first) - 1)
    start, incident = incidence(tight.ends, len(order))
    labels = np.zeros(len(order), np.int64)
    _decode_tight(tight, start, incident, order if forward else order[::-1].copy(), labels)
    return labels


@kernel
def _decode_tight(tight: Tight, start: Int64s, incident: Int64s, order: Int64s, labels: Int64s) -> None:
    """Choose the labels in order; ties go to the lowest state."""
    first, chosen = tight.first, np.zeros(order.shape[0], np.bool_)
    scores = np.empty(tight.nodes.shape[0])
    for i in order:
        k = first[i + 1] - first[i]
        for x in range(k):
            scores[x] = tight.nodes[first[i] + x]
        for p in range(start[i], start[i + 1]):
            e = incident[p]
            a, b = tight.ends[e, 0], tight.ends[e, 1]
            j = a + b - i
            if chosen[j]:
                width = first[b + 1] - first[b]
                for x in range(k):
                    scores[x] += tight.edges[
                        tight.begin[e] + (x * width + labels[j] if i == a else labels[j] * width + x)
                    ]
        chosen[i], labels[i] = True, 0
        for x in range(1, k):
            if scores[x] > scores[labels[i]]:
                labels[i] = x


@kernel
def _spread(graph: Graph, messages: Float64s, nodes: Float64s, begin: Int64s, edges: Float64s) -> None:
    """Add the messages to the nodes, and subtract them from the tables of the edges."""
    for e in range(graph.ends.shape[0]):
        a, b = graph.ends[e, 0], graph.ends[e, 1]
        size, width = graph.first[a + 1] - graph.first[a], graph.first[b + 1] - graph.first[b]
        to, at = graph.message[e, 0], graph.message[e, 1]
        for x in range(size):
            nodes[graph.first[a] + x] += messages[to + x]
            for y in range(width):
                value = graph.scale[e] * graph.values[graph.table[e] + x * width + y]
                cell = x * width + y if a < b else y * size + x
                edges[begin[e] + cell] = value - messages[to + x] - messages[at + y]
        for y in range(width):
            nodes[graph.first[b] + y] += messages[at + y]


@kernel
def _descend(tight: Tight, n_sweeps: int, tables: Float64s, tops: Float64s) -> float:
    """Sweep over the blocks; return the sum of all maxima."""
    n_edges, n_clusters = tight.ends.shape[0], tight.triples.shape[0]
    for k in range(n_sweeps):
        for e in range(n_edges):
            _relax_edge(tight, e if k % 2 == 0 else n_edges - 1 - e, tops)
        for n in range(n_clusters):
            c = n if k % 2 == 0 else n_clusters - 1 - n
            _relax_cluster(tight, c, tables)
            for s in range(3):
                _relax_edge(tight, tight.sides[c, s], tops)
    total = 0.0
    for i in range(tight.first.shape[0] - 1):
        total += _highest(tight.nodes, tight.first[i], tight.first[i + 1])
    for e in range(tight.ends.shape[0]):
        total += _highest(tight.edges, tight.begin[e], tight.begin[e + 1])
    for c in range(tight.triples.shape[0]):
        total += _cluster_top(tight, tight.triples[c], tight.shares[c], tight.given, -1.0)
    return total


@kernel
def _highest(values: Float64s, begin: int, end: int) -> float:
    """Return the maximum of a range."""
    top = -np.inf
    for x in range(begin, end):
        top = max(top, values[x])
    return top


@kernel
def _relax_edge(tight: Tight, e: int, tops: Float64s) -> None:
    """Share the max-marginals of an edge with its ends evenly between these."""
    a, b = tight.first[tight.ends[e, 0]], tight.first[tight.ends[e, 1]]
    size, width = tight.first[tight.ends[e, 0] + 1] - a, tight.first[tight.ends[e, 1] + 1] - b
    at = tight.begin[e]
    for x in range(size):
        tops[0, x] = -np.inf
    for y in range(width):
        tops[1, y] = -np.inf
    for x in range(size):
        for y in range(width):
            value = tight.edges[at + x * width + y] + tight.nodes[a + x] + tight.nodes[b + y]
            tight.edges[at + x * width + y] = value
            tops[0, x] = max(tops[0, x], value)
            tops[1, y] = max(tops[1, y], value)
    for x in range(size):
        tight.nodes[a + x] = 0.5 * tops[0, x]
        for y in range(width):
            tight.edges[at + x * width + y] -= 0.5 * (tops[0, x] + tops[1, y])
    for y in range(width):
        tight.nodes[b + y] = 0.5 * tops[1, y]


@kernel
def _cluster_top(tight: Tight, nodes: Int64s, starts: Int64s, values: Float64s, sign: float) -> float:
    """Return the maximum over the states of three nodes of the sum of three tables, times a sign."""
    sizes = np.empty(3, np.int64)
    for s in range(3):
        sizes[s] = tight.first[nodes[s] + 1] - tight.first[nodes[s]]
    top = -np.inf
    for x in range(sizes[0]):
        for y in range(sizes[1]):
            pair = sign * values[starts[0] + x * sizes[1] + y]
            for z in range(sizes[2]):
                value = sign * (values[starts[1] + x * sizes[2] + z] + values[starts[2] + y * sizes[2] + z])
                top = max(top, pair + value)
    return top


@kernel
def _relax_cluster(tight: Tight, c: int, tables: Float64s) -> None:
    """Collect the messages of a cluster's edges and nodes, and share its max-marginals evenly between its edges."""
    first, nodes = tight.first, tight.nodes
    sizes, places = np.empty(3, np.int64), np.empty(3, np.int64)
    for s in range(3):
        i = tight.triples[c, s]
        sizes[s], places[s] = first[i + 1] - first[i], tight.begin[tight.sides[c, s]]
        _take(tight, tight.sides[c, s])
    for s in range(3):
        for x in range(first[tight.triples[c, s]], first[tight.triples[c, s] + 1]):
            nodes[x] = 0.0
    p, q, r = sizes[0], sizes[1], sizes[2]
    u, v, w = tight.shares[c, 0], tight.shares[c, 1], tight.shares[c, 2]
    tables[:] = -np.inf
    for x in range(p):
        for y in range(q):
            pair = tight.edges[places[0] + x * q + y] - tight.given[u + x * q + y]
            for z in range(r):
                value = tight.edges[places[1] + x * r + z] - tight.given[v + x * r + z]
                value += pair + tight.edges[places[2] + y * r + z] - tight.given[w + y * r + z]
                tables[0, x, y] = max(tables[0, x, y], value)
                tables[1, x, z] = max(tables[1, x, z], value)
                tables[2, y, z] = max(tables[2, y, z], value)
    _give(tight, places[0], u, p, q, tables[0])
    _give(tight, places[1], v, p, r, tables[1])
    _give(tight, places[2], w, q, r, tables[2])


@kernel
def _take(tight: Tight, e: int) -> None:
    """Add half of the scores of an edge's ends, each of which is in two edges of a cluster, to the edge's."""
    a, b = tight.first[tight.ends[e, 0]], tight.first[tight.ends[e, 1]]
    size, width = tight.first[tight.ends[e, 0] + 1] - a, tight.first[tight.ends[e, 1] + 1] - b
    for x in range(size):
        for y in range(width):
            tight.edges[tight.begin[e] + x * width + y] += 0.5 * (tight.nodes[a + x] + tight.nodes[b + y])


@kernel
def _give(tight: Tight, place: int, share: int, size: int, width: int, table: Float64s) -> None:
    """Make the scores of an edge a third of a cluster's max-marginals; the cluster pays the difference."""
    for x in range(size):
        for y in range(width):
            cell = x * width + y
            tight.given[share + cell] += table[x, y] / 3.0 - tight.edges[place + cell]
            tight.edges[place + cell] = table[x, y] / 3.0


@kernel
def _gains(tight: Tight, triples: Int64s, sides: Int64s, found: Float64s) -> None:
    """Write by how much each new cluster would lower the bound."""
    first, sizes = tight.first, np.empty(3, np.int64)
    for c in range(triples.shape[0]):
        total, top = 0.0, -np.inf
        for s in range(3):
            i, e = triples[c, s], sides[c, s]
            sizes[s] = first[i + 1] - first[i]
            total += _highest(tight.nodes, first[i], first[i + 1])
            total += _highest(tight.edges, tight.begin[e], tight.begin[e + 1]) if e >= 0 else 0.0
        for x in range(sizes[0]):
            for y in range(sizes[1]):
                for z in range(sizes[2]):
                    value = tight.nodes[first[triples[c, 0]] + x] + tight.nodes[first[triples[c, 1]] + y]
                    value += tight.nodes[first[triples[c, 2]] + z]
                    if sides[c, 0] >= 0:
                        value += tight.edges[tight.begin[sides[c, 0]] + x * sizes[1] + y]
                    if sides[c, 1] >= 0:
                        value += tight.edges[tight.begin[sides[c, 1]] + x * sizes[2] + z]
                    if sides[c, 2] >= 0:
                        value += tight.edges[tight.begin[sides[c, 2]] + y * sizes[2] + z]
                    top = max(top, value)
        found[c] = total - top
