"""Compiled head automata of second order: modifiers chosen one after another, under each candidate grandparent.

The sibling automaton scans the candidates on each side outward from the head (Koo et al. 2010, example 1); the
grandparent and sibling automaton does so once for every candidate grandparent (example 3), with ``g(i, k, s, m) =
sibling(i, s, m) + grandparent(k, i, m)``.  Without sibling parts each candidate is chosen for itself.
"""

from __future__ import annotations

import numpy as np

from nonproj.automata.workspace import LANES, Choice, PartStarts, SplitScores, Workspace
from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace, Float64s, Int8s, Int32s, Int64s


@kernel
def decode_second(
    arcs: ArcSpace, starts: PartStarts, scores: Float64s, split: SplitScores, h: int, work: Workspace, choice: Choice
) -> float:
    """Write the best modifiers of head h and, in a set with grandparents, its best head; return their joint value."""
    # Arrays are read from their tuples once per head: each access costs a reference count.
    out, out_start, modifier, head = arcs.out, arcs.out_start, arcs.modifier, arcs.head
    sibling_start, z_score, grandparent_score = starts.sibling, split.z, split.grandparent
    best, back, gain, z, z_grandparent = work.best, work.back, work.gain, choice.z, choice.z_grandparent
    first, size, added = out_start[2 * h], out_start[2 * h + 2] - out_start[2 * h], 0.0
    if starts.grandparent.shape[0] == 0 or h == 0:
        for j in range(size):
            gain[j] = z_score[out[first + j]]
    else:
        into, end, row = arcs.start[h], arcs.start[h + 1], starts.grandparent[h]
        if into == end:
            _skip(out, first, size, z)
            return -np.inf
        highest, highest_arc = -np.inf, into
        if end - into > 1:
            for a in range(into, end, LANES):
                lanes = min(LANES, end - a)
                below, above, part = out[first : first + size], head[a : a + lanes], row + (a - into) * size
                _fill_gains(below, modifier, z_score, above, scores[part : part + lanes * size], gain)
                _fill_values(scores, sibling_start, out_start, h, best, gain)
                for lane in range(lanes):
                    z_grandparent[a + lane] = 0
                    value = grandparent_score[a + lane] + best[lane] + best[LANES + lane]
                    if value > highest:
                        highest, highest_arc = value, a + lane
        z_grandparent[highest_arc] = 1
        added = grandparent_score[highest_arc]
        row += (highest_arc - into) * size
        for j in range(size):
            a = out[first + j]
            gain[j] = -np.inf if modifier[a] == head[highest_arc] else z_score[a] + scores[row + j]
    if sibling_start.shape[0] == 0:
        return added + _choose_each(out, first, size, gain, z)
    left = right = 0.0
    for q in range(2 * h, 2 * h + 2):
        start, k = out_start[q], out_start[q + 1] - out_start[q]
        left, right = right, _viterbi(scores, sibling_start[q], k, start - first, best, back, gain)
        _trace_back(out, start, k, back, z)
    return added + left + right


@kernel
def _fill_gains(
    candidates: Int32s, modifier: Int32s, z_score: Float64s, grandparents: Int32s, scores: Float64s, gain: Float64s
) -> None:
    """Write the gain of each candidate modifier under four grandparents; if there are fewer, the last one is repeated.

    ``scores`` are those of the grandparent parts: for each grandparent, a row of candidates.
    """
    size, last = candidates.shape[0], grandparents.shape[0] - 1
    b, c, d = min(1, last), min(2, last), min(3, last)
    one, two, three, four = grandparents[0], grandparents[b], grandparents[c], grandparents[d]
    b, c, d = b * size, c * size, d * size
    for j in range(size):
        arc, i = candidates[j], LANES * j
        below, score = modifier[arc], z_score[arc]
        # A grandparent cannot be its own grandchild.
        gain[i] = -np.inf if below == one else score + scores[j]
        gain[i + 1] = -np.inf if below == two else score + scores[b + j]
        gain[i + 2] = -np.inf if below == three else score + scores[c + j]
        gain[i + 3] = -np.inf if below == four else score + scores[d + j]


