"""Which arcs, adjacent siblings and grandparents exist after pruning: combinatorics only, no scores and no features.

The arcs of a sentence are an `ArcSpace`; the parts of a model over them are numbered by a `PartIndex`.  Both are built
by one pass of compiled code.  A tree is a list of part numbers, from which its score and its indicators follow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.types import GRANDPARENT, MODELS, SIBLING, ArcSpace, PartIndex, PartScores


class PartIndicators(NamedTuple):
    """The parts of one tree, aligned with `PartScores`: ``int8`` arrays, 1 where the tree uses the part, else 0."""

    arc: np.ndarray
    sibling: np.ndarray
    grandparent: np.ndarray


def arc_space(heads, modifiers, n_words: int) -> ArcSpace:
    """Index a list of arcs given in any order.

    Parameters
    ----------
    heads, modifiers : array-like of shape (A,), int
        Arc ``a`` goes from ``heads[a]``, in ``0 .. n``, to ``modifiers[a]``, in ``1 .. n``.
    n_words : int
        Words of the sentence, ``n``.

    Returns
    -------
    ArcSpace
        The arcs sorted by modifier and head.

    Raises
    ------
    ValueError
        If an arc is out of range, a loop, or given twice.

    Examples
    --------
    >>> arcs = arc_space([2, 0, 1], [1, 2, 2], n_words=2)
    >>> list(zip(arcs.head.tolist(), arcs.modifier.tolist()))
    [(2, 1), (0, 2), (1, 2)]
    """
    heads, modifiers = _integers(heads, "heads"), _integers(modifiers, "modifiers")
    if heads.shape != modifiers.shape:
        raise ValueError(f"heads has {len(heads)} entries and modifiers {len(modifiers)}; as many are expected")
    wrong = (heads < 0) | (heads > n_words) | (modifiers < 1) | (modifiers > n_words) | (heads == modifiers)
    if wrong.any():
        h, m = heads[wrong][0], modifiers[wrong][0]
        raise ValueError(
            f"arc {h} -> {m} is not an arc: heads are 0 .. {n_words}, modifiers 1 .. {n_words}, and no loops"
        )
    mask = np.zeros((n_words + 1, n_words + 1), np.bool_)
    mask[heads, modifiers] = True
    if np.count_nonzero(mask) != len(heads):
        _, first = np.unique(heads * (n_words + 1) + modifiers, return_index=True)
        twice = np.setdiff1d(np.arange(len(heads)), first)[0]
        raise ValueError(f"arc {heads[twice]} -> {modifiers[twice]} is given twice")
    return _index_arcs(mask)


def arc_space_from_mask(mask: np.ndarray) -> ArcSpace:
    """Index the arcs of a mask.

    Parameters
    ----------
    mask : ndarray of shape (N, N), bool
        ``mask[h, m]`` where the arc ``h -> m`` exists.  The diagonal and column 0 are ignored.

    Returns
    -------
    ArcSpace
        The arcs sorted by modifier and head.

    Raises
    ------
    ValueError
        If the mask is not a square matrix of bool.

    Examples
    --------
    >>> arc_space_from_mask(np.ones((3, 3), dtype=bool)).head
    array([0, 2, 0, 1], dtype=int32)
    """
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise ValueError(f"mask must be an array of bool, not {getattr(mask, 'dtype', type(mask).__name__)}")
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1] or len(mask) == 0:
        raise ValueError(f"mask has shape {mask.shape}; (N, N) with N = words + 1 is expected")
    return _index_arcs(_writable(mask, np.bool_))


def full_arc_space(n_words: int) -> ArcSpace:
    """Index all ``n * n`` arcs of a sentence of ``n_words`` words.

    Examples
    --------
    >>> len(full_arc_space(3).head)
    9
    """
    if n_words < 0:
        raise ValueError(f"n_words is {n_words}; it cannot be negative")
    return _index_arcs(np.ones((n_words + 1, n_words + 1), np.bool_))


def part_index(arcs: ArcSpace, model: int) -> PartIndex:
    """Number the higher-order parts that the arcs allow.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    model : int
        ``ARC``, ``SIBLING`` or ``GRANDPARENT`` of `nonproj.types`.

    Returns
    -------
    PartIndex
        The layout of the sibling and grandparent parts; the last entry of each array is their number.

    Raises
    ------
    ValueError
        If there is no such model.

    Examples
    --------
    >>> part_index(full_arc_space(2), SIBLING).sibling_start.tolist()
    [0, 1, 7, 8, 11, 14, 15]
    """
    if model not in range(len(MODELS)):
        raise ValueError(f"model is {model!r}; 0 (arc), 1 (sibling) or 2 (grandparent) is expected")
    return _index_parts(arcs, int(model))


def gold_parts(arcs: ArcSpace, index: PartIndex, heads) -> PartIndicators:
    """Mark the parts of a tree.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    index : PartIndex
        The parts over these arcs.
    heads : array-like of shape (N,), int
        The tree, ``heads[0] == -1``.

    Returns
    -------
    PartIndicators
        ``arc`` int8[A], ``sibling`` int8[S] (transitions from START and to END included) and ``grandparent`` int8[G].

    Raises
    ------
    ValueError
        If the tree uses an arc that does not exist; the message names it.

    Examples
    --------
    >>> arcs = full_arc_space(2)
    >>> gold_parts(arcs, part_index(arcs, SIBLING), [-1, 0, 1]).arc.tolist()
    [1, 0, 0, 1]
    """
    heads = _tree(heads, arcs)
    gold = PartIndicators(
        np.zeros(len(arcs.head), np.int8),
        np.zeros(index.sibling_start[-1], np.int8),
        np.zeros(index.grandparent_start[-1], np.int8),
    )
    missing = _mark_parts(arcs, index, heads, gold)
    if missing > 0:
        raise ValueError(f"arc {heads[missing]} -> {missing} of the tree is not among the {len(arcs.head)} arcs")
    return gold


def tree_score(arcs: ArcSpace, index: PartIndex, scores: PartScores, heads) -> float:
    """Return the score of a tree, the sum over its parts; minus infinity where an arc of it does not exist.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    index : PartIndex
        The parts over these arcs.
    scores : PartScores
        Their scores, float64.
    heads : array-like of shape (N,), int
        The tree, ``heads[0] == -1``.

    Returns
    -------
    float
        Koo et al. (2010), sections 3 and 4: arcs, plus transitions of every half-automaton, plus chains of three words.

    Raises
    ------
    ValueError
        If an array of scores does not have one entry for each part.

    Examples
    --------
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 0)
    >>> tree_score(arcs, index, PartScores(np.array([1.0, 2.0, 4.0, 8.0]), np.zeros(0), np.zeros(0)), [-1, 0, 1])
    9.0
    """
    scores = check_scores(arcs, index, scores)
    return float(_tree_score(arcs, index, scores, _tree(heads, arcs)))


def check_scores(arcs: ArcSpace, index: PartIndex, scores: PartScores) -> PartScores:
    """Return scores as kernels want them: float64, contiguous, one for each part.

    Raises
    ------
    ValueError
        If an array does not have one entry for each part.
    """
    sizes = (len(arcs.head), int(index.sibling_start[-1]), int(index.grandparent_start[-1]))
    for name, values, size in zip(PartScores._fields, scores, sizes, strict=True):
        if np.shape(values) != (size,):
            raise ValueError(
                f"scores.{name} has shape {np.shape(values)}; one score for each of {size} parts is expected"
            )
    return PartScores(*[_writable(values, np.float64) for values in scores])


def _writable(array, dtype) -> np.ndarray:
    """Return a contiguous, writable array of this dtype (kernels have one signature), copied only where needed."""
    array = np.ascontiguousarray(array, dtype)
    return array if array.flags.writeable else array.copy()


def _integers(values, name: str) -> np.ndarray:
    """Return a vector as int64, or say that it is none."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a vector of integers, not {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


