"""The most probable labels of a pairwise Markov random field, with a bound: the entry point of this system."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonproj_systems.mrf.cover import rows_and_columns, spanning_forests
from nonproj_systems.mrf.model import MRF
from nonproj_systems.mrf.oracles import labels_of, local_search, make_problem
from nonproj_systems.mrf.trws import decode, improve, n_messages, sweep
from nonproj_systems.relaxation.branch_and_bound import branch_and_bound
from nonproj_systems.relaxation.primal import best_of
from nonproj_systems.relaxation.problem import Problem
from nonproj_systems.relaxation.solver import Limits, solve
from nonproj_systems.relaxation.steps import Decaying, OncePrimal, Polyak
from nonproj_systems.relaxation.subgradient import Subgradient
from nonproj_systems.relaxation.trace import Trace

METHODS = ("trws", "trees")
OPTIMAL, INFEASIBLE, OPEN = "optimal", "infeasible", "open"
"""Status: proven optimal; infeasible; a gap remains."""

PATIENCE, PROGRESS = 10, 1e-3
"""Message passing ends when this number of iterations lowers the bound by less than this share of the gap."""

MAX_NODES = 10**6
"""Maximum number of nodes of branch and bound."""


@dataclass
class Inference:
    """Result of `infer`.

    Attributes
    ----------
    labels : ndarray of shape (V,), int64
        The best labels seen.
    value : float
        Their score; minus infinity if they are forbidden.
    bound : float
        Upper bound on the score of any labels.
    certified : bool
        Whether the labels are proven optimal: the gap is at most ``tolerance * (1 + |value|)``.
    status : str
        ``optimal``, ``infeasible`` (proven: all labels are forbidden) or ``open``.
    iterations : int
        Iterations of message passing (two sweeps each), or of the subgradient method.
    searched : int
        Nodes of branch and bound.
    seconds : float
        Seconds of processor time.
    trace : Trace
        Bounds and values before branch and bound.
    """

    labels: np.ndarray
    value: float
    bound: float
    certified: bool = False
    status: str = OPEN
    iterations: int = 0
    searched: int = 0
    seconds: float = 0.0
    trace: Trace = field(default_factory=Trace)


def infer(
    field: MRF,
    method: str = "trws",
    *,
    exact: bool = False,
    seconds: float = np.inf,
    max_iterations: int = 1000,
    tolerance: float = 1e-9,
) -> Inference:
    """Return the best labels found for a field, an upper bound, and whether the labels are proven optimal.

    Parameters
    ----------
    field : MRF
    method : str
        ``trws``: sequential tree-reweighted message passing.  ``trees``: the subgradient method over spanning trees
        (over rows and columns of a grid).
    exact : bool
        Close a remaining gap by branch and bound over these trees.
    seconds : float
        Processor seconds after which no further step begins.
    max_iterations : int
    tolerance : float

    Raises
    ------
    ValueError
        If the method is unknown.

    Examples
    --------
    >>> from nonproj_systems.mrf.model import grid
    >>> field = grid(np.random.default_rng(0).normal(size=(20, 20, 3)), np.eye(3))
    >>> found = infer(field, exact=True)
    >>> found.status, abs(found.value - field.score(found.labels)) < 1e-9, found.labels.shape
    ('optimal', True, (400,))
    """
    if method not in METHODS:
        raise ValueError(f"the method is {method!r}; one of {', '.join(METHODS)} is expected")
    began, found = time.process_time(), Inference(np.zeros(field.n_nodes, np.int64), -np.inf, np.inf)
    limits = Limits(max_iterations, tolerance, seconds=seconds)
    run = _pass_messages if method == "trws" else _relax
    run(field, found, limits)
    found.bound += field.rounding_error(2 * found.iterations) if method == "trws" else 0.0
    left = seconds - (time.process_time() - began)
    if exact and left > 0.0 and not _closed(found, tolerance):
        _search(field, found, Limits(max_iterations, tolerance, seconds=left))
    if found.value == -np.inf and found.bound < field.lowest:
        found.status, found.bound = INFEASIBLE, -np.inf
    elif _closed(found, tolerance):
        found.status, found.certified = OPTIMAL, True
    found.seconds = time.process_time() - began
    return found


def _closed(found: Inference, tolerance: float) -> bool:
    """Return whether the duality gap is closed."""
    return found.value > -np.inf and found.bound - found.value <= tolerance * (1.0 + abs(found.value))


def _pass_messages(field: MRF, found: Inference, limits: Limits) -> None:
    """Sweep forwards and backwards and decode, until the gap is closed, the bound stalls, or time is up."""
    graph, began = field.graph, time.process_time()
    messages, labels = np.zeros(n_messages(graph)), np.zeros(field.n_nodes, np.int64)
    for i, (a, b) in enumerate(zip(graph.first, graph.first[1:], strict=False)):
        labels[i] = graph.unary[a:b].argmax()
    improve(graph, labels)
    found.labels, found.value = labels.copy(), field.score(labels)
    while found.iterations < limits.max_iterations:
        for forward in (True, False):
            found.bound = min(found.bound, sweep(graph, messages, forward))
        decode(graph, messages, labels)
        value = field.score(labels)
        if value > found.value:
            found.labels, found.value = labels.copy(), value
        found.iterations += 1
        found.bound, spent = max(found.bound, found.value), time.process_time() - began
        row = {"dual": found.bound, "primal": value, "step": 0.0, "share": 1.0, "calls": 2 * found.iterations}
        for name, number in (row | {"seconds": spent}).items():
            found.trace[name].append(number)
        bounds = found.trace.dual[-1 - PATIENCE :]
        gap = found.bound - found.value if found.value > -np.inf else abs(found.bound)
        if _closed(found, limits.tolerance) or spent >= limits.seconds:
            break
        if len(bounds) > PATIENCE and bounds[0] - bounds[-1] < PROGRESS * gap:
            break


def _trees(field: MRF) -> Problem:
    """Return the problem of the rows and columns of a grid, or of spanning trees."""
    return make_problem(field, rows_and_columns(field) if field.shape is not None else spanning_forests(field))


def _method() -> Subgradient:
    return Subgradient(OncePrimal(Polyak(), Decaying(1.0)))


def _relax(field: MRF, found: Inference, limits: Limits) -> None:
    """Run the subgradient method over trees."""
    result = solve(_trees(field), _method(), repair=local_search(field), limits=limits)
    found.labels, found.value, found.bound = result.solution, result.primal_value, result.dual_bound
    found.iterations, found.trace = result.iterations, result.trace


def _search(field: MRF, found: Inference, limits: Limits) -> None:
    """Close the gap by branch and bound over trees."""
    problem = _trees(field)

    def known(_: Any) -> tuple[float, np.ndarray]:
        """Return the score and the labels found before."""
        return found.value, found.labels

    result = branch_and_bound(
        problem,
        _method(),
        repair=best_of(known, local_search(field)),
        limits=limits,
        node_limits=limits._replace(max_iterations=50),
        max_nodes=MAX_NODES,
        seconds=limits.seconds,
    )
    labels = labels_of(field, problem, result.solution) if isinstance(result.solution, tuple) else result.solution
    found.bound, found.searched = min(found.bound, result.dual_bound), result.nodes
    found.labels, found.value = labels, field.score(labels)
