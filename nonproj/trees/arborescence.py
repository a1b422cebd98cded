"""The maximum spanning arborescence: Chu-Liu-Edmonds, with one root or any number of them.

Both kernels grow a path of best arcs backwards from a word.  The path ends at what already hangs from the root, or it
closes a cycle, which is contracted and grows on (Tarjan 1977; Gabow, Galil, Spencer and Tarjan 1986).  Without cycles
this is nothing but every word taking its best head.

A single root needs no penalty: fewest root arcs first, then the highest score, is the order of pairs (-root arcs,
score), and the algorithm works for any ordered group.  Cycles never hold a root arc, so in that order a component
simply leaves its root arcs until it has no other, and not a digit of the scores is lost.
"""

from __future__ import annotations

import numpy as np

from nonproj._kernel import kernel
from nonproj.parts.arcs import as_array
from nonproj.trees.contraction import _DONE, _contract, _expand, _new_forest
from nonproj.types import ArcSpace


def maximum_arborescence(scores, single_root: bool = False) -> np.ndarray:
    """Find the spanning arborescence of highest score, in O(N^2).

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
        The heads, ``heads[0] == -1``.  Among equal heads of a word the lowest is taken.

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
    scores = _square(scores, "scores")
    heads = np.empty(len(scores), np.int32)
    _report(_best_dense_tree(scores, bool(single_root), heads))
    return heads


def maximum_arborescence_sparse(arcs: ArcSpace, scores, single_root: bool = False) -> np.ndarray:
    """Find the spanning arborescence of highest score over given arcs.

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
        The heads, ``heads[0] == -1``.

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
    scores = _arc_scores(arcs, scores)
    heads = np.empty(len(arcs.start) - 1, np.int32)
    _report(_best_tree(arcs, scores, bool(single_root), heads))
    return heads


def _square(values, name: str) -> np.ndarray:
    """Return a square matrix of float64 as kernels want it, or say that it is none."""
    values = as_array(values, np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) == 0:
        raise ValueError(f"{name} has shape {values.shape}; (N, N) with N = words + 1 is expected")
    return values


def _arc_scores(arcs: ArcSpace, scores) -> np.ndarray:
    """Return the scores of arcs as kernels want them, or say what is wrong."""
    scores = as_array(scores, np.float64)
    if scores.shape != arcs.head.shape:
        raise ValueError(f"scores has shape {scores.shape}; one score for each of {len(arcs.head)} arcs is expected")
    if not (scores < np.inf).all():
        _report(3)
    return scores


def _report(status: int) -> None:
    """Raise the error that a decoder's status stands for."""
    if status == 1:
        raise ValueError("no tree spans the words: with these scores some cannot be reached from the root")
    if status == 2:
        raise ValueError("no tree with a single root spans the words")
    if status == 3:
        raise ValueError("scores must be finite, or minus infinity where there is no arc, not NaN or plus infinity")


@kernel
def _best_tree(arcs, scores, single_root, heads):
    """Write the best arborescence over sparse arcs to int32[N]; return 0, or 1: no tree, 2: none with a single root."""
    for avoid_root in range(1 + single_root):
        status = _grow_sparse(arcs, scores, avoid_root, heads)
        if status != 0:
            return status
        if not single_root or _count_roots(heads) <= 1:
            return 0
    return 2


@kernel
def _best_dense_tree(scores, single_root, heads):
    """Write the best arborescence over scores[h, m] to int32[N]; return as `_best_tree`, or 3: a score is no number."""
    for avoid_root in range(1 + single_root):
        status = _grow_dense(scores, avoid_root, heads)
        if status != 0:
            return status
        if not single_root or _count_roots(heads) <= 1:
            return 0
    return 2


@kernel
def _count_roots(heads):
    """Count the words headed by the root."""
    count = 0
    for m in range(1, heads.shape[0]):
        count += heads[m] == 0
    return count


@kernel
def _choose_arcs(arcs, scores, offset, avoid_root, forest, c):
    """Choose the best arc into component c, the lowest among equals, root arcs last if so asked; return its score."""
    best = best_root = -np.inf
    best_arc = best_root_arc = -1
    node = forest.first[c]
    while node >= 0:
        begin, end = arcs.start[node], arcs.start[node + 1]
        if avoid_root > 0 and begin < end and arcs.head[begin] == 0:
            if scores[begin] - offset[node] > best_root:
                best_root = scores[begin] - offset[node]
                best_root_arc = begin
            begin += 1
        for a in range(begin, end):
            score = scores[a] - offset[node]
            if score > best and forest.top[arcs.head[a]] != c:
                best = score
                best_arc = a
        node = forest.following[node]
    if best_arc < 0:
        best, best_arc = best_root, best_root_arc
    if best_arc >= 0:
        forest.head[c] = arcs.head[best_arc]
        forest.modifier[c] = arcs.modifier[best_arc]
    return best


@kernel
def _choose_heads_sparse(arcs, scores, avoid_root, entering, forest):
    """Choose the best head of every word, the lowest among equals, root arcs last if so asked."""
    for m in range(1, arcs.start.shape[0] - 1):
        begin, end = arcs.start[m], arcs.start[m + 1]
        has_root = begin < end and arcs.head[begin] == 0
        best, best_arc = -np.inf, -1
        for a in range(begin + (has_root and avoid_root > 0), end):
            if scores[a] > best:
                best, best_arc = scores[a], a
        if best_arc < 0 and has_root and scores[begin] > -np.inf:
            best, best_arc = scores[begin], begin
        entering[m] = best
        if best_arc >= 0:
            forest.head[m] = arcs.head[best_arc]


