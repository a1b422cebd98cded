"""Elimination of words from the Markov chain of `nonproj.trees.marginals`, and back substitution.

`np.dot` would be faster from 300 words on, but BLAS adds in an order that depends on its number of threads and on the
processor; here the results are bit-identical everywhere.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s

SMALLEST = 1e-100
"""Minimum product of rates out of words: above it, underflow at 1e-308 has cost no digit."""


@kernel
def eliminate(rates: Float64s, single_root: bool, escape: Float64s, leaving: Float64s) -> float:
    """Write escape[h, m] for all words; return the smallest product of rates out of words, each capped at 1.

    Recursive halving with an explicit stack.  In a task (low, high) all other words are eliminated already; it
    eliminates its left half and descends into the right one, then the other way round.  leaving[m] finally holds the
    rates of the order of elimination that ends with word 1.
    """
    n_nodes = rates.shape[0]
    saved = np.empty((2 * n_nodes + 64, n_nodes))
    task = np.empty((64, 4), np.int64)  # low, high, steps done, first row of saved
    product = np.empty(64)
    _set_task(task, 0, 1, n_nodes, 0)
    product[0] = smallest = 1.0
    depth = 0
    while depth >= 0:
        low, high, step, row = task[depth, 0], task[depth, 1], task[depth, 2], task[depth, 3]
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
                leaving[k] = _eliminate_word(rates, k, k + 1, high, single_root)
                rate_product *= min(leaving[k], 1.0)
            depth += 1
            _set_task(task, depth, middle, high, row + size)
            product[depth] = rate_product
        elif step == 1:
            for k in range(middle - 1, low - 1, -1):
                _restore_word(rates, k, k + 1, high, middle, high, escape)
            _copy_block(saved, row, rates, low, low, high)
            for k in range(high - 1, middle - 1, -1):
                leaving[k] = _eliminate_word(rates, k, low, k, single_root)
                rate_product *= min(leaving[k], 1.0)
            depth += 1
            _set_task(task, depth, low, middle, row + size)
            product[depth] = rate_product
        else:
            for k in range(middle, high):
                _restore_word(rates, k, low, k, low, middle, escape)
            depth -= 1
        if rate_product < SMALLEST:
            return 0.0
    return smallest


@kernel
def _set_task(task: Int64s, depth: int, low: int, high: int, row: int) -> None:
    """Push a new task onto the stack; assigning to a slice would take longer to compile."""
    task[depth, 0], task[depth, 1], task[depth, 2], task[depth, 3] = low, high, 0, row


@kernel
def _copy_block(source: Float64s, source_row: int, target: Float64s, target_row: int, low: int, high: int) -> None:
    """Copy the rates of words low .. high - 1 to the root and to each other."""
    for i in range(high - low):
        target[target_row + i, 0] = source[source_row + i, 0]
        for u in range(low, high):
            target[target_row + i, u] = source[source_row + i, u]


@kernel
def _eliminate_word(rates: Float64s, k: int, low: int, high: int, single_root: bool) -> float:
    """Eliminate word k from low .. high - 1; leave its transition probabilities in its row; return its total rate."""
    leaving = 0.0 if single_root else rates[k, 0]
    for u in range(low, high):
        leaving += rates[k, u]
    if leaving < SMALLEST:
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
def _restore_word(rates: Float64s, k: int, low: int, high: int, first: int, last: int, escape: Float64s) -> None:
    """Write escape[h, m] for the words m of first .. last - 1, from escape of low .. high - 1, to which k moves."""
    for m in range(first, last):
        escape[k, m] = rates[k, 0]
    target = escape[k, first:last]
    for u in range(low, high):
        probability, source = rates[k, u], escape[u, first:last]
        for i in range(last - first):
            target[i] += probability * source[i]
