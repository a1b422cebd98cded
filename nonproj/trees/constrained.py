"""Marginals of trees that have given arcs, by contraction.

Arcs that all trees have form a forest.  A tree over all words that has them is a tree over its components: an arc
enters a component at its top, the word without a given head, and leaves it from any of its words.  So the components
are the nodes of a smaller problem, in which the scores of the arcs from one component into another are summed, and the
marginal of such an arc is shared among the words by their rates.  This is exact, and where the forest determines most
of the tree, it avoids underflow of the probabilities of impossible trees.
"""

from __future__ import annotations

import numpy as np

from nonproj.trees.checks import NO_SINGLE_ROOT, NO_TREE, check_status
from nonproj.trees.marginals import marginals_trusted
from nonproj.types import Bools, Float64s, Int64s


def constrained_marginals(scores: Float64s, allowed: Bools, single_root: bool) -> tuple[Float64s, float]:
    """Return the probability of each arc, and the log of the partition function, over trees of allowed arcs.

    Parameters
    ----------
    scores : ndarray of shape (N, N), float64
        As for `nonproj.trees.marginals.marginals`; the scores of arcs that are not allowed do not count.
    allowed : ndarray of shape (N, N), bool
        ``allowed[h, m]`` of the arc from h to m.  The diagonal and column 0 are ignored.
    single_root : bool
        As for `nonproj.trees.marginals.marginals`, which is used here without ``strict``.

    Returns
    -------
    p : ndarray of shape (N, N), float64
    log_partition : float

    Raises
    ------
    ValueError
        If a score of an allowed arc is NaN or plus infinity, or no such tree exists.

    Examples
    --------
    >>> allowed = np.array([[False, True, True], [False, False, True], [False, False, False]])
    >>> p, log_partition = constrained_marginals(np.zeros((3, 3)), allowed, False)
    >>> p[:, 1:].tolist(), round(float(np.exp(log_partition)), 6)
    ([[1.0, 0.5], [0.0, 0.5], [0.0, 0.0]], 2.0)
    """
    n_nodes = len(scores)
    allowed = allowed & ~np.eye(n_nodes, dtype=np.bool_)
    allowed[:, 0] = False
    scores = np.where(allowed, scores, -np.inf)
    heads = np.where(allowed.sum(axis=0) == 1, allowed.argmax(axis=0), -1)
    component = _components(heads)
    words = np.flatnonzero(heads >= 0)
    roots = int(np.count_nonzero(heads[1:] == 0))
    if roots and single_root:
        check_status(NO_SINGLE_ROOT if roots > 1 else 0)
        scores[0, heads < 0] = -np.inf
    tops = np.flatnonzero(heads < 0)  # node 0 first
    number = np.empty(n_nodes, np.int64)
    number[tops] = np.arange(len(tops))
    group = number[component]
    into = scores[:, tops[1:]]
    highest = np.full((len(tops), len(tops) - 1), -np.inf)
    np.maximum.at(highest, group, into)
    base = np.where(np.isfinite(highest), highest, 0.0)
    rates = np.exp(into - base[group])
    total = np.zeros_like(highest)
    np.add.at(total, group, rates)
    own = np.arange(1, len(tops))
    total[own, own - 1] = 0.0  # arcs within a component would close a cycle
    contracted = np.full((len(tops), len(tops)), -np.inf)
    with np.errstate(divide="ignore"):
        contracted[:, 1:] = np.log(total) + base
    found, log_partition = marginals_trusted(contracted, single_root and not roots, False)
    share = np.divide(found[:, 1:], total, out=np.zeros_like(total), where=total > 0.0)
    p = np.zeros_like(scores)
    p[:, tops[1:]] = rates * share[group]
    p[heads[words], words] = 1.0
    return p, log_partition + float(scores[heads[words], words].sum())


def _components(heads: Int64s) -> Int64s:
    """Return the top of each node's component, int64[N]; raise `ValueError` if the given heads have a cycle."""
    top = np.where(heads >= 0, heads, np.arange(len(heads)))
    for _ in range(len(heads).bit_length()):
        top = top[top]
    if (heads[top] >= 0).any():
        check_status(NO_TREE)
    return top
