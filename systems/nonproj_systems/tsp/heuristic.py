"""Tours by iterated local search: 2-opt and Or-opt moves over lists of neighbours, and local double bridges as kicks.

The neighbours of a node are the nearest nodes.  Nodes whose edges have not changed since the last failure are not tried
again (Bentley 1992: "don't-look bits").
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Int64s, Uint64s
from nonproj_systems.tsp.instance import Instance

NEIGHBOURS, SEGMENT, SPAN = 8, 3, 50
"""Number of neighbours of each node; maximum lengths of a segment in an Or-opt move, and of a stretch in a kick."""

ALLOWANCE = 0.003
"""Share of the best length by which a kept tour may be longer than the best; it falls to 0."""


@kernel
def _flip(tour: Int64s, place: Int64s, first: int, size: int) -> None:
    """Reverse ``size`` successive nodes of a tour, from place ``first`` on."""
    n = len(tour)
    for k in range(size // 2):
        i, j = (first + k) % n, (first + size - 1 - k) % n
        a, b = tour[i], tour[j]
        tour[i], tour[j] = b, a
        place[b], place[a] = i, j


@kernel
def _reverse(tour: Int64s, place: Int64s, first: int, last: int) -> None:
    """Reverse the tour from place ``first`` forward to place ``last``, or all the rest of it if that is shorter."""
    n = len(tour)
    size = (last - first) % n + 1
    if 2 * size > n:
        _flip(tour, place, last + 1, n - size)
    else:
        _flip(tour, place, first, size)


@kernel
def _two_opt(weights: Int64s, near: Int64s, tour: Int64s, place: Int64s, a: int) -> tuple[int, int, int, int]:
    """Make the first improving 2-opt move that replaces an edge of node ``a``; return its gain and the other ends."""
    n = len(tour)
    for side in range(2):
        step = 1 if side == 0 else n - 1
        b = tour[(place[a] + step) % n]
        for k in range(near.shape[1]):
            c = near[a, k]
            gain = weights[a, b] - weights[a, c]
            if gain <= 0:
                break
            d = tour[(place[c] + step) % n]
            gain += weights[c, d] - weights[b, d]
            if gain > 0:
                if side == 0:
                    _reverse(tour, place, place[b], place[c])
                else:
                    _reverse(tour, place, place[c], place[b])
                return gain, b, c, d
    return 0, a, a, a


@kernel
def _or_opt(weights: Int64s, near: Int64s, tour: Int64s, place: Int64s, a: int) -> tuple[int, int, int, int, int, int]:
    """Make the first improving move of a segment that begins at node ``a``; return its gain and the nodes touched."""
    n = len(tour)
    for side in range(2):
        step = 1 if side == 0 else n - 1
        before = tour[(place[a] + n - step) % n]
        end = a
        for size in range(1, SEGMENT + 1):
            if size > 1:
                end = tour[(place[end] + step) % n]
            after = tour[(place[end] + step) % n]
            if after == before or size + 3 > n:
                break
            removed = weights[before, a] + weights[end, after] - weights[before, after]
            for k in range(near.shape[1]):
                c = near[a, k]
                if weights[a, c] >= removed:
                    break
                if (step * (place[c] - place[a])) % n < size:
                    continue  # within the segment
                for other in range(2):
                    # The segment comes between c and d, with a beside c.
                    d = tour[(place[c] + (step if other == 0 else n - step)) % n]
                    if (c == before and other == 0) or (c == after and other == 1):
                        continue
                    gain = removed - weights[a, c] - weights[end, d] + weights[c, d]
                    if gain > 0:
                        low = place[a] if side == 0 else place[end]
                        first = c if (place[d] - place[c]) % n == 1 else d
                        _move(tour, place, low, size, (place[first] - low) % n, (first == c) == (side == 0))
                        return gain, before, after, end, c, d
    return 0, a, a, a, a, a


@kernel
def _move(tour: Int64s, place: Int64s, low: int, size: int, ahead: int, keep: bool) -> None:
    """Move ``size`` nodes from place ``low`` behind the node ``ahead`` places further on; ``keep`` their direction."""
    n = len(tour)
    rest = ahead + 1 - size
    if 2 * ahead <= n + size:
        _flip(tour, place, low, rest + size)
        _flip(tour, place, low, rest)
        low += rest
    else:
        rest = n - ahead - 1
        low = (low - rest) % n
        _flip(tour, place, low, rest + size)
        _flip(tour, place, low + size, rest)
    if keep:
        _flip(tour, place, low, size)


@kernel
def _descend(
    weights: Int64s, near: Int64s, tour: Int64s, place: Int64s, queue: Int64s, waiting: Bools, count: int
) -> int:
    """Make improving moves at the nodes of the queue until there are none; return the total gain."""
    n = len(tour)
    total, head = 0, 0
    touched = np.empty(6, np.int64)
    while count > 0:
        a = queue[head]
        gain, touched[0], touched[1], touched[2] = _two_opt(weights, near, tour, place, a)
        many = 3
        if gain == 0:
            gain, touched[0], touched[1], touched[2], touched[3], touched[4] = _or_opt(weights, near, tour, place, a)
            many = 5
        if gain == 0:
            waiting[a] = False
            head, count = (head + 1) % n, count - 1
            continue
        total += gain
        for k in range(many):
            node = touched[k]
            if not waiting[node]:
                waiting[node] = True
                queue[(head + count) % n] = node
                count += 1
    return total


@kernel
def _draw(random: Uint64s, below: int) -> int:
    """Return a random integer from 0 to ``below - 1`` (xorshift)."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(below))


