"""Runs of TRW-S: sweeps and decoding until the gap is closed or the bound stalls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nonproj_systems.mrf.model import MRF
from nonproj_systems.mrf.trws import decode, improve, n_messages, sweep
from nonproj_systems.relaxation.trace import Trace

PATIENCE = 10
"""Number of iterations after which a bound stalls if they lower it by less than `PROGRESS` times the gap."""

PROGRESS = 1e-3


@dataclass
class Clock:
    """Processor seconds, and whether they are used up.

    Attributes
    ----------
    seconds : float
        The limit.
    progress : callable, optional
        Called with the bound and value after each iteration of the whole field; an exception that it raises ends all.
    """

    seconds: float = np.inf
    progress: Callable[[float, float], object] | None = None
    began: float = field(default_factory=time.process_time)

    @property
    def spent(self) -> float:
        """Processor seconds so far."""
        return time.process_time() - self.began

    @property
    def over(self) -> bool:
        """Whether the limit is reached."""
        return self.spent >= self.seconds


@dataclass
class State:
    """Result of message passing.

    Attributes
    ----------
    bound, value : float
        The lowest bound and the best score.
    labels : ndarray of shape (V,), int64
    messages : ndarray of float64
    upper : ndarray of shape (S,), float64
        No labels that include the state have a higher score.
    iterations : int
    """

    bound: float
    value: float
    labels: np.ndarray
    messages: np.ndarray
    upper: np.ndarray
    iterations: int = 0

    def closed(self, tolerance: float) -> bool:
        """Return whether the duality gap is closed."""
        return self.bound - self.value <= tolerance * (1.0 + abs(self.value))


def pass_messages(
    whole: MRF,
    clock: Clock,
    *,
    labels: np.ndarray | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-9,
    cutoff: float = -np.inf,
    trace: Trace | None = None,
) -> State:
    """Sweep forwards and backwards and decode, until the gap is closed, the bound stalls, or time is up.

    Parameters
    ----------
    whole : MRF
    clock : Clock
    labels : ndarray of shape (V,), int64, optional
        The best labels known.
    max_iterations : int
        Maximum iterations, of two sweeps each.
    tolerance : float
        The gap counts as closed if it is at most ``tolerance * (1 + |value|)``.
    cutoff : float
        Stop as soon as the bound is not above this.
    trace : Trace, optional
        Bounds and values are added to it.
    """
    graph = whole.graph
    unary, slack = graph.unary, np.empty(len(graph.unary))
    trial = _best_alone(graph)
    labels = trial.copy() if labels is None else labels.copy()
    value = improve(graph, unary, labels)
    state = State(np.inf, value, labels, np.zeros(n_messages(graph)), np.full(len(unary), np.inf))
    bounds = []
    while state.iterations < max_iterations:
        for forward in (True, False):
            before = state.bound
            bound = sweep(graph, unary, state.messages, forward, slack)
            state.bound = min(state.bound, bound)
            if state.iterations > 0:
                np.minimum(state.upper, before - slack, out=state.upper)
        value = decode(graph, unary, state.messages, True, trial)
        if value > state.value:
            state.value, state.labels = value, trial.copy()
        state.iterations += 1
        bounds.append(state.bound)
        if trace is not None:
            columns = (("dual", state.bound), ("primal", value), ("step", 0.0), ("share", 1.0))
            for name, number in (*columns, ("calls", 2 * state.iterations), ("seconds", clock.spent)):
                trace[name].append(number)
            if clock.progress is not None:
                clock.progress(state.bound, state.value)
        best = max(state.value, cutoff)
        if state.closed(tolerance) or state.bound <= cutoff or clock.over:
            break
        if len(bounds) > PATIENCE and bounds[-1 - PATIENCE] - bounds[-1] < PROGRESS * (state.bound - best):
            break
    state.bound = max(state.bound, state.value)
    return state


def _best_alone(graph) -> np.ndarray:
    """Return the best state of each node by its own scores."""
    best = np.repeat(np.maximum.reduceat(graph.unary, graph.first[:-1]), np.diff(graph.first))
    places = np.flatnonzero(graph.unary == best)
    _, firsts = np.unique(np.searchsorted(graph.first, places, side="right") - 1, return_index=True)
    return places[firsts] - graph.first[:-1]
