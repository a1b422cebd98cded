"""The value that second-order automata lose if an arc is forced, by max-marginals.

The value of a head's best choice *with* a modifier is the best path into that modifier (forward) and on from it
(backward); with a given grandparent it is the best path under this grandparent.
"""

from __future__ import annotations

import numpy as np

from nonproj.automata.third import fill_gains
from nonproj.automata.workspace import PartStarts, SplitScores
from nonproj.kernels.kernel import kernel
from nonproj.types import ArcSpace, Float64s


@kernel
def arc_losses(arcs: ArcSpace, starts: PartStarts, scores: Float64s, split: SplitScores) -> tuple[float, Float64s]:
    """Return the sum of the best values, and the loss of each arc's two automata if the arc is forced, float64[A].

    The head's automaton must then take the modifier, and the modifier's automaton must choose the head as grandparent.

    Examples
    --------
    The root takes word 2 but not word 1, whose score is -4.

    >>> from nonproj.automata.compiled import compiled_starts
    >>> from nonproj.automata.workspace import as_split
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> copies = np.array([0.0] * 4 + [-4.0, 1.0, 3.0, -2.0] + [0.0] * 4)
    >>> arc_losses(parts.arcs, compiled_starts(parts), np.zeros(len(parts)), as_split(copies, 4))
    (4.0, array([4., 0., 0., 2.]))
    """
    n_arcs, total = arcs.head.shape[0], 0.0
    losses, best, through = np.zeros(n_arcs), np.empty(n_arcs), np.empty(n_arcs)
    gain, paths = np.empty(n_arcs), np.empty((2, n_arcs + 2))
    for h in range(arcs.start.shape[0] - 1):
        first, end = arcs.out_start[2 * h], arcs.out_start[2 * h + 2]
        above, highest = starts.grandparent.shape[0] > 0 and h > 0, -np.inf
        begin, stop = (arcs.start[h], arcs.start[h + 1]) if above else (0, 1)
        for j in range(first, end):
            best[j] = -np.inf
        for a in range(begin, stop):
            fill_gains(arcs, starts.grandparent, scores, split.z, h, a if above else -1, gain[first:end])
            value = _choose_with(arcs, starts, scores, h, gain, paths, through)
            own = split.grandparent[a] if above else 0.0
            for j in range(first, end):
                best[j] = max(best[j], own + through[j])
            if above:
                losses[a] -= own + value
            highest = max(highest, own + value)
        for j in range(first, end):
            losses[arcs.out[j]] += highest - best[j]
        for a in range(begin, stop if above else begin):
            losses[a] += highest
        total += highest
    return total, losses


@kernel
def _choose_with(
    arcs: ArcSpace, starts: PartStarts, scores: Float64s, h: int, gain: Float64s, paths: Float64s, through: Float64s
) -> float:
    """Write the value of the best choice that includes each candidate of h; return that of the best choice of all."""
    first, middle, end = arcs.out_start[2 * h], arcs.out_start[2 * h + 1], arcs.out_start[2 * h + 2]
    if starts.sibling.shape[0] == 0:
        value = 0.0
        for j in range(first, end):
            value += max(gain[j], 0.0)
        for j in range(first, end):
            through[j] = value + min(gain[j], 0.0)
        return value
    left = _pass_through(scores, starts.sibling[2 * h], gain[first:middle], paths, through[first:middle])
    right = _pass_through(scores, starts.sibling[2 * h + 1], gain[middle:end], paths, through[middle:end])
    for j in range(first, end):
        through[j] += right if j < middle else left
    return left + right


@kernel
def _pass_through(scores: Float64s, part: int, gain: Float64s, paths: Float64s, through: Float64s) -> float:
    """Write the value of the best path through each candidate of a side; return that of the best path of all.

    ``part`` is the first sibling part of this half-automaton; ``paths`` float64[2, A + 2] is overwritten.
    """
    k, forward, backward = gain.shape[0], paths[0], paths[1]
    forward[0] = 0.0
    for b in range(1, k + 2):
        highest = -np.inf
        for a in range(b):
            highest = max(highest, forward[a] + scores[part + a])
        part += b
        forward[b] = highest + gain[b - 1] if b <= k else highest
        backward[b - 1] = -np.inf
    backward[k + 1] = 0.0
    for b in range(k + 1, 0, -1):
        part -= b
        beyond = backward[b] + gain[b - 1] if b <= k else backward[b]
        for a in range(b):
            backward[a] = max(backward[a], beyond + scores[part + a])
        if b <= k:
            through[b - 1] = forward[b] + backward[b]
    return forward[k + 1]
