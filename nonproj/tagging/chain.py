"""The linear chain of second order: scores of candidates, pruning by a first-order pass, Viterbi, and the update.

The score of a tag sequence is the sum, over all words, of the weights of each template's hash combined with each part
of the word's tag.  Templates about words alone give a candidate a score of its own, those about the previous tag give
a score to each pair of neighbouring candidates, and those about two tags to each triple.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import share
from nonproj.linear.weights import zero_of
from nonproj.tagging.templates import WINDOW, ChainTemplates
from nonproj.tagging.words import FormTables
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, Uint32s


class ChainLabels(Protocol):
    """What a chain is over: the arrays of a `TagSet`."""

    unit_start: np.ndarray
    units: np.ndarray
    unit_attribute: np.ndarray
    values: np.ndarray
    levels: np.ndarray


class Chain(NamedTuple):
    """Tags and templates as the kernels read them.

    Attributes
    ----------
    unit_start, units, unit_attribute, values : ndarray
        From `TagSet`.
    pair_share : ndarray of shape (n_tags + 1, n_pair), uint32
        The previous tag's share of the hash of each template about it; the last row is the beginning of the sentence.
    triple_share : ndarray of shape (2, n_tags + 1, n_triple), uint32
        The same of the templates about two tags, for the previous one and the one before.
    same : ndarray of shape (n_tags + 1, n_same), uint32
        The previous tag's share of the templates about its value of the same attribute, without that value's.
    same_coefficient : ndarray of shape (n_same,), uint64
    bounds : ndarray of shape (6,), int32
        Where each kind of template begins, and the end.
    shift : uint32
        Bits of a hash that are not part of a place in the weight table.
    """

    unit_start: np.ndarray
    units: np.ndarray
    unit_attribute: np.ndarray
    values: np.ndarray
    pair_share: np.ndarray
    triple_share: np.ndarray
    same: np.ndarray
    same_coefficient: np.ndarray
    bounds: np.ndarray
    shift: np.uint32


class FormRows(NamedTuple):
    """Sentences as rows of `FormTables`: those of sentence ``s`` are ``form[start[s]:start[s + 1]]``."""

    start: np.ndarray
    form: np.ndarray


def make_chain(tags: ChainLabels, table: ChainTemplates, bits: int) -> Chain:
    """Return tags and templates as the kernels read them, for a table of ``2 ** bits`` weights."""
    n_levels = tags.levels.shape[1]
    products = table.levels[:, :, None, :n_levels] * tags.levels.astype(np.uint64)
    shares = (products >> np.uint64(32)).astype(np.uint32).sum(axis=3, dtype=np.uint32)
    _, _, pair, same, triple, _ = table.bounds
    return Chain(
        tags.unit_start,
        tags.units,
        tags.unit_attribute,
        tags.values,
        np.ascontiguousarray(shares[pair:same, 0].T),
        np.ascontiguousarray(shares[triple:].transpose(1, 2, 0)),
        np.ascontiguousarray(shares[same:triple, 0].T),
        np.ascontiguousarray(table.levels[same:triple, 0, n_levels]),
        np.array(table.bounds, np.int32),
        np.uint32(32 - bits),
    )


@kernel
def hash_context(words: FormTables, text: FormRows, sentence: int, keys: Uint32s) -> None:
    """Sum the shares of the words around each word of a sentence."""
    shares, form = words.shares, text.form
    first, end = text.start[sentence], text.start[sentence + 1]
    for i in range(first, end):
        row = keys[i - first]
        here = shares[form[i], WINDOW]
        for t in range(row.shape[0]):
            row[t] = here[t]
        for offset in range(-WINDOW, WINDOW + 1):
            if offset != 0:
                j = i + offset
                there = shares[form[j] if first <= j < end else 0, WINDOW + offset]
                for t in range(row.shape[0]):
                    row[t] = np.uint32(row[t] + there[t])


@kernel
def _sum_units(
    weights: Float32s | Int16s, place: int | np.uint32, units: Uint32s, first: int, end: int, total: float
) -> float:
    """Add the weights at a place, combined with each part of a tag."""
    for u in range(first, end):
        total += weights[place ^ units[u]]
    return total


@kernel
def score_own(chain: Chain, words: FormTables, form: int, c: int, weights: Float32s | Int16s) -> float:
    """Return the score of a candidate by the templates about the word alone, the prior included."""
    tag, own, shift = words.tag[form, c], words.own[form], chain.shift
    first, end = chain.unit_start[tag], chain.unit_start[tag + 1]
    total = zero_of(weights)
    for k in range(words.prior.shape[2]):
        total += weights[words.prior[form, c, k] >> shift]
        total = _sum_units(weights, words.prior[form, c, k] >> shift, chain.units, first, end, total)
    for t in range(own.shape[0]):
        total = _sum_units(weights, own[t] >> shift, chain.units, first, end, total)
    return total


@kernel
def score_tag_pairs(
    chain: Chain,
    words: FormTables,
    before: int,
    here: int,
    key: Uint32s,
    weights: Float32s | Int16s,
    scores: Float64s,
) -> None:
    """Fill the scores of the candidates of one word after those of the previous one; ``before`` -1 is the beginning."""
    pair, same, triple = chain.bounds[2], chain.bounds[3], chain.bounds[4]
    skip, shift, units, attributes = chain.bounds[1], chain.shift, chain.units, chain.unit_attribute
    boundary = chain.values.shape[0] - 1
    for b in range(words.count[before] if before >= 0 else 1):
        previous = words.tag[before, b] if before >= 0 else boundary
        for c in range(words.count[here]):
            tag, total = words.tag[here, c], zero_of(weights)
            first, end = chain.unit_start[tag], chain.unit_start[tag + 1]
            for t in range(same - pair):
                place = np.uint32(key[pair - skip + t] + chain.pair_share[previous, t]) >> shift
                total = _sum_units(weights, place, units, first, end, total)
            for t in range(triple - same):
                base = np.uint32(key[same - skip + t] + chain.same[previous, t])
                for u in range(first, end):
                    if attributes[u] >= 0:
                        value = np.uint64(chain.values[previous, attributes[u]])
                        part = share(chain.same_coefficient[t], value)
                        total += weights[(np.uint32(base + part) >> shift) ^ units[u]]
            scores[b, c] = total


@kernel
def score_triple(chain: Chain, key: Uint32s, q: int, p: int, tag: int, weights: Float32s | Int16s) -> float:
    """Return the score of a tag after two others by the templates about two tags."""
    triple, skip, shift = chain.bounds[4], chain.bounds[1], chain.shift
    first, end, total = chain.unit_start[tag], chain.unit_start[tag + 1], zero_of(weights)
    for t in range(chain.bounds[5] - triple):
        part = np.uint32(chain.triple_share[0, p, t] + chain.triple_share[1, q, t])
        place = np.uint32(key[triple - skip + t] + part) >> shift
        total = _sum_units(weights, place, chain.units, first, end, total)
    return total


@kernel
def score_local(
    chain: Chain,
    words: FormTables,
    form: int,
    key: Uint32s,
    own: Float64s,
    weights: Float32s | Int16s,
    scores: Float64s,
) -> None:
    """Fill the scores of a word's candidates without regard to other tags; ``own`` are those by the word alone."""
    context, pair, skip, shift = chain.bounds[1], chain.bounds[2], chain.bounds[1], chain.shift
    for c in range(words.count[form]):
        tag, total = words.tag[form, c], zero_of(weights)
        first, end = chain.unit_start[tag], chain.unit_start[tag + 1]
        for t in range(context, pair):
            total = _sum_units(weights, key[t - skip] >> shift, chain.units, first, end, total)
        scores[c] = own[c] + total


