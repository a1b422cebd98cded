"""Head automata: the modifiers of one head, chosen by Viterbi over its own candidates.

The sibling automaton scans the candidates on each side outward from the head (Koo et al. 2010, example 1); the
grandparent and sibling automaton does so once for every candidate grandparent (example 3), with ``g(i, k, s, m) =
sibling(i, s, m) + grandparent(k, i, m)``. Choosing for every head at once, whatever the others choose, is decoding over
the relaxed set Z.

An arc has a score in two places: ``taken`` where its head's automaton takes the modifier, ``raised`` where its
modifier's automaton takes the arc as the way to its grandparent (``z`` and ``z_up`` in the paper).  Any split of the
arc's own score over the two gives the same model on trees; an even one lets a word without modifiers choose its
grandparent with open eyes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import inlined_kernel, kernel
from nonproj.parts.space import check_scores, part_index
from nonproj.types import GRANDPARENT, MODELS, SIBLING, ArcSpace, PartIndex, PartScores


class Relaxed(NamedTuple):
    """The best structure in Z, part by part.

    Attributes
    ----------
    chosen : ndarray of shape (A,), int8
        1 where the arc's head took it.
    chosen_up : ndarray of shape (A,), int8
        1 where the arc's modifier took its head as the grandparent of its own modifiers; zeros in a sibling model.
    sibling : ndarray of shape (S,), int8
    grandparent : ndarray of shape (G,), int8
    value : float
        Its score, an upper bound of every tree's.
    """

    chosen: np.ndarray
    chosen_up: np.ndarray
    sibling: np.ndarray
    grandparent: np.ndarray
    value: float


class Workspace(NamedTuple):
    """Room for one automaton: ``best`` float64[A + 2], ``back`` int32[A + 2], ``gain`` float64[A + 2]."""

    best: np.ndarray
    back: np.ndarray
    gain: np.ndarray


def decode_relaxed(arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int, tau: float) -> Relaxed:
    """Let every head choose for itself: the argmax over Z.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    index : PartIndex
        The parts over them.
    scores : PartScores
        Of float64.
    model : int
        ``SIBLING`` or ``GRANDPARENT``.
    tau : float
        In a grandparent model the share of an arc's score that its head's automaton sees; the modifier's sees the rest.

    Returns
    -------
    Relaxed

    Raises
    ------
    ValueError
        If the model has no automata, the index is another model's, an array of scores does not have one finite entry
        for each part, or (in a grandparent model) a word has no arc into it.

    Notes
    -----
    Koo et al. (2010), equation 3 and section 6.  Ties go to the lowest grandparent, and among previous siblings to the
    one farthest inward, START first.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, SIBLING)
    >>> scores = PartScores(np.array([1.0, -1.0, -1.0, 1.0]), np.zeros(index.sibling_start[-1]), np.zeros(0))
    >>> decode_relaxed(arcs, index, scores, SIBLING, 1.0).chosen
    array([1, 0, 0, 1], dtype=int8)
    """
    if model not in (SIBLING, GRANDPARENT):
        raise ValueError(f"model is {model!r}; 1 (sibling) or 2 (grandparent) is expected")
    scores = check_problem(arcs, index, scores, model)
    orphans = np.flatnonzero(np.diff(arcs.start)[1:] == 0)
    if model == GRANDPARENT and len(orphans):
        raise ValueError(f"no arc into word {orphans[0] + 1}: in a grandparent model every word chooses one")
    n_arcs = len(arcs.head)
    chosen, chosen_up = np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8)
    sibling, grandparent = np.zeros(len(scores.sibling), np.int8), np.zeros(len(scores.grandparent), np.int8)
    share = float(tau) if model == GRANDPARENT else 1.0
    value = _decode_relaxed(arcs, index, scores, model, share, chosen, chosen_up, sibling, grandparent)
    return Relaxed(chosen, chosen_up, sibling, grandparent, value)


def check_problem(arcs: ArcSpace, index: PartIndex, scores: PartScores, model: int) -> PartScores:
    """Return scores as kernels want them, or say what would make them read beyond an array or certify nonsense.

    Raises
    ------
    ValueError
        If the index is not the model's over these arcs, or an array of scores does not have one finite entry for each
        part.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(1)
    >>> check_problem(arcs, part_index(arcs, 0), PartScores(np.array([np.nan]), np.zeros(0), np.zeros(0)), 0)
    Traceback (most recent call last):
        ...
    ValueError: scores.arc[0] is nan; scores must be finite
    """
    expected = part_index(arcs, model)
    for name, found, wanted in zip(PartIndex._fields, index, expected, strict=True):
        if not np.array_equal(found, wanted):
            raise ValueError(f"index.{name} is not that of model {model} ({MODELS[model]}) over these arcs")
    scores = check_scores(arcs, index, scores)
    for name, values in zip(PartScores._fields, scores, strict=True):
        finite = np.isfinite(values)
        if not finite.all():
            wrong = int(finite.argmin())
            raise ValueError(f"scores.{name}[{wrong}] is {values[wrong]}; scores must be finite")
    return scores


@kernel
def _new_workspace(n_arcs):
    """Return room for the automaton of any head."""
    return Workspace(np.empty(n_arcs + 2), np.empty(n_arcs + 2, np.int32), np.empty(n_arcs + 2))


@kernel
def _decode_relaxed(arcs, index, scores, model, tau, chosen, chosen_up, sibling, grandparent):
    """Decode every head and mark the parts of its choice; return the sum of their values."""
    work = _new_workspace(arcs.head.shape[0])
    taken = scores.arc * tau
    raised = scores.arc * (1.0 - tau)
    total = 0.0
    for h in range(arcs.start.shape[0] - 1):
        total += _decode_head(arcs, index, scores, taken, raised, model, h, work, chosen, chosen_up)
        _mark_parts(arcs, index, h, chosen, chosen_up, sibling, grandparent)
    return total


@kernel
def _decode_head(arcs, index, scores, taken, raised, model, h, work, chosen, chosen_up):
    """Write head h's choice to its arcs out (chosen) and, with grandparents, in (chosen_up); return its value."""
    # Arrays are taken out of their tuples once a head: each time costs a count of references.
    out, out_start, modifier, head = arcs.out, arcs.out_start, arcs.modifier, arcs.head
    sibling, sibling_start, grandparent = scores.sibling, index.sibling_start, scores.grandparent
    top, back, gain = work.best, work.back, work.gain
    first, size = out_start[2 * h], out_start[2 * h + 2] - out_start[2 * h]
    up, last = arcs.start[h], arcs.start[h + 1]
    if model != GRANDPARENT or h == 0:
        for j in range(size):
            gain[j] = taken[out[first + j]]
        value = 0.0
        for q in range(2 * h, 2 * h + 2):
            k = out_start[q + 1] - out_start[q]
            value += _viterbi(sibling, sibling_start[q], k, out_start[q] - first, top, back, gain)
            _trace_back(out, out_start[q], k, back, chosen)
        return value
    best, best_arc, row = -np.inf, -1, index.grandparent_start[h]
    for a in range(up, last):
        chosen_up[a] = 0
        _fill_gain(out, first, size, modifier, head[a], taken, grandparent, row + (a - up) * size, gain)
        value = raised[a]
        for q in range(2 * h, 2 * h + 2):
            k = out_start[q + 1] - out_start[q]
            value += _viterbi(sibling, sibling_start[q], k, out_start[q] - first, top, back, gain)
        if value > best:
            best, best_arc = value, a
    chosen_up[best_arc] = 1
    _fill_gain(out, first, size, modifier, head[best_arc], taken, grandparent, row + (best_arc - up) * size, gain)
    for q in range(2 * h, 2 * h + 2):
        k = out_start[q + 1] - out_start[q]
        _viterbi(sibling, sibling_start[q], k, out_start[q] - first, top, back, gain)
        _trace_back(out, out_start[q], k, back, chosen)
    return best


