"""Features of a sentence end: the tokens around a place, and the beginning of the sentence.

A sentence's beginning is summarised by a state, a small number, so that its features are computed once for all
beginnings that share it.
"""

from __future__ import annotations

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import Window, hash_window
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.text.characters import CLOSE, OPEN, QUOTE
from nonproj.text.layout import BROKEN, PARAGRAPH
from nonproj.text.token_table import PADDING, TokenTable
from nonproj.text.usage import KnownWords, Usage, is_finite_verb, known_words
from nonproj.types import Bools, Int32s, Uint8s, Uint32s

OF_TOKEN = ("word", "shape", "suffix", "first", "last", "gap", "size", "case", "tag", "mark")
"""Attributes of a token alone."""

_ATTRIBUTES = (*OF_TOKEN, "absent", "one", "place", "inside", "verbs")
"""Attributes of a token: its form in lower case, its shape, its last characters, the kinds of its first and last
character, the blanks after it (``gap``), its length up to four, how its form is capitalised elsewhere, its usual part
of speech, the mark of its punctuation (``mark``), whether it is outside the paragraph; and of the place after it, a
constant, the length of the sentence, that with its open brackets and quotation marks, and its number of verbs."""

_WIDTH = len(_ATTRIBUTES)
_OWN = 2 * _WIDTH  # the cells of the token before the place, with the attributes of the place
_ONE, _PLACE, _INSIDE, _VERBS = (_OWN + _ATTRIBUTES.index(name) for name in ("one", "place", "inside", "verbs"))

TOKENS_AROUND = 6
"""Number of tokens around a place: three before it and three behind."""

GRAMMAR = Grammar("sentences", ("t",), _ATTRIBUTES, (-2, 3))
"""Templates name the token before the place, ``t``, and its neighbours."""

_WORDS, _SHAPES = "t.word t+1.word", "t.shape t+1.shape t.gap"
_CASES = "t.last t+1.first t+1.case"

