"""The subgradient method over an arborescence and head automata, compiled.

`nonproj.dual.decomposition` and `nonproj.dual.branch_and_bound` run it.  The readable form of the loop is
`nonproj.relaxation.subgradient`; tests hold the two equal, step by step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonproj._kernel import inlined_kernel, kernel
from nonproj.automata.compiled import (
    Choice,
    SplitScores,
    Starts,
    count_work,
    decode_head,
    new_workspace,
    tree_value,
)
from nonproj.dual.options import (
    APPENDIX_A,
    GRACE_ITERATIONS,
    MIN_STEP,
    POLYAK_DECAY,
    POLYAK_PATIENCE,
    POLYAK_SCALE,
    DualOptions,
)
from nonproj.trees.arborescence import best_arborescence, counted_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.types import ArcSpace, Bools, Float64s, Int8s, Int32s, Int64s

AGREED, CLOSED, STOPPED = 0, 1, 2
"""How the method ends: the subproblems agree, the gap is closed, or neither."""

WORD_WORK, ARC_WORK, CONTRACTION_WORK, SPAN_WORK, SPLIT_WORK = 200, 12, 8, 8, 1
"""Work of an iteration beside the automata: for each node and arc, for each of them that contraction looks at and, with
the algorithm of Eisner, for each pair of nodes, and of a node and an arc."""


class Trace(NamedTuple):
    """What happened at each of ``k`` iterations.

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
    split : SplitScores
        The three copies of each arc's score, which move with the multipliers.
    lowest : ndarray of shape (3, A) or (0, A), float64
        The three copies at the lowest bound; not recorded if empty.
    disputes : ndarray of shape (A,) or (0,), int64
        How often tree and automata disagreed on each arc; not recorded if empty.
    incumbent : float
        Score of a known tree; the method ends when the bound is not above it.
    budget : int
        Work after which the method ends, see `nonproj.dual.options.SearchOptions`.
    """

    split: SplitScores
    lowest: np.ndarray
    disputes: np.ndarray
    incumbent: float
    budget: int


class Pace(NamedTuple):
    """State of a step rule: ``values`` float64[3] are the last dual, the first gap and Polyak's scale; ``counts``
    int64[2] are increases of the dual and iterations since the bound fell."""

    values: np.ndarray
    counts: np.ndarray


@kernel
def find_tree(arcs: ArcSpace, scores: Float64s, options: DualOptions, heads: Int32s) -> int:
    """Write the best tree of the wanted kind to int32[N]; return a status of `nonproj.trees.checks`.

    For kernels that are compiled for both kinds, other than that of `descend`.
    """
    if options.projective:
        return best_projective_tree(arcs, scores, options.single_root, heads)
    return best_arborescence(arcs, scores, options.single_root, heads)


@kernel
def _tree_work(n_nodes: int, n_arcs: int, options: DualOptions) -> int:
    """Return the work of finding a tree, of its value and of a step, as measured on many sentences."""
    work = WORD_WORK * n_nodes + ARC_WORK * n_arcs
    if options.projective:
        work += SPAN_WORK * n_nodes * n_nodes + SPLIT_WORK * n_nodes * n_arcs
    return work


@kernel
def _mark_tree(arcs: ArcSpace, heads: Int32s, y_score: Float64s, y: Int8s) -> tuple[float, bool]:
    """Mark the arcs of a tree; return the sum of their scores and whether any mark changed."""
    value = 0.0
    changed = False
    for a in range(arcs.head.shape[0]):
        mark = 1 if heads[arcs.modifier[a]] == arcs.head[a] else 0
        if mark == 1:
            value += y_score[a]
        changed |= y[a] != mark
        y[a] = mark
    return value, changed


def minimise_dual(
    arcs: ArcSpace, starts: Starts, scores, options: DualOptions, records, trace, heads
) -> tuple[Any, ...]:
    """Run `descend` from multipliers of zero; ``records`` are ``(lowest, disputes, budget)`` of `Descent`."""
    lowest, disputes, budget = records
    arc, rest = scores[: len(arcs.head)], 1.0 - options.beta
    tau = options.tau if len(starts.grandparent) else 1.0
    split = SplitScores(arc * options.beta, arc * (rest * tau), arc * (rest * (1.0 - tau)))
    return descend(arcs, starts, scores, options, Descent(split, lowest, disputes, -np.inf, budget), trace, heads)


def descend(
    arcs: ArcSpace, starts: Starts, scores, options: DualOptions, descent: Descent, trace: Trace, heads
) -> tuple[Any, ...]:
    """Run the subgradient method; return outcome (or minus a status), iterations, score, bound, automata, work.

    The last two count the head automata decoded and the work of all.  heads is written when a tree is better than the
    incumbent, or when the subproblems agree.
    """
    # None and True are of different types, so each kind of tree has compiled code without the other.
    projective = True if options.projective else None
    return _descend(arcs, starts, scores, options, projective, descent, trace, heads)


@kernel
def _descend(
    arcs: ArcSpace,
    starts: Starts,
    scores: Float64s,
    options: DualOptions,
    projective: bool | None,
    descent: Descent,
    trace: Trace,
    heads: Int32s,
) -> tuple[int, int, float, float, int, int]:
    """Run the subgradient method: see `descend`."""
    n_arcs, n_nodes = arcs.head.shape[0], arcs.start.shape[0] - 1
    work, split, lowest = new_workspace(arcs, starts), descent.split, descent.lowest
    y, choice = np.zeros(n_arcs, np.int8), Choice(np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8))
    moved, values, numbers = np.ones(n_nodes, np.bool_), np.zeros(n_nodes), np.empty(8 * n_nodes, np.int64)
    tree, decoded, spent = np.empty(n_nodes, np.int32), 0, 0
    score, bound, primal = descent.incumbent, np.inf, -np.inf
    pace = Pace(np.array([np.inf, 0.0, 1.0]), np.zeros(2, np.int64))
    left = grace = GRACE_ITERATIONS if score == -np.inf else 0
    costs, tree_cost = count_work(arcs, starts), _tree_work(n_nodes, n_arcs, options)
    for k in range(options.max_iterations):
        if projective is None:
            status, contracted = counted_arborescence(arcs, split.y, options.single_root, tree)
            spent += CONTRACTION_WORK * contracted
        else:
            status = best_projective_tree(arcs, split.y, options.single_root, tree)
        if status != 0:
            return -status, k, score, bound, decoded, spent
        spent += tree_cost
        (dual, changed), decoded_now = _mark_tree(arcs, tree, split.y, y), 0
        for h in range(n_nodes):
            if moved[h]:
                values[h] = decode_head(arcs, starts, scores, split, h, work, choice)
                moved[h], decoded_now = False, decoded_now + 1
                spent += costs[h]
            dual += values[h]
        decoded += decoded_now
        if changed or k == 0:
            primal = tree_value(arcs, starts, scores, y, numbers)
            if primal > score:
                score = primal
                _copy(tree, heads)
        stalled = dual >= bound
        if not stalled and lowest.shape[0] == 3:
            _record(split, lowest)
        bound = min(bound, dual)
        if trace.dual.shape[0] > k:
            trace.dual[k], trace.primal[k], trace.step[k], trace.decoded[k] = dual, primal, 0.0, decoded_now
        norm = _count_disputes(starts, y, choice, descent.disputes)
        if norm == 0:
            # The tree may tie with an earlier one; what agreed is what is returned.
            _copy(tree, heads)
            return AGREED, k + 1, primal, bound, decoded, spent
        if bound - score <= options.tolerance * (options.scale + abs(score)):
            left -= 1
            if left < 0:
                return CLOSED, k + 1, score, bound, decoded, spent
        if spent > descent.budget:
            return CLOSED if left < grace else STOPPED, k + 1, score, bound, decoded, spent
        step = next_step(options, pace, dual, primal, score, stalled, norm)
        if step == 0.0:
            # The paper's rule after a first gap of zero: nothing will move any more.
            return CLOSED if left < grace else STOPPED, k + 1, score, bound, decoded, spent
        if trace.dual.shape[0] > k:
            trace.step[k] = step
        _move(arcs, starts, step, y, choice, split, moved)
    return CLOSED if left < grace else STOPPED, options.max_iterations, score, bound, decoded, spent


@inlined_kernel
def _record(split: SplitScores, lowest: Float64s) -> None:
    """Copy the scores to float64[3, A]."""
    for a in range(lowest.shape[1]):
        lowest[0, a], lowest[1, a], lowest[2, a] = split.y[a], split.z[a], split.grandparent[a]


@inlined_kernel
def _copy(source: Float64s, target: Float64s) -> None:
    """Copy a vector; assigning to a slice would take longer to compile, because it may fail."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def _count_disputes(starts: Starts, y: Int8s, choice: Choice, disputes: Int64s) -> int:
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
def next_step(
    options: DualOptions, pace: Pace, dual: float, primal: float, score: float, stalled: bool, norm: int
) -> float:
    """Return the size of the next step."""
    last, delta, scale = pace.values[0], pace.values[1], pace.values[2]
    increases, stalls = pace.counts[0], pace.counts[1]
    if last == np.inf:
        delta = dual - primal
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
    arcs: ArcSpace, starts: Starts, step: float, y: Int8s, choice: Choice, split: SplitScores, moved: Bools
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
