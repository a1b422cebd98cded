"""The open nodes and the ranked trees of `nonproj.dual.search`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nonproj.types import Bools, Float64s, Int32s, Int64s

ALL, CROSSING, PROJECTIVE = range(3)
"""Kinds of trees of a node: all, those that pay the price of crossing arcs, or projective ones."""


CROSSINGS = "crossing"
"""The division of trees into those whose arcs cross and those whose do not."""


@dataclass
class Branch:
    """A set of trees in a search, which was divided, or ended at a bound.

    Attributes
    ----------
    keep : ndarray of shape (A,), bool
        The arcs of these trees.
    copies : ndarray of shape (3 A,), float64
        The copies of the scores with the lowest bound, see `nonproj.dual.problem.NodeResult`; only those of kept arcs
        are set.
    division : int, str, ndarray or None
        The number of the arc that only the trees of the first part have, or `CROSSINGS`; the numbers of arcs that those
        of the only part lack, because the copies bound trees with them; None if it ended.
    parts : tuple of Branch
    """

    keep: Bools
    copies: Float64s
    division: int | str | Int64s | None = None
    parts: tuple[Branch, ...] = ()

    def set_copies(self, copies: Float64s) -> None:
        """Keep the copies with the lowest bound, which hold unless the set is divided."""
        self.copies = copies

    def divide(self, division: int | str, *keeps: Bools) -> tuple[Branch, ...]:
        """Divide this set into two, with these arcs, and return them."""
        self.division, self.parts = division, tuple(Branch(keep, self.copies) for keep in keeps)
        return self.parts

    def exclude(self, arcs: Bools) -> Branch:
        """Return the trees without these arcs; the others are bounded by the copies."""
        self.division, self.parts = np.flatnonzero(arcs), (Branch(self.keep & ~arcs, self.copies),)
        return self.parts[0]


@dataclass
class Node:
    """The trees over some of the arcs.

    Attributes
    ----------
    keep : ndarray of shape (A,), bool
    bound : float
        Of the values of the trees that count, see ``kind``.
    copies, disputes : ndarray
        See `nonproj.dual.problem.NodeResult`; those of the parent until the node is bounded itself.  Disputes have
        weights where bounds of the trees without each arc are known.
    kind : int
        `ALL`, `CROSSING` or `PROJECTIVE`.
    iterations : int
        Of the subgradient method, at most; 0 once the node is bounded.
    best : ndarray of int32, or None
        The best tree that is known in it.
    score : float
        That of ``best``.
    solved : bool
        Whether ``best`` is proven to be the best.
    branch : Branch or None
        Where the search records what becomes of the node; None if it does not.
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
    """One of the best trees, and its value."""

    tree: Int32s
    score: float
    effort: Effort
