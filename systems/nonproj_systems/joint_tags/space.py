"""The joint problem: a tag for each word, out of a few candidates, and a tree; parts score words with their tags.

A *tagged word* is a word with one of its candidate tags; the root has one.  Tagged words are numbered in a row, those
of word ``i`` from ``first[i]`` on, best first, and a tagged arc goes from a tagged word to a tagged word.  So the parts
over tagged arcs are numbered by the usual part types, and the problem is: choose one tagged word for each word, and a
tree over these.  The objective is the score of the tree's parts plus that of the tags, a chain of second order.

Which scores depend on which tags: all words that a part is made of (head, modifier, sibling, grandparent) appear with
their candidates: tag, morphological features and lemma.  What else templates look at, the words beside these (``m-1``,
``m+1``) and the tags between head and modifier, has the tagger's best tag, whatever is chosen; so have the features
that prune arcs.  Where each word has one candidate, the problem is that of the parser alone.

``W`` counts tagged words, ``K`` the most candidates that a word has, ``A`` tagged arcs and ``P`` parts over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.automata.compiled import COMPILED, compiled_starts
from nonproj.automata.third import list_third
from nonproj.automata.workspace import PartStarts
from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import arc_space_from_mask, as_array, check_count
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import part_space
from nonproj.types import ArcSpace, Float64s, Int8s, Int32s, Int64s, PartSpace
from nonproj_systems.joint_tags.chain import ChainScores, tag_score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TYPES = ("arc", "sibling", "grandparent")
"""All joint problems have these parts, and may have parts of third order; a model scores parts that it lacks 0."""


class JointSpace(NamedTuple):
    """The candidate arcs of a sentence over words and over tagged words.

    Attributes
    ----------
    words, tagged : ArcSpace
        Arcs between words, and between tagged words.
    starts : PartStarts
        Places of parts of more than one arc, by tagged word.
    first : ndarray of shape (N + 1,), int32
        The tagged words of word ``i`` are ``first[i]:first[i + 1]``.
    word : ndarray of shape (W,), int32
        The word of each tagged word.
    arc : ndarray of shape (A,), int32
        The arc between words of each tagged arc.
    """

    words: ArcSpace
    tagged: ArcSpace
    starts: PartStarts
    first: np.ndarray
    word: np.ndarray
    arc: np.ndarray


class JointProblem(NamedTuple):
    """A joint problem; `joint_problem` makes it.

    Attributes
    ----------
    space : JointSpace
    parts : PartSpace
        The parts over tagged arcs.
    scores : ndarray of shape (P,), float64
        Minus infinity for parts of two candidates of one word, which no solution has.
    chain : ChainScores
    """

    space: JointSpace
    parts: PartSpace
    scores: np.ndarray
    chain: ChainScores


def joint_types(names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the part types of joint problems for a model with these; None if some of these have no joint problem.

    Examples
    --------
    >>> joint_types(["arc", "sibling", "trisibling"])
    ('arc', 'sibling', 'grandparent', 'trisibling')
    """
    return next((each for each in COMPILED if set(each) == {*TYPES, *names}), None)


