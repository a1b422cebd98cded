"""Segmentation without training on raw text: rules over Unicode's characters, and rules for languages.

The rules for tokens follow the idea of Unicode's word boundaries (UAX 29): letters and digits stay together, as do
those with an apostrophe, a hyphen, a dot or a comma between them; every other character is a token, equal ones in a row
are one.  Addresses, ``#tags``, ``@names`` and emoticons stay whole, and so do the tokens of the treebank that have
punctuation, such as ``bl.a.``; but none of these cuts a number short.  A `Language` adds abbreviations,
patterns, and the words that tell an abbreviation from the end of a sentence.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from nonproj.io.strings import NAME, TOKEN, StringKind, check_strings
from nonproj.linear.state import Schema
from nonproj.text.characters import (
    APOSTROPHE,
    COMMA,
    DASH,
    DIGIT,
    IDEOGRAPH,
    LETTERS,
    LOWER,
    NEWLINE,
    UPPER,
    WORD_KINDS,
    characters,
    lowered,
)
from nonproj.text.languages import Language
from nonproj.text.layout import BROKEN, NO_BLANKS, PARAGRAPH, SENTENCE_GOES_ON, Text
from nonproj.types import Sentence

_STOPS = re.compile("[.!?…‼‽⁇⁈⁉։؟۔।॥。！？｡．]+")
_CLOSING = re.compile("[\"'’‘”“„»«›‹)\\]}]+")
_EMOTICON = re.compile(
    r"(?:>?[:;]['’]?[-~^o]?(?:[)(\][}{|/\\*@$#>]+|[DPpOoSsXx3])|=[-~^o]?[)(\]DPp]+|[xX]D+|</?3+|\^_*\^|-_+-"
    r"|[oO0]_+[oO0]|\\o/)(?!\w)"
)
_WITH_NOSE = re.compile(r"[:;=]['’]?-[)(\]\[DPpOo/\\|*]+(?!\w)")
"""An emoticon that also follows a word without a blank."""

_ACRONYM = re.compile(r"(?:[^\W\d_]\.){2,}(?!\w)")
_NUMBER = re.compile(r"[\d.,:/%-]*")
_YEAR = re.compile(r"\d\d(?!\w)")
_NUMERAL = re.compile(r"\d+|[IVXLCM]+")
_ORDINAL = re.compile(r"\d+\.")
_CLIPPED = re.compile("[b-df-hj-np-tvxz]{1,4}")
"""Pattern of a word without vowels: an abbreviation, if the sentence goes on behind its full stop."""

_LONGEST = 30
_MAX_LEXICON = 50_000
_ENTRY = StringKind("token", 60, 50_000)
"""Tokens of a language: blanks separate those that are written together."""

_GROUPS = ("words", "tokens", "abbreviations", "before_numbers", "patterns")
_LANGUAGE = {"code": str, "name": str, "suffixes": list, **dict.fromkeys(_GROUPS, list)}
_FEW = 5
"""A form with a full stop is no abbreviation if the word without it has at least this count, and a higher one."""

NOTHING, CONTINUED, NUMBERED, BEGUN, OTHER = range(5)
"""Contexts behind a chunk: the end of a paragraph; lower case or punctuation inside a sentence; a number; a frequent
word that is capitalised; anything else."""


class UnicodeRules:
    """Segmentation by rules.

    Parameters
    ----------
    lexicon : iterable of str
        Tokens that stay whole, in lower case; where a string is several tokens, blanks separate them.
    language : Language, optional
        Adds tokens, abbreviations, patterns and suffixes.

    Examples
    --------
    >>> from nonproj.text.languages import languages
    >>> from nonproj.text.layout import lay_out, spans
    >>> text, rules = "Hr. Bo kom kl. 10.30. Han gik.", UnicodeRules(language=languages()["da"])
    >>> layout = lay_out(text)
    >>> start, end = spans(layout, rules.token_ends(text, layout))
    >>> [text[a:b] for a, b in zip(start, end)]
    ['Hr.', 'Bo', 'kom', 'kl.', '10.30', '.', 'Han', 'gik', '.']
    >>> np.flatnonzero(rules.scores(text, layout, start, end) > 0).tolist()
    [5, 8]
    """

    schema: ClassVar[Schema] = Schema({"lexicon": list, "language": Schema(_LANGUAGE, {})}, {})

    def __init__(self, lexicon: Iterable[str] = (), language: Language | None = None):
        self.language = language or Language("", "")
        self.lexicon = sorted(set(lexicon))
        known = self.language
        self._endings = tuple(sorted(_plain(each[1:]) for each in known.abbreviations if each[0] == "-"))
        abbreviations = [each for each in known.abbreviations if each[0] != "-"]
        groups = known.before_numbers, known.tokens, abbreviations
        self._tokens = dict(map(_token_of, itertools.chain(self.lexicon, *groups)))
        self._abbreviations, self._before_numbers = set(map(_plain, groups[2])), set(map(_plain, groups[0]))
        capital = {_token_of(each)[0] for each in itertools.chain(*groups) if each[0].isupper()}
        self._capitalised = capital - {_token_of(each)[0] for each in itertools.chain(*groups) if not each[0].isupper()}
        self._longest = max(map(len, self._tokens), default=0)

    @classmethod
    def of(cls, sentences: Iterable[Sentence], language: Language | None = None) -> UnicodeRules:
        """Return the rules for a language, with the irregular tokens of a treebank as their lexicon."""
        counts = Counter(_plain(form) for sentence in sentences for form in sentence.forms)
        own = language or Language("", "")
        sure = own.tokens | own.abbreviations | own.before_numbers

        def likely(form: str) -> bool:
            """Return whether a string with a full stop is an abbreviation, rather than a word and a full stop."""
            stem = form.removesuffix(".")
            return stem == form or counts[stem] < max(_FEW, counts[form] + 1)

        kept = sorted(form for form in counts if _is_irregular(form) and (form in sure or likely(form)))
        return cls(kept[:_MAX_LEXICON], language)

    def state(self) -> dict[str, Any]:
        """Return the rules as JSON values."""
        groups = {name: sorted(getattr(self.language, name)) for name in _GROUPS}
        known = {"code": self.language.code, "name": self.language.name, "suffixes": list(self.language.suffixes)}
        return {"lexicon": self.lexicon, "language": known | groups}

    @classmethod
    def from_state(cls, meta: dict[str, Any]) -> UnicodeRules:
        """Return the rules that `state` describes.

        Raises
        ------
        ModelError
            A string is invalid.
        """
        lexicon, known = check_strings(meta["lexicon"], TOKEN, "the segmenter's lexicon"), meta["language"]
        code, name = check_strings([known["code"], known["name"]], NAME, "the segmenter's language")
        groups = {
            group: frozenset(check_strings(known[group], _ENTRY, f"the segmenter's {group}")) for group in _GROUPS
        }
        suffixes = tuple(check_strings(known["suffixes"], _ENTRY, "the segmenter's suffixes"))
        return cls(lexicon, Language(code, name, suffixes=suffixes, **groups))

    def token_ends(self, text: str, layout: Text) -> np.ndarray:
        """Return whether a token ends at each character, bool[n]."""
        ends: list[int] = []
        found: dict[Any, list[int]] = {}
        starts, stops, blanks = layout.start.tolist(), layout.end.tolist(), layout.blanks.tolist()
        for c, (a, b) in enumerate(zip(starts, stops, strict=True)):
            chunk, context = text[a:b], (NOTHING, False)
            if chunk[-1] == ".":
                following = text[starts[c + 1] : stops[c + 1]] if blanks[c] not in (NO_BLANKS, PARAGRAPH) else ""
                context = self._context(following[:_LONGEST]), c == 0 or blanks[c - 1] >= BROKEN
            places = found.get((chunk, context))
            if places is None:
                split = _Chunk(chunk, layout.kind[a:b].tolist(), layout.fixed[a:b].tolist(), *context)
                places = list(self._split(split))
                if len(chunk) < 50:
                    found[chunk, context] = places
            ends += [a + place for place in places]
        marks = np.zeros(len(text), np.bool_)
        marks[ends] = True
        return marks

    def _context(self, following: str) -> int:
        """Return the kind of text that follows a chunk."""
        if not following:
            return NOTHING
        if following[0].isdigit():
            return NUMBERED
        if following[0].islower() or following[0] in ",;:)":
            return CONTINUED
        word = re.match(r"[\W_]*([^\W_]*)", following)
        return BEGUN if word and lowered(word[1]) in self.language.words else OTHER

    def _split(self, chunk: _Chunk) -> Iterator[int]:
        """Yield the position of the last character of each token of a chunk."""
        begin = 0
        while begin < len(chunk.text):
            last = self._special(chunk, begin)
            if last is None:
                last, known = self._run(chunk, begin), self._known(chunk, begin)
                end = begin + known[-1] - 1 if known else -1
                if known and not (chunk.kinds[begin] == DIGIT and end <= last):
                    yield from (begin + place - 1 for place in known[:-1])
                    last = self._run(chunk, end) if chunk.kinds[end] in WORD_KINDS else end
                else:
                    last = self._with_stop(chunk, begin, last)
                if last != end:
                    yield from self._suffix(chunk, begin, last)
            yield last
            begin = last + 1

    def _special(self, chunk: _Chunk, begin: int) -> int | None:
        """Return the last character of the emoticon, tag, name, year or acronym that begins here, or None."""
        text, kinds = chunk.text, chunk.kinds
        inner = begin > 0 and kinds[begin - 1] in WORD_KINDS
        if text[begin] in "#@" and not inner:
            last = begin
            while last + 1 < len(text) and (kinds[last + 1] in WORD_KINDS or chunk.fixed[last]):
                last += 1
            return last if any(kind in LETTERS for kind in kinds[begin + 1 : last + 1]) else None
        if kinds[begin] == APOSTROPHE and not inner and " '1" in self.language.patterns:
            year = _YEAR.match(text, begin + 1)
            if year:
                return year.end() - 1
        if not inner or text[begin] in ":;=":
            match = (_WITH_NOSE if inner else _EMOTICON).match(text, begin)
            match = match or (None if inner else _ACRONYM.match(text, begin))
            return match.end() - 1 if match else None
        return None

    def _run(self, chunk: _Chunk, begin: int) -> int:
        """Return the last character of the token that begins at ``begin``, by the rules alone."""
        last = begin
        while last + 1 < len(chunk.text) and chunk.joins(last, self.language.patterns):
            last += 1
        return last

    def _known(self, chunk: _Chunk, begin: int) -> tuple[int, ...]:
        """Return the ends, from ``begin``, of the tokens of the longest known string there; none if it cuts a word."""
        lower = chunk.lower
        for stop in range(min(len(lower), begin + self._longest), begin + 1, -1):
            whole = lower[begin:stop]
            if whole not in self._tokens or chunk.fixed[stop - 1]:
                continue
            if whole in self._capitalised and not chunk.text[begin].isupper():
                continue
            if whole in self._before_numbers and not (stop == len(lower) and chunk.context == NUMBERED):
                continue
            if stop < len(lower) and lower[stop - 1].isalnum() and lower[stop].isalnum():
                return ()
            return self._tokens[whole]
        return ()

    def _suffix(self, chunk: _Chunk, begin: int, last: int) -> Iterator[int]:
        """Yield the last character before a suffix that is a token of its own, if the token here has one."""
        for suffix in self.language.suffixes:
            if last - begin >= len(suffix) and chunk.lower.endswith(suffix, begin, last + 1):
                yield last - len(suffix)
                return

    def _with_stop(self, chunk: _Chunk, begin: int, last: int) -> int:
        """Return the last character of a token: that after ``last`` if it is a full stop or mark that belongs to it."""
        text, kinds, context = chunk.text, chunk.kinds, chunk.context
        if chunk.lower.endswith(self._endings, begin, last + 2) and text[last + 2 : last + 3] != ".":
            return last + 1
        if text[last + 1 : last + 2] != ".":
            side, mark = "1" if kinds[last] == DIGIT else "a", chunk.shape[last + 1 : last + 2]
            free = last + 2 >= len(text) or kinds[last + 2] not in WORD_KINDS and text[last + 2] != text[last + 1]
            return last + 1 if mark and free and f"{side}{mark} " in self.language.patterns else last
        at_end = last + 2 == len(text)
        if _NUMERAL.fullmatch(text, begin, last + 1):
            ordinal = "1. " in self.language.patterns
            goes_on = context == CONTINUED or (context == NUMBERED and last < begin + 2)
            goes_on = goes_on if at_end else kinds[last + 2] == COMMA
            item = at_end and chunk.begins_line and begin == 0 and last < 3 and context != NOTHING
            return last + 1 if (ordinal and goes_on) or item else last
        initial = begin == last and kinds[begin] == UPPER and self.language.words and context == OTHER
        clipped = context in (CONTINUED, NUMBERED) and _CLIPPED.fullmatch(chunk.lower, begin, last + 1)
        return last + 1 if at_end and (initial or clipped) else last

    def scores(self, text: str, layout: Text, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the score of a sentence end after each token, float32[T]: above 0 where a sentence ends."""
        blanks = np.full(len(start), NO_BLANKS, np.uint8)
        blanks[np.searchsorted(end, layout.end)] = layout.blanks
        if len(blanks):
            blanks[-1] = PARAGRAPH
        scores = np.where(blanks == PARAGRAPH, np.inf, np.where(blanks == BROKEN, -0.5, -2.0)).astype(np.float32)
        forms = [text[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)]
        first, attached = layout.kind[start], np.concatenate([[False], blanks[:-1] == NO_BLANKS]).tolist()
        closed = 0  # 1 after a full stop, 2 after another stop, perhaps with closing brackets behind it
        for index, form in enumerate(forms):
            if index and blanks[index - 1] == PARAGRAPH:
                closed = 0
            if _STOPS.fullmatch(form):
                closed = 1 if form == "." else 2
            elif not (closed and _goes_with_stop(form, attached[index])):
                closed = 0
                if form[-1] == "." and index + 1 < len(forms) and scores[index] < 0:
                    scores[index] = 1.0 if self._ends(form, forms[index + 1], first[index + 1]) else -1.0
                continue
            if index + 1 < len(forms) and scores[index] < 0:
                scores[index] = -0.1
                after, apart = forms[index + 1], blanks[index] != NO_BLANKS
                if first[index + 1] != LOWER and (apart or closed == 2) and not _continues(after, attached[index + 1]):
                    scores[index] = 1.0
        scores[(scores < np.inf) & (layout.decided[end - 1] & SENTENCE_GOES_ON > 0)] = -1.0
        return scores

    def _ends(self, form: str, after: str, kind: int) -> bool:
        """Return whether a sentence ends with an abbreviation that a word follows.

        It does before a capital, except after the abbreviations of the language; after capitalised ones, which may be
        part of a name, only before a frequent word.
        """
        lower, words = _plain(form), self.language.words
        if kind != UPPER or len(form) < 3 or not words or _ORDINAL.fullmatch(lower):
            return False
        if lower in self._abbreviations or lower in self._before_numbers or lower.endswith(self._endings):
            return False
        return form[0].islower() or lowered(after) in words


