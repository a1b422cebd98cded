"""Violated inequalities of fractional tours: subtours, and blossoms, of the graph itself or of one with sets shrunk.

Both come from cut trees (Gomory and Hu 1961; Gusfield 1990): subtours from that of the values themselves, blossoms from
that of ``min(x, 1 - x)`` (Letchford, Reinelt and Theis 2004); both separations are exact.  A blossom of a graph in
which tight sets are shrunk is a comb of the graph itself (Padberg and Rinaldi 1990).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s

TOLERANCE = 1e-6
"""Minimum violation of an inequality."""


class Comb(NamedTuple):
    """The inequality ``x(d(handle)) + sum of x(d(tooth)) >= 3 k + 1`` for an odd number k of disjoint teeth.

    ``d(S)`` are the edges with one end in S.  With k = 0 and 2 instead of 1 on the right it is a subtour inequality.

    Attributes
    ----------
    handle : ndarray of shape (n,), bool
    teeth : ndarray of shape (k, n), bool
    violation : float
    """

    handle: np.ndarray
    teeth: np.ndarray
    violation: float


@kernel
def _augment(
    start: Int64s,
    other: Int64s,
    edge: Int64s,
    forward: Int64s,
    residual: Float64s,
    source: int,
    sink: int,
    arrived: Int64s,
) -> float:
    """Push flow along a shortest path from source to sink; return the amount, 0 if there is none.

    ``residual[e, 0]`` is the residual capacity of edge e from its tail to its head, ``residual[e, 1]`` the reverse.
    """
    n = len(start) - 1
    queue = np.empty(n, np.int64)
    arrived[:] = -1
    arrived[source] = -2
    queue[0] = source
    count, at = 1, 0
    while at < count and arrived[sink] == -1:
        i = queue[at]
        at += 1
        for k in range(start[i], start[i + 1]):
            j = other[k]
            if arrived[j] == -1 and residual[edge[k], forward[k]] > 1e-9:
                arrived[j] = k
                queue[count] = j
                count += 1
    if arrived[sink] == -1:
        return 0.0
    amount, j = np.inf, sink
    while j != source:
        k = arrived[j]
        amount = min(amount, residual[edge[k], forward[k]])
        j = _back(start, k)
    j = sink
    while j != source:
        k = arrived[j]
        residual[edge[k], forward[k]] -= amount
        residual[edge[k], 1 - forward[k]] += amount
        j = _back(start, k)
    return amount


@kernel
def _back(start: Int64s, k: int) -> int:
    """Return the node whose list of arcs has arc ``k``."""
    low, high = 0, len(start) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if start[middle] <= k:
            low = middle
        else:
            high = middle
    return low


@kernel
def _cut_tree(
    start: Int64s, other: Int64s, edge: Int64s, forward: Int64s, capacity: Float64s, parent: Int64s, flow: Float64s
) -> None:
    """Build a cut tree: the minimum cut between a node and its parent has value ``flow``, and its subtree is a side."""
    n = len(start) - 1
    parent[:] = 0
    arrived = np.empty(n, np.int64)
    residual = np.empty((len(capacity), 2))
    for source in range(1, n):
        sink = parent[source]
        for e in range(len(capacity)):
            residual[e, 0] = residual[e, 1] = capacity[e]
        total = 0.0
        while True:
            amount = _augment(start, other, edge, forward, residual, source, sink, arrived)
            if amount == 0.0:
                break
            total += amount
        flow[source] = total
        for i in range(n):
            if i != source and arrived[i] != -1 and parent[i] == sink:
                parent[i] = source
        if arrived[parent[sink]] != -1 and sink != 0:
            parent[source], parent[sink] = parent[sink], source
            flow[source], flow[sink] = flow[sink], total


def cut_tree(n: int, tail: np.ndarray, head: np.ndarray, capacity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the fundamental cuts of a cut tree.

    Parameters
    ----------
    n : int
        Number of nodes.
    tail, head : ndarray of shape (m,), int
        The ends of the edges.
    capacity : ndarray of shape (m,), float64

    Returns
    -------
    sides : ndarray of shape (n - 1, n), bool
        Node 0 is in none of them.
    flow : ndarray of shape (n - 1,), float64
        The capacity of each cut.  The minimum cut between any two nodes is one of these.

    Examples
    --------
    >>> sides, flow = cut_tree(3, np.array([0, 1]), np.array([1, 2]), np.array([2.0, 1.0]))
    >>> sides.tolist(), flow.tolist()
    ([[False, True, True], [False, False, True]], [2.0, 1.0])
    """
    m = len(tail)
    node = np.concatenate([tail, head]).astype(np.int64)
    order = np.argsort(node, kind="stable")
    start = np.searchsorted(node[order], np.arange(n + 1))
    other = np.concatenate([head, tail]).astype(np.int64)[order]
    edge, forward = order % m if m else order, (order >= m).astype(np.int64)
    parent, flow = np.zeros(n, np.int64), np.zeros(n)
    _cut_tree(start, other, edge, forward, np.ascontiguousarray(capacity, np.float64), parent, flow)
    sides = np.eye(n, dtype=np.bool_)
    depth = np.zeros(n, np.int64)
    for i in range(1, n):
        j = i
        while j:
            depth[i], j = depth[i] + 1, parent[j]
    for i in np.argsort(-depth, kind="stable"):
        if i:
            sides[parent[i]] |= sides[i]
    return sides[1:], flow[1:]