def _tree(heads, arcs: ArcSpace) -> np.ndarray:
    """Return the heads of a tree over these arcs as kernels want them."""
    n_nodes = len(arcs.start) - 1
    heads = _writable(heads, np.int32)
    if heads.shape != (n_nodes,) or heads[0] != -1:
        raise ValueError(f"heads must have {n_nodes} entries, the first of them -1, not {heads.tolist()}")
    return heads


@kernel
def _index_arcs(mask):
    """Index the arcs of a mask[h, m]: by modifier, and outward from each head."""
    n_nodes = mask.shape[0]
    count = 0
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if mask[h, m] and h != m:
                count += 1
    head = np.empty(count, np.int32)
    modifier = np.empty(count, np.int32)
    start = np.empty(n_nodes + 1, np.int32)
    out = np.empty(count, np.int32)
    out_start = np.zeros(2 * n_nodes + 1, np.int32)
    a = 0
    start[0] = 0
    for m in range(n_nodes):
        if m > 0:
            for h in range(n_nodes):
                if mask[h, m] and h != m:
                    head[a] = h
                    modifier[a] = m
                    out_start[2 * h + (m > h) + 1] += 1
                    a += 1
        start[m + 1] = a
    for q in range(2 * n_nodes):
        out_start[q + 1] += out_start[q]
    # Modifiers rise: right sides fill from the front, left sides (outward is falling) from the back.
    filled = np.zeros(2 * n_nodes, np.int32)
    for a in range(count):
        h = head[a]
        if modifier[a] > h:
            q = 2 * h + 1
            out[out_start[q] + filled[q]] = a
        else:
            q = 2 * h
            out[out_start[q + 1] - 1 - filled[q]] = a
        filled[q] += 1
    return ArcSpace(head, modifier, start, out, out_start)