_SHAPES = {**dict.fromkeys(WORD_KINDS, "a"), DIGIT: "1", APOSTROPHE: "'", DASH: "-"}


class _Chunk:
    """A chunk to be split into tokens.

    ``kinds`` and ``fixed`` are those of its characters; ``context`` is the kind of text after it if it ends with a full
    stop; ``begins_line`` is true for the first chunk of a line that is not a continuation.  Its ``shape`` is in the
    notation of patterns.
    """

    def __init__(self, text: str, kinds: list[int], fixed: list[int], context: int, begins_line: bool):
        self.text, self.kinds, self.fixed, self.context, self.begins_line = text, kinds, fixed, context, begins_line
        self.lower, self.shape = _plain(text), "".join(map(_SHAPES.get, kinds, text))

    def joins(self, i: int, patterns: frozenset[str]) -> bool:
        """Return whether the characters ``i`` and ``i + 1`` belong to the same token."""
        text, kinds, shape = self.text, self.kinds, self.shape
        if self.fixed[i] or (kinds[i] in WORD_KINDS and kinds[i + 1] in WORD_KINDS):
            return True
        if shape[i : i + 3] in patterns or shape[i - 1 : i + 2] in patterns:
            return True
        return text[i] == text[i + 1] and kinds[i] != IDEOGRAPH and not (i and self.fixed[i - 1])


