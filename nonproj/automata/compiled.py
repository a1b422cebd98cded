"""Compiled head automata: the modifiers of one head, chosen by Viterbi over its own candidates.

The sibling automaton scans the candidates on each side outward from the head (Koo et al. 2010, example 1); the
grandparent and sibling automaton does so once for every candidate grandparent (example 3), with ``g(i, k, s, m) =
sibling(i, s, m) + grandparent(k, i, m)``.  Without sibling parts each candidate is chosen for itself.

An arc ``h -> m`` has a score in two automata: ``z_score`` where ``h`` chooses ``m`` as a modifier, and
``grandparent_score`` where ``m`` chooses ``h`` as the grandparent of its own modifiers (``z`` and ``z_up`` in the
paper).  Every split of the arc's score over the two gives the same model on trees; an even one lets a word without
modifiers see the score of its own arc when it chooses its grandparent.

Sets with parts of third order are in `nonproj.automata.third`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.automata.general import FREE, HalfWorkspace, Paths, decode_half, new_paths
from nonproj.automata.third import Third, count_states, decode_third, list_third, table_size
from nonproj.errors import ConfigError
from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.parts.automaton import HeadAutomata
from nonproj.parts.base import PartType
from nonproj.parts.grandparent import list_grandparents
from nonproj.parts.sibling import list_siblings
from nonproj.types import ArcSpace, Float64s, Int8s, Int32s, Int64s, PartSpace

COMPILED = (
    ("arc", "sibling"),
    ("arc", "grandparent"),
    ("arc", "sibling", "grandparent"),
    ("arc", "sibling", "trisibling"),
    ("arc", "sibling", "grandparent", "grandsibling"),
    ("arc", "sibling", "grandparent", "trisibling"),
    ("arc", "sibling", "grandparent", "grandsibling", "trisibling"),
)
"""The sets of part types that these automata are for."""

LANES = 4
"""Grandparents with which the modifiers of a head are chosen at a time."""


class Starts(NamedTuple):
    """Where sibling and grandparent parts lie, int64 each (see the part types); empty where the set has none.

    ``third`` is None in sets without parts of third order, and ``tables`` is None unless the automata are given as
    tables, in place of parts.  None has a type of its own, so kernels are compiled without what is absent.
    """

    sibling: np.ndarray
    grandparent: np.ndarray
    third: Third | None
    tables: HeadAutomata | None = None


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


class TableWorkspace(NamedTuple):
    """Arrays for automata given as tables: of one half-automaton, the paths, and `FREE` for each arc, int8[A]."""

    half: HalfWorkspace
    paths: Paths
    free: np.ndarray


class Workspace(NamedTuple):
    """Arrays for one automaton: ``best`` float64[4 A + 8] or more, ``back`` int32[A + 2], ``gain`` float64[4 A].

    ``tables`` is None unless the automata are given as tables.
    """

    best: np.ndarray
    back: np.ndarray
    gain: np.ndarray
    tables: TableWorkspace | None


def split_scores(scores: Float64s, beta: float, tau: float, grandparents: bool) -> Float64s:
    """Return the copies of the scores of arcs at multipliers of zero, in the order of `SplitScores`, float64[3 A].

    ``beta`` is the tree's share.  In a set with grandparents, ``tau`` of the rest goes to the automaton of the arc's
    head; in others all of it does.

    Examples
    --------
    >>> split_scores(np.array([8.0]), 0.5, 0.75, True)
    array([4., 3., 1.])
    """
    rest = 1.0 - beta
    tau = tau if grandparents else 1.0
    return np.concatenate([scores * beta, scores * (rest * tau), scores * (rest * (1.0 - tau))])


@inlined_kernel
def as_split(copies: Float64s, n_arcs: int) -> SplitScores:
    """Return the copies of the scores of arcs, float64[3 A] or more, as views of each."""
    return SplitScores(copies[:n_arcs], copies[n_arcs : 2 * n_arcs], copies[2 * n_arcs : 3 * n_arcs])


def is_compiled(parts: PartSpace) -> bool:
    """Return whether the automata of this set of part types are compiled."""
    return has_compiled_automata(parts.types)


def has_compiled_automata(types: Sequence[PartType]) -> bool:
    """Return whether the automata of these part types are compiled."""
    return tuple(part_type.name for part_type in types) in COMPILED


def check_decodable(types: Sequence[PartType]) -> None:
    """Raise `ConfigError` if nothing decodes these part types: they have automata neither compiled nor as tables.

    Examples
    --------
    >>> from nonproj.parts.registry import part_set
    >>> check_decodable(part_set(["arc", "trisibling"]))
    """
    tables = all(type(part_type).automata is not PartType.automata for part_type in types)
    if not tables and not has_compiled_automata(types):
        names, known = ",".join(part_type.name for part_type in types), "; ".join(map(",".join, COMPILED))
        raise ConfigError("parts", f"there is no decoder for {names}; there are for {known}")


def is_third_order(types: Sequence[PartType]) -> bool:
    """Return whether there are parts of third order among these part types."""
    return any(part_type.name in Third._fields for part_type in types)


def compiled_starts(parts: PartSpace) -> Starts:
    """Return where the parts lie, as kernels take it."""
    third = Third(parts.start("grandsibling"), parts.start("trisibling"))
    return Starts(parts.start("sibling"), parts.start("grandparent"), third if any(map(len, third)) else None)


@kernel
def new_workspace(arcs: ArcSpace, starts: Starts) -> Workspace:
    """Return a workspace for the automaton of any head."""
    n_arcs = arcs.head.shape[0]
    size = max(LANES * (n_arcs + 2), table_size(arcs, starts.third))
    tables = _new_table_workspace(arcs, starts.tables)
    return Workspace(np.empty(size), np.empty(n_arcs + 2, np.int32), np.empty(LANES * n_arcs), tables)


@kernel
def _new_table_workspace(arcs: ArcSpace, tables: HeadAutomata | None) -> TableWorkspace | None:
    """Return what automata given as tables need; None if there are none."""
    if tables is None:
        return None
    half, paths = new_paths(arcs, tables)
    return TableWorkspace(half, paths, np.full(arcs.head.shape[0], FREE, np.int8))


HEAD_WORK, GAIN_WORK = 300, 3
"""Time of an automaton beside its Viterbi searches, and of a gain of one candidate, in transitions."""


@kernel
def count_work(arcs: ArcSpace, starts: Starts) -> Int64s:
    """Return the work of decoding each head, int64[N], measured in the time of a Viterbi transition, half a nanosecond.

    It is the number of transitions over both sides, with each grandparent and once more, and what goes with them.
    """
    n_nodes = arcs.start.shape[0] - 1
    counts = np.zeros(n_nodes, np.int64)
    for h in range(n_nodes):
        for q in range(2 * h, 2 * h + 2):
            k = np.int64(arcs.out_start[q + 1] - arcs.out_start[q])
            counts[h] += (k + 1) * (k + 2) // 2 if starts.sibling.shape[0] > 0 else k + 1
        counts[h] += GAIN_WORK * (arcs.out_start[2 * h + 2] - arcs.out_start[2 * h]) + count_states(
            arcs, starts.third, h
        )
        if starts.grandparent.shape[0] > 0 and h > 0:
            counts[h] *= 1 + arcs.start[h + 1] - arcs.start[h]
        counts[h] += HEAD_WORK + _count_moves(starts.tables, h)
    return counts


@kernel
def _count_moves(tables: HeadAutomata | None, h: int) -> int:
    """Return the number of moves that take or skip a candidate of head h; 0 if there are no tables."""
    if tables is None:
        return 0
    return 2 * (tables.move_start[2 * h + 2] - tables.move_start[2 * h])


@kernel
def decode_all_heads(arcs: ArcSpace, starts: Starts, scores: Float64s, split: SplitScores, choice: Choice) -> float:
    """Write the choice of every head; return the sum of their values."""
    work = new_workspace(arcs, starts)
    total = 0.0
    for h in range(arcs.start.shape[0] - 1):
        total += decode_head(arcs, starts, scores, split, h, work, choice)
    return total


@kernel
def tree_value(arcs: ArcSpace, starts: Starts, scores: Float64s, y: Int8s, numbers: Int64s) -> float:
    """Sum the scores of the parts of a tree, given as int8[A]; ``numbers`` int64[8 N] is overwritten.

    With automata given as tables it is the score of their best paths over these arcs, minus infinity if they have none.
    """
    total = _path_value(arcs, starts.tables, scores, y)
    for a in range(y.shape[0]):
        if y[a] == 1:
            total += scores[a]
    count = 0
    if starts.sibling.shape[0] > 0:
        count = list_siblings(arcs, starts.sibling, y, numbers, count)
    if starts.grandparent.shape[0] > 0:
        count = list_grandparents(arcs, starts.grandparent, y, y, numbers, count)
    count = list_third(arcs, starts.third, y, numbers, count)
    for i in range(count):
        total += scores[numbers[i]]
    return total


@kernel
def _path_value(arcs: ArcSpace, tables: HeadAutomata | None, scores: Float64s, y: Int8s) -> float:
    """Return the score of the best paths over the arcs of a tree, without the arcs' own; 0 if there are no tables."""
    if tables is None:
        return 0.0
    total, gain = 0.0, np.zeros(y.shape[0])
    half, paths = new_paths(arcs, tables)
    for q in range(arcs.out_start.shape[0] - 1):
        total += decode_half(arcs, tables, q, gain, y, half, paths)
    return total


