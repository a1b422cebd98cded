"""Branch and bound on arcs: the best tree and its proof where dual decomposition alone leaves a gap.

A node of the search is the problem over some of the arcs.  Dual decomposition bounds it, from the multipliers where its
parent's bound was lowest; the best tree seen anywhere is the incumbent.  A node whose bound is not above the incumbent
is fathomed.  Any other is split on the arc that tree and automata disputed most: once without it, and once with no
other arc into its modifier.  The node of the highest bound is split first, so that bound is the search's own.

Open nodes take memory.  Once they take `OPEN_BYTES`, the search goes on depth-first: the children of a node are split
before any other node, and of these there are no more than arcs.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.automata.compiled import SplitScores, compiled_starts, is_compiled
from nonproj.dual.decomposition import NO_TRACE, conclude, decode_trusted
from nonproj.dual.domain import pose, with_scale
from nonproj.dual.options import DEFAULTS, SEARCH, UNLIMITED, DualOptions, SearchOptions, check_search
from nonproj.dual.subgradient import AGREED, STOPPED, Descent, descend, minimise_dual
from nonproj.parts.space import restrict
from nonproj.types import ArcSpace, Bools, Decoded, Int64s, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

OPEN_BYTES = 2**28
"""Memory of the open nodes from which on the search is depth-first."""

_ARC_BYTES = 33  # of an arc in a node

NODE_WORK, PART_WORK = 100_000, 2
"""Work of setting up a node, and for each part, in the time of Viterbi transitions."""


def branch_and_bound(
    parts: PartSpace, scores: ArrayLike, options: DualOptions = DEFAULTS, search: SearchOptions = SEARCH
) -> Decoded:
    """Find the best tree over the candidate arcs, and prove it.

    Parameters
    ----------
    parts, scores, options
        As for `nonproj.dual.decomposition.dual_decomposition`, which is the root node.
    search : SearchOptions

    Returns
    -------
    Decoded
        Certified unless the limit is hit.  ``agreed`` is for the root node alone, ``nodes`` counts the others;
        ``iterations`` and ``recomputed`` are for all.  Sets whose automata are not compiled are not searched: what dual
        decomposition returned is returned.

    Raises
    ------
    ValueError
        As `dual_decomposition`; or a limit is out of its range.

    Notes
    -----
    Land and Doig (1960), "An automatic method of solving discrete programming problems".  Splitting ends: each
    child has fewer arcs, and where each word has but one head the tree is read off.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(9), "grandparent")
    >>> found = branch_and_bound(parts, np.random.default_rng(1).normal(size=len(parts)))
    >>> found.certified, found.agreed, found.nodes > 0
    (True, False, True)
    """
    search = check_search(search)
    return search_trusted(*pose(parts, scores, options), search)


def search_trusted(parts: PartSpace, scores: np.ndarray, options: DualOptions, search: SearchOptions) -> Decoded:
    """Search as `branch_and_bound` does, without validation: scores are finite, options checked; no arc is left out."""
    return search_recorded(parts, scores, options, search)[0]


def search_recorded(
    parts: PartSpace, scores: np.ndarray, options: DualOptions, search: SearchOptions
) -> tuple[Decoded, np.ndarray]:
    """Search as `search_trusted` does; return also the copies of the arcs' scores where the first bound was lowest.

    These are float64[3, A], see `nonproj.dual.subgradient.Descent`; of shape (0, A) for sets that are not compiled.
    """
    return search_counted(parts, scores, options, search)[:2]


def search_counted(
    parts: PartSpace, scores: np.ndarray, options: DualOptions, search: SearchOptions
) -> tuple[Decoded, np.ndarray, int]:
    """Search as `search_recorded` does; return also the work that was spent, 0 for sets that are not compiled."""
    budget, options = search.work_per_word * (len(parts.arcs.start) - 2) or UNLIMITED, with_scale(options, scores)
    if not is_compiled(parts):
        return decode_trusted(parts, scores, options, budget), np.empty((0, len(parts.arcs.head))), 0
    n_nodes, n_arcs = len(parts.arcs.start) - 1, len(parts.arcs.head)
    heads, lowest, disputes = np.empty(n_nodes, np.int32), np.empty((3, n_arcs)), np.zeros(n_arcs, np.int64)
    records = lowest, disputes, budget
    found = minimise_dual(parts.arcs, compiled_starts(parts), scores, options, records, NO_TRACE, heads)
    first = conclude(heads, found)
    if first.certified or not search.search or found[-1] >= budget or budget == UNLIMITED:
        return first, lowest, found[-1]
    node = _Node(-first.bound, 0, np.ones(n_arcs, np.bool_), lowest, disputes)
    work = _Search(parts, scores, first, found[-2:], options, budget)
    return work.run(node, search.node_iterations), lowest, work.spent


def search_from(
    parts: PartSpace,
    scores: np.ndarray,
    options: DualOptions,
    search: SearchOptions,
    known: Decoded,
    lowest: np.ndarray,
) -> Decoded:
    """Search for a better tree than a known one, from given multipliers, and prove that there is none.

    Parameters
    ----------
    parts, scores, options, search
        As for `search_trusted`; of arcs alone, or of a set whose automata are compiled.
    known : Decoded
        Not necessarily over these parts or of the kind that the options want; ``bound`` is of others of its kind.
    lowest : ndarray of shape (3, A), float64
        The copies of the arcs' scores to start from, see `Descent`.

    Returns
    -------
    Decoded
        The known tree or a better one, under a bound of all; iterations and nodes include those of the known one.
    """
    options = with_scale(options, scores)
    if len(parts.types) == 1:
        try:
            found = decode_trusted(parts, scores, options)
        except ValueError:  # there is none of this kind
            return known
        better = found if found.score > known.score else known
        return _with_bound(better, max(known.bound, better.score), options)
    n_arcs, budget = len(parts.arcs.head), search.work_per_word * (len(parts.arcs.start) - 2) or UNLIMITED
    heads, after, disputes = known.tree.copy(), np.empty((3, n_arcs)), np.zeros(n_arcs, np.int64)
    descent = Descent(SplitScores(*lowest.copy()), after, disputes, known.score, budget)
    found = descend(parts.arcs, compiled_starts(parts), scores, options, descent, NO_TRACE, heads)
    outcome, iterations, score, bound, decoded, spent = found
    decoded += round(known.recomputed * known.iterations * len(heads))
    better = known._replace(iterations=known.iterations + iterations)
    if score > known.score:
        better = better._replace(tree=heads, score=score, agreed=outcome == AGREED)
    if outcome == STOPPED and search.search and spent < budget < UNLIMITED:
        node = _Node(-bound, 0, np.ones(n_arcs, np.bool_), after, disputes)
        work = _Search(parts, scores, better, (decoded, spent), options, budget)
        better = work.run(node, search.node_iterations)
        better = better._replace(nodes=known.nodes + better.nodes)
        bound, decoded = better.bound, work.decoded
    elif outcome != STOPPED:
        bound = better.score
    share = decoded / (better.iterations * len(heads))
    return _with_bound(better._replace(recomputed=share), max(known.bound, bound, better.score), options)


def _with_bound(decoded: Decoded, bound: float, options: DualOptions) -> Decoded:
    """Return a tree under a bound."""
    certified = options.closes(bound, decoded.score)
    return decoded._replace(bound=bound, certified=certified, agreed=decoded.agreed and certified)


class _Node(NamedTuple):
    """A problem that is bounded but not solved; ordered by its bound, and the older first.

    ``bound`` is negated, for the heap. ``keep`` bool[A], the arcs it may use. ``lowest`` float64[3, A] and ``disputes``
    int64[A]: see `Descent`, by the arcs of the whole problem.
    """

    bound: float
    number: int
    keep: np.ndarray
    lowest: np.ndarray
    disputes: np.ndarray


class _Search:
    """The state of one search: the open nodes, the incumbent, and the highest bound of the fathomed nodes.

    ``open`` is a heap of nodes, ``deep`` a stack of those that come first, because the heap is full.
    """

    def __init__(
        self,
        parts: PartSpace,
        scores: np.ndarray,
        first: Decoded,
        work: tuple[Any, ...],
        options: DualOptions,
        budget: int,
    ):
        self.parts, self.scores, self.options, self.budget = parts, scores, options, budget
        self.tree, self.score, self.fathomed = first.tree, first.score, -np.inf
        self.iterations, self.nodes = first.iterations, 0
        self.decoded, self.spent = work
        self.open: list[_Node] = []
        self.deep: list[_Node] = []
        self.most_open = max(1, OPEN_BYTES // (_ARC_BYTES * len(parts.arcs.head)))

    def run(self, first: _Node, node_iterations: int) -> Decoded:
        """Search until no node is open, or the limit is hit."""
        self.options = self.options._replace(max_iterations=node_iterations)
        self.open.append(first)
        while (self.deep or self.open) and self.spent < self.budget:
            node = self.deep.pop() if self.deep else heapq.heappop(self.open)
            if self.settled(-node.bound):
                self.fathomed = max(self.fathomed, -node.bound)
            else:
                self.split(node)
        bound = max([self.score, self.fathomed, *(-node.bound for node in self.open + self.deep)])
        share = self.decoded / (self.iterations * len(self.tree))
        return Decoded(self.tree, self.score, bound, False, self.settled(bound), self.iterations, share, self.nodes)

    def settled(self, bound: float) -> bool:
        """Return whether nothing under this bound can be better than the incumbent."""
        return self.options.closes(bound, self.score)

    def split(self, node: _Node) -> None:
        """Bound the two children of a node."""
        arcs = self.parts.arcs
        arc = branching_arc(arcs, node.keep, node.disputes)
        if arc < 0:
            # The only tree over these arcs; its score has been seen.
            return
        into = arcs.modifier == arcs.modifier[arc]
        for forced in (True, False):
            keep = node.keep & ~into if forced else node.keep.copy()
            keep[arc] = forced
            self.nodes += 1
            self.bound(node, keep)

    def bound(self, parent: _Node, keep: np.ndarray) -> None:
        """Bound the problem over some arcs; update the incumbent, then enqueue the node unless it is fathomed."""
        self.spent += NODE_WORK + PART_WORK * len(self.parts)
        limits = self.score, self.budget - self.spent
        found = bound_over(self.parts, self.scores, self.options, keep, parent.lowest, limits)
        self.iterations += found.iterations
        self.decoded += found.decoded
        self.spent += found.spent
        if found.outcome < 0:
            # No tree spans the words by these arcs.
            return
        if found.score > self.score:
            self.score, self.tree = found.score, found.tree
        bound = min(found.bound, -parent.bound)
        if found.outcome == STOPPED:
            child = _Node(-bound, self.nodes, keep, found.lowest, found.disputes)
            if len(self.open) < self.most_open:
                heapq.heappush(self.open, child)
            else:
                self.deep.append(child)
        else:
            self.fathomed = max(self.fathomed, found.score if found.outcome == AGREED else bound)


class Bounded(NamedTuple):
    """What the subgradient method found over some of the arcs.

    Attributes
    ----------
    outcome : int
        `AGREED`, `CLOSED` or `STOPPED`; negative if no tree spans the words by these arcs.
    tree : ndarray of shape (N,), int32
        The best tree, if the subproblems agreed or its score is above the incumbent's.
    score, bound : float
        The score of that tree or of the incumbent, and the bound.
    lowest, disputes : ndarray of shape (3, A) and (A,), float64 and int64
        As in `Descent`, by the arcs of the whole problem.
    iterations, decoded, spent : int
        Iterations, automata decoded, and work.
    """

    outcome: int
    tree: np.ndarray
    score: float
    bound: float
    lowest: np.ndarray
    disputes: np.ndarray
    iterations: int
    decoded: int
    spent: int


def bound_over(
    parts: PartSpace,
    scores: np.ndarray,
    options: DualOptions,
    keep: np.ndarray,
    lowest: np.ndarray,
    limits: tuple[Any, ...],
) -> Bounded:
    """Run the subgradient method over the arcs to ``keep``, bool[A].

    Parameters
    ----------
    parts, scores, options
        The whole problem, trusted.
    keep : ndarray of shape (A,), bool
    lowest : ndarray of shape (3, A), float64
        The copies of the arcs' scores to start from.
    limits : tuple of (float, int)
        The score of the incumbent, and the work after which the method ends.
    """
    fewer, numbers = restrict(parts, keep)
    arcs, scores = numbers[: len(fewer.arcs.head)], scores[numbers]
    split = SplitScores(*[lowest[i, arcs] for i in range(3)])
    _force_single_arcs(fewer, scores, split, options.scale)
    descent = Descent(split, np.empty((3, len(arcs))), np.zeros(len(arcs), np.int64), *limits)
    heads = np.empty(len(parts.arcs.start) - 1, np.int32)
    found = descend(fewer.arcs, compiled_starts(fewer), scores, options, descent, NO_TRACE, heads)
    outcome, iterations, score, bound, decoded, spent = found
    after, disputes = np.empty(lowest.shape), np.zeros(len(keep), np.int64)
    after[:, arcs], disputes[arcs] = descent.lowest, descent.disputes
    return Bounded(outcome, heads, score, bound, after, disputes, iterations, decoded, spent)


def _force_single_arcs(parts: PartSpace, scores: np.ndarray, split: SplitScores, scale: float) -> None:
    """Give each arc that is its modifier's only one so high a score in its head's automaton that it is chosen.

    Every tree has that arc, so the tree's score does not change.  The bonus is more than all parts that may appear or
    disappear with one more modifier, and the arc's own score.
    """
    bonus = scale
    for part_type, begin, end in zip(parts.types, parts.offsets, parts.offsets[1:], strict=False):
        bonus += part_type.influence * np.abs(scores[begin:end]).max(initial=0.0)
    arc = parts.arcs.start[1:-1][np.diff(parts.arcs.start)[1:] == 1]
    split.y[arc], split.z[arc], split.grandparent[arc] = scores[arc] - bonus, bonus, 0.0


@kernel
def branching_arc(arcs: ArcSpace, keep: Bools, disputes: Int64s) -> int:
    """Return the most disputed arc among those whose modifier has another; -1 where each has one."""
    best, count = -1, -1
    for m in range(1, arcs.start.shape[0] - 1):
        kept = 0
        for a in range(arcs.start[m], arcs.start[m + 1]):
            kept += keep[a]
        if kept > 1:
            for a in range(arcs.start[m], arcs.start[m + 1]):
                if keep[a] and disputes[a] > count:
                    best, count = a, disputes[a]
    return best
