"""Marginals if the rates of `nonproj.trees.marginals` underflow: slow, in logarithms of full precision.

A positive number is written as ``exp(UNIT * i + f)``.  The integer ``i`` holds the large part, so that products and
quotients of numbers far apart lose no digits of the small part ``f``; both are in extended precision, the real and
imaginary part of a complex number, so that a product of numbers is the sum of two complex numbers.

For a single root, the rates to the root are infinitesimal, and trees with several roots vanish.  They are multiples of
``exp(-UNIT * ORDER)``, which is far below any product of other rates.  Absent rates are far below these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonproj.trees.arborescence import best_arborescence_dense
from nonproj.trees.checks import FOUND

UNIT = 1024.0
"""The unit of the integer part, in nats: a power of two."""

ORDER = 2.0**46
"""Number of units by which an infinitesimal rate is smaller."""

ABSENT = -(2.0**50)
ZERO = np.clongdouble(complex(0.0, ABSENT))
"""Integer part of the number 0, and the number itself."""

NEGLIGIBLE = 2000.0
"""Distance in nats below the best tree at which a tree no longer affects any probability."""

FURTHEST = 1e13
"""Maximum difference, in nats, between the best heads of all words and the best tree for exact probabilities.

Only arcs that cost little more than this matter, and their costs are exact: the difference of two scores that are
large compared with it is a float64, and other scores are small enough for extended precision."""


def wide_marginals(scores: np.ndarray, single_root: bool, p: np.ndarray, strict: bool) -> tuple[int, float]:
    """Write the marginals to ``p``; return (status, log Z).

    Parameters
    ----------
    scores : ndarray of shape (N, N), float64
        Without NaN and plus infinity.
    single_root : bool
        As for `nonproj.trees.marginals.marginals`.
    p : ndarray of shape (N, N), float64
        Array of zeros, to which the probabilities are written.
    strict : bool
        Whether to refuse a best tree that loses more than `FURTHEST`, because rounding would decide which trees are
        equally good.  Otherwise the best tree gets all of the probability.

    Returns
    -------
    status : int
        Status of `nonproj.trees.checks`.
    log_partition : float
        In nats; minus infinity without a tree.

    Raises
    ------
    ValueError
        With ``strict``, if the best tree loses more than `FURTHEST`.

    Examples
    --------
    >>> scores, p = np.array([[0.0, 1e6, 1e6], [0.0, 0.0, 3.0], [0.0, 2.0, 0.0]]), np.zeros((3, 3))
    >>> status, log_partition = wide_marginals(scores, True, p, True)
    >>> p[0].round(3).tolist(), round(log_partition - 1e6, 3)
    ([0.0, 0.731, 0.269], 3.313)
    """
    n_nodes, words = len(scores), np.arange(1, len(scores))
    deficits, best = _deficits(scores)
    tree = np.empty(n_nodes, np.int32)
    status = best_arborescence_dense(-deficits, single_root, tree)
    if status != FOUND:
        return status, -np.inf
    lost = float(deficits[tree[1:], words].sum())
    if lost > FURTHEST:
        if strict:
            reason = "probabilities cannot be computed; scale all scores down"
            raise ValueError(f"the best tree scores {lost:.3g} less than the best heads of all words: {reason}")
        p[tree[1:], words] = 1.0
        return FOUND, float(scores[tree[1:], words].sum())
    possible = deficits <= lost * (1.0 + 1e-9) + NEGLIGIBLE  # other arcs lose more than the best tree loses in all
    rates = np.where(possible, _number(scores) - _number(best), ZERO).T
    rates[:, 0] -= complex(0.0, ORDER * single_root)
    escape = np.full((n_nodes, n_nodes), ZERO)
    escape[0] = 0.0
    partition = _eliminate(rates.copy(), 1, n_nodes, escape)
    joint = _normal(rates.T[:, 1:] + escape[:, 1:])
    total = _sum(joint, 0)
    p[:, 1:] = np.exp(_logarithm(joint - total)).astype(np.float64)
    p[:, 1:] /= p[:, 1:].sum(axis=0)
    partition += complex(0.0, ORDER * single_root)
    return FOUND, float(_logarithm(partition) + best[1:].astype(np.longdouble).sum())


def _deficits(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cost of each arc relative to its word's best head, plus infinity if absent; and the best scores."""
    values = np.where(np.eye(len(scores), dtype=np.bool_), -np.inf, scores)
    values[:, 0] = -np.inf
    best = values.max(axis=0)
    best[best == -np.inf] = 0.0
    return best - values, best


def _number(logarithms: np.ndarray) -> np.ndarray:
    """Return the numbers with these logarithms, in this module's form, unrounded; `ZERO` for minus infinity."""
    finite = np.where(logarithms > -np.inf, logarithms, 0.0).astype(np.longdouble)
    return np.where(logarithms > -np.inf, _normal(finite + np.clongdouble(0)), ZERO)


def _normal(numbers: np.ndarray) -> np.ndarray:
    """Return numbers normalised to small parts of at most half a unit."""
    units = np.rint(numbers.real / UNIT)
    return numbers + (units * np.clongdouble(1j) - UNIT * units)


def _logarithm(numbers: np.ndarray) -> np.ndarray:
    """Return logarithms of numbers in this module's form, rounded; for infinitesimal ones they are hugely negative."""
    return UNIT * numbers.imag + numbers.real


def _sum(numbers: np.ndarray, axis: int) -> np.ndarray:
    """Return the sums of numbers along an axis."""
    numbers = _normal(numbers)
    units = numbers.imag.max(axis=axis, keepdims=True)
    terms = np.exp(_logarithm(numbers - units * np.clongdouble(1j)))
    total = np.log(terms.sum(axis=axis)) + units.squeeze(axis) * np.clongdouble(1j)
    return _normal(np.asarray(total))


def _eliminate(rates: np.ndarray, low: int, high: int, escape: np.ndarray) -> Any:
    """Write the result of `nonproj.trees.elimination.eliminate`; return the partition function of the words."""
    if high - low == 1:
        return rates[low, 0]
    saved, middle = rates[low:high].copy(), (low + high) // 2
    halves = [
        (middle, high, [(k, slice(k + 1, high)) for k in range(low, middle)]),
        (low, middle, [(k, slice(low, k)) for k in range(high - 1, middle - 1, -1)]),
    ]
    for first, last, order in halves:
        rates[low:high] = saved
        partition: Any = np.clongdouble(0)
        for k, others in order:
            leaving = _sum(np.append(rates[k, others], rates[k, 0]), 0)[()]
            partition += leaving
            if leaving.imag > ABSENT / 2:
                rates[k] = _normal(rates[k] - leaving)
            for u in (slice(0, 1), others):
                detours = rates[others, k : k + 1] + rates[k, u]
                rates[others, u] = _sum(np.stack([rates[others, u], detours]), 0)
        partition += _eliminate(rates, first, last, escape)
        for k, others in reversed(order):
            paths = rates[k, others, None] + escape[others, first:last]
            direct = np.broadcast_to(rates[k, 0], (1, last - first))
            escape[k, first:last] = _sum(np.concatenate([paths, direct]), 0)
    return partition
