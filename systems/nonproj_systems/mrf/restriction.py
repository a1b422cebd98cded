"""Restriction of a field to the remaining states, and its connected components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonproj_systems.mrf.model import MRF


class Restriction(NamedTuple):
    """A part of a field in which each node has two or more states.

    Attributes
    ----------
    field : MRF
    nodes : ndarray of shape (n,), int64
        The nodes of the whole field.
    states : list of ndarray
        For each of them, the states that it may have in the whole field.
    """

    field: MRF
    nodes: np.ndarray
    states: list[np.ndarray]

    def lift(self, labels: np.ndarray, whole: np.ndarray) -> None:
        """Write the labels of this part into those of the whole field."""
        whole[self.nodes] = [states[x] for states, x in zip(self.states, labels.tolist(), strict=True)]


def restrict(field: MRF, allowed: np.ndarray) -> tuple[float, np.ndarray, list[Restriction]]:
    """Return the field with some states only, as the sum of a constant and connected parts.

    Parameters
    ----------
    field : MRF
    allowed : ndarray of shape (S,), bool
        The states that remain: one or more of each node.

    Returns
    -------
    constant : float
        The score of nodes and edges all of whose states are fixed.
    labels : ndarray of shape (V,), int64
        The first state that remains of each node.
    parts : list of Restriction
        The connected parts among nodes with two or more states.

    Examples
    --------
    >>> chain = MRF(np.zeros((3, 2)), [[0, 1], [1, 2]], np.eye(2))
    >>> constant, labels, parts = restrict(chain, np.array([True, True, False, True, True, True]))
    >>> constant, labels.tolist(), [part.field.graph.unary.tolist() for part in parts]
    (0.0, [0, 1, 0], [[0.0, 1.0], [0.0, 1.0]])
    """
    graph, first = field.graph, field.graph.first
    allowed = allowed & np.isfinite(graph.unary)
    sizes = np.add.reduceat(allowed.astype(np.int64), first[:-1])
    if not sizes.all():
        raise ValueError(f"node {int(sizes.argmin())} has no state left; one or more are expected")
    places = np.flatnonzero(allowed)
    begin = np.concatenate([[0], np.cumsum(sizes)])
    labels = places[begin[:-1]] - first[:-1]
    states = {int(i): places[begin[i] : begin[i + 1]] - first[i] for i in np.flatnonzero(sizes > 1)}
    fixed = sizes == 1
    constant = float(graph.unary[first[:-1] + labels][fixed].sum())
    unary = {i: graph.unary[first[i] + states[i]].copy() for i in states}
    of_fixed = fixed[graph.ends]
    both = np.flatnonzero(of_fixed.all(axis=1))
    width = field.n_states[graph.ends[both, 1]]
    cells = graph.table[both] + labels[graph.ends[both, 0]] * width + labels[graph.ends[both, 1]]
    constant += float((graph.scale[both] * graph.values[cells]).sum())
    inner: list[tuple[int, np.ndarray]] = []
    for e in np.flatnonzero(~of_fixed.all(axis=1)).tolist():
        (i, j), table = graph.ends[e].tolist(), field.table(e)
        if fixed[i]:
            unary[j] += table[labels[i], states[j]]
        elif fixed[j]:
            unary[i] += table[states[i], labels[j]]
        else:
            inner.append((e, table[np.ix_(states[i], states[j])]))
    return constant, labels, _parts(field, states, unary, inner)


def _parts(field: MRF, states: dict[str, Any], unary: dict[str, Any], inner: list[Any]) -> list[Restriction]:
    """Return the connected parts."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not states:
        return []
    nodes = np.array(sorted(states), np.int64)
    ends = np.searchsorted(nodes, field.graph.ends[[e for e, _ in inner]].reshape(-1, 2))
    links = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(nodes), len(nodes)))
    count, part_of = connected_components(links, directed=False)
    members = np.split(np.argsort(part_of, kind="stable"), np.cumsum(np.bincount(part_of, minlength=count))[:-1])
    edges_of: list[list[int]] = [[] for _ in range(count)]
    for number, (i, _) in enumerate(ends.tolist()):
        edges_of[part_of[i]].append(number)
    local = np.empty(len(nodes), np.int64)
    found = []
    for mine, edges in zip(members, edges_of, strict=True):
        local[mine] = np.arange(len(mine))
        own = nodes[mine].tolist()
        part = MRF([unary[i] for i in own], local[ends[edges]].reshape(-1, 2), [inner[e][1] for e in edges])
        found.append(Restriction(part, nodes[mine], [states[i] for i in own]))
    return found
