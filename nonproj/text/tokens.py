"""Tokens of a text: a linear model decides, for each place inside a chunk, whether a token ends there.

The model decides only between kinds of characters that are sometimes separated in a treebank, or never adjacent there;
elsewhere, tokens always or never end.  It goes from left to right, so it knows where the current token began.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import Window, hash_codes, hash_window
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.text.characters import DIGIT, LETTER, LOWER, NUMBER, OPEN, STOP
from nonproj.text.layout import (
    MAX_HASHED,
    MAX_TOKEN,
    NO_BLANKS,
    PARAGRAPH,
    Text,
    class_before,
    class_end,
    is_too_long,
    outline_hash,
    shape_hash,
    table_shift,
)
from nonproj.types import Bools, Float32s, Int32s, Int64s, Uint8s, Uint32s

_PAIR, _KINDS = "c.lower c+1.lower", "c.kind c+1.kind"

_OF_CHARACTERS = ("lower", "kind")
_OF_PLACE = (
    "flags", "place", "remaining", "before", "after", "token", "rest", "left", "right", "chunk", "inside",
    "previous", "following", "nextkind", "known", "length", "one", "leftoutline", "rightoutline", "run", "earlier",
    "beside", "size",
)  # fmt: skip
"""Attributes of a place at which a token may end, other than the characters around it: marks of the chunk, the number
of characters before and after it in the chunk, up to five, how often the characters beside it repeat, the token and the
rest of the chunk, their shapes, the chunk, the position of the place in it, the neighbouring chunks, the kind of the
next one's first character, which of token, rest and both together are known as tokens, the token's length, a constant,
the outlines of token and rest (`nonproj.text.layout.outline_hash`), the run of characters of one class, such as
letters, after it, the class before the run that ends there, which of the two words beside it (or beside a sign that is
next to it) are known as tokens, and the length of the second word, up to five, and whether the chunk ends with it."""

_WIDTH = len(_OF_CHARACTERS) + len(_OF_PLACE)

GRAMMAR = Grammar("tokens", ("c",), (*_OF_CHARACTERS, *_OF_PLACE), (-2, 3))
"""Templates name the character before the place, ``c``, and its neighbours; attributes of the place are ``c``'s."""

_OF_CLASSES = (
    "c.one",
    _KINDS,
    "c+1.kind c+2.kind",
    f"{_KINDS} c-1.kind c+2.kind",
    f"{_KINDS} c-1.kind c-2.kind c+2.kind c+3.kind",
    f"{_KINDS} c.known c.remaining",
    f"c.left {_KINDS} c+2.kind c.length",
    "c.left c.right",
    "c.leftoutline c.rightoutline",
    f"{_KINDS} c+2.kind c.beside c.size",
    f"{_KINDS} c.earlier",
)
"""Templates that name no character and no string.  They are learnt alone first, so that they capture common properties
of chunks before strings explain each chunk of the training text by itself.

The left side of a place is combined with the character after the next one, here and below: a full stop after
a word is mostly the end of a sentence, unless the chunk goes on behind it."""

TEMPLATES = (
    *_OF_CLASSES,
    f"{_KINDS} c.run",
    f"{_KINDS} c.earlier c.run",
    _PAIR,
    f"{_PAIR} c-1.lower c+2.kind",
    f"{_PAIR} c+2.lower",
    f"{_PAIR} c-1.lower c+2.lower",
    f"{_PAIR} c-1.lower c-2.lower c+2.kind",
    f"{_PAIR} c+2.lower c+3.lower",
    f"{_PAIR} c-1.lower c-2.lower c+2.lower c+3.lower",
    f"{_PAIR} c.flags",
    f"{_PAIR} c.place c.remaining",
    f"{_PAIR} c.before c.after",
    "c.token c+1.lower",
    "c.rest c.kind",
    "c.rest c.lower",
    "c.chunk c.inside",
    f"{_PAIR} c.nextkind c.remaining",
    "c.token c.nextkind c.remaining",
    "c.following c+1.lower c.remaining",
    "c.previous c+1.lower",
    f"{_PAIR} c.known",
    "c.left c+1.lower c.remaining c.nextkind",
    "c.token c.rest",
)

