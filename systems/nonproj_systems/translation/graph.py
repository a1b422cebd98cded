"""Search graphs: derivations are paths; best paths under Lagrange multipliers, and pruning by max-marginals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int32s, Int64s


class Graph(NamedTuple):
    """A directed acyclic graph whose paths from the first node to the last one are derivations.

    Attributes
    ----------
    arc_start : ndarray of shape (V + 1,), int64
        The arcs into node ``v`` are ``arc_start[v]`` to ``arc_start[v + 1] - 1``; nodes are in topological order.
    source : ndarray of shape (A,), int32
        The source node of each arc.
    score : ndarray of shape (A,), float64
    option : ndarray of shape (A,), int32
        The number of the phrase that ends with the arc, plus 1; 0 for none.
    """

    arc_start: np.ndarray
    source: np.ndarray
    score: np.ndarray
    option: np.ndarray


@kernel
def phrase_bonus(start: Int64s, end: Int64s, scores: Float64s) -> Float64s:
    """Return the contribution of source words' scores to each phrase, float64[O + 1]; entry 0, for no phrase, is 0."""
    prefix = np.zeros(len(scores) + 1)
    for i in range(len(scores)):
        prefix[i + 1] = prefix[i] + scores[i]
    found = np.zeros(len(start) + 1)
    for o in range(len(start)):
        found[o + 1] = prefix[end[o]] - prefix[start[o]]
    return found


@kernel
def _forward(graph: Graph, bonus: Float64s) -> tuple[Float64s, Int32s]:
    """Return the best score of a path to each node, float64[V], and the last arc of that path, int32[V]."""
    arc_start, source, score, option = graph
    size = len(arc_start) - 1
    value, back = np.full(size, -np.inf), np.full(size, -1, np.int32)
    value[0] = 0.0
    for v in range(1, size):
        best, best_arc = -np.inf, -1
        for arc in range(arc_start[v], arc_start[v + 1]):
            found = value[source[arc]] + score[arc] + bonus[option[arc]]
            if found > best:
                best, best_arc = found, arc
        value[v], back[v] = best, best_arc
    return value, back


@kernel
def backward(graph: Graph, bonus: Float64s) -> Float64s:
    """Return the best score of a path from each node to the last one, float64[V]."""
    arc_start, source, score, option = graph
    size = len(arc_start) - 1
    value = np.full(size, -np.inf)
    value[size - 1] = 0.0
    for v in range(size - 1, 0, -1):
        behind = value[v]
        if behind == -np.inf:
            continue
        for arc in range(arc_start[v], arc_start[v + 1]):
            found = behind + score[arc] + bonus[option[arc]]
            if found > value[source[arc]]:
                value[source[arc]] = found
    return value


@kernel
def best_derivation(
    graph: Graph, bonus: Float64s, start: Int64s, end: Int64s, n_words: int
) -> tuple[float, Float64s, Int64s]:
    """Return the maximum, the count of each source word in its derivation, and its phrases, int64[L]."""
    value, back = _forward(graph, bonus)
    counts, phrases = np.zeros(n_words), np.zeros(n_words + 1, np.int64)
    v, length = len(value) - 1, 0
    while v > 0 and back[v] >= 0:
        option = graph.option[back[v]]
        if option > 0:
            phrases[length] = option - 1
            length += 1
            for i in range(start[option - 1], end[option - 1]):
                counts[i] += 1.0
        v = graph.source[back[v]]
    return value[len(value) - 1], counts, phrases[:length][::-1].copy()


def prune(graph: Graph, bonus: Float64s, threshold: float) -> Graph:
    """Return the graph of all paths that score at least a threshold, and some others."""
    return Graph(*_prune(graph, bonus, threshold))


@kernel
def _prune(graph: Graph, bonus: Float64s, threshold: float) -> tuple[Int64s, Int32s, Float64s, Int32s]:
    """Return the arrays of `prune`."""
    arc_start, source, score, option = graph
    before, behind = _forward(graph, bonus)[0], backward(graph, bonus)
    size = len(arc_start) - 1
    number, kept_nodes, kept = np.full(size, -1, np.int32), 1, 0
    number[0] = 0
    new_source, new_score = np.empty(len(source), np.int32), np.empty(len(source))
    new_option, new_start = np.empty(len(source), np.int32), np.empty(size + 1, np.int64)
    new_start[0] = new_start[1] = 0
    for v in range(1, size):
        first = kept
        for arc in range(arc_start[v], arc_start[v + 1]):
            through = before[source[arc]] + score[arc] + bonus[option[arc]] + behind[v]
            if number[source[arc]] >= 0 and through >= threshold and through > -np.inf:
                new_source[kept], new_score[kept] = number[source[arc]], score[arc]
                new_option[kept] = option[arc]
                kept += 1
        if kept > first or v == size - 1:
            number[v] = kept_nodes
            kept_nodes += 1
            new_start[kept_nodes] = kept
    return (
        new_start[: kept_nodes + 1].copy(),
        new_source[:kept].copy(),
        new_score[:kept].copy(),
        new_option[:kept].copy(),
    )
