"""Arrays of the compiled head automata: layouts of parts, copies of the scores of arcs, choices, workspaces.

An arc ``h -> m`` has a score in two automata: ``z`` where ``h`` chooses ``m`` as a modifier, and
``grandparent`` where ``m`` chooses ``h`` as the grandparent of its own modifiers (``z`` and ``z_up`` in the
paper).  Every split of the arc's score over the two gives the same model on trees; an even one lets a word without
modifiers see the score of its own arc when it chooses its grandparent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.general import FREE, HalfWorkspace, Paths, new_paths
from nonproj.kernels.kernel import kernel
from nonproj.parts.automaton import HeadAutomata
from nonproj.types import ArcSpace, Float64s

LANES = 4
"""Number of grandparents for which a head is decoded at the same time."""

NO_PARTS = np.empty(0, np.int64)
"""Layout of a part type that a set does not have."""


class ThirdOrderStarts(NamedTuple):
    """Layouts of grand-sibling and tri-sibling parts, int64 each (see the part types); empty where the set has none."""

    grandsibling: np.ndarray
    trisibling: np.ndarray


class PartStarts(NamedTuple):
    """Layouts of sibling and grandparent parts, int64 each (see the part types); empty where the set has none.

    ``third`` is None in sets without parts of third order, and ``tables`` is None unless the automata are given as
    tables, in place of parts.  None has a type of its own, so kernels are compiled without code for absent parts.
    """

    sibling: np.ndarray
    grandparent: np.ndarray
    third: ThirdOrderStarts | None
    tables: HeadAutomata | None = None


class SplitScores(NamedTuple):
    """The three copies of each arc's score, float64[A] each; multipliers change them, but not their sum.

    Attributes
    ----------
    y : ndarray
        In the tree.
    z : ndarray
        In the automaton of the arc's head.
    grandparent : ndarray
        In the automaton of the arc's modifier, which chooses the arc's head as grandparent.
    """

    y: np.ndarray
    z: np.ndarray
    grandparent: np.ndarray


class Choice(NamedTuple):
    """Choices of the automata, int8[A]: ``z`` marks arcs to modifiers, ``z_grandparent`` those from grandparents."""

    z: np.ndarray
    z_grandparent: np.ndarray


class TableWorkspace(NamedTuple):
    """Automata given as tables, with arrays of one half-automaton, the paths, and `FREE` for each arc, int8[A]."""

    automata: HeadAutomata
    half: HalfWorkspace
    paths: Paths
    free: np.ndarray


class Workspace(NamedTuple):
    """Arrays for one automaton: ``best`` float64[4 A + 8] or more, ``back`` int32[A + 2], ``gain`` float64[4 A].

    ``tables`` is None unless the automata are given as tables.
    """

    best: np.ndarray
    back: np.ndarray
    gain: np.ndarray
    tables: TableWorkspace | None


MOST_INFLUENCE = 16.0
"""Limit of all `half_margins` but the smallest, in units of the largest absolute score of a part other than an arc."""


@kernel
def half_margins(arcs: ArcSpace, scores: Float64s, largest: float) -> Float64s:
    """Return half the margin of the best arc into each word over the second best, float64[N], up to a limit.

    Parameters
    ----------
    arcs : ArcSpace
    scores : ndarray of shape (A,) or more, float64
        Scores of parts, arcs first.
    largest : float
        The largest absolute score of a part other than an arc.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> half_margins(full_arc_space(2), np.array([-1.0, 0.0, -4.0, 0.0]), 1.0)
    array([0. , 0.5, 2. ])
    """
    n_nodes, least = arcs.start.shape[0] - 1, np.inf
    half = np.zeros(n_nodes)
    for m in range(1, n_nodes):
        first = second = -np.inf
        for a in range(arcs.start[m], arcs.start[m + 1]):
            if scores[a] > first:
                first, second = scores[a], first
            else:
                second = max(second, scores[a])
        if -np.inf < second < first:
            half[m] = 0.5 * (first - second)
            least = min(least, half[m])
    for m in range(1, n_nodes):
        half[m] = min(half[m], max(MOST_INFLUENCE * largest, least))
    return half


@kernel
def first_copies(arcs: ArcSpace, scores: Float64s, moved: Float64s, beta: float, tau: float) -> Float64s:
    """Return the initial copies of the arcs' scores, in the order of `SplitScores`, float64[3 A].

    A constant on all arcs into a word does not change the ranking of trees, but it changes whether automata take these
    arcs.  So a constant for each word is added to the automata's copies, and subtracted from the tree's.

    Parameters
    ----------
    arcs : ArcSpace
    scores : ndarray of shape (A,) or more, float64
        Scores of parts, arcs first.
    moved : ndarray of shape (N,), float64
        The constant of each word.
    beta, tau : float
        The tree's share of each score, and the share of the head's automaton in the rest: 1 without grandparents.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> scores, moved = np.array([-1.0, 0.0, -4.0, 0.0]), np.array([0.0, 0.5, 2.0])
    >>> first_copies(full_arc_space(2), scores, moved, 0.5, 1.0)[:8].reshape(2, 4).tolist()
    [[-0.75, -0.25, -3.0, -1.0], [-0.25, 0.25, -1.0, 1.0]]
    """
    n_arcs, share = arcs.head.shape[0], 1.0 - beta
    copies = np.empty(3 * n_arcs)
    for a in range(n_arcs):
        own = moved[arcs.modifier[a]]
        copies[a] = beta * scores[a] - share * own
        copies[n_arcs + a] = share * tau * (scores[a] + own)
        copies[2 * n_arcs + a] = share * (1.0 - tau) * (scores[a] + own)
    return copies


@kernel
def as_split(copies: Float64s, n_arcs: int) -> SplitScores:
    """Return views of the three copies of the arcs' scores, float64[3 A] or more."""
    return SplitScores(copies[:n_arcs], copies[n_arcs : 2 * n_arcs], copies[2 * n_arcs : 3 * n_arcs])


@kernel
def new_workspace(arcs: ArcSpace, starts: PartStarts) -> Workspace:
    """Return a workspace for the automaton of any head."""
    n_arcs = arcs.head.shape[0]
    size = max(LANES * (n_arcs + 2), _table_size(arcs, starts.third))
    tables = _new_table_workspace(arcs, starts.tables)
    return Workspace(np.empty(size), np.empty(n_arcs + 2, np.int32), np.empty(LANES * n_arcs), tables)


@kernel
def _new_table_workspace(arcs: ArcSpace, tables: HeadAutomata | None) -> TableWorkspace | None:
    """Return the workspace of automata given as tables; None if there are none."""
    if tables is None:
        return None
    half, paths = new_paths(arcs, tables)
    return TableWorkspace(tables, half, paths, np.full(arcs.head.shape[0], FREE, np.int8))


@kernel
def _table_size(arcs: ArcSpace, third: ThirdOrderStarts | None) -> np.int64:
    """Return the size of the tables of `nonproj.automata.third.decode_third`; 0 without parts of third order."""
    if third is None:
        return np.int64(0)
    most = longest = np.int64(0)
    for h in range(arcs.start.shape[0] - 1):
        first, middle, end = arcs.out_start[2 * h], arcs.out_start[2 * h + 1], arcs.out_start[2 * h + 2]
        most = max(most, count_transitions(middle - first) + count_transitions(end - middle))
        longest = max(longest, end - first)
    return 2 * most + longest + 2


@kernel
def count_transitions(k: int | np.int64) -> np.int64:
    """Return the number of transitions over k candidates."""
    size = np.int64(k)
    return (size + 1) * (size + 2) // 2
