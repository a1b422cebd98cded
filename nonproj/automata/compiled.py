"""The sets of part types with compiled head automata: their decoding, the value of a tree, and the work of decoding.

An automaton chooses the modifiers of one head by Viterbi over its own candidates: `nonproj.automata.second` for parts
of second order, `nonproj.automata.third` for parts of third order; automata given as tables
(`nonproj.automata.general`) are decoded by the same calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from nonproj.automata.general import decode_half, new_paths
from nonproj.automata.second import decode_second
from nonproj.automata.third import count_states, decode_third, grandsiblings_below, list_third, transition_value
from nonproj.automata.workspace import (
    NO_PARTS,
    Choice,
    PartStarts,
    SplitScores,
    TableWorkspace,
    ThirdOrderStarts,
    Workspace,
    count_transitions,
    new_workspace,
)
from nonproj.errors import ConfigError
from nonproj.kernels.kernel import kernel
from nonproj.parts.automaton import HeadAutomata
from nonproj.parts.base import PartType
from nonproj.parts.grandparent import list_grandparents
from nonproj.parts.sibling import list_siblings
from nonproj.trees.rounding import add
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
"""The sets of part types with compiled automata."""

_NAME = attrgetter("name")


def has_compiled_automata(types: Sequence[PartType]) -> bool:
    """Return whether the automata of these part types are compiled."""
    return tuple(map(_NAME, types)) in COMPILED


def check_decodable(types: Sequence[PartType]) -> None:
    """Raise `ConfigError` if these part types have neither compiled automata nor tables.

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
    """Return whether one of these part types is of third order."""
    return any(part_type.name in ThirdOrderStarts._fields for part_type in types)


def compiled_starts(parts: PartSpace) -> PartStarts:
    """Return the layouts of the parts in the form that kernels expect."""
    starts, none = dict(zip(map(_NAME, parts.types), parts.starts, strict=True)), NO_PARTS
    third = ThirdOrderStarts(starts.get("grandsibling", none), starts.get("trisibling", none))
    of_third = third if len(third.grandsibling) or len(third.trisibling) else None
    return PartStarts(starts.get("sibling", none), starts.get("grandparent", none), of_third)


HEAD_WORK, GAIN_WORK = 300, 3
"""Work of decoding a head outside its Viterbi searches, and of a candidate's gain, in transitions."""


@kernel
def count_work(arcs: ArcSpace, starts: PartStarts) -> Int64s:
    """Return the work of decoding each head, int64[N], in Viterbi transitions, which take half a nanosecond.

    Transitions of both sides count once, and once per candidate grandparent if there are grandparent parts.
    """
    n_nodes = arcs.start.shape[0] - 1
    counts = np.zeros(n_nodes, np.int64)
    for h in range(n_nodes):
        for q in range(2 * h, 2 * h + 2):
            k = np.int64(arcs.out_start[q + 1] - arcs.out_start[q])
            counts[h] += (k + 1) * (k + 2) // 2 if starts.sibling.shape[0] > 0 else k + 1
        counts[h] += GAIN_WORK * (arcs.out_start[2 * h + 2] - arcs.out_start[2 * h])
        counts[h] += count_states(arcs, starts.third, h)
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
def decode_all_heads(arcs: ArcSpace, starts: PartStarts, scores: Float64s, split: SplitScores, choice: Choice) -> float:
    """Write the best choice of every head; return the sum of the values."""
    work = new_workspace(arcs, starts)
    total = 0.0
    for h in range(arcs.start.shape[0] - 1):
        total += decode_head(arcs, starts, scores, split, h, work, choice)
    return total


@kernel
def tree_value(arcs: ArcSpace, starts: PartStarts, scores: Float64s, y: Int8s, numbers: Int64s) -> float:
    """Return the score of the tree marked in ``y``, int8[A], correct to the last bit or two."""
    total, lost = _add_parts(arcs, starts, scores, y, numbers)
    return total + lost


@kernel
def _add_parts(arcs: ArcSpace, starts: PartStarts, scores: Float64s, y: Int8s, numbers: Int64s) -> tuple[float, float]:
    """Sum the scores of the parts of the tree marked in ``y``, int8[A]; return the sum and its rounding error.

    Automata given as tables add the scores of their best paths over these arcs, minus infinity without such a path.
    ``numbers`` int64[9 N] is overwritten.
    """
    total, lost = _path_value(arcs, starts.tables, y), 0.0
    if total == -np.inf:
        return total, lost
    for a in range(y.shape[0]):
        if y[a] == 1:
            total, lost = add(total, lost, scores[a])
    count = 0
    if starts.sibling.shape[0] > 0:
        count = list_siblings(arcs, starts.sibling, y, numbers, count)
    if starts.grandparent.shape[0] > 0:
        count = list_grandparents(arcs, starts.grandparent, y, y, numbers, count)
    count = list_third(arcs, starts.third, y, numbers, count)
    for i in range(count):
        total, lost = add(total, lost, scores[numbers[i]])
    return total, lost


