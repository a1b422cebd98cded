"""The subgradient method over the subproblems of `nonproj.dual.subproblems`; compiled.

Koo et al. (2010), figures 1 and 2: an arborescence y and, for each word, a head automaton z are decoded separately, and
multipliers of arcs in dispute change until they agree.  Each dual value bounds the score of any tree, and each y is a
tree.  Automata are lazy (section 7.4): only those whose multipliers moved are decoded again.

`nonproj.dual.problem` runs the loop over the whole of a problem and over restrictions of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import count_work, decode_head, tree_value
from nonproj.automata.workspace import Choice, PartStarts, SplitScores, as_split
from nonproj.dual.options import (
    APPENDIX_A,
    FIRST_TARGET,
    GRACE_ITERATIONS,
    MIN_STEP,
    POLYAK_DECAY,
    POLYAK_PATIENCE,
    POLYAK_SCALE,
    DualOptions,
)
from nonproj.dual.subproblems import Instance, copy, find_tree, mark_tree, new_work
from nonproj.kernels.kernel import kernel
from nonproj.parts.automaton import HeadAutomata
from nonproj.trees.checks import NO_TREE
from nonproj.trees.rounding import PART_TERMS, rounding_error
from nonproj.types import ArcSpace, Bools, Float64s, Int8s, Int32s, Int64s

AGREED, CLOSED, STOPPED = 0, 1, 2
"""Outcomes of the method: the subproblems agree, the gap is closed, or neither."""

WORD_WORK, ARC_WORK, CONTRACTION_WORK, SPAN_WORK, SPLIT_WORK = 200, 12, 8, 8, 1
"""Work of an iteration outside the automata: per node, per arc, per arc examined by contraction and, in Eisner's
algorithm, per pair of nodes, and per pair of a node and an arc."""


class Trace(NamedTuple):
    """A record of each of ``k`` iterations.

    Attributes
    ----------
    dual, primal : ndarray of shape (k,), float64
        ``L(u)``, the bound at the iteration's multipliers, and the score of its tree.
    step : ndarray of shape (k,), float64
        The step taken after the iteration; 0 at the last.
    decoded : ndarray of shape (k,), int32
        Number of automata decoded; the others were unchanged.
    """

    dual: np.ndarray
    primal: np.ndarray
    step: np.ndarray
    decoded: np.ndarray


class Descent(NamedTuple):
    """The state that the subgradient method starts from and updates.

    Attributes
    ----------
    copies : ndarray of shape (3 A,), float64
        The three copies of each arc's score, which move with the multipliers: see
        `nonproj.automata.workspace.SplitScores`.
    lowest : ndarray of shape (3 A,) or (0,), float64
        The copies at the lowest bound; not recorded if empty.
    disputes : ndarray of shape (A,) or (0,), int64
        Number of disagreements on each arc; not recorded if empty.
    incumbent : float
        Score of a known tree; the method ends when the bound is not above it.
    budget : int
        Work after which the method ends, see `nonproj.dual.options.SearchOptions`.
    """

    copies: np.ndarray
    lowest: np.ndarray
    disputes: np.ndarray
    incumbent: float
    budget: int


class DescentResult(NamedTuple):
    """Result of the subgradient method.

    ``outcome`` is `AGREED`, `CLOSED`, `STOPPED`, or minus a status of `nonproj.trees.checks`; ``score`` is that of the
    best tree or of the incumbent, ``decoded`` counts the head automata decoded.
    """

    outcome: int
    iterations: int
    score: float
    bound: float
    decoded: int
    spent: int


class StepState(NamedTuple):
    """State of a step rule: ``values`` float64[3] are the last dual, the first gap and Polyak's scale; ``counts``
    int64[2] are increases of the dual and iterations since the bound fell."""

    values: np.ndarray
    counts: np.ndarray


@kernel
def _tree_work(n_nodes: int, n_arcs: int, options: DualOptions) -> int:
    """Return the work of finding a tree, of scoring it and of a step, as measured on many sentences."""
    work = WORD_WORK * n_nodes + ARC_WORK * n_arcs
    if options.projective:
        work += SPAN_WORK * n_nodes * n_nodes + SPLIT_WORK * n_nodes * n_arcs
    return work


def descend(instance: Instance, options: DualOptions, descent: Descent, trace: Trace, best: Int32s) -> DescentResult:
    """Run the subgradient method.

    ``best`` int32[N] is written when a tree is better than the incumbent, or when the subproblems agree.
    """
    # None and True are of different types, so each kind of tree has compiled code without the other.
    projective = True if options.projective else None
    return DescentResult(*_descend(*instance, options, projective, descent, trace, best))


@kernel
def _descend(
    arcs: ArcSpace,
    starts: PartStarts,
    scores: Float64s,
    options: DualOptions,
    projective: bool | None,
    descent: Descent,
    trace: Trace,
    best: Int32s,
) -> tuple[int, int, float, float, int, int]:
    """Run the subgradient method, and round the bound outward: see `descend`."""
    found = _iterate(arcs, starts, scores, options, projective, descent, trace, best)
    outcome, iterations, score, bound, decoded, spent = found
    if outcome >= 0 and descent.lowest.shape[0] > 0:
        others, terms = other_scores(arcs, starts, starts.tables, scores)
        bound += rounding_error(arcs, scores, descent.lowest, others, terms, bound)
    return outcome, iterations, score, bound, decoded, spent


@kernel
def other_scores(
    arcs: ArcSpace, starts: PartStarts, tables: HeadAutomata | None, scores: Float64s
) -> tuple[Float64s, int]:
    """Return the scores of parts other than arcs, and the maximum number of these parts in a tree."""
    n_nodes = arcs.start.shape[0] - 1
    if tables is None:
        kinds = 2 + (starts.sibling.shape[0] > 0) + (starts.grandparent.shape[0] > 0)  # two of third order
        return scores[arcs.head.shape[0] :], PART_TERMS * n_nodes * kinds
    terms = 2 * (arcs.head.shape[0] + 2 * n_nodes)  # each candidate is taken or skipped
    return np.concatenate((tables.initial, tables.final, tables.take, tables.skip)), terms


@kernel
def _iterate(
    arcs: ArcSpace,
    starts: PartStarts,
    scores: Float64s,
    options: DualOptions,
    projective: bool | None,
    descent: Descent,
    trace: Trace,
    best: Int32s,
) -> tuple[int, int, float, float, int, int]:
    """Run the subgradient method; half of the tolerance is left for rounding."""
    n_arcs = arcs.head.shape[0]
    work, copies, lowest = new_work(arcs, starts), descent.copies, descent.lowest
    # Arrays are read from their tuples once: each access costs a reference count.
    tree, y, moved, values = work.tree, work.y, work.moved, work.values
    automaton, choice, split, costs = work.automaton, work.choice, as_split(copies, n_arcs), count_work(arcs, starts)
    decoded, spent = 0, 0
    score, bound, primal = descent.incumbent, np.inf, -np.inf
    pace = StepState(np.array([np.inf, 0.0, 1.0]), np.zeros(2, np.int64))
    left = grace = GRACE_ITERATIONS if score == -np.inf else 0
    tree_cost = _tree_work(tree.shape[0], n_arcs, options)
    for k in range(options.max_iterations):
        status, contracted = find_tree(arcs, projective, options.single_root, split.y, tree)
        spent += CONTRACTION_WORK * contracted
        if status != 0:
            return -status, k, score, bound, decoded, spent
        spent += tree_cost
        dual, changed = mark_tree(arcs, split.y, tree, y)
        decoded_now = 0
        for h in range(values.shape[0]):
            if moved[h]:
                values[h] = decode_head(arcs, starts, scores, split, h, automaton, choice)
                moved[h] = False
                decoded_now += 1
                spent += costs[h]
            dual += values[h]
        decoded += decoded_now
        if dual == -np.inf:  # an automaton accepts no choice of modifiers
            return -NO_TREE, k, score, bound, decoded, spent
        if changed or k == 0:
            primal = tree_value(arcs, starts, scores, y, work.numbers)
            if primal > score or (k == 0 and score == -np.inf):
                copy(tree, best)
            score = max(score, primal)
        stalled = dual >= bound
        if not stalled and lowest.shape[0] > 0:
            copy(copies, lowest)
        bound = min(bound, dual)
        if trace.dual.shape[0] > k:
            trace.dual[k], trace.primal[k], trace.step[k], trace.decoded[k] = dual, primal, 0.0, decoded_now
        norm = _count_disputes(starts, y, choice, descent.disputes)
        if norm == 0:
            copy(tree, best)  # it may tie with an earlier one; the agreed one is returned
            return AGREED, k + 1, primal, bound, decoded, spent
        if score > -np.inf and bound - score <= 0.5 * options.tolerance * (options.scale + abs(score)):
            left -= 1
            if left < 0:
                return CLOSED, k + 1, score, bound, decoded, spent
        if spent > descent.budget:
            break
        step = _next_step(options, pace, dual, primal, score, stalled, norm)
        if step == 0.0:  # the paper's rule after a first gap of zero: nothing will move any more
            break
        if trace.dual.shape[0] > k:
            trace.step[k] = step
        _move(arcs, starts, step, y, choice, split, moved)
    return CLOSED if left < grace else STOPPED, k + 1, score, bound, decoded, spent


@kernel
def _count_disputes(starts: PartStarts, y: Int8s, choice: Choice, disputes: Int64s) -> int:
    """Return the number of multipliers over which tree and automata disagree; add them to ``disputes`` by arc."""
    z, z_grandparent, grandparents = choice.z, choice.z_grandparent, starts.grandparent.shape[0] > 0
    count = 0
    for a in range(y.shape[0]):
        here = 1 if y[a] != z[a] else 0
        if grandparents and y[a] != z_grandparent[a]:
            here += 1
        count += here
        if disputes.shape[0] > 0:
            disputes[a] += here
    return count


@kernel
def _next_step(
    options: DualOptions, pace: StepState, dual: float, primal: float, score: float, stalled: bool, norm: int
) -> float:
    """Return the size of the next step."""
    if score == -np.inf:  # every tree was rejected by an automaton
        return POLYAK_SCALE * FIRST_TARGET * max(abs(dual), options.scale) / norm
    last, delta, scale = pace.values[0], pace.values[1], pace.values[2]
    increases, stalls = pace.counts[0], pace.counts[1]
    if last == np.inf:
        delta = dual - (primal if primal > -np.inf else score)
    elif dual > last:
        increases += 1
    stalls = stalls + 1 if stalled else 0
    if stalls == POLYAK_PATIENCE:
        stalls = 0
        scale *= POLYAK_DECAY
    pace.values[0], pace.values[1], pace.values[2] = dual, delta, scale
    pace.counts[0], pace.counts[1] = increases, stalls
    if options.rule == APPENDIX_A:
        return delta / (1.0 + increases)
    return max(POLYAK_SCALE * scale * (dual - score) / norm, MIN_STEP * (options.scale + abs(score)))


@kernel
def _move(
    arcs: ArcSpace, starts: PartStarts, step: float, y: Int8s, choice: Choice, split: SplitScores, moved: Bools
) -> None:
    """Step the multipliers u and v of the arcs in dispute, and mark the automata that see them."""
    y_score, z_score, grandparent_score = split.y, split.z, split.grandparent
    z, z_grandparent, grandparents = choice.z, choice.z_grandparent, starts.grandparent.shape[0] > 0
    for a in range(y.shape[0]):
        if z[a] != y[a]:
            change = step * (z[a] - y[a])
            y_score[a] += change
            z_score[a] -= change
            moved[arcs.head[a]] = True
        if grandparents and z_grandparent[a] != y[a]:
            change = step * (z_grandparent[a] - y[a])
            y_score[a] += change
            grandparent_score[a] -= change
            moved[arcs.modifier[a]] = True
