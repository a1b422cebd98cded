"""Covers of a field's graph by forests: spanning trees, or rows and columns of a grid.

Rush and Collins (2012), section 6.2; Komodakis et al. (2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj_systems.mrf.model import MRF


class Forests(NamedTuple):
    """Forests that together cover a field, as arrays for kernels.

    A *position* is a node in a forest; positions are numbered forest by forest, parents before children.

    Attributes
    ----------
    begin : ndarray of shape (F + 1,), int64
        The first position of each forest.
    node : ndarray of shape (P,), int64
    parent : ndarray of shape (P,), int64
        The position of the parent; -1 for a root.
    edge : ndarray of shape (P,), int64
        The edge to the parent; -1 for a root.
    copy : ndarray of shape (P + 1,), int64
        First copy of each position's states.
    node_share, edge_share : ndarray of shape (P,), float64
        This forest's share of the scores of the node, and of the edge to the parent.
    reference : ndarray of shape (P,), int64
        The first position of the same node.
    """

    begin: np.ndarray
    node: np.ndarray
    parent: np.ndarray
    edge: np.ndarray
    copy: np.ndarray
    node_share: np.ndarray
    edge_share: np.ndarray
    reference: np.ndarray


def spanning_forests(field: MRF) -> list[np.ndarray]:
    """Return the edges of spanning forests that cover the graph: each with the maximum number of new edges.

    A grid is covered by two.

    Examples
    --------
    >>> triangle = MRF(np.zeros((3, 2)), [[0, 1], [1, 2], [0, 2]], np.eye(2))
    >>> [forest.tolist() for forest in spanning_forests(triangle)]
    [[0, 1], [2, 0]]
    """
    ends, covered = field.graph.ends, np.zeros(field.n_edges, np.bool_)
    found: list[np.ndarray] = []
    while not covered.all() or not found:
        order = np.argsort(covered, kind="stable")
        root = np.arange(field.n_nodes).tolist()
        chosen = [e for e, (i, j) in zip(order.tolist(), ends[order].tolist(), strict=True) if _join(root, i, j)]
        covered[chosen] = True
        found.append(np.array(chosen, np.int64))
    return found


def rows_and_columns(field: MRF) -> list[np.ndarray]:
    """Return the edges of two forests of a grid: all rows, and all columns."""
    if field.shape is None:
        raise ValueError("rows and columns are those of a grid; the field has no shape")
    height, width = field.shape
    across = height * (width - 1)
    return [np.arange(across), np.arange(across, field.n_edges)]


def make_forests(field: MRF, cover: list[np.ndarray]) -> Forests:
    """Return forests, each with the nodes of its edges; the first also has the nodes that have no edges.

    Raises
    ------
    ValueError
        If a set of edges has a cycle, or an edge is in none.
    """
    counts = np.bincount(np.concatenate([np.empty(0, np.int64), *cover]), minlength=field.n_edges)
    if not counts.all():
        raise ValueError(f"edge {int(counts.argmin())} is in no forest; each edge must be in one or more")
    alone = np.flatnonzero(np.diff(field.graph.start) == 0)
    cover = cover or [np.empty(0, np.int64)]
    parts = [_order(field, edges, alone if f == 0 else alone[:0], f) for f, edges in enumerate(cover)]
    begin = np.cumsum([0, *(len(part[0]) for part in parts)])
    node, parent, edge = (np.concatenate([part[k] for part in parts]) for k in range(3))
    parent = np.where(parent >= 0, parent + np.repeat(begin[:-1], np.diff(begin)), -1)
    _, reference, which = np.unique(node, return_index=True, return_inverse=True)
    copy = np.concatenate([[0], np.cumsum(field.n_states[node])])
    seen = np.bincount(node, minlength=field.n_nodes)
    edge_share = 1.0 / np.where(edge >= 0, counts[edge] if len(counts) else 1.0, 1.0)
    return Forests(begin, node, parent, edge, copy, 1.0 / seen[node], edge_share, reference[which])


def _order(field: MRF, edges: np.ndarray, alone: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes of one forest breadth first, the positions of their parents, and the edges to them."""
    pairs = field.graph.ends[edges].tolist()
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for e, (i, j) in zip(edges.tolist(), pairs, strict=True):
        neighbours.setdefault(i, []).append((j, e))
        neighbours.setdefault(j, []).append((i, e))
    nodes: list[int] = []
    parents, used, known = nodes.copy(), nodes.copy(), set(nodes)
    for root in sorted(neighbours):
        if root in known:
            continue
        known.add(root)
        place = len(nodes)
        nodes.append(root)
        parents.append(-1)
        used.append(-1)
        while place < len(nodes):
            for j, e in neighbours[nodes[place]]:
                if e != used[place]:
                    if j in known:
                        raise ValueError(f"forest {number} has a cycle; trees are expected")
                    known.add(j)
                    nodes.append(j)
                    parents.append(place)
                    used.append(e)
            place += 1
    roots = np.full(len(alone), -1)
    return (
        np.concatenate([np.array(nodes, np.int64), alone]),
        np.concatenate([np.array(parents, np.int64), roots]),
        np.concatenate([np.array(used, np.int64), roots]),
    )


def _join(root: list[int], i: int, j: int) -> bool:
    """Join the sets of two nodes; return whether they were different."""
    for k in (i, j):
        while root[k] != root[root[k]]:
            root[k] = root[root[k]]
    while root[i] != i:
        i = root[i]
    while root[j] != j:
        j = root[j]
    root[i] = j
    return i != j
