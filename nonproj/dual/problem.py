"""Problems that dual decomposition bounds and `nonproj.dual.search` searches.

A problem has arcs with three copies of each score, one for each subproblem that sees the arc.  A restriction is the
problem over some of the arcs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import compiled_starts, has_compiled_automata, score_tree
from nonproj.automata.general import general_automata, restrict_automata
from nonproj.automata.workspace import NO_PARTS, PartStarts, first_copies
from nonproj.dual.exclusion import InclusionBounds, exclusion_bounds, inclusion_bounds
from nonproj.dual.improvement import improve_tree
from nonproj.dual.nodes import Certificate, Effort
from nonproj.dual.options import DualOptions
from nonproj.dual.subgradient import AGREED, STOPPED, Descent, DescentResult, Trace, descend
from nonproj.dual.subproblems import Instance
from nonproj.parts.arcs import subset
from nonproj.parts.automaton import HeadAutomata
from nonproj.parts.space import restrict
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.trees.rounding import PART_TERMS, ROUNDOFF, rounding_error
from nonproj.types import ArcSpace, Bools, Decoded, Float64s, Int32s, Int64s, PartSpace

NO_TRACE = Trace(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int32))


class OwnScores(NamedTuple):
    """The original scores of a problem, before they were made relative.

    Attributes
    ----------
    part_scores : ndarray of shape (P,), float64
        Scores of all parts; with tables, of arcs at least.
    best : ndarray of shape (N,), float64
        The score of the best arc into each word.
    constant : float
        The sum of ``best``.
    roundoff : float
        0 if all sums of these scores are exact, else `nonproj.trees.rounding.ROUNDOFF`.
    bound : float
        Upper bound on a tree's sum of scores of parts other than arcs.
    initial_multipliers : ndarray of shape (N,), float64
        Constant of each word in the automata's scores of arcs: the parameter ``moved`` of `first_copies`.
    """

    part_scores: np.ndarray
    best: np.ndarray
    constant: float
    roundoff: float
    bound: float
    initial_multipliers: np.ndarray


class NodeResult(NamedTuple):
    """The result of the subgradient method over some of the arcs; copies and disputes are of the whole problem.

    Attributes
    ----------
    descent : DescentResult
        Its bound is rounded outward, see `nonproj.trees.rounding`.
    tree : ndarray of shape (N,), int32
        The best tree, if the subproblems agreed or its score is above the incumbent's: see `descend`.
    copies, disputes : ndarray of shape (3 A,) and (A,), float64 and int64
        The copies of the scores where the bound was lowest, and disagreements: see `Descent`.
    included : InclusionBounds or None
        Bounds on the trees with and without each arc; None for the problem over all arcs, if the gap is closed, and in
        problems that are not of second order.
    """

    descent: DescentResult
    tree: Int32s
    copies: Float64s
    disputes: Int64s
    included: InclusionBounds | None = None


class Restriction(NamedTuple):
    """A problem over some of its arcs.

    Attributes
    ----------
    instance : Instance
    arcs : ndarray of int64
        The numbers of its arcs in the whole problem.
    forced : ndarray of int64
        Its arcs that are the only ones into a word.
    bonus : float
        Amount moved from the tree's copy of the forced arcs to that of their heads' automata, which then choose them.
    """

    instance: Instance
    arcs: Int64s
    forced: Int64s
    bonus: float

    def copies(self, n_arcs: int) -> Int64s:
        """Return the places of its copies among those of all ``n_arcs`` arcs."""
        return np.concatenate([self.arcs, n_arcs + self.arcs, 2 * n_arcs + self.arcs])


class Problem(ABC):
    """A decoding problem over arcs, to be bounded and restricted.

    Attributes
    ----------
    instance : Instance
        The arrays of the whole problem, for kernels.
    copies : ndarray of shape (3 A,), float64
        The copies of the scores at the first multipliers.
    head, modifier : ndarray of shape (A,), int32
        The words of each arc.
    n_nodes, size : int
        Number of nodes, each of which has an automaton, and of parts (with tables, of their scores).
    own : OwnScores or None
        Scores before they were made relative, if they were.
    of_second_order : bool
        Whether there are parts of second order, and none of third order.
    """

    of_second_order = False

    def __init__(self, instance: Instance, copies: Float64s, own: OwnScores | None = None):
        arcs = instance.arcs
        self.own = own
        self.instance, self.copies, self.head, self.modifier = instance, copies, arcs.head, arcs.modifier
        self.n_nodes, self.size = len(arcs.start) - 1, len(instance.scores)

    @abstractmethod
    def restrict(self, keep: Bools, scale: float) -> Restriction:
        """Return the problem over the arcs to ``keep``, bool[A]."""

    def score(self, tree: Int32s) -> float:
        """Return the score of a tree."""
        return float(score_tree(*self.instance, tree)[0])

    def used_arcs(self, tree: Int32s) -> Bools:
        """Return the arcs of a tree, bool[A]."""
        return tree[self.modifier] == self.head

    def bound(self, options: DualOptions, budget: int, trace: Trace = NO_TRACE) -> NodeResult:
        """Run the subgradient method over all arcs, from the first multipliers."""
        disputes, tree = np.zeros(len(self.head), np.int64), np.zeros(self.n_nodes, np.int32)
        descent = Descent(self.copies.copy(), np.empty(len(self.copies)), disputes, -np.inf, budget)
        found = descend(self.instance, options, descent, trace, tree)
        return NodeResult(found, tree, descent.lowest, disputes)

    def restricted_bound(
        self, keep: Bools, copies: Float64s, options: DualOptions, incumbent: float, budget: int
    ) -> NodeResult:
        """Run the subgradient method over some arcs, from given copies."""
        part = self.restrict(keep, options.scale)
        places, n_arcs = part.copies(len(self.head)), len(part.arcs)
        own = copies[places]
        _force(own, part, n_arcs)
        descent = Descent(own, own.copy(), np.zeros(n_arcs, np.int64), incumbent, budget)
        tree = np.zeros(self.n_nodes, np.int32)
        found = descend(part.instance, options, descent, NO_TRACE, tree)
        after, disputes = np.empty(len(copies)), np.zeros(len(self.head), np.int64)
        after[places], disputes[part.arcs] = descent.lowest, descent.disputes
        if found.outcome != STOPPED or not self.of_second_order:
            return NodeResult(found, tree, after, disputes)
        return NodeResult(found, tree, after, disputes, self.inclusion_bounds(part, after, options))

    def inclusion_bounds(self, part: Restriction, copies: Float64s, options: DualOptions) -> InclusionBounds:
        """Return bounds on the trees of a restriction with and without each arc; minus infinity for arcs outside it."""
        included = inclusion_bounds(part.instance, copies[part.copies(len(self.head))], options)
        bounds = np.full((2, len(self.head)), -np.inf)
        bounds[:, part.arcs] = included[:2]
        return included._replace(bounds=bounds[0], without=bounds[1])

    def exclusion_bounds(self, copies: Float64s, options: DualOptions, tree: Int32s, keep: Bools) -> Float64s:
        """Return bounds on the trees over kept arcs without each word's arc in ``tree``: see `exclusion_bounds`."""
        part = self.restrict(keep, options.scale)
        return exclusion_bounds(part.instance, copies[part.copies(len(self.head))], options, tree, outward=True)

    def improve(self, tree: Int32s, options: DualOptions, budget: int) -> int:
        """Improve a tree by local search within a budget, in a problem of second order; return the work."""
        least = max(options.tolerance * options.scale, self.gain_error)
        return int(improve_tree(*self.instance, bool(options.single_root), least, budget, tree))

    @cached_property
    def gain_error(self) -> float:
        """Bound on the rounding error of the gain of a word that moves."""
        # Four automata, each with at most one part of a type for each word and at both ends of its modifiers.
        terms = 4 * (PART_TERMS + 1) * self.n_nodes
        return ROUNDOFF * terms * terms * float(np.abs(self.instance.scores).max(initial=0.0))

    def as_decoded(self, tree: Int32s, certificate: Certificate, effort: Effort, paid: float = 0.0) -> Decoded:
        """Return a tree with its certificate, its score and bound under the problem's own scores.

        ``paid`` was subtracted from its score.
        """
        own, (score, bound, agreed, certified) = self.own, certificate
        if own is not None and score == -np.inf:  # automata have rejected every tree
            bound += own.constant
        elif own is not None:
            gap, largest, (arcs, starts, _) = bound - score, max(abs(bound), abs(score)), self.instance
            score, exact = score_tree(arcs, starts, own.part_scores, tree)
            bound, score = score - paid + gap, score - paid
            # Relative scores of this tree and of any other may be rounded, and so may be each of these sums.
            bound += 2.0 * own.roundoff * (own.bound + 2.0 * largest)
            if gap > 0.0 or paid > 0.0 or not exact or own.roundoff:
                bound += 2.0 * math.ulp(max(abs(score) + paid, abs(bound)))
        share = effort.decoded / max(1, effort.iterations * self.n_nodes)
        return Decoded(tree, score, bound, agreed, certified, effort.iterations, share, effort.nodes)


