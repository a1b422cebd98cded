"""Consistent phrase pairs of an aligned corpus, their scores, and the phrase table (Koehn, Och and Marcu 2003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Bools, Int64s

MAX_PHRASE = 7
"""Maximum length of a phrase, in words, on either side."""

BITS = 20
"""Number of bits for the number of a word."""

PRUNING_WEIGHTS = (0.2, 0.2, 0.2, 0.2)
"""Weights of the four scores that rank the entries of a source phrase before the model's weights are known."""


class PhraseTable(NamedTuple):
    """Source phrases as a trie, and their translations.

    Attributes
    ----------
    child : ndarray of int64, ascending
        ``parent << BITS | word`` of each node except the root; node ``i`` is ``child[i - 1]``, the root is node 0.
    entry_start : ndarray of shape (nodes + 1,), int64
        The translations of the phrase that ends in node ``i`` are ``entry_start[i]`` to ``entry_start[i + 1] - 1``.
    target : ndarray of int32
        The target phrase of each translation.
    scores : ndarray of shape (translations, 4), float32
        Log-probabilities: of target given source and source given target, by relative frequency, then word by word.
    target_start : ndarray of int64
        The words of target phrase ``t`` are ``target_words[target_start[t] : target_start[t + 1]]``.
    target_words : ndarray of int32
    """

    child: np.ndarray
    entry_start: np.ndarray
    target: np.ndarray
    scores: np.ndarray
    target_start: np.ndarray
    target_words: np.ndarray

    def find(self, node: int, word: int) -> int:
        """Return the child of a node by a word, 0 if there is none."""
        key = node << BITS | word
        at = int(np.searchsorted(self.child, key))
        return at + 1 if at < len(self.child) and self.child[at] == key else 0

    def words(self, target: int) -> np.ndarray:
        """Return the words of a target phrase."""
        return self.target_words[self.target_start[target] : self.target_start[target + 1]]


