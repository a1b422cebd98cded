"""Candidate tags of each word with all scores of the chain, for decoding together with something else."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.tagging.chain import (
    Chain,
    FormRows,
    hash_context,
    list_units,
    new_units,
    prune_candidates,
    score_local,
    score_tag_pairs,
    score_triples,
)
from nonproj.tagging.decoding import Pruning
from nonproj.tagging.tagger import EncodedWords, Tagger
from nonproj.tagging.words import FormTable
from nonproj.types import Float64s, Int16s


class TagChain(NamedTuple):
    """The candidate tags of a sentence, and the scores of all sequences of them up to a constant.

    Attributes
    ----------
    count : ndarray of shape (n,), int64
        Candidates of each word, at most K.
    tags : ndarray of shape (n, K), int32
        Their numbers in `nonproj.tagging.tagset.TagSet.tags`.
    own : ndarray of shape (n, K), float64
        The score of each candidate by the words around it.
    pair : ndarray of shape (n, K, K), float64
        ``pair[i, b, c]``: of candidate ``c`` of word ``i`` after ``b`` of word ``i - 1``; ``b`` is 0 at the first word.
    triple : ndarray of shape (n, K, K, K), float64
        ``triple[i, a, b, c]``: the same after ``a`` of word ``i - 2``.
    """

    count: np.ndarray  # type: ignore[assignment]  # hides that of tuples
    tags: np.ndarray
    own: np.ndarray
    pair: np.ndarray
    triple: np.ndarray


def tag_chains(
    tagger: Tagger, keys: list[Any], lengths: list[int], encoded: EncodedWords | None = None
) -> list[TagChain]:
    """Return the candidates that the tagger's own first-order pass leaves, with their scores.

    The best sequence of a chain is what `Tagger.tag_with_margins` returns; for the parameters see there.
    """
    forms, rows = tagger.look_up(keys)
    weights, found, begin = tagger.weights, [], 0
    for length in lengths:
        n, k = length, tagger.pruning.limit
        shapes = (n,), (n, k), (n, k), (n, k, k), (n, k, k, k)
        chain = TagChain(*(np.zeros(shape, kind) for shape, kind in zip(shapes, _KINDS, strict=True)))
        text = FormRows(np.array([0, n]), rows[begin : begin + n])
        own = tagger.score(forms, text, encoded and (encoded[0], encoded[1][begin : begin + n]))
        _fill_chain(tagger.chain, forms.words, own, text, weights, tagger.pruning, chain)
        begin += n
        width = int(chain.count.max(initial=1))
        scores = [array * tagger.scale for array in chain[2:]]
        cut = scores[0][:, :width], scores[1][:, :width, :width], scores[2][:, :width, :width, :width]
        found.append(TagChain(chain.count, chain.tags[:, :width], *(np.ascontiguousarray(array) for array in cut)))
    return found


_KINDS = (np.int64, np.int32, np.float64, np.float64, np.float64)


@kernel
def _fill_chain(
    chain: Chain, words: FormTable, own: Float64s, text: FormRows, weights: Int16s, pruning: Pruning, found: TagChain
) -> None:
    """Fill the candidates of a sentence and their scores, as `nonproj.tagging.decoding._decode` computes them."""
    form, width = text.form, words.tag.shape[1]
    n = form.shape[0]
    keys = hash_context(words, text, 0)
    local, pairs = np.empty((n, width)), np.zeros((n, width, width))
    count, kept = np.empty(n, np.int64), np.zeros((n, width), np.int64)
    boundary, units = chain.values.shape[0] - 1, new_units(chain, width)
    for i in range(n):
        count[i] = words.count[form[i]]
        list_units(chain, words.tag[form[i]], count[i], units)
        score_local(chain, keys[i], own[i], units, weights, local[i])
        if count[i] > 1 or (i > 0 and count[i - 1] > 1):
            score_tag_pairs(chain, words, form[i - 1] if i > 0 else -1, units, keys[i], weights, pairs[i])
    left = prune_candidates(count, local, pairs, pruning.threshold, pruning.limit, kept, np.empty(n))
    for i in range(n):
        found.count[i] = left[i]
        several = left[i] > 1 or (i > 0 and left[i - 1] > 1) or (i > 1 and left[i - 2] > 1)
        for c in range(left[i]):
            found.tags[i, c], found.own[i, c] = words.tag[form[i], kept[i, c]], local[i, kept[i, c]]
        list_units(chain, found.tags[i], left[i], units)
        for b in range(left[i - 1] if i > 0 else 1):
            for c in range(left[i]):
                found.pair[i, b, c] = pairs[i, kept[i - 1, b] if i > 0 else 0, kept[i, c]]
            p = found.tags[i - 1, b] if i > 0 else boundary
            for a in range(left[i - 2] if several and i > 1 else int(several)):
                q = found.tags[i - 2, a] if i > 1 else boundary
                score_triples(chain, keys[i], q, p, units, weights, found.triple[i, a, b])