def _force(copies: Float64s, part: Restriction, n_arcs: int) -> None:
    """Raise the copies of forced arcs in their heads' automata, so that they are chosen; the sum of copies is kept."""
    arc = part.forced
    total = copies[arc] + copies[n_arcs + arc] + copies[2 * n_arcs + arc]
    copies[arc], copies[n_arcs + arc], copies[2 * n_arcs + arc] = total - part.bonus, part.bonus, 0.0


def bonus_of(parts: PartSpace, scores: Float64s, scale: float) -> float:
    """Return an upper bound on the change of a score due to one more modifier, its arc included."""
    bonus = scale
    for part_type, begin, end in zip(parts.types, parts.offsets, parts.offsets[1:], strict=False):
        own = scores[begin:end]
        bonus += part_type.influence * np.abs(own[np.isfinite(own)]).max(initial=0.0)
    return float(bonus)


def only_arcs(arcs: ArcSpace) -> Int64s:
    """Return the arcs that are the only ones into their words."""
    return arcs.start[1:-1][np.diff(arcs.start)[1:] == 1].astype(np.int64)


class PartsProblem(Problem):
    """Trees over parts of arcs alone, or of a set whose automata are compiled."""

    def __init__(self, parts: PartSpace, scores: Float64s, options: DualOptions, own: OwnScores | None = None):
        starts, beta = compiled_starts(parts), options.beta if len(parts.types) > 1 else 1.0
        first = own.initial_multipliers if own is not None else np.zeros(len(parts.arcs.start) - 1)
        copies = first_copies(parts.arcs, scores, first, beta, options.tau if len(starts.grandparent) else 1.0)
        super().__init__(Instance(parts.arcs, starts, scores), copies, own)
        self.parts, self.of_second_order = parts, starts.third is None and len(parts.types) > 1

    def restrict(self, keep: Bools, scale: float) -> Restriction:
        """Return the parts over these arcs."""
        parts, numbers, instance = self.parts, np.arange(len(keep)), self.instance
        if not keep.all():
            parts, numbers = restrict(self.parts, keep)
            instance = Instance(parts.arcs, compiled_starts(parts), self.instance.scores[numbers])
        arcs = numbers[: len(parts.arcs.head)]
        return Restriction(instance, arcs, only_arcs(parts.arcs), bonus_of(parts, instance.scores, scale))


