"""Compiled head automata of third order: transitions that see the grandparent, and states of two modifiers.

For every candidate grandparent of a head, Viterbi goes over the candidates of each side outward from the head.  Its
state is the pair of the last two modifiers: ``table[a, b]`` is the value of the best path that ends with ``a, b``, the
entry ``b * (b - 1) // 2 + a`` as transitions are numbered in `nonproj.parts.sibling`.  Given the grandparent the sides
are independent, so a head with ``p`` grandparents takes O(p k^3), and without tri-siblings O(p k^2) (Koo and Collins
2010; Koo et al. 2010, section 5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.automata.workspace import Choice, PartStarts, SplitScores, ThirdOrderStarts, Workspace, count_transitions
from nonproj.kernels.kernel import kernel
from nonproj.parts.grandsibling import list_grandsiblings
from nonproj.parts.trisibling import list_trisiblings
from nonproj.types import ArcSpace, Float64s, Int8s, Int32s, Int64s

STATE_WORK = 3
"""Work per pair or triple of modifiers, in transitions of second-order automata."""


class _FirstParts(NamedTuple):
    """The numbers of the first parts of a half-automaton; -1 for types that are not in the set."""

    sibling: np.int64
    grandsibling: np.int64
    trisibling: np.int64


@kernel
def count_states(arcs: ArcSpace, third: ThirdOrderStarts | None, h: int) -> np.int64:
    """Return the work of head h under one grandparent; 0 where there are no parts of third order."""
    if third is None:
        return np.int64(0)
    count = np.int64(0)
    for q in range(2 * h, 2 * h + 2):
        k = np.int64(arcs.out_start[q + 1] - arcs.out_start[q])
        count += count_transitions(k)
        if third.trisibling.shape[0] > 0:
            count += k * (k + 1) * (k + 2) // 6
    return STATE_WORK * count


@kernel
def list_third(arcs: ArcSpace, third: ThirdOrderStarts | None, y: Int8s, numbers: Int64s, count: int) -> int:
    """Write the third-order parts of a tree to ``numbers[count:]``; return the new count."""
    if third is None:
        return count
    if third.grandsibling.shape[0] > 0:
        count = list_grandsiblings(arcs, third.grandsibling, y, y, numbers, count)
    if third.trisibling.shape[0] > 0:
        count = list_trisiblings(arcs, third.trisibling, y, numbers, count)
    return count


@kernel
def grandsiblings_below(arcs: ArcSpace, third: ThirdOrderStarts | None, entering: Int64s, h: int) -> np.int64:
    """Return the number of h's first grand-sibling part under its head, by ``entering``; 0 if there is none."""
    if third is None or third.grandsibling.shape[0] == 0 or h == 0:
        return np.int64(0)
    size = np.int64(0)
    for q in range(2 * h, 2 * h + 2):
        size += count_transitions(arcs.out_start[q + 1] - arcs.out_start[q])
    return third.grandsibling[h] + (entering[h] - arcs.start[h]) * size


