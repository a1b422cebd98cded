"""Sentences of a text: a linear model gives the probability that a sentence ends after each token.

It depends on the tokens around the place and on where the sentence began: on its length, its verbs, its open brackets
and quotation marks.  A forward pass over all beginnings that are probable enough gives each stretch of tokens its
probability of being a sentence, and a dynamic program chooses the sentences with the largest sum of probabilities, less
a cost for each (semi-Markov decoding for the minimum risk).  The end of a paragraph always ends a sentence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import inlined_kernel, kernel
from nonproj.linear.hashing import Window, hash_codes, hash_window
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.text.characters import CLOSE, LETTER, LOWER, OPEN, QUOTE, UPPER
from nonproj.text.layout import BROKEN, MAX_HASHED, NO_GAP, PARAGRAPH, Text, shape_hash
from nonproj.text.tokens import shift_of, table_shift
from nonproj.types import Bools, Float32s, Int32s, Int64s, Uint8s, Uint32s

MARGIN = 3
"""Rows of zeros before and after those of a table."""

_SUFFIX = 3

_ATTRIBUTES = (
    "word", "shape", "suffix", "first", "last", "gap", "size", "case", "tag", "absent",
    "one", "place", "inside", "verbs",
)  # fmt: skip
"""What is known of a token: its form in lower case, its shape, its last characters, the kinds of its first and last
character, what follows it, its length up to four, how its form is capitalised elsewhere, its usual part of speech,
whether the paragraph ends before it; and of the place after it, how long the sentence is, that with its open brackets
and quotation marks, and its number of verbs."""

_WIDTH = len(_ATTRIBUTES)
_ONE, _PLACE, _INSIDE, _VERBS = (_ATTRIBUTES.index(name) for name in ("one", "place", "inside", "verbs"))

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
    "t.tag t+1.tag",
    "t-1.tag t.tag t+1.tag",
    "t.tag t+1.tag t+2.tag",
    "t.tag t+1.tag t.gap",
    "t-1.suffix t.word",
)

OF_BEGINNING = (
    f"{_SHAPES} t.place",
    f"{_CASES} t.place",
    "t.word t.inside",
    "t+1.word t.inside",
    f"{_SHAPES} t.inside",
    "t+1.word t.shape t.place",
    "t.verbs t.tag t+1.tag",
    "t.verbs t.place",
    "t.place t.tag t+1.tag",
    "t.place",
    "t.place t.word",
    "t-1.tag t.word t.place",
    "t-1.tag t.word t.verbs",
)
"""Those that depend on where the sentence began."""

WINDOW: Window = window_of(compile_templates(TEMPLATES, GRAMMAR), GRAMMAR)
STATE_WINDOW: Window = window_of(compile_templates(OF_BEGINNING, GRAMMAR), GRAMMAR)

_LOCAL = len(TEMPLATES)
N_FEATURES = len(TEMPLATES) + len(OF_BEGINNING)
"""Features of a place."""

_CELLS = 6 * _WIDTH

COST = 0.1
"""What a sentence costs when the sentences are chosen."""


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


class Usage(NamedTuple):
    """How words are used in training, by hash; all have 0 for what does not occur.

    Attributes
    ----------
    case : ndarray, uint8
        Of `case_classes`.
    tag, suffix : ndarray, uint8
        The most frequent class of a word, and of the words with the same last three characters; even for verbs.
    """

    case: np.ndarray
    tag: np.ndarray
    suffix: np.ndarray


class Known(NamedTuple):
    """What is known of the words of a table, row by row: uint8[T + 6] each.

    Attributes
    ----------
    case, tag : ndarray
        Of the usage.
    """

    case: np.ndarray
    tag: np.ndarray


def known_of(table: TokenTable, usage: Usage) -> Known:
    """Return what is known of the words of a table."""
    case = usage.case[table.word >> np.uint32(table_shift(len(usage.case)))]
    tag = usage.tag[table.word >> np.uint32(table_shift(len(usage.tag)))]
    tag = np.where(tag > 0, tag, usage.suffix[table.suffix >> np.uint32(table_shift(len(usage.suffix)))])
    tag[:MARGIN] = tag[len(tag) - MARGIN :] = case[:MARGIN] = case[len(case) - MARGIN :] = 0
    return Known(case, tag)


@inlined_kernel
def _is_verb(tag: int) -> bool:
    """Return whether a class is that of verbs."""
    return bool(tag > 0 and tag % 2 == 0)


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
def _look_around(table: TokenTable, known: Known, rows: Int64s, atoms: Uint32s) -> None:
    """Write the attributes of the tokens around a place, in ``rows`` as of `_window`."""
    for k in range(6):
        row, own = rows[k], k * _WIDTH
        atoms[own], atoms[own + 1], atoms[own + 2] = table.word[row], table.shape[row], table.suffix[row]
        atoms[own + 3], atoms[own + 4], atoms[own + 5] = table.first[row], table.last[row], table.gap[row]
        atoms[own + 6], atoms[own + 7], atoms[own + 8] = min(table.size[row], 4), known.case[row], known.tag[row]
        atoms[own + 9] = row == 0
    atoms[2 * _WIDTH + _ONE] = 1


@inlined_kernel
def _state(length: int, brackets: int, quotes: int, verbs: int) -> int:
    """Return a number of what the model knows of the sentence up to a place, less than `_STATES`."""
    return ((_bucket(length) * 2 + min(brackets, 1)) * 2 + quotes % 2) * 4 + min(verbs, 3)


_STATES = 144


@inlined_kernel
def _look_back(state: int, atoms: Uint32s) -> None:
    """Write the attributes of a state."""
    own = 2 * _WIDTH
    atoms[own + _PLACE], atoms[own + _INSIDE], atoms[own + _VERBS] = state // 16, state // 4, state % 4


@inlined_kernel
def _at_line_end(gap: int) -> int:
    """Return 1 at the end of a line that is not full: such places have weights of their own."""
    return 1 if gap == BROKEN else 0


@inlined_kernel
def _brackets_after(first: int, brackets: int) -> int:
    """Return the number of open brackets after a token whose first character is of some kind."""
    if first == OPEN:
        return brackets + 1
    return max(brackets - 1, 0) if first == CLOSE else brackets


def sentence_examples(
    table: TokenTable, ends: np.ndarray, usage: Usage, bits: int, missed: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and gold decisions of all places where sentences may end: after tokens inside a paragraph.

    Sentences begin where gold ones do, but not after the tokens where ``missed``, bool[T], is true: the model also has
    to go on after an end that it has missed.
    """
    rows, gold = np.empty((len(ends), N_FEATURES), np.int32), np.empty(len(ends), np.uint8)
    begins = ends if missed is None else ends & ~missed
    shift = np.uint32(32 - bits)
    count = _sentence_examples(table, known_of(table, usage), ends, begins, (WINDOW, STATE_WINDOW), shift, rows, gold)
    return rows[:count], gold[:count]


