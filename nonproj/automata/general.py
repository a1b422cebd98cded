"""Head automata in general: any finite set of states (Koo et al. 2010, section 3, example 2).

The half-automaton ``q = 2 * h + side`` of head ``h`` reads its candidate modifiers outward, those of ``ArcSpace.out``.
At each it either takes the candidate, moving from state ``s`` to ``t`` for the paper's ``g(h, s, t, m)``, or passes it
by, which in the paper leaves the state as it is and costs nothing; here passing has scores of its own, so that an
automaton may also notice what it skips.  Viterbi takes O(k |S|^2) for k candidates.

Arc scores and multipliers are not part of the tables: they are added wherever an arc is taken.  The tables of siblings
and of valency are in `nonproj.automata.tables`, trees come in by `nonproj.dual.oracles`; and
`nonproj.automata.compiled` has the special cases, siblings and grandparents, that the parser uses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.parts.space import _writable
from nonproj.types import ArcSpace

_FREE = -1


class HeadAutomata(NamedTuple):
    """A weighted automaton for each side of each head; minus infinity forbids.

    Attributes
    ----------
    state_start : ndarray of shape (2 * N + 1,), int32
        The states of half-automaton ``q`` are ``state_start[q]:state_start[q + 1]``, counted from 0 within it.
    initial, final : ndarray of shape (states,), float64
        Score of starting and of ending in each state.
    move_start : ndarray of shape (2 * N + 1,), int64
        The moves of ``q`` are ``move_start[q]:move_start[q + 1]``; with ``S`` states, the move from ``s`` to ``t`` at
        the ``j``-th candidate outward is ``move_start[q] + (j * S + s) * S + t``.
    take, skip : ndarray of shape (moves,), float64
        Score of each move when the candidate is taken, the paper's ``g``, and when it is passed by.
    """

    state_start: np.ndarray
    initial: np.ndarray
    final: np.ndarray
    move_start: np.ndarray
    take: np.ndarray
    skip: np.ndarray


class Paths(NamedTuple):
    """The best path of each half-automaton.

    Attributes
    ----------
    chosen : ndarray of shape (A,), int8
        1 where the arc's head took it.
    state : ndarray of shape (A,), int32
        The state that the arc's half-automaton is in after it has read the arc's modifier.
    first : ndarray of shape (2 * N,), int32
        The state that each half-automaton starts in.
    values : ndarray of shape (N,), float64
        The score of each head's paths, both sides; minus infinity where it has none.
    """

    chosen: np.ndarray
    state: np.ndarray
    first: np.ndarray
    values: np.ndarray


class Workspace(NamedTuple):
    """Room for one half-automaton: ``top`` and ``next`` float64[S], ``back`` int32[k * S]."""

    top: np.ndarray
    next: np.ndarray
    back: np.ndarray


# -- automata ----------------------------------------------------------------------------------------------------------


def head_automata(arcs: ArcSpace, n_states) -> HeadAutomata:
    """Make automata that take nothing, to be filled by way of `moves`.

    They start in state 0, may end in any state, and pass every candidate by without leaving their state.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    n_states : int or array-like of shape (2 * N,), int
        States of each half-automaton, 1 or more.

    Returns
    -------
    HeadAutomata

    Raises
    ------
    ValueError
        If there are not 2 N numbers of states, or one is below 1.

    Examples
    --------
    The right half-automaton of the root, number 1, may take any one word, for 2 points:

    >>> from nonproj.parts.space import full_arc_space
    >>> arcs = full_arc_space(3)
    >>> automata = head_automata(arcs, 2)
    >>> take, skip = moves(automata, 1)
    >>> take.shape  # candidate, state before, state after
    (3, 2, 2)
    >>> take[:, 0, 1] = 2.0
    >>> best_paths(arcs, automata, np.zeros(9)).values
    array([2., 0., 0., 0.])
    """
    n_halves = len(arcs.out_start) - 1
    sizes = np.asarray(n_states)
    if sizes.ndim == 0:
        sizes = np.full(n_halves, sizes)
    if sizes.shape != (n_halves,) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(f"n_states is {n_states!r}; {n_halves} positive integers are expected, or one for all")
    state_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    move_start = np.concatenate([[0], np.cumsum(np.diff(arcs.out_start) * sizes.astype(np.int64) ** 2)])
    initial, final = np.full(state_start[-1], -np.inf), np.zeros(state_start[-1])
    initial[state_start[:-1]] = 0.0
    take, skip = np.full(move_start[-1], -np.inf), np.full(move_start[-1], -np.inf)
    automata = HeadAutomata(state_start, initial, final, move_start.astype(np.int64), take, skip)
    for q in range(n_halves):
        stay = np.arange(sizes[q])
        moves(automata, q)[1][:, stay, stay] = 0.0
    return automata


def moves(automata: HeadAutomata, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables ``take[j, s, t]`` and ``skip[j, s, t]`` of one half-automaton: views, to be read and written.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space
    >>> take, skip = moves(head_automata(full_arc_space(1), 2), 1)
    >>> take.tolist(), skip.tolist()
    ([[[-inf, -inf], [-inf, -inf]]], [[[0.0, -inf], [-inf, 0.0]]])
    """
    size = int(automata.state_start[q + 1] - automata.state_start[q])
    part = slice(automata.move_start[q], automata.move_start[q + 1])
    return automata.take[part].reshape(-1, size, size), automata.skip[part].reshape(-1, size, size)


