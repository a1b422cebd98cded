"""A user's lexicon: what its entries say of the tokens of a text, and its state in a model."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.lexicon import LexiconEntry, LexiconWord, entry, read_lexicon
from nonproj.kernels.threads import LoadedOnce
from nonproj.linear.state import Fitted, Schema
from nonproj.text.characters import NEWLINE
from nonproj.text.layout import NO_BLANKS, PARAGRAPH, Text, hash_chunks
from nonproj.types import Int64s

_UNDIVIDED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
"""Scripts without blanks between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_WORD = re.compile(rf"[^\W{_UNDIVIDED}]+")
_RUN = re.compile(rf"{_WORD.pattern}|\S")

_SIZE = len(LexiconWord._fields)


class _Run(NamedTuple):
    """A word, or another character, of a text, and whether blanks precede it."""

    text: str
    start: int
    end: int
    apart: bool


class TokenMatch(NamedTuple):
    """A string of a text that is one token.

    Attributes
    ----------
    start, end : int
        It is ``text[start:end]``.
    bounded : bool
        Whether tokens end before it and with it: not so for words of letters and digits, which may be part of a token.
    """

    start: int
    end: int
    bounded: bool


@dataclass(frozen=True)
class UserLexicon(Fitted):
    """A lexicon by which a user says what some tokens are.

    An entry is found for a form as it is written or, if there is none, for the form with its first letter in lower
    case.

    Examples
    --------
    >>> lexicon = UserLexicon((entry("C++", [LexiconWord("C++")]), entry("approx.", [LexiconWord("approx.")])))
    >>> [match[:2] for match in lexicon.matches("Approx. half of C++, the rest C.")]
    [(0, 7), (16, 19)]
    """

    name: ClassVar[str] = "lexicon"
    schema: ClassVar[Schema] = Schema({"entries": list}, {})
    entries: tuple[LexiconEntry, ...]

    @classmethod
    def of(cls, source: str | Path | UserLexicon | None) -> UserLexicon | None:
        """Return the lexicon in a file, or the one that is given; errors as for `nonproj.io.lexicon.read_lexicon`."""
        return cls(tuple(dict.fromkeys(read_lexicon(source)))) if isinstance(source, str | Path) else source

    def over(self, other: UserLexicon | None) -> UserLexicon:
        """Return a lexicon with the entries of another for those tokens that this one lacks."""
        own = {each.token for each in self.entries}
        return UserLexicon(self.entries + tuple(each for each in (other or self).entries if each.token not in own))

    @LoadedOnce
    def _of_token(self) -> dict[str, list[LexiconEntry]]:
        """The entries of each token."""
        found = defaultdict[str, list[LexiconEntry]](list)
        for each in self.entries:
            found[_plain(each.token)].append(each)
        return dict(found)

    @LoadedOnce
    def _by_first_run(self) -> dict[str, list[list[_Run]]]:
        """The runs of the tokens by the first of them, long tokens first."""
        found = defaultdict[str, list[list[_Run]]](list)
        for token in sorted(self._of_token, key=len, reverse=True):
            for form in dict.fromkeys((token, token[0].upper() + token[1:])):
                runs = _runs(form)
                found[runs[0].text].append(runs)
        return dict(found)

    def entries_of(self, form: str) -> Sequence[LexiconEntry]:
        """Return the entries of a token."""
        plain, known = _plain(form), self._of_token
        return known.get(plain) or known.get(plain[:1].lower() + plain[1:]) or ()

    def words_of(self, form: str, words: Sequence[str]) -> list[tuple[LexiconWord, ...]]:
        """Return what is known of each word of a token by the entries with these words."""
        lower = [word.lower() for word in words]
        entries = [each.words for each in self.entries_of(form) if len(each.words) == len(words)]
        same = [own for own in entries if len(own) == 1 or [word.form.lower() for word in own] == lower]
        return list(zip(*same, strict=True)) or [()] * len(words)

    def ends_no_sentence(self, form: str) -> bool:
        """Return whether no sentence ends after a token."""
        entries = self.entries_of(form)
        return bool(entries) and all(map(attrgetter("ends_no_sentence"), entries))

    def matches(self, text: str, layout: Text | None = None) -> Iterator[TokenMatch]:
        """Yield the tokens of the lexicon in a text from left to right, of several that begin at a place the longest.

        Where there is a layout, they are within a paragraph, and neither begin nor end inside an address.
        """
        runs, known, last = _runs(_plain(text)), self._by_first_run, 0
        inside = set[int]() if layout is None else set((np.flatnonzero(layout.fixed) + 1).tolist())
        breaks = set[int]() if layout is None else set(layout.end[layout.blanks == PARAGRAPH].tolist())
        for i, first in enumerate(runs):
            if first.text not in known or first.start < last or first.start in inside:
                continue
            for parts in known[first.text]:
                found, behind = runs[i : i + len(parts)], runs[i + len(parts) : i + len(parts) + 2]
                bounded = len(parts) > 1 or not _WORD.fullmatch(first.text)
                same = [(run.text, run.apart) for run in found[1:]] == [(run.text, run.apart) for run in parts[1:]]
                if same and not any(run.end in breaks for run in found[:-1]) and not _goes_on(found, behind, bounded):
                    last = found[-1].end
                    if last not in inside:
                        yield TokenMatch(first.start, last, bounded)
                    break

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the entries as JSON values: token, end, and the columns of each word."""
        rows = [[each.token, each.ends, *(value for word in each.words for value in word)] for each in self.entries]
        return {"entries": rows}, {}

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> UserLexicon:
        """Return the inverse of `state`; raise `ModelError` if an entry is not valid."""
        entries = []
        for row in meta["entries"]:
            if type(row) is not list or len(row) % _SIZE != 2 or not all(type(value) is str for value in row):
                raise ModelError("an entry of the lexicon is not a list of strings, some for each word")
            words = [LexiconWord(*row[i : i + _SIZE]) for i in range(2, len(row), _SIZE)]
            try:
                entries.append(entry(row[0], words, row[1]))
            except ValueError as error:
                raise ModelError(f"the lexicon: {error}") from None
        return cls(tuple(entries))

    def to_json(self) -> str:
        """Return the entries as JSON."""
        return json.dumps(self.state()[0])

    @classmethod
    def from_json(cls, text: str) -> UserLexicon:
        """Return the inverse of `to_json`."""
        return cls.from_state(json.loads(text), {})


def with_tokens(layout: Text, matches: Sequence[TokenMatch]) -> tuple[Text, Int64s]:
    """Return a layout in which strings are one token, and the places, before characters, where tokens must end.

    No token ends inside them, and those that are bounded are chunks.
    """
    fixed, inside = layout.fixed.copy(), np.zeros(len(layout.fixed) + 1, np.bool_)
    for match in matches:
        fixed[match.start : match.end - 1] = 1
        inside[match.start + 1 : match.end] = match.bounded
    bounds = np.unique([place for match in matches if match.bounded for place in match[:2]]).astype(np.int64)
    solid = np.concatenate([[False], layout.kind > NEWLINE, [False]])  # of the character before each place
    start = np.union1d(layout.start[~inside[layout.start]], bounds[solid[bounds + 1]])
    end = np.union1d(layout.end[~inside[layout.end]], bounds[solid[bounds]])
    blanks = dict(zip(layout.end.tolist(), layout.blanks.tolist(), strict=True))
    flags = dict(zip(zip(layout.start.tolist(), layout.end.tolist(), strict=True), layout.flags.tolist(), strict=True))
    return layout._replace(
        start=start,
        end=end,
        blanks=np.array([blanks.get(place, NO_BLANKS) for place in end.tolist()], np.uint8),
        chunk=hash_chunks(layout.lower, start, end),
        flags=np.array([flags.get(pair, 0) for pair in zip(start.tolist(), end.tolist(), strict=True)], np.uint8),
        fixed=fixed,
    ), bounds


def _plain(form: str) -> str:
    """Return a form with straight apostrophes."""
    return form.replace("’", "'")


def _runs(text: str) -> list[_Run]:
    """Return the words and the other characters of a text, without blanks."""
    found, last = list[_Run](), 0
    for match in _RUN.finditer(text):
        found.append(_Run(match[0], match.start(), match.end(), match.start() > last))
        last = match.end()
    return found


def _goes_on(found: list[_Run], behind: list[_Run], bounded: bool) -> bool:
    """Return whether what is behind a match belongs to it: a sign once more, or an apostrophe and letters."""
    glued = [run.text for run in takewhile(lambda run: not run.apart, behind)]
    if bounded:
        return glued[:1] == [found[-1].text] and not glued[0].isalnum()
    return len(glued) == 2 and glued[0] == "'" and glued[1].isalpha()