@kernel
def _sentence_examples(
    table: TokenTable,
    known: Known,
    ends: Bools,
    begins: Bools,
    windows: tuple[Window, Window],
    shift: np.uint32,
    rows: Int32s,
    gold: Uint8s,
) -> int:
    """Write the features and the gold decision after each token inside a paragraph; return their number."""
    count, window, atoms = 0, np.zeros(6, np.int64), np.zeros(_CELLS, np.uint32)
    length, brackets, quotes, verbs = 0, 0, 0, 0
    for t in range(MARGIN, len(table.word) - MARGIN):
        length, verbs = length + 1, verbs + _is_verb(known.tag[t])
        brackets, quotes = _brackets_after(table.first[t], brackets), quotes + (table.first[t] == QUOTE)
        if table.gap[t] != PARAGRAPH:
            _window(table, t, window)
            _look_around(table, known, window, atoms)
            _look_back(_state(length, brackets, quotes, verbs), atoms)
            hash_window(windows[0], atoms, shift, rows[count])
            hash_window(windows[1], atoms, shift, rows[count, _LOCAL:])
            rows[count] ^= _at_line_end(table.gap[t])
            gold[count] = ends[t - MARGIN]
            count += 1
        if begins[t - MARGIN] or table.gap[t] == PARAGRAPH:
            length, brackets, quotes, verbs = 0, 0, 0, 0
    return count


