"""The best tree where non-projective trees have a price, with the same proof of optimality.

The value of a tree is its score, less the price if it has a non-projective arc.  The price is never negative, so the
tree of highest score is also that of highest value if it is projective.  If not, no other non-projective tree has a
higher value, and one question is left: whether a projective tree has.  The subgradient method answers it, with the
best projective tree in the place of the arborescence and from the multipliers of the first tree.  It ends when the
bound of projective trees is not above the value of the first tree; mostly it is not after the first iterations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.automata.compiled import is_compiled
from nonproj.dual.branch_and_bound import search_counted, search_from
from nonproj.dual.domain import pose, with_scale
from nonproj.dual.k_best import rank_trees
from nonproj.dual.options import DEFAULTS, SEARCH, DualOptions, SearchOptions, check_search
from nonproj.options.config import MAX_PRICE
from nonproj.trees.projective import is_projective
from nonproj.types import Decoded, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def priced_search(
    parts: PartSpace,
    scores: ArrayLike,
    price: float,
    options: DualOptions = DEFAULTS,
    search: SearchOptions = SEARCH,
) -> Decoded:
    """Find the tree of highest value, the score less ``price`` if it is not projective, and prove it.

    Parameters
    ----------
    parts : PartSpace
        Of arcs alone, or of a set whose automata are compiled.
    scores : array-like of shape (P,), float64
    price : float
        From 0 to `nonproj.options.config.MAX_PRICE`.
    options, search
        As for `nonproj.dual.branch_and_bound.branch_and_bound`, which decodes first.  The search for a projective tree
        may take the work that is left.

    Returns
    -------
    Decoded
        ``score`` is the tree's value, and ``bound`` a bound of all values.

    Raises
    ------
    ValueError
        As `branch_and_bound`; if the price is out of its range, or the set has no compiled automata.

    Examples
    --------
    The best tree, 0 -> 2 -> 4 -> 1 and 2 -> 3, has an arc over a word that does not depend on its head: 4 -> 1.

    >>> from nonproj.parts.arcs import full_arc_space
    >>> from nonproj.parts.space import part_space
    >>> parts = part_space(full_arc_space(4), "arc")
    >>> wanted = {(0, 2): 9.0, (2, 4): 9.0, (4, 1): 9.0, (2, 1): 6.0, (2, 3): 9.0}
    >>> scores = [wanted.get(arc, 0.0) for arc in zip(parts.arcs.head.tolist(), parts.arcs.modifier.tolist())]
    >>> [(each.heads.tolist(), each.score) for each in (priced_search(parts, scores, price) for price in (2.0, 4.0))]
    [([4, 0, 2, 2], 34.0), ([2, 0, 2, 2], 33.0)]
    """
    if not 0.0 <= price <= MAX_PRICE:
        raise ValueError(f"price is {price}; a number from 0 to {MAX_PRICE:,} is expected")
    if len(parts.types) > 1 and not is_compiled(parts):
        raise ValueError(f"the automata of {', '.join(parts.names)} are not compiled, which a price needs")
    search = check_search(search)
    parts, scores, options = pose(parts, scores, options, price=float(price))
    return search_priced(parts, scores, float(price), options, search)[0]


def search_priced(
    parts: PartSpace, scores: np.ndarray, price: float, options: DualOptions, search: SearchOptions
) -> tuple[Decoded, np.ndarray]:
    """Search as `priced_search` does, without validation; return also what `search_recorded` has recorded."""
    first, lowest, spent = search_counted(parts, scores, options, search)
    if search.work_per_word:  # one iteration is always left, to bound the projective trees
        search = search._replace(work_per_word=max(1, search.work_per_word - spent // (len(first.tree) - 1)))
    return with_price(parts, scores, price, options, search, (first, lowest)), lowest


def with_price(
    parts: PartSpace,
    scores: np.ndarray,
    price: float,
    options: DualOptions,
    search: SearchOptions,
    found: tuple[Decoded, np.ndarray],
) -> Decoded:
    """Return the tree of highest value, given what `search_recorded` has found; nothing is validated."""
    first, lowest = found
    if not price or options.projective or is_projective(first.tree):
        return first
    priced = first._replace(score=first.score - price, bound=first.bound - price)
    return search_from(parts, scores, options._replace(projective=True), search, priced, lowest)


def priced_k_best(
    parts: PartSpace, scores: np.ndarray, k: int, price: float, options: DualOptions, search: SearchOptions
) -> list[Decoded]:
    """Return the k trees of highest value, best first, as `nonproj.dual.k_best.k_best` returns those of highest score.

    They are among the k trees of highest score and the k projective ones of highest score.  The price is trusted.
    """
    options = with_scale(options, scores)
    ranked = rank_trees(parts, scores, options, k, search)
    if not price or options.projective or all(is_projective(each.tree) for each in ranked):
        return ranked
    try:
        projective = rank_trees(parts, scores, options._replace(projective=True), k, search)
    except ValueError:  # there is none
        projective = []
    prices = [0.0 if is_projective(each.tree) else price for each in ranked]
    trees = {each.tree.tobytes(): each for each in projective}
    for each, cost in zip(ranked, prices, strict=True):
        trees.setdefault(each.tree.tobytes(), each._replace(score=each.score - cost))
    # What is not known is under the bound of a tree that is not certified.
    left = [tree.bound - price for tree in ranked if not tree.certified]
    left += [tree.bound for tree in projective if not tree.certified]
    highest, best = max(left, default=-np.inf), sorted(trees.values(), key=lambda tree: -tree.score)[:k]
    return [_under(tree, highest, options) for tree in best]


def _under(tree: Decoded, highest: float, options: DualOptions) -> Decoded:
    """Return a tree under a bound of what is not known."""
    bound = max(tree.score, highest)
    certified = options.closes(bound, tree.score)
    return tree._replace(bound=bound, certified=certified, agreed=certified)
