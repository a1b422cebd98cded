"""The score of an analysis of a token into words: a semi-Markov model (Sarawagi and Cohen 2004), linear in features.

The features are those of each segment, with the characters around it, and of each two adjacent ones; the context of the
token adds to the score of the whole.  Weights are learnt by gradients of the log-likelihood, from sums over all paths
through the segments, and the best path is found by dynamic programming: both are exact.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import REACH, Window, hash_codes, hash_window, hash_words
from nonproj.linear.optimisers import LaterMean, adagrad_step, rounded_gradient
from nonproj.linear.templates import Grammar, compile_templates, window_of
from nonproj.text.multiword_lexicon import LONGEST_TOKEN, OPEN, Segment, without_marks
from nonproj.types import Bools, Float32s, Float64s, Int32s, Int64s, Uint32s

BITS = 18
"""Binary logarithm of the size of the table of weights."""

EPOCHS, RATE = 6, 0.1

_GIVEN = ("kind", "place", "edit", "word", "frequency", "known", "shape")
_ATTRIBUTES = (
    *_GIVEN, "length", "segment", "marked", "mark", "lastmark", "before", "after",
    "l1", "l2", "l3", "r1", "r2", "r3", "f1", "f2", "f3", "b1", "b2", "b3", "b4",
)  # fmt: skip
"""Attributes of a segment: those of `Segment`, the shape of the token, its length, its hash, alone and with vowels, the
vowels of its first and last character, the characters before and after it, and one to four characters to its left and
right, at its front and at its back."""

_WIDTH, _N_GIVEN = len(_ATTRIBUTES), len(_GIVEN)

_KIND, _ROLE = "s.kind", "s.kind s.place"
TEMPLATES = (
    _ROLE,
    *(f"{_ROLE} s.{name}" for name in ("frequency", "known", "length", "edit", "shape", "shape s.length")),
    *(f"s.{name}" for name in ("segment s.place", "segment s.word s.place", "word s.place", "edit s.known s.kind")),
    *(f"s.segment s.{name}" for name in ("l1", "l2", "l3", "r1", "r2", "r3", "before", "after")),
    *(f"{_ROLE} s.{name}" for name in ("f1", "f2", "f3", "b1", "b2", "b3", "b4")),
    *(f"{_KIND} s.{pair}" for pair in ("l1 s.f1", "l2 s.f1", "l3 s.f1", "l1 s.f2", "l1 s.f3", "l2 s.f2", "l2 s.f3")),
    *(f"{_KIND} s.{pair}" for pair in ("b1 s.r1", "b2 s.r1", "b1 s.r2", "b2 s.r2", "l3 s.f2")),
    *(f"{_KIND} s.edit s.{name}" for name in ("f1", "f2", "b1", "b2", "b3", "r1", "r2", "before", "after")),
    *(f"{_KIND} s.edit s.{pair}" for pair in ("b1 s.r1", "b1 s.r2", "l1 s.f1")),
    *(f"s.{pair}" for pair in ("marked s.word", "marked s.place", "segment s.mark", "segment s.lastmark")),
    *(f"s.{pair}" for pair in ("edit s.mark", "edit s.lastmark")),
)  # fmt: skip

PAIR_TEMPLATES = (
    "s-1.kind s.kind s.place",
    "s-1.kind s.kind s-1.length s.length",
    "s-1.segment s.segment",
    "s-1.word s.word",
    "s-1.segment s.place s.kind",
    "s-1.kind s-1.place s.segment",
    "s-1.segment s.kind s.length",
    "s-1.edit s.edit",
    "s-1.edit s.segment",
    "s-1.edit s.segment s-1.b1",
    "s-1.segment s.edit",
    "s-1.word s.edit s.f1",
)

CONTEXT = ("form", "affix", "shape", "before", "behind")
CONTEXT_TEMPLATES = (
    "w.before",
    "w.behind",
    "w.form w.before",
    "w.form w.behind",
    "w.form w.shape",
    "w.affix w.before",
    "w.affix w.behind",
    "w.form w.before w.behind",
)
"""Templates of a token in context: its form, the longest known segment at its end, its shape, and its neighbours."""

_ONE, _TWO = Grammar("segment", ("s",), _ATTRIBUTES, (0, 0)), Grammar("segments", ("s",), _ATTRIBUTES, (-1, 0))
_AROUND = Grammar("token around", ("w",), CONTEXT, (-REACH, REACH))
_SEGMENT: Window = window_of(compile_templates(TEMPLATES, _ONE), _ONE)
_PAIR: Window = window_of(compile_templates(PAIR_TEMPLATES, _TWO), _TWO)
_CONTEXT: Window = window_of(compile_templates(CONTEXT_TEMPLATES, _AROUND), _AROUND)

_N_SEGMENT, _N_PAIR = len(TEMPLATES), len(PAIR_TEMPLATES)
_SHIFT = np.uint32(32 - BITS)
_LEAST = 1e-5
"""Minimum absolute value of a gradient; smaller ones are skipped."""


class Lattices(NamedTuple):
    """The segments of some tokens.

    Attributes
    ----------
    codes, vowels : ndarray, uint32
        The characters of all tokens, and the vowels after each: see `nonproj.text.multiword_lexicon.without_marks`.
    first_code, first : ndarray of shape (T + 1,), int64
        First character and first segment of each token, and the end of all.
    begin, end : ndarray of shape (E,), int64
        The characters of each segment in its token.
    given : ndarray of shape (E, 7), uint32
        Its attributes that are not computed from the arrays above.
    """

    codes: np.ndarray
    vowels: np.ndarray
    first_code: np.ndarray
    first: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    given: np.ndarray


def lattices(forms: Sequence[str], found: Sequence[Sequence[Segment]], marks: str) -> Lattices:
    """Return the lattices of tokens with these segments."""
    plain = [without_marks(form, marks) for form in forms]
    codes = np.frombuffer("".join(text for text, _ in plain).encode("utf-32-le"), np.uint32)
    vowels = np.array([vowel for _, vowels in plain for vowel in vowels], np.uint32)
    shapes = map(shape_of, forms)
    rows = [(*segment[:8], shape) for shape, own in zip(shapes, found, strict=True) for segment in own]
    table = np.array(rows, np.int64).reshape(-1, 2 + _N_GIVEN)
    sizes = [len(text) for text, _ in plain], [len(own) for own in found]
    first_code, first = (np.cumsum([0, *each], dtype=np.int64) for each in sizes)
    columns = np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1])
    return Lattices(codes, vowels, first_code, first, *columns, table[:, 2:].astype(np.uint32))


def shape_of(form: str) -> int:
    """Return a class of the kinds of a token's characters.

    Examples
    --------
    >>> [shape_of(form) for form in ("da", "Da", "DA", "4-a")]
    [0, 1, 3, 12]
    """
    rest = form[1:]
    shape = form[:1].isupper() + 2 * (rest != rest.lower())
    if form.isalpha():
        return shape
    other = any(not c.isalnum() and unicodedata.category(c)[0] != "M" for c in form)
    return shape + 4 * any(map(str.isdigit, form)) + 8 * other


@kernel
def _describe(found: Lattices, token: int, atoms: Uint32s) -> None:
    """Write the attributes of the segments of a token, uint32[E, _WIDTH]."""
    first, n = found.first_code[token], found.first_code[token + 1] - found.first_code[token]
    codes, vowels = found.codes[first : first + n], found.vowels[first : first + n]
    for k in range(len(atoms)):
        e = found.first[token] + k
        begin, end, row = found.begin[e], found.end[e], atoms[k]
        row[:_N_GIVEN] = found.given[e]
        own = row[_N_GIVEN:]
        own[0], own[1] = min(end - begin, 9), hash_codes(codes, begin, end, LONGEST_TOKEN)
        own[2] = own[1] + np.uint32(3) * hash_codes(vowels, begin, end, LONGEST_TOKEN)
        own[3], own[4] = vowels[begin], vowels[end - 1]
        own[5], own[6] = hash_codes(codes, 0, begin, LONGEST_TOKEN), hash_codes(codes, end, n, LONGEST_TOKEN)
        for size in range(1, 4):
            own[6 + size] = hash_codes(codes, max(begin - size, 0), begin, size) + np.uint32(max(size - begin, 0))
            own[9 + size] = hash_codes(codes, end, min(end + size, n), size) + np.uint32(max(end + size - n, 0))
            own[12 + size] = hash_codes(codes, begin, min(begin + size, end), size)
        for size in range(1, 5):
            own[15 + size] = hash_codes(codes, max(end - size, begin), end, size)


@kernel
def _pairs(begin: Int64s, end: Int64s, kind: Uint32s) -> Int64s:
    """Return the pairs of adjacent segments, not both open, int64[J, 2]; they and the segments are sorted by begin."""
    n, size = len(begin), end.max() + 1
    first = np.zeros(size + 1, np.int64)
    for e in range(n):
        first[end[e] + 1] += 1
    first = np.cumsum(first)
    by_end, count = np.argsort(end, kind="mergesort"), 0
    for e in range(n):
        count += first[begin[e] + 1] - first[begin[e]]
    found = np.empty((count, 2), np.int64)
    count = 0
    for e in range(n):
        for place in range(first[begin[e]], first[begin[e] + 1]):
            if kind[e] != OPEN or kind[by_end[place]] != OPEN:
                found[count, 0], found[count, 1] = by_end[place], e
                count += 1
    return found[:count]


@kernel
def _sum_weights(places: Int32s, weights: Float32s) -> Float64s:
    """Return the sums of the weights of the features of segments or pairs."""
    scores = np.zeros(len(places), np.float64)
    for k in range(len(places)):
        for place in places[k]:
            scores[k] += weights[place]
    return scores


class _Graph(NamedTuple):
    """The segments of a token and pairs of adjacent ones, with their scores and features."""

    begin: np.ndarray
    end: np.ndarray
    pairs: np.ndarray
    score: np.ndarray
    pair_score: np.ndarray
    places: np.ndarray
    pair_places: np.ndarray


@kernel
def _graph(found: Lattices, token: int, segment: Window, pair: Window, weights: Float32s) -> _Graph:
    """Return the scored segments of a token."""
    a, b = found.first[token], found.first[token + 1]
    atoms, both = np.empty((b - a, _WIDTH), np.uint32), np.empty(2 * _WIDTH, np.uint32)
    _describe(found, token, atoms)
    begin, end = found.begin[a:b], found.end[a:b]
    pairs = _pairs(begin, end, found.given[a:b, 0])
    places, pair_places = np.empty((b - a, _N_SEGMENT), np.int32), np.empty((len(pairs), _N_PAIR), np.int32)
    for k in range(len(atoms)):
        hash_window(segment, atoms[k], _SHIFT, places[k])
    for j in range(len(pairs)):
        both[:_WIDTH], both[_WIDTH:] = atoms[pairs[j, 0]], atoms[pairs[j, 1]]
        hash_window(pair, both, _SHIFT, pair_places[j])
    scores = _sum_weights(places, weights), _sum_weights(pair_places, weights)
    return _Graph(begin, end, pairs, scores[0], scores[1], places, pair_places)


@kernel
def _log_add(a: float, b: float) -> float:
    """Return the logarithm of the sum of two numbers, given their logarithms."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@kernel
