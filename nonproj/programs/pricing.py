"""Which columns and rows a program of arcs and chains lacks: pricing, and the separation of two families of rows.

No solver here: values and duals of a program in, what to add to it out.  A *chain* ``g -> h -> m`` is a grandparent
part of three different words.
"""

from __future__ import annotations

import numpy as np

from nonproj._kernel import kernel

UNKNOWN, SCORED, ADDED = 0, 1, 2
"""What is known of a chain: a bound of its score; its score; and it is in the program."""


def promising_chains(limit, worth, state, values) -> np.ndarray:
    """Find the chains outside a program for which its duals do not pay, if their scores are what they are bounded by.

    Parameters
    ----------
    limit : ndarray of shape (N, N), float64
        What the duals leave for the chains at each arc ``h -> m``: the duals of its rows less its score and less the
        duals of the rows that tie chains below it to it.
    worth : ndarray of shape (N, N, N), float64
        The score of each chain ``[g, h, m]`` where it is known, else an upper bound; minus infinity for no chain.
    state : ndarray of shape (N, N, N), uint8
        `UNKNOWN`, `SCORED` or `ADDED`.
    values : ndarray of shape (N, N), float64
        The most that any chain of the program over ``h -> m`` is worth, less the dual of its own row; minus infinity
        where there is none.

    Returns
    -------
    ndarray of shape (C, 3), int32
        If there are none, the duals can be completed so that no reduced cost is positive: the program's optimum is that
        of the program with all chains and all their rows.

    Notes
    -----
    Riedel, Smith and McCallum (2012), sections 4.3.1 and 4.3.3, going further than they do.  The dual of OneGP at a
    chain's lower arc ``h -> m`` and that of its own row GPArc, at the upper arc ``g -> h``, must sum to its score at
    least.  None of these rows has a right-hand side, so all that binds their duals is the limit of each arc: OneGP's
    dual there, and all duals of GPArc below it, must not exceed it together.  OneGP's is raised first (their tightened
    duals), up to the limit, or as far as the best chain over the arc needs it: an arc whose best chain stays within
    the limit is done with (their filter by ``p, c``), and what it leaves is spent on the chains below the arc.  Those
    which it is not enough for are returned, the most demanding first and no more than necessary.

    Examples
    --------
    >>> worth = np.full((3, 3, 3), -np.inf)
    >>> worth[0, 1, 2], worth[0, 2, 1] = 5.0, 1.0
    >>> limit = np.full((3, 3), 2.0)
    >>> promising_chains(limit, worth, np.zeros((3, 3, 3), np.uint8), np.full((3, 3), -np.inf))
    array([[0, 1, 2]], dtype=int32)
    """
    return _promising_chains(limit, worth, state, values)


def missing_chains(arcs, state, tolerance: float) -> np.ndarray:
    """Find chains outside a program that its solution implies: ArcGP is violated for them.

    Parameters
    ----------
    arcs : ndarray of shape (N, N), float64
        The values of the arcs.
    state : ndarray of shape (N, N, N), uint8
        As for `promising_chains`.
    tolerance : float
        By how much the values of two arcs must exceed 1 together.

    Returns
    -------
    ndarray of shape (C, 3), int32
        Riedel et al. (2012), section 4.4.

    Examples
    --------
    >>> arcs = np.array([[0.0, 1.0, 0.4], [0.0, 0.0, 0.6], [0.0, 0.0, 0.0]])
    >>> missing_chains(arcs, np.zeros((3, 3, 3), np.uint8), 1e-6)
    array([[0, 1, 2]], dtype=int32)
    """
    return _missing_chains(arcs, state, float(tolerance))


def starved_sets(arcs, tolerance: float) -> np.ndarray:
    """Find sets of words that less than one unit of arcs enters from outside.

    Parameters
    ----------
    arcs : ndarray of shape (N, N), float64
        The values of the arcs, at least 0.
    tolerance : float
        By how much less than 1.

    Returns
    -------
    ndarray of shape (C, N), bool
        The members of each; none if the values are in the arborescence polytope.  By a maximum flow from the root to
        each word that is in no set yet (Magnanti and Wolsey 1995, "Optimal trees").

    Examples
    --------
    >>> starved_sets(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), 1e-6)
    array([[False,  True,  True]])
    """
    sets = np.zeros(arcs.shape, np.bool_)
    count = _starved_sets(arcs, float(tolerance), sets)
    return np.unique(sets[:count], axis=0) if count > 1 else sets[:count]


