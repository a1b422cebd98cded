"""Arc marginals and the partition function of arc-factored trees: the matrix-tree theorem without subtractions.

Consider the Markov chain that moves from word ``m`` to ``h`` at the rate ``w[h, m] = exp(s[h, m])`` and is absorbed by
the root.  Its generator is the Laplacian of the matrix-tree theorem.  Eliminating a word ``k`` by the algorithm of
Grassmann, Taksar and Heyman (1985) adds the detours through it, ``w[h, m] += w[k, m] * w[h, k] / d[k]``, where ``d[k]``
is the sum of the rates out of ``k``.  All terms are positive, so nothing cancels.  The product of the ``d[k]`` is the
partition function.

The marginals need, for every word ``m``, the probability that the chain reaches the root from ``h`` before ``m``::

    p[h, m]  is proportional to  w[h, m] * escape[h, m],    escape[0, m] = 1,  escape[m, m] = 0,

which is ``w[h, m] * (inverse[m, m] - inverse[m, h])`` of Koo et al. (2007) without the cancellation.  This eliminates
all words but ``m``; recursive halving shares eliminations between the ``m``, O(n^3) in all.  For a single root, the
rates to the root are infinitesimal, so that trees with several roots vanish: they do not count in ``d[k]``, and
``escape`` is a multiple of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.trees.checks import BAD_SCORE, FOUND, UNDERFLOW, check_flag, check_matrix, check_status
from nonproj.trees.domain import without_forbidden
from nonproj.trees.elimination import SMALLEST, eliminate
from nonproj.trees.wide_marginals import wide_marginals
from nonproj.types import Float64s

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


ROUNDED = 1e5
"""Absolute value of scores, in nats, above which their differences lose digits of the probabilities."""


def marginals(scores: ArrayLike, single_root: bool = False, strict: bool = True) -> tuple[Float64s, float]:
    """Return the probability of each arc under ``P(tree) = exp(score(tree)) / Z``, and ``log Z``.

    Parameters
    ----------
    scores : array-like of shape (N, N), float64
        ``scores[h, m]`` of ``h -> m``, in nats; minus infinity for absent arcs, also by the rule of
        `nonproj.trees.domain`.  The diagonal and column 0 are ignored.
    single_root : bool
        Whether to count only trees with exactly one word headed by the root.
    strict : bool
        Whether to refuse scores whose probabilities would be determined by rounding errors.

    Returns
    -------
    p : ndarray of shape (N, N), float64
        ``p[h, m]``; columns 1 .. n sum to 1, column 0 is zero, absent arcs have exactly 0.
    log_partition : float
        ``log Z``, in nats.

    Raises
    ------
    ValueError
        If a score is NaN or plus infinity, or no such tree exists; with ``strict``, if even the best tree scores
        `nonproj.trees.wide_marginals.FURTHEST` less than the best heads of all words, which need not be a tree.

    References
    ----------
    Koo, Globerson, Carreras and Collins (2007); Smith and Smith (2007); McDonald and Satta (2007).

    Examples
    --------
    >>> p, log_partition = marginals([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> p[:, 1].round(3).tolist(), round(float(np.exp(log_partition)), 6)
    ([0.667, 0.0, 0.333], 3.0)
    """
    flags = check_flag(single_root, "single_root"), check_flag(strict, "strict")
    return marginals_trusted(without_forbidden(check_matrix(scores, "scores")), *flags)


def marginals_trusted(scores: Float64s, single_root: bool, strict: bool) -> tuple[Float64s, float]:
    """Return marginals as `marginals` does, without validation: scores are a writable matrix; none forbids its arc."""
    p = np.zeros(scores.shape)
    status, log_partition = _marginals(scores, single_root, p)
    if status == UNDERFLOW:
        status, log_partition = wide_marginals(scores, single_root, p, strict)
    if status != FOUND:
        check_status(status)
    return p, float(log_partition)


@kernel
def _marginals(scores: Float64s, single_root: bool, p: Float64s) -> tuple[int, float]:
    """Write the marginals to ``p``; return (status, log Z)."""
    n_nodes = scores.shape[0]
    status, scale = _fill_rates(scores, single_root, p)
    if status != FOUND or n_nodes == 1:
        return status, scale
    rates = np.empty((n_nodes, n_nodes))
    for m in range(n_nodes):
        for h in range(n_nodes):
            rates[m, h] = p[h, m]
    escape = np.zeros((n_nodes, n_nodes))
    leaving = np.empty(n_nodes)
    if not eliminate(rates, single_root, escape, leaving) > SMALLEST:
        return UNDERFLOW, 0.0
    total = leaving
    for m in range(1, n_nodes):
        scale += np.log(leaving[m])
        total[m] = p[0, m]
    for h in range(1, n_nodes):
        for m in range(1, n_nodes):
            p[h, m] *= escape[h, m]
            total[m] += p[h, m]
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            p[h, m] /= total[m]
    return FOUND, scale


@kernel
def _fill_rates(scores: Float64s, single_root: bool, p: Float64s) -> tuple[int, float]:
    """Write exp(scores), scaled by column, to p; return (status, logarithm of the scale)."""
    n_nodes = scores.shape[0]
    largest = np.full(n_nodes, -np.inf)
    for h in range(n_nodes):
        counts = h > 0 or not single_root or n_nodes == 2
        for m in range(1, n_nodes):
            if h != m:
                if not scores[h, m] < np.inf:
                    return BAD_SCORE, 0.0
                if counts and scores[h, m] > largest[m]:
                    largest[m] = scores[h, m]
    scale, furthest = 0.0, 0.0
    # The arc of a single root has its own scale.
    root_scale = -np.inf if single_root and n_nodes > 1 else 0.0
    for m in range(1, n_nodes):
        if largest[m] == -np.inf:
            return UNDERFLOW, 0.0
        scale += largest[m]
        furthest = max(furthest, abs(largest[m]))
        if single_root:
            root_scale = max(root_scale, scores[0, m] - largest[m])
    # Non-zero rates come from scores near these; minus infinity comes from a root without arcs.
    if max(furthest, abs(root_scale)) > ROUNDED:
        return UNDERFLOW, 0.0
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if h != m:
                p[h, m] = np.exp(scores[h, m] - largest[m] - (root_scale if h == 0 else 0.0))
    return FOUND, scale + root_scale
