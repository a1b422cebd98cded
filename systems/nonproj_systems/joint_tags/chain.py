"""The tagger's part of the joint problem: the best sequence of candidate tags, and their max-marginals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.parts.arcs import as_array
from nonproj.types import Float64s, Int32s


class ChainScores(NamedTuple):
    """Scores of tags as a chain of second order, float64; candidates of a word count from 0, and the root has one.

    Attributes
    ----------
    own : ndarray of shape (W,)
        Score of each tagged word, 0 for the root.
    pair : ndarray of shape (N, K, K)
        ``pair[i, b, c]``: candidate ``c`` of word ``i`` after candidate ``b`` of word ``i - 1``.
    triple : ndarray of shape (N, K, K, K)
        ``triple[i, a, b, c]``: the same after candidate ``a`` of word ``i - 2``; 0 stands for it where there is none.
    """

    own: np.ndarray
    pair: np.ndarray
    triple: np.ndarray


@kernel
def new_chain_table(chain: ChainScores) -> tuple[Float64s, Int32s]:
    """Return arrays for `best_tags`: values float64[N, K, K] and the candidates before them, int32."""
    n_nodes, width = chain.pair.shape[0], chain.pair.shape[1]
    return np.zeros((n_nodes, width, width)), np.zeros((n_nodes, width, width), np.int32)


@kernel
def best_tags(chain: ChainScores, own: Float64s, first: Int32s, table: tuple[Float64s, Int32s], tags: Int32s) -> float:
    """Write the best candidate of each word, int32[N]; return the score of the sequence.

    ``own`` float64[W] replaces ``chain.own``.  Ties go to the lowest candidates.
    """
    best, back = table
    pair, triple, n_nodes = chain.pair, chain.triple, tags.shape[0]
    best[0, 0, 0] = 0.0
    tags[0] = 0
    for i in range(1, n_nodes):
        before = first[i - 2] if i > 1 else 0
        for c in range(first[i + 1] - first[i]):
            for b in range(first[i] - first[i - 1]):
                top = -np.inf
                for a in range(first[i - 1] - before if i > 1 else 1):
                    value = best[i - 1, a, b] + triple[i, a, b, c]
                    if value > top:
                        top, back[i, b, c] = value, a
                best[i, b, c] = top + pair[i, b, c] + own[first[i] + c]
    if n_nodes == 1:
        return 0.0
    top, last = -np.inf, n_nodes - 1
    for c in range(first[last + 1] - first[last]):
        for b in range(first[last] - first[last - 1]):
            if best[last, b, c] > top:
                top = best[last, b, c]
                tags[last - 1], tags[last] = b, c
    for i in range(last, 1, -1):
        tags[i - 2] = back[i, tags[i - 1], tags[i]]
    return top


@kernel
def tag_score(chain: ChainScores, first: Int32s, tags: Int32s) -> float:
    """Return the score of a sequence of candidates, int32[N], as a chain."""
    total = 0.0
    for i in range(1, tags.shape[0]):
        total += chain.own[first[i] + tags[i]] + chain.pair[i, tags[i - 1], tags[i]]
        total += chain.triple[i, tags[i - 2] if i > 1 else 0, tags[i - 1], tags[i]]
    return total


def max_marginals(chain: ChainScores, first: np.ndarray) -> np.ndarray:
    """Return the score of the best sequence through each tagged word, float64[W].

    Parameters
    ----------
    chain : ChainScores
    first : ndarray of shape (N + 1,), int32
        First candidate of each word.

    Notes
    -----
    Viterbi forward and backward over pairs of neighbouring candidates, O(n K^3).

    Examples
    --------
    >>> first = np.array([0, 1, 3], np.int32)
    >>> chain = ChainScores(np.array([0.0, 1.0, 2.0]), np.zeros((2, 2, 2)), np.zeros((2, 2, 2, 2)))
    >>> max_marginals(chain, first)
    array([2., 1., 2.])
    """
    found = np.empty(len(chain.own))
    _max_marginals(chain, chain.own, as_array(first, np.int32), found)
    return found


def prune_chain(chain: ChainScores, first: np.ndarray, gap: float, limit: int) -> tuple[np.ndarray, ChainScores]:
    """Keep the candidates whose best sequence is at most ``gap`` worse than the best of all, at most ``limit`` a word.

    Parameters
    ----------
    chain, first
        As for `max_marginals`.
    gap : float
    limit : int

    Returns
    -------
    kept : ndarray of shape (N, K), int32
        The candidates of each word that remain: first that of the best sequence, then by max-marginal; -1 after them.
    chain : ChainScores
        The scores over these.

    Examples
    --------
    >>> first = np.array([0, 1, 4], np.int32)
    >>> chain = ChainScores(np.array([0.0, 1.0, 2.0, -3.0]), np.zeros((2, 3, 3)), np.zeros((2, 3, 3, 3)))
    >>> prune_chain(chain, first, 2.0, 2)[0].tolist()
    [[0, -1], [1, 0]]
    """
    first = as_array(first, np.int32)
    kept = np.full((len(first) - 1, limit), -1, np.int32)
    width = _select(chain, first, max_marginals(chain, first), float(gap), kept)
    kept = np.ascontiguousarray(kept[:, :width])
    n_nodes, size = len(kept), int((kept >= 0).sum())
    shapes = (size,), (n_nodes, width, width), (n_nodes, width, width, width)
    fewer = ChainScores(*(np.zeros(shape) for shape in shapes))
    _gather(chain, first, kept, fewer)
    return kept, fewer


def smoothed_tags(
    chain: ChainScores, own: np.ndarray, first: np.ndarray, temperature: float
) -> tuple[float, np.ndarray]:
    """Return ``T log(sum(exp(score / T)))`` over all sequences, and its gradient by ``own``, without the root.

    ``own`` float64[W] replaces ``chain.own``.

    Examples
    --------
    >>> first = np.array([0, 1, 3], np.int32)
    >>> chain = ChainScores(np.zeros(3), np.zeros((2, 2, 2)), np.zeros((2, 2, 2, 2)))
    >>> value, marginals = smoothed_tags(chain, chain.own, first, 1.0)
    >>> round(value, 3), marginals.tolist()
    (0.693, [0.5, 0.5])
    """
    n_nodes, width = chain.pair.shape[:2]
    scores = np.full((n_nodes, width), -np.inf)
    scores[np.arange(width) < np.diff(first)[:, None]] = own
    scores, join = scores / temperature, np.logaddexp.reduce
    # totals[i, a, b, c]: what candidate c of word i adds after candidates a and b of the two words before it.
    totals = (chain.triple + chain.pair[:, None]) / temperature + scores[:, None, None, :]
    forward, backward = np.full((n_nodes, width, width), -np.inf), np.zeros((n_nodes, width, width))
    forward[0, 0, 0] = 0.0
    for i in range(1, n_nodes):
        forward[i] = join(forward[i - 1][:, :, None] + totals[i], axis=0)
    for i in range(n_nodes - 1, 0, -1):
        backward[i - 1] = join(totals[i] + backward[i], axis=2)
    through = (forward + backward).reshape(n_nodes, -1)
    value = float(join(through[-1]))
    marginals = np.exp(forward + backward - value).sum(axis=1)
    return temperature * value, marginals[1:][np.arange(width) < np.diff(first)[1:, None]]


@kernel
def _select(chain: ChainScores, first: Int32s, marginals: Float64s, gap: float, kept: Int32s) -> int:
    """Write the candidates to keep; return the largest number of a word."""
    n_nodes, limit = kept.shape
    path = np.empty(n_nodes, np.int32)
    best_tags(chain, chain.own, first, new_chain_table(chain), path)
    width = 1
    for i in range(n_nodes):
        lowest, count = marginals[first[i] + path[i]] - gap, 1
        kept[i, 0] = path[i]
        for c in range(first[i + 1] - first[i]):
            value = marginals[first[i] + c]
            if c != path[i] and value >= lowest and (count < limit or value > marginals[first[i] + kept[i, count - 1]]):
                k = count if count < limit else count - 1
                if k == 0:
                    continue
                while k > 1 and marginals[first[i] + kept[i, k - 1]] < value:
                    kept[i, k] = kept[i, k - 1]
                    k -= 1
                kept[i, k] = c
                count = min(count + 1, limit)
        width = max(width, count)
    return width


@kernel
def _gather(chain: ChainScores, first: Int32s, kept: Int32s, fewer: ChainScores) -> None:
    """Write the scores over the kept candidates."""
    n_nodes, width = kept.shape
    e = 0
    for i in range(n_nodes):
        for c in range(width):
            if kept[i, c] < 0:
                break
            fewer.own[e] = chain.own[first[i] + kept[i, c]]
            e += 1
            for b in range(width if i > 0 else 0):
                p = kept[i - 1, b]
                if p < 0:
                    break
                fewer.pair[i, b, c] = chain.pair[i, p, kept[i, c]]
                for a in range(width):
                    q = (kept[i - 2, a] if i > 1 else 0) if a == 0 or i > 1 else -1
                    if q < 0:
                        break
                    fewer.triple[i, a, b, c] = chain.triple[i, q, p, kept[i, c]]


@kernel
def _max_marginals(chain: ChainScores, own: Float64s, first: Int32s, found: Float64s) -> None:
    """Write the score of the best sequence through each tagged word."""
    pair, triple, n_nodes = chain.pair, chain.triple, chain.pair.shape[0]
    table = new_chain_table(chain)
    before, tags = table[0], np.empty(n_nodes, np.int32)
    best_tags(chain, own, first, table, tags)
    after = np.zeros(before.shape)  # after[i, b, c]: the best of what follows candidates b and c of words i - 1 and i
    found[:] = -np.inf
    if n_nodes == 1:
        found[:] = 0.0
    for i in range(n_nodes - 1, 0, -1):
        for b in range(first[i] - first[i - 1]):
            for c in range(first[i + 1] - first[i]):
                if i < n_nodes - 1:
                    top = -np.inf
                    for d in range(first[i + 2] - first[i + 1]):
                        value = triple[i + 1, b, c, d] + pair[i + 1, c, d] + own[first[i + 1] + d]
                        top = max(top, value + after[i + 1, c, d])
                    after[i, b, c] = top
                through = before[i, b, c] + after[i, b, c]
                found[first[i] + c] = max(found[first[i] + c], through)
                found[first[i - 1] + b] = max(found[first[i - 1] + b], through)
