"""Costs of crossed arcs: a tree pays for each of its arcs that another one crosses.

An arc is *crossed* by another one if one end of the other is between its own ends, and the other end is outside them:
drawn above the words, the two intersect.  Arcs from the root count.  A tree is non-projective if and only if one of its
arcs is crossed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nonproj.parts.arcs import as_array
from nonproj.trees.crossing import crossed
from nonproj.trees.domain import LARGEST
from nonproj.trees.projective import is_projective
from nonproj.types import ArcSpace, Bools, Float64s, Int32s, Int64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class CrossingCosts:
    """Costs that trees over some arcs pay for crossed arcs.

    Parameters
    ----------
    head, modifier : ndarray of shape (A,), int32
        The nodes of each arc.
    costs : ndarray of shape (A,), float64
        The cost of each arc, which a tree pays if it is crossed; not negative.

    Examples
    --------
    Of the tree 0 -> 2, 2 -> 4, 4 -> 1 and 2 -> 3, the arcs from 0 and from 4 cross.

    >>> head, modifier = np.array([4, 0, 2, 2]), np.array([1, 2, 3, 4])
    >>> crossing = CrossingCosts(head, modifier, np.array([2.0, 3.0, 7.0, 9.0]))
    >>> crossing.of(np.array([-1, 4, 0, 2, 2], np.int32))
    5.0
    """

    def __init__(self, head: Int32s, modifier: Int32s, costs: Float64s):
        self.head, self.modifier, self.costs = head, modifier, costs
        self._paid: dict[bytes, float] = {}

    @cached_property
    def roundoff(self) -> float:
        """Upper bound on the rounding errors of two sums of costs."""
        return 2.0 * math.ulp(float(self.costs.max(initial=0.0)) * int(self.modifier.max(initial=0)))

    @cached_property
    def left(self) -> Int32s:
        """The first end of each arc, int32[A]."""
        return np.minimum(self.head, self.modifier)

    @cached_property
    def right(self) -> Int32s:
        """The last end of each arc, int32[A]."""
        return np.maximum(self.head, self.modifier)

    def crossed(self, tree: Int32s) -> Int64s:
        """Return the numbers of the arcs of a tree that are crossed."""
        return self._crossed_among(np.flatnonzero(tree[self.modifier] == self.head))

    def _crossed_among(self, arcs: Int64s) -> Int64s:
        """Return the arcs that another of them crosses."""
        return arcs[crossed(self.head[arcs], self.modifier[arcs])]

    def payments(self, tree: Int32s) -> list[float]:
        """Return the costs that a tree pays."""
        return [] if is_projective(tree) else self.costs[self.crossed(tree)].tolist()

    def of(self, tree: Int32s) -> float:
        """Return the payment of a tree."""
        key = tree.tobytes()
        if key not in self._paid:
            self._paid[key] = math.fsum(self.payments(tree))
        return self._paid[key]

    def largest(self, tree: Int32s, paid: Sequence[int]) -> int:
        """Return the crossed arc of a tree with the largest cost, except those that were ``paid``."""
        arcs = np.setdiff1d(self.crossed(tree), paid)
        return int(arcs[self.costs[arcs].argmax()])

    def crossers(self, arc: int) -> Bools:
        """Return the arcs that cross an arc, bool[A]."""
        left, right, begin, end = self.left, self.right, self.left[arc], self.right[arc]
        return ((begin < left) & (left < end) & (end < right)) | ((left < begin) & (begin < right) & (right < end))

    def must_cross(self, keep: Bools) -> Int64s:
        """Return the arcs that cross another in all trees over kept arcs: both are the only ones into their words."""
        count = np.bincount(self.modifier[keep])
        return self._crossed_among(np.flatnonzero(keep)[count[self.modifier[keep]] == 1])

    def least(self, keep: Bools, crossed: Sequence[int]) -> float:
        """Return a lower bound on the payment of trees over the kept arcs.

        All of ``crossed``, or if it is empty any arc, must be crossed; infinity if no kept arc can cross one of these.
        """
        arcs = np.union1d(self.must_cross(keep), crossed).astype(np.int64)
        if not len(arcs):
            cheapest = np.where(keep, self.cheapest_crossers(keep), np.inf)
            arc = int((self.costs + cheapest).argmin())
            return math.fsum([self.costs[arc], cheapest[arc]])
        crossers = [self.crossers(arc) for arc in arcs]
        alone = [self.costs[each & keep].min(initial=np.inf) for each in crossers if not each[arcs].any()]
        return math.fsum([*self.costs[arcs].tolist(), max(alone, default=0.0)])

    def cheapest_crossers(self, keep: Bools) -> Float64s:
        """Return the cost of the cheapest arc in ``keep`` that crosses each arc, float64[A]; infinity if none does."""
        size = int(self.right.max(initial=0)) + 1
        least = np.full((size, size), np.inf)  # cost of the cheapest arc between two nodes
        np.minimum.at(least, (self.left[keep], self.right[keep]), self.costs[keep])
        least = np.minimum(least, least.T)
        last = size - 1
        return np.minimum(
            _cheapest_to_left(least)[self.left, self.right],
            _cheapest_to_left(least[::-1, ::-1])[last - self.right, last - self.left],
        )

    def over(self, arcs: ArcSpace) -> CrossingCosts:
        """Return the costs restricted to ``arcs``, a subset of the arcs."""
        size = len(arcs.start)
        order = self.modifier.astype(np.int64) * size + self.head
        places = np.searchsorted(order, arcs.modifier.astype(np.int64) * size + arcs.head)
        return CrossingCosts(arcs.head, arcs.modifier, self.costs[places])


def _cheapest_to_left(least: Float64s) -> Float64s:
    """Return, for i < j, the lowest cost of an arc with one end before i and one between i and j, float64[N, N]."""
    found = np.full(least.shape, np.inf)
    before = np.minimum.accumulate(least, axis=1)[:, :-1].T  # [i, k]: of a node up to i and node k
    found[1:] = np.where(np.arange(1, len(least))[:, None] < np.arange(len(least)), before, np.inf)
    found[:, 1:] = np.minimum.accumulate(found, axis=1)[:, :-1]
    return found


def crossing_costs(arcs: ArcSpace, costs: ArrayLike | None, projective: bool) -> CrossingCosts | None:
    """Return the costs of crossed arcs; None if no tree has any.

    Parameters
    ----------
    arcs : ArcSpace
    costs : array-like of shape (A,), float64, or None for zeros
    projective : bool
        Whether only trees without crossed arcs count.

    Raises
    ------
    ValueError
        If there is not one cost for each arc, or one is negative, not finite, or too large.
    """
    if costs is None:
        return None
    given = as_array(costs, np.float64)
    if given.shape != arcs.head.shape:
        raise ValueError(f"costs has shape {given.shape}; one cost for each of {len(arcs.head)} arcs is expected")
    wrong = ~((given >= 0.0) & (given <= LARGEST))
    if wrong.any():
        arc = int(wrong.argmax())
        place = f"the cost of crossing arc {arcs.head[arc]} -> {arcs.modifier[arc]}"
        raise ValueError(f"{place} is {given[arc]}; a number from 0 to {LARGEST} is expected")
    return None if projective or not given.any() else CrossingCosts(arcs.head, arcs.modifier, given)
