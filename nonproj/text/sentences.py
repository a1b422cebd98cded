"""Sentences of a text: a linear model decides after each token whether a sentence ends there.

The model goes from left to right, so that it knows where the current sentence began, and which brackets and quotation
marks are open.  The end of a paragraph always ends a sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.linear.hashing import Window, hash_codes, hash_window
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.text.characters import CLOSE, LETTER, LOWER, OPEN, QUOTE, UPPER
from nonproj.text.layout import MAX_HASHED, NO_GAP, PARAGRAPH, Text, shape_hash
from nonproj.text.tokens import shift_of, table_shift
from nonproj.types import Bools, Float32s, Int32s, Int64s, Uint8s, Uint32s

MARGIN = 3
"""Rows of zeros before and after those of a table."""

_SUFFIX = 3

_ATTRIBUTES = ("word", "shape", "suffix", "first", "last", "gap", "size", "case", "absent", "place", "inside", "one")
"""What is known of a token: its form in lower case, its shape, its last characters, the kinds of its first and last
character, what follows it, its length up to four, how its form is capitalised elsewhere, whether the paragraph ends
before it; and of the place after it, how long the sentence is, and that with its open brackets and quotation marks."""

_WIDTH = len(_ATTRIBUTES)

GRAMMAR = Grammar("sentences", ("t",), _ATTRIBUTES, (-2, 3))
"""Templates name the token before the place, ``t``, and its neighbours."""

_WORDS, _SHAPES = "t.word t+1.word", "t.shape t+1.shape t.gap"
_CASES = "t.last t+1.first t+1.case"

TEMPLATES = (
    "t.one t.gap",
    "t.word",
    "t+1.word",
    _WORDS,
    "t.word t-1.word",
    "t+1.word t+2.word",
    f"{_WORDS} t-1.word",
    f"{_WORDS} t+2.word",
    _SHAPES,
    f"{_SHAPES} t-1.shape",
    f"{_SHAPES} t+2.shape",
    f"{_SHAPES} t-1.shape t+2.shape",
    "t.word t+1.shape",
    "t.shape t+1.word",
    "t.word t+1.shape t+2.shape",
    "t.word t+1.shape t-1.word",
    "t.shape t+1.word t+2.word",
    "t-1.word",
    "t+2.word",
    "t.word t.gap",
    "t+1.word t.gap",
    f"t-1.shape t-2.shape {_SHAPES}",
    f"t+2.shape t+3.shape {_SHAPES}",
    "t-2.word t.last",
    "t+3.word t+1.first",
    f"{_SHAPES} t.size",
    "t-1.word t.shape t+1.shape",
    "t+2.word t.shape t+1.shape",
    f"{_SHAPES} t.place",
    f"{_CASES} t.place",
    "t.word t.inside",
    "t+1.word t.inside",
    f"{_SHAPES} t.inside",
    f"{_CASES} t.word",
    f"{_CASES} t+1.shape",
    f"{_CASES} t.case t+2.case",
    "t.suffix t+1.suffix",
    "t-1.suffix t.suffix t+1.first",
    "t.suffix t+1.suffix t+2.suffix",
    "t.last t+1.suffix t+2.suffix",
    f"t.suffix {_CASES}",
    f"{_CASES} t.gap t+2.shape",
    f"{_CASES} t-1.case t.case",
    f"t+1.suffix {_CASES}",
    "t+1.suffix t+2.suffix t.shape",
    f"{_CASES} t-1.absent t+2.absent",
    "t.word t-1.absent",
    "t+1.word t.shape t.place",
)

WINDOW: Window = window_of(compile_templates(TEMPLATES, GRAMMAR), GRAMMAR)

N_FEATURES = len(TEMPLATES)
"""Features of a place."""

_CELLS = 6 * _WIDTH


class TokenTable(NamedTuple):
    """The tokens of a text as numbers; three rows of zeros precede and follow them.

    Attributes
    ----------
    word : ndarray of shape (T + 6,), uint32
        Hashes of the forms in lower case.
    shape : ndarray of shape (T + 6,), uint32
        Hashes of the kinds of their characters.
    suffix : ndarray of shape (T + 6,), uint32
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
    n = len(start) + 2 * MARGIN
    table = TokenTable(
        np.zeros(n, np.uint32),
        np.zeros(n, np.uint32),
        np.zeros(n, np.uint32),
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
        a, b, row = start[t], end[t], t + MARGIN
        table.word[row] = hash_codes(lower, a, b, MAX_HASHED)
        table.shape[row] = shape_hash(kind, text.run, a, b)
        table.suffix[row] = hash_codes(lower, max(a, b - _SUFFIX), b, MAX_HASHED)
        table.first[row], table.last[row], table.size[row] = kind[a], kind[b - 1], b - a
        while c < len(text.end) and text.end[c] <= b:
            if text.end[c] == b:
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
    rows[1] = t - 1 if t > MARGIN and gap[t - 1] != PARAGRAPH else 0
    rows[0] = t - 2 if rows[1] and t > MARGIN + 1 and gap[t - 2] != PARAGRAPH else 0
    rows[4] = t + 2 if gap[t + 1] != PARAGRAPH else 0
    rows[5] = t + 3 if rows[4] and gap[t + 2] != PARAGRAPH else 0


@kernel
def _look_around(table: TokenTable, case: Uint8s, rows: Int64s, state: Int64s, atoms: Uint32s) -> None:
    """Write the attributes of the tokens around a place, in ``rows`` as of `_window`.

    ``state`` are the tokens of the sentence, open brackets and quotation marks.
    """
    shift = np.uint32(table_shift(len(case)))
    for k in range(6):
        row, own = rows[k], k * _WIDTH
        word = table.word[row]
        atoms[own], atoms[own + 1], atoms[own + 2] = word, table.shape[row], table.suffix[row]
        atoms[own + 3], atoms[own + 4], atoms[own + 5] = table.first[row], table.last[row], table.gap[row]
        atoms[own + 6], atoms[own + 7], atoms[own + 8] = min(table.size[row], 4), case[word >> shift], row == 0
    place, own = _bucket(state[0]), 2 * _WIDTH
    atoms[own + 9], atoms[own + 10], atoms[own + 11] = place, place * 4 + min(state[1], 1) * 2 + state[2] % 2, 1


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


def sentence_examples(
    table: TokenTable, ends: np.ndarray, case: np.ndarray, bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and gold decisions of all places where sentences may end: after tokens inside a paragraph."""
    rows, gold = np.empty((len(ends), N_FEATURES), np.int32), np.empty(len(ends), np.uint8)
    count = _sentence_examples(table, ends, case, WINDOW, np.uint32(32 - bits), rows, gold)
    return rows[:count], gold[:count]


@kernel
def _sentence_examples(
    table: TokenTable, ends: Bools, case: Uint8s, templates: Window, shift: np.uint32, rows: Int32s, gold: Uint8s
) -> int:
    """Write the features and the gold decision after each token inside a paragraph; return their number."""
    count, window, state, atoms = 0, np.zeros(6, np.int64), np.zeros(3, np.int64), np.zeros(_CELLS, np.uint32)
    for t in range(MARGIN, len(table.word) - MARGIN):
        _advance(table, t, state)
        if table.gap[t] != PARAGRAPH:
            _window(table, t, window)
            _look_around(table, case, window, state, atoms)
            hash_window(templates, atoms, shift, rows[count])
            gold[count] = ends[t - MARGIN]
            count += 1
        if ends[t - MARGIN]:
            state[:] = 0
    return count


@kernel
def _score_ends(
    table: TokenTable,
    case: Uint8s,
    templates: Window,
    weights: Float32s,
    threshold: float,
    shift: np.uint32,
    scores: Float32s,
) -> None:
    """Write the score of a sentence end after each token, infinity at the end of a paragraph."""
    out, atoms = np.empty(N_FEATURES, np.int32), np.zeros(_CELLS, np.uint32)
    window, state = np.zeros(6, np.int64), np.zeros(3, np.int64)
    for t in range(MARGIN, len(table.word) - MARGIN):
        _advance(table, t, state)
        score = np.float32(np.inf)
        if table.gap[t] != PARAGRAPH:
            _window(table, t, window)
            _look_around(table, case, window, state, atoms)
            hash_window(templates, atoms, shift, out)
            score = np.float32(-threshold)
            for j in range(N_FEATURES):
                score += weights[out[j]]
        scores[t - MARGIN] = score
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
    scores = np.empty(len(table.word) - 2 * MARGIN, np.float32)
    _score_ends(table, case, WINDOW, weights, np.float32(threshold), shift_of(weights), scores)
    return scores


@kernel
def _count_case(table: TokenTable, ends: Bools, counts: Int64s) -> None:
    """Count, for each hash, tokens in lower case, capitalised inside a sentence, and at its beginning."""
    shift, begins = np.uint32(table_shift(len(counts))), True
    for t in range(MARGIN, len(table.word) - MARGIN):
        kind, row = table.first[t], counts[table.word[t] >> shift]
        if kind in (LOWER, LETTER):
            row[0] += 1
        elif kind == UPPER and not begins:
            row[1] += 1
        if begins:
            row[2] += 1
        row[3] += 1
        begins = ends[t - MARGIN]


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
