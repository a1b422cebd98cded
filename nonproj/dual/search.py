"""The search over restrictions of a problem: the best trees, with their proof, where dual decomposition leaves a gap.

A *node* is the problem over some of its arcs.  Dual decomposition bounds it, from the multipliers at which its parent's
bound was lowest.  Trees that are seen anywhere are *known*; the best of them is the next of the k best trees when no
open node's bound is above it.  An open node is expanded, that with the highest bound first:

- A node that is not bounded yet is bounded.  It is fathomed if its bound is not above the k-th best known tree.
- A node whose best tree is proven is partitioned by this tree (Lawler 1972, "A procedure for computing the k best
  solutions to discrete optimization problems"): each part excludes one of the tree's arcs and keeps those into the
  words before.  Parts are first bounded by the cost of excluding that arc, so most of them are never decoded.
- Any other node loses the arcs that only trees below the k-th best known one have, by a bound of the trees with each
  arc at its multipliers (reduced-cost fixing: Beasley 1993, "Lagrangian relaxation"), and is bounded again as long as
  much is gained.  Then it is split on the most disputed variable (Land and Doig 1960, "An automatic method of solving
  discrete programming problems").

Where trees pay for crossed arcs (`nonproj.dual.crossing`), the value of a known tree is its score less what it pays,
and the bound of a node is one of scores less what all of its trees pay.  A node whose best tree pays more is divided by
whether arcs cross, or by the crossed arc of this tree with the largest cost: into the trees in which it is crossed,
which all pay for it, those in which it is not, because what crosses it is excluded, and those without it.

Open nodes take memory.  Once they take `OPEN_BYTES`, the search is depth-first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nonproj.dual.crossing import CrossingCosts
from nonproj.dual.nodes import (
    ALL,
    CROSSING,
    CROSSINGS,
    PROJECTIVE,
    Branch,
    Certificate,
    CrossedArc,
    Effort,
    KnownTrees,
    Node,
    OpenNodes,
    RankedTree,
    divide,
    in_order,
)
from nonproj.dual.options import FULL_WORK_WORDS, UNLIMITED, DualOptions, SearchOptions
from nonproj.dual.problem import NO_TRACE, NodeResult, Problem
from nonproj.dual.subgradient import AGREED, CLOSED, STOPPED, Trace
from nonproj.trees.checks import check_status
from nonproj.types import Bools, Decoded, Float64s, Int32s

OPEN_BYTES = 2**28
"""Memory of the open nodes from which on the search is depth-first."""

NODE_WORK, PART_WORK = 100_000, 2
"""Work of setting up a node, and for each part, in the time of Viterbi transitions."""

FALLING, NARROWED = 0.5, 0.7
"""A node is bounded again if its bound fell by more than this share of what is left of its gap, or if not more than
this share of its arcs is left."""

LEAST_LOSS = 0.005
"""Share of the gap by which every disputed arc counts where a node is split."""


class SearchResult(list[Decoded]):
    """The best trees of a problem, best first.

    Attributes
    ----------
    problem : Problem
    copies : ndarray of shape (V,), float64
        Those of the problem's own scores where the first bound was lowest.
    branch : Branch or None
        How the trees were divided and bounded, if that was recorded; see `nonproj.dual.proofs`.
    """

    def __init__(self, trees: Iterable[Decoded], problem: Problem, copies: Float64s, branch: Branch | None = None):
        super().__init__(trees)
        self.problem, self.copies, self.branch = problem, copies, branch


def search(
    problem: Problem,
    options: DualOptions,
    limits: SearchOptions,
    k: int = 1,
    crossing: CrossingCosts | None = None,
    trace: Trace = NO_TRACE,
    record: bool = False,
) -> SearchResult:
    """Find the k best trees, by their scores less what they pay for crossed arcs, and prove them.

    Parameters
    ----------
    problem : Problem
    options : DualOptions
        For the whole problem, with its scale; other nodes have ``limits.node_iterations``.
    limits : SearchOptions
        ``work_per_word`` is for each of the k trees.
    k : int
    crossing : CrossingCosts, optional
        Costs of crossed arcs; by default none.
    trace : Trace
        Filled by the first node as far as its arrays reach.
    record : bool
        Whether to record how the trees were divided and bounded.

    Returns
    -------
    list of Decoded
        Best first, fewer than ``k`` if there are no more or the work is used up.  The bound of the i-th is above all
        trees but the ``i - 1`` before it.

    Raises
    ------
    ValueError
        If there is no tree.
    """
    words = problem.n_nodes - 1
    budget = k * limits.work_per_word * (words + min(words, FULL_WORK_WORDS)) // 2 or UNLIMITED
    first = problem.whole(options, budget, trace)
    outcome, crossing = first.descent.outcome, None if options.projective else crossing
    if outcome < 0:
        check_status(-outcome)
    searching = k > 1 or (limits.search and limits.work_per_word > 0)
    branch = Branch(np.ones(len(problem.head), np.bool_), first.copies.copy()) if record else None
    _, iterations, score, bound, decoded, _ = first.descent
    agreed = outcome == AGREED
    certified = agreed or options.closes(bound, score)
    if (not searching or (k == 1 and certified)) and not (crossing and crossing.of(first.tree)):
        certificate = Certificate(score, max(bound, score), agreed, certified)
        ranked = [problem.as_decoded(first.tree, certificate, Effort(iterations, decoded, 0))]
    else:
        ranked = _Search(problem, options, limits._replace(search=searching), k, crossing, budget).run(first, branch)
    if problem.own is not None:  # the tree's copies sum to its own score
        first.copies[: len(problem.head)] += problem.own.best[problem.modifier]
    return SearchResult(ranked, problem, first.copies, branch)


def with_known(found: SearchResult, known: Decoded, options: DualOptions) -> SearchResult:
    """Return the best trees that a search has found, led by a known one if it reached its limit before it found that.

    Both are under the bound of the first; the one that is displaced remains only if there are several.
    """
    first, own = found[0], found.problem.own
    constant = own.constant if own is not None else 0.0
    if first.certified or known.score <= first.score:
        return found
    closed = options.closes(first.bound - constant, known.score - constant)
    best = first._replace(tree=known.tree, score=known.score, certified=closed)
    others = [each for each in found if not np.array_equal(each.tree, known.tree)]
    return SearchResult([best, *others][: len(found)], found.problem, found.copies, found.branch)


class _Search:
    """The state of one search: the open nodes, the known trees, and the highest bound of the fathomed nodes."""

    def __init__(
        self,
        problem: Problem,
        options: DualOptions,
        limits: SearchOptions,
        k: int,
        crossing: CrossingCosts | None,
        budget: int,
    ):
        self.problem, self.options, self.limits, self.k = problem, options, limits, k
        self.crossing, self.budget = crossing, budget
        self.open = OpenNodes(OPEN_BYTES, len(problem.head))
        self.known, self.fathomed, self.ranked = KnownTrees(k), -np.inf, list[RankedTree]()
        self.iterations = self.decoded = self.spent = self.nodes = 0
        self.agreed = False
        self.improved = set[bytes]()  # trees at either end of a local search

    def run(self, first: NodeResult, branch: Branch | None) -> list[Decoded]:
        """Search until the trees are found, no node is open, or the limit is hit; ``first`` is the whole problem's.

        What becomes of it is recorded in ``branch``, if there is one.
        """
        self.count(first)
        self.agreed = first.descent.outcome == AGREED
        node = self.update(self.root(first, branch), first, -np.inf)
        if self.owes(node) and self.open:  # even without work left, projective trees have an iteration
            self.expand(self.open.pop())
        while len(self.ranked) < self.k:
            if self.options.closes(self.highest_bound(), self.known.best()):
                self.rank()
            elif not self.open or self.spent >= self.budget:
                break
            else:
                self.expand(self.open.pop())
        while len(self.ranked) < self.k and self.known.best() > -np.inf:
            self.rank()
        if not self.ranked:  # automata have rejected every tree
            self.ranked.append(RankedTree(first.tree, -np.inf, self.effort()))
        others = max(self.highest_bound(), self.known.best())
        return in_order([self.as_decoded(each, max(each.score, others)) for each in self.ranked])

    def count(self, bounded: NodeResult) -> None:
        """Add up iterations, automata and work."""
        self.iterations += bounded.descent.iterations
        self.decoded += bounded.descent.decoded
        self.spent += bounded.descent.spent + (bounded.included.work if bounded.included is not None else 0)

    def effort(self) -> Effort:
        """Return the effort so far."""
        return Effort(self.iterations, self.decoded, self.nodes)

    def as_decoded(self, ranked: RankedTree, bound: float) -> Decoded:
        """Return a tree with its certificate, under a bound of all trees that do not come before it."""
        certified = self.options.closes(bound, ranked.score)
        agreed = certified and (self.k > 1 or self.agreed)
        if self.crossing:  # the value of another tree, less what it pays, may have been rounded
            bound = math.nextafter(bound + self.crossing.roundoff, math.inf)
        certificate = Certificate(float(ranked.score), float(bound), bool(agreed), bool(certified))
        return self.problem.as_decoded(ranked.tree, certificate, ranked.effort, self.payment(ranked.tree))

    def payment(self, tree: Int32s) -> float:
        """Return what a tree pays for crossed arcs."""
        return self.crossing.of(tree) if self.crossing else 0.0

    def owes(self, node: Node) -> bool:
        """Return whether a node's best tree pays more than is known of all its trees."""
        return node.best is not None and self.payment(node.best) > node.paid

    def root(self, first: NodeResult, branch: Branch | None) -> Node:
        """Return the node of all trees."""
        keep, iterations = np.ones(len(self.problem.head), np.bool_), self.options.max_iterations
        return Node(keep, np.inf, first.copies, first.disputes, ALL, iterations, branch=branch)

    def highest_bound(self) -> float:
        """Return a bound of all trees that are not ranked and not known."""
        return max(self.fathomed, self.open.highest())

    def rank(self) -> None:
        """Rank the best of the known trees that are not ranked."""
        self.ranked.append(RankedTree(*self.known.pop(), self.effort()))

    def push(self, node: Node) -> None:
        """Keep a node open, unless nothing in it can be among the best."""
        if node.paid == np.inf or self.options.closes(node.highest, self.known.threshold()):
            self.fathomed = max(self.fathomed, node.highest)
        else:
            self.open.push(node)

    def expand(self, node: Node) -> None:
        """Bound, partition or split a node."""
        closed = self.options.closes(node.highest, self.known.threshold())
        if closed or not (node.iterations or self.limits.search):
            self.fathomed = max(self.fathomed, node.highest)
        elif node.iterations:
            self.bound(node)
        elif self.owes(node):
            self.divide_by_crossings(node)
        elif node.solved:
            self.partition(node)
        else:
            self.split(node)

    def options_of(self, node: Node) -> DualOptions:
        """Return the options for the trees that count in a node."""
        return self.options._replace(projective=self.options.projective or node.kind == PROJECTIVE)

    def bound(self, node: Node) -> None:
        """Bound a node, and keep it open unless it is fathomed."""
        self.nodes += 1
        self.spent += NODE_WORK + PART_WORK * self.problem.size
        incumbent = max(self.known.threshold() + node.paid, node.score)
        options = self.options_of(node)._replace(max_iterations=node.iterations)
        bounded = self.problem.over(node.keep, node.copies, options, incumbent, self.budget - self.spent)
        self.count(bounded)
        if bounded.descent.outcome >= 0:
            self.update(node, bounded, incumbent)

    def update(self, node: Node, bounded: NodeResult, incumbent: float) -> Node:
        """Return a node with its results; its tree becomes known, and it stays open unless it is fathomed."""
        outcome, score = bounded.descent.outcome, bounded.descent.score
        if outcome == AGREED or score > incumbent:
            node = replace(node, best=bounded.tree, score=score)
            self.add_tree(bounded.tree, score)
        bound, before = min(node.bound, bounded.descent.bound), node.bound
        solved = outcome == AGREED or (outcome == CLOSED and node.score >= score)
        node = replace(node, bound=bound, copies=bounded.copies, disputes=bounded.disputes, iterations=0, solved=solved)
        if node.branch is not None:
            node.branch.set_copies(bounded.copies)
        if outcome == CLOSED and not solved:
            self.push(node)  # it is fathomed, unless rounding outward has lifted its bound
        elif self.owes(node):
            self.divide_by_crossings(node)
        elif outcome == STOPPED and self.limits.search:
            self.narrow(node, bounded, before)
        else:
            self.push(node)
        return node

    def narrow(self, node: Node, bounded: NodeResult, before: float) -> None:
        """Keep a node open without the arcs that only worse trees than the known ones have.

        First the tree that was found is improved by local search, so that better ones are known.  The node is bounded
        again if its bound has fallen much, or if many arcs are left out.
        """
        included, options, problem = bounded.included, self.options, self.problem
        tree = (bounded.tree if included is None else included.tree).copy()
        if problem.of_second_order and not options.projective and tree[0] < 0:  # else there is none
            self.improve(tree)
        threshold, keep = self.known.threshold(), node.keep
        gap = node.highest - threshold
        if included is not None and gap < np.inf:
            node = self.leave_out(node, included.bounds, threshold)
            # What counts is what both halves of a split lose, and that without the arc mostly loses less.
            lost = np.minimum(bounded.descent.bound - included.without, gap)
            node = replace(node, disputes=node.disputes * (lost + LEAST_LOSS * gap))
        fewer = np.count_nonzero(node.keep) < NARROWED * np.count_nonzero(keep)
        again = fewer or before - node.bound > FALLING * gap
        self.child(node, node.keep, node.bound, node.branch, self.limits.node_iterations if again else 0)

    def improve(self, tree: Int32s) -> None:
        """Add what local search makes of a tree, unless that is known."""
        if tree.tobytes() in self.improved:
            return
        self.improved.add(tree.tobytes())
        self.spent += self.problem.improve(tree, self.options, self.budget - self.spent)
        self.improved.add(tree.tobytes())
        self.add_tree(tree, self.problem.score(tree))

    def leave_out(self, node: Node, bounds: Float64s, threshold: float) -> Node:
        """Return a node without the arcs that no tree above a threshold has, by bounds of the trees with each arc."""
        bounds = bounds - node.paid
        out = node.keep & (bounds <= threshold + self.options.gap_at(threshold))
        if not out.any():
            return node
        self.fathomed = max(self.fathomed, float(bounds[out].max()))
        branch = None if node.branch is None else node.branch.exclude(out)
        return replace(node, keep=node.keep & ~out, branch=branch)

    def add_tree(self, tree: Int32s, score: float) -> None:
        """Add a tree to those that are known."""
        self.known.add(tree, score - self.payment(tree))

    def child(self, node: Node, keep: Bools, bound: float, branch: Branch | None, iterations: int) -> None:
        """Keep a part of a node open, with its best known tree if that is in this part."""
        part = Node(keep, bound, node.copies, node.disputes, node.kind, iterations, branch=branch)
        if self.crossing and node.kind == CROSSING:
            part = replace(part, crossed=node.crossed, paid=self.crossing.least(keep, node.crossed))
        if node.best is not None and keep[self.problem.used_arcs(node.best)].all():
            part = replace(part, best=node.best, score=node.score)
        self.push(part)

    def divide_by_crossings(self, node: Node) -> None:
        """Divide a node by whether arcs cross, or by the crossed arc of its best tree that has the largest cost."""
        problem, crossing, best, threshold = self.problem, self.crossing, node.best, self.known.threshold()
        assert crossing is not None and best is not None
        if problem.of_second_order and crossing.has_costs and threshold > -np.inf:
            part, options = problem.restrict(node.keep, self.options.scale), self.options_of(node)
            included = problem.inclusion_bounds(part, node.copies, options)
            self.spent += included.work
            node = self.leave_out(node, included.bounds, threshold)
            if not node.keep[problem.used_arcs(best)].all():
                self.child(node, node.keep, node.bound, node.branch, self.limits.node_iterations)
                return
        if node.kind == ALL:
            branches = divide(node.branch, CROSSINGS, node.keep, node.keep)
            if not crossing.has_costs or not len(crossing.must_cross(node.keep)):
                iterations, copies = self.options.max_iterations, node.copies
                self.push(
                    Node(node.keep, node.bound, copies, node.disputes, PROJECTIVE, iterations, branch=branches[1])
                )
            paid = crossing.least(node.keep, ())
            self.push(replace(node, kind=CROSSING, branch=branches[0], paid=paid))
            return
        arc, iterations = crossing.largest(best, node.crossed), self.limits.node_iterations
        forced, without = problem.halves(node.keep, arc)
        uncrossed, arcs = forced & ~crossing.crossers(arc), (*node.crossed, arc)
        branches = divide(node.branch, CrossedArc(arc), forced, uncrossed, without)
        for keep, branch in zip((uncrossed, without), branches[1:], strict=True):
            if np.bincount(problem.modifier[keep], minlength=problem.n_nodes)[1:].all():  # else there is no tree
                self.child(node, keep, node.bound, branch, iterations)
        iterations, paid = 0 if node.solved else iterations, crossing.least(forced, arcs)
        self.push(replace(node, keep=forced, branch=branches[0], crossed=arcs, paid=paid, iterations=iterations))

    def split(self, node: Node) -> None:
        """Split a node on what was disputed most; if it has only one tree, that becomes known."""
        parts = self.problem.branches(node.keep, node.disputes)
        if parts is None:  # arcs may have been left out since the node was bounded, so its tree may be new
            tree = self.problem.only_tree(node.keep, self.options_of(node))
            if tree is not None:
                self.add_tree(tree, self.problem.score(tree))
            return
        forced, without = parts
        arc = int((forced & ~without).argmax())
        for keep, branch in zip(parts, divide(node.branch, arc, *parts), strict=True):
            self.child(node, keep, node.bound, branch, self.limits.node_iterations)

    def partition(self, node: Node) -> None:
        """Partition what remains of a node without its best tree."""
        problem, keep, best = self.problem, node.keep, node.best
        assert best is not None
        bounds = problem.exclusion_bounds(node.copies, self.options_of(node), best, keep)
        self.spent += NODE_WORK + problem.n_nodes * PART_WORK * problem.size
        # What is bounded most tightly comes first, so that the other parts, which will be decoded, are small.
        branch = node.branch
        for m in (np.argsort(bounds[1:], kind="stable") + 1).tolist():
            into = problem.modifier == m
            chosen = into & (problem.head == best[m])
            without, keep = keep & ~chosen, keep & (chosen | ~into)
            branch, other = divide(branch, int(chosen.argmax()), keep, without)
            if bounds[m] > -np.inf:
                self.child(node, without, min(node.bound, bounds[m]), other, self.limits.node_iterations)
