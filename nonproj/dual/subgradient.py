"""The subgradient method over an arborescence, head automata and, where words have candidate tags, a tagger; compiled.

`nonproj.dual.problem` runs it over the whole of a problem and over restrictions of it.  The readable form of the loop
is `nonproj.relaxation.subgradient`; tests hold the two equal, step by step.

Without tags, variables are arcs.  With tags they are tagged arcs and tagged words (`nonproj.dual.tags`): the
arborescence over words uses the best pair of tags for each arc; the automaton of a word is the best of those of its
tagged words; and the tagger chooses a sequence of tags, each tied to the tag at the end of the arc into its word.  An
argument that is None has a type of its own, so numba compiles the loop without what a problem does not have.

Automata are lazy: only those whose multipliers moved are decoded again, and the tagger only where its did.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import (
    Choice,
    SplitScores,
    Starts,
    Workspace,
    as_split,
    count_work,
    decode_head,
    new_workspace,
    tree_value,
)
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
from nonproj.dual.tags import Tags, best_tags, list_used, new_chain_table, tag_score
from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.trees.arborescence import counted_arborescence
from nonproj.trees.checks import NO_TREE
from nonproj.trees.projective import best_projective_tree
from nonproj.types import ArcSpace, Bools, Float64s, Int8s, Int32s, Int64s

AGREED, CLOSED, STOPPED = 0, 1, 2
"""How the method ends: the subproblems agree, the gap is closed, or neither."""

WORD_WORK, ARC_WORK, CONTRACTION_WORK, SPAN_WORK, SPLIT_WORK = 200, 12, 8, 8, 1
"""Work of an iteration beside the automata: for each node and arc, for each of them that contraction looks at and, with
the algorithm of Eisner, for each pair of nodes, and of a node and an arc."""


class Instance(NamedTuple):
    """The subproblems, as kernels take them.

    Attributes
    ----------
    arcs : ArcSpace
        The arcs, or tagged arcs.
    starts : Starts
        Where parts over these arcs lie, or automata as tables.
    scores : ndarray of shape (P,), float64
        Those of all parts; with tables, those of arcs.
    tags : Tags or None
    """

    arcs: ArcSpace
    starts: Starts
    scores: np.ndarray
    tags: Tags | None = None


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
    """The state that the subgradient method starts from and updates; ``V`` is 3 A, or 3 A + W with tags.

    Attributes
    ----------
    copies : ndarray of shape (V,), float64
        The three copies of each arc's score, see `nonproj.automata.compiled.SplitScores`, and the tagger's scores of
        tagged words, which move with the multipliers.
    lowest : ndarray of shape (V,) or (0,), float64
        The copies at the lowest bound; not recorded if empty.
    disputes : ndarray of shape (A,), (A + W,) or (0,), int64
        Disagreements on each arc, and on each tagged word; not recorded if empty.
    incumbent : float
        Score of a known solution; the method ends when the bound is not above it.
    budget : int
        Work after which the method ends, see `nonproj.dual.options.SearchOptions`.
    """

    copies: np.ndarray
    lowest: np.ndarray
    disputes: np.ndarray
    incumbent: float
    budget: int


class Outcome(NamedTuple):
    """How the subgradient method ended.

    ``outcome`` is `AGREED`, `CLOSED`, `STOPPED`, or minus a status of `nonproj.trees.checks`; ``score`` is that of the
    solution or of the incumbent, ``decoded`` counts the head automata decoded.
    """

    outcome: int
    iterations: int
    score: float
    bound: float
    decoded: int
    spent: int


class Pace(NamedTuple):
    """State of a step rule: ``values`` float64[3] are the last dual, the first gap and Polyak's scale; ``counts``
    int64[2] are increases of the dual and iterations since the bound fell."""

    values: np.ndarray
    counts: np.ndarray


class _TagWork(NamedTuple):
    """Arrays of one descent with tags.

    ``surplus`` int32[W]: the tags at the ends of the tree's arcs minus the tagger's; ``selected`` int32[N]: the tagged
    word of each word's automaton; ``best_arc``: the best tagged arc of each arc.
    """

    surplus: np.ndarray
    selected: np.ndarray
    tags: np.ndarray
    word_scores: np.ndarray
    best_arc: np.ndarray
    marks: np.ndarray
    chosen: np.ndarray
    table: tuple[np.ndarray, np.ndarray]


class _Work(NamedTuple):
    """Arrays of one descent: ``y`` int8[A] marks the tree's arcs, ``choice`` what each automaton chooses, ``seen`` what
    those of the selected tagged words choose (without tags the same arrays); ``moved`` and ``values`` are of automata.
    """

    automaton: Workspace
    y: np.ndarray
    choice: Choice
    seen: Choice
    moved: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    tree: np.ndarray
    tags: _TagWork | None


@kernel
def new_work(arcs: ArcSpace, starts: Starts, tags: Tags | None) -> _Work:
    """Return the arrays of one descent."""
    n_arcs, size = arcs.head.shape[0], arcs.start.shape[0] - 1
    choice = Choice(np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8))
    return _Work(
        new_workspace(arcs, starts),
        np.zeros(n_arcs, np.int8),
        choice,
        _new_seen(tags, choice),
        np.ones(size, np.bool_),
        np.zeros(size),
        np.empty(8 * size, np.int64),
        np.empty(_count_nodes(arcs, tags), np.int32),
        _new_tag_work(arcs, tags),
    )


@kernel
def _count_nodes(arcs: ArcSpace, tags: Tags | None) -> int:
    """Return the number of words and the root."""
    if tags is None:
        return arcs.start.shape[0] - 1
    return tags.first.shape[0] - 1


@kernel
def _new_seen(tags: Tags | None, choice: Choice) -> Choice:
    """Return the choice itself, or a copy where automata are selected."""
    if tags is None:
        return choice
    return Choice(choice.z.copy(), choice.z_grandparent.copy())


@kernel
def _new_tag_work(arcs: ArcSpace, tags: Tags | None) -> _TagWork | None:
    """Return the arrays of one descent with tags; None without."""
    if tags is None:
        return None
    n_nodes, n_words, n_arcs = tags.first.shape[0] - 1, tags.words.head.shape[0], arcs.head.shape[0]
    return _TagWork(
        np.zeros(tags.word.shape[0], np.int32),
        np.zeros(n_nodes, np.int32),
        np.zeros(n_nodes, np.int32),
        np.empty(n_words),
        np.empty(n_words, np.int32),
        np.empty(n_arcs, np.int8),
        np.empty((2, n_nodes), np.int32),
        new_chain_table(tags.chain),
    )


@kernel
def _tree_work(n_nodes: int, n_arcs: int, options: DualOptions) -> int:
    """Return the work of finding a tree, of its value and of a step, as measured on many sentences."""
    work = WORD_WORK * n_nodes + ARC_WORK * n_arcs
    if options.projective:
        work += SPAN_WORK * n_nodes * n_nodes + SPLIT_WORK * n_nodes * n_arcs
    return work


def descend(instance: Instance, options: DualOptions, descent: Descent, trace: Trace, solution: Int32s) -> Outcome:
    """Run the subgradient method.

    ``solution`` is written when a solution is better than the incumbent, or when the subproblems agree: int32[N], the
    tree; with tags int32[2 N], the tree and the candidate of each word, from 0.
    """
    # None and True are of different types, so each kind of tree has compiled code without the other.
    projective = True if options.projective else None
    return Outcome(*_descend(*instance, options, projective, descent, trace, solution))


@kernel
def _descend(
    arcs: ArcSpace,
    starts: Starts,
    scores: Float64s,
    tags: Tags | None,
    options: DualOptions,
    projective: bool | None,
    descent: Descent,
    trace: Trace,
    solution: Int32s,
) -> tuple[int, int, float, float, int, int]:
    """Run the subgradient method: see `descend`."""
    n_arcs = arcs.head.shape[0]
    work, copies, lowest = new_work(arcs, starts, tags), descent.copies, descent.lowest
    split, own, costs = as_split(copies, n_arcs), copies[3 * n_arcs :], count_work(arcs, starts)
    decoded, spent, tag_value, retag = 0, 0, 0.0, True
    score, bound, primal = descent.incumbent, np.inf, -np.inf
    pace = Pace(np.array([np.inf, 0.0, 1.0]), np.zeros(2, np.int64))
    left = grace = GRACE_ITERATIONS if score == -np.inf else 0
    tree_cost = _tree_work(work.tree.shape[0], n_arcs, options)
    for k in range(options.max_iterations):
        status, contracted = find_tree(arcs, tags, projective, options.single_root, split.y, work)
        spent += CONTRACTION_WORK * contracted
        if status != 0:
            return -status, k, score, bound, decoded, spent
        spent += tree_cost
        dual, changed = mark_tree(arcs, tags, split.y, work)
        decoded_now = 0
        for h in range(work.values.shape[0]):
            if work.moved[h]:
                work.values[h] = decode_head(arcs, starts, scores, split, h, work.automaton, work.choice)
                work.moved[h] = False
                decoded_now += 1
                spent += costs[h]
        decoded += decoded_now
        dual = add_values(tags, dual, work)
        if retag:
            tag_value = tags_at(tags, own, work)
        dual += tag_value
        if dual == -np.inf:  # an automaton accepts no choice of modifiers
            return -NO_TREE, k, score, bound, decoded, spent
        if changed or retag or k == 0:
            primal = _primal(arcs, starts, scores, tags, work, score, solution)
            if k == 0 and primal == -np.inf and score == -np.inf:
                _copy(work.tree, solution)
            score = max(score, primal)
        stalled = dual >= bound
        if not stalled and lowest.shape[0] > 0:
            _copy(copies, lowest)
        bound = min(bound, dual)
        if trace.dual.shape[0] > k:
            trace.dual[k], trace.primal[k], trace.step[k], trace.decoded[k] = dual, primal, 0.0, decoded_now
        _select_copies(arcs, tags, work)
        norm = _count_disputes(starts, work.y, work.seen, descent.disputes)
        norm += _count_tag_disputes(arcs, tags, work, descent.disputes)
        if norm == 0:
            # The solution may tie with an earlier one; what agreed is what is returned.
            _copy_agreed(tags, work, solution)
            return AGREED, k + 1, primal, bound, decoded, spent
        if score > -np.inf and bound - score <= options.tolerance * (options.scale + abs(score)):
            left -= 1
            if left < 0:
                return CLOSED, k + 1, score, bound, decoded, spent
        if spent > descent.budget:
            return CLOSED if left < grace else STOPPED, k + 1, score, bound, decoded, spent
        step = _next_step(options, pace, dual, primal, score, stalled, norm)
        if step == 0.0:
            # The paper's rule after a first gap of zero: nothing will move any more.
            return CLOSED if left < grace else STOPPED, k + 1, score, bound, decoded, spent
        if trace.dual.shape[0] > k:
            trace.step[k] = step
        _move(arcs, starts, step, work.y, work.seen, split, work.moved)
        retag = _move_tags(arcs, tags, step, work, split.y, own)
    return CLOSED if left < grace else STOPPED, options.max_iterations, score, bound, decoded, spent


@inlined_kernel
def _copy(source: Float64s, target: Float64s) -> None:
    """Copy a vector; assigning to a slice would take longer to compile, because it may fail."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def find_tree(
    arcs: ArcSpace, tags: Tags | None, projective: bool | None, single_root: bool, y_score: Float64s, work: _Work
) -> tuple[int, int]:
    """Write the best tree, with tags over the best tagged arc of each arc; return a status and what was contracted."""
    if tags is None:
        return _best_tree(arcs, projective, single_root, y_score, work.tree)
    word_scores, best_arc = work.tags.word_scores, work.tags.best_arc
    word_scores[:] = -np.inf
    for a in range(y_score.shape[0]):
        w = tags.arc[a]
        if y_score[a] > word_scores[w]:
            word_scores[w], best_arc[w] = y_score[a], a
    return _best_tree(tags.words, projective, single_root, word_scores, work.tree)


