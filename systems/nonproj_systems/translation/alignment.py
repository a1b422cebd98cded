"""Word alignments by IBM model 1 and a hidden Markov model (Brown et al. 1993; Vogel, Ney and Tillmann 1996).

Each word of one side is emitted by a word of the other, given side, or by null.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int32s, Int64s

NULL = 0.2
"""Probability that a word is emitted by null, in the hidden Markov model."""

WIDTH = 40
"""Maximum length of a jump, in words, with a probability of its own; longer ones share one."""

UNIFORM_SHARE = 0.05
"""Weight of the uniform distribution in the distribution of jumps."""


class Corpus(NamedTuple):
    """Sentence pairs and the word pairs that occur in them.

    Attributes
    ----------
    n_given, n_emitted : ndarray of shape (K,), int64
        Lengths of the two sides of each pair.
    start : ndarray of shape (K + 1,), int64
        The entries of pair ``k`` are ``entry[start[k] : start[k + 1]]``, row by row: for each emitted word its entries
        with null and with each given word.
    entry : ndarray of int32
        Numbers of the T different word pairs.
    given_of : ndarray of shape (T,), int64
        The given word of each word pair, 0 for null.
    """

    n_given: np.ndarray
    n_emitted: np.ndarray
    start: np.ndarray
    entry: np.ndarray
    given_of: np.ndarray


def make_corpus(given: list[list[int]], emitted: list[list[int]]) -> Corpus:
    """Return the word pairs of sentence pairs; word 0 stands for null.

    Examples
    --------
    >>> corpus = make_corpus([[1, 2], [1]], [[5], [5, 6]])
    >>> corpus.entry.tolist(), corpus.given_of.tolist()
    ([0, 2, 4, 0, 2, 1, 3], [0, 0, 1, 1, 2])
    """
    keys, step = [], 1 + max(max(side, default=0) for side in emitted)
    for g, e in zip(given, emitted, strict=True):
        keys.append((np.array([0, *g], np.int64)[None, :] * step + np.array(e, np.int64)[:, None]).ravel())
    pairs, entry = np.unique(np.concatenate(keys), return_inverse=True)
    start = np.cumsum([0, *map(len, keys)])
    lengths = np.array(list(map(len, given)), np.int64), np.array(list(map(len, emitted)), np.int64)
    return Corpus(*lengths, start.astype(np.int64), entry.astype(np.int32), pairs // step)


def align(corpus: Corpus, model1_iterations: int = 5, hmm_iterations: int = 5) -> list[np.ndarray]:
    """Return the best alignment of each pair: for each emitted word the position of its given word, -1 for none.

    Expectation maximisation of model 1 from uniform probabilities, then of the hidden Markov model.
    """
    table, jumps = train_model1(corpus, model1_iterations), np.ones(2 * WIDTH + 1)
    for _ in range(hmm_iterations):
        counts, jump_counts, _ = hmm_expectations(corpus, table, jumps)
        table, jumps = normalize(corpus, counts), estimate_jumps(jump_counts)
    return [_best_path(*_pair(corpus, k), table, jumps) for k in range(len(corpus.n_given))]


def normalize(corpus: Corpus, counts: np.ndarray) -> np.ndarray:
    """Return the probability of each emitted word given its given word, from expected counts."""
    total = np.bincount(corpus.given_of, counts)
    return counts / np.maximum(total, 1e-300)[corpus.given_of]


def estimate_jumps(counts: np.ndarray) -> np.ndarray:
    """Return weights of jumps from their expected counts, smoothed, with mean 1."""
    return (1 - UNIFORM_SHARE) * counts / counts.mean() + UNIFORM_SHARE


def train_model1(corpus: Corpus, iterations: int) -> np.ndarray:
    """Return the word probabilities of model 1."""
    table = np.ones(len(corpus.given_of))
    for _ in range(iterations):
        table = normalize(corpus, _model1_counts(corpus, table))
    return table


@kernel
def _model1_counts(corpus: Corpus, table: Float64s) -> Float64s:
    """Return the expected counts of word pairs in model 1."""
    counts = np.zeros(len(table))
    for k in range(len(corpus.n_given)):
        size, at = corpus.n_given[k] + 1, corpus.start[k]
        for _ in range(corpus.n_emitted[k]):
            total = 0.0
            for i in range(at, at + size):
                total += table[corpus.entry[i]]
            for i in range(at, at + size):
                counts[corpus.entry[i]] += table[corpus.entry[i]] / max(total, 1e-300)
            at += size
    return counts


def _pair(corpus: Corpus, k: int) -> tuple[int, int, np.ndarray]:
    """Return lengths and entries of a pair."""
    return corpus.n_given[k], corpus.n_emitted[k], corpus.entry[corpus.start[k] : corpus.start[k + 1]]


def hmm_expectations(corpus: Corpus, table: np.ndarray, jumps: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return expected counts of word pairs and of jumps in the hidden Markov model, and the log-likelihood."""
    counts, jump_counts = np.zeros(len(table)), np.zeros(len(jumps))
    likelihood = _add_expectations(corpus, table, jumps, counts, jump_counts)
    return counts, jump_counts, likelihood


