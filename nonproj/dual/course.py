"""The course of dual decomposition on one sentence: at each iteration the bound, the tree, and the disputed arcs.

The compiled loop records none of this, because that would be slow.  But it is deterministic: its multipliers after k
iterations are those at the end of a run limited to k iterations, so each iteration is reached by a run of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nonproj.automata.compiled import decode_all_heads, has_compiled_automata
from nonproj.automata.workspace import Choice, SplitScores
from nonproj.dual.domain import normalise_scores
from nonproj.dual.options import DEFAULTS, UNLIMITED, DualOptions
from nonproj.dual.problem import NO_TRACE, PartsProblem
from nonproj.dual.subgradient import Descent, descend
from nonproj.parts.space import tree_score
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.types import Float64s, PartSpace


class Iteration(NamedTuple):
    """An iteration of the subgradient method.

    Attributes
    ----------
    dual, primal : float
        The dual value at the iteration's multipliers, and the score of its tree.
    tree : ndarray of shape (N,), int32
        The tree.
    z, z_grandparent : ndarray of shape (A,), int8
        The arcs that the automata of their heads choose, and those that the automata of their modifiers choose as arcs
        from grandparents; the latter are the tree's arcs in a set without grandparents.
    """

    dual: float
    primal: float
    tree: np.ndarray
    z: np.ndarray
    z_grandparent: np.ndarray


def course(parts: PartSpace, scores: ArrayLike, options: DualOptions = DEFAULTS, longest: int = 100) -> list[Iteration]:
    """Return the iterations that `nonproj.dual.decoding.dual_decomposition` makes.

    Parameters
    ----------
    parts, scores, options
        As for `nonproj.dual.decoding.dual_trace`.
    longest : int
        Maximum number of iterations; the time grows with its square.

    Returns
    -------
    list of Iteration
        Empty for arcs alone, which need none.

    Raises
    ------
    ValueError
        As `nonproj.dual.decoding.dual_trace`.

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
    given = normalise_scores(parts, scores, options)
    parts, options = given.parts, given.options
    if len(parts.types) == 1:
        return []
    if not has_compiled_automata(parts.types):
        raise ValueError(f"the automata of {', '.join(parts.names)} are not compiled; their course is not recorded")
    problem, constant = PartsProblem(parts, given.relative, options, given.own), given.own.constant
    made = _run(problem, options, options.max_iterations)[0]
    found = (_iteration(problem, options, k) for k in range(min(made, longest)))
    return [each._replace(dual=each.dual + constant, primal=each.primal + constant) for each in found]


def _run(problem: PartsProblem, options: DualOptions, most: int) -> tuple[int, Float64s]:
    """Return the number of iterations made, at most ``most``, and the copies of the scores after them."""
    copies = problem.copies.copy()
    if most == 0:
        return 0, copies
    descent = Descent(copies, np.empty(0), np.empty(0, np.int64), -np.inf, UNLIMITED)
    options = options._replace(max_iterations=most)
    tree = np.zeros(problem.n_nodes, np.int32)
    return descend(problem.instance, options, descent, NO_TRACE, tree).iterations, copies


def _iteration(problem: PartsProblem, options: DualOptions, before: int) -> Iteration:
    """Return the iteration that follows ``before`` others."""
    (arcs, starts, scores), heads = problem.instance, np.zeros(problem.n_nodes, np.int32)
    split = SplitScores(*_run(problem, options, before)[1].reshape(3, -1))
    find = best_projective_tree if options.projective else best_arborescence
    find(arcs, split.y, options.single_root, heads)
    y = (heads[arcs.modifier] == arcs.head).astype(np.int8)
    choice = Choice(np.zeros_like(y), np.zeros_like(y))
    dual = float(split.y[y == 1].sum() + decode_all_heads(arcs, starts, scores, split, choice))
    primal = float(tree_score(problem.parts, scores, heads))
    second = choice.z_grandparent if len(starts.grandparent) else y
    return Iteration(dual, primal, heads, choice.z, second)
