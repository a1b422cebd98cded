"""Segmentation without training on raw text: rules over Unicode's characters, or those of spaCy.

The rules for tokens follow the idea of Unicode's word boundaries (UAX 29): letters and digits stay together, as do
those with an apostrophe, a hyphen, a dot or a comma between them; every other character is a token, equal ones in a row
are one.  Strings that the treebank has as tokens, such as ``bl.a.``, stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

import numpy as np

from nonproj.errors import ConfigError
from nonproj.text.characters import (
    APOSTROPHE,
    BLANK,
    COLON,
    COMMA,
    DASH,
    DIGIT,
    EXTEND,
    IDEOGRAPH,
    JOINER,
    LOWER,
    NEWLINE,
    SLASH,
    STOP,
    WORD_KINDS,
    characters,
    lowered,
)
from nonproj.text.layout import BROKEN, NO_GAP, PARAGRAPH, Text
from nonproj.threads import PerThread
from nonproj.types import Sentence

_BETWEEN_WORDS = (APOSTROPHE, DASH, STOP)
_BETWEEN_DIGITS = (STOP, COMMA, COLON, SLASH, APOSTROPHE)
_STOPS = re.compile("[.!?…‼‽⁇⁈⁉։؟۔।॥。！？｡．]+")
_CLOSING = re.compile("[\"'’”»)\\]}›]+")
_LONGEST = 30
_MAX_LEXICON = 50_000


class UnicodeRules:
    """Segmentation by rules for all languages.

    Attributes
    ----------
    lexicon : set of str
        Tokens, in lower case, that contain punctuation beside letters or digits.
    """

    def __init__(self, lexicon: Iterable[str] = ()):
        self.lexicon = set(lexicon)
        self._met: PerThread[dict[str, list[int]]] = PerThread(dict)

    @classmethod
    def of(cls, sentences: Iterable[Sentence]) -> UnicodeRules:
        """Return the rules with the lexicon of a treebank."""
        forms = {lowered(form) for sentence in sentences for form in sentence.forms}
        kept = sorted(form for form in forms if _is_irregular(form))
        return cls(kept[:_MAX_LEXICON])

    def token_ends(self, text: str, layout: Text) -> np.ndarray:
        """Return whether a token ends at each character, bool[n]."""
        ends, cache = [], self._met.own
        for a, b in zip(layout.start.tolist(), layout.end.tolist(), strict=True):
            chunk = text[a:b]
            places = cache.get(chunk)
            if places is None:
                places = self._split(chunk, layout.kind[a:b].tolist())
                if len(cache) < 1 << 18 and len(chunk) < 50:
                    cache[chunk] = places
            ends += [a + place for place in places]
        marks = np.zeros(len(text), np.bool_)
        marks[ends] = True
        return marks

    def _split(self, chunk: str, kinds: list[int]) -> list[int]:
        """Return the last characters of the tokens of a chunk."""
        places, begin, lower = [], 0, lowered(chunk)
        while begin < len(chunk):
            last = self._known(lower, begin)
            if not last:
                last = begin
                while last + 1 < len(chunk) and _joins(chunk, kinds, last):
                    last += 1
            places.append(last)
            begin = last + 1
        return places

    def _known(self, lower: str, begin: int) -> int:
        """Return the last character of the longest known token here that does not end inside a word, or 0."""
        if self.lexicon:
            for stop in range(min(len(lower), begin + _LONGEST), begin + 1, -1):
                if lower[begin:stop] in self.lexicon:
                    inside = stop < len(lower) and lower[stop - 1].isalnum() and lower[stop].isalnum()
                    return 0 if inside else stop - 1
        return 0

    def scores(self, text: str, layout: Text, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the score of a sentence end after each token, float32[T]: above 0 where a sentence ends."""
        gap = np.full(len(start), NO_GAP, np.uint8)
        gap[np.searchsorted(end, layout.end)] = layout.gap
        if len(gap):
            gap[-1] = PARAGRAPH
        scores = np.where(gap == PARAGRAPH, np.float32(np.inf), np.where(gap == BROKEN, -0.5, -2.0)).astype(np.float32)
        forms = [text[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)]
        first = layout.kind[start]
        closed = 0  # whether a full stop, perhaps with closing brackets behind it, ends here
        for index, form in enumerate(forms):
            if index and gap[index - 1] == PARAGRAPH:
                closed = 0
            if _STOPS.fullmatch(form):
                closed = 1 if form == "." else 2
            elif not (closed and _CLOSING.fullmatch(form)):
                closed = 0
                if form[-1] == "." and index + 1 < len(forms) and scores[index] < 0:
                    scores[index] = -1.0  # an abbreviation
                continue
            if index + 1 < len(forms) and scores[index] < 0:
                scores[index] = -0.1
                blank = gap[index] != NO_GAP
                following = first[index + 1]
                if following not in (LOWER,) and (blank or closed == 2) and not _continues(forms[index + 1]):
                    scores[index] = 1.0
        return scores


