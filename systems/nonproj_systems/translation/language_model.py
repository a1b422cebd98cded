"""Trigram language model with modified Kneser-Ney smoothing, kept as a back-off automaton (Chen and Goodman 1998).

A state is the longest suffix of the words so far that matters for the next one: the first two words of a trigram of the
model, a word, or nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.types import Int64s

UNKNOWN, BEGIN, END = 0, 1, 2
"""Numbers of the words that every target vocabulary has: an unknown word, the beginning and the end of a sentence."""

MAX_WORDS = 1 << 20
"""Upper limit of the size of a vocabulary, so that three words fit into 63 bits."""

NEVER = -99.0
"""Log-probability of the beginning of a sentence, which is never predicted."""


class Automaton(NamedTuple):
    """A back-off language model: S states, the words for which each has an arc, and the state to which it backs off.

    Attributes
    ----------
    arc_start : ndarray of shape (S + 1,), int64
        The arcs of state ``q`` are ``arc_start[q]`` to ``arc_start[q + 1] - 1``, by word.
    arc_word, arc_next : ndarray of int32
        The word of each arc, and the state to which it leads.
    arc_score : ndarray of float64
        Log-probability of the word of each arc, times a weight.
    backoff_score : ndarray of shape (S,), float64
        Score of backing off, at most 0 for a smoothed model.
    backoff_state : ndarray of shape (S,), int32
    last_word : ndarray of shape (S,), int32
        The last word of the state, -1 for state 0.

    Notes
    -----
    State 0 has no history and an arc for each word: arc ``w`` is word ``w``.  The history of state ``1 + w`` is the
    word ``w``, that of later states two words.  No arc scores less than the same word after backing off.
    """

    arc_start: np.ndarray
    arc_word: np.ndarray
    arc_score: np.ndarray
    arc_next: np.ndarray
    backoff_score: np.ndarray
    backoff_state: np.ndarray
    last_word: np.ndarray

    def scaled(self, weight: float) -> Automaton:
        """Return the automaton with all scores multiplied by a weight, which must be at least 0."""
        if not weight >= 0:
            raise ValueError(f"the weight of the language model is {weight}; at least 0 is expected")
        return self._replace(arc_score=weight * self.arc_score, backoff_score=weight * self.backoff_score)


@kernel
def find_arc(lm: Automaton, state: int, word: int) -> int:
    """Return the arc of a state for a word, -1 if there is none."""
    first, last = lm.arc_start[state], lm.arc_start[state + 1]
    if state == 0:
        return first + word
    while first < last:
        middle = (first + last) >> 1
        if lm.arc_word[middle] < word:
            first = middle + 1
        else:
            last = middle
    return first if first < lm.arc_start[state + 1] and lm.arc_word[first] == word else np.int64(-1)


@kernel
def read_word(lm: Automaton, state: int, word: int) -> tuple[float, int]:
    """Return the score of a word in a state, and the next state."""
    score = 0.0
    while True:
        arc = find_arc(lm, state, word)
        if arc >= 0:
            return score + lm.arc_score[arc], np.int64(lm.arc_next[arc])
        score += lm.backoff_score[state]
        state = np.int64(lm.backoff_state[state])


@kernel
def _read_words(lm: Automaton, state: int, words: Int64s) -> tuple[float, int]:
    """Return the score of several words, and the state after them."""
    total = 0.0
    for word in words:
        score, state = read_word(lm, state, word)
        total += score
    return total, state


def score_words(lm: Automaton, words, state: int = 1 + BEGIN) -> tuple[float, int]:
    """Return the score of words (numbers), and the state after them; by default from the beginning of a sentence.

    Examples
    --------
    >>> lm = estimate([[3, 4, 3], [3, 4]], 5)
    >>> round(float(np.exp(score_words(lm, [3])[0])), 2), score_words(lm, [3, 4])[1] == score_words(lm, [4, 3, 4])[1]
    (0.66, True)
    """
    return _read_words(lm, int(state), np.asarray(words, np.int64))


def estimate(sentences, n_words: int) -> Automaton:
    """Estimate a trigram model with interpolated modified Kneser-Ney smoothing.

    Parameters
    ----------
    sentences : iterable of sequences of int
        Numbers of words, without `BEGIN` and `END`.
    n_words : int
        Size of the vocabulary, `UNKNOWN`, `BEGIN` and `END` included.  Words that do not occur share with `UNKNOWN` the
        probability that smoothing reserves.

    Returns
    -------
    Automaton
        Scores are natural logarithms.

    Raises
    ------
    ValueError
        If there are no sentences, or too many words.
    """
    if not 3 <= n_words < MAX_WORDS:
        raise ValueError(f"the vocabulary has {n_words} words; 3 to {MAX_WORDS - 1} are expected")
    text = np.concatenate([np.array([BEGIN, *sentence, END], np.int64) for sentence in sentences])
    first, second, third = text[:-2], text[1:-1], text[2:]
    inside = (first != END) & (second != END)
    trigrams, trigram_count = np.unique(_pack(first, second, third)[inside], return_counts=True)
    bigrams, bigram_count = _bigrams(text, trigrams)
    unigram_count = np.bincount(bigrams % MAX_WORDS, minlength=n_words)
    unigram = _unigrams(unigram_count, n_words)
    left, right = bigrams // MAX_WORDS, bigrams % MAX_WORDS
    bigram, backoff = _interpolate(left, bigram_count, unigram[right])
    context = np.searchsorted(bigrams, trigrams // MAX_WORDS)
    suffix = np.searchsorted(bigrams, trigrams % (MAX_WORDS * MAX_WORDS))
    trigram, pair_backoff = _interpolate(context, trigram_count, bigram[suffix])
    backoffs = [
        np.log(np.pad(each, (0, size - len(each)), constant_values=1.0))
        for each, size in ((backoff, n_words), (pair_backoff, len(bigrams)))
    ]
    return make_automaton(bigrams, trigrams, [np.log(each) for each in (unigram, bigram, trigram)], backoffs)


def _pack(*words: np.ndarray) -> np.ndarray:
    """Return two or three words as one number."""
    packed = words[0]
    for word in words[1:]:
        packed = packed * MAX_WORDS + word
    return packed


def _bigrams(text: np.ndarray, trigrams: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bigrams and their continuation counts; at the beginning of a sentence, their raw counts."""
    inside = text[:-1] != END
    bigrams, raw = np.unique(_pack(text[:-1], text[1:])[inside], return_counts=True)
    count = np.bincount(np.searchsorted(bigrams, trigrams % (MAX_WORDS * MAX_WORDS)), minlength=len(bigrams))
    return bigrams, np.where(bigrams // MAX_WORDS == BEGIN, raw, count)


def discounts(counts: np.ndarray) -> np.ndarray:
    """Return the discounts of counts 1, 2, and 3 or more, each between 0 and that count.

    Chen and Goodman (1998), equation 26; where the corpus is too small for them, 0.5, 1 and 1.5.

    Examples
    --------
    >>> discounts(np.repeat([1, 2, 3, 4], [40, 10, 5, 3])).round(3).tolist()
    [0.667, 1.0, 1.4]
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(np.float64)
    if not n[1:5].all():
        return np.array([0.5, 1.0, 1.5])
    y = n[1] / (n[1] + 2 * n[2])
    found = np.array([k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)])
    return found if ((found > 0) & (found < [1, 2, 3])).all() else np.array([0.5, 1.0, 1.5])


def _unigrams(count: np.ndarray, n_words: int) -> np.ndarray:
    """Return the probabilities of words, interpolated with the uniform distribution."""
    discount = np.concatenate([[0.0], discounts(count[count > 0])])[np.minimum(count, 3)]
    total = count.sum()
    if not total:
        raise ValueError("the corpus of the language model is empty; sentences are expected")
    found = (count - discount) / total + discount.sum() / total / (n_words - 1)
    found[BEGIN] = np.exp(NEVER)
    return found


def _interpolate(context: np.ndarray, count: np.ndarray, lower: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of n-grams, and for each context the weight of its lower order."""
    discount = discounts(count)[np.minimum(count, 3) - 1]
    size = int(context.max()) + 1 if len(context) else 0
    total, left = np.bincount(context, count, size), np.bincount(context, discount, size)
    weight = np.divide(left, total, out=np.ones(size), where=total > 0)
    return (count - discount) / total[context] + weight[context] * lower, weight


def make_automaton(bigrams: np.ndarray, trigrams: np.ndarray, scores, backoffs) -> Automaton:
    """Return the automaton of a trigram model.

    Parameters
    ----------
    bigrams, trigrams : ndarray of int64, ascending
        As numbers: the first word times `MAX_WORDS` plus the second, and so on.  The first and last two words of a
        trigram are bigrams.
    scores : sequence of three ndarray of float64
        Scores of words, bigrams and trigrams.
    backoffs : sequence of two ndarray of float64
        Scores of backing off from each word, and from each bigram.

    Raises
    ------
    ValueError
        If an n-gram scores less than backing off: decoding relies on it.
    """
    n_words, pairs = len(scores[0]), trigrams // MAX_WORDS
    known = np.unique(pairs)
    position = np.searchsorted(known, bigrams)
    has_state = np.isin(bigrams, known)
    last = bigrams % MAX_WORDS
    next_of_bigram = np.where(has_state, 1 + n_words + position, 1 + last)
    suffix = np.searchsorted(bigrams, trigrams % (MAX_WORDS * MAX_WORDS))
    of_pair = np.searchsorted(bigrams, pairs)
    lower = backoffs[0][bigrams // MAX_WORDS] + scores[0][last], backoffs[1][of_pair] + scores[1][suffix]
    if not all((have >= low - 1e-9).all() for have, low in zip(scores[1:], lower, strict=True)):
        raise ValueError("an n-gram scores less than backing off; an interpolated model is expected")
    per_state = [n_words], np.bincount(bigrams // MAX_WORDS, minlength=n_words), np.unique(pairs, return_counts=True)[1]
    words = np.arange(n_words)
    return Automaton(
        np.concatenate([[0], np.cumsum(np.concatenate(per_state))]).astype(np.int64),
        np.concatenate([words, last, trigrams % MAX_WORDS]).astype(np.int32),
        np.concatenate([scores[0], *(np.maximum(*both) for both in zip(scores[1:], lower, strict=True))]),
        np.concatenate([1 + words, next_of_bigram, next_of_bigram[suffix]]).astype(np.int32),
        np.concatenate([[0.0], backoffs[0], backoffs[1][np.searchsorted(bigrams, known)]]),
        np.concatenate([[0], np.zeros(n_words), 1 + known % MAX_WORDS]).astype(np.int32),
        np.concatenate([[-1], words, known % MAX_WORDS]).astype(np.int32),
    )
