"""The contracted components of Chu-Liu-Edmonds: what its kernels over sparse arcs and over matrices share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel

_DONE = -1  # state of a component that hangs from the root; 0 is untouched, i > 0 the i-th of the path


class _Forest(NamedTuple):
    """Contracted components; 0 .. N - 1 are the nodes, a cycle gets the next number.  All int32[2N].

    ``parent``: the component that swallowed this one.  ``head``, ``modifier``: the chosen arc into it.  ``state``: see
    `_DONE`.  ``path``: the growing path.  ``top``: the outermost component of a node.  ``first``, ``last``,
    ``following``: the nodes of a component as a linked list, closed by -1.
    """

    parent: np.ndarray
    head: np.ndarray
    modifier: np.ndarray
    state: np.ndarray
    path: np.ndarray
    top: np.ndarray
    first: np.ndarray
    last: np.ndarray
    following: np.ndarray


@kernel
def _new_forest(n_nodes):
    """Return the forest in which every node is a component of its own, and the root is done."""
    rows = np.empty((9, 2 * n_nodes), np.int32)
    forest = _Forest(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8])
    for m in range(n_nodes):
        forest.parent[m] = -1
        forest.modifier[m] = m
        forest.state[m] = 0
        forest.top[m] = forest.first[m] = forest.last[m] = m
        forest.following[m] = -1
    forest.state[0] = _DONE
    return forest


@kernel
def _contract(forest, bottom, depth, new):
    """Make one component, number new, of those on the path from position bottom below depth."""
    forest.parent[new] = -1
    forest.state[new] = 0
    forest.first[new] = forest.first[forest.path[bottom]]
    for position in range(bottom, depth):
        c = forest.path[position]
        forest.parent[c] = new
        if position > bottom:
            forest.following[forest.last[new]] = forest.first[c]
        forest.last[new] = forest.last[c]
        node = forest.first[c]
        while node >= 0:
            forest.top[node] = new
            node = forest.following[node]


@kernel
def _expand(forest, n_components, heads):
    """Open the components, outermost first: the arc into one displaces, on the way inwards, the arcs it cuts."""
    for c in range(n_components - 1, 0, -1):
        if forest.state[c] != 0:
            m = forest.modifier[c]
            heads[m] = forest.head[c]
            # From here on state 0 marks a component whose own arc has been displaced.
            while m != c:
                forest.state[m] = 0
                m = forest.parent[m]
    heads[0] = -1