@kernel
def _promising_chains(limit, worth, state, values):
    """List what `promising_chains` returns."""
    n_nodes = limit.shape[0]
    top = values.copy()
    for g in range(n_nodes):
        for h in range(1, n_nodes):
            for m in range(1, n_nodes):
                if state[g, h, m] != ADDED:
                    top[h, m] = max(top[h, m], worth[g, h, m])
    found = np.empty((64, 3), np.int32)
    need = np.empty(n_nodes)
    count = 0
    for g in range(n_nodes):
        for h in range(1, n_nodes):
            if g == h:
                continue
            # What the arc g -> h leaves when the chains over it, if there are any, have been paid for.
            spare = limit[g, h] - (top[g, h] if top[g, h] > -np.inf else 0.0)
            total = 0.0
            for m in range(1, n_nodes):
                need[m] = 0.0
                if top[h, m] > limit[h, m] and state[g, h, m] != ADDED:
                    need[m] = max(0.0, worth[g, h, m] - limit[h, m])
                    total += need[m]
            spare = max(spare, 0.0)
            while total > spare:
                most = 1
                for m in range(2, n_nodes):
                    if need[m] > need[most]:
                        most = m
                if count == found.shape[0]:
                    found = np.concatenate((found, np.empty_like(found)))
                found[count, 0], found[count, 1], found[count, 2] = g, h, most
                count += 1
                need[most] = 0.0
                # Summed anew, because a need may be infinite.
                total = need[1:].sum()
    return found[:count].copy()


@kernel
def _missing_chains(arcs, state, tolerance):
    """List what `missing_chains` returns."""
    n_nodes = arcs.shape[0]
    found = np.empty((n_nodes * n_nodes, 3), np.int32)
    count = 0
    for h in range(1, n_nodes):
        for g in range(n_nodes):
            if arcs[g, h] > tolerance:
                for m in range(1, n_nodes):
                    both = arcs[g, h] + arcs[h, m] > 1.0 + tolerance and arcs[h, m] > tolerance
                    if both and m != g and state[g, h, m] != ADDED and count < found.shape[0]:
                        found[count, 0], found[count, 1], found[count, 2] = g, h, m
                        count += 1
    return found[:count].copy()


@kernel
def _search(arcs, flow, target, parent, queue):
    """Fill parent with a shortest path tree from the root over arcs with room left, until the target is in it."""
    n_nodes = arcs.shape[0]
    parent[:] = -1
    parent[0] = 0
    queue[0] = 0
    first, last = 0, 1
    while first < last and parent[target] < 0:
        v = queue[first]
        first += 1
        for w in range(1, n_nodes):
            if parent[w] < 0 and arcs[v, w] - flow[v, w] + flow[w, v] > 1e-9:
                parent[w] = v
                queue[last] = w
                last += 1


@kernel
def _augment(arcs, flow, target, parent):
    """Send along the path to the target what it has room for; return how much."""
    room = np.inf
    w = target
    while w != 0:
        v = parent[w]
        room = min(room, arcs[v, w] - flow[v, w] + flow[w, v])
        w = v
    w = target
    while w != 0:
        v = parent[w]
        back = min(room, flow[w, v])
        flow[w, v] -= back
        flow[v, w] += room - back
        w = v
    return room


@kernel
def _starved_sets(arcs, tolerance, sets):
    """Write the sets of `starved_sets`, some perhaps twice; return how many."""
    n_nodes = arcs.shape[0]
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
            _search(arcs, flow, target, parent, queue)
            if parent[target] < 0:
                # What the root does not reach is the set of a minimum cut.
                for w in range(n_nodes):
                    sets[count, w] = parent[w] < 0
                    covered[w] |= parent[w] < 0
                count += 1
                break
            total += _augment(arcs, flow, target, parent)
    return count
