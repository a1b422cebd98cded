"""Variable elimination: the exact solution if the graph is nearly a tree (Bertele and Brioschi 1972)."""

from __future__ import annotations

import heapq

import numpy as np

from nonproj_systems.mrf.model import MRF


def eliminate(field: MRF, max_table: int = 1 << 18, max_work: int = 1 << 23) -> tuple[float, np.ndarray] | None:
    """Return the optimum and its labels by eliminating one node after the other, or None if that takes too much.

    Parameters
    ----------
    field : MRF
    max_table, max_work : int
        Entries of the largest table, and of all tables together, at most.

    Notes
    -----
    The next node is that whose table with its neighbours is smallest.

    Examples
    --------
    >>> value, labels = eliminate(MRF(np.zeros((3, 2)), [[0, 1], [1, 2], [0, 2]], -np.eye(2)))
    >>> value, labels.tolist()
    (-1.0, [1, 0, 0])
    """
    order = _order(field, max_table, max_work)
    if order is None:
        return None
    graph, first = field.graph, field.graph.first
    tables: list[dict[tuple[int, ...], np.ndarray]] = [{} for _ in range(field.n_nodes)]
    rank = np.empty(field.n_nodes, np.int64)
    rank[[i for i, _ in order]] = np.arange(len(order))

    def keep(scope: tuple[int, ...], table: np.ndarray) -> None:
        """Add a table to those of its node that is eliminated first."""
        owner = tables[min(scope, key=lambda i: rank[i])]
        owner[scope] = owner[scope] + table if scope in owner else table

    for i in range(field.n_nodes):
        keep((i,), graph.unary[first[i] : first[i + 1]])
    for e, (i, j) in enumerate(graph.ends.tolist()):
        keep(*(((i, j), field.table(e)) if i < j else ((j, i), field.table(e).T)))
    total, choices = 0.0, []
    for i, neighbours in order:
        scope = (*neighbours, i)
        joint = np.zeros([field.n_states[j] for j in scope])
        for own, table in tables[i].items():
            joint += _aligned(table, own, scope)
        choices.append((i, neighbours, joint.argmax(axis=-1).astype(np.min_scalar_type(joint.shape[-1]))))
        rest = joint.max(axis=-1)
        if neighbours:
            keep(neighbours, rest)
        else:
            total += float(rest)
        tables[i] = {}
    labels = np.zeros(field.n_nodes, np.int64)
    for i, neighbours, best in reversed(choices):
        labels[i] = best[tuple(labels[list(neighbours)])]
    return total, labels


def _aligned(table: np.ndarray, own: tuple[int, ...], scope: tuple[int, ...]) -> np.ndarray:
    """Return a table with its axes in the order of a larger scope, of length 1 for missing axes."""
    ranks = [scope.index(j) for j in own]
    moved = table.transpose(np.argsort(ranks))
    shape = [1] * len(scope)
    for rank in ranks:
        shape[rank] = table.shape[ranks.index(rank)]
    return moved.reshape(shape)


def _order(field: MRF, max_table: int, max_work: int) -> list[tuple[int, tuple[int, ...]]] | None:
    """Return the nodes in the order of their elimination, with their neighbours then; None if a limit is exceeded."""
    # Even nodes with one state count twice: numpy has no arrays of more than 64 axes.
    sizes, near = np.maximum(field.n_states, 2).tolist(), [set() for _ in range(field.n_nodes)]
    for i, j in field.graph.ends.tolist():
        near[i].add(j)
        near[j].add(i)

    def weight(i: int) -> int:
        """Return the size of a node's table with its neighbours, capped."""
        total = sizes[i]
        for j in near[i]:
            total *= sizes[j]
            if total > max_table:
                return max_table + 1
        return total

    heap = [(weight(i), i) for i in range(field.n_nodes)]
    heapq.heapify(heap)
    known, order, work = {i: w for w, i in heap}, [], 0
    while heap:
        w, i = heapq.heappop(heap)
        if known.get(i) != w:
            continue
        del known[i]
        work += w
        if w > max_table or work > max_work:
            return None
        order.append((i, tuple(sorted(near[i]))))
        for j in near[i]:
            near[j] |= near[i]
            near[j] -= {i, j}
        for j in near[i]:
            changed = weight(j)
            if changed != known[j]:
                known[j] = changed
                heapq.heappush(heap, (changed, j))
    return order
