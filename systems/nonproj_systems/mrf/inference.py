"""The most probable labels of a pairwise Markov random field, with a bound: the entry to this system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nonproj_systems.mrf.cover import rows_and_columns, spanning_forests
from nonproj_systems.mrf.decomposition import decompose
from nonproj_systems.mrf.model import MRF
from nonproj_systems.mrf.passing import Clock, pass_messages
from nonproj_systems.mrf.search import Search
from nonproj_systems.relaxation.solver import Limits
from nonproj_systems.relaxation.steps import Decaying, OncePrimal, Polyak
from nonproj_systems.relaxation.trace import Trace

METHODS = ("auto", "trws", "trees")
OPTIMAL, INFEASIBLE, OPEN = "optimal", "infeasible", "open"
"""Status: proven optimal; infeasible; a gap remains."""


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
        No labels have a higher score.
    certified : bool
        Whether the labels are proven optimal: the gap is at most ``tolerance * (1 + |value|)``.
    status : str
        ``optimal``, ``infeasible`` (proven: all labels are forbidden) or ``open``.
    iterations : int
        Iterations of message passing (two sweeps each), or of the subgradient method.
    clusters, branches : int
        Clusters of three nodes that were added; branches of branch and bound.
    seconds : float
        Seconds of processor time.
    trace : Trace
        Bounds and values of the whole field, before clusters and branches.
    """

    labels: np.ndarray
    value: float
    bound: float
    certified: bool = False
    status: str = OPEN
    iterations: int = 0
    clusters: int = 0
    branches: int = 0
    seconds: float = 0.0
    trace: Trace = field(default_factory=Trace)


def infer(
    field: MRF,
    method: str = "auto",
    *,
    exact: bool = False,
    seconds: float = np.inf,
    max_iterations: int = 1000,
    tolerance: float = 1e-9,
    labels=None,
    progress: Callable[[float, float], object] | None = None,
) -> Inference:
    """Return the best labels of a field that can be found, an upper bound, and whether the labels are proven optimal.

    Parameters
    ----------
    field : MRF
    method : str
        ``trws``: sequential tree-reweighted message passing.  ``auto``: the same; then the bound eliminates states,
        the rest is split into connected parts, and parts with a gap are solved by variable elimination or tightened
        by clusters.  ``trees``: the subgradient method over spanning trees (over rows and columns of a grid).
    exact : bool
        Close remaining gaps by branch and bound; needs ``auto``.
    seconds : float
        Processor seconds after which nothing new is begun.
    max_iterations : int
        Maximum iterations of message passing on the whole field, or of the subgradient method.
    tolerance : float
    labels : array-like of shape (V,), int, optional
        Labels to start from, as those of another method.
    progress : callable, optional
        Called with bound and value after each iteration on the whole field.

    Raises
    ------
    ValueError
        If the method is unknown, or ``exact`` is asked of another one than ``auto``.

    Examples
    --------
    >>> from nonproj_systems.mrf.model import grid
    >>> field = grid(np.random.default_rng(0).normal(size=(20, 20, 3)), np.eye(3))
    >>> found = infer(field)
    >>> found.status, abs(found.value - field.score(found.labels)) < 1e-9, found.labels.shape
    ('optimal', True, (400,))
    """
    if method not in METHODS:
        raise ValueError(f"the method is {method!r}; one of {', '.join(METHODS)} is expected")
    if exact and method != "auto":
        raise ValueError(f"the method {method} cannot be exact; auto can")
    if labels is not None:
        field.score(labels)
        labels = np.array(labels, np.int64).reshape(-1)
        if np.isneginf(field.graph.unary[field.graph.first[:-1] + labels]).any():
            labels = None  # no single change leads away from a forbidden state
    clock, found = Clock(seconds, progress), Inference(np.zeros(field.n_nodes, np.int64), -np.inf, np.inf)
    if method == "trees":
        _by_trees(field, found, clock, max_iterations, tolerance)
    else:
        state = pass_messages(
            field, clock, labels=labels, max_iterations=max_iterations, tolerance=tolerance, trace=found.trace
        )
        found.bound, found.value, found.labels, found.iterations = (
            state.bound,
            state.value,
            state.labels,
            state.iterations,
        )
        if method == "auto":
            search = Search(clock, exact=exact, tolerance=tolerance)
            refined = search.refine(field, state)
            found.bound, found.value, found.labels = refined.bound, refined.value, refined.labels
            found.iterations += search.iterations
            found.clusters, found.branches = search.n_clusters, search.branches
    return _concluded(field, found, clock, tolerance)


def _by_trees(field: MRF, found: Inference, clock: Clock, max_iterations: int, tolerance: float) -> None:
    """Run the subgradient method over a cover of the graph."""
    cover = rows_and_columns(field) if field.shape is not None else spanning_forests(field)
    limits = Limits(max_iterations, tolerance, seconds=clock.seconds)

    def callback(result) -> None:
        if clock.progress is not None:
            clock.progress(result.dual_bound, result.primal_value)

    result = decompose(field, cover, OncePrimal(Polyak(), Decaying(1.0)), limits, callback)
    found.bound, found.labels, found.iterations = result.dual_bound, result.solution, result.iterations
    found.value, found.trace = result.primal_value, result.trace


def _concluded(field: MRF, found: Inference, clock: Clock, tolerance: float) -> Inference:
    """Round the bound outward, and set the status, from the score of the labels as the field itself has it."""
    found.value = field.score(found.labels)
    if found.value > -np.inf:
        found.bound = max(found.bound, found.value) + field.rounding_error(2 * found.iterations)
        found.certified = found.bound - found.value <= tolerance * (1.0 + abs(found.value))
        found.status = OPTIMAL if found.certified else OPEN
    elif found.bound < field.lowest:
        found.status, found.bound = INFEASIBLE, -np.inf
    found.seconds = clock.spent
    return found
