"""Elimination of words from the Markov chain of `nonproj.trees.marginals`, and back substitution.

Large tasks eliminate a panel of words at a time: first within the panel, and then from all other words at once, as a
product of matrices whose blocks stay in the cache.  Both are sums of the same positive terms.

`np.dot` would take 12 to 17 % less time, but BLAS adds in an order that depends on its number of threads and on the
processor; here the results are bit-identical everywhere.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s

SMALLEST = 1e-100
"""If the product of rates out of words is above this, underflow at 1e-308 has cost no digit."""

LARGE = 128
"""Minimum number of words of a task that uses panels."""

_PANEL = 32  # words of a panel
_TILE = 256  # columns of a product


@kernel
def eliminate(rates: Float64s, single_root: bool, escape: Float64s, leaving: Float64s, panels: bool | None) -> float:
    """Write escape[h, m] for all words; return the smallest product of rates out of words, each capped at 1.

    Recursive halving with an explicit stack.  In a task (low, high) all other words are eliminated already; it
    eliminates its left half and descends into the right one, then the other way round.  leaving[m] finally holds the
    rates of the order of elimination that ends with word 1.  ``panels`` is True if some task may be large, and else
    None, which is of another type: its code is compiled without panels.
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
            rate_product *= _eliminate_left(rates, low, middle, high, single_root, leaving, panels)
            depth += 1
            _set_task(task, depth, middle, high, row + size)
            product[depth] = rate_product
        elif step == 1:
            _restore_left(rates, low, middle, high, escape, panels)
            _copy_block(saved, row, rates, low, low, high)
            rate_product *= _eliminate_right(rates, low, middle, high, single_root, leaving, panels)
            depth += 1
            _set_task(task, depth, low, middle, row + size)
            product[depth] = rate_product
        else:
            _restore_right(rates, low, middle, high, escape, panels)
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
def _eliminate_left(
    rates: Float64s, low: int, middle: int, high: int, single_root: bool, leaving: Float64s, panels: bool | None
) -> float:
    """Eliminate words low .. middle - 1 and write their total rates; return their product, each capped at 1."""
    product = 1.0
    if panels is not None and high - low >= LARGE:
        for begin in range(low, middle, _PANEL):
            end = min(begin + _PANEL, middle)
            product *= _eliminate_panel(rates, begin, end, end, high, single_root, leaving)
        return product
    for k in range(low, middle):
        leaving[k] = _eliminate_word(rates, k, k + 1, high, single_root)
        product *= min(leaving[k], 1.0)
    return product


@kernel
def _eliminate_right(
    rates: Float64s, low: int, middle: int, high: int, single_root: bool, leaving: Float64s, panels: bool | None
) -> float:
    """Eliminate words high - 1 .. middle as `_eliminate_left` does the others."""
    product = 1.0
    if panels is not None and high - low >= LARGE:
        for end in range(high, middle, -_PANEL):
            begin = max(end - _PANEL, middle)
            product *= _eliminate_panel(rates, begin, end, low, begin, single_root, leaving)
        return product
    for k in range(high - 1, middle - 1, -1):
        leaving[k] = _eliminate_word(rates, k, low, k, single_root)
        product *= min(leaving[k], 1.0)
    return product