def crossing(side: np.ndarray, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Return which edges have one end in a set of nodes, bool[m]."""
    return side[tail] != side[head]


def violated_subtours(n: int, tail: np.ndarray, head: np.ndarray, x: np.ndarray) -> list[Comb]:
    """Return violated subtour inequalities; if the result is empty, none is violated.  No set contains node 0."""
    sides, flow = cut_tree(n, tail, head, x)
    none = np.zeros((0, n), np.bool_)
    return [Comb(sides[i], none, 2.0 - flow[i]) for i in np.flatnonzero(flow < 2.0 - TOLERANCE)]


def violated_blossoms(
    n: int, tail: np.ndarray, head: np.ndarray, x: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return violated blossom inequalities ``x(d(H) - F) - x(F) >= 1 - |F|``: the set H, the edges F, the violation.

    If the result is empty, the values, between 0 and 1, violate none.
    """
    if not len(tail):
        return []
    sides, _ = cut_tree(n, tail, head, np.minimum(x, 1.0 - x))
    found = []
    for side in sides:
        cut = np.flatnonzero(crossing(side, tail, head))
        inside = x[cut] > 0.5
        if inside.sum() % 2 == 0 and len(cut):
            flip = np.abs(1.0 - 2.0 * x[cut]).argmin()
            inside[flip] = not inside[flip]
        value = x[cut][~inside].sum() + (1.0 - x[cut][inside]).sum()
        if value < 1.0 - 1e-4 and inside.sum() >= 3:
            found.append((side, cut[inside], 1.0 - value))
    return found


def violated_combs(tail: np.ndarray, head: np.ndarray, x: np.ndarray, group: np.ndarray) -> list[Comb]:
    """Return violated combs: the blossoms of the graph in which some disjoint tight sets are shrunk.

    Parameters
    ----------
    tail, head, x
        The support of a fractional tour that violates no subtour inequality: the ends of edges, and their values.
    group : ndarray of shape (n,), int64
        The number of the set that each node belongs to, from 0.

    Notes
    -----
    Teeth of more than two nodes must be disjoint from all others.  Edges as teeth need not be: their inequality says
    that an odd number of edges is not all that leaves the handle.
    """
    k = int(group.max()) + 1
    low, high, value = shrink(tail, head, x, group)
    found = []
    for side, teeth, violation in violated_blossoms(k, low, high, np.minimum(value, 1.0)):
        sets = np.array([(group == low[f]) | (group == high[f]) for f in teeth])
        if not (sets[sets.sum(1) > 2] & (sets.sum(0) > 1)).any():
            found.append(Comb(side[group], sets, violation))
    return found


def shrink(tail, head, x, group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges between groups of nodes, ``low < high``, and the sum of their values.

    Examples
    --------
    >>> shrink(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 0.5, 0.25]), np.array([0, 0, 1]))
    (array([0]), array([1]), array([0.75]))
    """
    k = int(group.max()) + 1
    low, high = np.minimum(group[tail], group[head]), np.maximum(group[tail], group[head])
    between = low != high
    code, index = np.unique(low[between] * k + high[between], return_inverse=True)
    return code // k, code % k, np.bincount(index, x[between], len(code))


def random_groups(n: int, tail: np.ndarray, head: np.ndarray, x: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return a random partition of the nodes into tight sets, int64[n].

    Two tight sets with an edge of value 1 between them, or three with edges of value 2 in all, make a tight set; at
    random some of these are shrunk, and again in the graph that results.
    """
    group = np.arange(n)
    share = random.uniform(0.2, 1.0)
    for _ in range(int(random.integers(1, 8))):
        low, high, value = shrink(tail, head, x, group)
        k = int(group.max()) + 1
        matrix = np.zeros((k, k))
        matrix[low, high] = matrix[high, low] = value
        number = np.arange(k)
        for e in random.permutation(len(low)):
            a, b = low[e], high[e]
            if number[a] != a or number[b] != b or (number == a).sum() + (number == b).sum() > 2:
                continue
            if value[e] >= 1.0 - TOLERANCE:
                if random.random() < share:
                    number[b] = a
                continue
            third = np.flatnonzero((matrix[a] > 0) & (matrix[b] > 0))
            third = third[value[e] + matrix[a, third] + matrix[b, third] >= 2.0 - TOLERANCE]
            third = [c for c in third if number[c] == c and (number == c).sum() == 1]
            if third and random.random() < share:
                number[b] = number[third[0]] = a
        kept, number = np.unique(number, return_inverse=True)
        if len(kept) == k or len(kept) < 6:
            break
        group = number[group]
    return group