@kernel
def transition_value(
    third: ThirdOrderStarts | None,
    scores: Float64s,
    q: int,
    below: np.int64,
    a: int | np.int64,
    b: int | np.int64,
    c: int | np.int64,
) -> float:
    """Return the score of the third-order parts of a transition from the modifiers a and b to b and c.

    ``below`` is the first grand-sibling part of the half-automaton ``q``.
    """
    total = 0.0
    if third is not None:
        if third.grandsibling.shape[0] > 0 and q > 1:
            total += scores[below + c * (c - 1) // 2 + b]
        if third.trisibling.shape[0] > 0 and b > 0:
            total += scores[third.trisibling[q] + c * (c - 1) * (c - 2) // 6 + b * (b - 1) // 2 + a]
    return total


@kernel
def decode_third(
    arcs: ArcSpace,
    starts: PartStarts,
    third: ThirdOrderStarts,
    scores: Float64s,
    split: SplitScores,
    h: int,
    work: Workspace,
    choice: Choice,
) -> float:
    """Write the best modifiers of head h and, in a set with grandparents, its best head; return their joint value."""
    out, out_start, z, z_grandparent, table = arcs.out, arcs.out_start, choice.z, choice.z_grandparent, work.best
    first, middle, end = out_start[2 * h], out_start[2 * h + 1], out_start[2 * h + 2]
    left, right, left_size = middle - first, end - middle, count_transitions(middle - first)
    size = left_size + count_transitions(right)
    siblings = starts.sibling[2 * h], starts.sibling[2 * h + 1]
    triples = _place(third.trisibling, 2 * h, 0), _place(third.trisibling, 2 * h + 1, 0)
    grandparents = starts.grandparent.shape[0] > 0 and h > 0
    begin, stop = (arcs.start[h], arcs.start[h + 1]) if grandparents else (0, 1)
    place, best_place, spare, highest, highest_arc = np.int64(0), size, 2 * size, -np.inf, begin
    for a in range(begin, stop):
        value, below = 0.0, np.int64(-1)
        if grandparents:
            z_grandparent[a], value = 0, split.grandparent[a]
            below = _place(third.grandsibling, h, (a - begin) * size)
        fill_gains(arcs, starts.grandparent, scores, split.z, h, a if grandparents else -1, work.gain)
        rows = _FirstParts(siblings[0], below, triples[0])
        value += _fill_table(scores, rows, work.gain, 0, left, table, place, spare)
        if below >= 0:
            below += left_size
        rows = _FirstParts(siblings[1], below, triples[1])
        value += _fill_table(scores, rows, work.gain, left, right, table, place + left_size, spare)
        if value > highest:
            highest, highest_arc = value, a
            place, best_place = best_place, place
    for j in range(first, end):
        z[out[j]] = 0
    if highest > -np.inf:
        if grandparents:
            z_grandparent[highest_arc] = 1
        _trace_back(scores, triples[0], table, best_place, left, out, first, z)
        _trace_back(scores, triples[1], table, best_place + left_size, right, out, middle, z)
    return highest


@kernel
def _place(start: Int64s, i: int, further: int | np.int64) -> np.int64:
    """Return ``start[i] + further``; -1 if the set has no such parts."""
    return start[i] + further if start.shape[0] > 0 else np.int64(-1)


@kernel
def fill_gains(
    arcs: ArcSpace, start: Int64s, scores: Float64s, z_score: Float64s, h: int, arc: int, gain: Float64s
) -> None:
    """Write the gain of each candidate modifier of h if ``arc`` is the arc into h; -1 stands for no grandparent."""
    out, modifier, first, end = arcs.out, arcs.modifier, arcs.out_start[2 * h], arcs.out_start[2 * h + 2]
    if arc < 0:
        for j in range(first, end):
            gain[j - first] = z_score[out[j]]
    else:
        g, row = arcs.head[arc], start[h] + (arc - arcs.start[h]) * (end - first) - first
        for j in range(first, end):
            # A grandparent cannot be its own grandchild.
            gain[j - first] = -np.inf if modifier[out[j]] == g else z_score[out[j]] + scores[row + j]


@kernel
def _fill_table(
    scores: Float64s,
    rows: _FirstParts,
    gain: Float64s,
    offset: int,
    k: int,
    table: Float64s,
    place: np.int64,
    spare: np.int64,
) -> float:
    """Fill the table of paths over k candidates with gains ``gain[offset:]``; return the value of the best path to END.

    ``table[spare + c]`` is the value of the best path that ends with c.
    """
    sibling, grandsibling, trisibling = rows
    t, highest = np.int64(0), -np.inf
    for c in range(1, np.int64(k) + 2):
        added, triple, s = gain[offset + c - 1] if c <= k else 0.0, trisibling + c * (c - 1) * (c - 2) // 6, np.int64(0)
        highest = -np.inf
        for b in range(c):
            value = scores[sibling + t] + added
            if grandsibling >= 0:
                value += scores[grandsibling + t]
            if b > 0 and trisibling < 0:
                value += table[spare + b]
            elif b > 0:
                best = -np.inf
                for a in range(s, s + b):
                    best = max(best, table[place + a] + scores[triple + a])
                value += best
                s += b
            table[place + t] = value
            highest = max(highest, value)
            t += 1
        table[spare + c] = highest
    return highest


@kernel
def _trace_back(
    scores: Float64s, trisibling: np.int64, table: Float64s, place: np.int64, k: int, out: Int32s, start: int, z: Int8s
) -> None:
    """Mark the arcs of the best path over k candidates; ties go to the previous modifier farthest inward."""
    c, b = np.int64(0), np.int64(k) + 1
    while b > 0:
        if c > 0:
            z[out[start + b - 1]] = 1
        row, best, highest = b * (b - 1) // 2, np.int64(0), -np.inf
        triple = trisibling + c * (c - 1) * (c - 2) // 6 + row
        for a in range(b):
            value = table[place + row + a]
            if trisibling >= 0 and c > 0:
                value += scores[triple + a]
            if value > highest:
                best, highest = a, value
        c, b = b, best
