"""A user's lexicon: the entries of the tokens of a text, and its state in a model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.lexicon import LexiconEntry, LexiconWord, entry, read_lexicon
from nonproj.kernels.threads import LoadedOnce
from nonproj.linear.state import Fitted, Schema
from nonproj.text.characters import NEWLINE
from nonproj.text.layout import NO_BLANKS, PARAGRAPH, SENTENCE_GOES_ON, TOKEN_ENDS, Text
from nonproj.text.token_table import PADDING, token_table

_UNDIVIDED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
"""Scripts without blanks between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_LETTER = rf"[^\W{_UNDIVIDED}]"
_WORD, _RUN = re.compile(f"{_LETTER}+"), re.compile(rf"{_LETTER}+|\S")

_GOES_ON = re.compile(rf".'[^\W\d_]|{_LETTER}{{2}}"), re.compile(rf"(\W)\1|{_LETTER}{{2}}")
"""Patterns from a match's last character on if the token goes on behind it: for words, and for strings with signs."""


class TokenMatch(NamedTuple):
    """A string of a text that is one token.

    Attributes
    ----------
    start, end : int
        It is ``text[start:end]``.
    bounded : bool
        Whether tokens end before it and with it; False for words of letters and digits, which may be part of a token.
    goes_on : bool
        Whether no sentence ends with it.
    """

    start: int
    end: int
    bounded: bool
    goes_on: bool


@dataclass(frozen=True)
class UserLexicon(Fitted):
    """A user's lexicon of tokens.

    An entry is found for a form as it is written and, unless there is another for that, for the form with its first
    letter as a capital.

    Examples
    --------
    >>> from nonproj.text.layout import lay_out
    >>> lexicon = UserLexicon((entry("C++", [LexiconWord("C++")]), entry("approx.", [LexiconWord("approx.")])))
    >>> text = "Approx. half of C++, the rest C."
    >>> [match[:2] for match in lexicon.matches(text, lay_out(text))]
    [(0, 7), (16, 19)]
    """

    name: ClassVar[str] = "lexicon"
    schema: ClassVar[Schema] = Schema({"entries": list}, {})
    entries: tuple[LexiconEntry, ...]

    @classmethod
    def of(cls, source: LexiconSource) -> UserLexicon | None:
        """Return the lexicon in a file, or the given lexicon; errors as for `nonproj.io.lexicon.read_lexicon`."""
        return cls(tuple(dict.fromkeys(read_lexicon(source)))) if isinstance(source, str | Path) else source

    def over(self, other: UserLexicon | None) -> UserLexicon:
        """Return this lexicon, with the entries of another for tokens that it lacks."""
        own = {each.token for each in self.entries}
        return UserLexicon(self.entries + tuple(each for each in (other or self).entries if each.token not in own))

    @LoadedOnce
    def _of_form(self) -> dict[str, list[LexiconEntry]]:
        """The entries of each form."""
        found = defaultdict[str, list[LexiconEntry]](list)
        for each in self.entries:
            found[_plain(each.token)].append(each)
        return {form[0].upper() + form[1:]: own for form, own in found.items()} | found

    @LoadedOnce
    def _by_run(self) -> dict[str, list[str]]:
        """The forms by the word or other character with which they begin, long forms first."""
        found = defaultdict[str, list[str]](list)
        for form in sorted(self._of_form, key=len, reverse=True):
            found[_RUN.findall(form)[0]].append(form)
        return dict(found)

    def entries_of(self, form: str) -> Sequence[LexiconEntry]:
        """Return the entries of a token."""
        return self._of_form.get(_plain(form), ())

    def words_of(self, form: str, words: Sequence[str]) -> list[tuple[LexiconWord, ...]]:
        """Return, for each word of a token, its columns in the token's entries with these words, or else in its own."""
        entries, lower = [each.words for each in self.entries_of(form)], [word.lower() for word in words]
        if same := [own for own in entries if [word.form.lower() for word in own] == lower]:
            return list(zip(*same, strict=True))
        return [tuple(each.words[0] for each in self.entries_of(word) if len(each.words) < 2) for word in words]

    def matches(self, text: str, layout: Text) -> Iterator[TokenMatch]:
        """Yield the tokens of the lexicon in a text from left to right, the longest of those that begin at one place.

        They are within a paragraph, and neither begin nor end inside an address.  A line end is a blank.
        """
        plain, known, last = re.sub(r"\s", " ", _plain(text)), self._by_run, 0
        inside = set((np.flatnonzero(layout.fixed) + 1).tolist())
        breaks = set(layout.end[layout.blanks == PARAGRAPH].tolist())
        for run in _RUN.finditer(plain):
            for form in known.get(run[0], ()):
                start, end, bounded = run.start(), run.start() + len(form), not _WORD.fullmatch(form)
                fits = start >= last and plain.startswith(form, start) and not _GOES_ON[bounded].match(plain, end - 1)
                if fits and inside.isdisjoint((start, end)) and breaks.isdisjoint(range(start + 1, end)):
                    last = end
                    yield TokenMatch(start, end, bounded, all(each.ends == "No" for each in self._of_form[form]))
                    break

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the entries as JSON values: token, end, and the columns of each word."""
        return {"entries": [[each.token, each.ends, *map(list, each.words)] for each in self.entries]}, {}

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> UserLexicon:
        """Return the lexicon that `state` describes; raise `ModelError` if an entry is not valid."""
        entries = []
        try:
            for token, ends, *rows in meta["entries"]:
                entries.append(entry(token, [LexiconWord(*row) for row in rows], ends))
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelError(f"the lexicon cannot be used: {error}") from None
        return cls(tuple(entries))


LexiconSource: TypeAlias = str | Path | UserLexicon | None
"""A lexicon, or the file of one."""


def with_tokens(layout: Text, matches: Iterable[TokenMatch]) -> Text:
    """Return a layout in which no token ends inside the matches, and bounded ones are chunks."""
    n, fixed, decided, solid = len(layout.fixed), layout.fixed.copy(), layout.decided.copy(), layout.kind > NEWLINE
    inside, bound = np.zeros(n + 1, np.bool_), np.zeros(n + 1, np.bool_)
    for match in matches:
        fixed[match.start : match.end - 1] = 1
        inside[match.start + 1 : match.end] = match.bounded
        bound[[match.start, match.end]] |= match.bounded
        decided[match.end - 1] = SENTENCE_GOES_ON * match.goes_on
    begins, ends = bound.copy(), bound.copy()
    begins[layout.start], ends[layout.end] = True, True
    start = np.flatnonzero(begins[:-1] & ~inside[:-1] & solid)
    end = np.flatnonzero(ends[1:] & ~inside[1:] & solid) + 1
    before = np.searchsorted(end, np.flatnonzero(bound), "right")  # number of chunks that end at each place or before
    decided[end[before[before > 0] - 1] - 1] |= TOKEN_ENDS
    old = np.searchsorted(layout.end, end)  # the chunks that they are parts of
    blanks = np.where(layout.end[old] == end, layout.blanks[old], np.uint8(NO_BLANKS))
    found = layout._replace(start=start, end=end, blanks=blanks, flags=layout.flags[old], fixed=fixed, decided=decided)
    return found._replace(chunk=token_table(layout, start, end)[0][PADDING:-PADDING])


def _plain(form: str) -> str:
    """Return a form with straight apostrophes."""
    return form.replace("’", "'")
