"""Words and their tags: counts, and a suffix model for rare and unknown words (after Brants 2000, TnT)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

LONGEST_SUFFIX = 8
"""Maximum length of a suffix, in letters."""

MAX_CACHED = 20_000
"""Maximum number of words and suffixes whose probabilities are kept."""


class LexiconOptions(NamedTuple):
    """Options of smoothing.

    Attributes
    ----------
    rare : int
        Maximum count of the words that train the suffix model.
    suffix_weight : float
        Pseudo-count of the next shorter suffix, for smoothing a suffix.
    word_weight : float
        Pseudo-count of the suffix model, for smoothing a known word.
    """

    rare: int = 5
    suffix_weight: float = 10.0
    word_weight: float = 0.3


def shape(word: str) -> str:
    """Return the shape of a word: each shape has separate suffix statistics.

    Examples
    --------
    >>> [shape(word) for word in ("house", "House", "U.S.", "1990", "20-year", "well-known", "%")]
    ['a', 'Aa', 'A.A+', '0', '0-a', 'a-a', '%']
    """
    signs: list[str] = []
    for letter in word:
        if letter.isdigit():
            sign = "0"
        elif letter.isalpha():
            sign = "a" if letter.islower() else "A"
        else:
            sign = letter if letter in "-.%$'" else "_"
        if not signs or signs[-1] != sign:
            signs.append(sign)
    if len(signs) > 1 and "0" in signs and not set(signs) & {"a", "A"}:
        return "0"
    return "".join(signs) if len(signs) <= 3 else "".join(signs[:3]) + "+"


def suffixes(word: str) -> list[tuple[str, str]]:
    """Return the contexts of the suffix model from the most general to the most specific: shape and suffix."""
    form, lower = shape(word), word.lower()
    if form == "0":
        return [("", ""), (form, "")]
    longest = min(LONGEST_SUFFIX, len(lower) - 1)
    return [("", ""), (form, ""), *((form, lower[-size:]) for size in range(1, longest + 1))]


class Lexicon:
    """Scores of tags for words: the logarithm of ``P(tag | word) / P(tag)``.

    It is the log-probability of the word given its tag, less that of the word itself, which is the same for all tags.

    Parameters
    ----------
    tags : sequence of str
    words : mapping of str to mapping of int to float
        For each known word the counts of its tags, by the tag's number.
    options : LexiconOptions

    Examples
    --------
    >>> lexicon = Lexicon.count(["NN", "VB"], [("dog", 0), ("dog", 0), ("walked", 1), ("house", 0)], LexiconOptions())
    >>> lexicon.scores("talked").argmax() == 1, lexicon.scores("dog").argmax() == 0
    (np.True_, np.True_)
    """

    def __init__(self, tags: Sequence[str], words: Mapping[str, Mapping[int, float]], options: LexiconOptions):
        self.tags, self.words, self.options = list(tags), words, options
        self._totals = np.zeros(len(self.tags))
        self._suffixes: dict[tuple[str, str], np.ndarray] = {}
        rare: dict[tuple[str, str], dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for word, counts in words.items():
            for tag, count in counts.items():
                self._totals[tag] += count
            if sum(counts.values()) <= options.rare:
                for key in suffixes(word):
                    for tag, count in counts.items():
                        rare[key][tag] += count
        self._rare = rare
        self._known: dict[str, np.ndarray] = {}
        share = (self._totals + 1e-3) / (self._totals + 1e-3).sum()
        self._log_share = np.log(share)
        self._share = share

    @classmethod
    def count(cls, tags: Sequence[str], tokens: Iterable[tuple[str, int]], options: LexiconOptions) -> Lexicon:
        """Return the lexicon of words with the numbers of their tags."""
        words: dict[str, Counter[Any]] = defaultdict(Counter)
        for word, tag in tokens:
            words[word][tag] += 1
        return cls(tags, words, options)

    def probabilities(self, word: str) -> np.ndarray:
        """Return the probability of each tag for a word, float64[T]."""
        if word not in self._known:
            if len(self._known) >= MAX_CACHED:
                self._known.clear()
            if len(self._suffixes) >= MAX_CACHED:
                self._suffixes.clear()
            found, weight = self._guess(suffixes(word)), self.options.word_weight
            counts = self.words.get(word)
            if counts:
                total = sum(counts.values())
                found = found * (weight / (total + weight))
                for tag, count in counts.items():
                    found[tag] += count / (total + weight)
            self._known[word] = found
        return self._known[word]

    def scores(self, word: str) -> np.ndarray:
        """Return the score of each tag for a word, float64[T]."""
        return np.log(self.probabilities(word)) - self._log_share

    def _guess(self, keys: list[tuple[str, str]]) -> np.ndarray:
        """Return the suffix model's probabilities, each suffix smoothed by the shorter ones."""
        last = keys[-1]
        if last in self._suffixes:
            return self._suffixes[last]
        shorter = self._guess(keys[:-1]) if len(keys) > 1 else self._share
        found, counts = shorter, self._rare.get(last)
        if counts:
            weight = self.options.suffix_weight
            total = sum(counts.values())
            found = shorter * (weight / (total + weight))
            for tag, count in counts.items():
                found[tag] += count / (total + weight)
        self._suffixes[last] = found
        return found