MOST_BEGINNINGS = 256
"""A beginning with less than this share of the probability is given up, unless it is the most probable one."""


class Beginnings(NamedTuple):
    """Where the current sentence may have begun.

    Attributes
    ----------
    token : ndarray of shape (B,), int64
        Its first token.
    brackets, quotes, verbs : ndarray of shape (B,), int64
        The open brackets, the quotation marks and the verbs since then.
    mass : ndarray of shape (B,), float64
        The probability that it began there and has not ended yet.
    """

    token: np.ndarray
    brackets: np.ndarray
    quotes: np.ndarray
    verbs: np.ndarray
    mass: np.ndarray


class Model(NamedTuple):
    """The templates without and with the beginning of the sentence, their weights, and the threshold of an end."""

    around: Window
    back: Window
    weights: Float32s
    shift: np.uint32
    threshold: float


class Work(NamedTuple):
    """Buffers of the kernels: rows, attributes and places of a window; the probability of an end in each state, and
    the token for which it was computed."""

    rows: np.ndarray
    atoms: np.ndarray
    places: np.ndarray
    probability: np.ndarray
    met: np.ndarray


@kernel
def _enter(active: Beginnings, count: int, token: int, mass: float) -> int:
    """Add a beginning; return the number of beginnings."""
    active.token[count], active.mass[count] = token, mass
    active.brackets[count], active.quotes[count], active.verbs[count] = 0, 0, 0
    return count + 1


@kernel
def _advance(table: TokenTable, known: Known, t: int, active: Beginnings, count: int) -> None:
    """Count the brackets, quotation marks and verbs of the token in row ``t``."""
    for k in range(count):
        active.brackets[k] = _brackets_after(table.first[t], active.brackets[k])
        active.quotes[k] += table.first[t] == QUOTE
        active.verbs[k] += _is_verb(known.tag[t])


@kernel
def _score_around(table: TokenTable, known: Known, t: int, model: Model, work: Work) -> float:
    """Return the score of a sentence end after row ``t`` by the tokens around."""
    _window(table, t, work.rows)
    _look_around(table, known, work.rows, work.atoms)
    hash_window(model.around, work.atoms, model.shift, work.places)
    score, side = -model.threshold, _at_line_end(table.gap[t])
    for j in range(_LOCAL):
        score += model.weights[work.places[j] ^ side]
    return score


@kernel
def _probability(state: int, score: float, side: int, model: Model, work: Work) -> float:
    """Return the probability of a sentence end, given its score by the tokens around."""
    _look_back(state, work.atoms)
    hash_window(model.back, work.atoms, model.shift, work.places)
    for j in range(N_FEATURES - _LOCAL):
        score += model.weights[work.places[j] ^ side]
    return 1.0 / (1.0 + math.exp(-min(max(score, -30.0), 30.0)))


@kernel
def _find_endings(
    table: TokenTable, t: int, score: float, active: Beginnings, count: int, model: Model, work: Work
) -> None:
    """Compute the probability of an end after row ``t`` for the state of each beginning."""
    for k in range(count):
        length = t - MARGIN - active.token[k] + 1
        state = _state(length, active.brackets[k], active.quotes[k], active.verbs[k])
        if work.met[state] != t:
            work.met[state] = t
            work.probability[state] = _probability(state, score, _at_line_end(table.gap[t]), model, work)
        work.probability[_STATES + k] = work.probability[state]


@kernel
def _give_up(active: Beginnings, count: int, ended: float) -> int:
    """Keep the beginnings that are probable enough, so that all and the end have mass 1; return their number."""
    total, best, kept = ended, 0, 0
    for k in range(count):
        total += active.mass[k]
        best = k if active.mass[k] > active.mass[best] else best
    for k in range(count):
        if k == best or active.mass[k] * MOST_BEGINNINGS >= total:
            active.token[kept], active.mass[kept] = active.token[k], active.mass[k] / total
            active.brackets[kept], active.quotes[kept] = active.brackets[k], active.quotes[k]
            active.verbs[kept] = active.verbs[k]
            kept += 1
    return kept


