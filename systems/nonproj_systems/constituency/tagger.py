"""A trigram tagger: a hidden Markov model with interpolated transitions and a suffix model (Brants 2000, TnT)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Float64s, Int64s
from nonproj_systems.constituency.lexicon import Lexicon


class Trellis(NamedTuple):
    """A sentence's candidate tags, position by position; a *variable* is a position with one of them.

    Attributes
    ----------
    first : ndarray of shape (n + 1,), int64
        The variables of position ``i`` are ``first[i]`` to ``first[i + 1] - 1``.
    tag : ndarray of shape (V,), int64
    emission : ndarray of shape (V,), float64
        The score of each variable.
    transition : ndarray of shape (T + 1, T + 1, T + 1), float64
        The score of a tag (last index) after two others; ``T`` stands for the sentence's boundaries.
    """

    first: np.ndarray
    tag: np.ndarray
    emission: np.ndarray
    transition: np.ndarray


def best_tags(trellis: Trellis, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the highest score of a tag sequence, and its variables, by Viterbi's algorithm.

    Parameters
    ----------
    trellis : Trellis
    scores : ndarray of shape (V,), float64
        Added to the emissions.

    Returns
    -------
    float
    ndarray of shape (n,), int64
        One variable for each position.

    Examples
    --------
    >>> trellis = Trellis(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([1.0, 2.0, 0.0]), np.zeros((3, 3, 3)))
    >>> best_tags(trellis, np.zeros(3))
    (2.0, array([1, 2]))
    """
    value, chosen = _best_tags(trellis.first, trellis.tag, trellis.emission, trellis.transition, scores)
    return float(value), chosen


def score_of(trellis: Trellis, chosen: Sequence[int]) -> float:
    """Return the score of a tag sequence, given by its variables."""
    boundary = trellis.transition.shape[0] - 1
    tags = [boundary, boundary, *trellis.tag[chosen].tolist(), boundary]
    total = trellis.emission[chosen].sum()
    return float(total + sum(trellis.transition[tags[i], tags[i + 1], tags[i + 2]] for i in range(len(chosen) + 1)))


class Tagger:
    """A trigram tagger: transitions and a lexicon.

    Parameters
    ----------
    lexicon : Lexicon
        Lexicon of the tags.
    transition : ndarray of shape (T + 1, T + 1, T + 1), float64
        Log-probabilities; see `Trellis`.
    """

    def __init__(self, lexicon: Lexicon, transition: np.ndarray):
        self.lexicon, self.transition = lexicon, transition

    def trellis(self, words: Sequence[str], candidates: Sequence[np.ndarray] | None = None) -> Trellis:
        """Return the trellis of a sentence over candidate tags of each word, by default the plausible ones."""
        tables = [self.lexicon.scores(word) for word in words]
        if candidates is None:
            candidates = [_plausible(self.lexicon.probabilities(word)) for word in words]
        first = np.concatenate([[0], np.cumsum([len(each) for each in candidates])]).astype(np.int64)
        emission = [table[tags] for table, tags in zip(tables, candidates, strict=True)]
        return Trellis(first, np.concatenate(candidates).astype(np.int64), np.concatenate(emission), self.transition)

    def tag(self, words: Sequence[str]) -> list[str]:
        """Return the best tags of a sentence."""
        trellis = self.trellis(words)
        chosen = best_tags(trellis, np.zeros(len(trellis.tag)))[1]
        return [self.lexicon.tags[tag] for tag in trellis.tag[chosen]]


def _plausible(probabilities: np.ndarray) -> np.ndarray:
    """Return the tags whose probability is at least a 10,000th of the highest."""
    return np.flatnonzero(probabilities >= 1e-4 * probabilities.max())


