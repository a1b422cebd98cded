"""Candidate tags of each word: tagged words, scores of tags as a chain, and the parts of a tree over tagged words.

A *tagged word* is a word with one of its candidate tags; `nonproj.dual.joint.space` defines the problem.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.third import list_third
from nonproj.automata.workspace import Starts
from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace, Bools, Float64s, Int8s, Int32s, Int64s


class ChainScores(NamedTuple):
    """Scores of tags as a chain of second order, float64; candidates of a word count from 0, and the root has one.

    Attributes
    ----------
    own : ndarray of shape (W,)
        Of each tagged word, 0 for the root.
    pair : ndarray of shape (N, K, K)
        ``pair[i, b, c]``: candidate ``c`` of word ``i`` after candidate ``b`` of word ``i - 1``.
    triple : ndarray of shape (N, K, K, K)
        ``triple[i, a, b, c]``: the same after candidate ``a`` of word ``i - 2``; 0 stands for it where there is none.
    """

    own: np.ndarray
    pair: np.ndarray
    triple: np.ndarray


class JointSpace(NamedTuple):
    """The candidate arcs of a sentence over words and over tagged words.

    Attributes
    ----------
    words, tagged : ArcSpace
        Arcs between words, and between tagged words.
    starts : Starts
        Where parts of more than one arc lie, by tagged word.
    first : ndarray of shape (N + 1,), int32
        The tagged words of word ``i`` are ``first[i]:first[i + 1]``.
    word : ndarray of shape (W,), int32
        The word of each tagged word.
    arc : ndarray of shape (A,), int32
        The arc between words of each tagged arc.
    allowed : ndarray of shape (W,), bool
        Tagged words that can be chosen: the root, and those that some tagged arc goes to.
    """

    words: ArcSpace
    tagged: ArcSpace
    starts: Starts
    first: np.ndarray
    word: np.ndarray
    arc: np.ndarray
    allowed: np.ndarray


class Tags(NamedTuple):
    """What turns a problem over arcs into one over tagged arcs."""

    space: JointSpace
    chain: ChainScores


@kernel
def new_chain_table(chain: ChainScores) -> tuple[Float64s, Int32s]:
    """Return arrays for `best_tags`: values float64[N, K, K] and the candidates before them, int32."""
    n_nodes, width = chain.pair.shape[0], chain.pair.shape[1]
    return np.zeros((n_nodes, width, width)), np.zeros((n_nodes, width, width), np.int32)


@kernel
def best_tags(
    chain: ChainScores, own: Float64s, first: Int32s, allowed: Bools, table: tuple[Float64s, Int32s], tags: Int32s
) -> float:
    """Write the best candidate of each word, int32[N]; return the score of the sequence.

    ``own`` float64[W] replaces ``chain.own``; only tagged words with ``allowed`` are chosen.  Ties go to the lowest
    candidates.
    """
    best, back = table
    pair, triple, n_nodes = chain.pair, chain.triple, tags.shape[0]
    best[0, 0, 0] = 0.0
    tags[0] = 0
    for i in range(1, n_nodes):
        before = first[i - 2] if i > 1 else 0
        for c in range(first[i + 1] - first[i]):
            for b in range(first[i] - first[i - 1]):
                top = -np.inf
                if allowed[first[i] + c] and allowed[first[i - 1] + b]:
                    for a in range(first[i - 1] - before if i > 1 else 1):
                        value = best[i - 1, a, b] + triple[i, a, b, c]
                        if value > top:
                            top, back[i, b, c] = value, a
                best[i, b, c] = top + pair[i, b, c] + own[first[i] + c]
    if n_nodes == 1:
        return 0.0
    top, last = -np.inf, n_nodes - 1
    for c in range(first[last + 1] - first[last]):
        for b in range(first[last] - first[last - 1]):
            if best[last, b, c] > top:
                top = best[last, b, c]
                tags[last - 1], tags[last] = b, c
    for i in range(last, 1, -1):
        tags[i - 2] = back[i, tags[i - 1], tags[i]]
    return top


@kernel
def list_used(arcs: ArcSpace, starts: Starts, heads: Int32s, chosen: Int32s, marks: Int8s, numbers: Int64s) -> int:
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


@kernel
def tag_score(chain: ChainScores, first: Int32s, tags: Int32s) -> float:
    """Return the score of a sequence of candidates, int32[N], as a chain."""
    total = 0.0
    for i in range(1, tags.shape[0]):
        total += chain.own[first[i] + tags[i]] + chain.pair[i, tags[i - 1], tags[i]]
        total += chain.triple[i, tags[i - 2] if i > 1 else 0, tags[i - 1], tags[i]]
    return total
