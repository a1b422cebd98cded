"""Dual decomposition over forests by the subgradient method, compiled: equal, step by step, to the library's loop.

An iteration costs one pass over each forest and over the nodes; the library's own loop would make arrays of all copies
of all states a dozen times.  Rush and Collins (2012), section 6.2.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s
from nonproj_systems.mrf.cover import Forests, make_forests
from nonproj_systems.mrf.model import MRF, Graph
from nonproj_systems.mrf.oracles import max_product
from nonproj_systems.mrf.trws import improve
from nonproj_systems.relaxation.solver import AGREED, CLOSED, EARLY, LIMIT, Limits, RelaxationResult
from nonproj_systems.relaxation.steps import Progress


def decompose(
    field: MRF,
    cover: list[np.ndarray],
    rule: Callable[[Progress], float],
    limits: Limits = Limits(),  # noqa: B008
    callback: Callable[[RelaxationResult], object] | None = None,
) -> RelaxationResult:
    """Return the result of ``solve(make_problem(field, cover), Subgradient(rule), repair=local_search(field))``.

    Without calls, averages, disputes and multipliers; the copies' scores at the end stand in for the multipliers.

    Parameters
    ----------
    field : MRF
    cover : list of ndarray
        The edges of each forest; see `nonproj_systems.mrf.cover`.
    rule : callable
        A step rule of `nonproj_systems.relaxation.steps`.
    limits : Limits
    callback : callable, optional
        Called with the result after each iteration; the run ends if it returns something true.

    Raises
    ------
    ValueError
        If the rule returns a step that is not finite, as `Polyak` without a primal value.

    Examples
    --------
    >>> from nonproj_systems.relaxation.steps import Decaying
    >>> from nonproj_systems.mrf.cover import spanning_forests
    >>> triangle = MRF([[0.0, 3.0], [2.0, 0.0], [1.0, 0.0]], [[0, 1], [1, 2], [0, 2]], np.eye(2))
    >>> found = decompose(triangle, spanning_forests(triangle), Decaying(1.0))
    >>> found.primal_value, found.status, found.solution.tolist()
    (7.0, 'agreed', [1, 0, 0])
    """
    graph, forests, rule = field.graph, make_forests(field, cover), copy.deepcopy(rule)
    scores, best = np.zeros(forests.copy[-1]), np.empty(forests.copy[-1])
    labels, began = np.empty(len(forests.node), np.int64), time.process_time()
    result, last_gain, grace = RelaxationResult(), 0, limits.grace
    first_position = np.flatnonzero(forests.reference == np.arange(len(forests.node)))
    order = np.argsort(forests.node[first_position])
    for k in range(limits.max_iterations):
        rounded = float(_evaluate(graph, forests, scores, best, labels))
        dual = rounded + field.rounding_error(k)
        squared_norm = float(_disagreement(forests, labels))
        solution = labels[first_position[order]]
        improve(graph, graph.unary, solution)
        primal = field.score(solution)
        gains, stalled = primal > result.primal_value, dual >= result.dual_bound
        if gains or k == 0 or squared_norm == 0:
            result.solution, result.primal_value = solution, primal
        result.dual_bound = min(result.dual_bound, dual)
        last_gain = k if gains or not stalled else last_gain
        result.agreed = squared_norm == 0 and primal > -np.inf
        result.certified = result.certified or result.agreed
        result.iterations = k + 1
        values = (dual, primal, 0.0, 1.0, (k + 1) * (len(forests.begin) - 1), time.process_time() - began)
        for name, value in zip(("dual", "primal", "step", "share", "calls", "seconds"), values, strict=True):
            result.trace[name].append(value)
        result.calls, high = values[4], result.primal_value
        if squared_norm == 0:
            result.status = AGREED
            break
        if high > -np.inf and result.dual_bound - high <= limits.tolerance * (1 + abs(high)):
            result.certified, grace = True, grace - 1
        result.status = _ended(result, limits, grace, k - last_gain)
        if (callback is not None and callback(result)) or result.status:
            break
        size = rule(Progress(rounded, primal, high, stalled, squared_norm))
        if not np.isfinite(size):
            raise ValueError(f"the step rule returned {size}; a finite step is expected")
        result.trace.step[-1] = size
        _step(forests, labels, size, scores)
    result.status = result.status or (CLOSED if result.certified else LIMIT)
    result.multipliers, result.dual_bound = scores, max(result.dual_bound, result.primal_value)
    return result


def _ended(result: RelaxationResult, limits: Limits, grace: int, idle: int) -> str:
    """Return how the run has ended; the empty string if it has not."""
    if grace < 0:
        return CLOSED
    if result.calls >= limits.max_calls or result.trace.seconds[-1] >= limits.seconds:
        return CLOSED if result.certified else LIMIT
    if limits.patience and idle >= limits.patience:
        return CLOSED if result.certified else EARLY
    return ""


@kernel
def _evaluate(graph: Graph, forests: Forests, scores: Float64s, best: Float64s, labels: Int64s) -> float:
    """Return the dual, and write the labels of all positions."""
    total = 0.0
    for f in range(forests.begin.shape[0] - 1):
        p, q = forests.begin[f], forests.begin[f + 1]
        a, b = forests.copy[p], forests.copy[q]
        total += max_product(graph, forests, f, scores[a:b], best[a:b], labels[p:q])
    return total


@kernel
def _disagreement(forests: Forests, labels: Int64s) -> int:
    """Return the squared norm of the subgradient: two for each position whose label is not that of its reference."""
    total = 0
    for p in range(labels.shape[0]):
        total += 2 * (labels[p] != labels[forests.reference[p]])
    return total


@kernel
def _step(forests: Forests, labels: Int64s, size: float, scores: Float64s) -> None:
    """Move the multipliers of all positions whose labels differ from those of their references."""
    for p in range(labels.shape[0]):
        r = forests.reference[p]
        if labels[p] != labels[r]:
            scores[forests.copy[p] + labels[p]] -= size
            scores[forests.copy[p] + labels[r]] += size
            scores[forests.copy[r] + labels[r]] -= size
            scores[forests.copy[r] + labels[p]] += size