@inlined_kernel
def _fill_gain(out, first, size, modifier, above, taken, grandparent, row, gain):
    """Fill what taking each candidate modifier is worth under one grandparent."""
    for j in range(size):
        a = out[first + j]
        # A grandparent below its grandchild is no tree.
        gain[j] = -np.inf if modifier[a] == above else taken[a] + grandparent[row + j]


@inlined_kernel
def _trace_back(out, start, k, back, chosen):
    """Mark the arcs of the best path over k candidates."""
    for j in range(start, start + k):
        chosen[out[j]] = 0
    b = back[k + 1]
    while b > 0:
        chosen[out[start + b - 1]] = 1
        b = back[b]


@inlined_kernel
def _viterbi(sibling, part, k, offset, top, back_to, gain):
    """Find the best path from START over some of k candidates, gains work.gain[offset:], to END; return its value."""
    top[0] = 0.0
    for b in range(1, k + 2):
        best, back = top[0] + sibling[part], 0
        for a in range(1, b):
            value = top[a] + sibling[part + a]
            if value > best:
                best, back = value, a
        part += b
        top[b] = best + gain[offset + b - 1] if b <= k else best
        back_to[b] = back
    return top[k + 1]


@kernel
def _mark_parts(arcs, index, h, chosen, chosen_up, sibling, grandparent):
    """Mark the transitions and the chains of head h's choice."""
    for q in range(2 * h, 2 * h + 2):
        k = arcs.out_start[q + 1] - arcs.out_start[q]
        a = 0
        for b in range(1, k + 2):
            if b == k + 1 or chosen[arcs.out[arcs.out_start[q] + b - 1]] == 1:
                sibling[index.sibling_start[q] + b * (b - 1) // 2 + a] = 1
                a = b
    first, end = arcs.out_start[2 * h], arcs.out_start[2 * h + 2]
    for i in range(arcs.start[h], arcs.start[h + 1]):
        if chosen_up[i] == 1:
            for j in range(first, end):
                if chosen[arcs.out[j]] == 1:
                    grandparent[index.grandparent_start[h] + (i - arcs.start[h]) * (end - first) + j - first] = 1
