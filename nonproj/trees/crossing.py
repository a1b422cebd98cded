"""The non-projective arcs of trees, also of trees with missing heads.

The kernel `nonproj.trees.projective.is_projective` also tells whether a tree has any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.types import Bools, Int32s, Int64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def nonprojective(heads: ArrayLike) -> Bools:
    """Return a mask of the non-projective arcs of a tree.

    The arc ``h -> m`` is non-projective if some word strictly between ``h`` and ``m`` is not a descendant of ``h``.
    Arcs from the root are projective by this definition.  O(n log n).

    Parameters
    ----------
    heads : array_like of int, shape (n,)
        The head of each word, from 1; 0 is the root.

    Returns
    -------
    ndarray of shape (n,), bool
        For each word, whether the arc into it is non-projective.

    Raises
    ------
    ValueError
        ``heads`` is not a tree.

    Examples
    --------
    >>> nonprojective([3, 0, 2, 1])  # 1 -> 4 passes over 2 and 3, which do not depend on 1
    array([ True, False, False,  True])
    """
    tree = [-1, *np.asarray(heads).tolist()]
    size = len(tree)
    children: list[list[int]] = [[] for _ in range(size)]
    for modifier in range(1, size):
        if not 0 <= tree[modifier] < size:
            raise ValueError(f"heads[{modifier - 1}] is {tree[modifier]}, a number from 0 to {size - 1} expected")
        children[tree[modifier]].append(modifier)
    order = [0]
    for node in order:  # grows during the iteration: breadth-first from the root
        order += children[node]
    if len(order) < size:
        raise ValueError("heads has a cycle, a tree is expected")
    n_below, place, free = [1] * size, [0] * size, [1] * size
    for node in reversed(order[1:]):
        n_below[tree[node]] += n_below[node]
    for node in order[1:]:  # in preorder: the descendants of a node have the places after it
        place[node] = free[tree[node]]
        free[tree[node]] += n_below[node]
        free[node] = place[node] + 1
    return _covers_others(np.array(tree[1:]), np.array(place), np.array(n_below))


def _covers_others(heads: Int64s, place: Int64s, n_below: Int64s) -> Bools:
    """Return a mask of the arcs that pass over a word that is not a descendant of their head.

    ``least`` and ``most`` are the extreme places of ``2 ** k`` neighbours; two such ranges cover the words of an arc.
    """
    modifiers = np.arange(1, len(place))
    low, high = np.minimum(heads, modifiers) + 1, np.maximum(heads, modifiers)
    level = np.frexp(high - low)[1] - 1
    flags, least, most = np.zeros(len(heads), np.bool_), place, place
    for k in range(int(level.max(initial=-1)) + 1):
        here, half = np.flatnonzero(level == k), 1 << k
        a, b, first = low[here], high[here] - half, place[heads[here]]
        flags[here] = np.minimum(least[a], least[b]) < first
        flags[here] |= np.maximum(most[a], most[b]) >= first + n_below[heads[here]]
        least, most = np.minimum(least[:-half], least[half:]), np.maximum(most[:-half], most[half:])
    return flags


def count_nonprojective(tree: Int32s) -> int:
    """Return the number of non-projective arcs of a tree, int32[N]; an estimate if some words have no head, -1.

    The estimate is half of the crossed arcs, rounded up: of two arcs that cross, at least one is non-projective.

    Examples
    --------
    >>> [count_nonprojective(np.array(tree)) for tree in ([-1, 3, 0, 2, 1], [-1, 3, -1, -1, 2], [-1, 2, -1, 2])]
    [2, 1, 0]
    """
    if (tree[1:] >= 0).all():
        return int(nonprojective(tree[1:]).sum())
    words = np.flatnonzero(tree >= 0)
    return -(-int(np.count_nonzero(crossed(tree[words], words))) // 2)


def crossed(heads: Int32s | Int64s, modifiers: Int32s | Int64s) -> Bools:
    """Return a mask of the arcs that cross another of these arcs, given the two words of each.

    Examples
    --------
    >>> crossed(np.array([3, 0, 2, 1]), np.array([1, 2, 3, 4]))  # 3 -> 1 and 0 -> 2; 1 -> 4 and 0 -> 2
    array([ True,  True, False,  True])
    """
    low, high = np.minimum(heads, modifiers), np.maximum(heads, modifiers)
    inside = (low[:, None] < low) & (low < high[:, None]) & (high[:, None] < high)
    return np.asarray(inside.any(axis=0) | inside.any(axis=1))
