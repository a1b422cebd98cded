"""The linear chain of second order: scores of candidates, pruning by a first-order pass, Viterbi, and the update.

The score of a tag sequence is the sum, over all words, of the weights of each template's hash combined with each part
of the word's tag.  Templates about words alone score single candidates, those about the previous tag score pairs of
neighbouring candidates, and those about two tags score triples.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import share
from nonproj.linear.weights import zero_of
from nonproj.tagging.lexicon import keep_best
from nonproj.tagging.templates import WINDOW, ChainTemplates
from nonproj.tagging.words import FormTable
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, Uint32s


class ChainLabels(Protocol):
    """The labels of a chain: the arrays of a `TagSet`."""

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
        Shares of the templates about two tags, for the previous one and the one before.
    same : ndarray of shape (n_tags + 1, n_same), uint32
        The previous tag's share of the templates about its value of the same attribute, without the value's share.
    same_coefficient : ndarray of shape (n_same,), uint64
    bounds : ndarray of shape (6,), int32
        Beginning of each kind of template, and the end.
    shift : uint32
        Right shift, in bits, that makes a hash a place in the weight table.
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
    """Sentences as rows of `FormTable`: those of sentence ``s`` are ``form[start[s]:start[s + 1]]``."""

    start: np.ndarray
    form: np.ndarray


def make_chain(tags: ChainLabels, table: ChainTemplates, bits: int) -> Chain:
    """Return tags and templates as the kernels read them, for a table of ``2 ** bits`` weights."""
    n_levels = tags.levels.shape[1]
    products = table.levels[:, :, None, :n_levels] * tags.levels.astype(np.uint64)
    shares = (products >> np.uint64(32)).astype(np.uint32).sum(axis=3, dtype=np.uint32)
    _, _, pair, same, triple, _ = table.compiled.bounds
    return Chain(
        tags.unit_start,
        tags.units,
        tags.unit_attribute,
        tags.values,
        np.ascontiguousarray(shares[pair:same, 0].T),
        np.ascontiguousarray(shares[triple:].transpose(1, 2, 0)),
        np.ascontiguousarray(shares[same:triple, 0].T),
        np.ascontiguousarray(table.levels[same:triple, 0, n_levels]),
        np.array(table.compiled.bounds, np.int32),
        np.uint32(32 - bits),
    )


@kernel
def hash_context(words: FormTable, text: FormRows, sentence: int) -> Uint32s:
    """Return the hashes of the templates over each word and its neighbours, uint32[n, n_templates]: sums of shares."""
    shares, form = words.shares, text.form
    first, end = text.start[sentence], text.start[sentence + 1]
    keys = np.empty((end - first, shares.shape[2]), np.uint32)
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
    return keys


class UnitSums(NamedTuple):
    """The distinct parts of a word's candidate tags, each scored once for all candidates that have it.

    Attributes
    ----------
    number : ndarray of shape (n_units,), int32
        The number of each part among the listed ones, from 1; all 0 before the next word is listed.
    unit, attribute : ndarray, uint32 and int32
        The listed parts, as in `Chain`.
    start, which : ndarray of shape (limit + 1,) and int32
        The parts of candidate ``c`` are the numbers ``which[start[c]:start[c + 1]]``, from 0.
    count : ndarray of shape (2,), int64
        Number of listed candidates and parts.
    places : ndarray of shape (n_templates,), uint32
        The places of the templates to sum over, or their hashes where the place depends on the part.
    sums : ndarray, float64
        The sum of the weights of each listed part.
    """

    number: np.ndarray
    unit: np.ndarray
    attribute: np.ndarray
    start: np.ndarray
    which: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # hides that of tuples
    places: np.ndarray
    sums: np.ndarray


@kernel
def new_units(chain: Chain, limit: int) -> UnitSums:
    """Return memory for the parts of up to ``limit`` candidates."""
    last, longest = np.uint32(0), 0
    for unit in chain.units:
        last = max(last, unit)
    for t in range(chain.unit_start.shape[0] - 1):
        longest = max(longest, chain.unit_start[t + 1] - chain.unit_start[t])
    size = limit * longest
    return UnitSums(
        np.zeros(last + 1, np.int32),
        np.empty(size, np.uint32),
        np.empty(size, np.int32),
        np.zeros(limit + 1, np.int32),
        np.empty(size, np.int32),
        np.zeros(2, np.int64),
        np.empty(chain.bounds[5], np.uint32),
        np.empty(size),
    )


@kernel
def list_units(chain: Chain, tags: Int32s, count: int, units: UnitSums) -> None:
    """List the parts of the first ``count`` tags."""
    number, which, n, found = units.number, units.which, 0, 0
    for c in range(count):
        for u in range(chain.unit_start[tags[c]], chain.unit_start[tags[c] + 1]):
            unit = chain.units[u]
            if number[unit] == 0:
                units.unit[found], units.attribute[found] = unit, chain.unit_attribute[u]
                found += 1
                number[unit] = found
            which[n] = number[unit] - 1
            n += 1
        units.start[c + 1] = n
    for k in range(found):
        number[units.unit[k]] = 0
    units.count[0], units.count[1] = count, found


@kernel
def _score_listed(
    chain: Chain, n_places: int, previous: int, units: UnitSums, weights: Float32s | Int16s, scores: Float64s
) -> None:
    """Write the score of each listed candidate, the sum over its parts.

    Each listed part is scored once: by the weights at the first ``n_places`` places and, after a previous tag, by those
    of the templates about that tag's value of the part's attribute.
    """
    places, shift, coefficients = units.places, chain.shift, chain.same_coefficient
    for k in range(units.count[1]):
        unit, attribute, total = units.unit[k], units.attribute[k], zero_of(weights)
        for t in range(n_places):
            total += weights[places[t] ^ unit]
        if previous >= 0 and attribute >= 0:
            value = np.uint64(chain.values[previous, attribute])
            for t in range(coefficients.shape[0]):
                key = np.uint32(places[n_places + t] + share(coefficients[t], value))
                total += weights[(key >> shift) ^ unit]
        units.sums[k] = total
    for c in range(units.count[0]):
        score = 0.0
        for i in range(units.start[c], units.start[c + 1]):
            score += units.sums[units.which[i]]
        scores[c] = score


@kernel
def score_own(
    chain: Chain, words: FormTable, form: int, units: UnitSums, weights: Float32s | Int16s, scores: Float64s
) -> None:
    """Fill the scores of the listed candidates by the templates about the word alone, the prior included."""
    own, shift = words.own[form], chain.shift
    for t in range(own.shape[0]):
        units.places[t] = own[t] >> shift
    _score_listed(chain, own.shape[0], -1, units, weights, scores)
    for c in range(units.count[0]):
        tag, total = words.tag[form, c], zero_of(weights)
        for k in range(words.prior.shape[2]):
            place = words.prior[form, c, k] >> shift
            total += weights[place]
            for u in range(chain.unit_start[tag], chain.unit_start[tag + 1]):
                total += weights[place ^ chain.units[u]]
        scores[c] += total


@kernel
def score_tag_pairs(
    chain: Chain,
    words: FormTable,
    before: int,
    units: UnitSums,
    key: Uint32s,
    weights: Float32s | Int16s,
    scores: Float64s,
) -> None:
    """Fill the scores of the listed candidates after those of the previous word; ``before`` -1 is the beginning."""
    pair, same, triple, skip = chain.bounds[2], chain.bounds[3], chain.bounds[4], chain.bounds[1]
    boundary = chain.values.shape[0] - 1
    for b in range(words.count[before] if before >= 0 else 1):
        previous = words.tag[before, b] if before >= 0 else boundary
        for t in range(same - pair):
            units.places[t] = np.uint32(key[pair - skip + t] + chain.pair_share[previous, t]) >> chain.shift
        for t in range(triple - same):
            units.places[same - pair + t] = np.uint32(key[same - skip + t] + chain.same[previous, t])
        _score_listed(chain, same - pair, previous, units, weights, scores[b])


@kernel
def _score_triples(
    chain: Chain, key: Uint32s, q: int, p: int, units: UnitSums, weights: Float32s | Int16s, scores: Float64s
) -> None:
    """Fill the scores of the listed candidates after two other tags by the templates about two tags."""
    triple, skip = chain.bounds[4], chain.bounds[1]
    for t in range(chain.bounds[5] - triple):
        part = np.uint32(chain.triple_share[0, p, t] + chain.triple_share[1, q, t])
        units.places[t] = np.uint32(key[triple - skip + t] + part) >> chain.shift
    _score_listed(chain, chain.bounds[5] - triple, -1, units, weights, scores)


@kernel
def score_local(
    chain: Chain, key: Uint32s, own: Float64s, units: UnitSums, weights: Float32s | Int16s, scores: Float64s
) -> None:
    """Fill the scores of the listed candidates without regard to other tags; ``own`` are those by the word alone."""
    n_context = chain.bounds[2] - chain.bounds[1]
    for t in range(n_context):
        units.places[t] = key[t] >> chain.shift
    _score_listed(chain, n_context, -1, units, weights, scores)
    for c in range(units.count[0]):
        scores[c] += own[c]


@kernel
def prune_candidates(
    count: Int64s, local: Float64s, pairs: Float64s, threshold: float, limit: int, kept: Int64s, margins: Float64s
) -> Int64s:
    """Keep the candidates whose best first-order sequence is within ``threshold`` of the best; return their counts.

    ``kept[i]`` lists those of word ``i``, best first, and ``margins[i]`` is the difference between its best two.  Here
    and elsewhere loops replace array expressions, whose error messages would take seconds to compile.
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
        margins[i], found = np.inf, False
        for c in range(count[i]):
            if forward[i, c] < best or found:
                margins[i] = min(margins[i], best - forward[i, c])
            found = found or forward[i, c] == best
        # the row of ``backward`` is not needed any more
        left[i] = keep_best(forward[i, : count[i]], best - threshold, kept[i, :limit], backward[i])
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
    units: UnitSums,
) -> Int64s:
    """Return the best sequence of tags: for each word, the index of its tag among its kept candidates, int64[n].

    ``tags[i, k]`` is the tag of candidate ``k`` of word ``i``, ``local[i, k]`` its score by itself, and
    ``pairs[i, j, k]`` its score after candidate ``j`` of word ``i - 1``.
    """
    n, width = tags.shape
    boundary = chain.values.shape[0] - 1
    best, triples = np.full((n, width, width), -np.inf), np.zeros(width)
    back = np.zeros((n, width, width), np.int64)
    for i in range(n):
        several = left[i] > 1 or (i > 0 and left[i - 1] > 1) or (i > 1 and left[i - 2] > 1)
        if several:
            list_units(chain, tags[i], left[i], units)
        for b in range(left[i - 1] if i > 0 else 1):
            p = tags[i - 1, b] if i > 0 else boundary
            for a in range(left[i - 2] if i > 1 else 1):
                before = best[i - 1, a, b] if i > 0 else 0.0
                if several:
                    _score_triples(chain, keys[i], tags[i - 2, a] if i > 1 else boundary, p, units, weights, triples)
                for c in range(left[i]):
                    score = before + triples[c] if several else before
                    if score > best[i, b, c]:
                        best[i, b, c], back[i, b, c] = score, a
            for c in range(left[i]):
                best[i, b, c] = best[i, b, c] + pairs[i, b, c] + local[i, c]
    return _read_path(best, back, left)


@kernel
def _read_path(best: Float64s, back: Int64s, left: Int64s) -> Int64s:
    """Return the best sequence in the tables of `viterbi`."""
    n = left.shape[0]
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
