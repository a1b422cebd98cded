"""Compiled head automata: the modifiers of one head, chosen by Viterbi over its own candidates.

The sibling automaton scans the candidates on each side outward from the head (Koo et al. 2010, example 1); the
grandparent and sibling automaton does so once for every candidate grandparent (example 3), with ``g(i, k, s, m) =
sibling(i, s, m) + grandparent(k, i, m)``.  Without sibling parts each candidate is chosen for itself.

An arc ``h -> m`` has a score in two automata: ``z_score`` where ``h`` chooses ``m`` as a modifier, and
``grandparent_score`` where ``m`` chooses ``h`` as the grandparent of its own modifiers (``z`` and ``z_up`` in the
paper).  Every split of the arc's score over the two gives the same model on trees; an even one lets a word without
modifiers see the score of its own arc when it chooses its grandparent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import inlined_kernel, kernel
from nonproj.parts.grandparent import list_grandparents
from nonproj.parts.sibling import list_siblings
from nonproj.types import PartSpace

COMPILED = (("arc", "sibling"), ("arc", "grandparent"), ("arc", "sibling", "grandparent"))
"""The sets of part types that these automata are for."""


class Starts(NamedTuple):
    """Where sibling and grandparent parts lie, int64 each (see the part types); empty where the set has none."""

    sibling: np.ndarray
    grandparent: np.ndarray


class SplitScores(NamedTuple):
    """The three copies of an arc's score, float64[A] each, which move with the multipliers and keep their sum.

    Attributes
    ----------
    y : ndarray
        In the tree.
    z : ndarray
        In the automaton of the arc's head.
    grandparent : ndarray
        In the automaton of the arc's modifier, as the way to its grandparent.
    """

    y: np.ndarray
    z: np.ndarray
    grandparent: np.ndarray


class Choice(NamedTuple):
    """What the automata choose, int8[A] each: ``z`` marks modifiers, ``z_grandparent`` the way to the grandparent."""

    z: np.ndarray
    z_grandparent: np.ndarray


class Workspace(NamedTuple):
    """Arrays for one automaton: ``best`` float64[A + 2], ``back`` int32[A + 2], ``gain`` float64[A + 2]."""

    best: np.ndarray
    back: np.ndarray
    gain: np.ndarray


def is_compiled(parts: PartSpace) -> bool:
    """Return whether the automata of this set of part types are compiled."""
    return parts.names in COMPILED


def compiled_starts(parts: PartSpace) -> Starts:
    """Return where the parts lie, as kernels take it."""
    return Starts(parts.start("sibling"), parts.start("grandparent"))


@kernel
def new_workspace(n_arcs):
    """Return a workspace for the automaton of any head."""
    return Workspace(np.empty(n_arcs + 2), np.empty(n_arcs + 2, np.int32), np.empty(n_arcs + 2))


@kernel
def count_transitions(arcs, starts):
    """Return the number of transitions that Viterbi goes through for each head, int64[N]: a measure of its time."""
    n_nodes = arcs.start.shape[0] - 1
    counts = np.zeros(n_nodes, np.int64)
    for h in range(n_nodes):
        for q in range(2 * h, 2 * h + 2):
            k = np.int64(arcs.out_start[q + 1] - arcs.out_start[q])
            counts[h] += (k + 1) * (k + 2) // 2 if starts.sibling.shape[0] > 0 else k + 1
        if starts.grandparent.shape[0] > 0 and h > 0:
            counts[h] *= 1 + arcs.start[h + 1] - arcs.start[h]
    return counts


@kernel
def decode_all_heads(arcs, starts, scores, split, choice):
    """Write the choice of every head; return the sum of their values."""
    work = new_workspace(arcs.head.shape[0])
    total = 0.0
    for h in range(arcs.start.shape[0] - 1):
        total += decode_head(arcs, starts, scores, split, h, work, choice)
    return total


@kernel
def tree_value(arcs, starts, scores, y, numbers):
    """Sum the scores of the parts of a tree, given as int8[A]; ``numbers`` int64[4 N] is overwritten."""
    total = 0.0
    for a in range(y.shape[0]):
        if y[a] == 1:
            total += scores[a]
    count = 0
    if starts.sibling.shape[0] > 0:
        count = list_siblings(arcs, starts.sibling, y, numbers, count)
    if starts.grandparent.shape[0] > 0:
        count = list_grandparents(arcs, starts.grandparent, y, y, numbers, count)
    for i in range(count):
        total += scores[numbers[i]]
    return total


@kernel
def decode_head(arcs, starts, scores, split, h, work, choice):
    """Write head h's choice of modifiers and, in a set with grandparents, of its own head; return its value."""
    # Arrays are taken out of their tuples once a head: each time costs a count of references.
    out, out_start, modifier, head = arcs.out, arcs.out_start, arcs.modifier, arcs.head
    sibling_start, z_score, grandparent_score = starts.sibling, split.z, split.grandparent
    best, back, gain, z, z_grandparent = work.best, work.back, work.gain, choice.z, choice.z_grandparent
    first, size = out_start[2 * h], out_start[2 * h + 2] - out_start[2 * h]
    if starts.grandparent.shape[0] == 0 or h == 0:
        for j in range(size):
            gain[j] = z_score[out[first + j]]
        return _choose(scores, sibling_start, out, out_start, h, best, back, gain, z)
    into, end, row = arcs.start[h], arcs.start[h + 1], starts.grandparent[h]
    highest, highest_arc = -np.inf, -1
    for a in range(into, end):
        z_grandparent[a] = 0
        _fill_gain(out, first, size, modifier, head[a], z_score, scores, row + (a - into) * size, gain)
        value = _add_best(grandparent_score[a], scores, sibling_start, out_start, h, best, back, gain)
        if value > highest:
            highest, highest_arc = value, a
    z_grandparent[highest_arc] = 1
    row += (highest_arc - into) * size
    _fill_gain(out, first, size, modifier, head[highest_arc], z_score, scores, row, gain)
    _choose(scores, sibling_start, out, out_start, h, best, back, gain, z)
    return highest