@kernel
def _restore_left(rates: Float64s, low: int, middle: int, high: int, escape: Float64s, panels: bool | None) -> None:
    """Write escape[k, m] of words low .. middle - 1 for words middle .. high - 1, last eliminated first."""
    if panels is not None and high - low >= LARGE:
        for i in range((middle - low - 1) // _PANEL, -1, -1):
            begin = low + i * _PANEL
            end = min(begin + _PANEL, middle)
            _restore_panel(rates, begin, end, end, high, middle, high, escape)
        return
    for k in range(middle - 1, low - 1, -1):
        _restore_word(rates, k, k + 1, high, middle, high, escape)


@kernel
def _restore_right(rates: Float64s, low: int, middle: int, high: int, escape: Float64s, panels: bool | None) -> None:
    """Write escape[k, m] of words middle .. high - 1 for words low .. middle - 1, last eliminated first."""
    if panels is not None and high - low >= LARGE:
        for i in range((high - middle - 1) // _PANEL, -1, -1):
            end = high - i * _PANEL
            begin = max(end - _PANEL, middle)
            _restore_panel(rates, begin, end, low, begin, low, middle, escape)
        return
    for k in range(middle, high):
        _restore_word(rates, k, low, k, low, middle, escape)


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
def _eliminate_panel(
    rates: Float64s, begin: int, end: int, low: int, high: int, single_root: bool, leaving: Float64s
) -> float:
    """Eliminate words begin .. end - 1 from each other and from low .. high - 1; leave their probabilities.

    Write their total rates; return the product of these, each capped at 1, or 0 where it is too small.
    """
    product = 1.0
    for k in range(begin, end):
        total = 0.0 if single_root else rates[k, 0]
        for u in range(k + 1, end):
            total += rates[k, u]
        for u in range(low, high):
            total += rates[k, u]
        leaving[k] = total
        product *= min(total, 1.0)
        if product < SMALLEST:
            return 0.0
        rates[k, 0] /= total
        for u in range(k + 1, end):
            rates[k, u] /= total
        for u in range(low, high):
            rates[k, u] /= total
        for m in range(k + 1, end):
            _add_detour(rates, m, k, end)
            _add_row(rates, m, rates[m, k], k, low, high)
    for m in range(low, high):
        for k in range(begin, end):
            _add_detour(rates, m, k, end)
    _add_product(rates, low, high, begin, end, rates, low, high)
    return product


@kernel
def _add_detour(rates: Float64s, m: int, k: int, end: int) -> None:
    """Add to the rates of word m its detours through word k to the root and to words k + 1 .. end - 1."""
    detour = rates[m, k]
    rates[m, 0] += detour * rates[k, 0]
    for u in range(k + 1, end):
        rates[m, u] += detour * rates[k, u]


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


@kernel
def _restore_panel(
    rates: Float64s, begin: int, end: int, low: int, high: int, first: int, last: int, escape: Float64s
) -> None:
    """Do the work of `_restore_word` for words begin .. end - 1, each of which also moves to those after it."""
    for k in range(begin, end):
        for m in range(first, last):
            escape[k, m] = rates[k, 0]
    _add_product(escape, begin, end, low, high, rates, first, last)
    for k in range(end - 2, begin - 1, -1):
        for u in range(k + 1, end):
            _add_row(escape, k, rates[k, u], u, first, last)


@kernel
def _add_product(
    target: Float64s, begin: int, end: int, first: int, last: int, rates: Float64s, low: int, high: int
) -> None:
    """Add ``rates[begin:end, first:last] @ target[first:last, low:high]`` to ``target[begin:end, low:high]``.

    No row of target is both a factor and a sum.  Blocks of the matrices that fit into the cache are multiplied at a
    time, two rows by four, so that each number read is used in several sums.
    """
    for left in range(low, high, _TILE):
        right = min(left + _TILE, high)
        for start in range(first, last, _PANEL):
            stop = min(start + _PANEL, last)
            m, fours = begin, stop - (stop - start) % 4
            while m + 2 <= end:
                one, two = target[m, left:right], target[m + 1, left:right]
                for k in range(start, fours, 4):
                    a, b, c, d = rates[m, k], rates[m, k + 1], rates[m, k + 2], rates[m, k + 3]
                    e, f, g, h = rates[m + 1, k], rates[m + 1, k + 1], rates[m + 1, k + 2], rates[m + 1, k + 3]
                    s, t = target[k, left:right], target[k + 1, left:right]
                    v, w = target[k + 2, left:right], target[k + 3, left:right]
                    for i in range(right - left):
                        one[i] = (((one[i] + a * s[i]) + b * t[i]) + c * v[i]) + d * w[i]
                        two[i] = (((two[i] + e * s[i]) + f * t[i]) + g * v[i]) + h * w[i]
                for k in range(fours, stop):
                    _add_row(target, m, rates[m, k], k, left, right)
                    _add_row(target, m + 1, rates[m + 1, k], k, left, right)
                m += 2
            if m < end:
                for k in range(start, stop):
                    _add_row(target, m, rates[m, k], k, left, right)


@kernel
def _add_row(target: Float64s, m: int, factor: float, k: int, low: int, high: int) -> None:
    """Add a multiple of row k to row m, columns low .. high - 1."""
    row, source = target[m, low:high], target[k, low:high]
    for i in range(high - low):
        row[i] += factor * source[i]
