"""The course of dual decomposition on one sentence: at each iteration the bound, the tree, and what is disputed.

The compiled loop keeps none of this, so that it is fast.  It is deterministic, and its multipliers after k iterations
are those with which a run of at most k iterations ends; so each iteration is reached by a run of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nonproj.automata.compiled import (
    Choice,
    SplitScores,
    compiled_starts,
    decode_all_heads,
    is_compiled,
)
from nonproj.dual.decomposition import NO_TRACE
from nonproj.dual.domain import pose
from nonproj.dual.options import DEFAULTS, UNLIMITED, DualOptions
from nonproj.dual.subgradient import Descent, descend
from nonproj.parts.space import tree_score
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.types import PartSpace


class Iteration(NamedTuple):
    """An iteration of the subgradient method.

    Attributes
    ----------
    dual, primal : float
        The dual value at the iteration's multipliers, and the score of its tree.
    tree : ndarray of shape (N,), int32
        The tree.
    z, z_grandparent : ndarray of shape (A,), int8
        The arcs that the automata of their heads take, and those that the automata of their modifiers take as edges to
        grandparents; the latter equals the tree's arcs in a set without grandparents.
    """

    dual: float
    primal: float
    tree: np.ndarray
    z: np.ndarray
    z_grandparent: np.ndarray


def course(parts: PartSpace, scores: ArrayLike, options: DualOptions = DEFAULTS, longest: int = 100) -> list[Iteration]:
    """Return the iterations that `nonproj.dual.decomposition.dual_decomposition` makes.

    Parameters
    ----------
    parts, scores, options
        As for `nonproj.dual.decomposition.dual_trace`.
    longest : int
        No more iterations than these; the time grows with the square of their number.

    Returns
    -------
    list of Iteration
        Empty for arcs alone, which need none.

    Raises
    ------
    ValueError
        As `nonproj.dual.decomposition.dual_trace`.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> scores = np.zeros(len(parts))
    >>> scores[:4] = [1.0, 2.0, 4.0, 8.0]
    >>> [(each.dual, each.primal) for each in course(parts, scores)][-1]
    (9.0, 9.0)
    """
    parts, scores, options = pose(parts, scores, options)
    if len(parts.types) == 1:
        return []
    if not is_compiled(parts):
        raise ValueError(f"the automata of {', '.join(parts.names)} are not compiled; their course is not recorded")
    made = _run(parts, scores, options, options.max_iterations)[0]
    return [_iteration(parts, scores, options, k) for k in range(min(made, longest))]


def _run(parts: PartSpace, scores: np.ndarray, options: DualOptions, most: int) -> tuple[int, SplitScores]:
    """Return the number of iterations made, at most ``most``, and the scores with the multipliers after them."""
    starts = compiled_starts(parts)
    arc, rest = scores[: len(parts.arcs.head)], 1.0 - options.beta
    tau = options.tau if len(starts.grandparent) else 1.0
    split = SplitScores(arc * options.beta, arc * (rest * tau), arc * (rest * (1.0 - tau)))
    if most == 0:
        return 0, split
    descent = Descent(split, np.empty((0, 0)), np.empty(0, np.int64), -np.inf, UNLIMITED)
    heads = np.empty(len(parts.arcs.start) - 1, np.int32)
    found = descend(parts.arcs, starts, scores, options._replace(max_iterations=most), descent, NO_TRACE, heads)
    return found[1], split


def _iteration(parts: PartSpace, scores: np.ndarray, options: DualOptions, before: int) -> Iteration:
    """Return the iteration after some others."""
    arcs, starts, split = parts.arcs, compiled_starts(parts), _run(parts, scores, options, before)[1]
    heads = np.empty(len(arcs.start) - 1, np.int32)
    find = best_projective_tree if options.projective else best_arborescence
    find(arcs, split.y, options.single_root, heads)
    y = (heads[arcs.modifier] == arcs.head).astype(np.int8)
    choice = Choice(np.zeros_like(y), np.zeros_like(y))
    dual = float(split.y[y == 1].sum() + decode_all_heads(arcs, starts, scores, split, choice))
    primal = float(tree_score(parts, scores, heads))
    second = choice.z_grandparent if len(starts.grandparent) else y
    return Iteration(dual, primal, heads, choice.z, second)
