"""Sequential tree-reweighted message passing, TRW-S (Kolmogorov 2006), compiled for any graph.

The graph is covered by chains along which node numbers increase; a node with ``a`` earlier and ``b`` later neighbours
is in ``max(a, b)`` chains, which share its scores evenly.  A sweep visits the nodes in order and averages their
max-marginals over the chains: block coordinate descent on the dual, so the bound never rises after the first sweep.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s
from nonproj_systems.mrf.model import Graph, score_labels


def n_messages(graph: Graph) -> int:
    """Return the length of the array of all messages."""
    sizes = np.diff(graph.first)
    return int(sizes[graph.ends].sum())


def sweep(graph: Graph, messages: np.ndarray, forward: bool) -> float:
    """Pass messages once along the order of the nodes, or against it; return the upper bound that they prove.

    Parameters
    ----------
    graph : Graph
    messages : ndarray of shape (`n_messages`,), float64
        Zeros to begin with; changed in place.  The bound holds for any finite messages.
    forward : bool

    Examples
    --------
    >>> from nonproj_systems.mrf.model import MRF
    >>> field = MRF([[0.0, 1.0], [0.5, 0.0]], [[0, 1]], [[[1.0, 0.0], [0.0, 1.0]]])
    >>> sweep(field.graph, np.zeros(n_messages(field.graph)), True)
    2.0
    """
    work = np.empty((2, int(np.diff(graph.first).max())))
    return float(_sweep(graph, messages, forward, work))


def decode(graph: Graph, messages: np.ndarray, labels: np.ndarray) -> float:
    """Choose the labels node by node, given those before and the messages from later nodes; return their score.

    ``labels``, int64[V], are changed in place.  `improve` then raises their score.
    """
    work = np.empty(int(np.diff(graph.first).max()))
    _decode(graph, messages, labels, work)
    return improve(graph, labels)


def improve(graph: Graph, labels: np.ndarray, max_sweeps: int = 50) -> float:
    """Change labels one at a time while that raises the score (iterated conditional modes); return the score."""
    return float(_improve(graph, labels, max_sweeps, np.empty(int(np.diff(graph.first).max()))))


@kernel
def _sweep(graph: Graph, messages: Float64s, forward: bool, work: Float64s) -> float:
    """Pass messages once; return the bound."""
    first, ends, n_nodes, bound = graph.first, graph.ends, graph.first.shape[0] - 1, 0.0
    belief = work[0]
    for step in range(n_nodes):
        i = step if forward else n_nodes - 1 - step
        k, ahead, behind = first[i + 1] - first[i], 0, 0
        for x in range(k):
            belief[x] = graph.unary[first[i] + x]
        for p in range(graph.start[i], graph.start[i + 1]):
            e = graph.incident[p]
            side = 0 if ends[e, 0] == i else 1
            if (ends[e, 1 - side] > i) == forward:
                ahead += 1
            else:
                behind += 1
            m = graph.message[e, side]
            for x in range(k):
                belief[x] += messages[m + x]
        n, best = max(ahead, behind, 1), -np.inf
        for x in range(k):
            best = max(best, belief[x])
        for x in range(k):
            belief[x] /= n
        bound += (n - ahead) * best / n
        for p in range(graph.start[i], graph.start[i + 1]):
            e = graph.incident[p]
            side = 0 if ends[e, 0] == i else 1
            if (ends[e, 1 - side] > i) == forward:
                bound += _send(graph, messages, e, side, k, work)
    return bound


@kernel
def _send(graph: Graph, messages: Float64s, e: int, side: int, k: int, work: Float64s) -> float:
    """Send the message from one end of an edge to the other; return the maximum that is subtracted from it."""
    belief, rest = work[0], work[1]
    other = graph.ends[e, 1 - side]
    size = graph.first[other + 1] - graph.first[other]
    own, to, table, scale = graph.message[e, side], graph.message[e, 1 - side], graph.table[e], graph.scale[e]
    step, stride = (size, 1) if side == 0 else (1, k)  # between the sender's states, and the receiver's
    for x in range(k):
        rest[x] = belief[x] - messages[own + x]
    top = -np.inf
    for y in range(size):
        best, place = -np.inf, table + y * stride
        for x in range(k):
            best = max(best, rest[x] + scale * graph.values[place])
            place += step
        messages[to + y] = best
        top = max(top, best)
    for y in range(size):
        messages[to + y] -= top
    return top


@kernel
def _decode(graph: Graph, messages: Float64s, labels: Int64s, work: Float64s) -> None:
    """Choose the labels in order; ties go to the lowest state."""
    first, ends, n_nodes = graph.first, graph.ends, graph.first.shape[0] - 1
    for i in range(n_nodes):
        k = first[i + 1] - first[i]
        for x in range(k):
            work[x] = graph.unary[first[i] + x]
        for p in range(graph.start[i], graph.start[i + 1]):
            e = graph.incident[p]
            side = 0 if ends[e, 0] == i else 1
            other = ends[e, 1 - side]
            if other > i:
                m = graph.message[e, side]
                for x in range(k):
                    work[x] += messages[m + x]
            else:
                _add_conditional(graph, e, side, k, labels[other], work)
        labels[i] = 0
        for x in range(1, k):
            if work[x] > work[labels[i]]:
                labels[i] = x


@kernel
def _add_conditional(graph: Graph, e: int, side: int, k: int, label: int, work: Float64s) -> None:
    """Add the scores of an edge to the states of one end, given the label of the other."""
    other = graph.ends[e, 1 - side]
    size, scale = graph.first[other + 1] - graph.first[other], graph.scale[e]
    place, step = (graph.table[e] + label, size) if side == 0 else (graph.table[e] + label * k, 1)
    for x in range(k):
        work[x] += scale * graph.values[place]
        place += step


@kernel
def _improve(graph: Graph, labels: Int64s, max_sweeps: int, work: Float64s) -> float:
    """Change labels one at a time; return the score."""
    first, ends, n_nodes = graph.first, graph.ends, graph.first.shape[0] - 1
    for _ in range(max_sweeps):
        changed = False
        for i in range(n_nodes):
            k = first[i + 1] - first[i]
            for x in range(k):
                work[x] = graph.unary[first[i] + x]
            for p in range(graph.start[i], graph.start[i + 1]):
                e = graph.incident[p]
                side = 0 if ends[e, 0] == i else 1
                _add_conditional(graph, e, side, k, labels[ends[e, 1 - side]], work)
            best = labels[i]
            for x in range(k):
                if work[x] > work[best] + 1e-12 * (1.0 + abs(work[best])):
                    best = x
            changed = changed or best != labels[i]
            labels[i] = best
        if not changed:
            break
    return score_labels(graph, labels)
