"""Head automata in general: for each arc the best path that takes it and the best that does not, or all paths together.

Forward and backward over the tables of `nonproj.parts.automaton`, in numpy; the methods of `nonproj_systems.relaxation`
beyond the subgradient method ask for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nonproj.parts.automaton import HeadAutomata, moves
from nonproj.types import ArcSpace


class HalfPaths(NamedTuple):
    """All paths of some half-automata, joined.

    Attributes
    ----------
    values : ndarray of shape (Q,), float64
        All paths of each half-automaton.
    taken, skipped : ndarray of shape (A,), float64
        For each arc the paths of its half-automaton that take it, and those that do not; minus infinity if there are
        none, or the arc is of another half-automaton.
    half : ndarray of shape (A,), int64
        For each arc the place of its half-automaton in ``values``; -1 if it is of another.
    """

    values: np.ndarray
    taken: np.ndarray
    skipped: np.ndarray
    half: np.ndarray

    def others(self) -> np.ndarray:
        """Return for each arc the sum of the values of all half-automata but its own, float64[A]."""
        return self.values.sum() - self.values[self.half]


def joining(temperature: float) -> Callable[..., Any]:
    """Return the function that joins values along an axis: the maximum, or at a temperature the smoothed maximum.

    Examples
    --------
    >>> float(joining(0.0)(np.array([1.0, 2.0]), axis=0)), round(float(joining(1.0)(np.zeros(2), axis=0)), 3)
    (2.0, 0.693)
    """
    return partial(_smoothed_maximum, temperature) if temperature > 0 else np.max


def _smoothed_maximum(temperature: float, values: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Return ``T log(sum(exp(values / T)))``; several times as fast on small arrays as `scipy.special.logsumexp`."""
    highest = values.max(axis=axis, keepdims=True)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    total = np.exp((values - highest) / temperature).sum(axis=axis)
    with np.errstate(divide="ignore"):  # minus infinity where all values are
        return highest.reshape(total.shape) + temperature * np.log(total)


def join_paths(
    arcs: ArcSpace,
    automata: HeadAutomata,
    gain: np.ndarray,
    temperature: float = 0.0,
    halves: Sequence[Any] | None = None,
) -> HalfPaths:
    """Join the paths of half-automata: by their maximum, or at a temperature by ``T log(sum(exp(score / T)))``.

    Parameters
    ----------
    arcs : ArcSpace
    automata : HeadAutomata
        Over these arcs.
    gain : ndarray of shape (A,), float64
        Added where an arc is taken.
    temperature : float
        0 for the maximum.
    halves : sequence of int, optional
        Numbers of half-automata; by default all.

    Notes
    -----
    The forward-backward algorithm, ``O(k |S|^2)`` for a half-automaton of k candidates.  At a temperature the
    derivative of a value by the gain of an arc, the arc's marginal, is ``exp((taken - value) / T)``.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.automaton import head_automata
    >>> arcs = full_arc_space(2)
    >>> free = head_automata(arcs, 1)
    >>> free.take[:] = 0.0
    >>> join_paths(arcs, free, np.array([1.0, -1.0, 2.0, -1.0]), halves=[1])[:3]
    (array([3.]), array([  3., -inf,   3., -inf]), array([  2., -inf,   1., -inf]))
    """
    join = joining(temperature)
    halves = range(len(arcs.out_start) - 1) if halves is None else halves
    values, n_arcs = np.empty(len(halves)), len(arcs.head)
    taken, skipped, half = np.full(n_arcs, -np.inf), np.full(n_arcs, -np.inf), np.full(n_arcs, -1)
    for k, q in enumerate(halves):
        out, states = arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]], slice(*automata.state_start[q : q + 2])
        take, skip = moves(automata, q)
        take = take + gain[out][:, None, None]
        forward, backward = [automata.initial[states]], [automata.final[states]]
        either = join(np.stack([skip, take]), axis=0)
        for step in either:
            forward.append(join(forward[-1][:, None] + step, axis=0))
        for step in either[::-1]:
            backward.append(join(step + backward[-1], axis=1))
        before, after = np.array(forward[:-1]), np.array(backward[-2::-1])
        values[k], half[out] = join(forward[-1] + backward[0], axis=0), k
        if len(out):
            for found, table in ((taken, take), (skipped, skip)):
                found[out] = join(before[:, :, None] + table + after[:, None, :], axis=(1, 2))
    return HalfPaths(values, taken, skipped, half)
