"""Maximum projective trees over sparse arcs by Eisner's (1996) algorithm, O(A n) instead of O(n^3) after pruning.

A complete span ``(h, e)`` is half of the subtree of ``h``: from ``h`` to its farthest descendant ``e`` on one side.  An
arc ``h -> m`` makes an incomplete span from a complete span of each, which meet at a split.  Incomplete spans exist
only for candidate arcs, and a complete span considers only the arcs of its head.

Other packages call the kernel `best_projective_tree`; pruning calls `is_projective`, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import arc_space_from_mask
from nonproj.trees.checks import FOUND, NO_TREE, check_arc_scores, check_flag, check_matrix
from nonproj.types import ArcSpace, Float64s, Int32s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def maximum_projective_tree(scores: ArrayLike, single_root: bool = False) -> Int32s:
    """Return the projective tree of highest score; ties are broken by the lowest splits and shortest arcs.

    Parameters, result and errors are those of `nonproj.trees.arborescence.maximum_arborescence`.

    Examples
    --------
    >>> maximum_projective_tree([[0, 1, 1, 5], [0, 0, 9, 0], [0, 0, 0, 0], [0, 4, 0, 0]])
    array([-1,  3,  1,  0], dtype=int32)
    """
    scores = check_matrix(scores, "scores")
    # Plus infinity and NaN count as arcs here, so that `check_arc_scores` reports them.
    arcs = arc_space_from_mask(scores != -np.inf)
    return maximum_projective_tree_sparse(arcs, scores[arcs.head, arcs.modifier], single_root)


def maximum_projective_tree_sparse(arcs: ArcSpace, scores: ArrayLike, single_root: bool = False) -> Int32s:
    """Return the projective tree of highest score over given arcs, whose scores are array-like, float64[A].

    The rest is as for `maximum_projective_tree`.

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
    scores = check_arc_scores(arcs, scores)
    heads = np.empty(len(arcs.start) - 1, np.int32)
    if best_projective_tree(arcs, scores, check_flag(single_root, "single_root"), heads) != FOUND:
        kind = "projective tree with a single root" if single_root else "projective tree"
        raise ValueError(f"no {kind} spans the words over the candidate arcs")
    return heads


@kernel
def best_projective_tree(arcs: ArcSpace, scores: Float64s, single_root: bool, heads: Int32s) -> int:
    """Write the best projective tree over sparse arcs to int32[N]; return `FOUND` or `NO_TREE`."""
    n_nodes = heads.shape[0]
    complete = np.full((n_nodes, n_nodes), -np.inf)
    back = np.full((n_nodes, n_nodes), -1, np.int32)
    split = np.empty(arcs.head.shape[0], np.int32)
    _score_spans(arcs, scores, single_root, complete, back, split)
    if single_root:
        _choose_root(arcs, scores, complete, split, back)
    heads[0] = -1
    if complete[0, n_nodes - 1] == -np.inf:
        return NO_TREE
    _read_tree(arcs, back, split, heads)
    return FOUND


@kernel
def _score_spans(
    arcs: ArcSpace, scores: Float64s, single_root: bool, complete: Float64s, back: Int32s, split: Int32s
) -> None:
    """Score all spans, short ones first; a single function, because calls cost more than the few arcs of a span.

    ``cursor`` counts the arcs of each half-automaton that have ended so far; their incomplete spans have scores.
    """
    n_nodes, out_start, out, modifier = complete.shape[0], arcs.out_start, arcs.out, arcs.modifier
    incomplete, cursor = np.empty(scores.shape[0]), out_start[: 2 * n_nodes].copy()
    complete[0, 0] = 0.0
    for right in range(1, n_nodes):
        complete[right, right] = 0.0
        for left in range(right - 1, -1, -1):
            rightward, leftward = cursor[2 * left + 1], cursor[2 * right]
            has_right = rightward < out_start[2 * left + 2] and modifier[out[rightward]] == right
            has_left = leftward < out_start[2 * right + 1] and modifier[out[leftward]] == left
            if has_right or has_left:
                best, best_split = -np.inf, left  # the lowest of the best splits
                for middle in range(left, right):
                    score = complete[left, middle] + complete[right, middle + 1]
                    if score > best:
                        best, best_split = score, middle
                if has_right:
                    a = out[rightward]
                    incomplete[a], split[a] = best + scores[a], best_split
                    cursor[2 * left + 1] += 1
                if has_left:
                    a = out[leftward]
                    incomplete[a], split[a] = best + scores[a], best_split
                    cursor[2 * right] += 1
            for q, end in ((2 * right, left), (2 * left + 1, right)):
                if left == 0 and (q > 1 or single_root):
                    continue  # no arc enters the root; `_choose_root` completes its span
                best, best_arc = -np.inf, -1  # the shortest of the best last arcs
                for position in range(out_start[q], cursor[q]):
                    a = out[position]
                    score = incomplete[a] + complete[modifier[a], end]
                    if score > best:
                        best, best_arc = score, a
                complete[q // 2, end] = best
                back[q // 2, end] = best_arc


@kernel
def is_projective(heads: Int32s) -> bool:
    """Return whether no two arcs of a tree, int32[N], cross: no word below an arc has its head outside it."""
    for m in range(1, heads.shape[0]):
        left, right = min(heads[m], m), max(heads[m], m)
        for word in range(left + 1, right):
            if heads[word] < left or heads[word] > right:
                return False
    return True


@kernel
def _choose_root(arcs: ArcSpace, scores: Float64s, complete: Float64s, split: Int32s, back: Int32s) -> None:
    """Complete the root's span by the best single root arc, with a word that spans the whole sentence."""
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
def _read_tree(arcs: ArcSpace, back: Int32s, split: Int32s, heads: Int32s) -> None:
    """Write the heads by following the back pointers from the root's span down to single words."""
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
