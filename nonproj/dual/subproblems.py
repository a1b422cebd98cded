"""The subproblems: an arborescence, head automata and, where words have candidate tags, a tagger; compiled.

Without tags, variables are arcs.  With tags they are tagged arcs and tagged words (`nonproj.dual.tags`): the
arborescence over words uses the best pair of tags for each arc; the automaton of a word is the best of those of its
tagged words; and the tagger chooses a sequence of tags.  An argument that is None has a type of its own, so numba
compiles these kernels without what a problem does not have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.compiled import tree_value
from nonproj.automata.workspace import Choice, Starts, Workspace, new_workspace
from nonproj.dual.tags import ChainScores, JointSpace, Tags, best_tags, list_used, new_chain_table, tag_score
from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.trees.arborescence import counted_arborescence
from nonproj.trees.projective import best_projective_tree
from nonproj.types import ArcSpace, Float64s, Int8s, Int32s, Int64s


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


class Tagging(NamedTuple):
    """What problems with tags have besides: space and scores of their tags, and arrays.

    ``surplus`` int32[W]: the tags at the ends of the tree's arcs minus the tagger's; ``selected`` int32[N]: the tagged
    word of each word's automaton; ``tags`` int32[N]: the tagger's; ``best_arc``: the best tagged arc of each arc.
    """

    space: JointSpace
    chain: ChainScores
    surplus: np.ndarray
    selected: np.ndarray
    tags: np.ndarray
    word_scores: np.ndarray
    best_arc: np.ndarray
    marks: np.ndarray
    chosen: np.ndarray
    table: tuple[np.ndarray, np.ndarray]


class Work(NamedTuple):
    """Arrays of the subproblems: ``y`` int8[A] marks the tree's arcs, ``choice`` what each automaton chooses, ``seen``
    what those of the selected tagged words choose (without tags the same arrays); ``moved`` and ``values`` are of
    automata.
    """

    automaton: Workspace
    y: np.ndarray
    choice: Choice
    seen: Choice
    moved: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    tree: np.ndarray
    tagging: Tagging | None


@kernel
def new_work(arcs: ArcSpace, starts: Starts, tags: Tags | None) -> Work:
    """Return the arrays of the subproblems."""
    n_arcs, size, tagging = arcs.head.shape[0], arcs.start.shape[0] - 1, _new_tagging(arcs, tags)
    choice = Choice(np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8))
    return Work(
        new_workspace(arcs, starts),
        np.zeros(n_arcs, np.int8),
        choice,
        _new_seen(tags, choice),
        np.ones(size, np.bool_),
        np.zeros(size),
        np.empty(9 * size, np.int64),
        np.empty(_count_nodes(arcs, tags), np.int32),
        tagging,
    )


@kernel
def _count_nodes(arcs: ArcSpace, tags: Tags | None) -> int:
    """Return the number of words and the root."""
    if tags is None:
        return arcs.start.shape[0] - 1
    return tags.space.first.shape[0] - 1


@kernel
def _new_seen(tags: Tags | None, choice: Choice) -> Choice:
    """Return the choice itself, or a copy where automata are selected."""
    if tags is None:
        return choice
    return Choice(choice.z.copy(), choice.z_grandparent.copy())


@kernel
def _new_tagging(arcs: ArcSpace, tags: Tags | None) -> Tagging | None:
    """Return what problems with tags have besides; None without."""
    if tags is None:
        return None
    space, chain = tags.space, tags.chain
    n_nodes, n_words, n_arcs = space.first.shape[0] - 1, space.words.head.shape[0], arcs.head.shape[0]
    return Tagging(
        space,
        chain,
        np.zeros(space.word.shape[0], np.int32),
        np.zeros(n_nodes, np.int32),
        np.zeros(n_nodes, np.int32),
        np.empty(n_words),
        np.empty(n_words, np.int32),
        np.empty(n_arcs, np.int8),
        np.empty((2, n_nodes), np.int32),
        new_chain_table(chain),
    )


@kernel
def find_tree(
    arcs: ArcSpace,
    tagging: Tagging | None,
    projective: bool | None,
    single_root: bool,
    y_score: Float64s,
    tree: Int32s,
) -> tuple[int, int]:
    """Write the best tree, with tags over the best tagged arc of each arc; return a status and what was contracted."""
    if tagging is None:
        return _best_tree(arcs, projective, single_root, y_score, tree)
    words, arc, word_scores, best_arc = tagging.space.words, tagging.space.arc, tagging.word_scores, tagging.best_arc
    word_scores[:] = -np.inf
    for a in range(y_score.shape[0]):
        w = arc[a]
        if y_score[a] > word_scores[w]:
            word_scores[w], best_arc[w] = y_score[a], a
    return _best_tree(words, projective, single_root, word_scores, tree)


@kernel
def _best_tree(
    arcs: ArcSpace, projective: bool | None, single_root: bool, scores: Float64s, tree: Int32s
) -> tuple[int, int]:
    """Write the best tree of the wanted kind; return a status and what was contracted."""
    if projective is None:
        status, contracted = counted_arborescence(arcs, scores, single_root, tree)
        return status, int(contracted)
    return best_projective_tree(arcs, scores, single_root, tree), 0


@kernel
def mark_tree(arcs: ArcSpace, tagging: Tagging | None, y_score: Float64s, tree: Int32s, y: Int8s) -> tuple[float, bool]:
    """Mark the arcs of the tree; return the sum of their scores and whether any mark changed."""
    value, changed = 0.0, False
    for a in range(y.shape[0]):
        mark = 1 if _in_tree(arcs, tagging, a, tree) else 0
        if mark == 1:
            value += y_score[a]
        changed |= y[a] != mark
        y[a] = mark
    return value, changed


@inlined_kernel
def _in_tree(arcs: ArcSpace, tagging: Tagging | None, a: int, tree: Int32s) -> bool:
    """Return whether an arc is one of the tree, and with tags the best of those between its words."""
    if tagging is None:
        return tree[arcs.modifier[a]] == arcs.head[a]
    w, words = tagging.space.arc[a], tagging.space.words
    return tagging.best_arc[w] == a and tree[words.modifier[w]] == words.head[w]


@kernel
def add_values(tagging: Tagging | None, dual: float, values: Float64s) -> float:
    """Add the values of the automata, with tags of the best of each word, which is selected."""
    if tagging is None:
        for h in range(values.shape[0]):
            dual += values[h]
        return dual
    first, selected = tagging.space.first, tagging.selected
    for i in range(selected.shape[0]):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            if values[e] > best:
                best, selected[i] = values[e], e
        dual += best
    return dual


@kernel
def tags_at(tagging: Tagging | None, own: Float64s) -> float:
    """Write the tagger's best tags; return their score, 0 without tags."""
    if tagging is None:
        return 0.0
    space = tagging.space
    return best_tags(tagging.chain, own, space.first, space.allowed, tagging.table, tagging.tags)


