"""Head automata as tables: the contribution of a part type to the automaton of a head (Koo et al. 2010, section 3).

The half-automaton ``q = 2 * h + side`` of head ``h`` reads its candidate modifiers outward, those of ``ArcSpace.out``.
At each it either takes the candidate, moving from state ``s`` to ``t`` for the paper's ``g(h, s, t, m)``, or skips it.
In the paper skipping leaves the state unchanged and costs nothing; here it has scores of its own, so that an automaton
may also depend on skipped candidates.  Arc scores and multipliers are not in the tables: decoders add them whenever an
arc is taken.  `nonproj.automata.general` decodes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.parts.arcs import check_count
from nonproj.types import ArcSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class HeadAutomata(NamedTuple):
    """A weighted automaton for each side of each head; a score of minus infinity forbids.

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
        Score of each move when the candidate is taken, the paper's ``g``, and when it is skipped.
    """

    state_start: np.ndarray
    initial: np.ndarray
    final: np.ndarray
    move_start: np.ndarray
    take: np.ndarray
    skip: np.ndarray


def head_automata(arcs: ArcSpace, n_states: ArrayLike) -> HeadAutomata:
    """Make automata that take nothing, to be filled through `moves`.

    They start in state 0, may end in any state, and skip every candidate without leaving their state.  ``n_states``,
    int or int[2 * N], is the number of states of each half-automaton.

    Raises
    ------
    ValueError
        If there are not 2 N numbers of states, or one is below 1; `SizeError` if they have too many moves.

    Examples
    --------
    The right half-automaton of the root, number 1, may take any one word, with score 2:

    >>> from nonproj.parts.arcs import full_arc_space
    >>> arcs = full_arc_space(3)
    >>> automata = head_automata(arcs, 2)
    >>> take, skip = moves(automata, 1)
    >>> take.shape  # candidate, state before, state after
    (3, 2, 2)
    >>> take[:, 0, 1] = 2.0
    >>> from nonproj.automata.general import best_paths
    >>> best_paths(arcs, automata, np.zeros(9)).values
    array([2., 0., 0., 0.])
    """
    n_halves = len(arcs.out_start) - 1
    sizes = np.full(n_halves, n_states) if np.ndim(n_states) == 0 else np.asarray(n_states)
    if sizes.shape != (n_halves,) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(f"n_states is {n_states!r}; {n_halves} positive integers are expected, or one for all")
    lengths = np.diff(arcs.out_start)
    count = (lengths + 1.0) @ (sizes.astype(np.float64) ** 2)  # floating, so that it does not overflow
    check_count(int(count), "states and moves of head automata", len(arcs.start) - 2)
    state_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    move_start = np.concatenate([[0], np.cumsum(lengths * sizes.astype(np.int64) ** 2)])
    initial, final = np.full(state_start[-1], -np.inf), np.zeros(state_start[-1])
    initial[state_start[:-1]] = 0.0
    take, skip = np.full(move_start[-1], -np.inf), np.full(move_start[-1], -np.inf)
    automata = HeadAutomata(state_start, initial, final, move_start.astype(np.int64), take, skip)
    for q in range(n_halves):
        stay = np.arange(sizes[q])
        moves(automata, q)[1][:, stay, stay] = 0.0
    return automata


def moves(automata: HeadAutomata, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables ``take[j, s, t]`` and ``skip[j, s, t]`` of one half-automaton as writable views.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> take, skip = moves(head_automata(full_arc_space(1), 2), 1)
    >>> take.tolist(), skip.tolist()
    ([[[-inf, -inf], [-inf, -inf]]], [[[0.0, -inf], [-inf, 0.0]]])
    """
    size = int(automata.state_start[q + 1] - automata.state_start[q])
    part = slice(automata.move_start[q], automata.move_start[q + 1])
    return automata.take[part].reshape(-1, size, size), automata.skip[part].reshape(-1, size, size)
