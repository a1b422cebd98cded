"""Sentences of a text: a linear model decides after each token whether a sentence ends there.

The model goes from left to right, so that it knows where the current sentence began, and which brackets and quotation
marks are open.  The end of a paragraph always ends a sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj._kernel import inlined_kernel, kernel
from nonproj.text.characters import CLOSE, LETTER, LOWER, OPEN, QUOTE, UPPER
from nonproj.text.layout import NO_GAP, PARAGRAPH, Text, mix, shape_hash, string_hash
from nonproj.text.tokens import shift_of
from nonproj.types import Bools, Float32s, Int32s, Int64s, Uint8s

N_FEATURES = 48
"""Features of a place."""

_MARGIN = 3
_SUFFIX, _PREFIX = 3, 2


class TokenTable(NamedTuple):
    """The tokens of a text as numbers; three rows of zeros precede and follow them.

    Attributes
    ----------
    word : ndarray of shape (T + 6,), uint64
        Hashes of the forms in lower case.
    shape : ndarray of shape (T + 6,), uint64
        Hashes of the kinds of their characters.
    suffix : ndarray of shape (T + 6,), uint64
        Hashes of their last three characters.
    first, last : ndarray of shape (T + 6,), uint8
        Kinds of their first and last characters.
    gap : ndarray of shape (T + 6,), uint8
        What follows: see `nonproj.text.layout`; a token inside a chunk has 0 as the last one has.
    size : ndarray of shape (T + 6,), int32
        Their lengths.
    """

    word: np.ndarray
    shape: np.ndarray
    suffix: np.ndarray
    first: np.ndarray
    last: np.ndarray
    gap: np.ndarray
    size: np.ndarray


def token_table(text: Text, start: np.ndarray, end: np.ndarray) -> TokenTable:
    """Return the table of the tokens ``start[t]:end[t]`` of a text."""
    n = len(start) + 2 * _MARGIN
    table = TokenTable(
        np.zeros(n, np.uint64),
        np.zeros(n, np.uint64),
        np.zeros(n, np.uint64),
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint8),
        np.zeros(n, np.int32),
    )
    _fill_table(text, start, end, table)
    return table


@kernel
def _fill_table(text: Text, start: Int64s, end: Int64s, table: TokenTable) -> None:
    """Fill the table."""
    lower, kind = text.lower, text.kind
    c = 0
    for t in range(len(start)):
        a, b, row = start[t], end[t], t + _MARGIN
        table.word[row] = string_hash(lower, a, b)
        table.shape[row] = shape_hash(kind, text.run, a, b)
        table.suffix[row] = string_hash(lower, max(a, b - _SUFFIX), b)
        table.first[row], table.last[row], table.size[row] = kind[a], kind[b - 1], b - a
        if b == text.end[c]:
            table.gap[row] = PARAGRAPH if text.gap[c] == NO_GAP else text.gap[c]
            c += 1


@inlined_kernel
def _bucket(length: int) -> int:
    """Return a class of lengths, from 0 to 8."""
    bound, found = 4, 4
    while found < 8 and length >= bound:
        bound, found = bound * 2 - 2 * (found < 5), found + 1
    return length if length < 4 else found


@kernel
def _window(table: TokenTable, t: int, rows: Int64s) -> None:
    """Write the rows from ``t - 2`` to ``t + 3``; 0, which is empty, for those of other paragraphs."""
    gap = table.gap
    rows[2], rows[3] = t, t + 1
    rows[1] = t - 1 if t > _MARGIN and gap[t - 1] != PARAGRAPH else 0
    rows[0] = t - 2 if rows[1] and t > _MARGIN + 1 and gap[t - 2] != PARAGRAPH else 0
    rows[4] = t + 2 if gap[t + 1] != PARAGRAPH else 0
    rows[5] = t + 3 if rows[4] and gap[t + 2] != PARAGRAPH else 0


@kernel
def _word_features(table: TokenTable, rows: Int64s, shift: int, out: Int32s) -> None:
    """Write the places of features of words and shapes; ``rows`` as of `_window`."""
    word, shape, gap = table.word, table.shape, table.gap[rows[2]]
    wpp, wp, w0, w1, wn, wnn = word[rows[0]], word[rows[1]], word[rows[2]], word[rows[3]], word[rows[4]], word[rows[5]]
    spp, sp, s0, s1 = shape[rows[0]], shape[rows[1]], shape[rows[2]], shape[rows[3]]
    sn, snn = shape[rows[4]], shape[rows[5]]
    k0, k1 = table.last[rows[2]], table.first[rows[3]]
    words, shapes = mix(mix(np.uint64(1), w0), w1), mix(mix(mix(np.uint64(2), s0), s1), gap)
    out[0] = mix(np.uint64(100), gap) >> shift
    out[1] = mix(w0, 101) >> shift
    out[2] = mix(w1, 102) >> shift
    out[3] = mix(words, 103) >> shift
    out[4] = mix(mix(w0, wp), 104) >> shift
    out[5] = mix(mix(w1, wn), 105) >> shift
    out[6] = mix(mix(words, wp), 106) >> shift
    out[7] = mix(mix(words, wn), 107) >> shift
    out[8] = mix(shapes, 108) >> shift
    out[9] = mix(mix(shapes, sp), 109) >> shift
    out[10] = mix(mix(shapes, sn), 110) >> shift
    out[11] = mix(mix(mix(shapes, sp), sn), 111) >> shift
    out[12] = mix(mix(w0, s1), 112) >> shift
    out[13] = mix(mix(s0, w1), 113) >> shift
    out[14] = mix(mix(mix(w0, s1), sn), 114) >> shift
    out[15] = mix(mix(mix(w0, s1), wp), 115) >> shift
    out[16] = mix(mix(mix(s0, w1), wn), 116) >> shift
    out[17] = mix(wp, 117) >> shift
    out[18] = mix(wn, 118) >> shift
    out[19] = mix(mix(w0, gap), 119) >> shift
    out[20] = mix(mix(w1, gap), 120) >> shift
    out[21] = mix(mix(mix(sp, spp), shapes), 121) >> shift
    out[22] = mix(mix(mix(sn, snn), shapes), 122) >> shift
    out[23] = mix(mix(wpp, k0), 123) >> shift
    out[24] = mix(mix(wnn, k1), 124) >> shift
    out[25] = mix(mix(shapes, min(table.size[rows[2]], 4)), 125) >> shift
    out[26] = mix(mix(mix(wp, s0), s1), 126) >> shift
    out[27] = mix(mix(mix(wn, s0), s1), 127) >> shift


@kernel
def _other_features(table: TokenTable, case: Uint8s, rows: Int64s, state: Int64s, shift: int, out: Int32s) -> None:
    """Write the places of the other features; ``state``: tokens of the sentence, open brackets, quotation marks."""
    word, shape, suffix, gap = table.word, table.shape, table.suffix, table.gap[rows[2]]
    w0, w1, s0, s1, sn = word[rows[2]], word[rows[3]], shape[rows[2]], shape[rows[3]], shape[rows[4]]
    xp, x0, x1, xn = suffix[rows[1]], suffix[rows[2]], suffix[rows[3]], suffix[rows[4]]
    k0, k1 = table.last[rows[2]], table.first[rows[3]]
    mask = np.uint64(len(case) - 1)
    cp, c0, c1, cn = case[word[rows[1]] & mask], case[w0 & mask], case[w1 & mask], case[word[rows[4]] & mask]
    place = _bucket(state[0])
    inside = place * 4 + min(state[1], 1) * 2 + state[2] % 2
    shapes, cases = mix(mix(mix(np.uint64(2), s0), s1), gap), mix(mix(mix(np.uint64(6), k0), k1), c1)
    out[28] = mix(mix(shapes, place), 128) >> shift
    out[29] = mix(mix(cases, place), 129) >> shift
    out[30] = mix(mix(w0, inside), 130) >> shift
    out[31] = mix(mix(w1, inside), 131) >> shift
    out[32] = mix(mix(shapes, inside), 132) >> shift
    out[33] = mix(mix(cases, w0), 133) >> shift
    out[34] = mix(mix(cases, s1), 134) >> shift
    out[35] = mix(mix(mix(cases, c0), cn), 135) >> shift
    out[36] = mix(mix(x0, x1), 136) >> shift
    out[37] = mix(mix(mix(xp, x0), k1), 137) >> shift
    out[38] = mix(mix(mix(x0, x1), xn), 138) >> shift
    out[39] = mix(mix(mix(k0, x1), xn), 139) >> shift
    out[40] = mix(mix(x0, cases), 140) >> shift
    out[41] = mix(mix(mix(cases, gap), sn), 141) >> shift
    out[42] = mix(mix(mix(cases, cp), c0), 142) >> shift
    out[43] = mix(mix(x1, cases), 143) >> shift
    out[44] = mix(mix(mix(x1, xn), s0), 144) >> shift
    out[45] = mix(mix(mix(cases, rows[1] == 0), rows[4] == 0), 145) >> shift
    out[46] = mix(mix(w0, rows[1] == 0), 146) >> shift
    out[47] = mix(mix(mix(w1, s0), place), 147) >> shift


@inlined_kernel
def _advance(table: TokenTable, t: int, state: Int64s) -> None:
    """Update the numbers of tokens, of open brackets and of quotation marks by the token in row ``t``."""
    state[0] += 1
    if table.first[t] == OPEN:
        state[1] += 1
    elif table.first[t] == CLOSE:
        state[1] = max(state[1] - 1, 0)
    elif table.first[t] == QUOTE:
        state[2] += 1


@kernel
def sentence_examples(table: TokenTable, ends: Bools, case: Uint8s, shift: int, rows: Int32s, gold: Uint8s) -> int:
    """Write the features and the gold decision after each token inside a paragraph; return their number."""
    count, window, state = 0, np.zeros(6, np.int64), np.zeros(3, np.int64)
    for t in range(_MARGIN, len(table.word) - _MARGIN):
        _advance(table, t, state)
        if table.gap[t] != PARAGRAPH:
            _window(table, t, window)
            _word_features(table, window, shift, rows[count])
            _other_features(table, case, window, state, shift, rows[count])
            gold[count] = ends[t - _MARGIN]
            count += 1
        if ends[t - _MARGIN]:
            state[:] = 0
    return count


@kernel
def _score_ends(
    table: TokenTable, case: Uint8s, weights: Float32s, threshold: float, shift: int, scores: Float32s
) -> None:
    """Write the score of a sentence end after each token, infinity at the end of a paragraph."""
    out, window, state = np.empty(N_FEATURES, np.int32), np.zeros(6, np.int64), np.zeros(3, np.int64)
    for t in range(_MARGIN, len(table.word) - _MARGIN):
        _advance(table, t, state)
        score = np.float32(np.inf)
        if table.gap[t] != PARAGRAPH:
            _window(table, t, window)
            _word_features(table, window, shift, out)
            _other_features(table, case, window, state, shift, out)
            score = np.float32(-threshold)
            for j in range(N_FEATURES):
                score += weights[out[j]]
        scores[t - _MARGIN] = score
        if score > 0:
            state[:] = 0


def score_ends(table: TokenTable, case: np.ndarray, weights: np.ndarray, threshold: float) -> np.ndarray:
    """Return the score of a sentence end after each token, float32[T]: above 0 where a sentence ends.

    Parameters
    ----------
    table : TokenTable
    case : ndarray, uint8
        Of `letter_case`.
    weights : ndarray, float32
    threshold : float
        Scores up to this are no ends.
    """
    scores = np.empty(len(table.word) - 2 * _MARGIN, np.float32)
    _score_ends(table, case, weights, np.float32(threshold), shift_of(weights), scores)
    return scores


@kernel
def _count_case(table: TokenTable, ends: Bools, counts: Int64s) -> None:
    """Count, for each hash, tokens in lower case, capitalised inside a sentence, and at its beginning."""
    mask, begins = np.uint64(len(counts) - 1), True
    for t in range(_MARGIN, len(table.word) - _MARGIN):
        kind, row = table.first[t], counts[table.word[t] & mask]
        if kind in (LOWER, LETTER):
            row[0] += 1
        elif kind == UPPER and not begins:
            row[1] += 1
        if begins:
            row[2] += 1
        row[3] += 1
        begins = ends[t - _MARGIN]


def letter_case(table: TokenTable, ends: np.ndarray, size: int) -> np.ndarray:
    """Return counts of how words are written, int64[size, 4]; see `case_classes`."""
    counts = np.zeros((size, 4), np.int64)
    _count_case(table, ends, counts)
    return counts


def case_classes(counts: np.ndarray) -> np.ndarray:
    """Return a class for each hash, uint8: how often it is capitalised inside a sentence, how often it begins one."""
    lower, upper, first, everything = counts.T
    inside = lower + upper
    share = np.divide(lower, inside, out=np.full(len(counts), -1.0), where=inside > 0)
    case = np.searchsorted([-0.5, 0.1, 0.5, 0.9], share, side="right").astype(np.uint8)
    begins = np.divide(first, everything, out=np.zeros(len(counts)), where=everything > 0)
    start = np.searchsorted([0.02, 0.1, 0.3, 0.7], begins, side="right").astype(np.uint8)
    return np.where(everything > 0, 1 + case * 5 + start, 0).astype(np.uint8)
