"""Pairwise Markov random fields as arrays: nodes with any number of states, and edges with tables of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.trees.rounding import ROUNDOFF
from nonproj.types import Int64s


class Graph(NamedTuple):
    """A field as arrays for kernels; V nodes, E edges.  Node ``i`` has the states ``first[i] .. first[i + 1] - 1``.

    Attributes
    ----------
    first : ndarray of shape (V + 1,), int64
    unary : ndarray of shape (first[V],), float64
        The score of each state; minus infinity for forbidden states.
    ends : ndarray of shape (E, 2), int64
        The two nodes of each edge.
    table : ndarray of shape (E,), int64
        Start of each edge's table in ``values``; a table has a row for each state of the edge's first end.
    scale : ndarray of shape (E,), float64
        Factor of the table of each edge.
    values : ndarray of float64
        The entries of the tables, all finite.
    start, incident : ndarray of int64
        The edges of node ``i`` are ``incident[start[i] : start[i + 1]]``, by the number of the other end.
    message : ndarray of shape (E, 2), int64
        Starts of the messages to both ends of each edge in an array of all messages.
    """

    first: np.ndarray
    unary: np.ndarray
    ends: np.ndarray
    table: np.ndarray
    scale: np.ndarray
    values: np.ndarray
    start: np.ndarray
    incident: np.ndarray
    message: np.ndarray


class MRF:
    """A pairwise Markov random field: the score of labels, a sum over nodes and edges, is maximised.

    Parameters
    ----------
    unary : array-like of shape (V, k), or sequence of V arrays
        The score of each state of each node; nodes may have different numbers of states.  Minus infinity forbids a
        state.
    edges : array-like of shape (E, 2), int
        The two nodes of each edge; no loops, no edge twice.
    pairwise : array-like of shape (k, k) or (E, k, k), or sequence of E arrays
        The score of each pair of states, a row for each state of the edge's first node.  One table may serve for all
        edges.  Minus infinity forbids a pair.
    weights : array-like of shape (E,), optional
        Factors of the tables.
    shape : tuple of int, optional
        Rows and columns, if the field is a grid.

    Attributes
    ----------
    graph : Graph
    n_nodes, n_edges : int
    n_states : ndarray of shape (V,), int64
    lowest : float
        Lower bound on the score of labels without forbidden pairs.
    penalty : float
        The score of forbidden pairs; minus infinity if there are none.

    Raises
    ------
    ValueError
        If the arrays do not fit together, or a score is NaN or plus infinity.

    Notes
    -----
    Forbidden pairs get a finite score, so low that one of them outweighs everything else.

    Examples
    --------
    >>> field = MRF([[0.0, 1.0], [0.0, 0.0, 0.5]], [[0, 1]], [[[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> field.score([1, 1]), field.n_states.tolist()
    (2.0, [2, 3])
    """

    def __init__(self, unary, edges, pairwise, weights=None, shape: tuple[int, int] | None = None):
        rows, sizes = _rows(unary)
        self.n_nodes, self.n_states, self.shape = len(sizes), sizes, shape
        first = np.concatenate([[0], np.cumsum(sizes)])
        ends = np.ascontiguousarray(np.asarray(edges, np.int64).reshape(-1, 2))
        self.n_edges = len(ends)
        _check_unary(rows, first)
        _check_edges(ends, self.n_nodes)
        tables, values = _tables(pairwise, ends, sizes)
        scale = np.ones(len(ends)) if weights is None else np.array(weights, np.float64).reshape(-1)
        if scale.shape != (len(ends),) or not np.isfinite(scale).all():
            raise ValueError(f"weights have the shape {scale.shape}; {len(ends)} finite numbers are expected")
        values = self._replace_forbidden(rows, first, values, tables, scale, weights is not None)
        to_ends = np.concatenate([[0], np.cumsum(sizes[ends].ravel())])
        self.graph = Graph(
            first, rows, ends, tables, scale, values, *incidence(ends, self.n_nodes), to_ends[:-1].reshape(-1, 2)
        )

    def _replace_forbidden(self, rows, first, values, tables, scale, weighted: bool) -> np.ndarray:
        """Return the tables with finite scores; set `lowest` and `penalty`."""
        forbidden = np.isneginf(values)
        if weighted and forbidden.any():
            raise ValueError("a table with weights has the score -inf; give such tables without weights")
        lows = np.where(np.isneginf(rows), np.inf, rows)
        low, high = np.minimum.reduceat(lows, first[:-1]).sum(), np.maximum.reduceat(rows, first[:-1]).sum()
        if len(tables):
            begins, which = np.unique(tables, return_inverse=True)
            least = np.minimum.reduceat(np.where(forbidden, np.inf, values), begins)
            most = np.maximum.reduceat(values, begins)
            wholly = np.isposinf(least)
            least, most = np.where(wholly, 0.0, least)[which], np.where(wholly, 0.0, most)[which]
            low += np.minimum(scale * least, scale * most).sum()
            high += np.maximum(scale * least, scale * most).sum()
        self.lowest = float(low - 1e-6 * (1.0 + abs(low)))
        self.penalty = -np.inf
        if not forbidden.any():
            return values
        self.penalty = float(values[~forbidden].min(initial=0.0) - 2.0 * (high - low) - 1e-5 * abs(low) - 1.0)
        return np.where(forbidden, self.penalty, values)

    def score(self, labels) -> float:
        """Return the score of labels, one state for each node; minus infinity if they are forbidden."""
        labels = np.ascontiguousarray(labels, np.int64).reshape(-1)
        if labels.shape != (self.n_nodes,) or ((labels < 0) | (labels >= self.n_states)).any():
            raise ValueError(f"a state for each of {self.n_nodes} nodes is expected, counted from 0")
        found = score_labels(self.graph, labels)
        return float(found) if found >= self.lowest else -np.inf

    def rounding_error(self, sweeps: int) -> float:
        """Return the most by which rounding can lower a bound after a number of sweeps over all nodes and edges.

        Each sweep replaces scores of nodes and edges by sums over their neighbours, none of which is larger than the
        sum of the absolute values of all scores (Higham 2002, "Accuracy and stability of numerical algorithms", 4.2).
        """
        graph, first = self.graph, self.graph.first
        largest = np.maximum.reduceat(np.where(np.isneginf(graph.unary), 0.0, np.abs(graph.unary)), first[:-1]).sum()
        if self.n_edges:
            begins, which = np.unique(graph.table, return_inverse=True)
            largest += np.abs(graph.scale) @ np.maximum.reduceat(np.abs(graph.values), begins)[which]
        terms = self.n_nodes + self.n_edges + 8 * (sweeps + int(np.diff(graph.start).max()))
        return ROUNDOFF * terms * float(largest)

    def table(self, e: int) -> np.ndarray:
        """Return the scores of the pairs of states of an edge, a row for each state of its first end."""
        graph, sizes = self.graph, self.n_states[self.graph.ends[e]]
        begin = graph.table[e]
        return graph.scale[e] * graph.values[begin : begin + sizes[0] * sizes[1]].reshape(sizes)


def grid(unary, pairwise, weights=None) -> MRF:
    """Return the field of a grid whose nodes are numbered row by row.

    Parameters
    ----------
    unary : array-like of shape (height, width, k)
    pairwise, weights
        As for `MRF`; horizontal edges come first, then vertical ones, both row by row: see `grid_edges`.

    Examples
    --------
    >>> grid(np.zeros((2, 3, 4)), np.eye(4)).n_edges
    7
    """
    unary = np.asarray(unary, np.float64)
    if unary.ndim != 3:
        raise ValueError(f"the scores of a grid have the shape {unary.shape}; (height, width, states) is expected")
    height, width, k = unary.shape
    return MRF(unary.reshape(-1, k), grid_edges(height, width), pairwise, weights, (height, width))


def grid_edges(height: int, width: int) -> np.ndarray:
    """Return the edges between neighbours of a grid, int64[E, 2]: horizontal ones, then vertical ones, row by row."""
    cells = np.arange(height * width).reshape(height, width)
    across = np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], axis=1)
    down = np.stack([cells[:-1].ravel(), cells[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def _rows(unary) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of all nodes' states as one array, float64, and the number of states of each node, int64[V]."""
    if isinstance(unary, np.ndarray) and unary.ndim == 2:
        return np.array(unary, np.float64).ravel(), np.full(len(unary), unary.shape[1], np.int64)
    rows = [np.asarray(row, np.float64).reshape(-1) for row in unary]
    sizes = np.array([len(row) for row in rows], np.int64)
    return np.concatenate([np.empty(0), *rows]), sizes


def _check_unary(rows: np.ndarray, first: np.ndarray) -> None:
    """Raise a ValueError unless each node has a state that is allowed, and no score is NaN or plus infinity."""
    if len(first) < 2:
        raise ValueError("there are no nodes; one or more are expected")
    sizes = np.diff(first)
    if not sizes.all():
        raise ValueError(f"node {int(sizes.argmin())} has no states; one or more are expected")
    if np.isnan(rows).any() or np.isposinf(rows).any():
        place = int((np.isnan(rows) | np.isposinf(rows)).argmax())
        node = int(np.searchsorted(first, place, side="right")) - 1
        raise ValueError(f"a score of node {node} is {rows[place]}; a finite number or -inf is expected")
    best = np.maximum.reduceat(rows, first[:-1])
    if np.isneginf(best).any():
        raise ValueError(f"all states of node {int(np.isneginf(best).argmax())} are forbidden")


def _check_edges(ends: np.ndarray, n_nodes: int) -> None:
    """Raise a ValueError unless the edges join different existing nodes, and no two join the same nodes."""
    wrong = (ends < 0) | (ends >= n_nodes)
    if wrong.any():
        e = int(wrong.any(axis=1).argmax())
        raise ValueError(f"edge {e} joins {ends[e, 0]} and {ends[e, 1]}; nodes from 0 to {n_nodes - 1} are expected")
    if (ends[:, 0] == ends[:, 1]).any():
        e = int((ends[:, 0] == ends[:, 1]).argmax())
        raise ValueError(f"edge {e} joins node {ends[e, 0]} to itself; two different nodes are expected")
    keys = ends.min(axis=1) * n_nodes + ends.max(axis=1)
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(same):
        e, other = int(order[same[0] + 1]), int(order[same[0]])
        raise ValueError(f"edge {e} joins the nodes of edge {other}; one edge with the sum of their tables is expected")


def _tables(pairwise, ends: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the start of each edge's table, and all tables."""
    wanted = [tuple(pair) for pair in np.unique(sizes[ends], axis=0).tolist()]
    if isinstance(pairwise, np.ndarray) and pairwise.ndim == 3 and len(wanted) <= 1:
        if len(pairwise) != len(ends) or (wanted and pairwise.shape[1:] != wanted[0]):
            raise ValueError(
                f"the tables have the shape {pairwise.shape}; {(len(ends), *(wanted or [()])[0])} is expected"
            )
        begins, values = np.arange(len(ends)) * int(np.prod(pairwise.shape[1:])), np.array(pairwise, np.float64).ravel()
    elif isinstance(pairwise, np.ndarray) and pairwise.ndim == 2:
        if len(wanted) > 1 or (wanted and pairwise.shape != wanted[0]):
            raise ValueError(f"the table of all edges has the shape {pairwise.shape}; {wanted[0]} is expected")
        begins, values = np.zeros(len(ends), np.int64), np.array(pairwise, np.float64).ravel()
    else:
        begins, values = _listed(list(pairwise), ends, sizes)
    if np.isnan(values).any() or np.isposinf(values).any():
        raise ValueError("a score of a pair is NaN or +inf; a finite number or -inf is expected")
    return begins.astype(np.int64), values


def _listed(tables: Sequence[Any], ends: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the start of each edge's table, and all tables; identical objects are stored once."""
    if len(tables) != len(ends):
        raise ValueError(f"{len(ends)} edges have {len(tables)} tables; one for each is expected")
    begins, kept, known, total = np.zeros(len(ends), np.int64), [np.empty(0)], {}, 0
    for e, table in enumerate(tables):
        wanted = tuple(sizes[ends[e]].tolist())
        if (id(table), wanted) not in known:
            array = np.asarray(table, np.float64)
            if array.shape != wanted:
                raise ValueError(f"the table of edge {e} has the shape {array.shape}; {wanted} is expected")
            known[id(table), wanted] = total
            kept.append(array.ravel())
            total += array.size
        begins[e] = known[id(table), wanted]
    return begins, np.concatenate(kept)


def incidence(ends: np.ndarray, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``start`` and ``incident`` of a `Graph`: the edges of each node, by the number of the other end."""
    node, other = ends.T.ravel(), ends[:, ::-1].T.ravel()
    order = np.lexsort((other, node))
    start = np.searchsorted(node[order], np.arange(n_nodes + 1))
    return start.astype(np.int64), (order % max(len(ends), 1)).astype(np.int64)


@kernel
def score_labels(graph: Graph, labels: Int64s) -> float:
    """Return the score of labels."""
    total = 0.0
    for i in range(labels.shape[0]):
        total += graph.unary[graph.first[i] + labels[i]]
    for e in range(graph.ends.shape[0]):
        i, j = graph.ends[e, 0], graph.ends[e, 1]
        width = graph.first[j + 1] - graph.first[j]
        total += graph.scale[e] * graph.values[graph.table[e] + labels[i] * width + labels[j]]
    return total