def joint_space(words: ArcSpace, counts: ArrayLike, types: Sequence[str] = TYPES) -> tuple[JointSpace, PartSpace]:
    """Return the candidate arcs over words with these numbers of candidate tags, and the parts over them.

    Parameters
    ----------
    words : ArcSpace
        Candidate arcs between words.
    counts : array-like of shape (N,), int
        Candidate tags of each word; 1 for the root.
    types : sequence of str
        Names of part types, a result of `joint_types`.

    Raises
    ------
    ValueError
        If there is not one positive number for each word, or the root has several; `SizeError` if there are too many
        tagged arcs or parts.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> space, parts = joint_space(full_arc_space(2), [1, 2, 1])
    >>> space.word.tolist(), list(zip(space.tagged.head.tolist(), space.tagged.modifier.tolist()))
    ([0, 1, 1, 2], [(0, 1), (3, 1), (0, 2), (3, 2), (0, 3), (1, 3), (2, 3)])
    """
    sizes, n_nodes = np.asarray(counts), len(words.start) - 1
    if sizes.shape != (n_nodes,) or sizes.dtype.kind not in "iu" or (sizes < 1).any() or sizes[0] != 1:
        raise ValueError(f"counts is {sizes.tolist()}; {n_nodes} positive integers are expected, 1 for the root")
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    word = np.repeat(np.arange(n_nodes, dtype=np.int32), sizes)
    check_count(len(word) ** 2, "pairs of tagged words", n_nodes - 1)
    mask = np.zeros((n_nodes, n_nodes), np.bool_)
    mask[words.head, words.modifier] = True
    tagged = arc_space_from_mask(mask[np.ix_(word, word)])
    parts = part_space(tagged, tuple(PART_TYPES[name] for name in types))
    number = np.full((n_nodes, n_nodes), -1, np.int32)
    number[words.head, words.modifier] = np.arange(len(words.head), dtype=np.int32)
    arc = number[word[tagged.head], word[tagged.modifier]]
    return JointSpace(words, tagged, compiled_starts(parts), first, word, arc), parts


def joint_problem(space: JointSpace, parts: PartSpace, scores: ArrayLike, chain: ChainScores) -> JointProblem:
    """Return a joint problem, with minus infinity for the parts that no solution has.

    Parameters
    ----------
    space, parts
        From `joint_space`.
    scores : array-like of shape (P,), float64
        Finite scores of all parts.
    chain : ChainScores

    Raises
    ------
    ValueError
        If there is not one finite score for each part, or the scores of tags do not fit the candidates.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> space, parts = joint_space(full_arc_space(2), [1, 2, 1])
    >>> problem = joint_problem(space, parts, np.zeros(len(parts)), no_chain(space))
    >>> int(np.isneginf(problem.scores).sum())  # 2 of siblings, under the root and word 2; 6 of grandparents
    8
    """
    own = np.array(scores, np.float64)
    if own.shape != (len(parts),) or not np.isfinite(own).all():
        raise ValueError(f"scores has shape {own.shape}; {len(parts)} finite scores are expected, one for each part")
    width = int(np.diff(space.first).max())
    n_nodes = len(space.first) - 1
    shapes = (len(space.word),), (n_nodes, width, width), (n_nodes, width, width, width)
    chain = ChainScores(*(as_array(array, np.float64) for array in chain))
    for name, array, shape in zip(ChainScores._fields, chain, shapes, strict=True):
        if array.shape != shape or not np.isfinite(array).all():
            raise ValueError(f"chain.{name} has shape {array.shape}; finite scores of shape {shape} are expected")
    _forbid(space, own)
    return JointProblem(space, parts, own, chain)


def no_chain(space: JointSpace) -> ChainScores:
    """Return scores of 0 for all tags."""
    n_nodes, k = len(space.first) - 1, int(np.diff(space.first).max())
    return ChainScores(np.zeros(len(space.word)), np.zeros((n_nodes, k, k)), np.zeros((n_nodes, k, k, k)))