@kernel
def _transitions(size: int, jumps: Float64s) -> Float64s:
    """Return the probabilities of moving from each position, 0 (before the sentence) to ``size``, to each word."""
    found = np.zeros((size + 1, size + 1))
    for i in range(size + 1):
        total = 0.0
        for j in range(1, size + 1):
            found[i, j] = jumps[min(max(j - i, -WIDTH), WIDTH) + WIDTH]
            total += found[i, j]
        for j in range(1, size + 1):
            found[i, j] *= (1.0 - NULL) / total
    return found


@kernel
def _forward(
    n: int, m: int, entries: Int32s, table: Float64s, transition: Float64s
) -> tuple[Float64s, Float64s, Float64s]:
    """Return scaled forward probabilities: word states, null states by last position, scale of each emitted word."""
    word, null, scale = np.zeros((m, n + 1)), np.zeros((m, n + 1)), np.zeros(m)
    before = np.zeros(n + 1)
    before[0] = 1.0
    for j in range(m):
        row = j * (n + 1)
        for i in range(n + 1):
            null[j, i] = before[i] * NULL * table[entries[row]]
            if before[i] > 0.0:
                for to in range(1, n + 1):
                    word[j, to] += before[i] * transition[i, to]
        for i in range(1, n + 1):
            word[j, i] *= table[entries[row + i]]
        scale[j] = max(word[j].sum() + null[j].sum(), 1e-300)
        word[j] /= scale[j]
        null[j] /= scale[j]
        before = word[j] + null[j]
    return word, null, scale


@kernel
def _add_expectations(
    corpus: Corpus, table: Float64s, jumps: Float64s, counts: Float64s, jump_counts: Float64s
) -> float:
    """Add the expected counts of all pairs; return the log-likelihood."""
    likelihood = 0.0
    for k in range(len(corpus.n_given)):
        n, m = corpus.n_given[k], corpus.n_emitted[k]
        entries, transition = corpus.entry[corpus.start[k] : corpus.start[k + 1]], _transitions(n, jumps)
        word, null, scale = _forward(n, m, entries, table, transition)
        likelihood += np.log(scale).sum()
        after = np.ones(n + 1)  # scaled backward probabilities, the same for a word and null after it
        for j in range(m - 1, -1, -1):
            row, ahead = j * (n + 1), after
            for i in range(n + 1):
                counts[entries[row]] += null[j, i] * ahead[i]
                if i > 0:
                    counts[entries[row + i]] += word[j, i] * ahead[i]
            after = np.zeros(n + 1)
            for i in range(n + 1):
                before = 1.0 if i == 0 and j == 0 else 0.0
                if j > 0:
                    before = word[j - 1, i] + null[j - 1, i]
                after[i] = NULL * table[entries[row]] * ahead[i] / scale[j]
                for to in range(1, n + 1):
                    share = transition[i, to] * table[entries[row + to]] * ahead[to] / scale[j]
                    after[i] += share
                    jump_counts[min(max(to - i, -WIDTH), WIDTH) + WIDTH] += before * share
    return likelihood


@kernel
def _best_path(n: int, m: int, entries: Int32s, table: Float64s, jumps: Float64s) -> Int64s:
    """Return the most probable alignment of a pair, int64[m]; -1 for null."""
    transition = np.log(np.maximum(_transitions(n, jumps), 1e-300))
    score = np.full(2 * n + 2, -np.inf)  # word states 0 to n, then null states by last position
    score[0] = 0.0
    back = np.zeros((m, 2 * n + 2), np.int64)
    for j in range(m):
        row, new = j * (n + 1), np.full(2 * n + 2, -np.inf)
        for i in range(n + 1):
            source = i if score[i] >= score[n + 1 + i] else n + 1 + i
            if score[source] == -np.inf:
                continue
            new[n + 1 + i] = score[source] + np.log(max(NULL * table[entries[row]], 1e-300))
            back[j, n + 1 + i] = source
            for to in range(1, n + 1):
                found = score[source] + transition[i, to] + np.log(max(table[entries[row + to]], 1e-300))
                if found > new[to]:
                    new[to], back[j, to] = found, source
        score = new
    path, state = np.zeros(m, np.int64), np.argmax(score)
    for j in range(m - 1, -1, -1):
        path[j] = state - 1 if state <= n else -1
        state = back[j, state]
    return path
