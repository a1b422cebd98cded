"""Head automata in general: any finite set of states, and dual decomposition over them (Koo et al. 2010, example 2).

The half-automaton ``q = 2 * h + side`` of head ``h`` reads its candidate modifiers outward, those of ``ArcSpace.out``.
At each it either takes the candidate, moving from state ``s`` to ``t`` for the paper's ``g(h, s, t, m)``, or passes it
by, which in the paper leaves the state as it is and costs nothing; here passing has scores of its own, so that an
automaton may also notice what it skips.  Viterbi takes O(k |S|^2) for k candidates.

`bigram_automata` are the sibling model (example 1) in this form: the state is the previous sibling.
`valency_automata` count the modifiers on a side.  Arc scores and multipliers are not part of the tables: they are added
wherever an arc is taken.  `nonproj.decode.automata` has the compiled special cases that the parser uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nonproj._kernel import kernel
from nonproj.decode.arborescence import maximum_arborescence_sparse
from nonproj.decode.dual import APPENDIX_A, DEFAULTS, POLYAK, DualOptions
from nonproj.decode.projective import maximum_projective_tree_sparse
from nonproj.lagrange import AppendixA, Decaying, Polyak, Progress, relax
from nonproj.parts import _writable
from nonproj.types import ArcSpace, Decoded, PartIndex

_FREE = -1
_FLOOR = -1e300  # stands for the score of a tree that some automaton rejects: the loop wants a number


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

    >>> from nonproj.parts import full_arc_space
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
    >>> from nonproj.parts import full_arc_space
    >>> take, skip = moves(head_automata(full_arc_space(1), 2), 1)
    >>> take.tolist(), skip.tolist()
    ([[[-inf, -inf], [-inf, -inf]]], [[[0.0, -inf], [-inf, 0.0]]])
    """
    size = int(automata.state_start[q + 1] - automata.state_start[q])
    part = slice(automata.move_start[q], automata.move_start[q + 1])
    return automata.take[part].reshape(-1, size, size), automata.skip[part].reshape(-1, size, size)


def tabulate_automata(
    arcs: ArcSpace, n_states: int, g: Callable[[int, int, int, int], float], final: Callable[[int, int], float]
) -> HeadAutomata:
    """Tabulate automata given as functions, as in the paper: slow, and easy to get right.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    n_states : int
        |S|; the start state is 0.
    g : callable
        ``g(h, s, t, m)``, the score of moving from state ``s`` to ``t`` by taking ``m`` as modifier of ``h``.
    final : callable
        ``final(q, s)``, the score of the half-automaton ``q`` ending in state ``s``.

    Returns
    -------
    HeadAutomata

    Notes
    -----
    Koo et al. (2010), section 3, example 2: gL where ``m < h``, gR where ``m > h``.

    Examples
    --------
    Every word likes an even number of modifiers on each side:

    >>> from nonproj.parts import full_arc_space
    >>> arcs = full_arc_space(3)
    >>> even = tabulate_automata(arcs, 2, lambda h, s, t, m: 0.0 if s != t else -np.inf, lambda q, s: 1.0 - s)
    >>> tree = parse_with_automata(arcs, even, np.array([1.0, 0.0, 0.0] * 3))
    >>> tree.heads, tree.score, tree.certified
    (array([-1,  0,  0,  0], dtype=int32), 10.0, True)
    """
    automata = head_automata(arcs, int(n_states))
    states = range(int(n_states))
    for q in range(len(arcs.out_start) - 1):
        take, _ = moves(automata, q)
        for j, a in enumerate(arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]]):
            m = int(arcs.modifier[a])
            take[j] = [[g(q // 2, s, t, m) for t in states] for s in states]
        automata.final[automata.state_start[q] : automata.state_start[q + 1]] = [final(q, s) for s in states]
    return automata


def bigram_automata(arcs: ArcSpace, index: PartIndex, sibling) -> HeadAutomata:
    """The bigram sibling model: the state is the previous sibling, 0 is START.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    index : PartIndex
        The parts of a sibling model over them.
    sibling : array-like of shape (S,), float64
        The scores of the sibling parts, as in `PartScores`.

    Returns
    -------
    HeadAutomata
        A half-automaton with ``k`` candidates has ``k + 1`` states.

    Notes
    -----
    Koo et al. (2010), section 3, example 1.

    Examples
    --------
    >>> from nonproj.parts import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 1)
    >>> bigram_automata(arcs, index, np.arange(15.0)).final[:5]  # the root, from each state to END; it has no left side
    array([0., 4., 5., 6., 7.])
    """
    n_parts = int(index.sibling_start[-1])
    sibling = np.asarray(sibling, np.float64)
    sizes = np.diff(arcs.out_start) + 1
    if sibling.shape != (n_parts,) or not np.array_equal(np.diff(index.sibling_start), sizes * (sizes + 1) // 2):
        raise ValueError(f"sibling has shape {sibling.shape}; a score for each sibling part over these arcs is expected")
    automata = head_automata(arcs, sizes)
    for q, k in enumerate(np.diff(arcs.out_start)):
        take, _ = moves(automata, q)
        for b in range(1, k + 2):
            part = index.sibling_start[q] + b * (b - 1) // 2
            row = take[b - 1, :b, b] if b <= k else automata.final[automata.state_start[q] :][:b]
            row[:] = sibling[part : part + b]
    return automata


def valency_automata(arcs: ArcSpace, take, stop) -> HeadAutomata:
    """Automata that count: the state is the number of modifiers so far on the side, at most V, which means V or more.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    take : array-like of shape (A, V + 1), float64
        Score of taking each arc when so many modifiers were taken before it.
    stop : array-like of shape (2 * N, V + 1), float64
        Score of each half-automaton having so many modifiers in the end.

    Returns
    -------
    HeadAutomata

    Raises
    ------
    ValueError
        If the shapes are not these.

    Examples
    --------
    No word may have more than one modifier on a side:

    >>> from nonproj.parts import full_arc_space
    >>> arcs = full_arc_space(3)
    >>> automata = valency_automata(arcs, np.zeros((9, 3)), np.tile([0.0, 0.0, -np.inf], (8, 1)))
    >>> parse_with_automata(arcs, automata, np.where(arcs.head == 0, 5.0, arcs.head / 8)).heads
    array([-1,  3,  3,  0], dtype=int32)
    """
    take, stop = np.asarray(take, np.float64), np.asarray(stop, np.float64)
    n_arcs, n_halves = len(arcs.head), len(arcs.out_start) - 1
    size = stop.shape[1] if stop.ndim == 2 else 0
    if size == 0 or stop.shape != (n_halves, size) or take.shape != (n_arcs, size):
        raise ValueError(
            f"take has shape {take.shape} and stop {stop.shape}; ({n_arcs}, V + 1) and ({n_halves}, V + 1) are expected"
        )
    automata = head_automata(arcs, size)
    before = np.arange(size)
    # All half-automata have as many states, so the candidates' tables follow each other as the candidates do.
    automata.take.reshape(n_arcs, size, size)[:, before, np.minimum(before + 1, size - 1)] = take[arcs.out]
    automata.final[:] = stop.ravel()
    return automata
