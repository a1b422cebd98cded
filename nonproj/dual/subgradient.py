"""The subgradient method over an arborescence and head automata, compiled: what `nonproj.dual.decomposition` and
`nonproj.dual.branch_and_bound` run.

The readable form of the loop is `nonproj.relaxation.subgradient`; tests hold the two equal, step by step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.automata.compiled import _decode_head, _new_workspace
from nonproj.parts.space import _tree_score
from nonproj.relaxation.subgradient import GRACE_ITERATIONS, MIN_STEP, POLYAK_DECAY, POLYAK_PATIENCE, POLYAK_SCALE
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.types import GRANDPARENT

_AGREED, _CLOSED, _STOPPED = 0, 1, 2

APPENDIX_A, POLYAK = 0, 1
"""Step rules."""


class Trace(NamedTuple):
    """What happened at each of ``k`` iterations.

    Attributes
    ----------
    dual : ndarray of shape (k,), float64
        ``L(u)``, the bound at this iteration's multipliers.
    primal : ndarray of shape (k,), float64
        The score of this iteration's tree.
    step : ndarray of shape (k,), float64
        The step taken after it; 0 at the last.
    decoded : ndarray of shape (k,), int32
        Automata decoded, the others being as they were.
    """

    dual: np.ndarray
    primal: np.ndarray
    step: np.ndarray
    decoded: np.ndarray


class Descent(NamedTuple):
    """Where the subgradient method starts, and what it leaves behind.

    Attributes
    ----------
    weights, taken, raised : ndarray of shape (A,), float64
        The three copies of an arc's score, which move with the multipliers and always have the same sum: in the tree,
        in its head's automaton, in its modifier's.
    lowest : ndarray of shape (3, A) or (0, A), float64
        The three where the bound was lowest, if there is room for them.
    disputes : ndarray of shape (A,) or (0,), int64
        How often tree and automata disagreed on each arc, if there is room for it.
    incumbent : float
        Score of a tree known from elsewhere; once the bound is not above it, the rest is not worth a look.
    """

    weights: np.ndarray
    taken: np.ndarray
    raised: np.ndarray
    lowest: np.ndarray
    disputes: np.ndarray
    incumbent: float


class Pace(NamedTuple):
    """What a step rule remembers: ``values`` float64[3], the last dual, the first gap, Polyak's scale; ``counts``
    int64[2], increases of the dual, iterations since the bound fell."""

    values: np.ndarray
    counts: np.ndarray


@kernel
def _find_tree(arcs, scores, options, heads):
    """Write the best tree of the wanted kind to int32[N]; return a status as `best_arborescence`."""
    if options.projective:
        return best_projective_tree(arcs, scores, options.single_root, heads)
    return best_arborescence(arcs, scores, options.single_root, heads)


@kernel
def _mark_tree(arcs, heads, weights, used):
    """Mark the arcs of a tree; return the sum of their weights and whether any mark changed."""
    value = 0.0
    changed = False
    for a in range(arcs.head.shape[0]):
        mark = 1 if heads[arcs.modifier[a]] == arcs.head[a] else 0
        if mark == 1:
            value += weights[a]
        changed |= used[a] != mark
        used[a] = mark
    return value, changed


@kernel
def _decode(arcs, index, scores, model, options, trace, heads):
    """Run the subgradient method from the start; return as `_descend`."""
    weights, taken, raised = _start(scores, model, options)
    descent = Descent(weights, taken, raised, np.empty((0, 0)), np.empty(0, np.int64), -np.inf)
    return _descend(arcs, index, scores, model, options, descent, trace, heads)


@kernel
def _start(scores, model, options):
    """Share each arc's score out over its three copies: return ``weights``, ``taken`` and ``raised`` of `Descent`."""
    tau = options.tau if model == GRANDPARENT else 1.0
    rest = 1.0 - options.beta
    return scores.arc * options.beta, scores.arc * (rest * tau), scores.arc * (rest * (1.0 - tau))


@kernel
def _settle_single(arcs, scores, weights, taken, raised):
    """Give each arc that is its modifier's only one so much in its head's automaton that it is taken.

    Every tree has that arc, so the tree's score does not change.  Taking a modifier changes two transitions for one,
    adds a chain to each side at most, and the arc's own score; the bonus is more than all of these.
    """
    bonus = 1.0 + _largest(scores.arc) + 3.0 * _largest(scores.sibling) + _largest(scores.grandparent)
    for m in range(1, arcs.start.shape[0] - 1):
        if arcs.start[m + 1] - arcs.start[m] == 1:
            a = arcs.start[m]
            weights[a], taken[a], raised[a] = scores.arc[a] - bonus, bonus, 0.0