@kernel
def decode_head(
    arcs: ArcSpace, starts: Starts, scores: Float64s, split: SplitScores, h: int, work: Workspace, choice: Choice
) -> float:
    """Write head h's choice of modifiers and, in a set with grandparents, of its own head; return its value."""
    return _decode(arcs, starts, starts.third, starts.tables, scores, split, h, work, choice)


@kernel
def _decode_tables(
    arcs: ArcSpace, tables: HeadAutomata, gain: Float64s, h: int, work: TableWorkspace, z: Int8s
) -> float:
    """Decode head h with automata given as tables."""
    value = 0.0
    for q in range(2 * h, 2 * h + 2):
        value += decode_half(arcs, tables, q, gain, work.free, work.half, work.paths)
        for j in range(arcs.out_start[q], arcs.out_start[q + 1]):
            z[arcs.out[j]] = work.paths.z[arcs.out[j]]
    return value


@kernel
def _decode(
    arcs: ArcSpace,
    starts: Starts,
    third: Third | None,
    tables: HeadAutomata | None,
    scores: Float64s,
    split: SplitScores,
    h: int,
    work: Workspace,
    choice: Choice,
) -> float:
    """Decode head h: see `decode_head`; numba compiles only the branch for the types of ``third`` and ``tables``."""
    if tables is not None:
        return _decode_tables(arcs, tables, split.z, h, work.tables, choice.z)
    if third is not None:
        return decode_third(arcs, starts, third, scores, split, h, work, choice)
    return _decode_second(arcs, starts, scores, split, h, work, choice)


