"""The search over restrictions of a problem: the best trees, with their proof, where dual decomposition leaves a gap.

A *node* is the problem over some of its arcs.  Dual decomposition bounds it, from the multipliers at which its parent's
bound was lowest.  Trees that are seen anywhere are *known*; the best of them is the next of the k best trees when no
open node's bound is above it.  The open node with the highest bound is expanded first:

- A node that is not bounded yet is bounded.  It is fathomed if its bound is not above the k-th best known tree.
- A node whose best tree is proven is partitioned by this tree (Lawler 1972, "A procedure for computing the k best
  solutions to discrete optimization problems"): each part excludes one of the tree's arcs and keeps those into the
  words before.  Parts are first bounded by the cost of excluding that arc, so most of them are never decoded.
- Any other node loses the arcs that only trees below the k-th best known one have, by bounds on the trees with each
  arc at its multipliers (reduced-cost fixing: Beasley 1993, "Lagrangian relaxation"), and is bounded again as long as
  this gains much.  Then it is split on the most disputed variable (Land and Doig 1960, "An automatic method of solving
  discrete programming problems").

Where trees pay for crossed arcs (`nonproj.dual.crossing`), the value of a tree is its score minus its payment, and the
bound of a node is its bound on scores minus the least payment of its trees.  A node whose best tree pays more is
divided by whether arcs cross, or by the crossed arc of this tree with the largest cost: into the trees in which it is
crossed, which all pay for it, those in which it is not, as all arcs that cross it are excluded, and those without it.

Open nodes take memory.  Once they take `OPEN_BYTES`, the search is depth-first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nonproj.dual.crossing import CrossingCosts
from nonproj.dual.division import SearchTask, by_crossings, most_disputed, only_tree, part_of, partition, split
from nonproj.dual.nodes import ALL, Branch, Certificate, Effort, KnownTrees, Node, OpenNodes, RankedTree, in_order
from nonproj.dual.options import FULL_WORK_WORDS, UNLIMITED, DualOptions, SearchOptions
from nonproj.dual.problem import NO_TRACE, NodeResult, Problem
from nonproj.dual.subgradient import AGREED, CLOSED, STOPPED, Trace
from nonproj.trees.checks import check_status
from nonproj.types import Decoded, Float64s, Int32s

OPEN_BYTES = 2**28
"""Maximum memory of the open nodes, in bytes, beyond which the search is depth-first."""

NODE_WORK, PART_WORK = 100_000, 2
"""Work of setting up a node, and for each part, in Viterbi transitions."""

FALLING, NARROWED = 0.5, 0.7
"""A node is bounded again if its bound fell by more than the first share of its remaining gap, or if less than the
second share of its arcs is left."""

LEAST_LOSS = 0.005
"""Minimum weight of a dispute where a node is split, as a share of the gap."""


class SearchResult(list[Decoded]):
    """The best trees of a problem, best first.

    Attributes
    ----------
    problem : Problem
    copies : ndarray of shape (3 A,), float64
        Copies of the problem's own scores where the first bound was lowest.
    first : NodeResult or None
        The first bound and its tree, from which `nonproj.dual.decoding.with_costs` continues.
    branch : Branch or None
        Record of how the trees were divided and bounded, if any; see `nonproj.dual.proofs`.
    crossing : CrossingCosts or None
        Costs of crossed arcs.
    """

    def __init__(
        self,
        trees: Iterable[Decoded],
        problem: Problem,
        copies: Float64s,
        first: NodeResult | None = None,
        branch: Branch | None = None,
        crossing: CrossingCosts | None = None,
    ):
        super().__init__(trees)
        self.problem, self.copies, self.first, self.branch, self.crossing = problem, copies, first, branch, crossing


def search(
    problem: Problem,
    options: DualOptions,
    limits: SearchOptions,
    k: int = 1,
    crossing: CrossingCosts | None = None,
    first: NodeResult | None = None,
    trace: Trace = NO_TRACE,
    record: bool = False,
) -> SearchResult:
    """Find the k best trees, by their scores minus their costs of crossed arcs, and prove them.

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
    first : NodeResult, optional
        The first bound, if it is known from a search without costs.
    trace : Trace
        Filled by the first node, up to the size of its arrays.
    record : bool
        Whether to record how the trees were divided and bounded.

    Returns
    -------
    SearchResult
        Its trees, best first, fewer than ``k`` if there are no more or the work is used up.  The bound of the i-th
        holds for all trees but the ``i - 1`` before it.

    Raises
    ------
    ValueError
        If there is no tree.
    """
    words = problem.n_nodes - 1
    budget = k * limits.work_per_word * (words + min(words, FULL_WORK_WORDS)) // 2 or UNLIMITED
    first = first or problem.bound(options, budget, trace)
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
        task = SearchTask(problem, options, limits._replace(search=searching), k, crossing)
        ranked = _Search(task, budget).run(first, branch)
    copies = first.copies
    if problem.own is not None:  # the tree's copies sum to its own score
        copies = copies.copy()
        copies[: len(problem.head)] += problem.own.best[problem.modifier]
    return SearchResult(ranked, problem, copies, first, branch, crossing)


def with_known(found: SearchResult, known: Decoded, options: DualOptions) -> SearchResult:
    """Return the trees of a search, with a better known one in front if the search hit its limit without finding it.

    The bound of the first tree holds for the known one, too; the number of trees stays the same.
    """
    first, own = found[0], found.problem.own
    constant = own.constant if own is not None else 0.0
    if first.certified or known.score <= first.score:
        return found
    closed = options.closes(first.bound - constant, known.score - constant)
    best = first._replace(tree=known.tree, score=known.score, certified=closed)
    others = [each for each in found if not np.array_equal(each.tree, known.tree)]
    others = [best, *others][: len(found)]
    return SearchResult(others, found.problem, found.copies, found.first, found.branch, found.crossing)


class _Search:
    """The state of one search: the nodes, the known trees and the ranked ones, and the effort."""

    def __init__(self, task: SearchTask, budget: int):
        self.task, self.budget = task, budget
        self.open = OpenNodes(OPEN_BYTES, len(task.problem.head))
        self.known, self.ranked = KnownTrees(task.k), list[RankedTree]()
        self.effort, self.spent, self.agreed = Effort(0, 0, 0), 0, False
        self.improved = set[bytes]()  # trees at either end of a local search

    def run(self, first: NodeResult, branch: Branch | None) -> list[Decoded]:
        """Search until the trees are found, no node is open, or the limit is hit; ``first`` is the root node's result.

        Divisions and bounds are recorded in ``branch``, if there is one.
        """
        task, known = self.task, self.known
        self.agreed = first.descent.outcome == AGREED
        keep, iterations = np.ones(len(task.problem.head), np.bool_), task.options.max_iterations
        node = Node(keep, np.inf, first.copies, first.disputes, ALL, iterations, branch=branch)
        node = self.update(node, first, -np.inf)
        if task.owes(node) and self.open:  # even without work left, projective trees have an iteration
            self.expand(self.open.pop())
        while len(self.ranked) < task.k:
            if self.open and self.spent < self.budget and not task.options.closes(self.open.highest(), known.best()):
                self.expand(self.open.pop())
            elif known.best() > -np.inf:
                self.ranked.append(RankedTree(*known.pop(), self.effort))
            else:
                break
        if not self.ranked:  # automata have rejected every tree
            self.ranked.append(RankedTree(first.tree, -np.inf, self.effort))
        others = max(self.open.highest(), known.best())
        return in_order([self.as_decoded(each, max(each.score, others)) for each in self.ranked])

    def as_decoded(self, ranked: RankedTree, bound: float) -> Decoded:
        """Return a tree with its certificate, given a bound on all trees except those ranked before it."""
        task = self.task
        certified = task.options.closes(bound, ranked.score)
        agreed = certified and (task.k > 1 or self.agreed)
        if task.crossing:  # the value of another tree, less what it pays, may have been rounded
            bound = math.nextafter(bound + task.crossing.roundoff, math.inf)
        certificate = Certificate(float(ranked.score), float(bound), bool(agreed), bool(certified))
        return task.problem.as_decoded(ranked.tree, certificate, ranked.effort, task.payment(ranked.tree))

    def push(self, *nodes: Node) -> None:
        """Open the nodes that may have one of the k best trees, and fathom the others."""
        for node in nodes:
            if node.paid == np.inf or self.task.options.closes(node.highest, self.known.threshold()):
                self.open.fathom(node.highest)
            else:
                self.open.push(node)

    def expand(self, node: Node) -> None:
        """Bound, partition or split a node."""
        task = self.task
        closed = task.options.closes(node.highest, self.known.threshold())
        if closed or not (node.iterations or task.limits.search):
            self.open.fathom(node.highest)
        elif node.iterations:
            self.bound(node)
        elif task.owes(node):
            self.divide_by_crossings(node)
        elif node.solved:
            self.spent += NODE_WORK + task.problem.n_nodes * PART_WORK * task.problem.size
            self.push(*partition(task, node))
        elif (arc := most_disputed(task, node)) is not None:
            self.push(*split(task, node, arc))
        else:  # arcs may have been left out since the node was bounded, so its only tree may be new
            tree = only_tree(task, node)
            if tree is not None:
                self.add_tree(tree, task.problem.score(tree))

    def bound(self, node: Node) -> None:
        """Bound a node, and keep it open unless it is fathomed."""
        task = self.task
        self.effort = self.effort._replace(nodes=self.effort.nodes + 1)
        self.spent += NODE_WORK + PART_WORK * task.problem.size
        incumbent = max(self.known.threshold() + node.paid, node.score)
        options = task.options_of(node)._replace(max_iterations=node.iterations)
        bounded = task.problem.restricted_bound(node.keep, node.copies, options, incumbent, self.budget - self.spent)
        self.update(node, bounded, incumbent)

    def update(self, node: Node, bounded: NodeResult, incumbent: float) -> Node:
        """Return a node with its results; its tree becomes known, and it stays open unless it is fathomed."""
        outcome, iterations, score, bound, decoded, spent = bounded.descent
        self.effort = Effort(self.effort.iterations + iterations, self.effort.decoded + decoded, self.effort.nodes)
        self.spent += spent + (bounded.included.work if bounded.included is not None else 0)
        if outcome < 0:  # there is no tree
            return node
        if outcome == AGREED or score > incumbent:
            node = replace(node, best=bounded.tree, score=score)
            self.add_tree(bounded.tree, score)
        bound, before = min(node.bound, bound), node.bound
        solved = outcome == AGREED or (outcome == CLOSED and node.score >= score)
        node = replace(node, bound=bound, copies=bounded.copies, disputes=bounded.disputes, iterations=0, solved=solved)
        if node.branch is not None:
            node.branch.set_copies(bounded.copies)
        if outcome == CLOSED and not solved:
            self.push(node)  # it is fathomed, unless rounding outward has lifted its bound
        elif self.task.owes(node):
            self.divide_by_crossings(node)
        elif outcome == STOPPED and self.task.limits.search:
            self.narrow(node, bounded, before)
        else:
            self.push(node)
        return node

    def narrow(self, node: Node, bounded: NodeResult, before: float) -> None:
        """Keep a node open, without the arcs that only trees worse than the known ones have.

        First the tree that was found is improved by local search, so that better ones are known.  The node is bounded
        again if its bound has fallen much, or if many arcs are left out.
        """
        task, included = self.task, bounded.included
        tree = (bounded.tree if included is None else included.tree).copy()
        if task.problem.of_second_order and not task.options.projective and tree[0] < 0:  # else there is none
            self.improve(tree)
        threshold, keep = self.known.threshold(), node.keep
        gap = node.highest - threshold
        if included is not None and gap < np.inf:
            node = self.leave_out(node, included.bounds, threshold)
            # A split is as good as the loss of its weaker half, which is mostly the one without the arc.
            lost = np.minimum(bounded.descent.bound - included.without, gap)
            node = replace(node, disputes=node.disputes * (lost + LEAST_LOSS * gap))
        fewer = np.count_nonzero(node.keep) < NARROWED * np.count_nonzero(keep)
        again = fewer or before - node.bound > FALLING * gap
        iterations = task.limits.node_iterations if again else 0
        self.push(part_of(task, node, node.keep, node.bound, node.branch, iterations))

    def improve(self, tree: Int32s) -> None:
        """Add the tree that local search finds from a tree, unless the latter has been improved before."""
        problem = self.task.problem
        if tree.tobytes() in self.improved:
            return
        self.improved.add(tree.tobytes())
        self.spent += problem.improve(tree, self.task.options, self.budget - self.spent)
        self.improved.add(tree.tobytes())
        self.add_tree(tree, problem.score(tree))

    def leave_out(self, node: Node, bounds: Float64s, threshold: float) -> Node:
        """Return a node without the arcs that no tree above a threshold has, by bounds of the trees with each arc."""
        bounds = bounds - node.paid
        out = node.keep & (bounds <= threshold + self.task.options.gap_at(threshold))
        if not out.any():
            return node
        self.open.fathom(float(bounds[out].max()))
        branch = None if node.branch is None else node.branch.exclude(out)
        return replace(node, keep=node.keep & ~out, branch=branch)

    def add_tree(self, tree: Int32s, score: float) -> None:
        """Add a tree to the known trees."""
        self.known.add(tree, score - self.task.payment(tree))

    def divide_by_crossings(self, node: Node) -> None:
        """Divide a node whose best tree pays for crossed arcs, or leave out arcs of this tree."""
        task, problem, best, threshold = self.task, self.task.problem, node.best, self.known.threshold()
        assert task.crossing is not None and best is not None
        if problem.of_second_order and threshold > -np.inf:
            part = problem.restrict(node.keep, task.options.scale)
            included = problem.inclusion_bounds(part, node.copies, task.options_of(node))
            self.spent += included.work
            node = self.leave_out(node, included.bounds, threshold)
            if not node.keep[problem.used_arcs(best)].all():
                iterations = task.limits.node_iterations
                self.push(part_of(task, node, node.keep, node.bound, node.branch, iterations))
                return
        self.push(*by_crossings(task, node))