@kernel
def _forbid(space: JointSpace, scores: Float64s) -> None:
    """Set parts of two candidates of one word to minus infinity."""
    tagged, word = space.tagged, space.word
    out, out_start, modifier, head, start = tagged.out, tagged.out_start, tagged.modifier, tagged.head, tagged.start
    sibling, grandparent = space.starts.sibling, space.starts.grandparent
    for q in range(out_start.shape[0] - 1):
        first, k = out_start[q], out_start[q + 1] - out_start[q]
        for b in range(2, k + 1):
            for a in range(1, b):
                if word[modifier[out[first + a - 1]]] == word[modifier[out[first + b - 1]]]:
                    scores[sibling[q] + b * (b - 1) // 2 + a] = -np.inf
    for e in range(1, start.shape[0] - 1):
        first, k = out_start[2 * e], out_start[2 * e + 2] - out_start[2 * e]
        for i in range(start[e], start[e + 1]):
            for j in range(k):
                if word[modifier[out[first + j]]] == word[head[i]]:
                    scores[grandparent[e] + (i - start[e]) * k + j] = -np.inf


def used_parts(problem: JointProblem, heads: ArrayLike, tags: ArrayLike) -> Int64s:
    """Return the numbers of the parts of a solution, int64.

    Parameters
    ----------
    problem : JointProblem
    heads : array-like of shape (N,), int
        The tree, ``heads[0] == -1``.
    tags : array-like of shape (N,), int
        The candidate of each word, from 0; 0 for the root.

    Raises
    ------
    ValueError
        If an arc of the solution is no candidate.
    """
    space = problem.space
    n_nodes, n_arcs = len(space.first) - 1, len(space.tagged.head)
    marks, numbers = np.empty(n_arcs, np.int8), np.empty(9 * n_nodes, np.int64)
    chosen = (space.first[:-1] + np.asarray(tags)).astype(np.int32)
    count = _list_used(space.tagged, space.starts, as_array(heads, np.int32), chosen, marks, numbers)
    if count < 0:
        raise ValueError(f"an arc of the tree {np.asarray(heads).tolist()} with its tags is not among the candidates")
    return numbers[:count]


def joint_score(problem: JointProblem, heads: ArrayLike, tags: ArrayLike) -> float:
    """Return the score of a tree with tags: its parts, and its tags as a chain; for the parameters see `used_parts`.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> space, parts = joint_space(full_arc_space(1), [1, 2])
    >>> chain = no_chain(space)
    >>> chain.own[:] = 0.0, 1.0, 2.0
    >>> problem = joint_problem(space, parts, np.arange(float(len(parts))), chain)
    >>> joint_score(problem, [-1, 0], [0, 1]) - joint_score(problem, [-1, 0], [0, 0])
    8.0
    """
    total = tag_score(problem.chain, problem.space.first, np.asarray(tags, np.int32))
    for number in used_parts(problem, heads, tags):
        total += problem.scores[number]
    return float(total)


@kernel
def _list_used(arcs: ArcSpace, starts: PartStarts, heads: Int32s, chosen: Int32s, marks: Int8s, numbers: Int64s) -> int:
    """Write the parts of a solution to ``numbers``, and 1 for its arcs to ``marks`` int8[A]; return how many there are.

    ``heads`` int32[N] is a tree and ``chosen`` int32[N] the tagged word of each word.  -1 if an arc is absent.
    """
    n_nodes = heads.shape[0]
    out, out_start, head, start = arcs.out, arcs.out_start, arcs.head, arcs.start
    sibling, grandparent = starts.sibling, starts.grandparent
    count = 0
    marks[:] = 0
    for m in range(1, n_nodes):
        found, e = -1, chosen[heads[m]]
        for a in range(start[chosen[m]], start[chosen[m] + 1]):
            if head[a] == e:
                found = a
        if found < 0:
            return -1
        marks[found] = 1
        numbers[count] = found
        count += 1
    for h in range(n_nodes):
        e = chosen[h]
        for q in range(2 * e, 2 * e + 2):
            first, k, previous = out_start[q], out_start[q + 1] - out_start[q], 0
            for b in range(1, k + 2):
                if b == k + 1 or marks[out[first + b - 1]] == 1:
                    numbers[count] = sibling[q] + b * (b - 1) // 2 + previous
                    count += 1
                    previous = b
    for h in range(1, n_nodes):
        e = chosen[h]
        first, end = out_start[2 * e], out_start[2 * e + 2]
        for i in range(start[e], start[e + 1]):
            if marks[i] == 1:
                for j in range(first, end):
                    if marks[out[j]] == 1:
                        numbers[count] = grandparent[e] + (i - start[e]) * (end - first) + j - first
                        count += 1
    return list_third(arcs, starts.third, marks, numbers, count)