def _continues(form: str) -> bool:
    return bool(_CLOSING.fullmatch(form) or _STOPS.fullmatch(form)) or form in ",;:"


def _joins(chunk: str, kinds: list[int], i: int) -> bool:
    """Return whether the characters ``i`` and ``i + 1`` of a chunk belong to the same token."""
    left, right = kinds[i], kinds[i + 1]
    base = i
    while kinds[base] == EXTEND and base:
        base -= 1
    if right == EXTEND or left == JOINER:
        return True
    base, further = kinds[base], kinds[i + 2] if i + 2 < len(kinds) else BLANK
    if base in WORD_KINDS and right in WORD_KINDS:
        return True
    if base in WORD_KINDS and further in WORD_KINDS:
        return right in _BETWEEN_WORDS or (right in _BETWEEN_DIGITS and base == further == DIGIT)
    if i and kinds[i - 1] in (*WORD_KINDS, EXTEND) and right in WORD_KINDS:
        return left in _BETWEEN_WORDS or (left in _BETWEEN_DIGITS and kinds[i - 1] == right == DIGIT)
    return chunk[i] == chunk[i + 1] and base != IDEOGRAPH


def _is_irregular(form: str) -> bool:
    """Return whether a token, without blanks, has punctuation that the rules without a lexicon would cut off."""
    kinds = characters(form).kind.tolist()
    if min(kinds) <= NEWLINE or len(form) > _LONGEST:
        return False
    return not all(_joins(form, kinds, i) for i in range(len(form) - 1))


class SpacyRules:
    """The tokenizer of spaCy for a language, and its rules for sentence ends; each thread has a pipeline of its own.

    Parameters
    ----------
    language : str
        As in ``spacy.blank``.

    Raises
    ------
    ConfigError
        spaCy is not installed, or does not know the language.
    """

    def __init__(self, language: str):
        self._pipelines = PerThread(partial(_SpacyPipeline, language))
        self._pipelines.own  # noqa: B018  # spaCy knows the language
        self.language = language

    def token_ends(self, text: str, layout: Text) -> np.ndarray:
        """Return whether a token ends at each character, bool[n]."""
        own = self._pipelines.own
        marks, own.sentence_ends = np.zeros(len(text), np.bool_), np.zeros(len(text), np.bool_)
        first = 0
        for c in np.flatnonzero((layout.gap == PARAGRAPH) | (layout.gap == NO_GAP)).tolist():
            a, b = int(layout.start[first]), int(layout.end[c])
            for token in own.pipe(text[a:b]):
                if token.is_sent_start and token.idx:
                    own.sentence_ends[a + token.idx - 1] = True
                marks[a + token.idx + len(token) - 1] = True
            first = c + 1
        return marks

    def scores(self, text: str, layout: Text, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the score of a sentence end after each token, float32[T]: above 0 where a sentence ends.

        `token_ends` has been called with this text before.
        """
        before = np.concatenate([[0], np.cumsum(self._pipelines.own.sentence_ends)])  # starts may follow blanks
        following = np.append(start[1:], len(text))
        scores = np.where(before[following] > before[end - 1], np.float32(1.0), np.float32(-1.0)).astype(np.float32)
        scores[np.searchsorted(end, layout.end[layout.gap == PARAGRAPH])] = np.inf
        scores[-1:] = np.inf
        return scores


class _SpacyPipeline:
    """A pipeline of spaCy's, and where it found the ends of sentences."""

    def __init__(self, language: str):
        try:
            import spacy
        except ImportError:
            message = "spaCy is not installed; pip install spacy, or set it to null"
            raise ConfigError("segmenter.language", message) from None
        try:
            self.pipe = spacy.blank(language)
        except (ImportError, OSError, ValueError):
            message = f"spaCy does not know the language {language!r}; set it to null for Unicode's rules"
            raise ConfigError("segmenter.language", message) from None
        self.pipe.max_length = 1 << 40
        self.pipe.add_pipe("sentencizer")
        self.sentence_ends = np.zeros(0, np.bool_)