# -- decoding ----------------------------------------------------------------------------------------------------------


def best_paths(arcs: ArcSpace, automata: HeadAutomata, scores) -> Paths:
    """Let every head choose for itself: the argmax over Z.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    automata : HeadAutomata
        Over these arcs.
    scores : array-like of shape (A,), float64
        Added where an arc is taken.

    Returns
    -------
    Paths
        Ties go to passing before taking, and to the lowest state.

    Raises
    ------
    ValueError
        If the automata are of other arcs, a score of theirs is NaN or plus infinity, or one of an arc is not finite.

    Notes
    -----
    Koo et al. (2010), equation 3 and section 3, example 2.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space
    >>> arcs = full_arc_space(2)
    >>> automata = head_automata(arcs, 2)
    >>> moves(automata, 1)[0][:, 0, 1] = 0.0  # the root, to the right: one word at most, and no other word has any
    >>> best_paths(arcs, automata, np.array([3.0, 5.0, 4.0, 5.0]))[:2]
    (array([0, 0, 1, 0], dtype=int8), array([0, 0, 1, 0], dtype=int32))
    """
    return _paths(arcs, automata, scores, np.full(len(arcs.head), _FREE, np.int8))


def tree_paths(arcs: ArcSpace, automata: HeadAutomata, scores, heads) -> Paths:
    """Find the best paths on which the automata take the arcs of a tree, and no others.

    The tree's score is the sum of ``values``: minus infinity where an automaton rejects it, or where an arc of it does
    not exist.

    Parameters
    ----------
    arcs, automata, scores
        As for `best_paths`.
    heads : array-like of shape (N,), int
        The tree, ``heads[0] == -1``.

    Returns
    -------
    Paths

    Raises
    ------
    ValueError
        As `best_paths`, or if ``heads`` has another length.

    Notes
    -----
    ``f_i(y|i)`` of Koo et al. (2010), section 3, example 2, is a maximum over the state sequences.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space
    >>> arcs = full_arc_space(2)
    >>> automata = head_automata(arcs, 2)
    >>> moves(automata, 1)[0][:, 0, 1] = 0.0  # the root, to the right: one word at most, and no other word has any
    >>> tree_paths(arcs, automata, np.array([3.0, 5.0, 4.0, 5.0]), [-1, 0, 1]).values  # of the root, 1 and 2
    array([  3., -inf,   0.])
    """
    heads = _writable(heads, np.int32)
    if heads.shape != (len(arcs.start) - 1,):
        raise ValueError(f"heads has shape {heads.shape}; ({len(arcs.start) - 1},) is expected")
    forced = (heads[arcs.modifier] == arcs.head).astype(np.int8)
    paths = _paths(arcs, automata, scores, forced)
    if forced.sum() != len(heads) - 1:
        paths.values[:] = -np.inf
    return paths


def _paths(arcs, automata, scores, forced) -> Paths:
    """Check the automata and decode them all."""
    automata, scores = check_automata(arcs, automata), _check_scores(arcs, scores)
    work, paths = _room(arcs, automata)
    _best_paths(arcs, automata, scores, forced, np.ones(len(paths.values), np.bool_), work, paths)
    return paths