WINDOW: Window = window_of(compile_templates(TEMPLATES, GRAMMAR), GRAMMAR)

N_OF_CLASSES, N_FEATURES = len(_OF_CLASSES), len(TEMPLATES)
"""Number of features of a place by `_OF_CLASSES`, and by all templates."""

_CELLS = 6 * _WIDTH

_BEFORE_MORE, _WITHOUT_VOWELS, _LONGEST_CLIPPED = 5.0, 8.0, 5
"""Amounts subtracted from the log-odds that a full stop after a probable abbreviation (`_clipping`) is a token, and the
maximum length of an abbreviation.

Treebanks have few abbreviations, so features learn these, but do not generalise: after words such as ``para`` and
``lit``, log-odds are 0 to 5, after words at the end of a sentence 6 to 19 (English)."""

_CONSONANTS = np.array([ord(c) for c in "bcdfghjklmnpqrstvxz"], np.uint32)

NEVER, SOMETIMES, ALWAYS = range(3)
"""Whether tokens end between two kinds of characters: the model decides, unless they never or always do."""


@kernel
def _look_around(text: Text, c: int, i: int, atoms: Uint32s) -> None:
    """Write the attributes of the characters around the place after character ``i`` of the text, in chunk ``c``."""
    lower, kind, first, last = text.lower, text.kind, text.start[c], text.end[c]
    for k in range(6):
        j, inside = i - 2 + k, first <= i - 2 + k < last
        atoms[k * _WIDTH] = lower[j] if inside else np.uint32(0)
        atoms[k * _WIDTH + 1] = np.uint32(kind[j]) if inside else np.uint32(0)
    before, after = i, i + 1
    while before > first and lower[before - 1] == lower[i] and i - before < 4:
        before -= 1
    while after < last - 1 and lower[after + 1] == lower[i + 1] and after - i < 5:
        after += 1
    own = atoms[2 * _WIDTH + 2 : 3 * _WIDTH]
    own[0], own[1], own[2] = text.flags[c], min(i - first, 5), min(last - i - 2, 5)
    own[3], own[4], own[16] = i - before, after - i, 1


@kernel
def _look_at_strings(text: Text, c: int, begin: int, i: int, known: Uint8s, own: int, atoms: Uint32s) -> None:
    """Write the attributes of the strings around a place; the token began at character ``begin``.

    ``own`` marks tokens of this chunk (`_own_tokens`), which must also be tokens of another chunk to count as known.
    """
    lower, kind, first, last = text.lower, text.kind, text.start[c], text.end[c]
    cell = atoms[2 * _WIDTH + 2 : 3 * _WIDTH]
    cell[5], cell[6] = hash_codes(lower, begin, i + 1, MAX_HASHED), hash_codes(lower, i + 1, last, MAX_HASHED)
    cell[7], cell[8] = shape_hash(kind, text.run, begin, i + 1), shape_hash(kind, text.run, i + 1, last)
    cell[9], cell[10] = text.chunk[c], i - first
    cell[11], cell[12], cell[13] = 0, 0, 0
    if c > 0 and text.blanks[c - 1] != PARAGRAPH:
        cell[11] = text.chunk[c - 1]
    if c + 1 < len(text.start) and text.blanks[c] != PARAGRAPH:
        cell[12], cell[13] = text.chunk[c + 1], kind[text.start[c + 1]]
    cell[14] = (
        _is_known(known, lower, begin, i + 1, own & 1)
        + 2 * _is_known(known, lower, i + 1, last, own & 2)
        + 4 * _is_known(known, lower, begin, last, own & 4)
    )
    cell[15] = i - begin
    cell[17], cell[18] = outline_hash(kind, text.run, begin, i + 1), outline_hash(kind, text.run, i + 1, last)
    cell[19] = hash_codes(lower, i + 1, class_end(kind, text.run, i + 1, last), MAX_HASHED)
    cell[20] = class_before(kind, begin, i)
    a, b, d, e = _words_beside(kind, first, i, last)
    cell[21] = _is_known(known, lower, a, b, own & 8) + 2 * _is_known(known, lower, d, e, own & 16)
    cell[22] = min(e - d, 5) + 8 * (e == last)


