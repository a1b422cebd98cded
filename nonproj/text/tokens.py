"""Tokens of a text: a linear model decides, for each place inside a chunk, whether a token ends there.

Only places between two kinds of characters that a treebank has ever separated are decided; all others are inside a
token.  The model goes from left to right, so that it knows where the current token began.
"""

from __future__ import annotations

import numpy as np

from nonproj._kernel import kernel
from nonproj.text.layout import MAX_TOKEN, PARAGRAPH, Text, is_too_long, mix, shape_hash, string_hash
from nonproj.types import Bools, Float32s, Int32s, Int64s, Uint8s

N_FEATURES = 27
"""Features of a place."""

_NONE, _NO_KIND = np.uint32(0), np.uint8(0)


@kernel
def _character_features(text: Text, c: int, i: int, shift: int, out: Int32s) -> None:
    """Write the places of features of the characters around the end of a token at character ``i`` of chunk ``c``."""
    lower, kind, first, last = text.lower, text.kind, text.start[c], text.end[c]
    l0, l1, k0, k1 = lower[i], lower[i + 1], kind[i], kind[i + 1]
    p1, kp1 = (lower[i - 1], kind[i - 1]) if i > first else (_NONE, _NO_KIND)
    p2, kp2 = (lower[i - 2], kind[i - 2]) if i > first + 1 else (_NONE, _NO_KIND)
    n2, kn2 = (lower[i + 2], kind[i + 2]) if i + 2 < last else (_NONE, _NO_KIND)
    n3, kn3 = (lower[i + 3], kind[i + 3]) if i + 3 < last else (_NONE, _NO_KIND)
    before, after = i, i + 1
    while before > first and lower[before - 1] == l0 and i - before < 4:
        before -= 1
    while after < last - 1 and lower[after + 1] == l1 and after - i < 5:
        after += 1
    place, remaining = min(i - first, 5), min(last - i - 2, 5)
    pair, kinds = mix(mix(np.uint64(3), l0), l1), mix(mix(np.uint64(4), k0), k1)
    out[0] = mix(np.uint64(100), 0) >> shift
    out[1] = mix(pair, 101) >> shift
    out[2] = mix(mix(pair, p1), 102) >> shift
    out[3] = mix(mix(pair, n2), 103) >> shift
    out[4] = mix(mix(mix(pair, p1), n2), 104) >> shift
    out[5] = mix(mix(mix(pair, p1), p2), 105) >> shift
    out[6] = mix(mix(mix(pair, n2), n3), 106) >> shift
    out[7] = mix(mix(mix(mix(mix(pair, p1), p2), n2), n3), 107) >> shift
    out[8] = mix(mix(mix(mix(mix(kinds, kp1), kp2), kn2), kn3), 108) >> shift
    out[9] = mix(mix(mix(kinds, kp1), kn2), 109) >> shift
    out[10] = mix(mix(pair, text.flags[c]), 110) >> shift
    out[11] = mix(mix(mix(pair, place), remaining), 111) >> shift
    out[12] = mix(mix(mix(pair, i - before), after - i), 112) >> shift


@kernel
def _string_features(text: Text, c: int, begin: int, i: int, known: Uint8s, shift: int, out: Int32s) -> None:
    """Write the places of the other features; the token began at character ``begin``."""
    lower, kind, last = text.lower, text.kind, text.end[c]
    l0, l1, k0, k1 = lower[i], lower[i + 1], kind[i], kind[i + 1]
    token, rest = string_hash(lower, begin, i + 1), string_hash(lower, i + 1, last)
    left, right = shape_hash(kind, text.run, begin, i + 1), shape_hash(kind, text.run, i + 1, last)
    previous, following, next_kind = np.uint64(0), np.uint64(0), _NO_KIND
    if c > 0 and text.gap[c - 1] != PARAGRAPH:
        previous = text.chunk[c - 1]
    if c + 1 < len(text.start) and text.gap[c] != PARAGRAPH:
        following, next_kind = text.chunk[c + 1], kind[text.start[c + 1]]
    mask = np.uint64(len(known) - 1)
    in_lexicon = (known[token & mask] > 1) + 2 * (known[rest & mask] > 1)
    in_lexicon += 4 * (known[string_hash(lower, begin, last) & mask] > 1)
    remaining = min(last - i - 2, 5)
    pair, kinds = mix(mix(np.uint64(3), l0), l1), mix(mix(np.uint64(4), k0), k1)
    out[13] = mix(mix(token, l1), 113) >> shift
    out[14] = mix(mix(rest, k0), 114) >> shift
    out[15] = mix(mix(rest, l0), 115) >> shift
    out[16] = mix(mix(text.chunk[c], i - text.start[c]), 116) >> shift
    out[17] = mix(mix(left, right), 117) >> shift
    out[18] = mix(mix(mix(pair, next_kind), remaining), 118) >> shift
    out[19] = mix(mix(mix(token, next_kind), remaining), 119) >> shift
    out[20] = mix(mix(mix(following, l1), remaining), 120) >> shift
    out[21] = mix(mix(previous, l1), 121) >> shift
    out[22] = mix(mix(mix(kinds, in_lexicon), remaining), 122) >> shift
    out[23] = mix(mix(pair, in_lexicon), 123) >> shift
    out[24] = mix(mix(mix(left, kinds), i - begin), 124) >> shift
    out[25] = mix(mix(mix(mix(left, l1), remaining), next_kind), 125) >> shift
    out[26] = mix(mix(token, rest), 126) >> shift