@kernel
def _decode_second(
    arcs: ArcSpace, starts: Starts, scores: Float64s, split: SplitScores, h: int, work: Workspace, choice: Choice
) -> float:
    """Decode head h in a set without parts of third order."""
    # Arrays are taken out of their tuples once a head: each time costs a count of references.
    out, out_start, modifier, head = arcs.out, arcs.out_start, arcs.modifier, arcs.head
    sibling_start, z_score, grandparent_score = starts.sibling, split.z, split.grandparent
    best, back, gain, z, z_grandparent = work.best, work.back, work.gain, choice.z, choice.z_grandparent
    first, size = out_start[2 * h], out_start[2 * h + 2] - out_start[2 * h]
    if starts.grandparent.shape[0] == 0 or h == 0:
        for j in range(size):
            gain[j] = z_score[out[first + j]]
        left, right = _choose(scores, sibling_start, out, out_start, h, best, back, gain, z)
        return left + right
    into, end, row = arcs.start[h], arcs.start[h + 1], starts.grandparent[h]
    if into == end:
        for j in range(first, first + size):
            z[out[j]] = 0
        return -np.inf
    highest_arc = into
    if end - into > 1:
        highest = -np.inf
        for a in range(into, end, LANES):
            lanes = min(LANES, end - a)
            for lane in range(lanes):
                z_grandparent[a + lane] = 0
            below, above, part = out[first : first + size], head[a : a + lanes], row + (a - into) * size
            _fill_gains(below, modifier, z_score, above, scores[part : part + lanes * size], gain)
            _fill_values(scores, sibling_start, out_start, h, best, gain)
            for lane in range(lanes):
                value = grandparent_score[a + lane] + best[lane] + best[LANES + lane]
                if value > highest:
                    highest, highest_arc = value, a + lane
    z_grandparent[highest_arc] = 1
    row += (highest_arc - into) * size
    for j in range(size):
        a = out[first + j]
        gain[j] = -np.inf if modifier[a] == head[highest_arc] else z_score[a] + scores[row + j]
    left, right = _choose(scores, sibling_start, out, out_start, h, best, back, gain, z)
    return grandparent_score[highest_arc] + left + right


