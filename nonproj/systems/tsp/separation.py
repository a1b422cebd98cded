"""Violated inequalities of fractional tours: subtours, and blossoms, of the graph itself or of one with sets shrunk.

Both come from cut trees (Gomory and Hu 1961; Gusfield 1990): subtours from that of the values themselves, blossoms from
that of ``min(x, 1 - x)`` (Letchford, Reinelt and Theis 2004); both separations are exact.  A blossom of a graph in
which tight sets are shrunk is a comb of the graph itself (Padberg and Rinaldi 1990).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel

TOLERANCE = 1e-6
"""By how much an inequality must be violated."""


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
def _augment(start, other, edge, forward, residual, source, sink, arrived):
    """Push flow along a shortest path from source to sink; return the amount, 0 if there is none.

    ``residual[e, 0]`` is what edge e can take from its tail to its head, ``residual[e, 1]`` the other way.
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
def _back(start, k):
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
def _cut_tree(start, other, edge, forward, capacity, parent, flow):
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


def violated_subtours(n: int, tail: np.ndarray, head: np.ndarray, x: np.ndarray) -> tuple[list[Comb], np.ndarray]:
    """Return violated subtour inequalities, and the tight sets: bool[k, n], crossed by edges of value 2 in all.

    Node 0 is in none of the sets.  If no inequality is returned, the values violate none.
    """
    sides, flow = cut_tree(n, tail, head, x)
    none = np.zeros((0, n), np.bool_)
    found = [Comb(sides[i], none, 2.0 - flow[i]) for i in np.flatnonzero(flow < 2.0 - TOLERANCE)]
    size = sides.sum(1)
    tight = (np.abs(flow - 2.0) <= TOLERANCE) & (size > 1) & (size < n - 1)
    return found, sides[tight]


def violated_blossoms(
    n: int, tail: np.ndarray, head: np.ndarray, x: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return violated blossom inequalities ``x(d(H) - F) - x(F) >= 1 - |F|``: the set H, the edges F, the violation.

    If there is none, the values, between 0 and 1, violate none.
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


def violated_combs(n: int, tail: np.ndarray, head: np.ndarray, x: np.ndarray, shrunk: np.ndarray) -> list[Comb]:
    """Return violated combs: the blossoms of the graph in which some disjoint sets are shrunk.

    Parameters
    ----------
    n, tail, head, x
        The support of a fractional tour that violates no subtour inequality: nodes, edges, values.
    shrunk : ndarray of shape (k, n), bool
        Disjoint tight sets.
    """
    group = np.arange(n)
    for members in shrunk:
        group[members] = np.flatnonzero(members)[0]
    _, group = np.unique(group, return_inverse=True)
    k = int(group.max()) + 1
    low, high = np.minimum(group[tail], group[head]), np.maximum(group[tail], group[head])
    code, index = np.unique((low * k + high)[low != high], return_inverse=True)
    value = np.minimum(np.bincount(index, x[low != high], len(code)), 1.0)
    found = []
    for side, teeth, violation in violated_blossoms(k, code // k, code % k, value):
        sets = [(group == code[f] // k) | (group == code[f] % k) for f in teeth]
        if np.sum(sets, axis=0).max() <= 1:
            found.append(Comb(side[group], np.array(sets), violation))
    return found


def disjoint_sets(tight: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return some of the tight sets, pairwise disjoint and of at most a third of the nodes, chosen at random."""
    used, chosen = np.zeros(tight.shape[1], np.bool_), []
    for k in random.permutation(len(tight)):
        if 3 * tight[k].sum() <= len(used) and not (tight[k] & used).any():
            used |= tight[k]
            chosen.append(k)
    return tight[chosen]