@kernel
def _best_tree(
    arcs: ArcSpace, projective: bool | None, single_root: bool, scores: Float64s, tree: Int32s
) -> tuple[int, int]:
    """Write the best tree of the wanted kind; return a status and what was contracted."""
    if projective is None:
        return counted_arborescence(arcs, scores, single_root, tree)
    return best_projective_tree(arcs, scores, single_root, tree), 0


@kernel
def mark_tree(arcs: ArcSpace, tags: Tags | None, y_score: Float64s, work: _Work) -> tuple[float, bool]:
    """Mark the arcs of the tree; return the sum of their scores and whether any mark changed."""
    value, changed, y, tree = 0.0, False, work.y, work.tree
    for a in range(y.shape[0]):
        mark = 1 if _in_tree(arcs, tags, a, tree, work.tags) else 0
        if mark == 1:
            value += y_score[a]
        changed |= y[a] != mark
        y[a] = mark
    return value, changed


@inlined_kernel
def _in_tree(arcs, tags, a, tree, work):
    """Return whether an arc is one of the tree, and with tags the best of those between its words."""
    if tags is None:
        return tree[arcs.modifier[a]] == arcs.head[a]
    w = tags.arc[a]
    return work.best_arc[w] == a and tree[tags.words.modifier[w]] == tags.words.head[w]


