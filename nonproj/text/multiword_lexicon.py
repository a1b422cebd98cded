"""Lexicon of the words inside tokens, and the segments that may be words in a token.

A *known* segment is a word in several multiword tokens, and in enough of all tokens that begin or end with it.  Every
other one is *open*.  An analysis of a token is a path through its segments without two adjacent open ones; tokens are
also analysed as a whole: as one word, or, if they were multiword tokens in training, as their words there.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.strings import LONGEST_EXPANSION, MOST_WORDS, MULTIWORD, check_strings, fits
from nonproj.linear.hashing import hash_texts
from nonproj.linear.state import Schema
from nonproj.text.characters import lowered
from nonproj.text.multiword_segments import COPY, Edit, edit_of, without_acutes

WHOLE, REMEMBERED, KNOWN, OPEN = range(4)
"""Kinds of segments: a token as one word, a token as its words in training, and known and open segments of it."""

ALONE, FIRST, INNER, LAST = range(4)
"""Places of segments in their token."""

LONGEST, LONGEST_TOKEN = 24, 40
"""Maximum lengths of a segment, and of a token with segments, in characters."""

MIN_TOKENS, MIN_SHARE = 2, 0.1
"""Minimum number of different multiword tokens in which a known segment is a word, or an edit of other segments occurs;
and minimum share of the tokens that begin or end with the segment."""

MOST_READINGS = 16
"""Maximum number of words of one segment in training, and of edits that fit the same segments."""

_MOST_COUNTED = 1 << 31
_ACCENTS = 200
"""Lowest canonical combining class of marks above and below, such as Hebrew accents; vowels have lower ones."""

_OWNER = "the segmenter's multiword tokens"

_UNKNOWN = 0, 0

Words = tuple[str, ...]
_CountedEdit = tuple[Edit, int, list[int]]
"""An edit, its hash, and the numbers of tokens in which it makes the first word, an inner one and the last one."""


class Segment(NamedTuple):
    """A segment of a token that may be a word, or several as a whole.

    Attributes
    ----------
    begin, end : int
        Its characters in the token without silent marks.
    kind, place : int
    edit, word : int
        Hashes of the edit (for a `REMEMBERED` token, its number of words), and of the word, if that is known.
    frequency, known : int
        Classes of counts: of the segment as these words; and as a token of one word (`WHOLE`: several; open: the word).
    words : tuple of str
        In lower case.
    """

    begin: int
    end: int
    kind: int
    place: int
    edit: int
    word: int
    frequency: int
    known: int
    words: Words


class Counted(NamedTuple):
    """A word of a segment in training.

    Attributes
    ----------
    word : str
    counts : tuple of three int
        Numbers of different tokens with it as the first word, an inner one and the last one.
    known : bool
        Whether the segment is a known one.
    """

    word: str
    counts: tuple[int, int, int]
    known: bool


def count_class(count: int) -> int:
    """Return a class for a count, from 0 to 5.

    Examples
    --------
    >>> [count_class(count) for count in (0, 1, 2, 5, 20, 100)]
    [0, 1, 2, 3, 4, 5]
    """
    return bisect_right((1, 2, 4, 10, 30), count)


def silent_marks(tokens: Iterable[tuple[str, Words]]) -> str:
    """Return the combining marks of multiword tokens that their words hardly ever have.

    Examples
    --------
    >>> silent_marks([("\\u05d5\\u05b0\\u05d0", ("\\u05d5", "\\u05d0"))]) == "\\u05b0"
    True
    """
    written, kept = Counter[str](), Counter[str]()
    for form, words in tokens:
        if words:
            written.update(form)
            kept.update("".join(words))
    marks = [c for c in written if unicodedata.category(c)[0] == "M" and kept[c] < 0.05 * written[c]]
    return "".join(sorted(marks))


class MultiwordLexicon:
    """Lexicon of the words inside tokens.

    Attributes
    ----------
    marks : str
        The silent marks.
    entries : dict of str to list of (tuple of str, int)
        For multiword tokens, in lower case and without silent marks, their words and the counts of these.
    segments : dict of str to list of Counted
        The words of segments in training.
    tokens : dict of str to int
        Classes of the counts of tokens that are one word.
    """

    schema: ClassVar[Schema] = Schema({"marks": str, "entries": list, "segments": list, "tokens": list}, {})

    def __init__(
        self,
        marks: str,
        entries: dict[str, list[tuple[Words, int]]],
        segments: dict[str, list[Counted]],
        tokens: dict[str, int],
    ):
        self.marks, self.entries, self.segments, self.tokens = marks, entries, segments, tokens
        self._productive = {segment for segment, found in segments.items() if found[0].known}
        self._lengths = sorted({*map(len, self._productive)}, reverse=True)
        words, edits = Counter[str](), dict[Edit, list[int]]()
        for segment, found in segments.items():
            for word, counts, _ in found:
                words[word] += sum(counts)
                total = edits.setdefault(edit_of(segment, word), [0, 0, 0])
                total[:] = np.add(total, counts).tolist()
        self._words = {word: (key, count_class(words[word])) for word, key in zip(words, _hashes(words), strict=True)}
        texts = ["\t".join(map(str, edit)) for edit in edits]
        self._keys = dict(zip(edits, _hashes(texts), strict=True))
        self._edits: dict[tuple[bool, str, str], list[_CountedEdit]] = defaultdict(list)
        for edit, counts in sorted(edits.items(), key=lambda item: -sum(item[1])):
            fitting = self._edits[edit.unaccented, edit.front, edit.back]
            if len(fitting) < MOST_READINGS and (edit == COPY or sum(counts) >= MIN_TOKENS):
                fitting.append((edit, self._keys[edit], counts))
        self._sizes = sorted({(unaccented, len(front), len(back)) for unaccented, front, back in self._edits})
        self._ready = {
            (segment, place): [*self._known(segment, place)]
            for segment in self._productive
            for place in (FIRST, INNER, LAST)
        }

    @classmethod
    def fit(
        cls, tokens: Mapping[tuple[str, Words], int], ends: Mapping[tuple[str, Words], Sequence[int]], marks: str
    ) -> MultiwordLexicon:
        """Learn from the counts of tokens with their words, in lower case and without marks, and from their segments.

        Parameters
        ----------
        tokens : mapping of (str, tuple of str) to int
            Count of each token with its words, which are left out if it is one word.
        ends : mapping of (str, tuple of str) to sequence of int
            Result of `nonproj.text.multiword_segments.divisions`.
        marks : str
        """
        entries: dict[str, list[tuple[Words, int]]] = defaultdict(list)
        found: dict[str, dict[str, list[int]]] = defaultdict(dict)
        for (form, words), count in tokens.items():
            if not words or not _fit(form, words):
                continue
            entries[form].append((words, count))
            places = zip((0, *ends[form, words]), ends[form, words], words, strict=False)
            for number, (begin, end, word) in enumerate(places):
                counts = found[form[begin:end]].setdefault(word, [0, 0, 0])
                counts[0 if not number else 2 if end == len(form) else 1] += 1
        known = _known_segments(found, {form for form, _ in tokens})
        segments = {}
        for segment, words_of in found.items():
            frequent = sorted(words_of.items(), key=lambda item: -sum(item[1]))[:MOST_READINGS]
            segments[segment] = [Counted(word, (c[0], c[1], c[2]), segment in known) for word, c in frequent]
        single = {form: count_class(count) for (form, words), count in tokens.items() if not words}
        single = {form: count for form, count in single.items() if (known and fits(form, MULTIWORD)) or form in entries}
        return cls(marks, dict(entries), segments, single)

    def plain(self, form: str) -> str:
        """Return a token in lower case and without silent marks."""
        return without_marks(form, self.marks)[0]

    def affix(self, plain: str) -> str:
        """Return the longest known segment at a token's end, or else at its beginning, with ``+``; empty if none."""
        lengths = [length for length in self._lengths if length < len(plain)]
        ends = (plain[-length:] for length in lengths if plain[-length:] in self._productive)
        begins = (f"{plain[:length]}+" for length in lengths if plain[:length] in self._productive)
        return next(ends, None) or next(begins, "")

    def alternatives(self, plain: str, divisible: bool = True) -> list[Segment]:
        """Return the segments of a token without silent marks, sorted by begin; the first one is the whole token.

        Parameters
        ----------
        plain : str
        divisible : bool
            Whether the token may have other words than in training.
        """
        entries = self.entries.get(plain, ())
        single = self.tokens.get(plain, 0)
        total = count_class(sum(count for _, count in entries))
        found = [Segment(0, len(plain), WHOLE, ALONE, 0, 0, single, total, ())]
        for words, count in entries:
            row = len(words), 0, count_class(count), single
            found.append(Segment(0, len(plain), REMEMBERED, ALONE, *row, words))
        if divisible and len(plain) <= LONGEST_TOKEN and self.affix(plain):
            found += self._inside(plain)
        return found

    def _inside(self, form: str) -> Iterator[Segment]:
        """Yield the segments inside a token that are on a path (see the module's docstring)."""
        n = len(form)
        ends = [{b + k for k in self._lengths if form[b : b + k] in self._productive and b + k <= n} for b in range(n)]
        ends[0].discard(n)
        left, right = {0}, {n}
        for b in range(n):
            if b in left:
                left |= ends[b]
        for b in range(n - 1, -1, -1):
            if not right.isdisjoint(ends[b]):
                right.add(b)
        for b in range(n):
            for e in sorted(right) if b in left else ():
                if b < e <= b + LONGEST and e not in ends[b] and e - b < n:
                    yield from self._open(form[b:e], b, LAST if e == n else INNER if b else FIRST)
            for e in ends[b] if b in left else ends[b] & right:
                place = LAST if e == n else INNER if b else FIRST
                yield from (Segment(b, e, *row) for row in self._ready[form[b:e], place])

    def _known(self, segment: str, place: int) -> Iterator[tuple[Any, ...]]:
        """Yield the words of a known segment, as the fields of a `Segment` after ``begin`` and ``end``."""
        known = self.tokens.get(segment, 0)
        for word, counts, _ in self.segments[segment]:
            frequency = 8 * count_class(counts[place - 1]) + count_class(sum(counts))
            edit = self._keys[edit_of(segment, word)]
            yield KNOWN, place, edit, self._words[word][0], frequency, known, (word,)

    def _open(self, segment: str, begin: int, place: int) -> Iterator[Segment]:
        """Yield the words of an open segment: those in training, and those by edits."""
        end, seen, tokens = begin + len(segment), set[str](), self.tokens
        for word, _, _ in self.segments.get(segment, ()):
            seen.add(word)
            edit, key = self._keys[edit_of(segment, word)], self._words[word][0]
            yield Segment(begin, end, OPEN, place, edit, key, 7, tokens.get(word, 0), (word,))
        for edit, hashed, counts in self._fitting(segment):
            word = edit.apply(segment)
            if counts[place - 1] and word not in seen:
                seen.add(word)
                key, frequency = self._words.get(word, _UNKNOWN)
                yield Segment(begin, end, OPEN, place, hashed, key, frequency, tokens.get(word, 0), (word,))

    def _fitting(self, segment: str) -> list[_CountedEdit]:
        """Return the edits that fit a segment and do not replace all of it."""
        found: list[_CountedEdit] = []
        n, plain = len(segment), without_acutes(segment)
        for unaccented, front, back in self._sizes:
            if front + back < n and (plain != segment or not unaccented):
                source = plain if unaccented else segment
                found += self._edits.get((unaccented, source[:front], source[n - back :]), ())
        return found

    def state(self) -> dict[str, Any]:
        """Return the lexicon as JSON values."""
        entries = [[form, list(words), count] for form, found in self.entries.items() for words, count in found]
        segments = [
            [segment, word, *counts, known] for segment, found in self.segments.items() for word, counts, known in found
        ]
        return {
            "marks": self.marks,
            "entries": entries,
            "segments": segments,
            "tokens": list(map(list, self.tokens.items())),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> MultiwordLexicon:
        """Return the lexicon that `state` describes.

        Raises
        ------
        ModelError
            An entry, a segment or a token is malformed.
        """
        check_strings(list(state["marks"]), MULTIWORD, _OWNER)
        entries: dict[str, list[tuple[Words, int]]] = defaultdict(list)
        for form, words, count in _rows(state["entries"], (str, list, int)):
            entries[form].append((_words(words, form), _counted(count)))
        segments: dict[str, list[Counted]] = defaultdict(list)
        for segment, word, first, inner, last, known in _rows(state["segments"], (str, str, int, int, int, bool)):
            check_strings([segment, word], MULTIWORD, _OWNER)
            segments[segment].append(Counted(word, (_counted(first), _counted(inner), _counted(last)), known))
        if max(map(len, segments.values()), default=0) > MOST_READINGS:
            raise ModelError(f"{_OWNER} have a segment with more than {MOST_READINGS} words")
        tokens = {form: _counted(count) for form, count in _rows(state["tokens"], (str, int))}
        check_strings(list(tokens), MULTIWORD, _OWNER)
        return cls(state["marks"], dict(entries), dict(segments), tokens)


def without_marks(form: str, marks: str) -> tuple[str, list[int]]:
    """Return a token in lower case without ``marks``, and for each character left, a hash of its vowels among them.

    Examples
    --------
    >>> without_marks("Ab", ""), without_marks("\\u05d5\\u05b0\\u0591", "\\u05b0\\u0591") == ("\\u05d5", [0x5B0])
    (('ab', [0, 0]), True)
    """
    lower = lowered(form)
    if not marks:
        return lower, [0] * len(lower)
    kept: list[str] = []
    vowels: list[int] = []
    for character in lower:
        if character not in marks or not kept:
            kept.append(character)
            vowels.append(0)
        elif unicodedata.combining(character) < _ACCENTS:
            vowels[-1] = (vowels[-1] * 31 + ord(character)) % (1 << 32)
    return "".join(kept), vowels


def _hashes(texts: Iterable[str]) -> list[int]:
    found: list[int] = hash_texts(list(texts)).tolist()
    return found


def _known_segments(found: Mapping[str, Mapping[str, Sequence[int]]], forms: Iterable[str]) -> set[str]:
    """Return the known segments, by `MIN_TOKENS` and `MIN_SHARE`."""
    begins, ends = Counter[str](), Counter[str]()
    for form in forms:
        for length in range(1, min(len(form), LONGEST + 1)):
            begins[form[:length]] += 1
            ends[form[-length:]] += 1
    known = set()
    for segment, words in found.items():
        first, inner, last = np.sum(list(words.values()), axis=0).tolist()
        shares = (first, begins[segment]), (last, ends[segment])
        often = any(part and part >= MIN_SHARE * whole for part, whole in shares) or inner >= MIN_TOKENS
        if often and first + inner + last >= MIN_TOKENS:
            known.add(segment)
    return known


def _fit(form: str, words: Sequence[str]) -> bool:
    """Return whether a token and its words are within the limits of a model."""
    short = len(words) <= MOST_WORDS and sum(map(len, words)) <= LONGEST_EXPANSION
    return short and all(fits(text, MULTIWORD) for text in (form, *words))


def _rows(rows: list[Any], types: tuple[type, ...]) -> list[list[Any]]:
    """Return the rows of a model; raise `ModelError` unless they are lists of these types."""
    if len(rows) > MULTIWORD.most:
        raise ModelError(f"{_OWNER} are more than {MULTIWORD.most}")
    if not all(type(row) is list and tuple(map(type, row)) == types for row in rows):
        raise ModelError(f"{_OWNER} are not lists of {', '.join(kind.__name__ for kind in types)}")
    return rows


def _counted(count: int) -> int:
    """Return a count in a model; raise `ModelError` if it is not one."""
    if not 0 <= count < _MOST_COUNTED:
        raise ModelError(f"{_OWNER} have a count of {count}")
    return count


def _words(words: list[Any], form: str) -> Words:
    """Return the words of a token; raise `ModelError` if token or words exceed the limits."""
    check_strings([form, *words], MULTIWORD, _OWNER)
    if not 2 <= len(words) <= MOST_WORDS or sum(map(len, words)) > LONGEST_EXPANSION:
        limits = f"2 to {MOST_WORDS} words of up to {LONGEST_EXPANSION} characters together are allowed"
        raise ModelError(f"{_OWNER}: {len(words)} words of {sum(map(len, words))} characters; {limits}")
    return tuple(words)
