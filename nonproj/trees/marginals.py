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

import numpy as np

from nonproj._kernel import kernel
from nonproj.trees.checks import BAD_SCORE, FOUND, NO_SINGLE_ROOT, NO_TREE, UNDERFLOW, check_matrix, check_status

_SMALLEST = 1e-100  # a product of the d[k] above this has lost no digit to underflow at 1e-308


def marginals(scores, single_root: bool = False) -> tuple[np.ndarray, float]:
    """Return the probability of each arc under ``P(tree) = exp(score(tree)) / Z``, and ``log Z``.

    Parameters
    ----------
    scores : array-like of shape (N, N), float64
        ``scores[h, m]`` of ``h -> m``, in nats; minus infinity for absent arcs.  The diagonal and column 0 are ignored.
    single_root : bool
        Whether to count only trees with exactly one word headed by the root.

    Returns
    -------
    p : ndarray of shape (N, N), float64
        ``p[h, m]``; columns 1 .. n sum to 1, column 0 is zero, absent arcs have exactly 0.
    log_partition : float
        ``log Z``, in nats.

    Raises
    ------
    ValueError
        If a score is NaN or plus infinity, or no such tree exists.

    References
    ----------
    Koo, Globerson, Carreras and Collins (2007); Smith and Smith (2007); McDonald and Satta (2007).

    Examples
    --------
    >>> p, log_partition = marginals([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> p[:, 1].round(3).tolist(), round(float(np.exp(log_partition)), 6)
    ([0.667, 0.0, 0.333], 3.0)
    """
    scores = check_matrix(scores, "scores")
    p = np.zeros(scores.shape)
    status, log_partition = _marginals(scores, bool(single_root), p)
    if status == UNDERFLOW:
        status, log_partition = _marginals_in_log_space(scores, bool(single_root), p)
    check_status(status)
    return p, float(log_partition)


@kernel
def _marginals(scores, single_root, p):
    """Write the marginals to float64[N, N]; return (status, log Z)."""
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
    if not _escape(rates, single_root, escape, leaving) > _SMALLEST:
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
def _fill_rates(scores, single_root, p):
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
    scale = 0.0
    # The arc of a single root has its own scale.
    root_scale = -np.inf if single_root and n_nodes > 1 else 0.0
    for m in range(1, n_nodes):
        if largest[m] == -np.inf:
            return UNDERFLOW, 0.0
        scale += largest[m]
        if single_root:
            root_scale = max(root_scale, scores[0, m] - largest[m])
    if root_scale == -np.inf:
        return UNDERFLOW, 0.0
    for h in range(n_nodes):
        for m in range(1, n_nodes):
            if h != m:
                p[h, m] = np.exp(scores[h, m] - largest[m] - (root_scale if h == 0 else 0.0))
    return FOUND, scale + root_scale


@kernel
def _escape(rates, single_root, escape, leaving):
    """Write escape[h, m] for all words; return the smallest product of rates out of words, each capped at 1.

    Recursive halving with an explicit stack.  In a task (low, high) all other words are eliminated already; it
    eliminates its left half and descends into the right one, then the other way round.  leaving[m] finally holds the
    rates of the order of elimination that ends with word 1.
    """
    n_nodes = rates.shape[0]
    saved = np.empty((2 * n_nodes + 64, n_nodes))
    task = np.empty((64, 4), np.int64)  # low, high, steps done, first row of saved
    product = np.empty(64)
    task[0] = (1, n_nodes, 0, 0)
    product[0] = smallest = 1.0
    depth = 0
    while depth >= 0:
        low, high, step, row = task[depth]
        size, middle = high - low, (low + high) // 2
        rate_product = product[depth]
        task[depth, 2] += 1
        if size == 1:
            if low == 1:
                leaving[1] = rates[1, 0]
            rate_product *= min(rates[low, 0], 1.0)
            smallest = min(smallest, rate_product)
            depth -= 1
        elif step == 0:
            _copy_block(rates, low, saved, row, low, high)
            for k in range(low, middle):
                rate_product *= min(_eliminate(rates, k, k + 1, high, single_root), 1.0)
            depth += 1
            task[depth] = (middle, high, 0, row + size)
            product[depth] = rate_product
        elif step == 1:
            for k in range(middle - 1, low - 1, -1):
                _restore(rates, k, k + 1, high, middle, high, escape)
            _copy_block(saved, row, rates, low, low, high)
            for k in range(high - 1, middle - 1, -1):
                leaving[k] = _eliminate(rates, k, low, k, single_root)
                rate_product *= min(leaving[k], 1.0)
            depth += 1
            task[depth] = (low, middle, 0, row + size)
            product[depth] = rate_product
        else:
            for k in range(middle, high):
                _restore(rates, k, low, k, low, middle, escape)
            depth -= 1
        if rate_product < _SMALLEST:
            return 0.0
    return smallest


