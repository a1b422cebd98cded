"""Branch and bound on arcs: the best tree and its proof where dual decomposition alone leaves a gap.

A node of the search is the problem over some of the arcs.  Dual decomposition bounds it, from the multipliers where its
parent's bound was lowest; the best tree seen anywhere is the incumbent.  A node whose bound is not above the incumbent
is closed.  Any other is split on the arc that tree and automata disputed most: once without it, and once with no other
arc into its modifier.  The node of the highest bound is split first, so that bound is the search's own.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.dual.decomposition import DEFAULTS, DualOptions, check_all, conclude, decode_trusted
from nonproj.dual.subgradient import _AGREED, _STOPPED, Descent, Trace, _descend, _settle_single, _start
from nonproj.parts.space import _index_arcs, _index_parts
from nonproj.types import ARC, GRANDPARENT, ArcSpace, Decoded, PartIndex, PartScores


class SearchOptions(NamedTuple):
    """How far to search.

    Attributes
    ----------
    automata_limit : int
        Head automata to decode after the first node; when there were so many, no other node is split, and the best
        tree so far is returned with the lowest bound proved.  A million take about a second.
    node_iterations : int
        Iterations of the subgradient method in each node after the first, at most.
    """

    automata_limit: int = 1_000_000
    node_iterations: int = 30


SEARCH = SearchOptions()

_NOTHING = np.empty(0, np.bool_)


def branch_and_bound(
    arcs: ArcSpace,
    index: PartIndex,
    scores: PartScores,
    model: int,
    options: DualOptions = DEFAULTS,
    search: SearchOptions = SEARCH,
) -> Decoded:
    """Find the best tree over the given arcs, and prove it.

    Parameters
    ----------
    arcs, index, scores, model, options
        As for `nonproj.dual.decomposition.dual_decomposition`, which is the first node.
    search : SearchOptions

    Returns
    -------
    Decoded
        Certified unless the limit is hit.  ``agreed`` is for the first node alone, ``nodes`` counts the others;
        ``iterations`` and ``recomputed`` are for all.

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
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> rng = np.random.default_rng(1)
    >>> arcs = full_arc_space(9)
    >>> index = part_index(arcs, 2)
    >>> sizes = 81, index.sibling_start[-1], index.grandparent_start[-1]
    >>> found = branch_and_bound(arcs, index, PartScores(*[rng.normal(size=size) for size in sizes]), 2)
    >>> found.certified, found.agreed, found.nodes > 0
    (True, False, True)
    """
    scores, options = check_all(arcs, index, scores, model, options)
    return search_trusted(arcs, index, scores, int(model), options, check_search(search))


def check_search(search: SearchOptions) -> SearchOptions:
    """Return the limits with the types that kernels want, or name the one that is out of its range."""
    search = SearchOptions(int(search.automata_limit), int(search.node_iterations))
    if search.automata_limit < 0:
        raise ValueError(f"automata_limit is {search.automata_limit}; 0 or more is expected")
    if search.node_iterations < 1:
        raise ValueError(f"node_iterations is {search.node_iterations}; 1 or more is expected")
    return search


def search_trusted(
    arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int, options: DualOptions, search: SearchOptions
) -> Decoded:
    """Search as `branch_and_bound` does over what the program itself has made, without a look at it.

    Parameters
    ----------
    arcs, index, scores, model
        As for `branch_and_bound`, from `part_index` and `nonproj.scoring`.
    options : DualOptions
        From `nonproj.dual.decomposition.check_options`.
    search : SearchOptions
        From `check_search`.
    """
    if model == ARC:
        return decode_trusted(arcs, index, scores, model, options)
    problem = arcs, index, scores, model
    n_nodes, n_arcs = len(arcs.start) - 1, len(arcs.head)
    heads, lowest, disputes = np.empty(n_nodes, np.int32), np.empty((3, n_arcs)), np.zeros(n_arcs, np.int64)
    found = _bound(*problem, options, _NOTHING, lowest, -np.inf, lowest, disputes, heads)
    first = conclude(heads, found)
    if first.certified:
        return first
    node = _Node(-first.bound, 0, np.ones(n_arcs, np.bool_), lowest, disputes)
    return _Search(problem, first, found[-1], options, search).run(node)


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
    """The state of one search: what is open, the best tree so far, and the highest bound of what is closed."""

    def __init__(self, problem: tuple, first: Decoded, decoded: int, options: DualOptions, search: SearchOptions):
        self.problem, self.search = problem, search
        self.options = options._replace(max_iterations=search.node_iterations)
        self.n_nodes, self.n_arcs = len(problem[0].start) - 1, len(problem[0].head)
        self.heads, self.score, self.closed = first.heads, first.score, -np.inf
        self.iterations, self.decoded, self.nodes = first.iterations, decoded, 0
        self.open: list[_Node] = []

    def run(self, first: _Node) -> Decoded:
        """Search until nothing is open, or the limit is hit."""
        self.open.append(first)
        limit = self.decoded + self.search.automata_limit
        while self.open and not self.settled(-self.open[0].bound) and self.decoded < limit:
            self.split(heapq.heappop(self.open))
        bound = max([self.score, self.closed, *(-node.bound for node in self.open)])
        share = self.decoded / (self.iterations * self.n_nodes)
        return Decoded(self.heads, self.score, bound, False, self.settled(bound), self.iterations, share, self.nodes)

    def settled(self, bound: float) -> bool:
        """Whether nothing under this bound can be better than the incumbent."""
        return bound - self.score <= self.options.tolerance * (1.0 + abs(self.score))

    def split(self, node: _Node) -> None:
        """Bound the two children of a node."""
        arcs = self.problem[0]
        arc = _branching_arc(arcs, node.keep, node.disputes)
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
        """Bound the problem over some arcs; take a better tree; leave it open if need be."""
        lowest, disputes = np.empty((3, self.n_arcs)), np.zeros(self.n_arcs, np.int64)
        heads = np.empty(self.n_nodes, np.int32)
        outcome, iterations, score, bound, decoded = _bound(
            *self.problem, self.options, keep, parent.lowest, self.score, lowest, disputes, heads
        )
        self.iterations += iterations
        self.decoded += decoded
        if outcome < 0:
            # No tree spans the words by these arcs.
            return
        if score > self.score:
            self.score, self.heads = score, heads
        bound = min(bound, -parent.bound)
        if outcome == _STOPPED:
            heapq.heappush(self.open, _Node(-bound, self.nodes, keep, lowest, disputes))
        else:
            self.closed = max(self.closed, score if outcome == _AGREED else bound)


@kernel
def _bound(arcs, index, scores, model, options, keep, start, incumbent, lowest, disputes, heads):
    """Bound the problem over the arcs to keep, from some multipliers; or over all, from the start, if keep is empty.

    Writes the multipliers of the lowest bound and the disputes, by the arcs of the whole problem; returns as
    `_descend`.  One kernel for both, because each costs every process the time to load it.
    """
    trace = Trace(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int32))
    if keep.shape[0] == 0:
        weights, taken, raised = _start(scores, model, options)
        descent = Descent(weights, taken, raised, lowest, disputes, incumbent)
        return _descend(arcs, index, scores, model, options, descent, trace, heads)
    fewer, fewer_index, fewer_scores, number = _restrict(arcs, index, scores, model, keep)
    n_arcs = number.shape[0]
    weights, taken, raised = np.empty(n_arcs), np.empty(n_arcs), np.empty(n_arcs)
    for a in range(n_arcs):
        weights[a], taken[a], raised[a] = start[0, number[a]], start[1, number[a]], start[2, number[a]]
    _settle_single(fewer, fewer_scores, weights, taken, raised)
    best, disputed = np.empty((3, n_arcs)), np.zeros(n_arcs, np.int64)
    descent = Descent(weights, taken, raised, best, disputed, incumbent)
    found = _descend(fewer, fewer_index, fewer_scores, model, options, descent, trace, heads)
    for a in range(n_arcs):
        disputes[number[a]] = disputed[a]
        for i in range(3):
            lowest[i, number[a]] = best[i, a]
    return found


@kernel
def _restrict(arcs, index, scores, model, keep):
    """Return the problem over the arcs to keep, and each such arc's number in the whole, int64."""
    n_nodes = arcs.start.shape[0] - 1
    mask = np.zeros((n_nodes, n_nodes), np.bool_)
    number = np.empty(arcs.head.shape[0], np.int64)
    place = np.zeros(arcs.head.shape[0], np.int64)
    count = 0
    for a in range(arcs.head.shape[0]):
        if keep[a]:
            mask[arcs.head[a], arcs.modifier[a]] = True
            number[count] = a
            count += 1
    fewer = _index_arcs(mask)
    fewer_index = _index_parts(fewer, model)
    fewer_scores = PartScores(
        np.empty(count),
        np.empty(fewer_index.sibling_start[2 * n_nodes]),
        np.empty(fewer_index.grandparent_start[n_nodes]),
    )
    for a in range(count):
        fewer_scores.arc[a] = scores.arc[number[a]]
    for h in range(n_nodes):
        first = arcs.out_start[2 * h]
        for q in range(2 * h, 2 * h + 2):
            _restrict_siblings(arcs, index, scores, keep, q, fewer_index, fewer_scores)
        size = 0
        for j in range(first, arcs.out_start[2 * h + 2]):
            if keep[arcs.out[j]]:
                place[size] = j - first
                size += 1
        if model == GRANDPARENT and h > 0:
            part, k = fewer_index.grandparent_start[h], arcs.out_start[2 * h + 2] - first
            for a in range(arcs.start[h], arcs.start[h + 1]):
                if keep[a]:
                    row = index.grandparent_start[h] + (a - arcs.start[h]) * k
                    for j in range(size):
                        fewer_scores.grandparent[part] = scores.grandparent[row + place[j]]
                        part += 1
    return fewer, fewer_index, fewer_scores, number[:count]


@kernel
def _restrict_siblings(arcs, index, scores, keep, q, fewer_index, fewer_scores):
    """Copy the transitions of half-automaton q between candidates to keep, START and END."""
    first, k = arcs.out_start[q], arcs.out_start[q + 1] - arcs.out_start[q]
    part = fewer_index.sibling_start[q]
    for b in range(1, k + 2):
        if b <= k and not keep[arcs.out[first + b - 1]]:
            continue
        row = index.sibling_start[q] + b * (b - 1) // 2
        for a in range(b):
            if a == 0 or keep[arcs.out[first + a - 1]]:
                fewer_scores.sibling[part] = scores.sibling[row + a]
                part += 1


@kernel
def _branching_arc(arcs, keep, disputes):
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