class ArcsProblem(PartsProblem):
    """Trees over arcs alone, the best of which is found directly, without multipliers."""

    def bound(self, options: DualOptions, budget: int, trace: Trace = NO_TRACE) -> NodeResult:
        """Return the best tree."""
        return self.best(self.instance, options)

    def restricted_bound(
        self, keep: Bools, copies: Float64s, options: DualOptions, incumbent: float, budget: int
    ) -> NodeResult:
        """Return the best tree over some arcs."""
        return self.best(self.restrict(keep, options.scale).instance, options)

    def best(self, instance: Instance, options: DualOptions) -> NodeResult:
        """Return the best tree."""
        heads = np.zeros(self.n_nodes, np.int32)
        find = best_projective_tree if options.projective else best_arborescence
        status, arcs = find(instance.arcs, instance.scores, options.single_root, heads), instance.arcs
        score = bound = -np.inf
        if not status:
            score = math.fsum(instance.scores[heads[arcs.modifier] == arcs.head].tolist())
            alone = np.concatenate([instance.scores, np.zeros(2 * len(instance.scores))])
            bound = score + rounding_error(arcs, instance.scores, alone, instance.scores[:0], 0, score)
        found = DescentResult(-status or AGREED, 0, score, bound, 0, 0)
        return NodeResult(found, heads, self.copies.copy(), np.zeros(len(self.head), np.int64))


class TablesProblem(Problem):
    """Trees under head automata given as tables, with scores of arcs."""

    def __init__(
        self,
        arcs: ArcSpace,
        automata: HeadAutomata,
        scores: Float64s,
        options: DualOptions,
        own: OwnScores | None = None,
    ):
        instance = Instance(arcs, PartStarts(NO_PARTS, NO_PARTS, None, automata), scores)
        first = own.initial_multipliers if own is not None else np.zeros(len(arcs.start) - 1)
        super().__init__(instance, first_copies(arcs, scores, first, options.beta, 1.0), own)
        self.automata, self.size = automata, len(automata.take) + len(automata.final)

    def restrict(self, keep: Bools, scale: float) -> Restriction:
        """Return the automata over these arcs, which already take a word's only arc, so that no arc is forced."""
        (given, _, scores), arcs = self.instance, np.flatnonzero(keep)
        starts = PartStarts(NO_PARTS, NO_PARTS, None, restrict_automata(given, self.automata, keep))
        return Restriction(Instance(subset(given, keep), starts, scores[arcs]), arcs, NO_PARTS, 0.0)


def problem_of(parts: PartSpace, scores: Float64s, options: DualOptions, own: OwnScores | None = None) -> Problem:
    """Return the problem over parts of any set, given scores and options normalised by `nonproj.dual.domain`."""
    if len(parts.types) == 1:
        return ArcsProblem(parts, scores, options, own)
    if has_compiled_automata(parts.types):
        return PartsProblem(parts, scores, options, own)
    n_arcs = len(parts.arcs.head)
    return TablesProblem(parts.arcs, general_automata(parts, scores), scores[:n_arcs], options, own)