def _sums(graph: _Graph, allowed: Bools, forward: Float64s, backward: Float64s) -> float:
    """Write the logarithms of sums over the paths up to each segment, and over those behind it; return that of all."""
    length, total = graph.end.max(), -np.inf
    for e in range(len(allowed)):
        forward[e] = graph.score[e] if allowed[e] and graph.begin[e] == 0 else -np.inf
        backward[e] = 0.0 if allowed[e] and graph.end[e] == length else -np.inf
    for j in range(len(graph.pairs)):
        a, b = graph.pairs[j, 0], graph.pairs[j, 1]
        if allowed[a] and allowed[b]:
            forward[b] = _log_add(forward[b], forward[a] + graph.pair_score[j] + graph.score[b])
    for j in range(len(graph.pairs) - 1, -1, -1):
        a, b = graph.pairs[j, 0], graph.pairs[j, 1]
        if allowed[a] and allowed[b]:
            backward[a] = _log_add(backward[a], graph.pair_score[j] + graph.score[b] + backward[b])
    for e in range(len(allowed)):
        if graph.end[e] == length:
            total = _log_add(total, forward[e])
    return total


@kernel
def _follow(places: Int32s, gradient: float, weights: Float32s, squares: Float32s) -> None:
    """Make a step on the weights of some features, unless the gradient is tiny."""
    if abs(gradient) > _LEAST:
        rounded = rounded_gradient(gradient)
        for place in places:
            adagrad_step(weights, squares, place, rounded, RATE)


