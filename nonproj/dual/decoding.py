"""Decoders that find the best tree, or the k best, over scored parts, with bounds and certificates.

All run `nonproj.dual.search.search` on problems of `nonproj.dual.problem`, with scores scaled by `nonproj.dual.domain`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nonproj.automata.compiled import has_compiled_automata
from nonproj.dual.crossing import CrossingCosts, crossing_costs
from nonproj.dual.domain import NormalisedScores, normalise_scores, relative_scores, with_scale
from nonproj.dual.options import DEFAULTS, SEARCH, DualOptions, SearchOptions, check_search
from nonproj.dual.problem import NO_TRACE, OwnScores, problem_of
from nonproj.dual.search import SearchResult, search
from nonproj.dual.subgradient import Trace
from nonproj.trees.checks import check_integer
from nonproj.types import Decoded, Float64s, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FIRST_NODE = SearchOptions(0)
"""Limits that end the search at its first node."""


def dual_decomposition(parts: PartSpace, scores: ArrayLike, options: DualOptions = DEFAULTS) -> Decoded:
    """Find the best tree over the candidate arcs, with a bound and, usually, a certificate.

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
        If there is no tree, or for one of the reasons of `nonproj.dual.domain.normalise_scores`.

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
    >>> found = dual_decomposition(parts, scores)
    >>> found.heads, found.score, found.certified
    (array([0, 1], dtype=int32), 9.0, True)
    """
    return _decode(normalise_scores(parts, scores, options), FIRST_NODE)[0]


def decode_trusted(
    parts: PartSpace,
    scores: Float64s,
    options: DualOptions,
    limits: SearchOptions,
    k: int = 1,
    crossing: CrossingCosts | None = None,
    record: bool = False,
) -> SearchResult:
    """Return the k best trees without validation: scores must be finite and options valid; no arc is left out.

    ``crossing`` and ``record`` are as for `nonproj.dual.search.search`.
    """
    relative, best, scale, roundoff, most = relative_scores(parts.arcs, scores)
    # Trained automata take an arc of positive score and leave one of negative score, so they start from these scores.
    own = OwnScores(scores, best, math.fsum(best.tolist()), roundoff, most, best)
    options = options._replace(scale=scale)
    return search(problem_of(parts, relative, options, own), options, limits, k, crossing, record=record)


def with_costs(
    found: SearchResult,
    options: DualOptions,
    limits: SearchOptions,
    k: int,
    crossing: CrossingCosts,
    record: bool = False,
) -> SearchResult:
    """Find the k best trees by their scores minus the costs of crossed arcs, given the best by their scores alone.

    Costs are not negative, so a certified best tree that pays nothing remains the best.
    """
    if k == 1 and not record and found[0].certified and not crossing.of(found[0].tree):
        return SearchResult(found, found.problem, found.copies, found.first, crossing=crossing)
    options = with_scale(options, found.problem.instance.scores)
    return search(found.problem, options, limits, k, crossing, found.first, record=record)


def _decode(given: NormalisedScores, limits: SearchOptions, k: int = 1, trace: Trace = NO_TRACE) -> SearchResult:
    """Return the k best trees of a problem that was validated."""
    problem = problem_of(given.parts, given.relative, given.options, given.own)
    return search(problem, given.options, limits, k, given.crossing, trace=trace)


def dual_trace(parts: PartSpace, scores: ArrayLike, options: DualOptions = DEFAULTS) -> tuple[Decoded, Trace]:
    """Decode as `dual_decomposition` does, and record what happens at each iteration.

    Parameters
    ----------
    parts, scores, options
        As for `dual_decomposition`, of a set whose automata are compiled, or of arcs alone.

    Returns
    -------
    Decoded
        Result of `dual_decomposition`.
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
    given = normalise_scores(parts, scores, options)
    types, size = given.parts.types, given.options.max_iterations
    if len(types) > 1 and not has_compiled_automata(types):
        raise ValueError(f"the automata of {', '.join(given.parts.names)} are not compiled; they leave no trace")
    trace = Trace(np.empty(size), np.empty(size), np.empty(size), np.empty(size, np.int32))
    found = _decode(given, FIRST_NODE, trace=trace)
    dual, primal, step, decoded = (values[: found[0].iterations] for values in trace)
    return found[0], Trace(dual + given.own.constant, primal + given.own.constant, step, decoded)


def branch_and_bound(
    parts: PartSpace,
    scores: ArrayLike,
    options: DualOptions = DEFAULTS,
    search: SearchOptions = SEARCH,
    costs: ArrayLike | None = None,
) -> Decoded:
    """Find the best tree over the candidate arcs, and prove it.

    Parameters
    ----------
    parts, scores, options
        As for `nonproj.dual.decoding.dual_decomposition`, which is the root node.
    search : SearchOptions
    costs : array-like of shape (A,), float64, optional
        As for `k_best`.

    Returns
    -------
    Decoded
        Certified unless the limit is hit.  ``agreed`` is for the root node alone, ``nodes`` counts the others;
        ``iterations`` and ``recomputed`` are for all.

    Raises
    ------
    ValueError
        As `dual_decomposition`; or a limit or a cost is out of its range.

    Notes
    -----
    Land and Doig (1960), "An automatic method of solving discrete programming problems".  Splitting terminates: each
    child has fewer arcs, and where each word has only one head left, the tree is read off.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(9), "grandparent")
    >>> found = branch_and_bound(parts, np.random.default_rng(1).normal(size=len(parts)))
    >>> found.certified, found.agreed, found.nodes > 0
    (True, False, True)
    """
    return k_best(parts, scores, 1, options, search, costs)[0]


def k_best(
    parts: PartSpace,
    scores: ArrayLike,
    k: int,
    options: DualOptions = DEFAULTS,
    search: SearchOptions = SEARCH,
    costs: ArrayLike | None = None,
) -> list[Decoded]:
    """Find the k best trees over the candidate arcs.

    Parameters
    ----------
    parts : PartSpace
    scores : array-like of shape (P,), float64
    k : int
        1 or more.
    options : DualOptions
        For the root node; other nodes have ``search.node_iterations``.
    search : SearchOptions
        ``work_per_word`` is for each of the k trees.
    costs : array-like of shape (A,), float64, optional
        Cost of each arc in trees in which it is crossed, not negative: see `nonproj.dual.crossing`.

    Returns
    -------
    list of Decoded
        Best first, fewer than ``k`` if there are no more.  A score is that of the tree less its costs.  The bound of
        the i-th holds for all trees but the ``i - 1`` before it; where that is its own score it is certified.
        If ``k > 1``, ``agreed`` equals ``certified``.  ``iterations`` and ``nodes`` count from the beginning.

    Raises
    ------
    ValueError
        If there is no tree, or an argument is out of its range.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(2), "arc")
    >>> [(tree.tree.tolist(), tree.score, tree.certified) for tree in k_best(parts, [1.0, 2.0, 4.0, 9.0], 5)]
    [([-1, 0, 1], 10.0, True), ([-1, 2, 0], 6.0, True), ([-1, 0, 0], 5.0, True)]
    """
    k, search = check_integer(k, "k", 1), check_search(search)
    crossing = crossing_costs(parts.arcs, costs, options.projective)
    return list(_decode(normalise_scores(parts, scores, options, k, crossing), search, k))
