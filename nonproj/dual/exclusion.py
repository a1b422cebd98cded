"""Bounds of the trees without an arc, at given multipliers: the best tree and the two automata that see the arc."""

from __future__ import annotations

import numpy as np

from nonproj._kernel import kernel
from nonproj.automata.compiled import Choice, SplitScores, compiled_starts, decode_head, new_workspace
from nonproj.dual.options import DualOptions
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.types import PartSpace


def exclusion_bounds(
    parts: PartSpace,
    scores: np.ndarray,
    lowest: np.ndarray,
    options: DualOptions,
    heads: np.ndarray,
    wanted: np.ndarray,
) -> np.ndarray:
    """Return bounds of the trees that lack an arc of a given tree.

    Parameters
    ----------
    parts : PartSpace
        Of arcs alone, or of a set whose automata are compiled.
    scores : ndarray of shape (P,), float64
    lowest : ndarray of shape (3, A), float64
        The copies of the arcs' scores at some multipliers, see `nonproj.dual.subgradient.Descent`.
    options : DualOptions
    heads : ndarray of shape (N,), int32
        The tree.
    wanted : ndarray of shape (N,), bool
        The words whose arc is excluded.

    Returns
    -------
    ndarray of shape (N,), float64
        No tree with another head of word ``m`` scores more than entry ``m``; minus infinity if there is no such tree,
        and for words that are not wanted.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts, scores = part_space(full_arc_space(2), "arc"), np.array([1.0, 2.0, 4.0, 9.0])
    >>> tree, both = np.array([-1, 0, 1], np.int32), np.ones(3, bool)
    >>> exclusion_bounds(parts, scores, np.zeros((3, 4)), DualOptions(), tree, both)
    array([-inf,   6.,   6.])
    """
    bounds = np.full(len(heads), -np.inf)
    if len(parts.types) == 1:
        lowest = np.stack([scores[: len(parts.arcs.head)], *np.full((2, len(parts.arcs.head)), -1.0)])
    split = SplitScores(*lowest.copy())
    projective = True if options.projective else None
    single_root = bool(options.single_root)
    _exclude(parts.arcs, compiled_starts(parts), scores, split, single_root, projective, heads, wanted, bounds)
    return bounds


@kernel
def _exclude(arcs, starts, scores, split, single_root, projective, heads, wanted, bounds):
    """Write the dual value without the arc into each wanted word, float64[N]; minus infinity if it has no other."""
    n_nodes, n_arcs = heads.shape[0], arcs.head.shape[0]
    work, tree = new_workspace(arcs, starts), np.empty(n_nodes, np.int32)
    choice, values = Choice(np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8)), np.empty(n_nodes)
    total = 0.0
    for h in range(n_nodes):
        values[h] = decode_head(arcs, starts, scores, split, h, work, choice)
        total += values[h]
    y_score, z_score, grandparent_score = split.y, split.z, split.grandparent
    for m in range(1, n_nodes):
        if not wanted[m] or arcs.start[m + 1] - arcs.start[m] < 2:
            continue
        a = arcs.start[m]
        while arcs.head[a] != heads[m]:
            a += 1
        y, z, up = y_score[a], z_score[a], grandparent_score[a]
        y_score[a], z_score[a], grandparent_score[a] = -np.inf, -np.inf, -np.inf
        if projective is None:
            status = best_arborescence(arcs, y_score, single_root, tree)
        else:
            status = best_projective_tree(arcs, y_score, single_root, tree)
        if status == 0 and tree[m] != heads[m]:
            h, dual = heads[m], total - values[heads[m]]
            dual += decode_head(arcs, starts, scores, split, h, work, choice)
            if starts.grandparent.shape[0] > 0:
                dual += decode_head(arcs, starts, scores, split, m, work, choice) - values[m]
            for b in range(n_arcs):
                if tree[arcs.modifier[b]] == arcs.head[b]:
                    dual += y_score[b]
            bounds[m] = dual
        y_score[a], z_score[a], grandparent_score[a] = y, z, up
