"""Raw text with its tokens and sentences, from a treebank that says where blanks are.

The sentences of a paragraph are joined by a blank, unless the last token of a sentence has ``SpaceAfter=No``; lines are
filled to 80 characters and paragraphs separated by a blank line.  So the text is that of the CoNLL 2018 shared task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nonproj.io.copies import surface_tokens
from nonproj.types import Sentence

LINE = 80
"""Longest line of a paragraph."""

LEAST_SHARE = 0.1
"""Share of the sentences of a treebank with raw text that say so, at least; with ``# text``, all do."""


class SurfaceToken(NamedTuple):
    """A token as it stands in the text.

    Attributes
    ----------
    form : str
    blank : bool
        Whether a blank follows.
    words : tuple of str
        The words of a multiword token; empty for a word.
    misc : str
        The column MISC.
    tag : int
        Of `word_class`; for a multiword token, that of its first verb, or else of its first word.
    """

    form: str
    blank: bool
    words: tuple[str, ...] = ()
    misc: str = "_"
    tag: int = 0


_TAGS = (
    "", "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
)  # fmt: skip

N_CLASSES = 2 * len(_TAGS) + 1
"""Classes of words."""


def word_class(row: Sequence[str]) -> int:
    """Return a class of a word by the columns UPOS and FEATS: 0 without UPOS, even for finite verbs, odd for others.

    Where FEATS does not say which verbs are finite, all are.

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
    """Return the tokens of a sentence: words, and multiword tokens in place of theirs.

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
        found.append(SurfaceToken(form, "SpaceAfter=No" not in misc.split("|"), words, misc, tag))
        first += count
    return found


def has_raw_text(sentences: Iterable[Sentence]) -> bool:
    """Return whether a treebank says where its text has blanks, by ``SpaceAfter=No`` or comments ``# text``.

    A smaller share of its sentences than `LEAST_SHARE` does not count: text that is joined by blanks would be learnt.
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
        For the last character of a token its class.
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
        Of `paragraphs`.
    random : Generator, optional
        Varies the text, so that it resembles what people write: lines of other lengths, or one for each sentence,
        some of which then lack their final full stop.

    Examples
    --------
    >>> first = [[SurfaceToken("Hej", False), SurfaceToken("!", True)], [SurfaceToken("Ja", True)]]
    >>> raw = raw_text([first, [[SurfaceToken("Nej", True)]]])
    >>> raw.text, np.flatnonzero(raw.token_ends).tolist(), np.flatnonzero(raw.sentence_ends).tolist()
    ('Hej! Ja\\n\\nNej\\n', [2, 3, 6, 11], [3, 6, 11])
    """
    pieces: list[str] = []
    token_pieces, sentence_pieces, classes = [], [], []  # the numbers of the pieces at whose ends they end
    for paragraph in paragraphs:
        separate, width = False, LINE
        if random is not None:
            separate, width = random.random() < 0.4, int(random.choice([40, 65, 72, 100, 10**9]))
            width = 10**9 if separate else width
        column = 0
        for sentence in paragraph:
            tokens = sentence
            if random is not None and separate and len(tokens) > 3 and tokens[-1].form == "." and random.random() < 0.5:
                tokens = [*tokens[:-2], tokens[-2]._replace(blank=True)]
            rests = _rests_of_chunks(tokens)
            for index, token in enumerate(tokens):
                last = index == len(tokens) - 1
                for number, form in enumerate(token.form.split(" ")):
                    if number:
                        pieces.append(" ")
                        column += 1
                    rest = next(rests)
                    # a line is broken before a chunk that would not fit
                    if pieces and pieces[-1] == " " and column + rest > width:
                        pieces[-1], column = "\n", 0
                    pieces.append(form)
                    column += len(form)
                token_pieces.append(len(pieces) - 1)
                classes.append(token.tag)
                if last:
                    sentence_pieces.append(len(pieces) - 1)
                if token.blank or (last and separate):
                    newline = last and separate
                    pieces.append("\n" if newline else " ")
                    column = 0 if newline else column + 1
        while pieces and not pieces[-1].strip():
            pieces.pop()
        pieces.append("\n\n")
    text, last_character = "".join(pieces)[:-1], np.cumsum([*map(len, pieces)], dtype=np.int64) - 1
    raw = RawText(text, *(np.zeros(len(text), kind) for kind in (np.bool_, np.bool_, np.uint8)))
    raw.token_ends[last_character[token_pieces]] = True
    raw.sentence_ends[last_character[sentence_pieces]] = True
    raw.tags[last_character[token_pieces]] = classes
    return raw


def _rests_of_chunks(tokens: Sequence[SurfaceToken]) -> Iterator[int]:
    """Yield the length of each token from there to the next blank; for a token with blanks, of each of its pieces."""
    lengths, rest = [], 0
    for token in reversed(tokens):
        for number, form in enumerate(reversed(token.form.split(" "))):
            rest = len(form) + (0 if token.blank or number else rest)
            lengths.append(rest)
    return reversed(lengths)