def count_transitions(sentences: Iterable[Sequence[int]], n_tags: int) -> np.ndarray:
    """Return log-probabilities of tags after two others, float64[T + 1, T + 1, T + 1], by deleted interpolation.

    Parameters
    ----------
    sentences : iterable of sequences of int
        Tags by number.
    n_tags : int
        T.

    Examples
    --------
    >>> probabilities = np.exp(count_transitions([[0, 1], [0, 1], [0, 0, 1]], 2))
    >>> probabilities.sum(axis=2).round(6).min(), probabilities[2, 0].argmax()
    (np.float64(1.0), np.int64(1))
    """
    trigrams = np.zeros((n_tags + 1,) * 3)
    for tags in sentences:
        padded = [n_tags, n_tags, *tags, n_tags]
        for i in range(len(tags) + 1):
            trigrams[padded[i], padded[i + 1], padded[i + 2]] += 1
    bigrams, unigrams = trigrams.sum(axis=0), trigrams.sum(axis=(0, 1)) + 1e-3
    contexts, before = trigrams.sum(axis=2), bigrams.sum(axis=1)
    weights = _interpolation(trigrams, contexts, bigrams, before, unigrams)
    one = unigrams / unigrams.sum()
    two = _mixed(bigrams, before[:, None], one[None, :])
    three = _mixed(trigrams, contexts[:, :, None], two[None, :, :])
    return np.log(weights[0] * one + weights[1] * two[None, :, :] + weights[2] * three)


def _mixed(counts: np.ndarray, totals: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return relative frequencies, with back-off probabilities for unseen contexts."""
    return np.where(totals > 0, counts / np.maximum(totals, 1), otherwise)


def _interpolation(trigrams, contexts, bigrams, before, unigrams) -> np.ndarray:
    """Return the weights of unigrams, bigrams and trigrams by deleted interpolation: each trigram left out in turn."""
    weights = np.full(3, 1e-6)
    for a, b, c in zip(*np.nonzero(trigrams), strict=True):
        count = trigrams[a, b, c]
        shares = np.zeros(3)
        shares[0] = (unigrams[c] - 1) / max(unigrams.sum() - 1, 1)
        shares[1] = (bigrams[b, c] - 1) / (before[b] - 1) if before[b] > 1 else 0.0
        shares[2] = (count - 1) / (contexts[a, b] - 1) if contexts[a, b] > 1 else 0.0
        weights[shares.argmax()] += count
    return weights / weights.sum()


@kernel
def _best_tags(
    first: Int64s, tag: Int64s, emission: Float64s, transition: Float64s, scores: Float64s
) -> tuple[float, Int64s]:
    """Return the highest score of a tag sequence, and its variables; of equal scores the first."""
    n, boundary = len(first) - 1, transition.shape[0] - 1
    widest = 1
    for i in range(n):
        widest = max(widest, first[i + 1] - first[i])
    value, new = np.full((widest, widest), -np.inf), np.full((widest, widest), -np.inf)  # tag before last, last tag
    back = np.zeros((n + 1, widest, widest), np.int64)
    value[0, 0] = 0.0
    for i in range(n):
        n_older = first[i - 1] - first[i - 2] if i > 1 else 1
        n_old = first[i] - first[i - 1] if i > 0 else 1
        for c in range(first[i + 1] - first[i]):
            v = first[i] + c
            for b in range(n_old):
                middle = tag[first[i - 1] + b] if i > 0 else boundary
                highest = -np.inf
                for a in range(n_older):
                    left = tag[first[i - 2] + a] if i > 1 else boundary
                    candidate = value[a, b] + transition[left, middle, tag[v]]
                    if candidate > highest:
                        highest = candidate
                        back[i, b, c] = a
                new[b, c] = highest + (emission[v] + scores[v])
        value, new = new, value
    chosen = np.zeros(n, np.int64)
    highest, last, before = -np.inf, 0, 0
    for b in range(first[n - 1] - first[n - 2] if n > 1 else 1):
        for c in range(first[n] - first[n - 1]):
            left = tag[first[n - 2] + b] if n > 1 else boundary
            candidate = value[b, c] + transition[left, tag[first[n - 1] + c], boundary]
            if candidate > highest:
                highest, last, before = candidate, c, b
    for i in range(n - 1, -1, -1):
        chosen[i] = first[i] + last
        last, before = before, back[i, before, last]
    return highest, chosen
