"""All parts of a sentence in one flat numbering, and operations on it: indicators, scores, restriction."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nonproj.parts.arcs import MAX_PARTS, as_array, check_count, subset
from nonproj.parts.base import PartType
from nonproj.parts.registry import part_set
from nonproj.types import ArcSpace, Float64s, Int32s, PartSpace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def part_space(arcs: ArcSpace, parts: str | Sequence[str] | tuple[PartType, ...]) -> PartSpace:
    """Number all parts that the arcs allow.

    ``parts`` is the set of part types, in any form accepted by `nonproj.parts.registry.part_set`, or its result.
    `SizeError` is raised for more than `nonproj.parts.arcs.MAX_PARTS` parts.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> parts = part_space(full_arc_space(2), "sibling")
    >>> parts.offsets, parts.start("sibling").tolist()
    ((0, 4, 19), [4, 5, 11, 12, 15, 18, 19])
    """
    given: Any = parts
    types = given if isinstance(parts, tuple) and isinstance(parts[0], PartType) else part_set(given)
    starts, offsets = [], [0]
    for part_type in types:
        starts.append(part_type.number(arcs, offsets[-1]))
        offsets.append(int(starts[-1][-1]))
    if offsets[-1] > MAX_PARTS:
        beyond = bisect.bisect(offsets, MAX_PARTS)
        check_count(offsets[beyond], f"parts up to type {types[beyond - 1].name}", len(arcs.start) - 2)
    return PartSpace(arcs, types, tuple(starts), tuple(offsets))


def indicators(parts: PartSpace, z: np.ndarray, z_grandparent: np.ndarray) -> np.ndarray:
    """Return 1 for the parts of a structure in the relaxed set Z, else 0, float64[P].

    ``z`` and ``z_grandparent``, int8[A], mark the arcs that heads choose as modifiers, and the arc from the
    grandparent that the automaton of each word chooses.
    """
    marks = np.zeros(len(parts))
    for part_type, start in zip(parts.types, parts.starts, strict=True):
        marks[part_type.used(parts.arcs, start, z, z_grandparent)] = 1.0
    return marks


def tree_indicators(parts: PartSpace, heads: ArrayLike) -> Float64s:
    """Return 1 for the parts of a tree, transitions from START and to END included, else 0, float64[P].

    Parameters
    ----------
    parts : PartSpace
    heads : array-like of shape (N,), int
        The tree, ``heads[0] == -1``.

    Raises
    ------
    ValueError
        If an arc of the tree is not a candidate; the message names it.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> tree_indicators(part_space(full_arc_space(2), "arc"), [-1, 0, 1])
    array([1., 0., 0., 1.])
    """
    tree = _tree(heads, parts.arcs)
    y = _tree_arcs(parts.arcs, tree)
    if np.count_nonzero(y) < len(tree) - 1:
        missing = np.setdiff1d(np.arange(1, len(tree)), parts.arcs.modifier[y == 1])[0]
        raise ValueError(f"arc {tree[missing]} -> {missing} of the tree is not among the {len(y)} arcs")
    return indicators(parts, y, y)


def tree_score(parts: PartSpace, scores: ArrayLike, heads: ArrayLike) -> float:
    """Return the score of a tree, the sum over its parts; minus infinity if one of its arcs is not a candidate.

    Parameters
    ----------
    parts : PartSpace
    scores : array-like of shape (P,), float64
    heads : array-like of shape (N,), int
        The tree, ``heads[0] == -1``.

    Raises
    ------
    ValueError
        If there is not one score for each part.

    References
    ----------
    Koo et al. (2010), sections 3 and 4.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> tree_score(part_space(full_arc_space(2), "arc"), [1.0, 2.0, 4.0, 8.0], [-1, 0, 1])
    9.0
    """
    scores = check_scores(parts, scores)
    heads = _tree(heads, parts.arcs)
    y = _tree_arcs(parts.arcs, heads)
    if np.count_nonzero(y) < len(heads) - 1:
        return -np.inf
    total = 0.0
    for part_type, start in zip(parts.types, parts.starts, strict=True):
        for number in part_type.used(parts.arcs, start, y, y):  # one by one, like the kernels, for equal sums
            total += scores[number]
    return float(total)


def check_scores(parts: PartSpace, scores: ArrayLike, finite: bool = False) -> Float64s:
    """Return scores as required by kernels: float64, contiguous, one for each part.

    Raises
    ------
    ValueError
        If there is not one score for each part, or one is not finite although ``finite`` (for a valid bound) is true.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> check_scores(part_space(full_arc_space(1), "arc"), [np.nan], finite=True)
    Traceback (most recent call last):
        ...
    ValueError: scores[0] (arc 0) is nan; scores must be finite
    """
    if np.shape(scores) != (len(parts),):
        sizes = ", ".join(
            f"{part_type.name} {end - begin}"
            for part_type, begin, end in zip(parts.types, parts.offsets, parts.offsets[1:], strict=False)
        )
        raise ValueError(f"scores has shape {np.shape(scores)}; one for each part is expected: {sizes}")
    scores = as_array(scores, np.float64)
    if finite and not np.isfinite(scores).all():
        wrong = int(np.isfinite(scores).argmin())
        raise ValueError(f"scores[{wrong}] ({describe_part(parts, wrong)}) is {scores[wrong]}; scores must be finite")
    return scores


def describe_part(parts: PartSpace, number: int) -> str:
    """Return the type of a part and its number among those of its type, for messages.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> describe_part(part_space(full_arc_space(2), "sibling"), 5)
    'sibling 1'
    """
    i = int(np.searchsorted(parts.offsets, number, side="right")) - 1
    return f"{parts.types[i].name} {number - parts.offsets[i]}"


def restrict(parts: PartSpace, keep: np.ndarray) -> tuple[PartSpace, np.ndarray]:
    """Return the space of parts over the arcs to ``keep``, bool[A], and their numbers in the given space, int64.

    ``scores[numbers]`` are the scores of the remaining parts.

    Examples
    --------
    >>> from nonproj.parts.arcs import full_arc_space
    >>> fewer, numbers = restrict(part_space(full_arc_space(2), "sibling"), np.array([True, False, True, True]))
    >>> len(fewer), numbers[:4]
    (16, array([0, 2, 3, 4]))
    """
    arcs = parts.arcs
    numbers = [
        part_type.restrict(arcs, start, keep) for part_type, start in zip(parts.types, parts.starts, strict=True)
    ]
    return part_space(subset(arcs, keep), parts.types), np.concatenate(numbers)


def _tree(heads: ArrayLike, arcs: ArcSpace) -> Int32s:
    """Return the heads of a tree as required by kernels."""
    n_nodes = len(arcs.start) - 1
    tree = as_array(heads, np.int32)
    if tree.shape != (n_nodes,) or tree[0] != -1:
        raise ValueError(f"heads must have {n_nodes} entries, the first of them -1, not {tree.tolist()}")
    return tree


def _tree_arcs(arcs: ArcSpace, heads: np.ndarray) -> np.ndarray:
    """Return 1 for the arcs of a tree, else 0, int8[A]."""
    return (heads[arcs.modifier] == arcs.head).astype(np.int8)
