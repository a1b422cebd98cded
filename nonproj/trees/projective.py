"""The maximum projective tree: Eisner's algorithm over sparse arcs, O(A n) instead of O(n^3) after pruning.

A complete span ``(h, e)`` is the half of a subtree that ``h`` heads, from ``h`` to its farthest descendant ``e`` on
that side.  An arc ``h -> m`` closes the span between them: a complete span of each that meet at a split.  Only spans
that an arc closes are built, and a complete span looks only at the arcs of its head, outward.
"""

from __future__ import annotations

import numpy as np

from nonproj._kernel import kernel
from nonproj.parts.arcs import index_arcs
from nonproj.trees.arborescence import _arc_scores, _square
from nonproj.types import ArcSpace


def maximum_projective_tree(scores, single_root: bool = False) -> np.ndarray:
    """Find the projective tree of highest score.

    Parameters
    ----------
    scores : array-like of shape (N, N), float64
        ``scores[h, m]`` of the arc ``h -> m``; minus infinity where there is none.  The diagonal and column 0 are
        ignored.
    single_root : bool
        Whether exactly one word is headed by the root.

    Returns
    -------
    ndarray of shape (N,), int32
        The heads, ``heads[0] == -1``.

    Raises
    ------
    ValueError
        If a score is NaN or plus infinity, or no such tree exists.

    References
    ----------
    Eisner (1996), "Three new probabilistic models for dependency parsing: an exploration".

    Examples
    --------
    >>> maximum_projective_tree([[0, 1, 1, 5], [0, 0, 9, 0], [0, 0, 0, 0], [0, 4, 0, 0]])
    array([-1,  3,  1,  0], dtype=int32)
    """
    scores = _square(scores, "scores")
    # Plus infinity and NaN are arcs here, so that `_arc_scores` finds them.
    arcs = index_arcs(scores != -np.inf)
    return maximum_projective_tree_sparse(arcs, scores[arcs.head, arcs.modifier], single_root)


def maximum_projective_tree_sparse(arcs: ArcSpace, scores, single_root: bool = False) -> np.ndarray:
    """Find the projective tree of highest score over given arcs.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    scores : array-like of shape (A,), float64
        Their scores; minus infinity forbids an arc.
    single_root : bool
        Whether exactly one word is headed by the root.

    Returns
    -------
    ndarray of shape (N,), int32
        The heads, ``heads[0] == -1``.  Of equal trees, the one with the lowest split and the shortest arcs.

    Raises
    ------
    ValueError
        If there is not one score below plus infinity for each arc, or no such tree exists.

    Examples
    --------
    >>> from nonproj.parts.arcs import arc_space
    >>> maximum_projective_tree_sparse(arc_space([0, 2, 0, 1], [1, 1, 2, 2], 2), [1.0, 5.0, 2.0, 5.0])
    array([-1,  2,  0], dtype=int32)
    """
    scores = _arc_scores(arcs, scores)
    heads = np.empty(len(arcs.start) - 1, np.int32)
    status = _best_projective_tree(arcs, scores, bool(single_root), heads)
    if status != 0:
        kind = "projective tree with a single root" if single_root else "projective tree"
        raise ValueError(f"no {kind} spans the words: the arcs that may be used do not allow one")
    return heads


@kernel
def _best_projective_tree(arcs, scores, single_root, heads):
    """Write the best projective tree over sparse arcs to int32[N]; return 0, or 1 where there is none."""
    n_nodes = heads.shape[0]
    complete = np.full((n_nodes, n_nodes), -np.inf)
    back = np.full((n_nodes, n_nodes), -1, np.int32)
    closed = np.empty(arcs.head.shape[0])
    split = np.empty(arcs.head.shape[0], np.int32)
    cursor = arcs.out_start[: 2 * n_nodes].copy()
    complete[0, 0] = 0.0
    for right in range(1, n_nodes):
        complete[right, right] = 0.0
        for left in range(right - 1, -1, -1):
            _close_span(arcs, scores, complete, left, right, cursor, closed, split)
            if left > 0:
                _complete_span(arcs, closed, complete, 2 * right, left, cursor, back)
            if left > 0 or not single_root:
                _complete_span(arcs, closed, complete, 2 * left + 1, right, cursor, back)
    if single_root:
        _choose_root_word(arcs, scores, complete, split, back)
    heads[0] = -1
    if complete[0, n_nodes - 1] == -np.inf:
        return 1
    _unfold(arcs, back, split, heads)
    return 0


@kernel
def _close_span(arcs, scores, complete, left, right, cursor, closed, split):
    """Close the span left .. right by the arcs between its ends, if any, at its best split (the lowest)."""
    rightward, leftward = cursor[2 * left + 1], cursor[2 * right]
    has_right = rightward < arcs.out_start[2 * left + 2] and arcs.modifier[arcs.out[rightward]] == right
    has_left = leftward < arcs.out_start[2 * right + 1] and arcs.modifier[arcs.out[leftward]] == left
    if not (has_right or has_left):
        return
    rightward_ends, leftward_ends = complete[left, left:right], complete[right, left + 1 : right + 1]
    best, best_split = -np.inf, 0
    for i in range(right - left):
        score = rightward_ends[i] + leftward_ends[i]
        if score > best:
            best, best_split = score, i
    if has_right:
        closed[arcs.out[rightward]] = best + scores[arcs.out[rightward]]
        split[arcs.out[rightward]] = left + best_split
        cursor[2 * left + 1] += 1
    if has_left:
        closed[arcs.out[leftward]] = best + scores[arcs.out[leftward]]
        split[arcs.out[leftward]] = left + best_split
        cursor[2 * right] += 1


@kernel
def _complete_span(arcs, closed, complete, q, end, cursor, back):
    """Complete the span from the head of half-automaton q to end by its best last arc (the shortest)."""
    best, best_arc = -np.inf, -1
    for position in range(arcs.out_start[q], cursor[q]):
        a = arcs.out[position]
        score = closed[a] + complete[arcs.modifier[a], end]
        if score > best:
            best, best_arc = score, a
    complete[q // 2, end] = best
    back[q // 2, end] = best_arc


@kernel
def _choose_root_word(arcs, scores, complete, split, back):
    """Complete the root's span by the one arc whose word spans the whole sentence."""
    end = complete.shape[0] - 1
    for position in range(arcs.out_start[1], arcs.out_start[2]):
        a = arcs.out[position]
        m = arcs.modifier[a]
        score = scores[a] + complete[m, 1] + complete[m, end]
        if score > complete[0, end]:
            complete[0, end] = score
            back[0, end] = a
            split[a] = 0


@kernel
def _unfold(arcs, back, split, heads):
    """Follow the best last arcs from the root's span down to single words."""
    n_nodes = heads.shape[0]
    stack = np.empty((2 * n_nodes + 2, 2), np.int32)
    stack[0, 0], stack[0, 1] = 0, n_nodes - 1
    depth = 1
    while depth > 0:
        depth -= 1
        h, end = stack[depth, 0], stack[depth, 1]
        if h == end:
            continue
        a = back[h, end]
        m, r = arcs.modifier[a], split[a]
        heads[m] = h
        stack[depth, 0], stack[depth, 1] = m, end
        stack[depth + 1, 0], stack[depth + 1, 1] = min(h, m), r
        stack[depth + 2, 0], stack[depth + 2, 1] = max(h, m), r + 1
        depth += 3