@kernel
def _extract(points: Bools, longest: int) -> Int64s:
    """Return the consistent phrase pairs of a sentence pair, int64[P, 4]: first and last words of source and target.

    No point joins a word inside to one outside, and at least one point is inside.
    """
    n, m = points.shape
    found = [(np.int64(0), np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    aligned = np.zeros(m, np.bool_)
    for i in range(n):
        for j in range(m):
            aligned[j] |= points[i, j]
    for first in range(n):
        low, high = m, -1
        for last in range(first, min(first + longest, n)):
            for j in range(m):
                if points[last, j]:
                    low, high = min(low, j), max(high, j)
            if high < 0 or high - low >= longest:
                continue
            outside = 0
            for i in range(n):
                for j in range(low, high + 1):
                    outside += points[i, j] and not first <= i <= last
            if outside > 0:
                continue
            start = low
            while True:
                end = high
                while end < m and end - start < longest:
                    found.append((first, last, start, end))
                    end += 1
                    if end < m and aligned[end]:
                        break
                start -= 1
                if start < 0 or aligned[start] or high - start >= longest:
                    break
    return np.array(found, np.int64).reshape(-1, 4) if len(found) else np.zeros((0, 4), np.int64)


def extract(points: np.ndarray, longest: int = MAX_PHRASE) -> np.ndarray:
    """Return the consistent phrase pairs of a sentence pair: first and last source word, first and last target word.

    Parameters
    ----------
    points : ndarray of shape (source words, target words), bool
    longest : int
        Maximum length of a phrase in words, on either side.

    Returns
    -------
    ndarray of shape (P, 4), int64

    Examples
    --------
    >>> extract(np.array([[1, 0, 0], [0, 0, 1]], bool)).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 2], [1, 1, 2, 2], [1, 1, 1, 2]]
    """
    return _extract(np.ascontiguousarray(points, np.bool_), longest)


def make_table(source, target, points, longest: int = MAX_PHRASE, keep: int = 20) -> PhraseTable:
    """Return the phrase table of an aligned corpus.

    Parameters
    ----------
    source, target : list of list of int
        Word numbers of each sentence pair.
    points : list of ndarray of shape (source words, target words), bool
    longest : int
        Maximum length of a phrase in words, on either side.
    keep : int
        Maximum number of translations kept per source phrase: the best by `PRUNING_WEIGHTS`.
    """
    sides = [np.concatenate([np.asarray(s, np.int64) for s in side]) for side in (source, target)]
    starts = [np.cumsum([0, *map(len, side)]) for side in (source, target)]
    weights = _lexical_weights(source, target, points)
    sums = [np.concatenate([[0.0], np.cumsum(each)]) for each in weights]
    pairs = []
    for k, matrix in enumerate(points):
        found = extract(matrix, longest)
        found[:, :2] += starts[0][k]
        found[:, 2:] += starts[1][k]
        pairs.append(found)
    first, last, low, high = np.concatenate(pairs).T
    child, nodes = _number_phrases(sides[0], starts[0], longest)
    _, targets = _number_phrases(sides[1], starts[1], longest)
    source_id, target_id = nodes[last - first, first], targets[high - low, low]
    lexical = sums[1][high + 1] - sums[1][low], sums[0][last + 1] - sums[0][first]
    entries = _count(source_id, target_id, lexical)
    entries = _prune(entries, keep)
    return _pack(child, entries, sides[1], (target_id, low, high))


def _lexical_weights(source, target, points) -> tuple[np.ndarray, np.ndarray]:
    """Return log-probabilities of each source word given the target words it is aligned with, and vice versa.

    The probability is the mean over these words; an unaligned word is conditioned on null.
    """
    left, right, of = [], [], []
    for s, t, matrix in zip(source, target, points, strict=True):
        i, j = np.nonzero(matrix)
        free_i, free_j = np.nonzero(~matrix.any(1))[0], np.nonzero(~matrix.any(0))[0]
        s, t = np.append(np.asarray(s, np.int64), -1), np.append(np.asarray(t, np.int64), -1)
        i, j = (
            np.concatenate([i, free_i, np.full(len(free_j), -1)]),
            np.concatenate([j, np.full(len(free_i), -1), free_j]),
        )
        left.append(s[i]), right.append(t[j]), of.append(np.stack([i, j]))
    f, e = np.concatenate(left) + 1, np.concatenate(right) + 1
    _, pair, count = np.unique(f << BITS | e, return_inverse=True, return_counts=True)
    joint = count[pair]
    given_target, given_source = joint / np.bincount(e)[e], joint / np.bincount(f)[f]
    of_all = np.concatenate(of, axis=1)
    sizes = [part.shape[1] for part in of]
    found = []
    for side, probability, lengths in ((0, given_target, source), (1, given_source, target)):
        offset = np.repeat(np.cumsum([0, *map(len, lengths)])[:-1], sizes)
        inside = of_all[side] >= 0
        word = (of_all[side] + offset)[inside]
        size = sum(map(len, lengths))
        found.append(np.log(np.bincount(word, probability[inside], size) / np.bincount(word, minlength=size)))
    return found[0], found[1]


def _number_phrases(words: np.ndarray, starts: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the trie of a text's phrases, and the node of each: int64[longest, words], by length - 1 and start."""
    end = np.repeat(starts[1:], np.diff(starts))
    nodes, children, offset = np.zeros((longest, len(words)), np.int64), [], 1
    parent = np.zeros(len(words), np.int64)
    for length in range(1, longest + 1):
        begin = np.nonzero(np.arange(len(words)) + length <= end)[0]
        key = parent[begin] << BITS | words[begin + length - 1]
        child, inverse = np.unique(key, return_inverse=True)
        nodes[length - 1, begin] = parent[begin] = offset + inverse
        children.append(child)
        offset += len(child)
    return np.concatenate(children), nodes


def _count(source: np.ndarray, target: np.ndarray, lexical) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the different phrase pairs, by source phrase, with their four scores."""
    keys, pair, count = np.unique(source << 32 | target, return_inverse=True, return_counts=True)
    f, e = keys >> 32, keys & 0xFFFFFFFF
    scores = np.full((len(keys), 4), -np.inf)
    scores[:, 0] = np.log(count / np.bincount(f, count)[f])
    scores[:, 1] = np.log(count / np.bincount(e, count)[e])
    for column, each in enumerate(lexical):
        np.maximum.at(scores[:, 2 + column], pair, each)
    return f, e, scores


def _prune(entries, keep: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the best entries of each source phrase, best first."""
    f, e, scores = entries
    order = np.lexsort((e, -(scores @ np.array(PRUNING_WEIGHTS)), f))
    f, e, scores = f[order], e[order], scores[order]
    first = np.concatenate([[True], f[1:] != f[:-1]])
    rank = np.arange(len(f)) - np.nonzero(first)[0][np.cumsum(first) - 1]
    return f[rank < keep], e[rank < keep], scores[rank < keep]


def _pack(child: np.ndarray, entries, target_text: np.ndarray, where) -> PhraseTable:
    """Return the table of some entries, without unused trie nodes and target phrases."""
    f, e, scores = entries
    used = np.zeros(len(child) + 1, np.bool_)
    used[f] = True
    parent = child >> BITS
    before = 0
    while used.sum() > before:
        before = used.sum()
        used[parent[used[1:]]] = True
    number = np.cumsum(used) - 1
    kept = child[used[1:]]
    renumbered = number[kept >> BITS] << BITS | kept & ((1 << BITS) - 1)
    per_node = np.bincount(number[f], minlength=int(used.sum()))
    target_id, low, high = where
    ids, example = np.unique(target_id, return_index=True)
    chosen, target = np.unique(e, return_inverse=True)
    example = example[np.searchsorted(ids, chosen)]
    lengths = high[example] - low[example] + 1
    start = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(low[example] - start[:-1], lengths) + np.arange(start[-1])
    return PhraseTable(
        renumbered,
        np.concatenate([[0], np.cumsum(per_node)]).astype(np.int64),
        target.astype(np.int32),
        scores.astype(np.float32),
        start.astype(np.int64),
        target_text[at].astype(np.int32),
    )
