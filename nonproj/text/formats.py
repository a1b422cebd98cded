"""The formats of plain text, the options of reading it, and its pieces."""

from __future__ import annotations

from typing import NamedTuple

from nonproj.errors import ConfigError

TEXT, LINES, WORDS, TOKENS = FORMATS = ("text", "lines", "words", "tokens")
"""Running text; a sentence per line; a sentence per line, words between blanks; running text, words between blanks."""

RUNNING, GIVEN_WORDS = (TEXT, TOKENS), (WORDS, TOKENS)
"""The formats of running text, without a sentence on each line; those with words that blanks separate."""

MAX_LINE_WORDS = 1000
"""Maximum number of words of a sentence if the input has one on each line; longer lines are cut."""


class TextInput(NamedTuple):
    """Options of reading text.

    Attributes
    ----------
    format : str
        One of `FORMATS`.
    ranges : bool
        Whether the characters of each token are written to MISC, as ``TokenRange=first:last``.
    max_words : int
        Maximum number of words of a sentence; longer ones are cut where a sentence end is most probable.
    breaks : bool
        Whether a line break always ends a sentence of running text; a line may still hold several.
    """

    format: str = TEXT
    ranges: bool = False
    max_words: int = MAX_LINE_WORDS
    breaks: bool = False

    def within(self, cut_words: int, max_words: int) -> TextInput:
        """Return these options with the limits of a parser on ``max_words``; ``cut_words`` limits only running text.

        Parameters
        ----------
        cut_words, max_words : int
            As in `nonproj.options.sections.DecodingConfig`.
        """
        limit = min(self.max_words, max_words)
        return self._replace(max_words=min(limit, cut_words) if self.format in RUNNING else limit)

    def check(self) -> TextInput:
        """Return these options, or raise ConfigError."""
        if self.format not in FORMATS:
            raise ConfigError("format", f"{self.format} is invalid, one of {', '.join(FORMATS)} expected")
        if self.breaks and self.format not in RUNNING:
            raise ConfigError("breaks", f"is about running text; in the format {self.format} each line is a sentence")
        if self.max_words < 2:
            raise ConfigError("max_words", f"{self.max_words} is invalid, an integer of at least 2 expected")
        return self


class TextPiece(NamedTuple):
    """Some consecutive paragraphs or lines of a text: one task of a worker.

    Attributes
    ----------
    text : str
    path, line, offset : str, int, int
        The file; the number, from 1, of the first line; the number of characters before it.
    begins : bool
        Whether the text begins a paragraph.
    """

    text: str
    path: str = "<text>"
    line: int = 1
    offset: int = 0
    begins: bool = True
