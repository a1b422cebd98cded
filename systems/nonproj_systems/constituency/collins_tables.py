"""The counts of Model 1 as hash tables, and its smoothed probabilities as kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Int64s

MAX_SYMBOLS, MAX_WORDS = 2**7, 2**17
"""Maximum numbers of symbols and of words that fit into a packed context."""

HEAD, MODIFIER, WORD, ROOT = 0, 3, 6, 9
"""Kinds of contexts: these numbers plus the level of the back-off, from 0."""

_EMPTY = -1
_OUTCOME_BITS = 18
_KIND_BITS = 55
_MIX = -7046029254386353131  # 2^64 over the golden ratio, as a signed integer


class Tables(NamedTuple):
    """The counts of a model as hash tables with open addressing.

    Attributes
    ----------
    contexts : ndarray of shape (a power of 2,), int64
        Packed contexts; -1 for empty entries of the table.
    total, weight : ndarray of shape of ``contexts``, float64
        Occurrences of each context, and its lambda.
    outcomes : ndarray of shape (a power of 2,), int64
        Places of contexts in ``contexts``, packed with outcomes.
    counts : ndarray of shape of ``outcomes``, float64
        Occurrences of the outcomes.
    """

    contexts: np.ndarray
    total: np.ndarray
    weight: np.ndarray
    outcomes: np.ndarray
    counts: np.ndarray


def make_tables(events: np.ndarray, factor: float) -> Tables:
    """Return the tables of events.

    Parameters
    ----------
    events : ndarray of shape (E, 3), int64
        Packed context, outcome and number of occurrences; no pair twice.
    factor : float
        Weight of the number of different outcomes in lambda.
    """
    events = np.ascontiguousarray(events, np.int64).reshape(-1, 3)
    n_contexts = len(np.unique(events[:, 0]))
    contexts = np.full(_capacity(n_contexts), _EMPTY, np.int64)
    outcomes = np.full(_capacity(len(events)), _EMPTY, np.int64)
    total, weight, counts = np.zeros(len(contexts)), np.zeros(len(contexts)), np.zeros(len(outcomes))
    tables = Tables(contexts, total, weight, outcomes, counts)
    _fill(events, tables)
    used = total > 0
    weight[used] = total[used] / (total[used] + factor * weight[used])
    return tables


def _capacity(size: int) -> int:
    """Return the size of a table that is at most half full."""
    return 2 ** int(2 * size + 2).bit_length()


def kind_of(contexts: np.ndarray) -> np.ndarray:
    """Return the kinds of packed contexts."""
    return contexts >> _KIND_BITS


def pack(kind: int, side: int, p: int, h: int = 0, w: int = 0, t: int = 0, *more: int) -> int:
    """Return a context as one integer: kind, side, P, H, w, t and, if given, d, M, mt.

    Examples
    --------
    >>> pack(MODIFIER, 1, 5) & 127, int(kind_of(pack(MODIFIER, 1, 5)))
    (5, 3)
    """
    d, m, mt = more if len(more) == 3 else (*more, 0, 0, 0)[:3]
    return kind << 55 | side << 54 | d << 52 | w << 35 | t << 28 | m << 21 | mt << 14 | h << 7 | p


@kernel
def _find(table: Int64s, key: int) -> int:
    """Return the position of a key in a table with open addressing, or the empty position for it."""
    mask = table.shape[0] - 1
    mixed = key * _MIX
    place = (mixed ^ (mixed >> 29)) & mask
    while table[place] != _EMPTY and table[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def _fill(events: Int64s, tables: Tables) -> None:
    """Enter all events; ``weight`` counts the different outcomes."""
    for row in range(events.shape[0]):
        place = _find(tables.contexts, events[row, 0])
        tables.contexts[place] = events[row, 0]
        tables.total[place] += events[row, 2]
        tables.weight[place] += 1.0
        key = (place << _OUTCOME_BITS) | events[row, 1]
        at = _find(tables.outcomes, key)
        tables.outcomes[at] = key
        tables.counts[at] = events[row, 2]


@kernel
def _smoothed(tables: Tables, first: int, second: int, third: int, outcome: int) -> float:
    """Return the probability of an outcome by three levels of contexts."""
    contexts, outcomes = tables.contexts, tables.outcomes
    probability, left = 0.0, 1.0
    for level in range(3):
        key = first if level == 0 else (second if level == 1 else third)
        place = _find(contexts, key)
        if contexts[place] == _EMPTY:
            continue
        weight = tables.weight[place] if level < 2 else 1.0
        at = _find(outcomes, (place << _OUTCOME_BITS) | outcome)
        if outcomes[at] != _EMPTY:
            probability += left * weight * tables.counts[at] / tables.total[place]
        left *= 1.0 - weight
    return probability


@kernel
def head_probability(tables: Tables, p: int, h: int, w: int, t: int) -> float:
    """Return the probability of head child ``h`` of category ``p``, given word and tag."""
    first = HEAD << 55 | w << 35 | t << 28 | p
    second = (HEAD + 1) << 55 | t << 28 | p
    return _smoothed(tables, first, second, (HEAD + 2) << 55 | p, h)


@kernel
def modifier_context(side: int, d: int, h: int, p: int) -> int:
    """Return the part shared by all contexts of a modifier: side, distance, head child and category, packed."""
    return side << 54 | d << 52 | h << 7 | p


@kernel
def modifier_probability(tables: Tables, context: int, w: int, t: int, m: int, mt: int) -> float:
    """Return the probability of a modifier's category and tag, or of stopping (0 and 0), given a word and its tag."""
    first = MODIFIER << 55 | context | w << 35 | t << 28
    second = (MODIFIER + 1) << 55 | context | t << 28
    return _smoothed(tables, first, second, (MODIFIER + 2) << 55 | context, m << 7 | mt)


@kernel
def word_probability(tables: Tables, context: int, w: int, t: int, m: int, mt: int, mw: int) -> float:
    """Return the probability of a modifier's word, given all else."""
    first = WORD << 55 | context | m << 21 | mt << 14 | w << 35 | t << 28
    second = (WORD + 1) << 55 | context | m << 21 | mt << 14 | t << 28
    return _smoothed(tables, first, second, (WORD + 2) << 55 | mt, mw)


@kernel
def root_probability(tables: Tables, w: int, t: int) -> float:
    """Return the probability of tag and word of the root."""
    root, tagged = ROOT << 55, (ROOT + 1) << 55 | t
    return _smoothed(tables, _EMPTY, _EMPTY, root, t) * _smoothed(tables, _EMPTY, tagged, (WORD + 2) << 55 | t, w)