def _plain(form: str) -> str:
    """Return a form in lower case, its apostrophes straight."""
    return lowered(form).replace("’", "'")


def _token_of(entry: str) -> tuple[str, tuple[int, ...]]:
    """Return the string of an entry, its tokens written together, and their ends."""
    parts = _plain(entry).split()
    return "".join(parts), tuple(itertools.accumulate(map(len, parts)))


def _goes_with_stop(form: str, attached: bool) -> bool:
    """Return whether a token belongs to the sentence that a stop before it ends."""
    return bool(attached and _CLOSING.fullmatch(form)) or _EMOTICON.fullmatch(form) is not None


def _continues(form: str, attached: bool) -> bool:
    """Return whether a token after a stop continues its sentence."""
    return _goes_with_stop(form, attached) or _STOPS.fullmatch(form) is not None or form in ",;:"


def _is_irregular(form: str) -> bool:
    """Return whether a token has punctuation that the rules alone would cut off; numbers are never irregular."""
    if len(form) > _LONGEST or _NUMBER.fullmatch(form):
        return False
    found = characters(form)
    if found.kind.min() <= NEWLINE:
        return False
    chunk = _Chunk(form, found.kind.tolist(), found.joined.tolist(), NOTHING, False)
    return not all(chunk.joins(i, Language("", "").patterns) for i in range(len(form) - 1))
