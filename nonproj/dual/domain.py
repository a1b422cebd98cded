"""A decoding problem as decoders want it: without forbidden arcs, and with the scale that its tolerance refers to.

`nonproj.trees.domain` says which scores forbid an arc.  Other arcs may still be so low that no best tree has them, and
these are left out, so that they do not count for the scale.  An arc is left out if a tree with it scores less than a
known tree, even if all other words have their best heads and all other parts their highest scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.dual.options import SEARCH, DualOptions, check_options
from nonproj.dual.problem import ArcsProblem
from nonproj.dual.search import search
from nonproj.parts.registry import PART_TYPES
from nonproj.parts.space import check_scores, describe_part, part_space, restrict, tree_score
from nonproj.trees.arborescence import best_arborescence
from nonproj.trees.checks import FOUND
from nonproj.trees.domain import LARGEST, highest_forbidden
from nonproj.trees.projective import best_projective_tree
from nonproj.types import Float64s, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LOW_ARCS = 100.0
"""Arcs are left out only where some score this many times as much, in absolute value, as the best arcs and parts."""


def with_scale(options: DualOptions, *scores: np.ndarray) -> DualOptions:
    """Return the options with the largest absolute value of finite scores as their scale.

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


def pose(
    parts: PartSpace, scores: ArrayLike, options: DualOptions, trees: int = 1, price: float = 0.0
) -> tuple[PartSpace, Float64s, DualOptions]:
    """Return the parts, scores and options that a decoder works with.

    Parameters
    ----------
    parts : PartSpace
    scores : array-like of shape (P,), float64
        Those of arcs may be minus infinity.
    options : DualOptions
    trees : int
        How many of the best trees must be left.
    price : float
        Price of a non-projective tree, see `nonproj.dual.decoding.priced_search`.

    Returns
    -------
    parts : PartSpace
        Without the arcs that are forbidden, and without those that no best tree can have where they are very low.
    scores : ndarray of shape (P',), float64
    options : DualOptions
        Validated, and with the scale of these scores.

    Raises
    ------
    ValueError
        If there is not one score for each part, one is not finite (minus infinity for arcs excepted) or above
        `nonproj.trees.domain.LARGEST` in absolute value, one of another part is so low that an arc would be forbidden
        by it, or an option is out of its range.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> parts, scores, options = pose(part_space(full_arc_space(2), "arc"), [1.0, 2.0, 4.0, -1e18], DualOptions())
    >>> scores, options.scale
    (array([1., 2., 4.]), 4.0)
    """
    options, scores = check_options(options), _check(parts, scores)
    n_arcs = len(parts.arcs.head)
    threshold = highest_forbidden(scores[:n_arcs])
    if threshold > -np.inf or not scores[:n_arcs].min(initial=0.0) > -np.inf:
        parts, numbers = restrict(parts, scores[:n_arcs] > threshold)
        scores = scores[numbers]
    _refuse(parts, scores)
    keep = _possible(parts, scores, options, trees, price)
    if keep is not None and not keep.all():
        parts, numbers = restrict(parts, keep)
        scores = scores[numbers]
    return parts, scores, with_scale(options, scores)


def _check(parts: PartSpace, scores: ArrayLike) -> Float64s:
    """Return scores as kernels want them; raise `ValueError` if one is NaN, plus infinity, or no arc's and infinite."""
    array, n_arcs = check_scores(parts, scores), len(parts.arcs.head)
    fine = np.isfinite(array)
    fine[:n_arcs] |= array[:n_arcs] == -np.inf
    if not fine.all():
        wrong = int(fine.argmin())
        raise ValueError(f"scores[{wrong}] ({describe_part(parts, wrong)}) is {array[wrong]}; scores must be finite")
    return array


def _refuse(parts: PartSpace, scores: Float64s) -> None:
    """Raise `ValueError` if a score cannot be added to the others: it is too large, or it is too low and no arc's."""
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


def _possible(parts: PartSpace, scores: Float64s, options: DualOptions, trees: int, price: float) -> np.ndarray | None:
    """Return the arcs that one of the best ``trees`` trees may have, bool[A]; None if they would not help."""
    arcs, n_arcs = parts.arcs, len(parts.arcs.head)
    starts = arcs.start[1:-1]
    if not n_arcs or (np.diff(arcs.start)[1:] == 0).any():
        return None
    best = np.maximum.reduceat(scores[:n_arcs], starts)
    rest = max(float(np.abs(scores[n_arcs:]).max(initial=0.0)), float(np.abs(best).max()))
    if not float(np.abs(scores[:n_arcs]).max()) > LOW_ARCS * rest:
        return None
    # Costs instead of scores, so that a low best arc does not swallow the digits of the others.
    cost = best[arcs.modifier - 1] - scores[:n_arcs]
    known = _known_score(parts, np.concatenate([-cost, scores[n_arcs:]]), options, trees)
    if known == -np.inf:
        return None
    # No tree of n words has more parts of one type than these: all transitions of all heads, START and END included.
    highest, most = 0.0, 3 * len(arcs.start)
    for begin, end in zip(parts.offsets[1:], parts.offsets[2:], strict=False):
        highest += most * max(float(scores[begin:end].max(initial=0.0)), 0.0)
    return cost <= (highest - known + price) * (1.0 + 1e-9)


def _known_score(parts: PartSpace, scores: Float64s, options: DualOptions, trees: int) -> float:
    """Return the lowest score of the best ``trees`` trees by arcs alone; minus infinity if there are fewer trees."""
    arcs, n_arcs = parts.arcs, len(parts.arcs.head)
    if trees > 1:
        options = with_scale(options, scores[:n_arcs])
        alone = ArcsProblem(part_space(arcs, (PART_TYPES["arc"],)), scores[:n_arcs], options)
        try:
            found = search(alone, options, SEARCH, trees)
        except ValueError:  # there is none
            return -np.inf
        return min(tree_score(parts, scores, each.tree) for each in found) if len(found) == trees else -np.inf
    heads = np.empty(len(arcs.start) - 1, np.int32)
    find = best_projective_tree if options.projective else best_arborescence
    if find(arcs, scores[:n_arcs], options.single_root, heads) != FOUND:
        return -np.inf
    return tree_score(parts, scores, heads)
