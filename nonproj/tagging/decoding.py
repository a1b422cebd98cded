"""Decoding of the tags of sentences, and the perceptron's update."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import share
from nonproj.linear.perceptron import AveragedArrays, AveragedWeights, change_weight
from nonproj.tagging.chain import (
    Chain,
    FormRows,
    UnitSums,
    hash_context,
    list_units,
    new_units,
    prune_candidates,
    score_local,
    score_own,
    score_tag_pairs,
    viterbi,
)
from nonproj.tagging.words import FormTable
from nonproj.types import Float32s, Float64s, Int16s, Int32s, Int64s, Uint32s


class Pruning(NamedTuple):
    """Limits of the candidates that the first-order pass leaves.

    Attributes
    ----------
    threshold : float
        Maximum difference between the best sequence with a candidate and the best sequence.
    limit : int
        The largest number of candidates of a word.
    """

    threshold: float
    limit: int


class GoldTags(NamedTuple):
    """The gold tags of a sentence in training.

    Attributes
    ----------
    candidate : ndarray, int32
        The number of each word's gold tag among its candidates; -1 in tagging.
    margin : float
        Added to the score of each wrong tag.
    """

    candidate: np.ndarray
    margin: float


class ChainExamples(NamedTuple):
    """Training data of a chain: its tags and templates, the tables of forms, the sentences, and their gold tags."""

    chain: Chain
    words: FormTable
    text: FormRows
    gold: GoldTags


class Observations(NamedTuple):
    """The input of the decoder for the words of a sentence.

    Attributes
    ----------
    form : ndarray of shape (n,), int32
        The row of each word in `FormTable`.
    keys : ndarray of shape (n, n_templates), uint32
        Hashes of each word's context.
    own : ndarray of shape (n, width), float64
        The score of each candidate by the templates about the word alone.
    """

    form: np.ndarray
    keys: np.ndarray
    own: np.ndarray


@kernel
def score_words(chain: Chain, words: FormTable, weights: Float32s | Int16s) -> Float64s:
    """Return the score of each candidate by the templates about the word alone, float64[n_forms, limit]."""
    forms = np.arange(words.tag.shape[0], dtype=np.int32)
    return _score_forms(chain, words, forms, weights, new_units(chain, words.tag.shape[1]))


@kernel
def _score_forms(
    chain: Chain, words: FormTable, forms: Int32s, weights: Float32s | Int16s, units: UnitSums
) -> Float64s:
    """Return the scores of the candidates of some forms."""
    scores = np.zeros((forms.shape[0], words.tag.shape[1]))
    for i in range(forms.shape[0]):
        list_units(chain, words.tag[forms[i]], words.count[forms[i]], units)
        score_own(chain, words, forms[i], units, weights, scores[i])
    return scores


@kernel
def tag_text(
    chain: Chain, words: FormTable, own: Float64s, text: FormRows, weights: Float32s | Int16s, pruning: Pruning
) -> tuple[Int32s, Float64s]:
    """Return the tag of each word of some sentences, int32, and its margin, float64.

    ``own``, float64[n_words, limit], has the score of each word's candidates by the word alone, from `score_words`.

    The margin is the difference between the best first-order sequences with the best two candidates of the word,
    infinite where there is only one, in the units of the weights.
    """
    n, units = text.form.shape[0], new_units(chain, own.shape[1])
    tags, margins, gold = np.empty(n, np.int32), np.empty(n), GoldTags(np.full(n, np.int32(-1)), 0.0)
    for s in range(text.start.shape[0] - 1):
        first, end = text.start[s], text.start[s + 1]
        if first < end:
            observations = Observations(text.form[first:end], hash_context(words, text, s), own[first:end])
            path = _decode(chain, words, observations, weights, gold, pruning, margins[first:end], units)
            for i in range(first, end):
                tags[i] = words.tag[text.form[i], path[i - first]]
    return tags, margins


def train_text(
    examples: ChainExamples, order: np.ndarray, limit: int, averaged: AveragedWeights, added: Float64s | None = None
) -> int:
    """Train on some sentences in the given order; return the number of wrong tags.

    ``limit`` is that of `Pruning`; ``averaged`` is changed in place.  ``added``, float64[n_words, width], are scores of
    another model, to which those of the chain are added.
    """
    beside = np.empty((0, 0)) if added is None else added
    wrong = int(_train(examples, order, Pruning(1e30, limit), beside, averaged.arrays()))
    averaged.advance(len(order))
    return wrong


@kernel
def _decode(
    chain: Chain,
    words: FormTable,
    observations: Observations,
    weights: Float32s | Int16s,
    gold: GoldTags,
    pruning: Pruning,
    margins: Float64s,
    units: UnitSums,
) -> Int64s:
    """Return the candidate of each word of a sentence in the best sequence, int64[n]; write the margins of
    `prune_candidates`."""
    form, keys, own = observations.form, observations.keys, observations.own
    n, width = form.shape[0], words.tag.shape[1]
    local, pairs = np.empty((n, width)), np.zeros((n, width, width))
    count, kept = np.empty(n, np.int64), np.zeros((n, width), np.int64)
    for i in range(n):
        count[i] = words.count[form[i]]
        list_units(chain, words.tag[form[i]], count[i], units)
        score_local(chain, keys[i], own[i], units, weights, local[i])
        if gold.candidate[i] >= 0:
            for c in range(count[i]):
                local[i, c] += gold.margin if c != gold.candidate[i] else 0.0
        if count[i] > 1 or (i > 0 and count[i - 1] > 1):
            score_tag_pairs(chain, words, form[i - 1] if i > 0 else -1, units, keys[i], weights, pairs[i])
    left = prune_candidates(count, local, pairs, pruning.threshold, pruning.limit, kept, margins)
    limit = pruning.limit
    tags, of_kept, between = np.zeros((n, limit), np.int32), np.zeros((n, limit)), np.zeros((n, limit, limit))
    for i in range(n):
        found = gold.candidate[i] < 0
        for c in range(left[i]):
            found = found or kept[i, c] == gold.candidate[i]
        if not found:
            left[i] = min(left[i] + 1, limit)
            kept[i, left[i] - 1] = gold.candidate[i]
        for c in range(left[i]):
            tags[i, c], of_kept[i, c] = words.tag[form[i], kept[i, c]], local[i, kept[i, c]]
            for b in range(left[i - 1] if i > 0 else 1):
                between[i, b, c] = pairs[i, kept[i - 1, b] if i > 0 else 0, kept[i, c]]
    path = viterbi(chain, keys, tags, left, of_kept, between, weights, units)
    for i in range(n):
        path[i] = kept[i, path[i]]
    return path


@kernel
def _train(examples: ChainExamples, order: Int64s, pruning: Pruning, added: Float64s, averaged: AveragedArrays) -> int:
    """Train on sentences in the given order; return the number of wrong tags."""
    chain, words, text, gold = examples
    weights, total, step = averaged
    wrong, units = 0, new_units(chain, words.tag.shape[1])
    for s in order:
        first, end = text.start[s], text.start[s + 1]
        if first == end:
            continue
        form = text.form[first:end]
        own = _score_forms(chain, words, form, weights, units)
        for i in range(first, min(end, added.shape[0])):
            for c in range(added.shape[1]):
                own[i - first, c] += added[i, c]
        target = GoldTags(gold.candidate[first:end], gold.margin)
        observations = Observations(form, hash_context(words, text, s), own)
        path = _decode(chain, words, observations, weights, target, pruning, np.empty(end - first), units)
        for i in range(end - first):
            wrong += path[i] != target.candidate[i]
        _update(chain, words, observations, target.candidate, path, AveragedArrays(weights, total, step))
        step += 1
    return wrong


@kernel
def _update(
    chain: Chain, words: FormTable, observations: Observations, gold: Int32s, path: Int64s, averaged: AveragedArrays
) -> None:
    """Add the features of the gold sequence and subtract those of the predicted one, where the two differ."""
    form, keys, _ = observations
    n = form.shape[0]
    boundary = chain.values.shape[0] - 1
    tags = np.full((2, n + 2), boundary, np.int64)
    for i in range(n):
        tags[0, i + 2], tags[1, i + 2] = words.tag[form[i], gold[i]], words.tag[form[i], path[i]]
    for i in range(n):
        alone = gold[i] != path[i]
        pair = alone or tags[0, i + 1] != tags[1, i + 1]
        triple = pair or tags[0, i] != tags[1, i]
        for side in range(2):
            sign = np.float32(1.0 - 2.0 * side)
            tag = tags[side, i + 2]
            if alone:
                for prior in words.prior[form[i], path[i] if side else gold[i]]:
                    place = prior >> chain.shift
                    change_weight(averaged.weights, averaged.total, place, sign, averaged.step)
                    _add(chain, prior, tag, sign, averaged)
                for t in range(words.own.shape[1]):
                    _add(chain, words.own[form[i], t], tag, sign, averaged)
                for t in range(chain.bounds[2] - chain.bounds[1]):
                    _add(chain, keys[i, t], tag, sign, averaged)
            if pair:
                _add_pair(chain, keys[i], tags[side, i + 1], tag, sign, averaged)
            if triple:
                for t in range(chain.bounds[5] - chain.bounds[4]):
                    part = chain.triple_share[0, tags[side, i + 1], t] + chain.triple_share[1, tags[side, i], t]
                    key = np.uint32(keys[i, chain.bounds[4] - chain.bounds[1] + t] + part)
                    _add(chain, key, tag, sign, averaged)


@kernel
def _add(chain: Chain, key: int | np.uint32, tag: int, sign: float | np.float32, averaged: AveragedArrays) -> None:
    """Add ``sign`` to the weights of a template's hash combined with each part of a tag."""
    place = key >> chain.shift
    for u in range(chain.unit_start[tag], chain.unit_start[tag + 1]):
        change_weight(averaged.weights, averaged.total, place ^ chain.units[u], sign, averaged.step)


@kernel
def _add_pair(
    chain: Chain, key: Uint32s, previous: int, tag: int, sign: float | np.float32, averaged: AveragedArrays
) -> None:
    """Add ``sign`` to the weights of the templates about the previous tag."""
    pair, same, triple, skip = chain.bounds[2], chain.bounds[3], chain.bounds[4], chain.bounds[1]
    for t in range(same - pair):
        _add(chain, np.uint32(key[pair - skip + t] + chain.pair_share[previous, t]), tag, sign, averaged)
    for t in range(triple - same):
        base = np.uint32(key[same - skip + t] + chain.same[previous, t])
        for u in range(chain.unit_start[tag], chain.unit_start[tag + 1]):
            if chain.unit_attribute[u] >= 0:
                value = np.uint64(chain.values[previous, chain.unit_attribute[u]])
                part = share(chain.same_coefficient[t], value)
                place = (np.uint32(base + part) >> chain.shift) ^ chain.units[u]
                change_weight(averaged.weights, averaged.total, place, sign, averaged.step)
