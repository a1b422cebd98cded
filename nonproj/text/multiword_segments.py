"""Edits that turn segments of a multiword token into its words, and the assignment of segments to words.

An `Edit` replaces the beginning and the end of a segment, around the longest part that it shares with its word.  So a
token is divided into one segment per word, such that the edits are small and frequent: *im* is *i*, with ``n`` added,
and *m*, with ``de`` before it.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

_ACUTE = "\u0301"
_ROUNDS = 2
_FREQUENT_WORD, _FREQUENT_EDIT = 0.4, 0.2
"""Discounts on the cost of a segment, in characters: factors of the logarithms of the counts of the segment with its
word, and of its edit."""


class Edit(NamedTuple):
    """The edit from a segment to a word: ``front`` is replaced by ``begin`` and ``back`` by ``end``.

    Attributes
    ----------
    unaccented : bool
        Whether acute accents are removed first, as in Galician *dótase*, which stands for *dota* and *se*.
    front, begin, back, end : str
    """

    unaccented: bool
    front: str
    begin: str
    back: str
    end: str

    def apply(self, segment: str) -> str:
        """Return the word of a segment that begins with ``front`` and ends with ``back``.

        Examples
        --------
        >>> Edit(False, "", "", "", "r").apply("traiciona"), edit_of("dóta", "dota").apply("cánta")
        ('traicionar', 'canta')
        """
        source = without_acutes(segment) if self.unaccented else segment
        return self.begin + source[len(self.front) : len(source) - len(self.back)] + self.end

    def cost(self) -> int:
        """Return the number of characters removed or added, plus 1 if accents are removed."""
        return self.unaccented + sum(map(len, self[1:]))


COPY = Edit(False, "", "", "", "")


def without_acutes(text: str) -> str:
    """Return a text without acute accents on letters; the text itself where its length would change."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).replace(_ACUTE, ""))
    return plain if len(plain) == len(text) else text


@lru_cache(1 << 16)
def edit_of(segment: str, word: str) -> Edit:
    """Return the edit that makes a word from a segment; it replaces everything if the two have nothing in common.

    Examples
    --------
    >>> tuple(edit_of("fa", "mu")), tuple(edit_of("gehen", "geh"))
    ((False, 'fa', 'mu', '', ''), (False, '', '', 'en', ''))
    """
    if segment == word:
        return COPY
    plain = without_acutes(segment)
    found = [_edit(False, segment, word)] + ([_edit(True, plain, word)] if plain != segment else [])
    return min(found, key=Edit.cost)


def _edit(unaccented: bool, source: str, word: str) -> Edit:
    i, j, size = SequenceMatcher(None, source, word, False).find_longest_match()
    if not size:
        return Edit(unaccented, source, word, "", "")
    return Edit(unaccented, source[:i], word[:j], source[i + size :], word[j + size :])


def divide(form: str, words: Sequence[str], cost: Callable[[str, str], float]) -> tuple[int, ...]:
    """Return the ends of the segments of a token, one for each word, with the least sum of costs.

    Returns
    -------
    tuple of int
        Empty if there are fewer characters than words.

    Examples
    --------
    >>> divide("im", ["in", "dem"], lambda segment, word: edit_of(segment, word).cost())
    (1, 2)
    """
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for number, word in enumerate(words, 1):
        last = len(form) - len(words) + number
        following: dict[int, tuple[float, tuple[int, ...]]] = {}
        for end in range(number, last + 1) if number < len(words) else (last,):
            options = [(c + cost(form[b:end], word), (*ends, end)) for b, (c, ends) in best.items() if b < end]
            if options:
                following[end] = min(options)
        best = following
    return best[len(form)][1] if len(form) in best and words else ()


def divisions(tokens: Collection[tuple[str, tuple[str, ...]]]) -> dict[tuple[str, tuple[str, ...]], tuple[int, ...]]:
    """Return the ends of the segments of each token with its words, all in lower case.

    First the edits are as small as possible; a second pass prefers words and edits that are frequent in the first.

    Examples
    --------
    >>> divisions([("isn't", ("is", "n't"))])
    {("isn't", ('is', "n't")): (2, 5)}
    """
    frequent: Counter[object] = Counter()

    def cost(segment: str, word: str) -> float:
        edit = edit_of(segment, word)
        known = _FREQUENT_WORD * math.log1p(frequent[segment, word]) + _FREQUENT_EDIT * math.log1p(frequent[edit])
        return edit.cost() - known

    found = {}
    for _ in range(_ROUNDS):
        found = {(form, words): _ends(form, words, cost) for form, words in tokens}
        counts: Counter[object] = Counter()
        for (form, words), ends in found.items():
            for begin, end, word in zip((0, *ends), ends, words, strict=False):
                counts[form[begin:end], word] += 1
                counts[edit_of(form[begin:end], word)] += 1
        frequent = counts
    return found


def _ends(form: str, words: tuple[str, ...], cost: Callable[[str, str], float]) -> tuple[int, ...]:
    """Return the ends of the segments of a token: those of its words, if it is their concatenation."""
    return tuple(accumulate(map(len, words))) if "".join(words) == form else divide(form, words, cost)
