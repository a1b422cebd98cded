"""Bounds on the scores of trees with or without an arc, at given multipliers, from a tree and the arc's automata."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import count_work, decode_head
from nonproj.automata.losses import arc_losses
from nonproj.automata.workspace import as_split
from nonproj.dual.options import DualOptions
from nonproj.dual.subgradient import other_scores
from nonproj.dual.subproblems import Instance, find_tree, mark_tree, new_work
from nonproj.kernels.kernel import kernel
from nonproj.trees.rounding import rounding_error
from nonproj.types import Bools, Float64s, Int32s


def exclusion_bounds(
    instance: Instance,
    copies: Float64s,
    options: DualOptions,
    tree: Int32s,
    wanted: Bools | None = None,
    outward: bool = False,
) -> Float64s:
    """Return, for each word of a tree, a bound on the scores of trees without its arc.

    Parameters
    ----------
    instance : Instance
    copies : ndarray of shape (3 A,), float64
        The copies of the scores at some multipliers, see `nonproj.dual.subgradient.Descent`.
    options : DualOptions
    tree : ndarray of shape (N,), int32
    wanted : ndarray of shape (N,), bool, optional
        The words whose arc is excluded; by default all.
    outward : bool
        Whether bounds are rounded outward, see `nonproj.trees.rounding`; the copies of an arc must sum to its score.

    Returns
    -------
    ndarray of shape (N,), float64
        No tree with another head of word ``m`` scores more than entry ``m``; minus infinity if there is no such tree,
        and for words that are not wanted.

    Examples
    --------
    >>> from nonproj.automata.compiled import compiled_starts
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts, scores = part_space(full_arc_space(2), "arc"), np.array([1.0, 2.0, 4.0, 9.0])
    >>> instance = Instance(parts.arcs, compiled_starts(parts), scores)
    >>> copies = np.append(scores, np.full(8, -1.0))
    >>> exclusion_bounds(instance, copies, DualOptions(), np.array([-1, 0, 1], np.int32))
    array([-inf,   6.,   6.])
    """
    bounds = np.full(len(tree), np.inf) if wanted is None else np.where(wanted, np.inf, -np.inf)
    bounds[0] = -np.inf
    projective = True if options.projective else None
    _exclude(instance, bool(options.single_root), projective, outward, copies.copy(), tree, bounds)
    return bounds


@kernel
def _exclude(
    instance: Instance,
    single_root: bool,
    projective: bool | None,
    outward: bool,
    copies: Float64s,
    heads: Int32s,
    bounds: Float64s,
) -> None:
    """Replace infinite bounds by the dual value without the word's arc in the tree; minus infinity if none lacks it."""
    arcs, starts, scores = instance
    work, split = new_work(arcs, starts), as_split(copies, arcs.head.shape[0])
    tree, moved, values = work.tree, work.moved, work.values
    for h in range(values.shape[0]):
        values[h] = decode_head(arcs, starts, scores, split, h, work.automaton, work.choice)
    known = values.copy()
    others, terms = other_scores(arcs, starts, starts.tables, scores)
    for m in range(1, heads.shape[0]):
        if bounds[m] == -np.inf:
            continue
        bounds[m] = -np.inf
        for a in range(arcs.start[m], arcs.start[m + 1]):
            if arcs.head[a] == heads[m]:
                before = split.y[a], split.z[a], split.grandparent[a]
                split.y[a], split.z[a], split.grandparent[a] = -np.inf, -np.inf, -np.inf
                status, _ = find_tree(arcs, projective, single_root, split.y, tree)
                if status == 0 and tree[m] != heads[m]:
                    dual, _ = mark_tree(arcs, split.y, tree, work.y)
                    moved[:] = False
                    moved[heads[m]], moved[m] = True, starts.grandparent.shape[0] > 0
                    for h in range(values.shape[0]):
                        if moved[h]:
                            values[h] = decode_head(arcs, starts, scores, split, h, work.automaton, work.choice)
                        dual += values[h]
                    bounds[m] = dual
                    values[:] = known
                split.y[a], split.z[a], split.grandparent[a] = before
        if outward and bounds[m] > -np.inf:
            bounds[m] += rounding_error(arcs, scores, copies, others, terms, bounds[m])


LOSS_WORK = 3
"""Work of computing the automata's losses, forward and backward, in units of the work of decoding."""


class InclusionBounds(NamedTuple):
    """Bounds on the scores of the trees with each arc, and of those without it.

    Attributes
    ----------
    bounds : ndarray of shape (A,), float64
        No tree with the arc scores more; rounded outward, see `nonproj.trees.rounding`.
    without : ndarray of shape (A,), float64
        The highest bound of another arc into the same word, minus infinity if there is none: no tree without the arc
        scores more.
    tree : ndarray of shape (N,), int32
        The best tree at these multipliers.
    work : int
        Work of computing the bounds, see `nonproj.dual.options.SearchOptions`.
    """

    bounds: np.ndarray
    without: np.ndarray
    tree: np.ndarray
    work: int


def inclusion_bounds(instance: Instance, copies: Float64s, options: DualOptions) -> InclusionBounds:
    """Return bounds on the trees with and without each arc, for parts of second order.

    Parameters
    ----------
    instance : Instance
        Some tree must exist over its arcs.
    copies : ndarray of shape (3 A,), float64
        The copies of the scores at some multipliers, see `nonproj.dual.subgradient.Descent`.
    options : DualOptions

    Examples
    --------
    >>> from nonproj.automata.compiled import compiled_starts
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> instance = Instance(parts.arcs, compiled_starts(parts), np.zeros(len(parts)))
    >>> copies = np.array([0.0] * 4 + [-4.0, 1.0, 3.0, -2.0] + [0.0] * 4)
    >>> inclusion_bounds(instance, copies, DualOptions()).bounds
    array([0., 4., 4., 2.])
    """
    tree, bounds = np.zeros(len(instance.arcs.start) - 1, np.int32), np.empty((2, len(instance.arcs.head)))
    projective = True if options.projective else None
    work = _include(instance, bool(options.single_root), projective, copies, tree, bounds)
    return InclusionBounds(bounds[0], bounds[1], tree, int(work))


@kernel
def _include(
    instance: Instance, single_root: bool, projective: bool | None, copies: Float64s, tree: Int32s, bounds: Float64s
) -> int:
    """Write the best tree, and the bounds of the trees with and without each arc, float64[2, A]; return the work."""
    arcs, starts, scores = instance
    split, y = as_split(copies, arcs.head.shape[0]), np.zeros(arcs.head.shape[0], np.int8)
    find_tree(arcs, projective, single_root, split.y, tree)
    own, _ = mark_tree(arcs, split.y, tree, y)
    chosen, losses = arc_losses(arcs, starts, scores, split)
    dual = own + chosen
    others, terms = other_scores(arcs, starts, starts.tables, scores)
    dual += 2.0 * rounding_error(arcs, scores, copies, others, terms, dual)  # once for the losses
    for m in range(1, tree.shape[0]):
        first = second = -np.inf
        for a in range(arcs.start[m], arcs.start[m + 1]):
            bounds[0, a] = dual - losses[a]
            first, second = max(first, bounds[0, a]), max(second, min(first, bounds[0, a]))
        for a in range(arcs.start[m], arcs.start[m + 1]):
            bounds[1, a] = second if bounds[0, a] == first else first
    return LOSS_WORK * count_work(arcs, starts).sum()