@inlined_kernel
def _fill_gain(out, first, size, modifier, grandparent, z_score, scores, row, gain):
    """Fill what choosing each candidate modifier is worth under one grandparent."""
    for j in range(size):
        a = out[first + j]
        # A grandparent below its grandchild is no tree.
        gain[j] = -np.inf if modifier[a] == grandparent else z_score[a] + scores[row + j]


@inlined_kernel
def _add_best(value, scores, sibling_start, out_start, h, best, back, gain):
    """Add the value of head h's best choice of modifiers, both sides, to a value."""
    if sibling_start.shape[0] == 0:
        for j in range(out_start[2 * h + 2] - out_start[2 * h]):
            value += max(gain[j], 0.0)
    else:
        for q in range(2 * h, 2 * h + 2):
            k = out_start[q + 1] - out_start[q]
            value += _viterbi(scores, sibling_start[q], k, out_start[q] - out_start[2 * h], best, back, gain)
    return value


@inlined_kernel
def _choose(scores, sibling_start, out, out_start, h, best, back, gain, z):
    """Mark head h's best choice of modifiers, both sides; return its value."""
    value = 0.0
    if sibling_start.shape[0] == 0:
        first = out_start[2 * h]
        for j in range(out_start[2 * h + 2] - first):
            z[out[first + j]] = 1 if gain[j] > 0.0 else 0
            value += max(gain[j], 0.0)
    else:
        for q in range(2 * h, 2 * h + 2):
            k = out_start[q + 1] - out_start[q]
            value += _viterbi(scores, sibling_start[q], k, out_start[q] - out_start[2 * h], best, back, gain)
            _trace_back(out, out_start[q], k, back, z)
    return value


@inlined_kernel
def _trace_back(out, start, k, back, z):
    """Mark the arcs of the best path over k candidates."""
    for j in range(start, start + k):
        z[out[j]] = 0
    b = back[k + 1]
    while b > 0:
        z[out[start + b - 1]] = 1
        b = back[b]


@inlined_kernel
def _viterbi(scores, part, k, offset, best, back, gain):
    """Find the best path from START over some of k candidates, gains ``gain[offset:]``, to END; return its value."""
    best[0] = 0.0
    for b in range(1, k + 2):
        highest, previous = best[0] + scores[part], 0
        for a in range(1, b):
            value = best[a] + scores[part + a]
            if value > highest:
                highest, previous = value, a
        part += b
        best[b] = highest + gain[offset + b - 1] if b <= k else highest
        back[b] = previous
    return best[k + 1]
