"""Decoding over the relaxed set Z, in which every head chooses its modifiers whatever the others choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.automata.compiled import compiled_starts, decode_all_heads, has_compiled_automata
from nonproj.automata.general import best_paths, general_automata
from nonproj.automata.workspace import Choice, SplitScores, first_copies
from nonproj.parts.space import check_scores, indicators
from nonproj.types import Float64s, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class RelaxedStructure(NamedTuple):
    """The best structure in Z.

    Attributes
    ----------
    z : ndarray of shape (A,), int8
        1 where the arc's head chooses its modifier.
    z_grandparent : ndarray of shape (A,), int8
        1 where the arc's modifier chooses the arc's head as the grandparent of its own modifiers; zeros in a set
        without grandparents.
    value : float
        The score of the structure, an upper bound on the score of any tree.
    """

    z: np.ndarray
    z_grandparent: np.ndarray
    value: float


def decode_relaxed(parts: PartSpace, scores: ArrayLike, tau: float) -> RelaxedStructure:
    """Return the best structure in Z: the best choice of each head by itself.

    Parameters
    ----------
    parts : PartSpace
        Parts of any set but arcs alone.
    scores : array-like of shape (P,), float64
        The scores of all parts.
    tau : float
        In a set with grandparents, the share of an arc's score in the automaton of its head; the automaton of its
        modifier has the rest.

    Returns
    -------
    RelaxedStructure

    Raises
    ------
    ValueError
        If the set has no automata, there is not one finite score for each part, or (in a set with grandparents) a word
        has no arc into it.

    Notes
    -----
    Koo et al. (2010), equation 3 and section 6.  Ties go to the lowest grandparent, and among previous siblings to the
    one farthest inward, START first.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> scores = np.zeros(len(parts))
    >>> scores[:4] = [1.0, -1.0, -1.0, 1.0]
    >>> decode_relaxed(parts, scores, 1.0).z
    array([1, 0, 0, 1], dtype=int8)
    """
    if len(parts.types) == 1:
        raise ValueError("the set of part types is arcs alone; they have no head automata")
    scores, arcs = check_scores(parts, scores, finite=True), parts.arcs
    n_arcs = len(arcs.head)
    choice = Choice(np.zeros(n_arcs, np.int8), np.zeros(n_arcs, np.int8))
    if not has_compiled_automata(parts.types):
        paths = best_paths(arcs, general_automata(parts, scores), scores[:n_arcs])
        return RelaxedStructure(paths.z, choice.z_grandparent, float(paths.values.sum()))
    starts = compiled_starts(parts)
    orphans = np.flatnonzero(np.diff(arcs.start)[1:] == 0)
    if len(starts.grandparent) and len(orphans):
        raise ValueError(f"no arc into word {orphans[0] + 1}: with grandparent parts every word chooses one")
    share = float(tau) if len(starts.grandparent) else 1.0
    copies = first_copies(arcs, scores, np.zeros(len(arcs.start) - 1), 0.0, share)
    value = decode_all_heads(arcs, starts, scores, SplitScores(*copies.reshape(3, n_arcs)), choice)
    return RelaxedStructure(choice.z, choice.z_grandparent, value)


def relaxed_indicators(parts: PartSpace, scores: Float64s, tau: float) -> Float64s:
    """Return the indicators of the best structure in Z, float64[P].

    In a set with grandparents, an arc counts ``tau`` if its head chooses its modifier, and ``1 - tau`` if its modifier
    chooses its head as a grandparent; its score is divided likewise.
    """
    relaxed = decode_relaxed(parts, scores, tau)
    predicted = indicators(parts, relaxed.z, relaxed.z_grandparent)
    if relaxed.z_grandparent.any():
        predicted[: len(parts.arcs.head)] = tau * relaxed.z + (1.0 - tau) * relaxed.z_grandparent
    return predicted