@inlined_kernel
def _fill_gains(
    candidates: Int32s, modifier: Int32s, z_score: Float64s, grandparents: Int32s, scores: Float64s, gain: Float64s
) -> None:
    """Fill what choosing each candidate modifier is worth under up to four grandparents, the last one repeated.

    ``scores`` are those of the grandparent parts, for each grandparent one for each candidate.
    """
    size, last = candidates.shape[0], grandparents.shape[0] - 1
    b, c, d = min(1, last), min(2, last), min(3, last)
    one, two, three, four = grandparents[0], grandparents[b], grandparents[c], grandparents[d]
    b, c, d = b * size, c * size, d * size
    for j in range(size):
        arc, i = candidates[j], LANES * j
        below, score = modifier[arc], z_score[arc]
        # A grandparent below its grandchild is no tree.
        gain[i] = -np.inf if below == one else score + scores[j]
        gain[i + 1] = -np.inf if below == two else score + scores[b + j]
        gain[i + 2] = -np.inf if below == three else score + scores[c + j]
        gain[i + 3] = -np.inf if below == four else score + scores[d + j]


@inlined_kernel
def _fill_values(
    scores: Float64s, sibling_start: Int64s, out_start: Int32s, h: int, best: Float64s, gain: Float64s
) -> None:
    """Write the values of head h's best choices of modifiers, with four gains of each candidate side by side.

    The first four numbers of ``best`` are for the left side, the next for the right one; they are added one by one.
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


@inlined_kernel
def _sum_gains(size: int, best: Float64s, gain: Float64s) -> None:
    """Write the sums of the positive gains, where there are no siblings; the right side counts as part of the left."""
    one = two = three = four = 0.0
    for j in range(0, size, LANES):
        one, two = one + max(gain[j], 0.0), two + max(gain[j + 1], 0.0)
        three, four = three + max(gain[j + 2], 0.0), four + max(gain[j + 3], 0.0)
    best[0], best[1], best[2], best[3] = one, two, three, four
    best[4] = best[5] = best[6] = best[7] = 0.0


@inlined_kernel
def _viterbi_values(scores: Float64s, part: int, k: int, offset: int, best: Float64s, gain: Float64s) -> None:
    """Return the values of the best paths that `_viterbi` finds, for four gains of each candidate side by side.

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


@inlined_kernel
def _choose(
    scores: Float64s,
    sibling_start: Int64s,
    out: Int32s,
    out_start: Int32s,
    h: int,
    best: Float64s,
    back: Int32s,
    gain: Float64s,
    z: Int8s,
) -> tuple[float, float]:
    """Mark head h's best choice of modifiers; return its values on the left and on the right side."""
    left = right = 0.0
    if sibling_start.shape[0] == 0:
        first = out_start[2 * h]
        for j in range(out_start[2 * h + 2] - first):
            z[out[first + j]] = 1 if gain[j] > 0.0 else 0
            left += max(gain[j], 0.0)
    else:
        for q in range(2 * h, 2 * h + 2):
            k = out_start[q + 1] - out_start[q]
            left = right
            right = _viterbi(scores, sibling_start[q], k, out_start[q] - out_start[2 * h], best, back, gain)
            _trace_back(out, out_start[q], k, back, z)
    return left, right


@inlined_kernel
def _trace_back(out: Int32s, start: int, k: int, back: Int32s, z: Int8s) -> None:
    """Mark the arcs of the best path over k candidates."""
    for j in range(start, start + k):
        z[out[j]] = 0
    b = back[k + 1]
    while b > 0:
        z[out[start + b - 1]] = 1
        b = back[b]


@inlined_kernel
def _viterbi(scores: Float64s, part: int, k: int, offset: int, best: Float64s, back: Int32s, gain: Float64s) -> float:
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
