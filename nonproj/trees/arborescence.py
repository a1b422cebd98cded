"""Maximum spanning arborescences by Chu-Liu-Edmonds, with one root or any number of them.

A path of best arcs grows backwards from each word.  It ends at a node that is already connected to the root, or it
closes a cycle, which is contracted (Tarjan 1977; Gabow, Galil, Spencer and Tarjan 1986).  Sparse arcs and score
matrices share `nonproj.trees.contraction` and differ in how they find the best arc into a contracted component.

A single root needs no penalty.  The algorithm works for scores from any ordered group, here for pairs (-root arcs,
score) in lexicographic order: fewest root arcs first, then the highest score.  Cycles never hold a root arc, so a
component takes a root arc only if no other arc enters it.  But then the best arc into a cycle may be so low that no
best tree has it, and takes digits from other scores: the search is repeated without such arcs.

Other packages call the kernel `best_arborescence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.trees.checks import (
    BAD_SCORE,
    FOUND,
    NO_SINGLE_ROOT,
    NO_TREE,
    check_arc_scores,
    check_flag,
    check_matrix,
    check_status,
)
from nonproj.trees.contraction import Components, contract, expand, grow_path, largest_loss, new_components
from nonproj.types import ArcSpace, Float64s, Int32s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_NOT_KNOWN, _NONE = -1, -2


def maximum_arborescence(scores: ArrayLike, single_root: bool = False) -> Int32s:
    """Return the spanning arborescence of highest score, in O(N^2).

    Parameters
    ----------
    scores : array-like of shape (N, N), float64
        ``scores[h, m]`` of ``h -> m``; minus infinity for absent arcs.  The diagonal and column 0 are ignored.
    single_root : bool
        Whether exactly one word is headed by the root.

    Returns
    -------
    ndarray of shape (N,), int32
        The heads, ``heads[0] == -1``.  Ties are broken by the lowest head.

    Raises
    ------
    ValueError
        If a score is NaN or plus infinity, or no such tree exists.

    References
    ----------
    McDonald, Pereira, Ribarov and Hajic (2005); Tarjan (1977), "Finding optimum branchings".

    Examples
    --------
    >>> maximum_arborescence([[0, 9, 10, 9], [0, 0, 20, 3], [0, 30, 0, 30], [0, 11, 0, 0]])
    array([-1,  2,  0,  2], dtype=int32)
    """
    scores, single_root = check_matrix(scores, "scores"), check_flag(single_root, "single_root")
    heads = np.empty(len(scores), np.int32)
    check_status(best_arborescence_dense(scores, single_root, heads))
    return heads


def maximum_arborescence_sparse(arcs: ArcSpace, scores: ArrayLike, single_root: bool = False) -> Int32s:
    """Return the spanning arborescence of highest score over given arcs, whose scores are array-like, float64[A].

    The rest is as for `maximum_arborescence`.

    Raises
    ------
    ValueError
        If there is not one score below plus infinity for each arc, or no such tree exists.

    Examples
    --------
    >>> from nonproj.parts.arcs import arc_space
    >>> maximum_arborescence_sparse(arc_space([0, 2, 0, 1], [1, 1, 2, 2], 2), [1.0, 5.0, 2.0, 5.0])
    array([-1,  2,  0], dtype=int32)
    """
    scores = check_arc_scores(arcs, scores)
    heads = np.empty(len(arcs.start) - 1, np.int32)
    check_status(best_arborescence(arcs, scores, check_flag(single_root, "single_root"), heads))
    return heads


@kernel
def count_roots(heads: Int32s) -> int:
    """Count the words headed by the root."""
    count = 0
    for m in range(1, heads.shape[0]):
        count += heads[m] == 0
    return count


@kernel
def best_arborescence(arcs: ArcSpace, scores: Float64s, single_root: bool, heads: Int32s) -> int:
    """Write the best arborescence over sparse arcs to int32[N]; return a status of `nonproj.trees.checks`."""
    return counted_arborescence(arcs, scores, single_root, heads)[0]


@kernel
def counted_arborescence(arcs: ArcSpace, scores: Float64s, single_root: bool, heads: Int32s) -> tuple[int, np.int64]:
    """Find the best arborescence like `best_arborescence`; also return the number of nodes and arcs examined.

    A component examines the best arc into each of its nodes, each node with one offset.  Equal scores make chains of
    contractions, each with one more node; then the count is largest, up to N**2.
    """
    status, count, components, new = _contract_sparse(arcs, scores, 0, heads)
    if status != FOUND or not single_root or count_roots(heads) <= 1:
        return status, count
    best = components.entering[: heads.shape[0]]
    while True:
        status, more, components, new = _contract_sparse(arcs, scores, 1, heads)
        count += more
        if status == FOUND and count_roots(heads) > 1:
            status = NO_SINGLE_ROOT
        lost = largest_loss(components, new, best) if status == FOUND else np.inf
        if lost == np.inf:
            return status, count
        scores = scores.copy()
        for a in range(scores.shape[0]):
            if best[arcs.modifier[a]] - scores[a] > lost:
                scores[a] = -np.inf


@kernel
def _contract_sparse(
    arcs: ArcSpace, scores: Float64s, avoid_root: int, heads: Int32s
) -> tuple[int, np.int64, Components, int]:
    """Find the best arborescence; return a status, the number of nodes and arcs examined, and the components."""
    n_nodes, count = heads.shape[0], np.int64(0)
    components, offset, live = new_components(n_nodes), np.zeros(n_nodes), np.full(n_nodes, _NOT_KNOWN, np.int32)
    _choose_heads_sparse(arcs, scores, avoid_root, components)
    new, word, bottom = n_nodes, np.int64(1), np.int64(0)  # not literals: one compilation of `grow_path`
    while True:
        word, bottom, depth = grow_path(components, word, bottom, n_nodes)
        if word >= n_nodes:
            expand(components, new, heads)
            return FOUND, count, components, new
        if bottom < 0:
            return NO_TREE, count, components, new
        _add_offsets(components, bottom, depth, offset)
        contract(components, bottom, depth, new)
        count += _choose_arc(arcs, scores, offset, avoid_root, components, new, live)
        new += 1


@kernel
def _choose_heads_sparse(arcs: ArcSpace, scores: Float64s, avoid_root: int, components: Components) -> None:
    """Choose the best head of every word, the lowest among equals; with avoid_root, root arcs only as a last resort."""
    entering, head = components.entering, components.head
    for m in range(1, arcs.start.shape[0] - 1):
        first, end = arcs.start[m], arcs.start[m + 1]
        has_root = first < end and arcs.head[first] == 0
        best, best_arc = -np.inf, -1
        for a in range(first + (has_root and avoid_root > 0), end):
            if scores[a] > best:
                best, best_arc = scores[a], a
        if best_arc < 0 and has_root and scores[first] > -np.inf:
            best, best_arc = scores[first], first
        entering[m] = components.score[m] = best
        if best_arc >= 0:
            head[m] = arcs.head[best_arc]


@kernel
def _add_offsets(components: Components, bottom: int, depth: int, offset: Float64s) -> None:
    """Add to each node of the cycle path[bottom:depth] the score of the arc that a new arc into it would replace."""
    for position in range(bottom, depth):
        c = components.path[position]
        node = components.first[c]
        while node >= 0:
            offset[node] += components.entering[c]
            node = components.following[node]


@kernel
def _choose_arc(
    arcs: ArcSpace, scores: Float64s, offset: Float64s, avoid_root: int, components: Components, c: int, live: Int32s
) -> int:
    """Choose the best arc into component c, the lowest among equals; with avoid_root, root arcs as a last resort.

    ``live`` int32[N] is the best arc into each node from outside its component, which is searched again only once its
    head is inside.  Return the number of nodes and arcs examined.
    """
    best = best_root = -np.inf
    best_arc = best_root_arc = -1
    node, count = components.first[c], 0
    while node >= 0:
        first, end = arcs.start[node], arcs.start[node + 1]
        if avoid_root > 0 and first < end and arcs.head[first] == 0:
            if scores[first] - offset[node] > best_root:
                best_root = scores[first] - offset[node]
                best_root_arc = first
            first += 1
        a = live[node]
        if a == _NOT_KNOWN or (a != _NONE and components.top[arcs.head[a]] == c):
            a, highest = _NONE, -np.inf
            for b in range(first, end):
                if scores[b] > highest and components.top[arcs.head[b]] != c:
                    a, highest = b, scores[b]
            live[node] = a
            count += end - first
        if a != _NONE and scores[a] - offset[node] > best:
            best, best_arc = scores[a] - offset[node], a
        node = components.following[node]
        count += 1
    if best_arc < 0:
        best, best_arc = best_root, best_root_arc
    components.entering[c] = best
    if best_arc >= 0:
        components.score[c] = scores[best_arc]
        components.head[c] = arcs.head[best_arc]
        components.modifier[c] = arcs.modifier[best_arc]
    return count


@kernel
def best_arborescence_dense(scores: Float64s, single_root: bool, heads: Int32s) -> int:
    """Write the best arborescence over scores[h, m] to int32[N]; return a status of `nonproj.trees.checks`.

    A component merges the columns of its members into one row, in O(N^2) altogether.
    """
    n_nodes = scores.shape[0]
    rows, modifiers = np.empty((n_nodes, n_nodes)), np.empty((n_nodes, n_nodes), np.int32)
    status, components, new = _contract_dense(scores, 0, rows, modifiers, heads)
    if status != FOUND or not single_root or count_roots(heads) <= 1:
        return status
    best = components.entering[:n_nodes]
    while True:
        status, components, new = _contract_dense(scores, 1, rows, modifiers, heads)
        if status == FOUND and count_roots(heads) > 1:
            status = NO_SINGLE_ROOT
        lost = largest_loss(components, new, best) if status == FOUND else np.inf
        if lost == np.inf:
            return status
        scores = scores.copy()
        for h in range(n_nodes):
            for m in range(1, n_nodes):
                if best[m] - scores[h, m] > lost:
                    scores[h, m] = -np.inf


@kernel
def _contract_dense(
    scores: Float64s, avoid_root: int, rows: Float64s, modifiers: Int32s, heads: Int32s
) -> tuple[int, Components, int]:
    """Write the best arborescence to ``heads``; return a status, the components, and the number of these and nodes."""
    n_nodes = scores.shape[0]
    components = new_components(n_nodes)
    new, word, bottom = n_nodes, np.int64(1), np.int64(0)  # not literals: one compilation of `grow_path`
    if _choose_heads_dense(scores, avoid_root, components) != FOUND:
        return BAD_SCORE, components, new
    while True:
        word, bottom, depth = grow_path(components, word, bottom, n_nodes)
        if word >= n_nodes:
            expand(components, new, heads)
            return FOUND, components, new
        if bottom < 0:
            return NO_TREE, components, new
        contract(components, bottom, depth, new)
        _merge_columns(scores, components, bottom, depth, rows, modifiers, new)
        _choose_row(scores, rows[new - n_nodes], modifiers[new - n_nodes], avoid_root, components, new)
        new += 1


@kernel
def _choose_heads_dense(scores: Float64s, avoid_root: int, components: Components) -> int:
    """Choose the best head of every word, the lowest among equals; with avoid_root, root arcs only as a last resort."""
    n_nodes, entering, head = scores.shape[0], components.entering, components.head
    for m in range(1, n_nodes):
        entering[m] = -np.inf
    for h in range(avoid_root, n_nodes):
        for m in range(1, n_nodes):
            score = scores[h, m]
            if score > entering[m] and h != m:
                entering[m] = score
                head[m] = h
            if not score < np.inf and h != m:
                return BAD_SCORE
    if avoid_root > 0:
        for m in range(1, n_nodes):
            if entering[m] == -np.inf:
                entering[m] = scores[0, m]
                head[m] = 0
    for m in range(1, n_nodes):
        components.score[m] = entering[m]
    return FOUND


@kernel
def _merge_columns(
    scores: Float64s, components: Components, bottom: int, depth: int, rows: Float64s, modifiers: Int32s, new: int
) -> None:
    """Write the best arc from each node into component new to its row of rows[N, N] and of modifiers[N, N]."""
    n_nodes = scores.shape[0]
    path, entering = components.path, components.entering
    row, modifier = rows[new - n_nodes], modifiers[new - n_nodes]
    for u in range(n_nodes):
        row[u] = -np.inf
    for position in range(bottom, depth):
        c = path[position]
        replaced = entering[c]
        if c < n_nodes:
            for u in range(n_nodes):
                score = scores[u, c] - replaced
                if score > row[u]:
                    row[u] = score
                    modifier[u] = c
        else:
            inner, inner_modifier = rows[c - n_nodes], modifiers[c - n_nodes]
            for u in range(n_nodes):
                score = inner[u] - replaced
                if score > row[u]:
                    row[u] = score
                    modifier[u] = inner_modifier[u]
    node = components.first[new]
    while node >= 0:
        row[node] = -np.inf
        node = components.following[node]


@kernel
def _choose_row(
    scores: Float64s, row: Float64s, modifier: Int32s, avoid_root: int, components: Components, c: int
) -> None:
    """Choose the best arc into contracted component c; with avoid_root, a root arc only as a last resort."""
    best_head = avoid_root
    for u in range(avoid_root, row.shape[0]):
        if row[u] > row[best_head]:
            best_head = u
    if avoid_root > 0 and row[best_head] == -np.inf:
        best_head = 0
    components.entering[c] = row[best_head]
    components.head[c] = best_head
    if row[best_head] > -np.inf:
        components.modifier[c] = modifier[best_head]
        components.score[c] = scores[best_head, modifier[best_head]]
