"""The k best trees under the whole model, in order, each with its certificate.

The trees are divided into sets: those over some of the arcs.  Dual decomposition bounds a set, as a node of branch and
bound, and mostly finds its best tree.  The tree that no set's bound exceeds is the next best.  What remains of its set
is then partitioned (Lawler 1972, "A procedure for computing the k best solutions to discrete optimization problems"):
each part excludes one arc of the tree and keeps those of the modifiers before it.

Most parts are never decoded, because they are bounded first, at the multipliers of their set, by the loss of excluding
that arc alone: the best tree and the two automata that see the arc, each without it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nonproj.automata.compiled import is_compiled
from nonproj.dual.branch_and_bound import NODE_WORK, PART_WORK, Bounded, bound_over, branching_arc
from nonproj.dual.domain import pose, with_scale
from nonproj.dual.exclusion import exclusion_bounds
from nonproj.dual.options import DEFAULTS, SEARCH, UNLIMITED, DualOptions, SearchOptions, check_search
from nonproj.dual.subgradient import AGREED, CLOSED, STOPPED
from nonproj.parts.space import restrict
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.checks import check_status
from nonproj.trees.projective import best_projective_tree
from nonproj.types import Decoded, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def k_best(
    parts: PartSpace, scores: ArrayLike, k: int, options: DualOptions = DEFAULTS, search: SearchOptions = SEARCH
) -> list[Decoded]:
    """Find the k best trees over the candidate arcs.

    Parameters
    ----------
    parts : PartSpace
        Of arcs alone, or of a set whose automata are compiled.
    scores : array-like of shape (P,), float64
    k : int
        1 or more.
    options : DualOptions
        For the set of all trees; smaller sets have ``search.node_iterations``.
    search : SearchOptions
        ``work_per_word`` is for each word and tree.

    Returns
    -------
    list of Decoded
        Best first, fewer than ``k`` if there are no more.  The bound of the i-th is above all trees but the ``i - 1``
        before it; where that is its own score it is certified.  ``agreed`` is as certified.  ``iterations`` and
        ``nodes`` (sets that were bounded) count from the beginning.

    Raises
    ------
    ValueError
        If there is no tree, the set of part types has no compiled automata, or an argument is out of its range.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "arc")
    >>> [(tree.tree.tolist(), tree.score, tree.certified) for tree in k_best(parts, [1.0, 2.0, 4.0, 9.0], 5)]
    [([-1, 0, 1], 10.0, True), ([-1, 2, 0], 6.0, True), ([-1, 0, 0], 5.0, True)]
    """
    if k < 1:
        raise ValueError(f"k is {k}; 1 or more is expected")
    if len(parts.types) > 1 and not is_compiled(parts):
        raise ValueError(f"the automata of {', '.join(parts.names)} are not compiled, which k best trees need")
    search = check_search(search)
    return rank_trees(*pose(parts, scores, options, k), k, search)


def rank_trees(
    parts: PartSpace, scores: np.ndarray, options: DualOptions, k: int, search: SearchOptions
) -> list[Decoded]:
    """Find the k best trees as `k_best` does, without validation, and over all of the arcs."""
    return _Ranking(parts, scores, k, with_scale(options, scores), search).run()


def rank_by_arcs(parts: PartSpace, scores: np.ndarray, k: int, options: DualOptions) -> list[np.ndarray]:
    """Return the heads of the k best trees by the scores of arcs, the only parts; fewer if there are no more."""
    try:
        return [tree.tree for tree in rank_trees(parts, scores, options, k, SEARCH)]
    except ValueError:  # there is none
        return []


@dataclass
class _Set:
    """The trees over some of the arcs.

    ``keep`` bool[A]; ``bound`` of all trees in it; ``tree`` and ``score`` of the best that is known, if any;
    ``lowest`` and ``disputes`` as in `Bounded`, those of the larger set until it is bounded itself.
    """

    keep: np.ndarray
    bound: float
    lowest: np.ndarray
    disputes: np.ndarray
    bounded: bool = False
    tree: np.ndarray | None = None
    score: float = -np.inf


class _Ranking:
    """The state of a search: the sets that are left, and the trees that have been found."""

    def __init__(self, parts: PartSpace, scores: np.ndarray, k: int, options: DualOptions, search: SearchOptions):
        self.parts, self.scores, self.k, self.options = parts, scores, k, options
        self.node_options = options._replace(max_iterations=search.node_iterations)
        self.budget = search.work_per_word * (len(parts.arcs.start) - 2) * k or UNLIMITED
        self.iterations = self.decoded = self.spent = self.nodes = self.numbered = 0
        self.heap: list[tuple[float, int, _Set]] = []
        self.ranked: list[Decoded] = []
        self.known: list[float] = []

    def run(self) -> list[Decoded]:
        """Return the trees in order."""
        self.push(self.first())
        while len(self.ranked) < self.k and self.heap:
            if self.spent >= self.budget:
                return self.ranked + self.rest()
            trees = heapq.heappop(self.heap)[-1]
            if trees.tree is not None and self.settled(trees.bound, trees.score):
                self.rank(trees)
            elif trees.bounded:
                self.split(trees)
            else:
                self.relax(trees, self.node_options)
        return self.ranked

    def first(self) -> _Set:
        """Return the set of all trees, bounded."""
        n_arcs, options = len(self.parts.arcs.head), self.options
        arc, rest = self.scores[:n_arcs], 1.0 - options.beta
        tau = options.tau if "grandparent" in self.parts.names else 1.0
        shares = options.beta, rest * tau, rest * (1.0 - tau)
        lowest = np.stack([share * arc for share in shares])
        trees = _Set(np.ones(n_arcs, np.bool_), np.inf, lowest, np.zeros(n_arcs, np.int64))
        found = self.bound(trees, options)
        if found.outcome < 0:
            check_status(-found.outcome)
        return self.updated(trees, found)

    def relax(self, trees: _Set, options: DualOptions) -> None:
        """Bound a set, and keep it unless nothing in it can be among the best."""
        found = self.bound(trees, options)
        if found.outcome >= 0:
            self.push(self.updated(trees, found))

    def bound(self, trees: _Set, options: DualOptions) -> Bounded:
        """Bound a set: run the subgradient method, or find the best tree of arcs alone."""
        self.nodes += 1
        self.spent += NODE_WORK + PART_WORK * len(self.parts)
        if len(self.parts.types) == 1:
            return self.best_of_arcs(trees)
        limits = max(self.threshold(), trees.score), self.budget - self.spent
        found = bound_over(self.parts, self.scores, options, trees.keep, trees.lowest, limits)
        self.iterations += found.iterations
        self.decoded += found.decoded
        self.spent += found.spent
        return found

    def best_of_arcs(self, trees: _Set) -> Bounded:
        """Return the best tree where there are only arcs."""
        fewer, numbers = restrict(self.parts, trees.keep)
        heads, find = np.empty(len(fewer.arcs.start) - 1, np.int32), best_arborescence
        if self.options.projective:
            find = best_projective_tree
        status = find(fewer.arcs, self.scores[numbers], self.options.single_root, heads)
        outcome, score = (-status, -np.inf) if status else (AGREED, self.score_of_arcs(heads))
        return Bounded(outcome, heads, score, score, trees.lowest, trees.disputes, 1, 0, 0)

    def score_of_arcs(self, heads: np.ndarray) -> float:
        """Return the score of a tree where there are only arcs."""
        return sum(self.scores[self.arcs_of(heads)].tolist())

    def updated(self, trees: _Set, found: Bounded) -> _Set:
        """Return a set with its bound, and remember its best tree if that is new."""
        bound = min(trees.bound, found.bound)
        if found.outcome == AGREED or found.score > max(self.threshold(), trees.score):
            if trees.tree is None or not np.array_equal(trees.tree, found.tree):
                if trees.tree is not None:
                    self.known.remove(trees.score)
                self.known.append(found.score)
            trees.tree, trees.score = found.tree, found.score
        if found.outcome == CLOSED and trees.score < found.score:
            bound = -np.inf  # below the k best that are known
        elif found.outcome != STOPPED:
            bound = trees.score
        trees.bound, trees.lowest, trees.disputes, trees.bounded = bound, found.lowest, found.disputes, True
        return trees

    def threshold(self) -> float:
        """Return the k-th best score that is known, minus infinity if there are fewer."""
        best = heapq.nlargest(self.k, self.known)
        return best[-1] if len(best) == self.k else -np.inf

    def push(self, trees: _Set) -> None:
        """Keep a set, unless its bound is not above the threshold and it holds no tree that counts."""
        threshold = self.threshold()
        if trees.bound == -np.inf or (trees.bound <= threshold and not trees.score >= threshold):
            return
        self.numbered += 1
        heapq.heappush(self.heap, (-trees.bound, self.numbered, trees))

    def settled(self, bound: float, score: float) -> bool:
        """Return whether nothing under this bound is better than a tree of this score."""
        return self.options.closes(bound, score)

    def rank(self, trees: _Set) -> None:
        """Rank the best tree of a set, which no other set can exceed, and partition the rest of the set."""
        self.ranked.append(self.decoded_tree(trees, max(trees.bound, trees.score)))
        if len(self.ranked) == self.k:
            return
        arcs, bounds = self.parts.arcs, self.exclusion_bounds(trees)
        keep = trees.keep.copy()
        # What is bounded most tightly comes first, so that the other parts, which will be decoded, are small.
        for m in (np.argsort(bounds[1:], kind="stable") + 1).tolist():
            into = slice(arcs.start[m], arcs.start[m + 1])
            chosen = arcs.head[into] == trees.tree[m]
            if bounds[m] > -np.inf:
                part = keep.copy()
                part[into] &= ~chosen
                self.push(_Set(part, min(trees.bound, bounds[m]), trees.lowest, trees.disputes))
            keep[into] &= chosen

    def exclusion_bounds(self, trees: _Set) -> np.ndarray:
        """Return bounds of the trees of a set without the arc into each word, float64[N]; minus infinity if none."""
        fewer, numbers = restrict(self.parts, trees.keep)
        arcs = numbers[: len(fewer.arcs.head)]
        self.spent += NODE_WORK + len(trees.tree) * PART_WORK * len(fewer)
        every, lowest = np.ones(len(trees.tree), np.bool_), trees.lowest[:, arcs]
        return exclusion_bounds(fewer, self.scores[numbers], lowest, self.options, trees.tree, every)

    def split(self, trees: _Set) -> None:
        """Split a set on the arc that was disputed most; the best tree that is known goes where it belongs."""
        arcs = self.parts.arcs
        arc = branching_arc(arcs, trees.keep, trees.disputes)
        if arc < 0:  # one tree, which is known
            return
        into = arcs.modifier == arcs.modifier[arc]
        for forced in (True, False):
            keep = trees.keep & ~into if forced else trees.keep.copy()
            keep[arc] = forced
            part = _Set(keep, trees.bound, trees.lowest, trees.disputes)
            if trees.tree is not None and keep[self.arcs_of(trees.tree)].all():
                part.tree, part.score = trees.tree, trees.score
            self.push(part)

    def arcs_of(self, heads: np.ndarray) -> np.ndarray:
        """Return the arcs of a tree, bool[A]."""
        return heads[self.parts.arcs.modifier] == self.parts.arcs.head

    def decoded_tree(self, trees: _Set, bound: float) -> Decoded:
        """Return the best tree that is known of a set, under a bound of all sets that are left."""
        certified = self.settled(bound, trees.score)
        share = self.decoded / max(1, self.iterations * len(trees.tree))
        return Decoded(trees.tree, trees.score, bound, certified, certified, self.iterations, share, self.nodes)

    def rest(self) -> list[Decoded]:
        """Return the best of the trees that are known where the work is used up, under the bound of what is left."""
        sets, bound = [trees for *_, trees in self.heap], -self.heap[0][0]
        best = sorted((trees for trees in sets if trees.tree is not None), key=lambda trees: -trees.score)
        return [self.decoded_tree(trees, max(bound, trees.score)) for trees in best[: self.k - len(self.ranked)]]