@kernel
def _learn_token(
    graph: _Graph, gold: Bools, context: Int32s, factor: float, weights: Float32s, squares: Float32s
) -> None:
    """Step along the gradient of the log-likelihood of the gold analyses of a token, times a factor.

    Its first segment is the whole token.
    """
    n = len(gold)
    for place in context:
        graph.score[0] += weights[place]
    sums, others = np.empty((2, n), np.float64), np.empty((2, n), np.float64)
    every, right = _sums(graph, np.ones(n, np.bool_), sums[0], sums[1]), _sums(graph, gold, others[0], others[1])
    if right == -np.inf:
        return
    for e in range(n):
        change = math.exp(others[0, e] + others[1, e] - right) - math.exp(sums[0, e] + sums[1, e] - every)
        _follow(graph.places[e], factor * change, weights, squares)
        if e == 0:
            _follow(context, factor * change, weights, squares)
    for j in range(len(graph.pairs)):
        a, b = graph.pairs[j, 0], graph.pairs[j, 1]
        both = graph.pair_score[j] + graph.score[b]
        change = -math.exp(sums[0, a] + both + sums[1, b] - every)
        if gold[a] and gold[b]:
            change += math.exp(others[0, a] + both + others[1, b] - right)
        _follow(graph.pair_places[j], factor * change, weights, squares)


