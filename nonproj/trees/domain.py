"""The numeric domain: finite scores that forbid an arc, and scores that are too large to add.

People mask arcs by minus infinity, but also by large negative numbers: -1e9, or the smallest number of float32.  Added
to other scores, such a number swallows their digits, so that bounds would be meaningless.  Everything that certifies a
tree or computes probabilities therefore treats such scores as minus infinity, by one rule:

    Sort the scores of a sentence's arcs.  An arc is forbidden if its score is below -1e8 and its absolute value is more
    than a million times that of all higher scores; then all arcs below it are forbidden, too.  The highest score
    forbids nothing.

So -1e9 is a mask among scores up to 1e3, and an ordinary low score among scores of 1e6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Float64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LOW, RATIO = -1e8, 1e6
"""A score forbids its arc if it is below `LOW`, and its absolute value above `RATIO` times every higher one's."""

LARGEST = 1e290
"""Maximum absolute value of a score, so that sums over a sentence do not overflow."""


def forbidden_arcs(scores: ArrayLike) -> Bools:
    """Return a mask of the arcs that are forbidden by the rule of this module, including those of minus infinity.

    Parameters
    ----------
    scores : array-like of any shape, float64
        The scores of all arcs of one sentence, without NaN and plus infinity.

    Examples
    --------
    >>> forbidden_arcs([3.0, -2.0, -1e9, -3.4e38, -np.inf])
    array([False, False,  True,  True,  True])
    >>> forbidden_arcs([3e6, -2e6, -1e9, -3.4e38, -np.inf])
    array([False, False, False,  True,  True])
    """
    values = np.ascontiguousarray(scores, np.float64)
    return np.asarray(values <= highest_forbidden(values.reshape(-1)))


def without_forbidden(scores: Float64s) -> Float64s:
    """Return a matrix of arc scores with minus infinity for forbidden arcs; the diagonal and column 0 are ignored.

    The result is the same object if no arc is forbidden by a finite score.

    Examples
    --------
    >>> without_forbidden(np.array([[0.0, 1.0, -1e9], [0.0, 0.0, 2.0], [0.0, -1e30, 0.0]])).tolist()
    [[0.0, 1.0, -inf], [0.0, 0.0, 2.0], [0.0, -inf, 0.0]]
    """
    if not scores.min(initial=0.0) < LOW:
        return scores
    counts = ~np.eye(len(scores), dtype=np.bool_)
    counts[:, 0] = False
    highest = highest_forbidden(scores[counts])
    return np.where(counts & (scores <= highest), -np.inf, scores)


@kernel
def highest_forbidden(scores: Float64s) -> float:
    """Return the highest score of a vector that forbids its arc; minus infinity if only minus infinity does."""
    above, top = 0.0, -np.inf
    for score in scores:
        top = max(top, score)
        if score >= LOW:
            above = max(above, abs(score))
    if -np.inf < top < LOW:
        above = -top
    while True:
        # Scores accepted in one pass raise the limit of the next.
        accepted, highest = above, -np.inf
        for score in scores:
            if score < LOW:
                if score >= -RATIO * above:
                    accepted = max(accepted, -score)
                else:
                    highest = max(highest, score)
        if accepted == above:
            return highest
        above = accepted
