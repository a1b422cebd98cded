"""The subgradient method over an arborescence, head automata and a tagger, compiled.

The arborescence over words takes the best pair of tags for each arc, so it chooses tagged arcs ``y``.  The automaton of
a word chooses the word's tag, one tagged arc into it, the way to its grandparent, and modifiers with their tags: two
more copies of each tagged arc, as in `nonproj.dual.subgradient`.  The tagger chooses a sequence of tags; the tag of a
word is tied to the tag at the end of its arc in ``y``, of which each word has one.  So where all agree, each word has
one tag.

Automata are lazy: only tagged words whose multipliers moved are decoded again, and the tagger only where its did.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.automata.compiled import Choice, SplitScores, Workspace, count_work, decode_head, new_workspace
from nonproj.dual.options import GRACE_ITERATIONS, DualOptions
from nonproj.dual.subgradient import AGREED, CLOSED, STOPPED, Pace, Trace, find_tree, next_step
from nonproj.joint.chain import best_tags, new_chain_table
from nonproj.joint.space import ChainScores, JointSpace, list_used, tag_score
from nonproj.types import Float64s, Int32s


class JointDescent(NamedTuple):
    """The state that the subgradient method starts from and updates.

    Attributes
    ----------
    split : SplitScores
        The three copies of each tagged arc's score, which move with the multipliers.
    own : ndarray of shape (W,), float64
        The tagger's scores of tagged words, which move with the multipliers.
    lowest, lowest_own : ndarray of shape (3, A) and (W,), float64
        The same at the lowest bound.
    disputes, tag_disputes : ndarray of shape (A,) and (W,), int64
        How often there was disagreement on each tagged arc and each tagged word.
    incumbent : float
        Score of a known solution; the method ends when the bound is not above it.
    budget : int
        Viterbi transitions after which the method ends.
    """

    split: SplitScores
    own: np.ndarray
    lowest: np.ndarray
    lowest_own: np.ndarray
    disputes: np.ndarray
    tag_disputes: np.ndarray
    incumbent: float
    budget: int


class _Work(NamedTuple):
    """Arrays of one descent.

    ``y``, ``z``, ``z_grandparent`` int8[A] are the copies of the tagged arcs, ``surplus`` int32[W] the tags at the ends
    of the tree's arcs minus the tagger's, ``selected`` int32[N] the tagged word of each word's automaton.
    """

    automaton: Workspace
    choice: Choice
    y: np.ndarray
    z: np.ndarray
    z_grandparent: np.ndarray
    surplus: np.ndarray
    moved: np.ndarray
    values: np.ndarray
    selected: np.ndarray
    costs: np.ndarray
    tree: np.ndarray
    tags: np.ndarray
    word_scores: np.ndarray
    best_arc: np.ndarray
    marks: np.ndarray
    numbers: np.ndarray
    chosen: np.ndarray


@kernel
def _new_work(space: JointSpace) -> _Work:
    """Return the arrays of one descent."""
    n_arcs, n_words, n_nodes = space.tagged.head.shape[0], space.word.shape[0], space.first.shape[0] - 1
    return _Work(
        new_workspace(space.tagged, space.starts),
        Choice(np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8)),
        np.full(n_arcs, -1, np.int8),
        np.zeros(n_arcs, np.int8),
        np.zeros(n_arcs, np.int8),
        np.zeros(n_words, np.int32),
        space.allowed.copy(),
        np.full(n_words, -np.inf),
        np.zeros(n_nodes, np.int32),
        count_work(space.tagged, space.starts),
        np.empty(n_nodes, np.int32),
        np.zeros(n_nodes, np.int32),
        np.empty(space.words.head.shape[0]),
        np.empty(space.words.head.shape[0], np.int32),
        np.empty(n_arcs, np.int8),
        np.empty(5 * n_nodes, np.int64),
        np.empty((2, n_nodes), np.int32),
    )


@kernel
def split_scores(space: JointSpace, scores: Float64s, options: DualOptions) -> SplitScores:
    """Return the three copies of the scores of tagged arcs at multipliers of zero."""
    arc, rest = scores[: space.tagged.head.shape[0]], 1.0 - options.beta
    return SplitScores(arc * options.beta, arc * (rest * options.tau), arc * (rest * (1.0 - options.tau)))


@kernel
def descend_jointly(
    space: JointSpace,
    scores: Float64s,
    chain: ChainScores,
    options: DualOptions,
    descent: JointDescent,
    trace: Trace,
    heads: Int32s,
    tags: Int32s,
) -> tuple[int, int, float, float, int, int]:
    """Run the subgradient method; return outcome (or minus a status), iterations, score, bound, automata, transitions.

    ``heads`` and ``tags`` int32[N], a tree and the candidate of each word, are written when a solution is better than
    the incumbent, or when the subproblems agree.  The last two results count the automata of tagged words decoded and
    the transitions of their Viterbi searches.
    """
    work, table, split = _new_work(space), new_chain_table(chain), descent.split
    score, bound, primal, tag_value = descent.incumbent, np.inf, -np.inf, 0.0
    pace = Pace(np.array([np.inf, 0.0, 1.0]), np.zeros(2, np.int64))
    grace = GRACE_ITERATIONS if score == -np.inf else 0
    decoded, spent, left, retag = 0, 0, grace, True
    for k in range(options.max_iterations):
        status = _find_joint_tree(space, split.y, options, work)
        if status != 0:
            return -status, k, score, bound, decoded, spent
        dual, changed = _mark_joint_tree(space, split.y, work)
        value, decoded_now, spent_now = _decode_heads(space, scores, split, work)
        if retag:
            tag_value = best_tags(chain, descent.own, space.first, space.allowed, table, work.tags)
            changed = True
        dual += value + tag_value
        decoded, spent = decoded + decoded_now, spent + spent_now
        if changed:
            primal = _update_primal(space, scores, chain, work, score, heads, tags)
            score = max(score, primal)
        stalled = dual >= bound
        if not stalled:
            _record_lowest(descent)
        bound = min(bound, dual)
        if trace.dual.shape[0] > k:
            trace.dual[k], trace.primal[k], trace.step[k], trace.decoded[k] = dual, primal, 0.0, decoded_now
        norm = _count_disputes(space, work, descent)
        if norm == 0:
            heads[:], tags[:] = work.tree, work.tags
            return AGREED, k + 1, primal, bound, decoded, spent
        if bound - score <= options.tolerance * (options.scale + abs(score)):
            left -= 1
            if left < 0:
                return CLOSED, k + 1, score, bound, decoded, spent
        if spent > descent.budget:
            return CLOSED if left < grace else STOPPED, k + 1, score, bound, decoded, spent
        step = next_step(options, pace, dual, primal, score, stalled, norm)
        if step == 0.0:
            return CLOSED if left < grace else STOPPED, k + 1, score, bound, decoded, spent
        if trace.dual.shape[0] > k:
            trace.step[k] = step
        retag = _move(space, step, work, descent)
    outcome = CLOSED if left < grace else STOPPED
    return outcome, options.max_iterations, score, bound, decoded, spent


@kernel
def _record_lowest(descent: JointDescent) -> None:
    """Record the scores at the lowest bound."""
    lowest, split = descent.lowest, descent.split
    lowest[0], lowest[1], lowest[2] = split.y, split.z, split.grandparent
    descent.lowest_own[:] = descent.own


@kernel
def _find_joint_tree(space: JointSpace, y_score: Float64s, options: DualOptions, work: _Work) -> int:
    """Write the best tree, and for each arc between words its best tagged arc; return a status."""
    arc, word_scores, best_arc = space.arc, work.word_scores, work.best_arc
    word_scores[:] = -np.inf
    for a in range(arc.shape[0]):
        w = arc[a]
        if y_score[a] > word_scores[w]:
            word_scores[w], best_arc[w] = y_score[a], a
    return find_tree(space.words, word_scores, options, work.tree)


@kernel
def _mark_joint_tree(space: JointSpace, y_score: Float64s, work: _Work) -> tuple[float, bool]:
    """Mark the tagged arcs of the tree; return the sum of their scores and whether any mark changed."""
    arc, head, modifier, y = space.arc, space.words.head, space.words.modifier, work.y
    tree, best_arc = work.tree, work.best_arc
    value = 0.0
    changed = False
    for a in range(arc.shape[0]):
        w = arc[a]
        mark = 1 if best_arc[w] == a and tree[modifier[w]] == head[w] else 0
        if mark == 1:
            value += y_score[a]
        changed |= y[a] != mark
        y[a] = mark
    return value, changed


@kernel
def _decode_heads(space: JointSpace, scores: Float64s, split: SplitScores, work: _Work) -> tuple[float, int, int]:
    """Decode the tagged words that moved, and select one for each word; return value, automata and transitions."""
    first, allowed, moved, values, selected = space.first, space.allowed, work.moved, work.values, work.selected
    total, decoded, spent = 0.0, 0, 0
    for h in range(first.shape[0] - 1):
        best = -np.inf
        for e in range(first[h], first[h + 1]):
            if moved[e] and allowed[e]:
                values[e] = decode_head(space.tagged, space.starts, scores, split, e, work.automaton, work.choice)
                moved[e] = False
                decoded += 1
                spent += work.costs[e]
            if values[e] > best:
                best, selected[h] = values[e], e
        total += best
    return total, decoded, spent


@kernel
def _update_primal(
    space: JointSpace, scores: Float64s, chain: ChainScores, work: _Work, score: float, heads: Int32s, tags: Int32s
) -> float:
    """Return the score of the tree with the tagger's tags or with those of its arcs, whichever is better.

    Written to ``heads`` and ``tags`` if above ``score``.
    """
    modifier, word, first, y = space.tagged.modifier, space.word, space.first, work.y
    chosen, numbers, n_nodes = work.chosen, work.numbers, tags.shape[0]
    chosen[0, 0] = chosen[1, 0] = 0
    for i in range(1, n_nodes):
        chosen[0, i] = first[i] + work.tags[i]
    for a in range(y.shape[0]):
        if y[a] == 1:
            chosen[1, word[modifier[a]]] = modifier[a]
    best, found = -np.inf, -1
    for i in range(2):
        if i == 1 and (chosen[0] == chosen[1]).all():
            break
        count = list_used(space, work.tree, chosen[i], work.marks, numbers)
        if count >= 0:
            value = tag_score(chain, first, chosen[i] - first[:-1])
            for j in range(count):
                value += scores[numbers[j]]
            if value > best:
                best, found = value, i
    if best > score:
        heads[:], tags[:] = work.tree, chosen[found] - first[:-1]
    return best


@kernel
def _count_disputes(space: JointSpace, work: _Work, descent: JointDescent) -> int:
    """Write the copies that the selected automata choose; return the number of multipliers in dispute."""
    head, modifier, word, first = space.tagged.head, space.tagged.modifier, space.word, space.first
    chosen_z, chosen_grandparent, selected = work.choice.z, work.choice.z_grandparent, work.selected
    y, z, z_grandparent, surplus = work.y, work.z, work.z_grandparent, work.surplus
    count = 0
    surplus[:] = 0
    for a in range(y.shape[0]):
        h, m = head[a], modifier[a]
        z[a] = chosen_z[a] if selected[word[h]] == h else 0
        z_grandparent[a] = chosen_grandparent[a] if selected[word[m]] == m else 0
        here = (1 if y[a] != z[a] else 0) + (1 if y[a] != z_grandparent[a] else 0)
        count += here
        descent.disputes[a] += here
        surplus[m] += y[a]
    for i in range(1, first.shape[0] - 1):
        surplus[first[i] + work.tags[i]] -= 1
        for e in range(first[i], first[i + 1]):
            if surplus[e] != 0:
                count += 1
                descent.tag_disputes[e] += 1
    return count


@kernel
def _move(space: JointSpace, step: float, work: _Work, descent: JointDescent) -> bool:
    """Step the multipliers in dispute, and mark the automata that see them; return whether the tagger sees any."""
    head, modifier, surplus, own = space.tagged.head, space.tagged.modifier, work.surplus, descent.own
    y_score, z_score, grandparent_score = descent.split.y, descent.split.z, descent.split.grandparent
    y, z, z_grandparent, moved = work.y, work.z, work.z_grandparent, work.moved
    for a in range(y.shape[0]):
        if z[a] != y[a]:
            change = step * (z[a] - y[a])
            y_score[a] += change
            z_score[a] -= change
            moved[head[a]] = True
        if z_grandparent[a] != y[a]:
            change = step * (z_grandparent[a] - y[a])
            y_score[a] += change
            grandparent_score[a] -= change
            moved[modifier[a]] = True
        y_score[a] -= step * surplus[modifier[a]]
    retag = False
    for e in range(own.shape[0]):
        if surplus[e] != 0:
            own[e] += step * surplus[e]
            retag = True
    return retag