@kernel
def _kick(weights: Int64s, tour: Int64s, place: Int64s, ends: Int64s, random: Uint64s) -> int:
    """Exchange two neighbouring stretches of the tour (a double bridge); write their end nodes and return the gain."""
    n = len(tour)
    span = min(SPAN, n - 2)
    start = _draw(random, n)
    first = 1 + _draw(random, span - 1)
    second = 1 + _draw(random, span - first)
    a, b = tour[start], tour[(start + 1) % n]
    c, d = tour[(start + first) % n], tour[(start + first + 1) % n]
    e, f = tour[(start + first + second) % n], tour[(start + first + second + 1) % n]
    moved = np.empty(first, tour.dtype)
    for k in range(first):
        moved[k] = tour[(start + 1 + k) % n]
    for k in range(second):
        node, at = tour[(start + 1 + first + k) % n], (start + 1 + k) % n
        tour[at], place[node] = node, at
    for k in range(first):
        at = (start + 1 + second + k) % n
        tour[at], place[moved[k]] = moved[k], at
    ends[0], ends[1], ends[2], ends[3], ends[4], ends[5] = a, b, c, d, e, f
    return weights[a, b] + weights[c, d] + weights[e, f] - weights[a, d] - weights[e, b] - weights[c, f]


@kernel
def _iterate(weights: Int64s, near: Int64s, tour: Int64s, kicks: int, target: int, random: Uint64s) -> tuple[int, int]:
    """Improve a tour in place by local search and kicks; return its length, and the number of kicks made."""
    n = len(tour)
    place, queue, waiting = np.empty(n, np.int64), np.arange(n), np.ones(n, np.bool_)
    length = 0
    for k in range(n):
        place[tour[k]] = k
        length += weights[tour[k], tour[k - 1]]
        queue[k] = tour[k]
    length -= _descend(weights, near, tour, place, queue, waiting, n)
    if n < 8:
        return length, 0
    best, best_length, ends = tour.copy(), length, np.empty(6, np.int64)
    kept, kept_place = tour.copy(), place.copy()
    done = 0
    while done < kicks and best_length > target:
        done += 1
        gain = _kick(weights, tour, place, ends, random)
        count = 0
        for k in range(6):
            if not waiting[ends[k]]:
                waiting[ends[k]] = True
                queue[count] = ends[k]
                count += 1
        gain += _descend(weights, near, tour, place, queue, waiting, count)
        if length - gain <= best_length + ALLOWANCE * abs(best_length) * (1.0 - done / kicks):
            length -= gain
            for k in range(n):
                kept[k], kept_place[k] = tour[k], place[k]
            if length < best_length:
                best_length = length
                for k in range(n):
                    best[k] = tour[k]
        else:
            for k in range(n):
                tour[k], place[k] = kept[k], kept_place[k]
    for k in range(n):
        tour[k] = best[k]
    return best_length, done


def neighbour_lists(weights: np.ndarray, size: int = NEIGHBOURS) -> np.ndarray:
    """Return the nearest nodes of each node, nearest first: int64[n, size]."""
    distance = weights.astype(np.float64)
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1, kind="stable")
    return np.ascontiguousarray(order[:, : min(size, len(weights) - 1)])


def nearest_neighbour_tour(weights: np.ndarray, start: int = 0) -> np.ndarray:
    """Return the tour that always continues to the nearest remaining node, int64[n]."""
    n = len(weights)
    tour, left = np.zeros(n, np.int64), np.ones(n, np.bool_)
    tour[0], left[start] = start, False
    for k in range(1, n):
        row = np.where(left, weights[tour[k - 1]], np.iinfo(np.int64).max)
        tour[k] = row.argmin()
        left[tour[k]] = False
    return tour


def search_tour(
    instance: Instance, near: np.ndarray, kicks: int, target: int = -(2**62), seed: int = 1, start=None
) -> tuple[int, np.ndarray]:
    """Return the length of a short tour, and the tour.

    Parameters
    ----------
    instance : Instance
    near : ndarray of shape (n, k), int64
        Neighbours of each node, as from `neighbour_lists`.
    kicks : int
        Maximum number of double bridges.
    target : int
        A lower bound: a tour of this length is optimal, and ends the search.
    seed : int
    start : ndarray of shape (n,), int64, optional
        The tour to improve; by default `nearest_neighbour_tour`.

    Examples
    --------
    >>> from nonproj_systems.tsp.instance import make_instance
    >>> points = np.array([0, 7, 1, 6, 2, 5, 3, 4])
    >>> line = make_instance(np.abs(points[:, None] - points))
    >>> search_tour(line, neighbour_lists(line.weights), 10)[0]
    14
    """
    tour = nearest_neighbour_tour(instance.weights) if start is None else np.array(start, np.int64)
    random = np.array([seed * 2654435769 + 88172645463325252], np.uint64)
    length, _ = _iterate(instance.weights, near, tour, kicks, target, random)
    return int(length), tour