@kernel
def add_values(tags: Tags | None, dual: float, work: _Work) -> float:
    """Add the values of the automata, with tags of the best of each word, which is selected."""
    values = work.values
    if tags is None:
        for h in range(values.shape[0]):
            dual += values[h]
    else:
        for i in range(work.tree.shape[0]):
            best = -np.inf
            for e in range(tags.first[i], tags.first[i + 1]):
                if values[e] > best:
                    best, work.tags.selected[i] = values[e], e
            dual += best
    return dual


@kernel
def tags_at(tags: Tags | None, own: Float64s, work: _Work) -> float:
    """Write the tagger's best tags; return their score, 0 without tags."""
    if tags is None:
        return 0.0
    return best_tags(tags.chain, own, tags.first, tags.allowed, work.tags.table, work.tags.tags)


@kernel
def _primal(
    arcs: ArcSpace, starts: Starts, scores: Float64s, tags: Tags | None, work: _Work, score: float, solution: Int32s
) -> float:
    """Return the score of the tree, written if above ``score``; with tags of the tagger or of its arcs, the better."""
    tree = work.tree
    if tags is None:
        primal = tree_value(arcs, starts, scores, work.y, work.numbers)
        if primal > score:
            _copy(tree, solution)
        return primal
    first, chosen, n_nodes = tags.first, work.tags.chosen, tree.shape[0]
    chosen[0, 0] = chosen[1, 0] = 0
    for i in range(1, n_nodes):
        chosen[0, i] = first[i] + work.tags.tags[i]
    for a in range(work.y.shape[0]):
        if work.y[a] == 1:
            chosen[1, tags.word[arcs.modifier[a]]] = arcs.modifier[a]
    best = -np.inf
    for i in range(2):
        if i == 1 and (chosen[0] == chosen[1]).all():
            break
        count = list_used(arcs, starts, tree, chosen[i], work.tags.marks, work.numbers)
        if count >= 0:
            value = tag_score(tags.chain, first, chosen[i] - first[:-1])
            for j in range(count):
                value += scores[work.numbers[j]]
            if value > max(best, score):
                _copy(tree, solution)
                for m in range(n_nodes):
                    solution[n_nodes + m] = chosen[i, m] - first[m]
            best = max(best, value)
    return best