@kernel
def _largest(values):
    """Return the largest absolute value, 0 where there is none."""
    largest = 0.0
    for i in range(values.shape[0]):
        largest = max(largest, abs(values[i]))
    return largest


@kernel
def _descend(arcs, index, scores, model, options, descent, trace, heads):
    """Run the subgradient method; return outcome (or minus a status), iterations, score, bound, automata decoded.

    heads is written when a tree is better than the incumbent, or when the subproblems agree.
    """
    n_arcs, n_nodes = arcs.head.shape[0], arcs.start.shape[0] - 1
    work = _new_workspace(n_arcs)
    weights, taken, raised, lowest = descent.weights, descent.taken, descent.raised, descent.lowest
    disputes = descent.disputes
    used, chosen, chosen_up = np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8)
    moved, values = np.ones(n_nodes, np.bool_), np.zeros(n_nodes)
    tree = np.empty(n_nodes, np.int32)
    score, bound, primal = descent.incumbent, np.inf, -np.inf
    pace = Pace(np.array([np.inf, 0.0, 1.0]), np.zeros(2, np.int64))
    grace = GRACE_ITERATIONS if score == -np.inf else 0
    decoded, left = 0, grace
    for k in range(options.max_iterations):
        status = _find_tree(arcs, weights, options, tree)
        if status != 0:
            return -status, k, score, bound, decoded
        dual, changed = _mark_tree(arcs, tree, weights, used)
        decoded_now = 0
        for h in range(n_nodes):
            if moved[h]:
                values[h] = _decode_head(arcs, index, scores, taken, raised, model, h, work, chosen, chosen_up)
                moved[h] = False
                decoded_now += 1
            dual += values[h]
        decoded += decoded_now
        if changed or k == 0:
            primal = _tree_score(arcs, index, scores, tree)
            if primal > score:
                score = primal
                heads[:] = tree
        stalled = dual >= bound
        if not stalled and lowest.shape[0] == 3:
            lowest[0], lowest[1], lowest[2] = weights, taken, raised
        bound = min(bound, dual)
        if trace.dual.shape[0] > k:
            trace.dual[k], trace.primal[k], trace.step[k], trace.decoded[k] = dual, primal, 0.0, decoded_now
        norm = _disputed(used, chosen, chosen_up, model, disputes)
        if norm == 0:
            # The tree may tie with an earlier one; what agreed is what is returned.
            heads[:] = tree
            return _AGREED, k + 1, primal, bound, decoded
        if bound - score <= options.tolerance * (1.0 + abs(score)):
            left -= 1
            if left < 0:
                return _CLOSED, k + 1, score, bound, decoded
        step = _step(options.rule, pace, dual, primal, score, stalled, norm)
        if step == 0.0:
            # The paper's rule after a first gap of zero: nothing will move any more.
            return _CLOSED if left < grace else _STOPPED, k + 1, score, bound, decoded
        if trace.dual.shape[0] > k:
            trace.step[k] = step
        _move(arcs, step, model, used, chosen, chosen_up, weights, taken, raised, moved)
    outcome = _CLOSED if left < grace else _STOPPED
    return outcome, options.max_iterations, score, bound, decoded


@kernel
def _disputed(used, chosen, chosen_up, model, disputes):
    """Count the multipliers over which tree and automata disagree, and each arc's share if there is room for it."""
    count = 0
    for a in range(used.shape[0]):
        here = 1 if used[a] != chosen[a] else 0
        if model == GRANDPARENT and used[a] != chosen_up[a]:
            here += 1
        count += here
        if disputes.shape[0] > 0:
            disputes[a] += here
    return count


@kernel
def _step(rule, pace, dual, primal, score, stalled, norm):
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
    if rule == APPENDIX_A:
        return delta / (1.0 + increases)
    return max(POLYAK_SCALE * scale * (dual - score) / norm, MIN_STEP * (1.0 + abs(score)))


@kernel
def _move(arcs, step, model, used, chosen, chosen_up, weights, taken, raised, moved):
    """Step the multipliers u (and v) of the arcs in dispute, and mark the automata that see them."""
    for a in range(used.shape[0]):
        if chosen[a] != used[a]:
            change = step * (chosen[a] - used[a])
            weights[a] += change
            taken[a] -= change
            moved[arcs.head[a]] = True
        if model == GRANDPARENT and chosen_up[a] != used[a]:
            change = step * (chosen_up[a] - used[a])
            weights[a] += change
            raised[a] -= change
            moved[arcs.modifier[a]] = True
