"""Bounds of the trees without an arc, at given multipliers: the best tree and the automata that see the arc."""

from __future__ import annotations

import numpy as np

from nonproj.automata.compiled import decode_head
from nonproj.automata.workspace import PartStarts, as_split
from nonproj.dual.options import DualOptions
from nonproj.dual.subproblems import Instance, find_tree, mark_tree, new_work
from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace, Bools, Float64s, Int32s


def exclusion_bounds(
    instance: Instance, copies: Float64s, options: DualOptions, tree: Int32s, wanted: Bools | None = None
) -> Float64s:
    """Return bounds of the trees that lack an arc of a given tree.

    Parameters
    ----------
    instance : Instance
    copies : ndarray of shape (3 A,), float64
        The copies of the scores at some multipliers, see `nonproj.dual.subgradient.Descent`.
    options : DualOptions
    tree : ndarray of shape (N,), int32
    wanted : ndarray of shape (N,), bool, optional
        The words whose arc is excluded; by default all.

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
    _exclude(*instance, bool(options.single_root), projective, copies.copy(), tree, bounds)
    return bounds


@kernel
def _exclude(
    arcs: ArcSpace,
    starts: PartStarts,
    scores: Float64s,
    single_root: bool,
    projective: bool | None,
    copies: Float64s,
    heads: Int32s,
    bounds: Float64s,
) -> None:
    """Replace infinity by the dual value without the arc into that word; minus infinity if it has no other."""
    work, split = new_work(arcs, starts), as_split(copies, arcs.head.shape[0])
    tree, moved, values = work.tree, work.moved, work.values
    for h in range(values.shape[0]):
        values[h] = decode_head(arcs, starts, scores, split, h, work.automaton, work.choice)
    known = values.copy()
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
