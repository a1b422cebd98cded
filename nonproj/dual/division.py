"""Divisions of a node of `nonproj.dual.search` into parts, which together contain all of its trees."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nonproj.dual.crossing import CrossingCosts
from nonproj.dual.nodes import ALL, CROSSING, CROSSINGS, PROJECTIVE, Branch, CrossedArc, Node, divide
from nonproj.dual.options import DualOptions, SearchOptions
from nonproj.dual.problem import Problem
from nonproj.parts.arcs import subset
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.types import Bools, Int32s


class SearchTask(NamedTuple):
    """The task of a search: the k best trees of a problem, by their scores minus the costs of crossed arcs."""

    problem: Problem
    options: DualOptions
    limits: SearchOptions
    k: int
    crossing: CrossingCosts | None

    def payment(self, tree: Int32s) -> float:
        """Return the payment of a tree for crossed arcs."""
        return self.crossing.of(tree) if self.crossing else 0.0

    def owes(self, node: Node) -> bool:
        """Return whether a node's best tree pays more than all of its trees are known to pay."""
        return node.best is not None and self.payment(node.best) > node.paid

    def options_of(self, node: Node) -> DualOptions:
        """Return the options for the trees that count in a node."""
        return self.options._replace(projective=self.options.projective or node.kind == PROJECTIVE)


def part_of(task: SearchTask, node: Node, keep: Bools, bound: float, branch: Branch | None, iterations: int) -> Node:
    """Return a part of a node, with its best known tree if that is in this part."""
    part = Node(keep, bound, node.copies, node.disputes, node.kind, iterations, branch=branch)
    if task.crossing and node.kind == CROSSING:
        part = replace(part, crossed=node.crossed, paid=task.crossing.least(keep, node.crossed))
    if node.best is not None and keep[task.problem.used_arcs(node.best)].all():
        part = replace(part, best=node.best, score=node.score)
    return part


def most_disputed(task: SearchTask, node: Node) -> int | None:
    """Return the most disputed arc into a word that has several; None if there is none."""
    modifier = task.problem.modifier
    several = np.bincount(modifier[node.keep], minlength=task.problem.n_nodes) > 1
    undecided = np.flatnonzero(node.keep & several[modifier])
    return int(undecided[node.disputes[undecided].argmax()]) if len(undecided) else None


def only_tree(task: SearchTask, node: Node) -> Int32s | None:
    """Return the tree of a node with at most one arc into each word; None if its arcs are not a tree."""
    problem, options = task.problem, task.options_of(node)
    arcs, tree = subset(problem.instance.arcs, node.keep), np.zeros(problem.n_nodes, np.int32)
    find = best_projective_tree if options.projective else best_arborescence
    return None if find(arcs, np.zeros(len(arcs.head)), options.single_root, tree) else tree


def _halves(task: SearchTask, keep: Bools, arc: int) -> tuple[Bools, Bools]:
    """Return the arcs that trees with an arc can have, and those that trees without it can have."""
    forced, without = keep & (task.problem.modifier != task.problem.modifier[arc]), keep.copy()
    forced[arc], without[arc] = True, False
    return forced, without


def split(task: SearchTask, node: Node, arc: int) -> list[Node]:
    """Return the parts of a node with an arc and without it."""
    keeps, iterations = _halves(task, node.keep, arc), task.limits.node_iterations
    branches = divide(node.branch, arc, *keeps)
    pairs = zip(keeps, branches, strict=True)
    return [part_of(task, node, keep, node.bound, branch, iterations) for keep, branch in pairs]


def partition(task: SearchTask, node: Node) -> list[Node]:
    """Return a partition of the trees of a node without its best one."""
    problem, keep, best, parts = task.problem, node.keep, node.best, list[Node]()
    assert best is not None
    bounds = problem.exclusion_bounds(node.copies, task.options_of(node), best, keep)
    # The lowest bounds come first, so that the later parts, which will be decoded, are small.
    branch = node.branch
    for m in (np.argsort(bounds[1:], kind="stable") + 1).tolist():
        into = problem.modifier == m
        chosen = into & (problem.head == best[m])
        without, keep = keep & ~chosen, keep & (chosen | ~into)
        branch, other = divide(branch, int(chosen.argmax()), keep, without)
        if bounds[m] > -np.inf:
            bound = min(node.bound, bounds[m])
            parts.append(part_of(task, node, without, bound, other, task.limits.node_iterations))
    return parts


def by_crossings(task: SearchTask, node: Node) -> list[Node]:
    """Return the parts of a node by whether arcs cross, or by its best tree's crossed arc with the largest cost."""
    problem, crossing, best, parts = task.problem, task.crossing, node.best, list[Node]()
    assert crossing is not None and best is not None
    if node.kind == ALL:
        branches = divide(node.branch, CROSSINGS, node.keep, node.keep)
        if not len(crossing.must_cross(node.keep)):
            iterations, copies = task.options.max_iterations, node.copies
            parts = [Node(node.keep, node.bound, copies, node.disputes, PROJECTIVE, iterations, branch=branches[1])]
        return [*parts, replace(node, kind=CROSSING, branch=branches[0], paid=crossing.least(node.keep, ()))]
    arc, iterations = crossing.largest(best, node.crossed), task.limits.node_iterations
    forced, without = _halves(task, node.keep, arc)
    uncrossed, arcs = forced & ~crossing.crossers(arc), (*node.crossed, arc)
    branches = divide(node.branch, CrossedArc(arc), forced, uncrossed, without)
    for keep, branch in zip((uncrossed, without), branches[1:], strict=True):
        if np.bincount(problem.modifier[keep], minlength=problem.n_nodes)[1:].all():  # else there is no tree
            parts.append(part_of(task, node, keep, node.bound, branch, iterations))
    iterations, paid = 0 if node.solved else iterations, crossing.least(forced, arcs)
    crossed = replace(node, keep=forced, branch=branches[0], crossed=arcs, paid=paid, iterations=iterations)
    return [*parts, crossed]
