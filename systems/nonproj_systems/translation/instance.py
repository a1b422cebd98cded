"""The decoding problem of a sentence: phrases with scores, a language model, and distortion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nonproj.errors import SizeError
from nonproj.kernels.kernel import kernel
from nonproj.types import Int64s
from nonproj_systems.translation.language_model import BEGIN, END, Automaton, read_word
from nonproj_systems.translation.text import MAX_TOKENS


class Instance(NamedTuple):
    """A decoding problem: the best derivation that translates each source word once.

    Attributes
    ----------
    n_words : int
        Source words, N.
    limit : int
        Distortion limit: maximum distance in words between the end of a phrase and the beginning of the next.
    distortion : float
        Score per word of that distance.
    start, end : ndarray of shape (O,), int64
        Source words ``start`` to ``end - 1`` of each phrase; phrases are ordered by start and words.
    score : ndarray of shape (O,), float64
        Scores of the phrases, without language model.
    word_start : ndarray of shape (O + 1,), int64
    words : ndarray of int64
        The target words of phrase ``o`` are ``words[word_start[o] : word_start[o + 1]]``.
    first_option : ndarray of shape (N + 1,), int64
        The phrases that begin at word ``i`` are ``first_option[i]`` to ``first_option[i + 1] - 1``.
    lm : Automaton

    Notes
    -----
    A derivation is a sequence of phrases, as in the tutorial, section 6.4.
    """

    n_words: int
    limit: int
    distortion: float
    start: np.ndarray
    end: np.ndarray
    score: np.ndarray
    word_start: np.ndarray
    words: np.ndarray
    first_option: np.ndarray
    lm: Automaton

    def target(self, option: int) -> list[int]:
        """Return the target words of a phrase."""
        return self.words[self.word_start[option] : self.word_start[option + 1]].tolist()

    def count(self, derivation: Sequence[int]) -> np.ndarray:
        """Return the number of translations of each source word, int64[N]."""
        found = np.zeros(self.n_words, np.int64)
        for option in derivation:
            found[self.start[option] : self.end[option]] += 1
        return found


def make_instance(n_words: int, phrases, lm: Automaton, distortion: float = 0.0, limit: int = 4) -> Instance:
    """Return the decoding problem of a sentence.

    Parameters
    ----------
    n_words : int
        Source words.
    phrases : sequence of (int, int, sequence of int, float)
        First source word and the one after the last, target words (numbers), score.
    lm : Automaton
    distortion : float
        Score of each word between the end of one phrase and the beginning of the next.
    limit : int
        Maximum number of such words.

    Raises
    ------
    SizeError
        If the sentence is too long.
    ValueError
        If a phrase is not inside the sentence, has no words, or has an invalid word or score.

    Examples
    --------
    >>> from nonproj_systems.translation.language_model import estimate
    >>> one = make_instance(2, [(1, 2, [4], -1.0), (0, 1, [3], -0.5)], estimate([[3, 4]], 5))
    >>> one.start.tolist(), one.target(1), one.count([0, 1]).tolist()
    ([0, 1], [4], [1, 1])
    """
    if not 1 <= n_words <= MAX_TOKENS:
        raise SizeError(f"the sentence has {n_words} tokens; 1 to {MAX_TOKENS} are expected")
    if limit < 0 or not np.isfinite(distortion):
        raise ValueError(f"the distortion limit is {limit} and its score {distortion}; numbers from 0 are expected")
    n_target = int(lm.arc_start[1])
    for start, end, words, score in phrases:
        if not 0 <= start < end <= n_words or not len(words):
            raise ValueError(
                f"phrase {start}:{end} has {len(words)} words; a range in 0:{n_words} and words are expected"
            )
        if not all(0 <= word < n_target and word not in (BEGIN, END) for word in words) or not np.isfinite(score):
            raise ValueError(
                f"phrase {start}:{end} has words {list(words)} and the score {score}; known words are expected"
            )
    ordered = sorted(phrases, key=lambda phrase: (phrase[0], *[tuple(phrase[2])], phrase[1]))
    start = np.array([phrase[0] for phrase in ordered], np.int64)
    return Instance(
        int(n_words),
        int(limit),
        float(distortion),
        start,
        np.array([phrase[1] for phrase in ordered], np.int64),
        np.array([phrase[3] for phrase in ordered], np.float64),
        np.cumsum([0, *(len(phrase[2]) for phrase in ordered)]).astype(np.int64),
        np.array([word for phrase in ordered for word in phrase[2]], np.int64),
        np.searchsorted(start, np.arange(n_words + 1)).astype(np.int64),
        lm,
    )


@kernel
def _score_derivation(instance: Instance, derivation: Int64s) -> float:
    """Return the score of a derivation, minus infinity beyond the distortion limit."""
    total, state, end = 0.0, np.int64(1 + BEGIN), 0
    for option in derivation:
        jump = abs(instance.start[option] - end)
        if jump > instance.limit:
            return -np.inf
        total += jump * instance.distortion + instance.score[option]
        end = instance.end[option]
        for word in instance.words[instance.word_start[option] : instance.word_start[option + 1]]:
            score, state = read_word(instance.lm, state, word)
            total += score
    return total + read_word(instance.lm, state, END)[0]


def score_derivation(instance: Instance, derivation: Sequence[int]) -> float:
    """Return the score of a derivation (numbers of phrases), language model included.

    Minus infinity beyond the distortion limit; whether each word is translated once does not matter.
    """
    return float(_score_derivation(instance, np.asarray(derivation, np.int64)))