class Sentences(NamedTuple):
    """What `_find_sentences` finds at the place before the first token, and at those after each token.

    Attributes
    ----------
    ended : ndarray of shape (T + 1,), float64
        The probability that a sentence ends there.
    value : ndarray, float64
        Of the best sentences up to there: the sum of their probabilities, less their cost.
    begin : ndarray, int64
        The first token of the last of them.
    """

    ended: np.ndarray
    value: np.ndarray
    begin: np.ndarray


@kernel
def _find_sentences(
    table: TokenTable, known: Known, model: Model, cost: float, active: Beginnings, work: Work, found: Sentences
) -> None:
    """Write the probability of a sentence end after each token, and where the best sentence that ends there begins."""
    count, entering = 0, 1.0
    for t in range(MARGIN, len(table.word) - MARGIN):
        end, last = t - MARGIN + 1, table.gap[t] == PARAGRAPH
        if count == 0 or entering * MOST_BEGINNINGS >= 1.0:
            count = _enter(active, count, end - 1, entering)
        _advance(table, known, t, active, count)
        if last:
            work.probability[_STATES : _STATES + count] = 1.0
        else:
            _find_endings(table, t, _score_around(table, known, t, model, work), active, count, model, work)
        ended, found.value[end] = 0.0, -np.inf
        for k in range(count):
            mass = active.mass[k] * work.probability[_STATES + k]
            value = found.value[active.token[k]] + mass - cost
            if value > found.value[end]:
                found.value[end], found.begin[end] = value, active.token[k]
            active.mass[k] -= mass
            ended += mass
        entering = ended / (ended + active.mass[:count].sum())
        found.ended[end] = entering
        count = 0 if last else _give_up(active, count, ended)


@kernel
def _decide(found: Sentences, gap: Uint8s, scores: Float32s) -> None:
    """Write the log-odds of a sentence end after each token, with the sign of the decision."""
    n = len(scores)
    for i in range(n):
        share = min(max(found.ended[i + 1], 1e-9), 1.0 - 1e-9)
        scores[i] = np.float32(math.log(share / (1.0 - share)))
    end = n
    for i in range(n, 0, -1):
        if i == end:
            end = found.begin[i]
            scores[i - 1] = np.float32(np.inf) if gap[i - 1] == PARAGRAPH else max(scores[i - 1], np.float32(1e-3))
        else:
            scores[i - 1] = min(scores[i - 1], np.float32(-1e-3))


def score_ends(
    table: TokenTable, usage: Usage, weights: np.ndarray, threshold: float, cost: float = COST
) -> np.ndarray:
    """Return the score of a sentence end after each token, float32[T]: above 0 where a sentence ends.

    It is the log-odds of an end, but at least 0.001 from 0 on the side of the decision.  The decisions maximise the sum
    of the sentences' probabilities, less a cost for each.

    Parameters
    ----------
    table : TokenTable
    usage : Usage
    weights : ndarray, float32
    threshold : float
        This is subtracted from the log-odds of each end.
    cost : float
        The larger it is, the fewer sentences are found where they are not certain.
    """
    n, size = len(table.word) - 2 * MARGIN, MOST_BEGINNINGS + 3
    active = Beginnings(*(np.zeros(size, np.int64) for _ in range(4)), np.zeros(size))
    work = Work(
        np.zeros(6, np.int64),
        np.zeros(_CELLS, np.uint32),
        np.zeros(N_FEATURES, np.int32),
        np.zeros(_STATES + size),
        np.full(_STATES, -1),
    )
    model = Model(WINDOW, STATE_WINDOW, weights, shift_of(weights), float(threshold))
    found = Sentences(np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1, np.int64))
    _find_sentences(table, known_of(table, usage), model, float(cost), active, work, found)
    scores = np.empty(n, np.float32)
    _decide(found, table.gap[MARGIN:], scores)
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