@kernel
def _index_parts(arcs, model):
    """Lay out the transitions of each half-automaton and the chains through each word."""
    n_nodes = arcs.start.shape[0] - 1
    sibling_start = np.zeros(2 * n_nodes + 1, np.int32)
    grandparent_start = np.zeros(n_nodes + 1, np.int32)
    if model >= SIBLING:
        for q in range(2 * n_nodes):
            k = arcs.out_start[q + 1] - arcs.out_start[q]
            sibling_start[q + 1] = sibling_start[q] + (k + 1) * (k + 2) // 2
    if model >= GRANDPARENT:
        for h in range(n_nodes):
            into = arcs.start[h + 1] - arcs.start[h]
            k = arcs.out_start[2 * h + 2] - arcs.out_start[2 * h]
            grandparent_start[h + 1] = grandparent_start[h] + into * k
    return PartIndex(sibling_start, grandparent_start)


@kernel
def _find_arc(arcs, h, m):
    """Return the number of the arc h -> m, or -1 where there is none."""
    low, high = arcs.start[m], arcs.start[m + 1]
    while low < high:
        middle = (low + high) // 2
        if arcs.head[middle] < h:
            low = middle + 1
        else:
            high = middle
    return low if low < arcs.start[m + 1] and arcs.head[low] == h else -1


@kernel
def _tree_parts(arcs, index, heads, arc_parts, sibling_parts, grandparent_parts):
    """List the parts of a tree in int32[n], int32[n + 2N] and int32[n]; return (missing, siblings, grandparents).

    missing is the first word whose arc does not exist, and 0 when all do; the others count what was listed.
    """
    n_nodes = heads.shape[0]
    siblings = grandparents = 0
    for m in range(1, n_nodes):
        a = _find_arc(arcs, heads[m], m)
        if a < 0:
            return m, 0, 0
        arc_parts[m - 1] = a
    if index.sibling_start[2 * n_nodes] > 0:
        for q in range(2 * n_nodes):
            first, k = arcs.out_start[q], arcs.out_start[q + 1] - arcs.out_start[q]
            previous = 0
            for b in range(1, k + 2):
                if b == k + 1 or heads[arcs.modifier[arcs.out[first + b - 1]]] == q // 2:
                    sibling_parts[siblings] = index.sibling_start[q] + b * (b - 1) // 2 + previous
                    siblings += 1
                    previous = b
    if index.grandparent_start[n_nodes] > 0:
        for h in range(1, n_nodes):
            first, k = arcs.out_start[2 * h], arcs.out_start[2 * h + 2] - arcs.out_start[2 * h]
            row = index.grandparent_start[h] + (arc_parts[h - 1] - arcs.start[h]) * k
            for j in range(k):
                if heads[arcs.modifier[arcs.out[first + j]]] == h:
                    grandparent_parts[grandparents] = row + j
                    grandparents += 1
    return 0, siblings, grandparents


@kernel
def _mark_parts(arcs, index, heads, gold):
    """Set the indicators of a tree's parts; return the first word whose arc does not exist, else 0."""
    n_nodes = heads.shape[0]
    arc_parts = np.empty(n_nodes, np.int32)
    sibling_parts = np.empty(3 * n_nodes, np.int32)
    grandparent_parts = np.empty(n_nodes, np.int32)
    missing, siblings, grandparents = _tree_parts(arcs, index, heads, arc_parts, sibling_parts, grandparent_parts)
    if missing > 0:
        return missing
    for i in range(n_nodes - 1):
        gold.arc[arc_parts[i]] = 1
    for i in range(siblings):
        gold.sibling[sibling_parts[i]] = 1
    for i in range(grandparents):
        gold.grandparent[grandparent_parts[i]] = 1
    return 0


@kernel
def _tree_score(arcs, index, scores, heads):
    """Sum the scores of a tree's parts; minus infinity where an arc does not exist."""
    n_nodes = heads.shape[0]
    arc_parts = np.empty(n_nodes, np.int32)
    sibling_parts = np.empty(3 * n_nodes, np.int32)
    grandparent_parts = np.empty(n_nodes, np.int32)
    missing, siblings, grandparents = _tree_parts(arcs, index, heads, arc_parts, sibling_parts, grandparent_parts)
    if missing > 0:
        return -np.inf
    total = 0.0
    for i in range(n_nodes - 1):
        total += scores.arc[arc_parts[i]]
    for i in range(siblings):
        total += scores.sibling[sibling_parts[i]]
    for i in range(grandparents):
        total += scores.grandparent[grandparent_parts[i]]
    return total