@kernel
def count_places(text: Text, candidate: Uint8s) -> int:
    """Return the number of places that the model decides, at most."""
    count = 0
    for c in range(len(text.start)):
        for i in range(text.start[c], text.end[c] - 1):
            count += candidate[text.kind[i], text.kind[i + 1]]
    return count


@kernel
def token_examples(
    text: Text, ends: Bools, candidate: Uint8s, known: Uint8s, shift: int, rows: Int32s, gold: Uint8s
) -> int:
    """Write the features and the gold decision of each place; return their number.

    ``ends`` says for each character whether it is the last of a token.
    """
    count = 0
    for c in range(len(text.start)):
        begin = text.start[c]
        for i in range(text.start[c], text.end[c] - 1):
            if candidate[text.kind[i], text.kind[i + 1]] and not text.fixed[i]:
                _character_features(text, c, i, shift, rows[count])
                _string_features(text, c, begin, i, known, shift, rows[count])
                gold[count] = ends[i]
                count += 1
            if ends[i]:
                begin = i + 1
    return count


@kernel
def _tokenize(
    text: Text, candidate: Uint8s, known: Uint8s, weights: Float32s, shift: int, start: Int64s, end: Int64s
) -> int:
    """Write the tokens; return their number."""
    out = np.empty(N_FEATURES, np.int32)
    count = 0
    for c in range(len(text.start)):
        begin = text.start[c]
        for i in range(text.start[c], text.end[c] - 1):
            ends = False
            if candidate[text.kind[i], text.kind[i + 1]] and not text.fixed[i]:
                _character_features(text, c, i, shift, out)
                _string_features(text, c, begin, i, known, shift, out)
                score = np.float32(0.0)
                for j in range(N_FEATURES):
                    score += weights[out[j]]
                ends = score > 0
            if ends or is_too_long(text.joined, begin, i):
                start[count], end[count] = begin, i + 1
                count, begin = count + 1, i + 1
        start[count], end[count] = begin, text.end[c]
        count += 1
    return count


def tokenize(
    text: Text, candidate: np.ndarray, known: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first characters of the tokens and those behind their last, int64[T] each.

    Parameters
    ----------
    text : Text
    candidate : ndarray of shape (KINDS, KINDS), uint8
        Pairs of kinds that may be separated.
    known : ndarray, uint8
        How often each string, by its hash, is a token in training; its length is a power of two.
    weights : ndarray, float32
        Its length is a power of two.
    """
    size = int(count_places(text, candidate)) + len(text.start) + len(text.kind) // MAX_TOKEN + 1
    start, end = np.empty(size, np.int64), np.empty(size, np.int64)
    count = _tokenize(text, candidate, known, weights, shift_of(weights), start, end)
    return start[:count], end[:count]


@kernel
def _token_margins(
    text: Text,
    candidate: Uint8s,
    known: Uint8s,
    weights: Float32s,
    shift: int,
    start: Int64s,
    end: Int64s,
    margins: Float32s,
) -> None:
    """Lower the margins to those of the decisions at both ends of each token and inside."""
    out = np.empty(N_FEATURES, np.int32)
    c = 0
    for t in range(len(start)):
        while text.end[c] <= start[t]:
            c += 1
        for i in range(start[t], min(end[t], text.end[c] - 1)):
            if candidate[text.kind[i], text.kind[i + 1]] and not text.fixed[i]:
                _character_features(text, c, i, shift, out)
                _string_features(text, c, start[t], i, known, shift, out)
                score = np.float32(0.0)
                for j in range(N_FEATURES):
                    score += weights[out[j]]
                if i == end[t] - 1:
                    margins[t] = min(margins[t], score)
                    margins[t + 1] = min(margins[t + 1], score)
                else:
                    margins[t] = min(margins[t], -score)


def token_margins(
    text: Text,
    tokens: tuple[np.ndarray, np.ndarray],
    candidate: np.ndarray,
    known: np.ndarray,
    weights: np.ndarray,
    large: float,
) -> np.ndarray:
    """Return for each token the score of the least certain decision about it, float32[T]: log-odds, at most ``large``.

    Parameters
    ----------
    text : Text
    tokens : tuple of ndarray
        Of `tokenize`, with the same tables.
    candidate, known, weights : ndarray
    large : float
        Where nothing was to be decided.
    """
    start, end = tokens
    margins = np.full(len(start), large, np.float32)
    _token_margins(text, candidate, known, weights, shift_of(weights), start, end, margins)
    return margins


def shift_of(weights: np.ndarray) -> np.uint64:
    """Return 64 less the binary logarithm of the table's length."""
    return np.uint64(65 - len(weights).bit_length())