@kernel
def _settle(forest, bottom, depth, entering, offset):
    """Charge every node of a cycle with the arc that its component would give up."""
    for position in range(bottom, depth):
        c = forest.path[position]
        node = forest.first[c]
        while node >= 0:
            offset[node] += entering[c]
            node = forest.following[node]


@kernel
def _grow_sparse(arcs, scores, avoid_root, heads):
    """Chu-Liu-Edmonds over sparse arcs: a component scans the arcs of its nodes, each node with one running offset."""
    n_nodes = heads.shape[0]
    forest = _new_forest(n_nodes)
    offset = np.zeros(n_nodes)
    entering = np.empty(2 * n_nodes)
    _choose_heads_sparse(arcs, scores, avoid_root, entering, forest)
    new = n_nodes
    for word in range(1, n_nodes):
        c = forest.top[word]
        depth = 0
        while forest.state[c] == 0:
            if entering[c] == -np.inf:
                return 1
            forest.path[depth] = c
            depth += 1
            forest.state[c] = depth
            c = forest.top[forest.head[c]]
            if forest.state[c] > 0:
                bottom = forest.state[c] - 1
                _settle(forest, bottom, depth, entering, offset)
                _contract(forest, bottom, depth, new)
                entering[new] = _choose_arcs(arcs, scores, offset, avoid_root, forest, new)
                depth = bottom
                c = new
                new += 1
        for position in range(depth):
            forest.state[forest.path[position]] = _DONE
    _expand(forest, new, heads)
    return 0


@kernel
def _choose_heads_dense(scores, avoid_root, entering, forest):
    """Choose the best head of every word, root arcs last if so asked; return 0, or 3 where a score is no number."""
    n_nodes = scores.shape[0]
    for m in range(1, n_nodes):
        entering[m] = -np.inf
    for h in range(avoid_root, n_nodes):
        for m in range(1, n_nodes):
            score = scores[h, m]
            if score > entering[m] and h != m:
                entering[m] = score
                forest.head[m] = h
            if not score < np.inf and h != m:
                return 3
    if avoid_root > 0:
        for m in range(1, n_nodes):
            if entering[m] == -np.inf:
                entering[m] = scores[0, m]
                forest.head[m] = 0
    return 0


@kernel
def _merge_rows(scores, forest, bottom, depth, entering, rows, modifiers, new):
    """Write the best arc from each node into a contracted cycle to its row of rows[N, N] and modifiers[N, N]."""
    n_nodes = scores.shape[0]
    row, modifier = rows[new - n_nodes], modifiers[new - n_nodes]
    for u in range(n_nodes):
        row[u] = -np.inf
    for position in range(bottom, depth):
        c = forest.path[position]
        if c < n_nodes:
            for u in range(n_nodes):
                score = scores[u, c] - entering[c]
                if score > row[u]:
                    row[u] = score
                    modifier[u] = c
        else:
            inner = rows[c - n_nodes]
            for u in range(n_nodes):
                score = inner[u] - entering[c]
                if score > row[u]:
                    row[u] = score
                    modifier[u] = modifiers[c - n_nodes, u]
    node = forest.first[new]
    while node >= 0:
        row[node] = -np.inf
        node = forest.following[node]


@kernel
def _choose_row(row, modifier, avoid_root, forest, c):
    """Choose the best arc into a contracted component, root arcs last if so asked; return its score."""
    best_head = avoid_root
    for u in range(avoid_root, row.shape[0]):
        if row[u] > row[best_head]:
            best_head = u
    if avoid_root > 0 and row[best_head] == -np.inf:
        best_head = 0
    forest.head[c] = best_head
    forest.modifier[c] = modifier[best_head]
    return row[best_head]


@kernel
def _grow_dense(scores, avoid_root, heads):
    """Chu-Liu-Edmonds over scores[h, m]: a cycle merges the columns of its members into one row, O(N^2) in all."""
    n_nodes = scores.shape[0]
    forest = _new_forest(n_nodes)
    entering = np.empty(2 * n_nodes)
    if _choose_heads_dense(scores, avoid_root, entering, forest) != 0:
        return 3
    rows = np.empty((n_nodes, n_nodes))
    modifiers = np.empty((n_nodes, n_nodes), np.int32)
    new = n_nodes
    for word in range(1, n_nodes):
        c = forest.top[word]
        depth = 0
        while forest.state[c] == 0:
            if entering[c] == -np.inf:
                return 1
            forest.path[depth] = c
            depth += 1
            forest.state[c] = depth
            c = forest.top[forest.head[c]]
            if forest.state[c] > 0:
                bottom = forest.state[c] - 1
                _contract(forest, bottom, depth, new)
                _merge_rows(scores, forest, bottom, depth, entering, rows, modifiers, new)
                entering[new] = _choose_row(rows[new - n_nodes], modifiers[new - n_nodes], avoid_root, forest, new)
                depth = bottom
                c = new
                new += 1
        for position in range(depth):
            forest.state[forest.path[position]] = _DONE
    _expand(forest, new, heads)
    return 0
