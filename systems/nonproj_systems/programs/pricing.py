"""Pricing of grandparent parts and separation of violated rows, for `nonproj_systems.programs.column_generation`.

These functions take the values and duals of a solution and return the columns or rows to add; they call no solver.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Float64s, Int32s, Int64s, Uint8s

UNSCORED, SCORED, ADDED = 0, 1, 2
"""States of a grandparent part: only its score's bound is known; its score is known; it has a column, too."""


def promising_parts(slack: np.ndarray, optimistic: np.ndarray, state: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Return grandparent parts whose optimistic reduced cost is positive.

    Parameters
    ----------
    slack : ndarray of shape (N, N), float64
        The dual slack of each arc ``[h, m]``: minus its reduced cost over all its rows except OneGP.
    optimistic : ndarray of shape (N, N, N), float64
        The score of each grandparent part ``[g, h, m]``, or an upper bound; minus infinity where there is no part.
    state : ndarray of shape (N, N, N), uint8
        `UNSCORED`, `SCORED` or `ADDED`.
    floor : ndarray of shape (N, N), float64
        The least dual of each row OneGP that prices out all columns at ``h -> m``: the maximum of their scores less the
        duals of their rows GPArc; minus infinity where there is no column.

    Returns
    -------
    ndarray of shape (C, 3), int32
        If it is empty, the duals extend to a feasible dual solution of the full program, so the optimum of the
        restricted master problem is that of the full program.

    Notes
    -----
    Riedel, Smith and McCallum (2012), sections 4.3.1 and 4.3.3, with one more step.  The dual of OneGP at a part's
    lower arc ``h -> m`` plus the dual of its own row GPArc, at its upper arc ``g -> h``, must be at least its score.
    The right-hand sides of these rows are zero, so their duals leave the dual objective unchanged; only the slack of
    each arc limits them: it must cover the arc's dual of OneGP plus the duals of GPArc of all parts below the arc.  The
    dual of OneGP is set first (the paper's tightened duals), to what the best part at the arc requires or, if that is
    more than the slack, to the slack.  If the best part is within the slack, no part at the arc has a positive reduced
    cost (the paper's filter by ``p, c``), and the rest of the slack covers duals of GPArc below the arc.  Where it does
    not cover them all, the parts that require most are returned, until it covers the others.

    Examples
    --------
    >>> optimistic = np.full((3, 3, 3), -np.inf)
    >>> optimistic[0, 1, 2], optimistic[0, 2, 1] = 5.0, 1.0
    >>> slack, floor = np.full((3, 3), 2.0), np.full((3, 3), -np.inf)
    >>> promising_parts(slack, optimistic, np.zeros((3, 3, 3), np.uint8), floor)
    array([[0, 1, 2]], dtype=int32)
    """
    return _promising_parts(slack, optimistic, state, floor)


def violated_arc_gp(arc_values: np.ndarray, state: np.ndarray, tolerance: float) -> np.ndarray:
    """Return grandparent parts without a column whose rows ArcGP are violated, int32[C, 3]: words ``(g, h, m)``.

    Parameters
    ----------
    arc_values : ndarray of shape (N, N), float64
        The value of each arc ``[h, m]`` in the solution.
    state : ndarray of shape (N, N, N), uint8
        As for `promising_parts`.
    tolerance : float
        Minimum excess of the sum of both arcs' values over 1 (Riedel et al. 2012, section 4.4).

    Examples
    --------
    >>> arc_values = np.array([[0.0, 1.0, 0.4], [0.0, 0.0, 0.6], [0.0, 0.0, 0.0]])
    >>> violated_arc_gp(arc_values, np.zeros((3, 3, 3), np.uint8), 1e-6)
    array([[0, 1, 2]], dtype=int32)
    """
    return _violated_arc_gp(arc_values, state, float(tolerance))


def violated_cutsets(arc_values: np.ndarray, tolerance: float) -> np.ndarray:
    """Return sets of words whose cutset row is violated: the values of the arcs that enter the set sum to less than 1.

    Parameters
    ----------
    arc_values : ndarray of shape (N, N), float64
        The value of each arc ``[h, m]`` in the solution, at least 0.
    tolerance : float
        Minimum violation.

    Returns
    -------
    ndarray of shape (C, N), bool
        The members of each set; none if the solution is in the arborescence polytope.  Separation is by a maximum flow
        from the root to each word that is in no set yet (Magnanti and Wolsey 1995, "Optimal trees").

    Examples
    --------
    >>> violated_cutsets(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), 1e-6)
    array([[False,  True,  True]])
    """
    sets = np.zeros(arc_values.shape, np.bool_)
    count = _violated_cutsets(arc_values, float(tolerance), sets)
    return np.unique(sets[:count], axis=0) if count > 1 else sets[:count]


@kernel
def _promising_parts(slack: Float64s, optimistic: Float64s, state: Uint8s, floor: Float64s) -> Int32s:
    """Compute the result of `promising_parts`."""
    n_nodes = slack.shape[0]
    best = floor.copy()
    for g in range(n_nodes):
        for h in range(1, n_nodes):
            for m in range(1, n_nodes):
                if state[g, h, m] != ADDED:
                    best[h, m] = max(best[h, m], optimistic[g, h, m])
    found = np.empty((64, 3), np.int32)
    required = np.empty(n_nodes)
    count = 0
    for g in range(n_nodes):
        for h in range(1, n_nodes):
            if g == h:
                continue
            # The slack of g -> h that the dual of its own row OneGP, if it has one, leaves to rows GPArc below the arc.
            left = max(0.0, slack[g, h] - (best[g, h] if best[g, h] > -np.inf else 0.0))
            total = 0.0
            for m in range(1, n_nodes):
                required[m] = 0.0
                if best[h, m] > slack[h, m] and state[g, h, m] != ADDED:
                    required[m] = max(0.0, optimistic[g, h, m] - slack[h, m])
                    total += required[m]
            while total > left:
                most = 1
                for m in range(2, n_nodes):
                    if required[m] > required[most]:
                        most = m
                if count == found.shape[0]:
                    found = np.concatenate((found, np.empty_like(found)))
                found[count, 0], found[count, 1], found[count, 2] = g, h, most
                count += 1
                required[most] = 0.0
                # Recomputed rather than reduced, because a bound may be infinite.
                total = required[1:].sum()
    return found[:count].copy()


@kernel
def _violated_arc_gp(arc_values: Float64s, state: Uint8s, tolerance: float) -> Int32s:
    """Compute the result of `violated_arc_gp`."""
    n_nodes = arc_values.shape[0]
    found = np.empty((n_nodes * n_nodes, 3), np.int32)
    count = 0
    for h in range(1, n_nodes):
        for g in range(n_nodes):
            upper = arc_values[g, h]
            if upper > tolerance:
                for m in range(1, n_nodes):
                    lower = arc_values[h, m]
                    violated = upper + lower > 1.0 + tolerance and lower > tolerance
                    if violated and m != g and state[g, h, m] != ADDED and count < found.shape[0]:
                        found[count, 0], found[count, 1], found[count, 2] = g, h, m
                        count += 1
    return found[:count].copy()


@kernel
def _find_augmenting_path(capacity: Float64s, flow: Float64s, target: int, parent: Int64s, queue: Int64s) -> None:
    """Write shortest residual paths from the root into ``parent``, breadth first; stop when the target is reached."""
    n_nodes = capacity.shape[0]
    parent[:] = -1
    parent[0] = 0
    queue[0] = 0
    first, last = 0, 1
    while first < last and parent[target] < 0:
        v = queue[first]
        first += 1
        for w in range(1, n_nodes):
            if parent[w] < 0 and capacity[v, w] - flow[v, w] + flow[w, v] > 1e-9:
                parent[w] = v
                queue[last] = w
                last += 1


@kernel
def _augment(capacity: Float64s, flow: Float64s, target: int, parent: Int64s) -> float:
    """Augment the flow along the path to the target by its residual capacity; return this capacity."""
    residual = np.inf
    w = target
    while w != 0:
        v = parent[w]
        residual = min(residual, capacity[v, w] - flow[v, w] + flow[w, v])
        w = v
    w = target
    while w != 0:
        v = parent[w]
        back = min(residual, flow[w, v])
        flow[w, v] -= back
        flow[v, w] += residual - back
        w = v
    return residual


@kernel
def _violated_cutsets(arc_values: Float64s, tolerance: float, sets: Bools) -> int:
    """Write the sets of `violated_cutsets`, possibly with duplicates; return their number."""
    n_nodes = arc_values.shape[0]
    count = 0
    flow = np.empty((n_nodes, n_nodes))
    queue = np.empty(n_nodes, np.int64)
    parent = np.empty(n_nodes, np.int64)
    covered = np.zeros(n_nodes, np.bool_)
    for target in range(1, n_nodes):
        if covered[target]:
            continue
        flow[:, :] = 0.0
        total = 0.0
        while total < 1.0 - tolerance:
            _find_augmenting_path(arc_values, flow, target, parent, queue)
            if parent[target] < 0:
                # The words that no residual path reaches are the sink side of a minimum cut.
                for w in range(n_nodes):
                    sets[count, w] = parent[w] < 0
                    covered[w] |= parent[w] < 0
                count += 1
                break
            total += _augment(arc_values, flow, target, parent)
    return count
