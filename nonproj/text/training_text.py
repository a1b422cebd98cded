"""The raw text of a treebank with its gold tokens, and its division into folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nonproj.text.characters import NEWLINE
from nonproj.text.corpus import RawText, SurfaceToken
from nonproj.text.layout import lay_out, spans
from nonproj.text.token_table import TokenTable, token_table
from nonproj.text.tokens import ALWAYS
from nonproj.text.words import join_units

FOLDS = 5
"""Number of folds; word statistics are counted on the other folds, because a rare word's own would reveal its uses."""

_LEAST_JOINED, _MIN_JOINED = 5, 0.0005
"""Minimum number of words with blanks in a treebank, and minimum share of these, for training the model of words."""


class TrainingText:
    """A raw text with its layout and gold units and tokens.

    Parameters
    ----------
    raw : RawText
    candidate : ndarray, optional
        Passed to `divide`.
    """

    def __init__(self, raw: RawText, candidate: np.ndarray | None = None):
        self.raw, self.layout = raw, lay_out(raw.text)
        if candidate is not None:
            self.divide(candidate)

    def divide(self, candidate: np.ndarray) -> None:
        """Find units and tokens, given the separation of kinds of characters: see `nonproj.text.tokens.TokenModel`."""
        raw, kind = self.raw, self.layout.kind
        ends = raw.token_ends.copy()
        ends[:-1] |= candidate[kind[:-1], kind[1:]] == ALWAYS
        self.units = spans(self.layout, ends)
        self.joins = ~raw.token_ends[self.units[1] - 1]
        first, last = join_units(*self.units, np.where(self.joins, np.float32(1), np.float32(-1)))
        self.start, self.end = self.units[0][first], self.units[1][last]
        self.sentence_ends, self.tags = raw.sentence_ends[self.end - 1], raw.tags[self.end - 1]

    def has_words_with_blanks(self) -> bool:
        """Return whether enough words contain blanks to learn them."""
        after = np.minimum(self.units[1], len(self.layout.kind) - 1)
        count = np.count_nonzero(self.joins & (self.layout.kind[after] <= NEWLINE))
        return bool(count >= _LEAST_JOINED and count >= _MIN_JOINED * len(self.start))

    def unit_table(self) -> TokenTable:
        """Return the table of the gold units."""
        return TokenTable(*token_table(self.layout, *self.units))

    def table(self) -> TokenTable:
        """Return the table of the gold tokens."""
        return TokenTable(*token_table(self.layout, self.start, self.end))


def folds_of(paragraphs: Sequence[list[list[SurfaceToken]]]) -> list[list[list[list[SurfaceToken]]]]:
    """Return paragraphs in folds of equal numbers of sentences, which may cut a paragraph.

    Examples
    --------
    >>> [len(paragraph) for fold in folds_of([[[]] * 6, [[]] * 4]) for paragraph in fold]
    [2, 2, 2, 2, 2]
    """
    count = sum(len(paragraph) for paragraph in paragraphs)
    number = min(FOLDS, count)
    folds: list[list[list[list[SurfaceToken]]]] = [[] for _ in range(number)]
    position = 0
    for paragraph in paragraphs:
        fold = -1
        for sentence in paragraph:
            if position * number // count != fold:
                fold = position * number // count
                folds[fold].append([])
            folds[fold][-1].append(sentence)
            position += 1
    return folds