@kernel
def score_tree(arcs: ArcSpace, starts: PartStarts, scores: Float64s, heads: Int32s) -> tuple[float, bool]:
    """Return the score of a tree, int32[N], and whether its sum is exact."""
    y, numbers = np.zeros(arcs.head.shape[0], np.int8), np.empty(9 * heads.shape[0], np.int64)
    for a in range(y.shape[0]):
        y[a] = 1 if heads[arcs.modifier[a]] == arcs.head[a] else 0
    total, lost = _add_parts(arcs, starts, scores, y, numbers)
    return total + lost, lost == 0.0


@kernel
def entering_arcs(arcs: ArcSpace, heads: Int32s) -> Int64s:
    """Return the arc into each word of a tree, int64[N]; 0 for the root."""
    entering = np.zeros(heads.shape[0], np.int64)
    for a in range(arcs.head.shape[0]):
        if heads[arcs.modifier[a]] == arcs.head[a]:
            entering[arcs.modifier[a]] = a
    return entering


@kernel
def is_below(heads: Int32s, word: int, m: int) -> bool:
    """Return whether a node of a tree is m or below it."""
    while word > 0 and word != m:
        word = heads[word]
    return word == m


@kernel
def head_value(arcs: ArcSpace, starts: PartStarts, scores: Float64s, entering: Int64s, h: int) -> float:
    """Return the scores of the arcs from a head, and of all other parts that its automaton sees.

    ``entering`` int64[N] has the arc into each word, -1 for a word outside the tree.
    """
    total, first, size = 0.0, arcs.out_start[2 * h], arcs.out_start[2 * h + 2] - arcs.out_start[2 * h]
    above = entering[h] - arcs.start[h] if starts.grandparent.shape[0] > 0 and h > 0 else np.int64(-1)
    below = grandsiblings_below(arcs, starts.third, entering, h)
    for q in range(2 * h, 2 * h + 2):
        r, s, k = np.int64(0), np.int64(0), np.int64(arcs.out_start[q + 1] - arcs.out_start[q])
        for m in range(1, k + 2):
            if m <= k:
                a = arcs.out[arcs.out_start[q] + m - 1]
                if entering[arcs.modifier[a]] != a:
                    continue
                total += scores[a]
                if above >= 0:
                    total += scores[starts.grandparent[h] + above * size + arcs.out_start[q] - first + m - 1]
            if starts.sibling.shape[0] > 0:
                total += scores[starts.sibling[q] + m * (m - 1) // 2 + s]
                total += transition_value(starts.third, scores, q, below, r, s, m)
            r, s = s, m
        below += count_transitions(k)
    return total


@kernel
def _path_value(arcs: ArcSpace, tables: HeadAutomata | None, y: Int8s) -> float:
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
    arcs: ArcSpace, starts: PartStarts, scores: Float64s, split: SplitScores, h: int, work: Workspace, choice: Choice
) -> float:
    """Write the best modifiers of head h and, in a set with grandparents, its best head; return their joint value."""
    return _decode(arcs, starts, starts.third, scores, split, h, work, choice)


@kernel
def _is_given(tables: TableWorkspace | None) -> bool:
    """Return whether automata are given as tables."""
    return tables is not None


@kernel
def _decode_tables(arcs: ArcSpace, tables: TableWorkspace | None, gain: Float64s, h: int, z: Int8s) -> float:
    """Decode head h with automata given as tables, if there are any; return its value, else 0."""
    value = 0.0
    if tables is None:
        return value
    for q in range(2 * h, 2 * h + 2):
        value += decode_half(arcs, tables.automata, q, gain, tables.free, tables.half, tables.paths)
        for j in range(arcs.out_start[q], arcs.out_start[q + 1]):
            z[arcs.out[j]] = tables.paths.z[arcs.out[j]]
    return value


@kernel
def _decode(
    arcs: ArcSpace,
    starts: PartStarts,
    third: ThirdOrderStarts | None,
    scores: Float64s,
    split: SplitScores,
    h: int,
    work: Workspace,
    choice: Choice,
) -> float:
    """Decode head h: see `decode_head`; numba compiles only the branch for the type of ``third``."""
    if _is_given(work.tables):
        return _decode_tables(arcs, work.tables, split.z, h, choice.z)
    if third is not None:
        return decode_third(arcs, starts, third, scores, split, h, work, choice)
    return decode_second(arcs, starts, scores, split, h, work, choice)