@kernel
def primal_value(
    arcs: ArcSpace,
    starts: Starts,
    scores: Float64s,
    tagging: Tagging | None,
    tree: Int32s,
    y: Int8s,
    numbers: Int64s,
    score: float,
    solution: Int32s,
) -> float:
    """Return the score of the tree, written if above ``score``; with tags of the tagger or of its arcs, the better."""
    if tagging is None:
        primal = tree_value(arcs, starts, scores, y, numbers)
        if primal > score:
            copy(tree, solution)
        return primal
    first, word, chosen, n_nodes = tagging.space.first, tagging.space.word, tagging.chosen, tree.shape[0]
    chosen[0, 0] = chosen[1, 0] = 0
    for i in range(1, n_nodes):
        chosen[0, i] = first[i] + tagging.tags[i]
    for a in range(y.shape[0]):
        if y[a] == 1:
            chosen[1, word[arcs.modifier[a]]] = arcs.modifier[a]
    best = -np.inf
    for i in range(2):
        if i == 1 and (chosen[0] == chosen[1]).all():
            break
        count = list_used(arcs, starts, tree, chosen[i], tagging.marks, numbers)
        if count >= 0:
            value = tag_score(tagging.chain, first, chosen[i] - first[:-1])
            for j in range(count):
                value += scores[numbers[j]]
            if value > max(best, score):
                copy(tree, solution)
                for m in range(n_nodes):
                    solution[n_nodes + m] = chosen[i, m] - first[m]
            best = max(best, value)
    return best


@kernel
def copy_agreed(tagging: Tagging | None, tree: Int32s, solution: Int32s) -> None:
    """Write what the subproblems agreed on."""
    copy(tree, solution)
    if tagging is not None:
        for i in range(tree.shape[0]):
            solution[tree.shape[0] + i] = tagging.tags[i]


@kernel
def select_choices(arcs: ArcSpace, tagging: Tagging | None, choice: Choice, seen: Choice) -> None:
    """With tags, write what the automata of the selected tagged words choose."""
    if tagging is not None:
        selected, word = tagging.selected, tagging.space.word
        for a in range(choice.z.shape[0]):
            h, m = arcs.head[a], arcs.modifier[a]
            seen.z[a] = choice.z[a] if selected[word[h]] == h else 0
            seen.z_grandparent[a] = choice.z_grandparent[a] if selected[word[m]] == m else 0


@inlined_kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a vector; assigning to a slice would take longer to compile, because it may fail."""
    for i in range(source.shape[0]):
        target[i] = source[i]