def _room(arcs: ArcSpace, automata: HeadAutomata) -> tuple[Workspace, Paths]:
    """Return what decoding writes to, to be used for as many calls as one likes."""
    n_nodes, n_arcs = len(arcs.start) - 1, len(arcs.head)
    sizes, ks = np.diff(automata.state_start).astype(np.int64), np.diff(arcs.out_start)
    work = Workspace(np.empty(sizes.max()), np.empty(sizes.max()), np.empty((ks * sizes).max(), np.int32))
    chosen, state = np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int32)
    return work, Paths(chosen, state, np.zeros(2 * n_nodes, np.int32), np.zeros(n_nodes))


def check_automata(arcs: ArcSpace, automata: HeadAutomata) -> HeadAutomata:
    """Return automata as kernels want them, or name the array that would make them read beyond it.

    Raises
    ------
    ValueError
        If the automata are of other arcs, or a score is NaN or plus infinity.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space
    >>> check_automata(full_arc_space(2), head_automata(full_arc_space(1), 1))
    Traceback (most recent call last):
        ...
    ValueError: automata.state_start has shape (5,); (7,) is expected over these arcs
    """
    dtypes = (np.int32, np.float64, np.float64, np.int64, np.float64, np.float64)
    checked = HeadAutomata(*[_writable(part, dtype) for part, dtype in zip(automata, dtypes, strict=True)])
    if checked.state_start.shape != arcs.out_start.shape:
        raise ValueError(
            f"automata.state_start has shape {checked.state_start.shape}; {arcs.out_start.shape} is expected over these"
            " arcs"
        )
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


def _check_scores(arcs, scores, name: str = "scores") -> np.ndarray:
    """Return the scores of the arcs, or their multipliers, as kernels want them.

    Trees and automata share them out, and minus infinity has no shares: what is forbidden, an automaton forbids.
    """
    scores = _writable(scores, np.float64)
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


# -- kernels -----------------------------------------------------------------------------------------------------------


@kernel
def _best_paths(arcs, automata, gain, forced, moved, work, paths):
    """Decode the heads that moved; return the sum of all heads' values.

    forced int8[A] is 1 where an arc must be taken, 0 where it must not, -1 where the automaton may choose.
    """
    total = 0.0
    for h in range(moved.shape[0]):
        if moved[h]:
            value = 0.0
            for q in range(2 * h, 2 * h + 2):
                value += _viterbi(arcs, automata, q, gain, forced, work)
                _trace_back(arcs, automata, q, work, paths)
            paths.values[h] = value
        total += paths.values[h]
    return total


@kernel
def _viterbi(arcs, automata, q, gain, forced, work):
    """Fill the table of one half-automaton; return the value of its best path."""
    base, size = automata.state_start[q], automata.state_start[q + 1] - automata.state_start[q]
    top, after, back, take, skip = work.top, work.next, work.back, automata.take, automata.skip
    for s in range(size):  # a loop, as slices that are assigned take seconds to compile
        top[s] = automata.initial[base + s]
    move = automata.move_start[q]
    for j in range(arcs.out_start[q + 1] - arcs.out_start[q]):
        a = arcs.out[arcs.out_start[q] + j]
        for t in range(size):
            passing, taking, from_passing, from_taking = -np.inf, -np.inf, 0, 0
            for s in range(size):
                if top[s] + skip[move + s * size + t] > passing:
                    passing, from_passing = top[s] + skip[move + s * size + t], s
                if top[s] + take[move + s * size + t] > taking:
                    taking, from_taking = top[s] + take[move + s * size + t], s
            taking += gain[a]
            if forced[a] == 1 or (forced[a] != 0 and taking > passing):
                after[t], back[j * size + t] = taking, 2 * from_taking + 1
            else:
                after[t], back[j * size + t] = passing, 2 * from_passing
        for t in range(size):
            top[t] = after[t]
        move += size * size
    best = -np.inf
    for s in range(size):
        top[s] += automata.final[base + s]
        best = max(best, top[s])
    return best


@kernel
def _trace_back(arcs, automata, q, work, paths):
    """Write the best path of the half-automaton whose table was filled last."""
    size = automata.state_start[q + 1] - automata.state_start[q]
    s = 0
    for t in range(1, size):
        if work.top[t] > work.top[s]:
            s = t
    for j in range(arcs.out_start[q + 1] - arcs.out_start[q] - 1, -1, -1):
        a = arcs.out[arcs.out_start[q] + j]
        step = work.back[j * size + s]
        paths.state[a], paths.chosen[a] = s, step & 1
        s = step >> 1
    paths.first[q] = s
