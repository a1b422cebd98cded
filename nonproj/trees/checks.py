"""Argument checks of the tree algorithms and decoders, and the statuses that kernels return instead of raising."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.parts.arcs import as_array
from nonproj.types import ArcSpace, Float64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FOUND, NO_TREE, NO_SINGLE_ROOT, BAD_SCORE, UNDERFLOW = range(5)
"""A tree was found; none exists; none with a single root; a score is NaN or plus infinity; a product underflowed."""

_MESSAGES = {
    NO_TREE: "no tree spans the words: some cannot be reached from the root by arcs with finite scores",
    NO_SINGLE_ROOT: "no tree with a single root spans the words",
    BAD_SCORE: "scores must be finite, or minus infinity for absent arcs, not NaN or plus infinity",
}


def check_status(status: int) -> None:
    """Raise the ``ValueError`` for a kernel's status; do nothing if a tree was found."""
    if status != FOUND:
        raise ValueError(_MESSAGES[status])


def check_flag(value: object, name: str) -> bool:
    """Return True, False, 0, 1 or a NumPy equivalent as bool; raise ``ValueError`` for any other argument.

    Examples
    --------
    >>> check_flag("no", "projective")
    Traceback (most recent call last):
    ValueError: projective is 'no'; True or False is expected
    """
    if not isinstance(value, int | np.integer | np.bool_) or value not in (0, 1):
        raise ValueError(f"{name} is {value!r}; True or False is expected")
    return bool(value)


def check_integer(value: object, name: str, low: int, high: int | None = None) -> int:
    """Return an integer from ``low`` to ``high``, also NumPy's, as int; raise ``ValueError`` for anything else.

    Examples
    --------
    >>> check_integer(0, "k", 1)
    Traceback (most recent call last):
    ValueError: k is 0; 1 or more is expected
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}; an integer is expected")
    if value < low or (high is not None and value > high):
        expected = f"{low} or more" if high is None else f"a number from {low} to {high}"
        raise ValueError(f"{name} is {value}; {expected} is expected")
    return int(value)


def check_matrix(values: ArrayLike, name: str) -> Float64s:
    """Return a square matrix as contiguous, writable float64; raise ``ValueError`` if ``name`` is not square."""
    found = as_array(values, np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or len(found) == 0:
        raise ValueError(f"{name} has shape {found.shape}; (N, N) with N = words + 1 is expected")
    return found


def check_arc_scores(arcs: ArcSpace, scores: ArrayLike) -> Float64s:
    """Return scores of arcs as contiguous, writable float64; raise ``ValueError`` if their number or one is invalid."""
    found = as_array(scores, np.float64)
    if found.shape != arcs.head.shape:
        raise ValueError(f"scores has shape {found.shape}; one score for each of {len(arcs.head)} arcs is expected")
    check_status(FOUND if (found < np.inf).all() else BAD_SCORE)
    return found