@kernel
def _fill_values(
    scores: Float64s, sibling_start: Int64s, out_start: Int32s, h: int, best: Float64s, gain: Float64s
) -> None:
    """Write the values of head h's best choices of modifiers under four grandparents, whose gains are side by side.

    The first four entries of ``best`` are for the left side, the next four for the right side; the caller adds them.
    """
    if sibling_start.shape[0] == 0:
        _sum_gains(LANES * (out_start[2 * h + 2] - out_start[2 * h]), best, gain)
    else:
        k, offset = out_start[2 * h + 1] - out_start[2 * h], LANES * (out_start[2 * h + 1] - out_start[2 * h])
        one, two, three, four = _viterbi_values(scores, sibling_start[2 * h], k, 0, best, gain)
        k = out_start[2 * h + 2] - out_start[2 * h + 1]
        five, six, seven, eight = _viterbi_values(scores, sibling_start[2 * h + 1], k, offset, best, gain)
        best[0], best[1], best[2], best[3] = one, two, three, four
        best[4], best[5], best[6], best[7] = five, six, seven, eight


@kernel
def _sum_gains(size: int, best: Float64s, gain: Float64s) -> None:
    """Write the sums of the positive gains, where there are no siblings; the right side counts as part of the left."""
    one = two = three = four = 0.0
    for j in range(0, size, LANES):
        one, two = one + max(gain[j], 0.0), two + max(gain[j + 1], 0.0)
        three, four = three + max(gain[j + 2], 0.0), four + max(gain[j + 3], 0.0)
    best[0], best[1], best[2], best[3] = one, two, three, four
    best[4] = best[5] = best[6] = best[7] = 0.0


@kernel
def _viterbi_values(
    scores: Float64s, part: int, k: int, offset: int, best: Float64s, gain: Float64s
) -> tuple[float, float, float, float]:
    """Return the values of the best paths, see `_viterbi`, under four grandparents, whose gains are side by side.

    The four searches do not wait for each other, which makes them three times as fast.
    """
    best[0] = best[1] = best[2] = best[3] = 0.0
    for b in range(1, k + 2):
        score = scores[part]
        one = two = three = four = score
        for a in range(1, b):
            score, i = scores[part + a], LANES * a
            value = best[i] + score
            one = value if value > one else one
            value = best[i + 1] + score
            two = value if value > two else two
            value = best[i + 2] + score
            three = value if value > three else three
            value = best[i + 3] + score
            four = value if value > four else four
        part += b
        if b <= k:
            i = offset + LANES * (b - 1)
            one, two, three, four = one + gain[i], two + gain[i + 1], three + gain[i + 2], four + gain[i + 3]
        i = LANES * b
        best[i], best[i + 1], best[i + 2], best[i + 3] = one, two, three, four
    return one, two, three, four


@kernel
def _choose_each(out: Int32s, first: int, size: int, gain: Float64s, z: Int8s) -> float:
    """Mark the candidates with positive gains, where there are no siblings; return the sum of these gains."""
    total = 0.0
    for j in range(size):
        z[out[first + j]] = 1 if gain[j] > 0.0 else 0
        total += max(gain[j], 0.0)
    return total


@kernel
def _skip(out: Int32s, start: int, k: int, z: Int8s) -> None:
    """Set the marks of k candidates to 0."""
    for j in range(start, start + k):
        z[out[j]] = 0


@kernel
def _trace_back(out: Int32s, start: int, k: int, back: Int32s, z: Int8s) -> None:
    """Mark the arcs of the best path over k candidates."""
    _skip(out, start, k, z)
    b = back[k + 1]
    while b > 0:
        z[out[start + b - 1]] = 1
        b = back[b]


@kernel
def _viterbi(scores: Float64s, part: int, k: int, offset: int, best: Float64s, back: Int32s, gain: Float64s) -> float:
    """Find the best path from START to END over some of k candidates with gains ``gain[offset:]``; return its value."""
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
