"""Words of several units: a linear model decides between any two adjacent units whether the word continues.

In a treebank whose words contain blanks, units are strings between blanks, after punctuation is split off.  In one
whose text has no blanks between words, they are characters.  The features are n-grams of units, and the words of the
treebank that begin, end or go on at the place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import Window, hash_window, length_share, place_share
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.text.layout import MAX_TOKEN, NO_BLANKS, ONE_BLANK, TOKEN_ENDS, WRAPPED, table_shift
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.text.tokens import ALWAYS
from nonproj.types import Bools, Float32s, Int32s, Int64s, Uint8s, Uint32s

LONGEST = 12
"""Maximum length of a word of the lexicon, in units."""

_ATTRIBUTES = ("word", "shape", "suffix", "across", "before", "behind", "one")
"""Attributes of a unit: its form in lower case, its shape, its last characters; and of the place after it, the longest
word of the lexicon that goes on there, that ends there, and that begins there, and a constant."""

_WIDTH = len(_ATTRIBUTES)

GRAMMAR = Grammar("words", ("u",), _ATTRIBUTES, (-2, 3))
"""Templates name the unit before the place, ``u``, and its neighbours."""

_PAIR, _SHAPES, _LEXICON = "u.word u+1.word", "u.shape u+1.shape", "u.across u.before u.behind"

TEMPLATES = (
    "u.one",
    "u-1.word",
    "u.word",
    "u+1.word",
    "u+2.word",
    _PAIR,
    "u-1.word u.word",
    "u+1.word u+2.word",
    "u-1.word u+1.word",
    "u.word u+2.word",
    f"u-1.word {_PAIR}",
    f"{_PAIR} u+2.word",
    f"u-1.word {_PAIR} u+2.word",
    "u-2.word u-1.word u.word",
    "u+1.word u+2.word u+3.word",
    f"u-2.word u-1.word {_PAIR}",
    f"{_PAIR} u+2.word u+3.word",
    _SHAPES,
    f"u-1.shape {_SHAPES}",
    f"{_SHAPES} u+2.shape",
    f"u-1.shape {_SHAPES} u+2.shape",
    "u.shape u+1.word",
    "u.word u+1.shape",
    "u.suffix",
    "u+1.suffix",
    "u.suffix u+1.suffix",
    "u.across",
    _LEXICON,
    f"u.before {_SHAPES}",
    f"u.behind {_SHAPES}",
    f"{_LEXICON} {_SHAPES}",
    f"u.across {_PAIR}",
    "u.across u.before u.word",
    "u.across u.behind u+1.word",
)

WINDOW: Window = window_of(compile_templates(TEMPLATES, GRAMMAR), GRAMMAR)

N_FEATURES = len(TEMPLATES)
"""Number of features of a place."""

_REACH, _CELLS = 2, 6 * _WIDTH


class LexiconMatches(NamedTuple):
    """The longest words of a lexicon around each place, as numbers of `_described`; 0 where there is none.

    Attributes
    ----------
    across, before, behind : ndarray of shape (U,), uint32
        The words that go on at the place after a unit, that end there, and that begin there.
    """

    across: np.ndarray
    before: np.ndarray
    behind: np.ndarray


def open_places(units: TokenTable, candidate: np.ndarray, over_blanks: bool) -> np.ndarray:
    """Return whether a word may go on after each unit, bool[U].

    Parameters
    ----------
    units : TokenTable
    candidate : ndarray of shape (KINDS, KINDS), uint8
        See `nonproj.text.tokens.TokenModel`; one word may contain two kinds that are always separated as tokens.
    over_blanks : bool
        Whether words may contain a blank, or the end of a filled line.
    """
    blanks, last = units.blanks[PADDING:-PADDING], units.last[PADDING:-PADDING]
    found: np.ndarray = (blanks == NO_BLANKS) & (candidate[last, units.first[PADDING + 1 : 1 - PADDING]] == ALWAYS)
    if over_blanks:
        found |= (blanks == ONE_BLANK) | (blanks == WRAPPED)
    return found & (units.decided[PADDING:-PADDING] & TOKEN_ENDS == 0)


@kernel
def count_words(units: TokenTable, joins: Bools, size: int) -> Int64s:
    """Return the count of each word, by hash, int64[size]; ``joins``: whether a word goes on after each unit."""
    counts, shift, key, length = np.zeros(size, np.int64), np.uint32(table_shift(size)), np.uint32(0), 0
    for u in range(len(joins)):
        key = np.uint32(key + place_share(length, units.word[PADDING + u]))
        length += 1
        if not joins[u] or length == LONGEST:
            counts[np.uint32(key + length_share(length)) >> shift] += 1
            key, length = np.uint32(0), 0
    return counts


@kernel
def _described(size: int, place: int, count: int) -> int:
    """Return the length of a known word, the place within it, and a class of its count, as one number."""
    frequent = 1 + (count > 1) + (count > 3) + (count > 9)
    return size * 128 + place * 8 + frequent


@kernel
def _match(units: TokenTable, allowed: Bools, lexicon: Uint8s) -> LexiconMatches:
    """Return the words of a lexicon, by hash, around each place."""
    shift, n = np.uint32(table_shift(len(lexicon))), len(allowed)
    across, before, behind = np.zeros(n, np.uint32), np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    for a in range(n):
        key = np.uint32(0)
        for size in range(1, min(LONGEST, n - a) + 1):
            last = a + size - 1
            key = np.uint32(key + place_share(size - 1, units.word[PADDING + last]))
            count = lexicon[np.uint32(key + length_share(size)) >> shift]
            if count:
                if a:
                    behind[a - 1] = _described(size, 0, count)
                before[last] = max(before[last], _described(size, 0, count))
                for u in range(a, last):
                    if across[u] // 128 < size:
                        across[u] = _described(size, u - a, count)
            if not allowed[last]:
                break
    return LexiconMatches(across, before, behind)


@kernel
def _look_around(units: TokenTable, matches: LexiconMatches, u: int, atoms: Uint32s) -> None:
    """Write the attributes of the units around the place after unit ``u``."""
    for k in range(6):
        row, own = u + PADDING - _REACH + k, k * _WIDTH
        atoms[own], atoms[own + 1], atoms[own + 2] = units.word[row], units.shape[row], units.suffix[row]
    own = _REACH * _WIDTH
    atoms[own + 3], atoms[own + 4], atoms[own + 5] = matches.across[u], matches.before[u], matches.behind[u]
    atoms[own + 6] = 1


@kernel
def word_examples(units: TokenTable, joins: Bools, allowed: Bools, lexicon: Uint8s, bits: int) -> tuple[Int32s, Uint8s]:
    """Return features and gold decisions of the open places."""
    size, matches = allowed.sum(), _match(units, allowed, lexicon)
    rows, gold = np.empty((size, N_FEATURES), np.int32), np.empty(size, np.uint8)
    count, atoms = 0, np.zeros(_CELLS, np.uint32)
    for u in range(len(allowed)):
        if allowed[u]:
            _look_around(units, matches, u, atoms)
            hash_window(WINDOW, atoms, np.uint32(32 - bits), rows[count])
            gold[count] = joins[u]
            count += 1
    return rows, gold


def score_joins(units: TokenTable, allowed: np.ndarray, lexicon: np.ndarray, weights: np.ndarray) -> Float32s:
    """Return the score of a word going on after each unit, float32[U]: above 0 where it does.

    Parameters
    ----------
    units : TokenTable
    allowed : ndarray of shape (U,), bool
        Result of `open_places`; elsewhere the score is minus infinity.
    lexicon : ndarray, uint8
        Counts of words in training, by the hashes of their units.
    weights : ndarray, float32
    """
    return _score(units, allowed, lexicon, WINDOW, weights)


@kernel
def _score(units: TokenTable, allowed: Bools, lexicon: Uint8s, window: Window, weights: Float32s) -> Float32s:
    """Return the scores of `score_joins`."""
    scores, matches = np.full(len(allowed), np.float32(-np.inf)), _match(units, allowed, lexicon)
    out, atoms, shift = np.empty(N_FEATURES, np.int32), np.zeros(_CELLS, np.uint32), table_shift(len(weights))
    for u in range(len(allowed)):
        if allowed[u]:
            _look_around(units, matches, u, atoms)
            hash_window(window, atoms, np.uint32(shift), out)
            score = np.float32(0.0)
            for j in range(N_FEATURES):
                score += weights[out[j]]
            scores[u] = score
    return scores


@kernel
def join_units(start: Int64s, end: Int64s, scores: Float32s) -> tuple[Int64s, Int64s]:
    """Return the first and the last unit of each word, int64[W] each.

    Examples
    --------
    >>> first, last = join_units(np.array([0, 4, 9]), np.array([3, 8, 12]), np.array([1, -1, -1], np.float32))
    >>> first.tolist(), last.tolist()
    ([0, 2], [1, 2])
    """
    first, last = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    count, begin = 0, 0
    for u in range(len(start)):
        if u + 1 == len(start) or scores[u] <= 0 or end[u + 1] - start[begin] > MAX_TOKEN:
            first[count], last[count] = begin, u
            count, begin = count + 1, u + 1
    return first[:count], last[:count]


def word_log_odds(units: np.ndarray, first: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the log-odds of the least certain decision about each word and its units, float32[W].

    Parameters
    ----------
    units : ndarray of shape (U,), float32
        Log-odds of the least certain decision about each unit.
    first : ndarray of shape (W,), int64
        The first unit of each word.
    scores : ndarray of shape (U,), float32
        Result of `score_joins`.

    Examples
    --------
    >>> units, scores = np.array([9, 8, 7], np.float32), np.array([1, -2, -np.inf], np.float32)
    >>> word_log_odds(units, np.array([0, 2]), scores).tolist()
    [1.0, 2.0]
    """
    sure = np.abs(scores)
    before = np.append(np.float32(np.inf), sure[:-1])
    found: np.ndarray = np.minimum(np.minimum.reduceat(np.minimum(units, sure), first), before[first])
    return found