TEMPLATES = (
    "t.mark",
    "t.mark t.last",
    "t.mark t+1.first",
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
"""Templates that use the state of the sentence up to the place."""

N_OF_MARKS = 1
"""Number of leading templates, about punctuation, that are trained first: rare features then explain the rest."""

WINDOW: Window = window_of(compile_templates(TEMPLATES, GRAMMAR), GRAMMAR)
STATE_WINDOW: Window = window_of(compile_templates(OF_BEGINNING, GRAMMAR), GRAMMAR)

N_LOCAL = len(TEMPLATES)
"""Number of features of the tokens around a place."""

N_FEATURES = len(TEMPLATES) + len(OF_BEGINNING)
"""Number of features of a place."""

CELLS = TOKENS_AROUND * _WIDTH
"""Number of attributes of all tokens around a place."""

N_STATES = 144
"""Number of states of a sentence up to a place: see `state_of`."""


@kernel
def _bucket(length: int) -> int:
    """Return a class of lengths, from 0 to 8."""
    bound, found = 4, 4
    while found < 8 and length >= bound:
        bound, found = bound * 2 - 2 * (found < 5), found + 1
    return length if length < 4 else found


@kernel
def state_of(length: int, brackets: int, quotes: int, verbs: int) -> int:
    """Return the state of the sentence up to a place, as a number less than `N_STATES`."""
    return ((_bucket(length) * 2 + min(brackets, 1)) * 2 + quotes % 2) * 4 + min(verbs, 3)


@kernel
def brackets_after(first: int, brackets: int) -> int:
    """Return the number of open brackets after a token, given the kind of its first character."""
    if first == OPEN:
        return brackets + 1
    return max(brackets - 1, 0) if first == CLOSE else brackets


@kernel
def at_line_end(blanks: int) -> int:
    """Return 1 at the end of a line that is not full, else 0: such places have weights of their own."""
    return 1 if blanks == BROKEN else 0


@kernel
def _nearby(blanks: Uint8s, t: int) -> tuple[int, int]:
    """Return the first and the last row, within the paragraph, of the tokens around the place after row ``t``."""
    first, last = t, t + 1
    while first > max(t - 2, PADDING) and blanks[first - 1] != PARAGRAPH:
        first -= 1
    while last < t + 3 and blanks[last] != PARAGRAPH:
        last += 1
    return first, last


@kernel
def describe_token(table: TokenTable, known: KnownWords, row: int, atoms: Uint32s, own: int) -> None:
    """Write a token's own attributes, `OF_TOKEN`, to ``atoms[own:]``."""
    atoms[own], atoms[own + 1], atoms[own + 2] = table.word[row], table.shape[row], table.suffix[row]
    atoms[own + 3], atoms[own + 4], atoms[own + 5] = table.first[row], table.last[row], table.blanks[row]
    atoms[own + 6], atoms[own + 7], atoms[own + 8] = min(table.size[row], 4), known.case[row], known.tag[row]
    atoms[own + 9] = known.mark[row]


@kernel
def hash_around(
    window: Window, table: TokenTable, known: KnownWords, t: int, shift: np.uint32, atoms: Uint32s, places: Int32s
) -> None:
    """Write the indices in the weights of the features of the tokens around the place after row ``t``, by `WINDOW`.

    The attributes of tokens in other paragraphs are absent.
    """
    first, last = _nearby(table.blanks, t)
    for k in range(TOKENS_AROUND):
        row = t - 2 + k if first <= t - 2 + k <= last else 0  # row 0 is padding
        own = k * _WIDTH
        describe_token(table, known, row, atoms, own)
        atoms[own + 10] = row == 0
    atoms[_ONE] = 1
    hash_window(window, atoms, shift, places)


@kernel
def hash_state(window: Window, state: int, shift: np.uint32, atoms: Uint32s, places: Int32s) -> None:
    """Write the indices in the weights of a state's features, by `STATE_WINDOW`; ``atoms`` come from `hash_around`."""
    atoms[_PLACE], atoms[_INSIDE], atoms[_VERBS] = state // 16, state // 4, state % 4
    hash_window(window, atoms, shift, places)


@kernel
def states_of(table: TokenTable, known: KnownWords, ends: Bools, missed: Bools) -> Int32s:
    """Return the state of the place after each token, int32[T].

    Sentences begin where gold ones do, except after the tokens where ``missed`` is true: a model must also learn to go
    on after an end that it has missed.
    """
    states = np.empty(len(ends), np.int32)
    length, brackets, quotes, verbs = 0, 0, 0, 0
    for i in range(len(ends)):
        t = PADDING + i
        length, verbs = length + 1, verbs + is_finite_verb(known.tag[t])
        brackets, quotes = brackets_after(table.first[t], brackets), quotes + (table.first[t] == QUOTE)
        states[i] = state_of(length, brackets, quotes, verbs)
        if (ends[i] and not missed[i]) or table.blanks[t] == PARAGRAPH:
            length, brackets, quotes, verbs = 0, 0, 0, 0
    return states


@kernel
def sentence_examples(table: TokenTable, ends: Bools, usage: Usage, bits: int, missed: Bools) -> tuple[Int32s, Uint8s]:
    """Return features and gold decisions of all places where sentences may end: after tokens inside a paragraph.

    For ``missed``, bool[T], see `states_of`.
    """
    rows, gold = np.empty((len(ends), N_FEATURES), np.int32), np.empty(len(ends), np.uint8)
    count, known, shift = 0, KnownWords(*known_words(table, usage)), np.uint32(32 - bits)
    states, atoms = states_of(table, known, ends, missed), np.zeros(CELLS, np.uint32)
    for i in range(len(ends)):
        t = PADDING + i
        if table.blanks[t] != PARAGRAPH:
            hash_around(WINDOW, table, known, t, shift, atoms, rows[count])
            hash_state(STATE_WINDOW, states[i], shift, atoms, rows[count, N_LOCAL:])
            rows[count] ^= at_line_end(table.blanks[t])
            gold[count] = ends[i]
            count += 1
    return rows[:count], gold[:count]
