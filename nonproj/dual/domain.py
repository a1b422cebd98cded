"""Normalisation of a decoding problem: forbidden arcs are removed, and the tolerance is relative to its scale.

`nonproj.trees.domain` says which scores forbid an arc.  Other arcs may still be so low that no best tree has them, and
these are left out, so that they do not count for the scale.  An arc is left out if a tree with it scores less than a
known tree, even if all other words have their best heads and all other parts their highest scores.  Scores of arcs are
then relative to the best arc into each word: a tree has one arc into each, so a constant on all of them does not change
the ranking, and must not affect the tolerance or the digits of a bound.  It is added back to scores and bounds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nonproj.automata.workspace import half_margins
from nonproj.dual.crossing import CrossingCosts
from nonproj.dual.options import SEARCH, DualOptions, check_options
from nonproj.dual.problem import ArcsProblem, OwnScores
from nonproj.dual.search import search
from nonproj.kernels.kernel import kernel
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import check_scores, describe_part, part_space, restrict, tree_score
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.checks import FOUND
from nonproj.trees.domain import LARGEST, highest_forbidden
from nonproj.trees.projective import best_projective_tree
from nonproj.trees.rounding import ROUNDOFF, sums_are_exact
from nonproj.types import ArcSpace, Bools, Float64s, Int32s, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LOW_ARCS = 100.0
"""Gap to the best arc into a word beyond which arcs may be left out, in units of the largest score of other parts."""


def with_scale(options: DualOptions, *scores: np.ndarray) -> DualOptions:
    """Return the options with their scale set to the largest absolute score; all scores must be finite.

    Examples
    --------
    >>> with_scale(DualOptions(), np.array([1.0, -3.0])).scale
    3.0
    """
    largest = 0.0
    for array in scores:
        if array.size:
            largest = max(largest, float(array.max()), -float(array.min()))
    return options._replace(scale=largest)


class NormalisedScores(NamedTuple):
    """Normalised parts and scores, the input of decoders.

    Attributes
    ----------
    parts : PartSpace
        Parts without the arcs that are forbidden, or so low that no best tree can have them.
    relative : ndarray of shape (P,), float64
        Scores of these parts, those of arcs relative to the best arc into each word: see `relative_scores`.
    options : DualOptions
        With the scale of these scores.
    own : OwnScores
        Scores before they were made relative.
    crossing : CrossingCosts or None
        Costs of crossed arcs.
    """

    parts: PartSpace
    relative: np.ndarray
    options: DualOptions
    own: OwnScores
    crossing: CrossingCosts | None = None


@kernel
def relative_scores(arcs: ArcSpace, scores: Float64s) -> tuple[Float64s, Float64s, float, float, float]:
    """Return scores of parts with those of arcs relative to the best arc into each word, and the best arcs' scores.

    Parameters
    ----------
    arcs : ArcSpace
    scores : ndarray of shape (P,), float64
        Scores of parts, arcs first.

    Returns
    -------
    relative : ndarray of shape (P,), float64
    best : ndarray of shape (N,), float64
        0 for the root and words without arcs.
    scale : float
        The largest absolute value of the relative scores.
    roundoff, bound : float
        See `OwnScores`.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> relative_scores(full_arc_space(2), np.array([1.0, 2.0, 4.0, 8.0]))
    (array([-1.,  0., -4.,  0.]), array([0., 2., 8.]), 4.0, 0.0, 0.0)
    """
    relative, best, scale, highest = scores.copy(), np.zeros(arcs.start.shape[0] - 1), 0.0, 0.0
    for m in range(1, best.shape[0]):
        top = -np.inf
        for a in range(arcs.start[m], arcs.start[m + 1]):
            top = max(top, scores[a])
        if top > -np.inf:
            best[m] = top
            for a in range(arcs.start[m], arcs.start[m + 1]):
                relative[a] -= top
    for score in relative:
        scale = max(scale, abs(score))
    for score in relative[arcs.head.shape[0] :]:
        highest = max(highest, score)
    others = relative.shape[0] - arcs.head.shape[0]
    roundoff = 0.0 if sums_are_exact(scores, best.shape[0] + others) else ROUNDOFF
    return relative, best, scale, roundoff, highest * others


def make_relative(parts: PartSpace, scores: Float64s, options: DualOptions) -> NormalisedScores:
    """Return the normalised problem of finite scores and valid options, without leaving out any arc.

    It starts from multipliers at which automata tend to take the best arc into each word, and no other.
    """
    relative, best, scale, roundoff, most = relative_scores(parts.arcs, scores)
    largest = float(np.abs(relative[len(parts.arcs.head) :]).max(initial=0.0))
    first = half_margins(parts.arcs, relative, largest)
    own = OwnScores(scores, best, math.fsum(best.tolist()), roundoff, most, first)
    return NormalisedScores(parts, relative, options._replace(scale=scale), own)


def normalise_scores(
    parts: PartSpace, scores: ArrayLike, options: DualOptions, trees: int = 1, crossing: CrossingCosts | None = None
) -> NormalisedScores:
    """Return a problem, validated and normalised.

    Parameters
    ----------
    parts : PartSpace
    scores : array-like of shape (P,), float64
        Scores of parts; those of arcs may be minus infinity.
    options : DualOptions
    trees : int
        Number of best trees that must remain possible.
    crossing : CrossingCosts, optional
        Costs of crossed arcs.

    Returns
    -------
    NormalisedScores
        The scale is that of the arcs that the best tree may have, and of all other parts.

    Raises
    ------
    ValueError
        If there is not one score for each part, one is not finite (minus infinity for arcs excepted) or above
        `nonproj.trees.domain.LARGEST` in absolute value, the score of another part is so low that it would forbid an
        arc, or an option is out of its range.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> given = normalise_scores(part_space(full_arc_space(2), "arc"), [1.0, 2.0, 4.0, -1e18], DualOptions())
    >>> given.own.part_scores, given.relative
    (array([1., 2., 4.]), array([-1.,  0.,  0.]))
    """
    options = check_options(options)
    parts, scores = allowed_parts(parts, scores)
    given = make_relative(parts, scores, options)._replace(crossing=crossing and crossing.over(parts.arcs))
    top = _possible(given, 1)
    if top is None:
        return given
    keep = top if trees == 1 else _possible(given, trees)
    if keep is not None and not keep.all() and given.relative[len(keep) :].any():
        parts, numbers = restrict(parts, keep)
        given, top = make_relative(parts, scores[numbers], options), top[keep]
    n_arcs = len(top)
    options = with_scale(options, given.relative[:n_arcs][top], given.relative[n_arcs:])
    return given._replace(options=options, crossing=crossing and crossing.over(parts.arcs))


def allowed_parts(parts: PartSpace, scores: ArrayLike) -> tuple[PartSpace, Float64s]:
    """Return the parts over arcs that are not forbidden, and their scores; raise as `normalise_scores` does."""
    scores, n_arcs = _check(parts, scores), len(parts.arcs.head)
    threshold = highest_forbidden(scores[:n_arcs])
    if threshold > -np.inf or not scores[:n_arcs].min(initial=0.0) > -np.inf:
        parts, numbers = restrict(parts, scores[:n_arcs] > threshold)
        scores = scores[numbers]
    _refuse(parts, scores)
    return parts, scores


def _check(parts: PartSpace, scores: ArrayLike) -> Float64s:
    """Return scores as float64; raise `ValueError` for NaN and infinity, except minus infinity for arcs."""
    array, n_arcs = check_scores(parts, scores), len(parts.arcs.head)
    fine = np.isfinite(array)
    fine[:n_arcs] |= array[:n_arcs] == -np.inf
    if not fine.all():
        wrong = int(fine.argmin())
        raise ValueError(f"scores[{wrong}] ({describe_part(parts, wrong)}) is {array[wrong]}; scores must be finite")
    return array


def _refuse(parts: PartSpace, scores: Float64s) -> None:
    """Raise `ValueError` if a score cannot be added to others: too large, or too low for a part other than an arc."""
    large = np.abs(scores) > LARGEST
    if large.any():
        wrong = int(large.argmax())
        place = describe_part(parts, wrong)
        raise ValueError(f"scores[{wrong}] ({place}) is {scores[wrong]}; sums need at most {LARGEST} in absolute value")
    lowest = int(scores.argmin()) if len(scores) else -1
    if lowest >= len(parts.arcs.head) and scores[lowest] <= highest_forbidden(scores):
        place = describe_part(parts, lowest)
        reason = "it is too low to be added to the others; only an arc can be forbidden"
        raise ValueError(f"scores[{lowest}] ({place}) is {scores[lowest]}; {reason}")


def _possible(given: NormalisedScores, trees: int) -> Bools | None:
    """Return the arcs that one of the best ``trees`` trees may have, bool[A]; None if no arc is to be left out."""
    parts, relative = given.parts, given.relative
    n_arcs = len(parts.arcs.head)
    if not n_arcs or (np.diff(parts.arcs.start)[1:] == 0).any():
        return None
    rest = float(np.abs(relative[n_arcs:]).max(initial=0.0))
    if not -float(relative[:n_arcs].min()) > LOW_ARCS * rest:
        return None
    known = _known_value(given, trees)
    if given.crossing:  # projective trees pay nothing
        known = max(known, _known_value(given._replace(options=given.options._replace(projective=True)), trees))
    if known == -np.inf:
        return None
    # No tree of n words has more parts of one type than these: all transitions of all heads, START and END included.
    highest, most = 0.0, 3 * len(parts.arcs.start)
    for begin, end in zip(parts.offsets[1:], parts.offsets[2:], strict=False):
        highest += most * max(float(relative[begin:end].max(initial=0.0)), 0.0)
    return np.asarray(-relative[:n_arcs] <= (highest - known) * (1.0 + 1e-9))


def _known_value(given: NormalisedScores, trees: int) -> float:
    """Return the lowest value of the ``trees`` trees that are best by arcs alone; minus infinity if there are fewer."""
    parts, scores, options, _, crossing = given
    arcs, n_arcs = parts.arcs, len(parts.arcs.head)

    def value(heads: Int32s) -> float:
        return tree_score(parts, scores, heads) - (crossing.of(heads) if crossing else 0.0)

    if trees > 1:
        options = with_scale(options, scores[:n_arcs])
        alone = ArcsProblem(part_space(arcs, (PART_TYPES["arc"],)), scores[:n_arcs], options)
        try:
            found = search(alone, options, SEARCH, trees)
        except ValueError:  # there is none
            return -np.inf
        return min(value(each.tree) for each in found) if len(found) == trees else -np.inf
    heads = np.empty(len(arcs.start) - 1, np.int32)
    find = best_projective_tree if options.projective else best_arborescence
    if find(arcs, scores[:n_arcs], options.single_root, heads) != FOUND:
        return -np.inf
    return value(heads)
