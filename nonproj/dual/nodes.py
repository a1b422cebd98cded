"""The open nodes, the known trees and the ranked ones of `nonproj.dual.search`."""

from __future__ import annotations

import bisect
import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nonproj.types import Bools, Decoded, Float64s, Int32s, Int64s

ALL, CROSSING, PROJECTIVE = range(3)
"""Kinds of trees of a node: all, those with crossed arcs, or projective ones."""


CROSSINGS = "crossing"
"""The division of trees into those whose arcs cross and those whose do not."""


_ARC_BYTES = 33  # memory of an arc in a node


class CrossedArc(NamedTuple):
    """The division of trees into those in which an arc is crossed, those in which it is not, and those without it."""

    arc: int


@dataclass
class Branch:
    """A set of trees in a search, which was divided further or finally bounded.

    Attributes
    ----------
    keep : ndarray of shape (A,), bool
        The arcs of these trees.
    copies : ndarray of shape (3 A,), float64
        The copies of the scores with the lowest bound, see `nonproj.dual.problem.NodeResult`; only those of kept arcs
        are set.
    division : int, CrossedArc, str, ndarray or None
        The number of the arc that only the trees of the first part have; `CrossedArc` or `CROSSINGS`; the numbers of
        the arcs that the trees of the only part lack, because the copies bound trees with them; None if the set was not
        divided.
    parts : tuple of Branch
    """

    keep: Bools
    copies: Float64s
    division: int | CrossedArc | str | Int64s | None = None
    parts: tuple[Branch, ...] = ()

    def set_copies(self, copies: Float64s) -> None:
        """Store the copies with the lowest bound, by which the set is bounded unless it is divided."""
        self.copies = copies

    def divide(self, division: int | CrossedArc | str, *keeps: Bools) -> tuple[Branch, ...]:
        """Divide this set into parts with these arcs, and return them."""
        self.division, self.parts = division, tuple(Branch(keep, self.copies) for keep in keeps)
        return self.parts

    def exclude(self, arcs: Bools) -> Branch:
        """Restrict this set to the trees without some arcs, and return them; the copies bound the others."""
        self.division, self.parts = np.flatnonzero(arcs), (Branch(self.keep & ~arcs, self.copies),)
        return self.parts[0]


def divide(branch: Branch | None, division: int | CrossedArc | str, *keeps: Bools) -> tuple[Branch | None, ...]:
    """Divide a set and return its parts; None for each of them if nothing is recorded."""
    return (None,) * len(keeps) if branch is None else branch.divide(division, *keeps)


@dataclass
class Node:
    """A node of the search: the trees over some of the arcs, and a bound on their scores.

    Attributes
    ----------
    keep : ndarray of shape (A,), bool
    bound : float
        Bound on the scores of the trees.
    copies, disputes : ndarray
        See `nonproj.dual.problem.NodeResult`; those of the parent until the node is bounded itself.  Disputes are
        weighted where bounds on the trees without each arc are known.
    kind : int
        Kind of trees that count: `ALL`, `CROSSING` or `PROJECTIVE`.
    iterations : int
        Maximum number of iterations of the subgradient method; 0 once the node is bounded.
    best : ndarray of int32, or None
        The best tree that is known over its arcs.
    score : float
        Score of ``best``.
    solved : bool
        Whether ``best`` is proven to score highest.
    branch : Branch or None
        Record of the node's divisions and bounds; None if nothing is recorded.
    crossed : tuple of int
        Arcs of all its trees, which count only if these are crossed.
    paid : float
        The trees that count pay at least this, see `nonproj.dual.crossing.CrossingCosts.least`.
    """

    keep: Bools
    bound: float
    copies: Float64s
    disputes: Int64s | Float64s
    kind: int
    iterations: int
    best: Int32s | None = None
    score: float = -np.inf
    solved: bool = False
    branch: Branch | None = None
    crossed: tuple[int, ...] = ()
    paid: float = 0.0

    @property
    def highest(self) -> float:
        """Upper bound on the values of the trees that count."""
        return self.bound - self.paid


class OpenNodes:
    """The open nodes, highest bound first, and the highest bound of the fathomed ones.

    Once they take too much memory, the newest comes first.

    Parameters
    ----------
    size : int
        Maximum memory of the nodes in the heap, in bytes.
    n_arcs : int
    """

    def __init__(self, size: int, n_arcs: int):
        self.most = max(1, size // (_ARC_BYTES * max(1, n_arcs)))
        self.heap: list[tuple[float, int, Node]] = []
        self.stack: list[Node] = []
        self.numbered, self.fathomed = 0, -np.inf

    def __len__(self) -> int:
        return len(self.heap) + len(self.stack)

    def push(self, node: Node) -> None:
        """Add a node."""
        self.numbered += 1
        if len(self.heap) < self.most:
            heapq.heappush(self.heap, (-node.highest, self.numbered, node))
        else:
            self.stack.append(node)

    def fathom(self, bound: float) -> None:
        """Record a bound on trees that are no longer searched."""
        self.fathomed = max(self.fathomed, bound)

    def pop(self) -> Node:
        """Remove and return the node that comes first."""
        return self.stack.pop() if self.stack else heapq.heappop(self.heap)[-1]

    def highest(self) -> float:
        """Return a bound on the values of trees in all nodes, open or fathomed; minus infinity if there are none."""
        return max([self.fathomed, *(-bound for bound, _, _ in self.heap[:1]), *(node.highest for node in self.stack)])


class Certificate(NamedTuple):
    """Certificate of a tree: its score, a bound, and whether the subproblems agreed and the gap is closed."""

    score: float
    bound: float
    agreed: bool
    certified: bool


class Effort(NamedTuple):
    """The numbers of iterations, decoded automata and nodes until a tree was ranked."""

    iterations: int
    decoded: int
    nodes: int


class RankedTree(NamedTuple):
    """A tree among the best, and its value."""

    tree: Int32s
    score: float
    effort: Effort


def in_order(trees: list[Decoded]) -> list[Decoded]:
    """Return trees best first; each bound is raised to that of any tree behind it, if this is higher.

    A tree may have been ranked before one that is better by less than the tolerance, or by the rounding of a sum.
    """
    ordered = sorted(trees, key=lambda each: -each.score)
    bounds = np.maximum.accumulate([each.bound for each in reversed(ordered)])[::-1].tolist()
    return [each._replace(bound=bound) for each, bound in zip(ordered, bounds, strict=True)]


class KnownTrees:
    """The known trees by their values, ranked or not yet ranked."""

    def __init__(self, k: int):
        self.k = k
        self.seen: set[bytes] = set()
        self.ordered: list[float] = []
        self.heap: list[tuple[float, int, Int32s]] = []

    def add(self, tree: Int32s, value: float) -> None:
        """Add a tree, unless it is known."""
        if tree.tobytes() in self.seen:
            return
        self.seen.add(tree.tobytes())
        bisect.insort(self.ordered, value)
        heapq.heappush(self.heap, (-value, len(self.seen), tree))

    def threshold(self) -> float:
        """Return the k-th best value, minus infinity if there are fewer."""
        return self.ordered[-self.k] if len(self.ordered) >= self.k else -np.inf

    def best(self) -> float:
        """Return the highest value of the unranked trees, minus infinity if there is none."""
        return -self.heap[0][0] if self.heap else -np.inf

    def pop(self) -> tuple[Int32s, float]:
        """Rank the best unranked tree; return it and its value."""
        value, _, tree = heapq.heappop(self.heap)
        return tree, -value