@kernel
def prune_candidates(
    count: Int64s,
    local: Float64s,
    pairs: Float64s,
    threshold: float,
    limit: int,
    kept: Int64s,
    margins: Float64s,
) -> Int64s:
    """Keep the candidates whose best first-order sequence is nearly as good as the best of all; return their numbers.

    ``kept[i]`` lists those of word ``i``, best first; ``margins[i]`` is the difference between the best two.  Here and
    elsewhere loops take the place of array expressions, whose error messages would take seconds to compile.
    """
    n, width = local.shape
    forward, backward = np.empty((n, width)), np.zeros((n, width))
    left = np.empty(n, np.int64)
    for i in range(n):
        for c in range(count[i]):
            best = -np.inf
            for b in range(count[i - 1] if i > 0 else 1):
                best = max(best, pairs[i, b, c] + (forward[i - 1, b] if i > 0 else 0.0))
            forward[i, c] = best + local[i, c]
    for i in range(n - 2, -1, -1):
        for b in range(count[i]):
            best = -np.inf
            for c in range(count[i + 1]):
                best = max(best, pairs[i + 1, b, c] + local[i + 1, c] + backward[i + 1, c])
            backward[i, b] = best
    for i in range(n):
        best = -np.inf
        for c in range(count[i]):
            forward[i, c] += backward[i, c]
            best = max(best, forward[i, c])
        lowest = best - threshold
        left[i] = 0
        margins[i], found = np.inf, False
        for c in range(count[i]):
            x = forward[i, c]
            if x < best or found:
                margins[i] = min(margins[i], best - x)
            found = found or x == best
            if x >= lowest and (left[i] < limit or x > forward[i, kept[i, limit - 1]]):
                k = left[i] if left[i] < limit else limit - 1
                while k > 0 and forward[i, kept[i, k - 1]] < x:
                    kept[i, k] = kept[i, k - 1]
                    k -= 1
                kept[i, k] = c
                left[i] = min(left[i] + 1, limit)
    return left


