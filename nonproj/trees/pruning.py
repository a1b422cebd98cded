"""Pruning by first-order marginals: the candidate arcs, which always contain a spanning tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import check_count, full_arc_space, index_arcs
from nonproj.trees.arborescence import best_arborescence_dense, count_roots
from nonproj.trees.checks import FOUND, check_flag, check_integer, check_matrix, check_status
from nonproj.trees.projective import best_projective_tree, is_projective
from nonproj.types import ArcSpace, Bools, Float64s, Int32s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LOG_ZERO = -1000.0  # below -745, the logarithm of the smallest positive float64


def prune(
    marginals: ArrayLike,
    *,
    threshold: float = 1e-4,
    max_heads: int = 10,
    single_root: bool = False,
    projective: bool = False,
) -> ArcSpace:
    """Return the probable arcs, together with those of the most probable tree.

    Parameters
    ----------
    marginals : array-like of shape (N, N), float64
        ``p[h, m]``, as `nonproj.trees.marginals.marginals` returns them.  The diagonal and column 0 are ignored.
    threshold : float
        From 0 to 1.  Keep an arc if its marginal is positive and at least this share of its modifier's best.
    max_heads : int
        Maximum number of heads kept per word: the most probable ones, and among equals the lowest.
    single_root : bool
        Whether the most probable tree has exactly one word headed by the root.
    projective : bool
        Whether to keep the most probable projective tree, too, with the minimum number of arcs of marginal zero.

    Returns
    -------
    ArcSpace
        The arcs within ``threshold`` and ``max_heads``, and those of the arborescence with the highest product of
        marginals and of the projective tree.

    Raises
    ------
    ValueError
        If an argument is out of range, or the arcs with positive marginals contain no such tree.

    References
    ----------
    Koo, Rush, Collins, Jaakkola and Sontag (2010), section 7: pruning by the marginals of an arc-factored model.

    Examples
    --------
    >>> arcs = prune([[0.0, 0.9, 0.2], [0.0, 0.0, 0.8], [0.0, 0.1, 0.0]], threshold=0.2)
    >>> list(zip(arcs.head.tolist(), arcs.modifier.tolist()))
    [(0, 1), (0, 2), (1, 2)]
    """
    p = check_matrix(marginals, "marginals")
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold is {threshold}; a number from 0 to 1 is expected")
    max_heads = check_integer(max_heads, "max_heads", 1)
    single_root, projective = check_flag(single_root, "single_root"), check_flag(projective, "projective")
    if not (p >= 0.0).all():
        raise ValueError("marginals must be probabilities, not negative and not NaN")
    check_count(p.size, "pairs of words", len(p) - 1)
    return prune_trusted(p, float(threshold), max_heads, single_root, projective)


def prune_trusted(p: Float64s, threshold: float, max_heads: int, single_root: bool, projective: bool) -> ArcSpace:
    """Return arcs as `prune` does, without validation: the arguments are in range, and ``p`` is a writable matrix."""
    mask, heads, words = np.zeros(p.shape, np.bool_), np.empty(len(p), np.int32), np.arange(1, len(p))
    if not _mark_probable(p, threshold, max_heads, single_root, mask, heads):
        check_status(best_arborescence_dense(_logarithms(p), single_root, heads))
        mask[heads[1:], words] = True
    if projective and not is_projective(heads):
        arcs = full_arc_space(len(p) - 1)
        scores = np.maximum(_logarithms(p)[arcs.head, arcs.modifier], _LOG_ZERO)  # probability zero last
        if best_projective_tree(arcs, scores, single_root, heads) != FOUND:
            raise ValueError("no projective tree spans the words")
        mask[heads[1:], words] = True
    return ArcSpace(*index_arcs(mask))


@kernel
def _mark_probable(
    p: Float64s, threshold: float, max_heads: int, single_root: bool, mask: Bools, heads: Int32s
) -> bool:
    """Set mask[h, m] of the probable arcs; write the best heads of words to int32[N]; return whether they are a tree.

    If so, it is the most probable tree.
    """
    n_nodes, possible = p.shape[0], True
    chosen = np.empty(n_nodes, np.int32)
    heads[0] = -1
    for m in range(1, n_nodes):
        best = 0
        for h in range(1, n_nodes):
            if p[h, m] > p[best, m] and h != m:
                best = h
        heads[m] = best
        if p[best, m] > 0.0:
            _mark_heads(p, m, threshold * p[best, m], max_heads, chosen, mask)
        else:
            possible = False
    return possible and _reaches_root(heads) and (not single_root or count_roots(heads) == 1)


@kernel
def _mark_heads(p: Float64s, m: int, smallest: float, max_heads: int, chosen: Int32s, mask: Bools) -> None:
    """Set mask[h, m] of the most probable heads of word m, none below smallest; sort them into chosen, int32[N]."""
    count = 0
    for h in range(p.shape[0]):
        if p[h, m] >= smallest and p[h, m] > 0.0 and h != m:
            # Insertion sort, most probable first and after equals; only the first max_heads are kept.
            position = min(count, max_heads)
            while position > 0 and p[chosen[position - 1], m] < p[h, m]:
                if position < max_heads:
                    chosen[position] = chosen[position - 1]
                position -= 1
            if position < max_heads:
                chosen[position] = h
            count = min(count + 1, max_heads)
    for position in range(count):
        mask[chosen[position], m] = True


@kernel
def _logarithms(p: Float64s) -> Float64s:
    """Return the logarithms of float64[N, N], minus infinity for zero and in column 0."""
    logarithms = np.full(p.shape, -np.inf)
    for h in range(p.shape[0]):
        for m in range(1, p.shape[0]):
            if p[h, m] > 0.0:
                logarithms[h, m] = np.log(p[h, m])
    return logarithms


@kernel
def _reaches_root(heads: Int32s) -> bool:
    """Return whether every word descends from the root."""
    n_nodes = heads.shape[0]
    seen = np.zeros(n_nodes, np.int32)
    for word in range(1, n_nodes):
        node = word
        while node > 0 and seen[node] == 0:
            seen[node] = word
            node = heads[node]
        if node > 0 and seen[node] == word:
            return False
    return True
