"""Refined graphs: their nodes also record the exactly counted words translated so far, and spans.

The nodes of a graph are split, in their order, by the words that the paths to them have translated.  With the best
score from each node to the end, paths that cannot score as much as a known derivation are left out.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int32s, Int64s
from nonproj_systems.translation.graph import Graph, backward, phrase_bonus
from nonproj_systems.translation.instance import Instance

MAX_COUNTED = 40
"""Maximum number of words that one refinement counts exactly: with a span they fit into 62 bits."""

SPAN_BITS = 14


@kernel
def _phrase_bits(start: Int64s, end: Int64s, words: Int64s) -> Int64s:
    """Return the subset of some words that each phrase translates, as bits, int64[O]."""
    found = np.zeros(len(start), np.int64)
    for o in range(len(start)):
        for k in range(len(words)):
            if start[o] <= words[k] < end[o]:
                found[o] |= np.int64(1) << k
    return found


@kernel
def _follow(state: int, bits: int, start: int, end: int, spans: bool) -> int:
    """Return the state after a phrase, -1 if it is not allowed.

    A state is the set of counted words translated so far, then the span of words translated last.
    """
    done = state >> SPAN_BITS
    if done & bits:
        return np.int64(-1)
    done |= bits
    if not spans:
        return done << SPAN_BITS
    low, high = (state >> 7) & 127, state & 127
    if start < high and end > low:
        return np.int64(-1)
    if start == high:
        start = low
    elif end == low:
        end = high
    return done << SPAN_BITS | start << 7 | end


@kernel
def _grown(array: Float64s | Int32s | Int64s, size: int) -> Float64s | Int32s | Int64s:
    """Return an array enlarged to twice its length, and at least ``size`` entries."""
    found = np.empty(max(2 * len(array), size), array.dtype)
    found[: len(array)] = array
    return found


@kernel
def _refine(
    graph: Graph,
    bonus: Float64s,
    threshold: float,
    behind: Float64s,
    phrases: tuple[Int64s, Int64s, Int64s],
    complete: int,
    spans: bool,
    max_arcs: int,
) -> tuple[Int64s, Int32s, Float64s, Int32s, bool]:
    """Return the arrays of the refined graph, and whether its size is allowed.

    ``phrases`` are start, end and bits of each phrase; ``complete`` are the bits of all counted words.
    """
    arc_start, source, score, option = graph
    starts, ends, bits = phrases
    size, last = len(arc_start) - 1, len(arc_start) - 2
    first = np.zeros(size + 1, np.int64)  # the new nodes of each node
    first[1] = 1
    state, value = np.zeros(1024, np.int64), np.zeros(1024)
    new_start = np.zeros(1026, np.int64)
    new_source, new_score, new_option = np.empty(4096, np.int32), np.empty(4096), np.empty(4096, np.int32)
    arcs, nodes = 0, 1
    from_node, by_arc, keys = np.empty(256, np.int64), np.empty(256, np.int64), np.empty(256, np.int64)
    for v in range(1, size):
        found = 0
        for arc in range(arc_start[v], arc_start[v + 1]):
            gain, o = score[arc] + bonus[option[arc]], option[arc] - 1
            for node in range(first[source[arc]], first[source[arc] + 1]):
                if value[node] + gain + behind[v] < threshold:
                    continue
                key = state[node]
                if o >= 0:
                    key = _follow(key, bits[o], starts[o], ends[o], spans)
                    if key < 0:
                        continue
                if v == last:
                    if key >> SPAN_BITS != complete:
                        continue
                    key = np.int64(0)
                if found == len(keys):
                    from_node, by_arc, keys = _grown(from_node, 0), _grown(by_arc, 0), _grown(keys, 0)
                from_node[found], by_arc[found], keys[found] = node, arc, key
                found += 1
        if arcs + found > max_arcs:
            return arc_start, source, score, option, False
        if arcs + found > len(new_source):
            new_source, new_score = _grown(new_source, arcs + found), _grown(new_score, arcs + found)
            new_option = _grown(new_option, arcs + found)
        if nodes + found > len(state):
            state, value = _grown(state, nodes + found), _grown(value, nodes + found)
            new_start = _grown(new_start, nodes + found + 2)
        nodes, arcs = _append(
            (from_node[:found], by_arc[:found], keys[:found]),
            graph,
            bonus,
            (new_start, state, value),
            (new_source, new_score, new_option),
            nodes,
            arcs,
        )
        first[v + 1] = nodes
    reached = first[last + 1] > first[last]
    if not reached:
        arcs = 0
    new_score, new_option = new_score[:arcs].copy(), new_option[:arcs].copy()
    return new_start[: nodes + 1].copy(), new_source[:arcs].copy(), new_score, new_option, True


@kernel
def _append(
    found: tuple[Int64s, Int64s, Int64s],
    graph: Graph,
    bonus: Float64s,
    new_nodes: tuple[Int64s, Int64s, Float64s],
    new_arcs: tuple[Int32s, Float64s, Int32s],
    nodes: int,
    arcs: int,
) -> tuple[int, int]:
    """Add the nodes that refine a node, one for each state, and the arcs into them; return the numbers of both."""
    from_node, by_arc, keys = found
    new_start, state, value = new_nodes
    new_source, new_score, new_option = new_arcs
    order = np.argsort(keys) if len(keys) > 1 else np.arange(len(keys))
    for i in range(len(order)):
        k = order[i]
        if i == 0 or keys[k] != keys[order[i - 1]]:
            state[nodes], value[nodes] = keys[k], -np.inf
            nodes += 1
        arc = by_arc[k]
        new_source[arcs], new_score[arcs], new_option[arcs] = from_node[k], graph.score[arc], graph.option[arc]
        arcs += 1
        new_start[nodes] = arcs
        total = value[from_node[k]] + graph.score[arc] + bonus[graph.option[arc]]
        value[nodes - 1] = max(value[nodes - 1], total)
    return nodes, arcs


def refine(
    graph: Graph,
    instance: Instance,
    words=(),
    spans: bool = False,
    scores=None,
    threshold: float = -np.inf,
    max_arcs: int = 1 << 62,
) -> Graph | None:
    """Return the graph of the derivations that translate given words exactly once.

    Parameters
    ----------
    graph : Graph
    instance : Instance
    words : sequence of int
        Source words, at most `MAX_COUNTED`: bits of the new graph's states (Chang and Collins 2011).
    spans : bool
        Also leave out derivations in which a phrase overlaps the span of source words that the phrases just before it
        translate without a gap, as in the paper.
    scores : ndarray of shape (N,), float64, optional
        Lagrange multipliers, as scores of source words, for the threshold.
    threshold : float
        Leave out paths that score less.
    max_arcs : int
        Maximum number of arcs.

    Returns
    -------
    Graph or None
        None if it would have more than ``max_arcs`` arcs.  It has no arcs if no derivation is left.
    """
    if len(words) > MAX_COUNTED:
        raise ValueError(f"{len(words)} words are to be counted; at most {MAX_COUNTED} are expected")
    scores = np.zeros(instance.n_words) if scores is None else np.asarray(scores, np.float64)
    bonus = phrase_bonus(instance.start, instance.end, scores)
    bits = _phrase_bits(instance.start, instance.end, np.asarray(words, np.int64))
    phrases = instance.start, instance.end, bits
    complete = (1 << len(words)) - 1
    *arrays, fits = _refine(
        graph, bonus, float(threshold), backward(graph, bonus), phrases, complete, bool(spans), int(max_arcs)
    )
    return Graph(*arrays) if fits else None