@kernel
def _copy_block(source, source_row, target, target_row, low, high):
    """Copy the rates of words low .. high - 1 to the root and to each other."""
    for i in range(high - low):
        target[target_row + i, 0] = source[source_row + i, 0]
        for u in range(low, high):
            target[target_row + i, u] = source[source_row + i, u]


@kernel
def _eliminate(rates, k, low, high, single_root):
    """Eliminate word k from low .. high - 1; leave its transition probabilities in its row; return its total rate."""
    leaving = 0.0 if single_root else rates[k, 0]
    for u in range(low, high):
        leaving += rates[k, u]
    if leaving < _SMALLEST:
        return 0.0
    rates[k, 0] /= leaving
    for u in range(low, high):
        rates[k, u] /= leaving
    moves = rates[k, low:high]
    for m in range(low, high):
        detour, row = rates[m, k], rates[m, low:high]
        rates[m, 0] += detour * rates[k, 0]
        for i in range(high - low):
            row[i] += detour * moves[i]
    return leaving


@kernel
def _restore(rates, k, low, high, first, last, escape):
    """Write escape[k, m] for the words m of first .. last - 1, from escape of low .. high - 1, where k moves to."""
    for m in range(first, last):
        escape[k, m] = rates[k, 0]
    target = escape[k, first:last]
    for u in range(low, high):
        probability, source = rates[k, u], escape[u, first:last]
        for i in range(last - first):
            target[i] += probability * source[i]


def _marginals_in_log_space(scores: np.ndarray, single_root: bool, p: np.ndarray) -> tuple[int, float]:
    """Write the marginals to p, computed with slow logarithms that do not underflow; return (status, log Z)."""
    n_nodes = len(scores)
    allowed = ~np.eye(n_nodes, dtype=bool)
    allowed[:, 0] = False
    rates = np.where(allowed, scores, -np.inf).T
    finite = rates[rates > -np.inf]
    penalty = span = worst = 0.0
    if single_root and len(finite):
        # No tree is less probable than exp(-span); all trees with several roots together are exp(60) times less so.
        span = (n_nodes - 1) * (np.ptp(finite) + np.log(n_nodes))
        worst = (n_nodes - 1) * finite.min()
        penalty = 2.0 * span + 60.0
        rates[:, 0] -= penalty
    escape = np.full((n_nodes, n_nodes), -np.inf)
    escape[0] = 0.0
    log_partition = _log_escape(rates.copy(), 1, n_nodes, escape) + penalty
    if log_partition == -np.inf or (single_root and log_partition < worst - 30.0):
        return (NO_SINGLE_ROOT if single_root else NO_TREE), -np.inf
    joint = rates.T[:, 1:] + escape[:, 1:]
    joint -= np.logaddexp.reduce(joint, axis=0)
    if single_root:
        joint[joint < -span - 30.0] = -np.inf
    p[:, 1:] = np.exp(joint)
    p[:, 1:] /= p[:, 1:].sum(axis=0)
    return FOUND, log_partition


def _log_escape(rates: np.ndarray, low: int, high: int, escape: np.ndarray) -> float:
    """Write the logarithms that `_escape` writes; return the logarithm of the partition function of the words."""
    if high - low == 1:
        return float(rates[low, 0])
    saved, middle = rates[low:high].copy(), (low + high) // 2
    halves = [
        (middle, high, [(k, slice(k + 1, high)) for k in range(low, middle)]),
        (low, middle, [(k, slice(low, k)) for k in range(high - 1, middle - 1, -1)]),
    ]
    for first, last, order in halves:
        rates[low:high] = saved
        log_partition = 0.0
        for k, others in order:
            leaving = np.logaddexp.reduce(rates[k, others], initial=rates[k, 0])
            log_partition += leaving
            if leaving > -np.inf:
                rates[k] -= leaving
            for u in (slice(0, 1), others):
                rates[others, u] = np.logaddexp(rates[others, u], rates[others, k : k + 1] + rates[k, u])
        log_partition += _log_escape(rates, first, last, escape)
        for k, others in reversed(order):
            paths = rates[k, others, None] + escape[others, first:last]
            escape[k, first:last] = np.logaddexp(rates[k, 0], np.logaddexp.reduce(paths, axis=0))
    return log_partition