@kernel
def viterbi(
    chain: Chain,
    keys: Uint32s,
    tags: Int32s,
    left: Int64s,
    local: Float64s,
    pairs: Float64s,
    weights: Float32s | Int16s,
) -> Int64s:
    """Return the best sequence of the kept candidates: their places among these, int64[n].

    ``tags[i, k]`` is the tag of the kept candidate ``k`` of word ``i``; ``local[i, k]`` and ``pairs[i, j, k]`` are its
    scores.
    """
    n, width = tags.shape
    boundary = chain.values.shape[0] - 1
    best = np.empty((n, width, width))
    back = np.zeros((n, width, width), np.int64)
    for i in range(n):
        several = left[i] > 1 or (i > 0 and left[i - 1] > 1) or (i > 1 and left[i - 2] > 1)
        for c in range(left[i]):
            for b in range(left[i - 1] if i > 0 else 1):
                p = tags[i - 1, b] if i > 0 else boundary
                top = -np.inf
                for a in range(left[i - 2] if i > 1 else 1):
                    q = tags[i - 2, a] if i > 1 else boundary
                    score = best[i - 1, a, b] if i > 0 else 0.0
                    if several:
                        score += score_triple(chain, keys[i], q, p, tags[i, c], weights)
                    if score > top:
                        top, back[i, b, c] = score, a
                best[i, b, c] = top + pairs[i, b, c] + local[i, c]
    top, path = -np.inf, np.zeros(n, np.int64)
    for c in range(left[n - 1]):
        for b in range(left[n - 2] if n > 1 else 1):
            if best[n - 1, b, c] > top:
                top, path[n - 1] = best[n - 1, b, c], c
                if n > 1:
                    path[n - 2] = b
    for i in range(n - 1, 1, -1):
        path[i - 2] = back[i, path[i - 1], path[i]]
    return path
