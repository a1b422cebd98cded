"""Head automata of any kind joined with trees: the two oracles of Koo et al. (2010), figure 1.

They are for the methods of `nonproj_systems.relaxation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.automata.general import (
    FREE,
    Paths,
    check_arc_scores,
    check_automata,
    decode_paths,
    new_paths,
)
from nonproj.parts.automaton import HeadAutomata
from nonproj.trees.arborescence import maximum_arborescence_sparse
from nonproj.trees.projective import maximum_projective_tree_sparse
from nonproj.types import ArcSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class AutomataOracle:
    """All head automata, as an oracle of `nonproj_systems.relaxation.subgradient.relax`.

    A head whose multipliers did not move is not decoded again (Koo et al. 2010, section 7.4).

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    automata : HeadAutomata
        Over these arcs.
    scores : array-like of shape (A,), float64
        The share of the arc scores that the automata see.

    Attributes
    ----------
    calls, decoded : int
        Calls so far, and heads decoded in them.

    Raises
    ------
    ValueError
        As for `best_paths`; when called, if a head's automaton accepts no choice of modifiers at all.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.automaton import head_automata
    >>> arcs = full_arc_space(2)
    >>> free = head_automata(arcs, 1)
    >>> free.take[:] = 0.0
    >>> oracle = AutomataOracle(arcs, free, np.zeros(4))
    >>> oracle(np.array([1.0, -1.0, 2.0, -1.0]))[:2]
    (3.0, array([1., 0., 1., 0.]))
    """

    def __init__(self, arcs: ArcSpace, automata: HeadAutomata, scores: ArrayLike) -> None:
        self._arcs, self._automata = arcs, check_automata(arcs, automata)
        self._scores = check_arc_scores(arcs, scores)
        self._work, self._paths = new_paths(arcs, self._automata)
        self._free = np.full(len(arcs.head), FREE, np.int8)
        self._gain: np.ndarray | None = None
        self.calls = self.decoded = 0

    def __call__(self, multipliers: np.ndarray) -> tuple[float, np.ndarray, Paths]:
        """Return the maximum, the arcs taken, and the paths, which the next call overwrites."""
        gain, paths = self._scores + check_arc_scores(self._arcs, multipliers, "multipliers"), self._paths
        moved = np.full(len(paths.values), self._gain is None)
        if self._gain is not None:
            moved[self._arcs.head[gain != self._gain]] = True
        self._gain = gain
        value = float(decode_paths(self._arcs, self._automata, gain, self._free, moved, self._work, paths))
        if value == -np.inf:
            raise ValueError(f"the automaton of head {paths.values.argmin()} accepts no choice of modifiers")
        self.calls += 1
        self.decoded += int(np.count_nonzero(moved))
        return value, paths.z.astype(np.float64), paths


class TreeOracle:
    """The best tree over given arcs, as an oracle of `nonproj_systems.relaxation.subgradient.relax`.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    scores : array-like of shape (A,), float64
        The share of the arc scores that the tree sees.
    single_root, projective : bool
        Whether the tree must have a single root, and whether it must be projective.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> TreeOracle(full_arc_space(2), np.array([1.0, 2.0, 4.0, 8.0]))(np.zeros(4))
    (9.0, array([1., 0., 0., 1.]), array([-1,  0,  1], dtype=int32))
    """

    def __init__(self, arcs: ArcSpace, scores: ArrayLike, single_root: bool = False, projective: bool = False) -> None:
        self._arcs, self._scores, self._single_root = arcs, check_arc_scores(arcs, scores), single_root
        self._decode = maximum_projective_tree_sparse if projective else maximum_arborescence_sparse

    def __call__(self, multipliers: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the maximum, the arcs of the tree, and its heads."""
        theta = self._scores + check_arc_scores(self._arcs, multipliers, "multipliers")
        heads = self._decode(self._arcs, theta, self._single_root)
        used = (heads[self._arcs.modifier] == self._arcs.head).astype(np.float64)
        return float(theta @ used), used, heads