@kernel
def _is_known(known: Uint8s, codes: Uint32s, first: int, last: int, own: int) -> bool:
    """Return whether some characters are a known token: of another chunk if ``own`` is not 0, else of any."""
    count = known[hash_codes(codes, first, last, MAX_HASHED) >> np.uint32(table_shift(len(known)))]
    return bool(first < last and count > (own != 0))


@kernel
def _words_beside(kind: Uint8s, first: int, i: int, last: int) -> tuple[int, int, int, int]:
    """Return start and end of the words on both sides of the place after ``i``, or of a sign next to it."""
    b, d = i + int(LOWER <= kind[i] <= NUMBER), i + 1 + int(not LOWER <= kind[i + 1] <= NUMBER)
    a, e = b, d
    while a > first and b - a <= MAX_HASHED and LOWER <= kind[a - 1] <= NUMBER:
        a -= 1
    while e < last and e - d <= MAX_HASHED and LOWER <= kind[e] <= NUMBER:
        e += 1
    return a, b, d, e


@kernel
def _own_tokens(text: Text, ends: Bools, c: int, begin: int, i: int) -> int:
    """Return the set of strings around a place that are gold tokens, as a sum of flags.

    1 is the token, 2 the rest of the chunk, 4 both together, 8 and 16 are the words next to the place.
    """
    first, last = text.start[c], text.end[c]
    a, b, d, e = _words_beside(text.kind, first, i, last)
    return (
        1 * _is_token(ends, first, begin, i + 1, last)
        + 2 * _is_token(ends, first, i + 1, last, last)
        + 4 * _is_token(ends, first, begin, last, last)
        + 8 * _is_token(ends, first, a, b, last)
        + 16 * _is_token(ends, first, d, e, last)
    )


@kernel
def _is_token(ends: Bools, first: int, begin: int, end: int, last: int) -> bool:
    """Return whether the characters ``begin:end`` of the chunk ``first:last`` are a token."""
    if begin >= end or not (begin == first or ends[begin - 1]) or not (end == last or ends[end - 1]):
        return False
    return not ends[begin : end - 1].any()


@kernel
def _clipping(text: Text, c: int, begin: int, informal: bool) -> float:
    """Return the evidence, in log-odds, that chunk ``c`` from ``begin`` on, a word and a stop, is an abbreviation.

    It is 0 unless the word is short and either the next chunk begins with a digit, or in lower case in a paragraph that
    is not ``informal``; or the word has no vowel, ends in lower case and is no unit of a number, as in ``Doe v. Roe``.
    """
    lower, kind, end = text.lower, text.kind, text.end[c] - 1
    if text.blanks[c] in (NO_BLANKS, PARAGRAPH) or kind[end] != STOP or not 0 < end - begin <= _LONGEST_CLIPPED:
        return 0.0
    vowels = 0
    for i in range(begin, end):
        if not LOWER <= kind[i] <= LETTER:
            return 0.0
        vowels += not (lower[i] == _CONSONANTS).any()
    after = kind[text.start[c + 1]]
    if begin > text.start[c]:
        may_be_unit = kind[begin - 1] != OPEN
    else:
        may_be_unit = c > 0 and text.blanks[c - 1] != PARAGRAPH and kind[text.end[c - 1] - 1] == DIGIT
    if vowels == 0 and kind[end - 1] == LOWER and not may_be_unit and LOWER <= after <= DIGIT:
        return _WITHOUT_VOWELS
    return _BEFORE_MORE if after == DIGIT or (after == LOWER and not informal) else 0.0


@kernel
def _count_places(text: Text, candidate: Uint8s) -> int:
    """Return an upper bound on the number of places that the model decides."""
    count = 0
    for c in range(len(text.start)):
        for i in range(text.start[c], text.end[c] - 1):
            count += candidate[text.kind[i], text.kind[i + 1]] != NEVER
    return count


