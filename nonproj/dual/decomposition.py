"""Dual decomposition of a maximum spanning arborescence and head automata (Koo et al. 2010, figures 1 and 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nonproj.automata.compiled import compiled_starts, is_compiled
from nonproj.dual.domain import pose
from nonproj.dual.options import DEFAULTS, UNLIMITED, DualOptions
from nonproj.dual.subgradient import AGREED, STOPPED, Trace, minimise_dual
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.checks import check_status
from nonproj.trees.projective import best_projective_tree
from nonproj.types import Decoded, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NO_TRACE = Trace(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int32))
_NO_RECORDS = np.empty((0, 0)), np.empty(0, np.int64), UNLIMITED


def dual_decomposition(parts: PartSpace, scores: ArrayLike, options: DualOptions = DEFAULTS) -> Decoded:
    """Find the best tree over the candidate arcs, with a bound and, mostly, a certificate.

    Parameters
    ----------
    parts : PartSpace
        Some tree must exist over its arcs.  Arcs alone are decoded by the arborescence alone, the sets of
        `nonproj.automata.compiled.COMPILED` by compiled code, and other sets by their general automata.
    scores : array-like of shape (P,), float64
        The scores of all parts.
    options : DualOptions

    Returns
    -------
    Decoded

    Raises
    ------
    ValueError
        If there is no tree, or for one of the reasons of `nonproj.dual.domain.pose`.

    Notes
    -----
    Koo et al. (2010), figures 1 and 2, early stopping of section 7.5, lazy decoding of section 7.4.

    ``APPENDIX_A`` takes the steps of appendix A.1: the first iteration's gap over one more than the number of times the
    dual has risen.  ``POLYAK`` takes the gap between the dual and the best tree seen, over the number of multipliers
    that move (the subgradient's squared norm), times a scale that shrinks when the bound stalls (Polyak 1969,
    "Minimization of unsmooth functionals").  It needs a quarter to a half of the iterations.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> scores = np.zeros(len(parts))
    >>> scores[:4] = [1.0, 2.0, 4.0, 8.0]
    >>> dual_decomposition(parts, scores)[:5]
    (array([-1,  0,  1], dtype=int32), 9.0, 9.0, True, True)
    """
    return decode_trusted(*pose(parts, scores, options))


def decode_trusted(parts: PartSpace, scores: np.ndarray, options: DualOptions, budget: int = UNLIMITED) -> Decoded:
    """Decode as `dual_decomposition` does, without validation: scores are finite, options from `pose`.

    ``budget`` limits the work of general automata, see `nonproj.dual.options.SearchOptions`.
    """
    if len(parts.types) == 1:
        return _decode_arcs(parts, scores, options)
    if not is_compiled(parts):
        from nonproj.dual.general import parse_with_general_automata  # the usual sets do without

        return parse_with_general_automata(parts, scores, options, budget)
    return _decode(parts, scores, options, NO_TRACE)


def dual_trace(parts: PartSpace, scores: ArrayLike, options: DualOptions = DEFAULTS) -> tuple[Decoded, Trace]:
    """Decode as `dual_decomposition` does, and record what happens at each iteration.

    Parameters
    ----------
    parts, scores, options
        As for `dual_decomposition`, of a set whose automata are compiled, or of arcs alone.

    Returns
    -------
    Decoded
        The same as that of `dual_decomposition`.
    Trace
        One entry for each iteration; none for arcs alone.

    Raises
    ------
    ValueError
        As `dual_decomposition`, or if the set has other automata.

    Examples
    --------
    >>> from nonproj.dual.options import APPENDIX_A
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> scores = np.zeros(len(parts))
    >>> scores[:4] = [1.0, 2.0, 4.0, 8.0]
    >>> decoded, trace = dual_trace(parts, scores, DualOptions(rule=APPENDIX_A))
    >>> len(trace.dual) == decoded.iterations, float(trace.dual.min()), decoded.bound
    (True, 9.0, 9.0)
    """
    parts, scores, options = pose(parts, scores, options)
    if len(parts.types) == 1:
        return _decode_arcs(parts, scores, options), NO_TRACE
    if not is_compiled(parts):
        raise ValueError(f"the automata of {', '.join(parts.names)} are not compiled; they leave no trace")
    size = options.max_iterations
    trace = Trace(np.empty(size), np.empty(size), np.empty(size), np.empty(size, np.int32))
    decoded = _decode(parts, scores, options, trace)
    return decoded, Trace(*[values[: decoded.iterations] for values in trace])


def _decode_arcs(parts: PartSpace, scores: np.ndarray, options: DualOptions) -> Decoded:
    """Return the best tree where there are only arcs."""
    heads = np.empty(len(parts.arcs.start) - 1, np.int32)
    find = best_projective_tree if options.projective else best_arborescence
    check_status(find(parts.arcs, scores, options.single_root, heads))
    score = sum(scores[heads[parts.arcs.modifier] == parts.arcs.head].tolist())
    return Decoded(heads, score, score, True, True, 0, 0.0)


def _decode(parts: PartSpace, scores: np.ndarray, options: DualOptions, trace: Trace) -> Decoded:
    """Run the compiled subgradient method."""
    heads = np.empty(len(parts.arcs.start) - 1, np.int32)
    return conclude(
        heads, minimise_dual(parts.arcs, compiled_starts(parts), scores, options, _NO_RECORDS, trace, heads)
    )


def conclude(heads: np.ndarray, found: tuple[Any, ...]) -> Decoded:
    """Return the tree that the subgradient method wrote, with what `descend` returned; raise ValueError if none."""
    outcome, iterations, score, bound, decoded, _ = found
    if outcome < 0:
        check_status(-outcome)
    share = decoded / (iterations * len(heads))
    # A closed gap may round to either side of zero; no bound is below a tree's score.
    return Decoded(heads, score, max(bound, score), outcome == AGREED, outcome != STOPPED, iterations, share)
