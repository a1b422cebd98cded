"""Kinds of head automata, as tables of `nonproj.automata.general`: any function, previous siblings, valency."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nonproj.automata.general import HeadAutomata, head_automata, moves
from nonproj.types import ArcSpace, PartIndex


def tabulate_automata(
    arcs: ArcSpace, n_states: int, g: Callable[[int, int, int, int], float], final: Callable[[int, int], float]
) -> HeadAutomata:
    """Tabulate automata given as functions, as in the paper: slow, and easy to get right.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    n_states : int
        |S|; the start state is 0.
    g : callable
        ``g(h, s, t, m)``, the score of moving from state ``s`` to ``t`` by taking ``m`` as modifier of ``h``.
    final : callable
        ``final(q, s)``, the score of the half-automaton ``q`` ending in state ``s``.

    Returns
    -------
    HeadAutomata

    Notes
    -----
    Koo et al. (2010), section 3, example 2: gL where ``m < h``, gR where ``m > h``.

    Examples
    --------
    Every head wants an even number of modifiers on each side; the root has three candidates.

    >>> from nonproj.automata.general import best_paths
    >>> from nonproj.parts.space import full_arc_space
    >>> arcs = full_arc_space(3)
    >>> even = tabulate_automata(arcs, 2, lambda h, s, t, m: 0.0 if s != t else -np.inf, lambda q, s: -9.0 * s)
    >>> paths = best_paths(arcs, even, np.where(arcs.head == 0, arcs.modifier, 0.0))
    >>> paths.values[0], arcs.modifier[(arcs.head == 0) & (paths.chosen == 1)]
    (np.float64(5.0), array([2, 3], dtype=int32))
    """
    automata = head_automata(arcs, int(n_states))
    states = range(int(n_states))
    for q in range(len(arcs.out_start) - 1):
        take, _ = moves(automata, q)
        for j, a in enumerate(arcs.out[arcs.out_start[q] : arcs.out_start[q + 1]]):
            m = int(arcs.modifier[a])
            take[j] = [[g(q // 2, s, t, m) for t in states] for s in states]
        automata.final[automata.state_start[q] : automata.state_start[q + 1]] = [final(q, s) for s in states]
    return automata


def bigram_automata(arcs: ArcSpace, index: PartIndex, sibling) -> HeadAutomata:
    """The bigram sibling model: the state is the previous sibling, 0 is START.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    index : PartIndex
        The parts of a sibling model over them.
    sibling : array-like of shape (S,), float64
        The scores of the sibling parts, as in `PartScores`.

    Returns
    -------
    HeadAutomata
        A half-automaton with ``k`` candidates has ``k + 1`` states.

    Notes
    -----
    Koo et al. (2010), section 3, example 1.

    Examples
    --------
    >>> from nonproj.parts.space import full_arc_space, part_index
    >>> arcs = full_arc_space(2)
    >>> index = part_index(arcs, 1)
    >>> bigram_automata(arcs, index, np.arange(15.0)).final[:5]  # the root, from each state to END; it has no left side
    array([0., 4., 5., 6., 7.])
    """
    n_parts = int(index.sibling_start[-1])
    sibling = np.asarray(sibling, np.float64)
    sizes = np.diff(arcs.out_start) + 1
    if sibling.shape != (n_parts,) or not np.array_equal(np.diff(index.sibling_start), sizes * (sizes + 1) // 2):
        raise ValueError(
            f"sibling has shape {sibling.shape}; a score for each sibling part over these arcs is expected"
        )
    automata = head_automata(arcs, sizes)
    for q, k in enumerate(np.diff(arcs.out_start)):
        take, _ = moves(automata, q)
        for b in range(1, k + 2):
            part = index.sibling_start[q] + b * (b - 1) // 2
            row = take[b - 1, :b, b] if b <= k else automata.final[automata.state_start[q] :][:b]
            row[:] = sibling[part : part + b]
    return automata


def valency_automata(arcs: ArcSpace, take, stop) -> HeadAutomata:
    """Automata that count: the state is the number of modifiers so far on the side, at most V, which means V or more.

    Parameters
    ----------
    arcs : ArcSpace
        The arcs that may be used.
    take : array-like of shape (A, V + 1), float64
        Score of taking each arc when so many modifiers were taken before it.
    stop : array-like of shape (2 * N, V + 1), float64
        Score of each half-automaton having so many modifiers in the end.

    Returns
    -------
    HeadAutomata

    Raises
    ------
    ValueError
        If the shapes are not these.

    Examples
    --------
    A modifier costs as much as there were before it, and no head may have more than two on a side.

    >>> from nonproj.automata.general import best_paths
    >>> from nonproj.parts.space import full_arc_space
    >>> arcs = full_arc_space(4)
    >>> take, stop = np.tile([0.0, -1.0, -2.0, -3.0], (16, 1)), np.tile([0.0, 0.0, 0.0, -np.inf], (10, 1))
    >>> best_paths(arcs, valency_automata(arcs, take, stop), np.where(arcs.head == 0, 4.0, -4.0)).values[0]
    np.float64(7.0)
    """
    take, stop = np.asarray(take, np.float64), np.asarray(stop, np.float64)
    n_arcs, n_halves = len(arcs.head), len(arcs.out_start) - 1
    size = stop.shape[1] if stop.ndim == 2 else 0
    if size == 0 or stop.shape != (n_halves, size) or take.shape != (n_arcs, size):
        raise ValueError(
            f"take has shape {take.shape} and stop {stop.shape}; ({n_arcs}, V + 1) and ({n_halves}, V + 1) are expected"
        )
    automata = head_automata(arcs, size)
    before = np.arange(size)
    # All half-automata have as many states, so the candidates' tables follow each other as the candidates do.
    automata.take.reshape(n_arcs, size, size)[:, before, np.minimum(before + 1, size - 1)] = take[arcs.out]
    automata.final[:] = stop.ravel()
    return automata