@kernel
def _copy_agreed(tags: Tags | None, work: _Work, solution: Int32s) -> None:
    """Write what the subproblems agreed on."""
    _copy(work.tree, solution)
    if tags is not None:
        for i in range(work.tree.shape[0]):
            solution[work.tree.shape[0] + i] = work.tags.tags[i]


@kernel
def _select_copies(arcs: ArcSpace, tags: Tags | None, work: _Work) -> None:
    """With tags, write what the automata of the selected tagged words choose."""
    if tags is not None:
        selected, word = work.tags.selected, tags.word
        for a in range(work.y.shape[0]):
            h, m = arcs.head[a], arcs.modifier[a]
            work.seen.z[a] = work.choice.z[a] if selected[word[h]] == h else 0
            work.seen.z_grandparent[a] = work.choice.z_grandparent[a] if selected[word[m]] == m else 0


@kernel
def _count_disputes(starts: Starts, y: Int8s, seen: Choice, disputes: Int64s) -> int:
    """Return the number of multipliers over which tree and automata disagree; add them to ``disputes`` by arc."""
    z, z_grandparent, grandparents = seen.z, seen.z_grandparent, starts.grandparent.shape[0] > 0
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
def _count_tag_disputes(arcs: ArcSpace, tags: Tags | None, work: _Work, disputes: Int64s) -> int:
    """Write the surplus of each tagged word; return how many are in dispute, and add them to ``disputes``."""
    if tags is None:
        return 0
    surplus, count, n_arcs = work.tags.surplus, 0, work.y.shape[0]
    surplus[:] = 0
    for a in range(n_arcs):
        surplus[arcs.modifier[a]] += work.y[a]
    for i in range(1, work.tree.shape[0]):
        surplus[tags.first[i] + work.tags.tags[i]] -= 1
    for e in range(surplus.shape[0]):
        if surplus[e] != 0:
            count += 1
            if disputes.shape[0] > 0:
                disputes[n_arcs + e] += 1
    return count


@kernel
def _next_step(
    options: DualOptions, pace: Pace, dual: float, primal: float, score: float, stalled: bool, norm: int
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
    arcs: ArcSpace, starts: Starts, step: float, y: Int8s, seen: Choice, split: SplitScores, moved: Bools
) -> None:
    """Step the multipliers u and v of the arcs in dispute, and mark the automata that see them."""
    y_score, z_score, grandparent_score = split.y, split.z, split.grandparent
    z, z_grandparent, grandparents = seen.z, seen.z_grandparent, starts.grandparent.shape[0] > 0
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


@kernel
def _move_tags(arcs: ArcSpace, tags: Tags | None, step: float, work: _Work, y_score: Float64s, own: Float64s) -> bool:
    """Step the multipliers of tagged words in dispute; return whether the tagger sees any."""
    if tags is None:
        return False
    surplus, retag = work.tags.surplus, False
    for a in range(y_score.shape[0]):
        y_score[a] -= step * surplus[arcs.modifier[a]]
    for e in range(own.shape[0]):
        if surplus[e] != 0:
            own[e] += step * surplus[e]
            retag = True
    return retag