class Examples(NamedTuple):
    """Tokens from which weights are learnt.

    Attributes
    ----------
    lattices : Lattices
    gold : ndarray of shape (E,), bool
        Whether a segment is in the gold analysis of its token.
    token : ndarray of shape (X,), int64
        The lattice of each example.
    context : ndarray of shape (X, len(CONTEXT_TEMPLATES)), int32
        Result of `context_places`.
    factor : ndarray of shape (X,), float64
        The weight of each example; the more frequent a token, the smaller.
    """

    lattices: Lattices
    gold: np.ndarray
    token: np.ndarray
    context: np.ndarray
    factor: np.ndarray


@kernel
def _epoch(
    examples: Examples, order: Int64s, segment: Window, pair: Window, weights: Float32s, squares: Float32s
) -> None:
    """Learn from each example once, in the given order."""
    for x in order:
        token = examples.token[x]
        a, b = examples.lattices.first[token], examples.lattices.first[token + 1]
        if b - a > 1:
            graph = _graph(examples.lattices, token, segment, pair, weights)
            _learn_token(graph, examples.gold[a:b], examples.context[x], examples.factor[x], weights, squares)


def learn(examples: Examples, rng: np.random.Generator) -> np.ndarray:
    """Return weights learnt from examples, float32, averaged over the second half of the epochs."""
    weights = np.zeros(1 << BITS, np.float32)
    squares, mean = np.full(len(weights), 1e-6, np.float32), LaterMean([weights], EPOCHS)
    for _ in range(EPOCHS):
        _epoch(examples, rng.permutation(len(examples.token)), _SEGMENT, _PAIR, weights, squares)
        mean.add()
    mean.apply()
    return weights


@kernel
def _best(found: Lattices, segment: Window, pair: Window, weights: Float32s) -> tuple[Float64s, Int64s, Int64s]:
    """Return the margins of `best_paths`, the last segment of each path, and the best one before each, or -1."""
    n_tokens = len(found.first) - 1
    margin, last, back = np.empty(n_tokens), np.empty(n_tokens, np.int64), np.empty(len(found.begin), np.int64)
    for token in range(n_tokens):
        a = found.first[token]
        graph = _graph(found, token, segment, pair, weights)
        n, length = len(graph.score), graph.end.max()
        best, before = np.full(n, -np.inf), back[a : a + n]
        for e in range(n):
            before[e] = -1
            if graph.begin[e] == 0:
                best[e] = graph.score[e]
        for j in range(len(graph.pairs)):
            b, e = graph.pairs[j, 0], graph.pairs[j, 1]
            value = best[b] + graph.pair_score[j] + graph.score[e]
            if value > best[e]:
                best[e], before[e] = value, b
        margin[token], last[token] = -np.inf, 0
        for e in range(1, n):
            if graph.end[e] == length and best[e] - best[0] > margin[token]:
                margin[token], last[token] = best[e] - best[0], e
    return margin, last, back


def best_paths(found: Lattices, weights: np.ndarray) -> tuple[np.ndarray, list[list[int]]]:
    """Return the margin of each token's best analysis into several words over the token as one, and its segments.

    Returns
    -------
    margin : ndarray of shape (T,), float64
        Minus infinity, and no segments, where there is no other analysis.
    paths : list of list of int
        Numbers of segments among those of the token.
    """
    margin, last, back = _best(found, _SEGMENT, _PAIR, weights)
    paths = []
    for first, e in zip(found.first.tolist(), last.tolist(), strict=False):
        path = []
        while e > 0:
            path.append(e)
            e = int(back[first + e])
        paths.append(path[::-1])
    return margin, paths


def context_places(atoms: np.ndarray) -> np.ndarray:
    """Return the indices in the weights of the features of tokens in context, given their attributes `CONTEXT`."""
    padded = np.zeros((len(atoms) + 2 * REACH, len(CONTEXT)), np.uint32)
    padded[REACH:-REACH] = atoms
    places = np.empty((len(atoms), len(CONTEXT_TEMPLATES)), np.int32)
    hash_words(_CONTEXT, padded.reshape(-1), len(CONTEXT), _SHIFT, places)
    return places
