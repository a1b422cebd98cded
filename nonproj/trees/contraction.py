"""Cycle contraction of Chu-Liu-Edmonds, shared by the algorithms over sparse arcs and over score matrices.

`grow_path` follows best arcs backwards from a word, and returns as soon as the path closes a cycle.  The caller merges
the arcs into the cycle in its own representation, contracts the cycle (`contract`), selects the best arc into the new
component, and continues the path.  `expand` finally opens the components.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int32s

_CONNECTED = -1  # state of a component whose best arcs lead back to the root


class Components(NamedTuple):
    """Contracted components: 0 .. N - 1 are the nodes, and each cycle gets the next number.

    int32[2N] each, except ``entering`` and ``score``, float64[2N].  ``head``, ``modifier``, ``score``: the best arc
    into a component.  ``entering``: its score less those of the arcs that it replaces.  ``parent``: the component that
    contains this one.  ``top``: the outermost component of a node.  ``state``: 0 if not visited, i > 0 if the i-th on
    the path, or `_CONNECTED`.  ``path``: the current path.  ``first``, ``last``, ``following``: the nodes of a
    component as a linked list that ends with -1.
    """

    entering: np.ndarray
    score: np.ndarray
    head: np.ndarray
    modifier: np.ndarray
    parent: np.ndarray
    top: np.ndarray
    state: np.ndarray
    path: np.ndarray
    first: np.ndarray
    last: np.ndarray
    following: np.ndarray


@kernel
def new_components(n_nodes: int) -> Components:
    """Return components of one node each, without best arcs; the root is connected."""
    rows = np.empty((9, 2 * n_nodes), np.int32)
    entering, score = np.empty((2, 2 * n_nodes))
    components = Components(
        entering, score, rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8]
    )
    for m in range(n_nodes):
        components.parent[m] = -1
        components.modifier[m] = m
        components.state[m] = 0
        components.top[m] = components.first[m] = components.last[m] = m
        components.following[m] = -1
    components.state[0] = _CONNECTED
    return components


@kernel
def grow_path(components: Components, word: Any, depth: Any, n_nodes: int) -> tuple[Any, Any, int]:
    """Grow the path of best arcs, of this depth and started at this word, until it closes a cycle.

    Return (word, bottom, depth): the cycle is ``path[bottom:depth]``.  If bottom is -1, no arc enters the end
    of the path; if word is n_nodes, all words are connected to the root.
    """
    head, top, state, path = components.head, components.top, components.state, components.path
    entering = components.entering
    while word < n_nodes:
        c = top[word] if depth == 0 else top[head[path[depth - 1]]]
        while state[c] == 0:
            if entering[c] == -np.inf:
                return word, -1, depth
            path[depth] = c
            depth += 1
            state[c] = depth
            c = top[head[c]]
        if state[c] > 0:
            return word, state[c] - 1, depth
        for position in range(depth):
            state[path[position]] = _CONNECTED
        word, depth = word + 1, 0
    return word, 0, 0


@kernel
def contract(components: Components, bottom: int, depth: int, new: int) -> None:
    """Contract the components path[bottom:depth] into component number new."""
    components.parent[new] = -1
    components.state[new] = 0
    components.first[new] = components.first[components.path[bottom]]
    for position in range(bottom, depth):
        c = components.path[position]
        components.parent[c] = new
        if position > bottom:
            components.following[components.last[new]] = components.first[c]
        components.last[new] = components.last[c]
        node = components.first[c]
        while node >= 0:
            components.top[node] = new
            node = components.following[node]


@kernel
def expand(components: Components, n_components: int, heads: Int32s) -> None:
    """Write the heads of all words to int32[N], outermost components first.

    The arc into a component replaces the best arcs of all the components inside that contain its modifier.
    """
    for c in range(n_components - 1, 0, -1):
        if components.state[c] != 0:
            m = components.modifier[c]
            heads[m] = components.head[c]
            # From here on state 0 marks a component whose own best arc is replaced.
            while m != c:
                components.state[m] = 0
                m = components.parent[m]
    heads[0] = -1


@kernel
def largest_loss(components: Components, n_components: int, best: Float64s) -> float:
    """Return a bound on the difference between the best arc into a word and the arc of a best tree into it.

    Infinity unless the best arc into some component loses more than this: it then takes digits from other scores.  The
    components were expanded; ``best`` float64[N] are the scores of the best arcs.
    """
    lost = most = 0.0
    for c in range(1, n_components):
        below = best[components.modifier[c]] - components.score[c]
        most = max(most, below)
        if components.state[c] != 0:  # the arc is in the tree
            lost += below
    lost += 1e-9 * lost
    return lost if most > lost else np.inf
