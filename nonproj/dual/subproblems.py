"""The two subproblems: an arborescence, and the head automata; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.workspace import Choice, PartStarts, Workspace, new_workspace
from nonproj.kernels.kernel import kernel
from nonproj.trees.arborescence import counted_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.types import ArcSpace, Float64s, Int8s, Int32s


class Instance(NamedTuple):
    """The arrays of a problem, in the form that kernels expect.

    Attributes
    ----------
    arcs : ArcSpace
    starts : PartStarts
        Layouts of parts over these arcs, or automata as tables.
    scores : ndarray of shape (P,), float64
        Scores of all parts; with tables, those of arcs.
    """

    arcs: ArcSpace
    starts: PartStarts
    scores: np.ndarray


class SubproblemWorkspace(NamedTuple):
    """Arrays of the subproblems.

    ``y`` int8[A] marks the arcs of the tree, ``choice`` those that automata choose; ``moved`` bool[N] and ``values``
    float64[N] have, for each automaton, whether a multiplier has changed, and the value of its best choice.
    """

    automaton: Workspace
    y: np.ndarray
    choice: Choice
    moved: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    tree: np.ndarray


@kernel
def new_work(arcs: ArcSpace, starts: PartStarts) -> SubproblemWorkspace:
    """Return the arrays of the subproblems."""
    n_arcs, size = arcs.head.shape[0], arcs.start.shape[0] - 1
    return SubproblemWorkspace(
        new_workspace(arcs, starts),
        np.zeros(n_arcs, np.int8),
        Choice(np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8)),
        np.ones(size, np.bool_),
        np.zeros(size),
        np.empty(9 * size, np.int64),
        np.empty(size, np.int32),
    )


@kernel
def find_tree(
    arcs: ArcSpace, projective: bool | None, single_root: bool, scores: Float64s, tree: Int32s
) -> tuple[int, int]:
    """Write the best tree, projective if asked for; return a status and the number of arcs examined by contraction."""
    if projective is None:
        status, contracted = counted_arborescence(arcs, scores, single_root, tree)
        return status, int(contracted)
    return best_projective_tree(arcs, scores, single_root, tree), 0


@kernel
def mark_tree(arcs: ArcSpace, scores: Float64s, tree: Int32s, y: Int8s) -> tuple[float, bool]:
    """Mark the arcs of the tree; return the sum of their scores and whether any mark changed."""
    value, changed = 0.0, False
    for a in range(y.shape[0]):
        mark = 1 if tree[arcs.modifier[a]] == arcs.head[a] else 0
        if mark == 1:
            value += scores[a]
        changed |= y[a] != mark
        y[a] = mark
    return value, changed


@kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a vector; assigning to a slice would take longer to compile, because it may fail."""
    for i in range(source.shape[0]):
        target[i] = source[i]
