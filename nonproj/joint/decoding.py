"""Dual decomposition of the joint problem, and branch and bound over tags and arcs.

A node of the search is the problem over some of the tagged arcs.  It is split on the tagged word or the tagged arc that
was disputed most: a tag is settled or excluded; an arc is the only one into its word, or excluded.  All else is as in
`nonproj.dual.branch_and_bound`.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

from nonproj.automata.compiled import SplitScores
from nonproj.dual.domain import with_scale
from nonproj.dual.options import DEFAULTS, SEARCH, DualOptions, SearchOptions, check_options, check_search
from nonproj.dual.subgradient import AGREED, STOPPED, Trace
from nonproj.joint.space import JointProblem, restrict_problem, used_parts
from nonproj.joint.subgradient import JointDescent, descend_jointly, split_scores
from nonproj.trees.checks import NO_TREE, check_status
from nonproj.trees.domain import highest_forbidden
from nonproj.trees.projective import is_projective

_NO_TRACE = Trace(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int32))
_UNLIMITED = np.iinfo(np.int64).max


class JointDecoded(NamedTuple):
    """A tree with tags, and what is known about it: `nonproj.types.Decoded` with one more field.

    Attributes
    ----------
    tree, tags : ndarray of shape (N,), int32
        The tree, and the candidate of each word, from 0.
    score, bound, agreed, certified, iterations, recomputed, nodes
        As in `Decoded`: the bound is above all trees with all tags among the candidates.
    """

    tree: np.ndarray
    tags: np.ndarray
    score: float
    bound: float
    agreed: bool
    certified: bool
    iterations: int
    recomputed: float
    nodes: int = 0


def decode_jointly(
    problem: JointProblem, options: DualOptions = DEFAULTS, search: SearchOptions | None = SEARCH
) -> JointDecoded:
    """Find the best tree with tags, with a bound and, mostly, a certificate.

    Parameters
    ----------
    problem : JointProblem
    options : DualOptions
    search : SearchOptions, optional
        None: dual decomposition alone.

    Raises
    ------
    ValueError
        If there is no tree, or an option or a limit is out of its range.

    Notes
    -----
    Rush, Sontag, Collins and Jaakkola (2010), section 4.1, joined a parser and a tagger; the head automata are those of
    Koo et al. (2010).

    Examples
    --------
    >>> from nonproj.joint.space import joint_problem, joint_space, no_chain
    >>> from nonproj.parts.arcs import full_arc_space
    >>> space, parts = joint_space(full_arc_space(2), [1, 2, 1])
    >>> chain = no_chain(space)
    >>> chain.own[:] = 0.0, 0.0, 2.0, 0.0  # the second tag of word 1
    >>> scores = np.zeros(len(parts))
    >>> scores[1] = 3.0  # word 1 with its first tag under word 2
    >>> decode_jointly(joint_problem(space, parts, scores, chain))[:5]
    (array([-1,  2,  0], dtype=int32), array([0, 0, 0], dtype=int32), 3.0, 3.0, True)
    """
    return joint_trace(problem, options, search, _NO_TRACE)


def decode_priced_jointly(
    problem: JointProblem, price: float, options: DualOptions = DEFAULTS, search: SearchOptions | None = SEARCH
) -> JointDecoded:
    """Find the tree with tags of highest value: its score, less ``price`` if the tree is not projective.

    Parameters, errors and result are those of `decode_jointly`; ``score`` is the value, and ``bound`` one of all
    values.  As in `nonproj.dual.crossing`, the best tree is left only for a projective one of higher value.

    Examples
    --------
    >>> from nonproj.joint.space import joint_problem, joint_space, no_chain
    >>> from nonproj.parts.arcs import full_arc_space
    >>> space, parts = joint_space(full_arc_space(4), [1, 1, 1, 1, 1])
    >>> wanted = {(0, 2): 9.0, (2, 4): 9.0, (4, 1): 9.0, (2, 1): 6.0, (2, 3): 9.0}
    >>> scores = np.zeros(len(parts))
    >>> scores[:16] = [wanted.get(arc, 0.0) for arc in zip(parts.arcs.head.tolist(), parts.arcs.modifier.tolist())]
    >>> problem = joint_problem(space, parts, scores, no_chain(space))
    >>> [(each.tree.tolist(), each.score) for each in (decode_priced_jointly(problem, price) for price in (2.0, 4.0))]
    [([-1, 4, 0, 2, 2], 34.0), ([-1, 2, 0, 2, 2], 33.0)]
    """
    first = decode_jointly(problem, options, search)
    if not price or options.projective or is_projective(first.tree):
        return first
    known = first._replace(score=first.score - price, bound=first.bound - price)
    try:
        return joint_trace(problem, options._replace(projective=True), search, _NO_TRACE, known)
    except ValueError:  # there is no projective tree
        return known


def joint_trace(
    problem: JointProblem,
    options: DualOptions,
    search: SearchOptions | None,
    trace: Trace,
    known: JointDecoded | None = None,
) -> JointDecoded:
    """Decode as `decode_jointly` does, and fill the trace of the first node as far as its arrays reach.

    A tree that is known, which need not be of the kind that the options want, is returned unless a better one is found.
    """
    problem, options, forbidden = _pose(problem, check_options(options))
    search, space = search and check_search(search), problem.space
    n_nodes = len(space.first) - 1
    heads, tags, incumbent = np.empty(n_nodes, np.int32), np.zeros(n_nodes, np.int32), -np.inf
    if known:
        heads[:], tags[:], incumbent = known.tree, known.tags, known.score
    split = split_scores(space, problem.scores, options)
    budget = (search.work_per_word * (n_nodes - 1) if search else 0) or _UNLIMITED
    descent = _descent(problem, split, problem.chain.own.copy(), incumbent, budget)
    found = descend_jointly(space, problem.scores, problem.chain, options, descent, trace, heads, tags)
    outcome, iterations, score, bound, decoded, _ = found
    if outcome < 0:
        check_status(-outcome)
    share = decoded / (iterations * len(space.word))
    first = JointDecoded(
        heads, tags, score, max(bound, score), outcome == AGREED, outcome != STOPPED, iterations, share
    )
    if first.certified or not search or not search.work_per_word:
        return _better(known, _check_allowed(problem, first, forbidden), options)
    node = _Node(-first.bound, 0, np.ones(len(space.arc), np.bool_), *descent[2:6])
    best = _Search(problem, first, found[-2:], options, search).run(node)
    return _better(known, _check_allowed(problem, best, forbidden), options)


def _better(known: JointDecoded | None, found: JointDecoded, options: DualOptions) -> JointDecoded:
    """Return the better of two trees under a bound of both kinds, with the work for both."""
    if known is None:
        return found
    better = found if found.score > known.score else known
    bound = max(found.bound, known.bound, better.score)
    certified = options.closes(bound, better.score)
    iterations, nodes = known.iterations + found.iterations, known.nodes + found.nodes
    agreed = better.agreed and certified
    return better._replace(bound=bound, agreed=agreed, certified=certified, iterations=iterations, nodes=nodes)


def _pose(problem: JointProblem, options: DualOptions) -> tuple[JointProblem, DualOptions, np.ndarray]:
    """Return the problem, options with its scale, and which tagged arcs are forbidden, see `nonproj.trees.domain`.

    Forbidden arcs get a score so low that any solution without them is better than any with one.  To leave them out
    would be no problem for the bound, but then even one solution may be hard to find.
    """
    n_arcs, n_nodes = len(problem.space.arc), len(problem.space.first) - 1
    forbidden = problem.scores[:n_arcs] <= highest_forbidden(problem.scores[:n_arcs])
    scores = problem.scores.copy()
    scores[:n_arcs][forbidden] = 0.0
    options = with_scale(options, scores[scores > -np.inf], *problem.chain)
    # A solution has fewer than 3 N parts of each of three types, and scores of tags of three kinds for each word.
    scores[:n_arcs][forbidden] = -2.0 * (9 + 3) * (n_nodes + 1) * options.scale - options.scale
    return (problem._replace(scores=scores) if forbidden.any() else problem), options, forbidden


def _check_allowed(problem: JointProblem, found: JointDecoded, forbidden: np.ndarray) -> JointDecoded:
    """Return what was found; raise ValueError if it has a forbidden arc."""
    if forbidden.any() and forbidden[used_parts(problem, found.tree, found.tags)[: len(found.tree) - 1]].any():
        check_status(NO_TREE)
    return found


def _descent(problem: JointProblem, split, own: np.ndarray, incumbent: float, budget: int) -> JointDescent:
    """Return the state that a descent starts from."""
    n_arcs, n_words = len(problem.space.arc), len(problem.space.word)
    counts = np.zeros(n_arcs, np.int64), np.zeros(n_words, np.int64)
    return JointDescent(split, own, np.empty((3, n_arcs)), np.empty(n_words), *counts, incumbent, budget)


class _Node(NamedTuple):
    """A problem that is bounded but not solved; ordered by its bound, negated for the heap, and the older first.

    ``keep`` bool[A] are the tagged arcs it may use; for the rest see `JointDescent`, by the arcs of the whole problem.
    """

    bound: float
    number: int
    keep: np.ndarray
    lowest: np.ndarray
    lowest_own: np.ndarray
    disputes: np.ndarray
    tag_disputes: np.ndarray


class _Search:
    """The state of one search: the open nodes, the incumbent, and the highest bound of the fathomed nodes."""

    def __init__(
        self, problem, first: JointDecoded, work: tuple[Any, ...], options: DualOptions, search: SearchOptions
    ):
        self.problem, self.search, self.first = problem, search, first
        self.options = options._replace(max_iterations=search.node_iterations)
        self.tree, self.tags, self.score, self.fathomed = first.tree, first.tags, first.score, -np.inf
        self.iterations, self.nodes = first.iterations, 0
        self.decoded, self.spent = work
        self.limit = search.work_per_word * (len(first.tree) - 1)
        self.open: list[_Node] = []

    def run(self, first: _Node) -> JointDecoded:
        """Search until no node is open, or the limit is hit."""
        self.open.append(first)
        while self.open and not self.settled(-self.open[0].bound) and self.spent < self.limit:
            self.split(heapq.heappop(self.open))
        bound = max([self.score, self.fathomed, *(-node.bound for node in self.open)])
        share = self.decoded / (self.iterations * len(self.problem.space.word))
        found = self.tree, self.tags, self.score, bound
        return JointDecoded(*found, False, self.settled(bound), self.iterations, share, self.nodes)

    def settled(self, bound: float) -> bool:
        """Return whether nothing under this bound can be better than the incumbent."""
        return self.options.closes(bound, self.score)

    def split(self, node: _Node) -> None:
        """Bound the two children of a node; it has none if it has but one solution, whose score has been seen."""
        for keep in self.children(node):
            self.nodes += 1
            self.bound(node, keep)

    def children(self, node: _Node) -> list[np.ndarray]:
        """Return the tagged arcs of both children: those with a tag or an arc, and those without."""
        space, keep = self.problem.space, node.keep
        modifier = space.word[space.tagged.modifier]
        tag, arc = _branching_tag(space, keep, node.tag_disputes), _branching_arc(space, keep, node.disputes)
        if tag >= 0 and (arc < 0 or node.tag_disputes[tag] >= node.disputes[arc]):
            into = space.tagged.modifier == tag
            return [keep & (into | (modifier != space.word[tag])), keep & ~into]
        if arc < 0:
            return []
        chosen = np.arange(len(keep)) == arc
        return [keep & (chosen | (modifier != modifier[arc])), keep & ~chosen]

    def bound(self, parent: _Node, keep: np.ndarray) -> None:
        """Bound the problem over some arcs; update the incumbent, then enqueue the node unless it is fathomed."""
        restricted = restrict_problem(self.problem, keep)
        if restricted is None:
            return
        fewer, arcs = restricted
        split = SplitScores(*[parent.lowest[i, arcs] for i in range(3)])
        _force_single_arcs(fewer, split, self.options.scale)
        descent = _descent(fewer, split, parent.lowest_own.copy(), self.score, self.limit - self.spent)
        heads, tags = np.empty(len(self.tree), np.int32), np.empty(len(self.tree), np.int32)
        found = descend_jointly(fewer.space, fewer.scores, fewer.chain, self.options, descent, _NO_TRACE, heads, tags)
        outcome, iterations, score, bound, decoded, spent = found
        self.iterations += iterations
        self.decoded += decoded
        self.spent += spent
        if outcome < 0:
            # No tree spans the words by these arcs.
            return
        if score > self.score:
            self.score, self.tree, self.tags = score, heads, tags
        bound = min(bound, -parent.bound)
        if outcome == STOPPED:
            lowest, disputes = np.empty((3, len(keep))), np.zeros(len(keep), np.int64)
            lowest[:, arcs], disputes[arcs] = descent.lowest, descent.disputes
            kept = np.zeros(len(keep), np.bool_)
            kept[arcs] = True
            node = _Node(-bound, self.nodes, kept, lowest, descent.lowest_own, disputes, descent.tag_disputes)
            heapq.heappush(self.open, node)
        else:
            self.fathomed = max(self.fathomed, score if outcome == AGREED else bound)


def _branching_tag(space, keep: np.ndarray, disputes: np.ndarray) -> int:
    """Return the most disputed tagged word of a word that has several left; -1 where none has."""
    reached = np.bincount(space.tagged.modifier[keep], minlength=len(space.word)) > 0
    several = np.bincount(space.word[reached], minlength=len(space.first) - 1) > 1
    open_ones = np.flatnonzero(reached & several[space.word])
    return int(open_ones[disputes[open_ones].argmax()]) if len(open_ones) else -1


def _branching_arc(space, keep: np.ndarray, disputes: np.ndarray) -> int:
    """Return the most disputed tagged arc into a word that has several left; -1 where none has."""
    modifier = space.word[space.tagged.modifier]
    several = np.bincount(modifier[keep], minlength=len(space.first) - 1) > 1
    open_ones = np.flatnonzero(keep & several[modifier])
    return int(open_ones[disputes[open_ones].argmax()]) if len(open_ones) else -1


def _force_single_arcs(problem: JointProblem, split: SplitScores, scale: float) -> None:
    """Give each arc that is its word's only one so high a score in its head's automaton that it is chosen.

    Every solution has that arc, so no solution's score changes: the sum of the copies stays what it is.  The bonus is
    more than all parts that may appear or disappear with one more modifier.
    """
    space, parts, bonus = problem.space, problem.parts, scale
    for part_type, begin, end in zip(parts.types, parts.offsets, parts.offsets[1:], strict=False):
        scores = problem.scores[begin:end]
        bonus += part_type.influence * np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    modifier = space.word[space.tagged.modifier]
    arc = np.flatnonzero(np.bincount(modifier)[modifier] == 1)
    total = split.y[arc] + split.z[arc] + split.grandparent[arc]
    split.y[arc], split.z[arc], split.grandparent[arc] = total - bonus, bonus, 0.0
