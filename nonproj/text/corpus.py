"""Raw text with its tokens and sentences, from a treebank that marks blanks.

The sentences of a paragraph are joined by a blank, unless the last token of a sentence has ``SpaceAfter=No``; lines are
filled to 80 characters and paragraphs separated by a blank line, as in the raw texts of the CoNLL 2018 shared task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.io.copies import surface_tokens
from nonproj.types import Sentence

LINE = 80
"""Maximum length of a line, in characters."""

LEAST_SHARE = 0.1
"""Minimum share of sentences that mark blanks in a treebank with raw text; with ``# text``, all do."""


class SurfaceToken(NamedTuple):
    """A token as it stands in the text.

    Attributes
    ----------
    form : str
    blank : bool
        Whether a blank follows.
    words : tuple of str
        The words of a multiword token; empty for a word.
    tag : int
        Class by `word_class`; for a multiword token, that of its first verb, or else of its first word.
    """

    form: str
    blank: bool
    words: tuple[str, ...] = ()
    tag: int = 0


_TAGS = (
    "", "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
)  # fmt: skip

N_CLASSES = 2 * len(_TAGS) + 1
"""Number of classes of words."""


def word_class(row: Sequence[str]) -> int:
    """Return a class of a word by the columns UPOS and FEATS: 0 without UPOS, even for finite verbs, odd for others.

    Where FEATS does not mark finite verbs, all verbs count as finite.

    Examples
    --------
    >>> [word_class(["1", "regner", "_", upos, "_", feats]) for upos, feats in (("VERB", "VerbForm=Fin"), ("X", "_"))]
    [32, 35]
    """
    if row[3] not in _TAGS[1:]:
        return 0
    finite = row[3] in ("VERB", "AUX") and ("VerbForm=Fin" in row[5] or "VerbForm" not in row[5])
    return 2 * _TAGS.index(row[3]) + (0 if finite else 1)


_PARAGRAPH = re.compile(r"#\s*new(par|doc)\b")
_TEXT = re.compile(r"#\s*text\s*=")


def surface(sentence: Sentence) -> list[SurfaceToken]:
    """Return the tokens of a sentence: words, and multiword tokens in place of their words.

    Examples
    --------
    >>> import io
    >>> from nonproj.io import conll
    >>> rest = "\\t_" * 7
    >>> lines = f"1-2\\tdon't{rest}\\tSpaceAfter=No\\n1\\tdo{rest}\\t_\\n2\\tn't{rest}\\t_\\n3\\t.{rest}\\t_\\n"
    >>> [(token.form, token.blank, token.words) for token in surface(next(conll.read(io.StringIO(lines))))]
    [("don't", False, ('do', "n't")), ('.', True, ())]
    """
    found, first = [], 0
    for form, misc, count in surface_tokens(sentence):
        rows = sentence.rows[first : first + count]
        words = tuple(row[1] for row in rows) if count > 1 else ()
        classes = [word_class(row) for row in rows]
        tag = next((c for c in classes if c and c % 2 == 0), classes[0])
        found.append(SurfaceToken(form, "SpaceAfter=No" not in misc.split("|"), words, tag))
        first += count
    return found


def has_raw_text(sentences: Iterable[Sentence]) -> bool:
    """Return whether a treebank marks where its text has blanks, by ``SpaceAfter=No`` or comments ``# text``.

    At least `LEAST_SHARE` of its sentences must do so: else models would learn from words joined by blanks.
    """
    found = [any("SpaceAfter=No" in line or _TEXT.match(line) for line in sentence.lines) for sentence in sentences]
    return any(found) and sum(found) >= LEAST_SHARE * len(found)


def paragraphs(sentences: Iterable[Sentence]) -> list[list[list[SurfaceToken]]]:
    """Return the tokens of each sentence of each paragraph."""
    found: list[list[list[SurfaceToken]]] = []
    for sentence in sentences:
        if not found or any(_PARAGRAPH.match(line) for line in sentence.lines):
            found.append([])
        found[-1].append(surface(sentence))
    return found


class RawText(NamedTuple):
    """A text with its gold segmentation.

    Attributes
    ----------
    text : str
    token_ends, sentence_ends : ndarray of shape (n,), bool
        Whether a character is the last of a token, or of a sentence.
    tags : ndarray of shape (n,), uint8
        The class of each token, at its last character.
    """

    text: str
    token_ends: np.ndarray
    sentence_ends: np.ndarray
    tags: np.ndarray


def raw_text(paragraphs: Sequence[list[list[SurfaceToken]]], random: np.random.Generator | None = None) -> RawText:
    """Return the text of some paragraphs.

    Parameters
    ----------
    paragraphs : sequence
        Result of `paragraphs`.
    random : Generator, optional
        Varies the text, so that it resembles text from other sources: lines of other lengths, or one for each
        sentence, and some of these sentences without their final full stop.

    Examples
    --------
    >>> first = [[SurfaceToken("Hej", False), SurfaceToken("!", True)], [SurfaceToken("Ja", True)]]
    >>> raw = raw_text([first, [[SurfaceToken("Nej", True)]]])
    >>> raw.text, np.flatnonzero(raw.token_ends).tolist(), np.flatnonzero(raw.sentence_ends).tolist()
    ('Hej! Ja\\n\\nNej\\n', [2, 3, 6, 11], [3, 6, 11])
    """
    pieces, position = list[str](), 0
    token_ends, sentence_ends, classes = list[int](), list[int](), list[int]()
    for paragraph in paragraphs:
        separate, width, column = False, LINE, 0
        if random is not None:
            separate, width = random.random() < 0.4, int(random.choice([40, 65, 72, 100, 10**9]))
        for sentence in paragraph:
            tokens, words = sentence, ""
            if random is not None and separate and len(tokens) > 3 and tokens[-1].form == "." and random.random() < 0.5:
                tokens = [*tokens[:-2], tokens[-2]._replace(blank=True)]
            for token in tokens:
                words += token.form
                token_ends.append(position + len(words) - 1)
                classes.append(token.tag)
                words += " " if token.blank else ""
            sentence_ends.append(token_ends[-1])
            if separate:
                pieces += [words[:-1] if tokens[-1].blank else words, "\n"]
            else:
                column = _add_lines(pieces, words, column, width)
            position = position + len(words) + (separate and not tokens[-1].blank)
        while pieces and not pieces[-1].strip():
            position -= len(pieces.pop())
        pieces.append("\n\n")
        position += 2
    text = "".join(pieces)[:-1]
    raw = RawText(text, *(np.zeros(len(text), kind) for kind in (np.bool_, np.bool_, np.uint8)))
    raw.token_ends[token_ends] = True
    raw.sentence_ends[sentence_ends] = True
    raw.tags[token_ends] = classes
    return raw


def _add_lines(pieces: list[str], words: str, column: int, width: int) -> int:
    """Add a sentence to a text, with line ends for the blanks before words that do not fit; return the last column."""
    for number, chunk in enumerate(words.split(" ")):
        if number:
            pieces.append(" ")
            column += 1
        if pieces and pieces[-1] == " " and column + len(chunk) > width:
            pieces[-1], column = "\n", 0
        if chunk:
            pieces.append(chunk)
            column += len(chunk)
    return column