@kernel
def token_examples(text: Text, ends: Bools, candidate: Uint8s, known: Uint8s, bits: int) -> tuple[Int32s, Uint8s]:
    """Return features and gold decisions of all places where tokens may end.

    ``ends`` marks the characters that are the last of a token.
    """
    count, size = 0, _count_places(text, candidate)
    rows, gold = np.empty((size, N_FEATURES), np.int32), np.empty(size, np.uint8)
    atoms, shift = np.zeros(_CELLS, np.uint32), np.uint32(32 - bits)
    for c in range(len(text.start)):
        begin = text.start[c]
        for i in range(text.start[c], text.end[c] - 1):
            kinds = NEVER if text.fixed[i] else candidate[text.kind[i], text.kind[i + 1]]
            if kinds == SOMETIMES:
                _look_around(text, c, i, atoms)
                _look_at_strings(text, c, begin, i, known, _own_tokens(text, ends, c, begin, i), atoms)
                hash_window(WINDOW, atoms, shift, rows[count])
                gold[count] = ends[i]
                count += 1
            if ends[i] or kinds == ALWAYS:
                begin = i + 1
    return rows[:count], gold[:count]


class TokenSpans(NamedTuple):
    """The tokens of a text.

    Attributes
    ----------
    start, end : ndarray of shape (T,), int64
        Token ``t`` is ``text[start[t]:end[t]]``.
    log_odds : ndarray of shape (T,), float32
        Log-odds of the least certain decision about each token, at its ends or inside; infinite where there was none.
    """

    start: np.ndarray
    end: np.ndarray
    log_odds: np.ndarray


class TokenModel(NamedTuple):
    """The model that decides where tokens end.

    Attributes
    ----------
    candidate : ndarray of shape (KINDS, KINDS), uint8
        Separation of each pair of kinds: `NEVER`, `SOMETIMES` (the weights decide) or `ALWAYS`.
    known : ndarray, uint8
        Number of different chunks in which each string, by its hash, is a token in training; a power of two long.
    weights : ndarray, float32
        Its length is a power of two.
    """

    candidate: np.ndarray
    known: np.ndarray
    weights: np.ndarray


def tokenize(text: Text, model: TokenModel) -> TokenSpans:
    """Return the tokens of a text; tokens longer than `nonproj.text.layout.MAX_TOKEN` are cut."""
    return TokenSpans(*_tokenize(text, model, WINDOW))


@kernel
def _tokenize(text: Text, model: TokenModel, window: Window) -> tuple[Int64s, Int64s, Float32s]:
    """Return the arrays of `tokenize`; with templates as an argument, the code is faster than with constants."""
    candidate, weights = model.candidate, model.weights
    size = _count_places(text, candidate) + len(text.start) + len(text.kind) // MAX_TOKEN + 1
    start, end, log_odds = np.empty(size, np.int64), np.empty(size, np.int64), np.full(size, np.float32(np.inf))
    out, atoms, shift = np.empty(N_FEATURES, np.int32), np.zeros(_CELLS, np.uint32), table_shift(len(weights))
    count, informal = 0, False
    for c in range(len(text.start)):
        begin = text.start[c]
        if c == 0 or text.blanks[c - 1] == PARAGRAPH:
            informal = text.kind[begin] == LOWER
        for i in range(text.start[c], text.end[c] - 1):
            kinds, score = NEVER if text.fixed[i] else candidate[text.kind[i], text.kind[i + 1]], np.float32(0.0)
            if kinds == SOMETIMES:
                _look_around(text, c, i, atoms)
                _look_at_strings(text, c, begin, i, model.known, 0, atoms)
                hash_window(window, atoms, np.uint32(shift), out)
                for j in range(N_FEATURES):
                    score += weights[out[j]]
                if i + 2 == text.end[c]:
                    score -= np.float32(_clipping(text, c, begin, informal))
            ends = kinds == ALWAYS or score > 0 or is_too_long(text.joined, begin, i)
            if kinds == SOMETIMES:
                log_odds[count] = min(log_odds[count], score if ends else -score)
                log_odds[count + 1] = score if ends else log_odds[count + 1]
            if ends:
                start[count], end[count] = begin, i + 1
                count, begin = count + 1, i + 1
        start[count], end[count] = begin, text.end[c]
        count += 1
    return start[:count], end[:count], log_odds[:count]
