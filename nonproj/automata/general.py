"""Head automata in general: any finite set of states, given as tables (Koo et al. 2010, section 3, example 2).

`nonproj.parts.automaton` defines the tables, and part types make them; `nonproj.dual.problem.TablesProblem` joins them
with trees.  Viterbi takes ``O(k |S|^2)`` for k candidates.  `nonproj.automata.compiled` has the parser's special cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import as_array, subset
from nonproj.parts.automaton import HeadAutomata, head_automata, moves
from nonproj.types import ArcSpace, Bools, Float64s, Int8s, Int32s, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FREE = -1


class Paths(NamedTuple):
    """The best path of each half-automaton.

    Attributes
    ----------
    z : ndarray of shape (A,), int8
        1 where the arc's head takes its modifier.
    state : ndarray of shape (A,), int32
        The state of the arc's half-automaton after the arc's modifier.
    first : ndarray of shape (2 * N,), int32
        The initial state of each half-automaton.
    values : ndarray of shape (N,), float64
        The score of each head's paths, both sides; minus infinity if it has none.
    """

    z: np.ndarray
    state: np.ndarray
    first: np.ndarray
    values: np.ndarray


class HalfWorkspace(NamedTuple):
    """Arrays for one half-automaton: ``top`` and ``next`` float64[S], ``back`` int32[k * S]."""

    top: np.ndarray
    next: np.ndarray
    back: np.ndarray


def general_automata(parts: PartSpace, scores: np.ndarray) -> HeadAutomata:
    """Return the automata of a set of part types: the product of those of its types.

    Parameters
    ----------
    parts : PartSpace
    scores : ndarray of shape (P,), float64
        The scores of all parts; those of arcs are not part of the tables.

    Raises
    ------
    NotImplementedError
        If a type of the set has no automata in general form.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> general_automata(parts, np.arange(19.0)).final[:5]  # the root, from each state to END; it has no left side
    array([ 4.,  8.,  9., 10., 11.])
    """
    tables = [
        part_type.automata(parts.arcs, start, scores)
        for part_type, start in zip(parts.types, parts.starts, strict=True)
    ]
    tables = [table for table in tables if table is not None]
    if not tables:
        automata = head_automata(parts.arcs, 1)
        automata.take[:] = 0.0
        return automata
    automata = tables[0]
    for table in tables[1:]:
        automata = product(parts.arcs, automata, table)
    return automata


def product(arcs: ArcSpace, one: HeadAutomata, other: HeadAutomata) -> HeadAutomata:
    """Return the product of automata: its states are pairs of their states, its scores sums of their scores.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> arcs = full_arc_space(2)
    >>> product(arcs, head_automata(arcs, 2), head_automata(arcs, 3)).state_start
    array([ 0,  6, 12, 18, 24, 30, 36], dtype=int32)
    """
    sizes = np.diff(one.state_start), np.diff(other.state_start)
    automata = head_automata(arcs, sizes[0] * sizes[1])
    for q, (rows, columns) in enumerate(zip(*sizes, strict=True)):
        size = rows * columns
        for mine, left, right in zip(moves(automata, q), moves(one, q), moves(other, q), strict=True):
            mine[:] = (left[:, :, None, :, None] + right[:, None, :, None, :]).reshape(-1, size, size)
        begin = automata.state_start[q]
        for name in ("initial", "final"):
            left = getattr(one, name)[one.state_start[q] :][:rows]
            right = getattr(other, name)[other.state_start[q] :][:columns]
            getattr(automata, name)[begin : begin + size] = (left[:, None] + right[None]).reshape(-1)
    return automata


def best_paths(arcs: ArcSpace, automata: HeadAutomata, scores: ArrayLike) -> Paths:
    """Return the best path of every head, whatever the others choose: the argmax over Z.

    Parameters
    ----------
    arcs : ArcSpace
        The candidate arcs.
    automata : HeadAutomata
        Over these arcs.
    scores : array-like of shape (A,), float64
        Added where an arc is taken.

    Returns
    -------
    Paths
        Ties go to skipping before taking, and to the lowest state.

    Raises
    ------
    ValueError
        If the automata are for other arcs, one of their scores is NaN or plus infinity, or an arc's is not finite.

    Notes
    -----
    Koo et al. (2010), equation 3 and section 3, example 2.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> arcs = full_arc_space(2)
    >>> automata = head_automata(arcs, 2)
    >>> moves(automata, 1)[0][:, 0, 1] = 0.0  # the root, to the right: one word at most, and no other word has any
    >>> best_paths(arcs, automata, np.array([3.0, 5.0, 4.0, 5.0]))[:2]
    (array([0, 0, 1, 0], dtype=int8), array([0, 0, 1, 0], dtype=int32))
    """
    automata, scores = check_automata(arcs, automata), check_arc_scores(arcs, scores)
    arrays = _path_arrays(arcs, automata)
    work, paths = HalfWorkspace(*arrays[:3]), Paths(*arrays[3:])
    free, every = np.full(len(arcs.head), FREE, np.int8), np.ones(len(paths.values), np.bool_)
    decode_paths(arcs, automata, scores, free, every, work, paths)
    return paths


@kernel
def new_paths(arcs: ArcSpace, automata: HeadAutomata) -> tuple[HalfWorkspace, Paths]:
    """Return the arrays that decoding writes to; they can be reused."""
    arrays = _path_arrays(arcs, automata)
    return HalfWorkspace(*arrays[:3]), Paths(*arrays[3:])


@kernel
def _path_arrays(
    arcs: ArcSpace, automata: HeadAutomata
) -> tuple[Float64s, Float64s, Int32s, Int8s, Int32s, Int32s, Float64s]:
    """Return the arrays of `HalfWorkspace` and of `Paths`."""
    n_nodes, n_arcs = arcs.start.shape[0] - 1, arcs.head.shape[0]
    states, steps = np.int64(1), np.int64(0)
    for q in range(2 * n_nodes):
        size = np.int64(automata.state_start[q + 1] - automata.state_start[q])
        states, steps = max(states, size), max(steps, size * (arcs.out_start[q + 1] - arcs.out_start[q]))
    half = np.empty(states), np.empty(states), np.empty(steps, np.int32)
    z, state = np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int32)
    return half + (z, state, np.zeros(2 * n_nodes, np.int32), np.zeros(n_nodes))


def restrict_automata(arcs: ArcSpace, automata: HeadAutomata, keep: np.ndarray) -> HeadAutomata:
    """Return the automata over the arcs to ``keep``, bool[A]; the only arc left into a word is never skipped.

    Moves that skip a removed candidate are merged with the move after them.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space, subset
    >>> arcs, keep = full_arc_space(2), np.array([True, False, True, True])
    >>> free = head_automata(arcs, 1)
    >>> free.take[:] = 1.0
    >>> fewer = restrict_automata(arcs, free, keep)
    >>> best_paths(subset(arcs, keep), fewer, np.full(3, -5.0)).z  # word 1 has only one head left
    array([1, 0, 0], dtype=int8)
    """
    fewer, forced = subset(arcs, keep), np.bincount(arcs.modifier[keep], minlength=len(arcs.start) - 1) == 1
    found = head_automata(fewer, np.diff(automata.state_start))
    found.initial[:] = automata.initial
    for q in range(len(arcs.out_start) - 1):
        out = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]]
        states, before, j = slice(*automata.state_start[q : q + 2]), None, 0
        for a, take, skip in zip(out.tolist(), *moves(automata, q), strict=True):
            if keep[a]:
                mine = moves(found, q)
                mine[0][j], mine[1][j] = _after(before, take), _after(before, skip)
                if forced[arcs.modifier[a]]:
                    mine[1][j] = -np.inf
                before, j = None, j + 1
            elif (np.diag(skip) != 0.0).any() or np.isfinite(skip).sum() > len(skip):  # not the identity
                before = _after(before, skip)
        final = automata.final[states]
        found.final[states] = final if before is None else (before + final).max(axis=1)
    return found


def _after(before: np.ndarray | None, moves: np.ndarray) -> np.ndarray:
    """Return the best scores of two successive moves, float64[S, S]; None stands for the identity."""
    return moves if before is None else (before[:, :, None] + moves).max(axis=1)


def check_automata(arcs: ArcSpace, automata: HeadAutomata) -> HeadAutomata:
    """Return automata with the types that kernels expect; raise an error if an array does not fit the arcs.

    Raises
    ------
    ValueError
        If the automata are for other arcs, or a score is NaN or plus infinity.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> check_automata(full_arc_space(2), head_automata(full_arc_space(1), 1))
    Traceback (most recent call last):
        ...
    ValueError: automata.state_start has shape (5,); (7,) is expected over these arcs
    """
    floats = [as_array(part, np.float64) for part in (automata.initial, automata.final, automata.take, automata.skip)]
    initial, final, take, skip = floats
    starts = as_array(automata.state_start, np.int32), as_array(automata.move_start, np.int64)
    checked = HeadAutomata(starts[0], initial, final, starts[1], take, skip)
    if checked.state_start.shape != arcs.out_start.shape:
        shapes = f"{checked.state_start.shape}; {arcs.out_start.shape}"
        raise ValueError(f"automata.state_start has shape {shapes} is expected over these arcs")
    sizes = np.diff(checked.state_start).astype(np.int64)
    if checked.state_start[0] != 0 or (sizes < 1).any():
        raise ValueError("automata.state_start must rise from 0: each half-automaton has a state at least")
    if not np.array_equal(checked.move_start, np.concatenate([[0], np.cumsum(np.diff(arcs.out_start) * sizes**2)])):
        raise ValueError("automata.move_start is not that of such states over these arcs")
    expected = {"initial": sizes.sum(), "final": sizes.sum(), "take": checked.move_start[-1]}
    expected["skip"] = expected["take"]
    for name, size in expected.items():
        values = getattr(checked, name)
        if values.shape != (size,):
            raise ValueError(f"automata.{name} has shape {values.shape}; ({size},) is expected")
        wrong = ~(values < np.inf)
        if wrong.any():
            place = int(wrong.argmax())
            raise ValueError(f"automata.{name}[{place}] is {values[place]}; numbers or minus infinity are expected")
    return checked


def check_arc_scores(arcs: ArcSpace, scores: ArrayLike, name: str = "scores") -> Float64s:
    """Return the scores of the arcs, or their multipliers, with the type that kernels expect; they must be finite.

    They are split between tree and automata, and minus infinity cannot be split.
    """
    scores = as_array(scores, np.float64)
    if scores.shape != arcs.head.shape:
        raise ValueError(f"{name} has shape {scores.shape}; one score for each of {len(arcs.head)} arcs is expected")
    finite = np.isfinite(scores)
    if not finite.all():
        place = int(finite.argmin())
        raise ValueError(
            f"{name}[{place}] is {scores[place]}; scores of arcs must be finite (forbid an arc by leaving it out, or by"
            " automata whose moves that take it score minus infinity)"
        )
    return scores


@kernel
def decode_paths(
    arcs: ArcSpace,
    automata: HeadAutomata,
    gain: Float64s,
    forced: Int8s,
    moved: Bools,
    work: HalfWorkspace,
    paths: Paths,
) -> float:
    """Decode the heads marked in ``moved``; return the sum of all heads' values.

    forced int8[A] is 1 where an arc must be taken, 0 where it must not, -1 where the automaton may choose.
    """
    total = 0.0
    for h in range(moved.shape[0]):
        if moved[h]:
            value = 0.0
            for q in range(2 * h, 2 * h + 2):
                value += decode_half(arcs, automata, q, gain, forced, work, paths)
            paths.values[h] = value
        total += paths.values[h]
    return total


@kernel
def decode_half(
    arcs: ArcSpace, automata: HeadAutomata, q: int, gain: Float64s, forced: Int8s, work: HalfWorkspace, paths: Paths
) -> float:
    """Write the best path of a half-automaton; return its value.  See `decode_paths`."""
    value = _viterbi(arcs, automata, q, gain, forced, work)
    _trace_back(arcs, automata, q, work, paths)
    return value


@kernel
def _viterbi(
    arcs: ArcSpace, automata: HeadAutomata, q: int, gain: Float64s, forced: Int8s, work: HalfWorkspace
) -> float:
    """Fill the table of one half-automaton; return the value of its best path."""
    base, size = automata.state_start[q], automata.state_start[q + 1] - automata.state_start[q]
    top, after, back, take, skip = work.top, work.next, work.back, automata.take, automata.skip
    for s in range(size):  # a loop, as slices that are assigned take seconds to compile
        top[s] = automata.initial[base + s]
    move = automata.move_start[q]
    for j in range(arcs.out_start[q + 1] - arcs.out_start[q]):
        a = arcs.out[arcs.out_start[q] + j]
        for t in range(size):
            skipping, taking, from_skipping, from_taking = -np.inf, -np.inf, 0, 0
            for s in range(size):
                if top[s] + skip[move + s * size + t] > skipping:
                    skipping, from_skipping = top[s] + skip[move + s * size + t], s
                if top[s] + take[move + s * size + t] > taking:
                    taking, from_taking = top[s] + take[move + s * size + t], s
            taking += gain[a]
            if forced[a] == 1 or (forced[a] != 0 and taking > skipping):
                after[t], back[j * size + t] = taking, 2 * from_taking + 1
            else:
                after[t], back[j * size + t] = skipping, 2 * from_skipping
        for t in range(size):
            top[t] = after[t]
        move += size * size
    best = -np.inf
    for s in range(size):
        top[s] += automata.final[base + s]
        best = max(best, top[s])
    return best


@kernel
def _trace_back(arcs: ArcSpace, automata: HeadAutomata, q: int, work: HalfWorkspace, paths: Paths) -> None:
    """Write the best path of the half-automaton whose table was filled last."""
    size = automata.state_start[q + 1] - automata.state_start[q]
    s = 0
    for t in range(1, size):
        if work.top[t] > work.top[s]:
            s = t
    for j in range(arcs.out_start[q + 1] - arcs.out_start[q] - 1, -1, -1):
        a = arcs.out[arcs.out_start[q] + j]
        step = work.back[j * size + s]
        paths.state[a], paths.z[a] = s, step & 1
        s = step >> 1
    paths.first[q] = s
