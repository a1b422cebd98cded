"""Segmented text as CoNLL-U, from which the text can be restored to the last byte.

MISC has ``SpaceAfter=No`` or ``SpacesAfter`` for a token, unless one blank separates it from the next; blanks before
the first token of a paragraph are ``SpacesBefore``.  Their escapes are those of UDPipe, and ``\\uXXXX`` for
characters that have none there.  A token that is not in Unicode normalization form C, as CoNLL-U demands, is
normalized, and so are the blanks in a word, such as a line end; the original is kept as ``OrigForm``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nonproj.text.formats import TextPiece
from nonproj.types import Sentence

_ESCAPES = {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": "\\\\"}
_NEWLINES = "\n\r\x0b\x0c\x85\u2028\u2029"
_LAST_NEWLINE = re.compile(f"[{_NEWLINES}][^{_NEWLINES}]*\\Z")
_NEWLINE = re.compile(f"\r\n|[{_NEWLINES}]")
_EMPTY = "\t_\t_\t_\t_\t_\t_\t_\t"

BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace() or unicodedata.category(c) == "Cc") + "\u200b\ufeff"
"""All blank characters: see `nonproj.text.characters`."""

_BLANKS = re.compile(f"[{re.escape(BLANKS)}]+")

CERTAIN = 1e6
"""Upper limit of log-odds, also used where there was nothing to decide."""


def escape(text: str) -> str:
    """Return a text in printable ASCII, without blanks and vertical bars.

    Examples
    --------
    >>> print(escape(" \\n|\\u00a0a"))
    \\s\\n\\p\\u00A0a
    """
    if text.isascii() and text.isprintable() and not set(text) & {" ", "|", "\\"}:
        return text
    return "".join(_ESCAPES.get(c) or (c if "!" <= c <= "~" else _number(ord(c))) for c in text)


def _number(code: int) -> str:
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


class _SpaceAttributes(dict[str, Any]):
    """Map from the blanks after a token to its attribute in MISC; the usual ones are cached."""

    def __missing__(self, blanks: str) -> str:
        value = "SpacesAfter=" + escape(blanks)
        if len(blanks) < 8 and len(self) < 1000:
            self[blanks] = value
        return value


_SPACES = _SpaceAttributes({" ": "_", "": "SpaceAfter=No"})


def split_blanks(blanks: str) -> int:
    """Return the place that divides the blanks between two paragraphs: behind the last line end.

    Examples
    --------
    >>> split_blanks(" \\n\\n  "), split_blanks("  ")
    (3, 2)
    """
    match = _LAST_NEWLINE.search(blanks)
    return match.start() + 1 if match else len(blanks)


def count_newlines(blanks: str) -> int:
    """Return the number of line ends among some blanks; a paragraph separator counts as two."""
    return len(_NEWLINE.findall(blanks)) + blanks.count("\u2029")


class Segments(NamedTuple):
    """A text and its segmentation.

    Attributes
    ----------
    piece : TextPiece
    start, end : list of int
        Token ``t`` is ``piece.text[start[t]:end[t]]``.
    written, forms : list of str
        The tokens as they stand in the text, and normalized.
    ends : list of int
        For each sentence the number of tokens up to its end.
    paragraphs : set of int
        The tokens that begin a paragraph.
    words : dict of int to tuple of str
        The words of multiword tokens.
    """

    piece: TextPiece
    start: list[int]
    end: list[int]
    written: list[str]
    forms: list[str]
    ends: list[int]
    paragraphs: set[int]
    words: dict[int, tuple[str, ...]]


def single_blanks(form: str) -> str:
    """Return a token with a single blank for each run of blanks in it; a no-break space remains.

    Examples
    --------
    >>> single_blanks("thành\\n  phố"), single_blanks("10\u00a0000")
    ('thành phố', '10\\xa0000')
    """
    return _BLANKS.sub(lambda match: match[0] if match[0] == "\u00a0" else " ", form)


def miscellaneous(segments: Segments, ranges: bool = False) -> list[str]:
    """Return the column MISC of each token, with ``TokenRange`` if asked for."""
    text, start, end = segments.piece.text, segments.start, segments.end
    after = list(map(text.__getitem__, map(slice, end, [*start[1:], len(text)])))
    found = list(map(_SPACES.__getitem__, after))
    before = {0: text[: start[0]]} if start else {}
    for token in segments.paragraphs - {0}:
        blanks = after[token - 1]
        place = split_blanks(blanks)
        before[token], found[token - 1] = blanks[place:], _SPACES[blanks[:place]]
    for token, blanks in before.items():
        if blanks:
            found[token] = _joined(f"SpacesBefore={escape(blanks)}", found[token])
    if segments.forms != segments.written:
        for index, (form, written) in enumerate(zip(segments.forms, segments.written, strict=True)):
            if form != written:
                found[index] = _joined(found[index], f"OrigForm={escape(written)}")
    if ranges:
        first = segments.piece.offset
        found = [
            _joined(misc, f"TokenRange={first + a}:{first + b}") for misc, a, b in zip(found, start, end, strict=True)
        ]
    return found


def _joined(*attributes: str) -> str:
    return "|".join(attribute for attribute in attributes if attribute != "_") or "_"


def to_sentences(
    segments: Segments, ranges: bool, first_number: int, margins: Sequence[np.ndarray] | None
) -> list[Sentence]:
    """Return the sentences of a segmented text, with the lines of CoNLL-U.

    Parameters
    ----------
    segments : Segments
    ranges : bool
        Whether ``TokenRange`` is written.
    first_number : int
        Number of the first sentence, ``# sent_id``.
    margins : sequence of ndarray, optional
        The `boundary_margins` of each sentence.
    """
    misc, normal = miscellaneous(segments, ranges), segments.forms == segments.written
    found: list[Sentence] = []
    first, position = 0, 0
    text, path, line, offset, _ = segments.piece
    for number, end in enumerate(segments.ends, first_number):
        begin = segments.start[first]
        line += text.count("\n", position, begin)
        position = begin
        opens = not found and not offset
        lines = ["# newdoc\n"] if opens else []
        lines += ["# newpar\n"] if opens or first in segments.paragraphs else []
        lines += [f"# sent_id = {number}\n", f"# text = {_line(segments, normal, first, end)}\n"]
        own = None if margins is None else margins[len(found)]
        found.append(Sentence([], None, lines, [], path, line, own))
        _add_words(found[-1], segments, misc, range(first, end))
        first = end
    return found


def _line(segments: Segments, normal: bool, first: int, end: int) -> str:
    """Return the text of a sentence in one line, with single blanks; ``normal``: its tokens are as in the text."""
    line = segments.piece.text[segments.start[first] : segments.end[end - 1]]
    if normal and (plain := " ".join(line.split())).isprintable():
        return plain
    parts = []
    for token in range(first, end):
        parts.append(segments.forms[token])
        if token + 1 < end and segments.start[token + 1] > segments.end[token]:
            parts.append(" ")
    return "".join(parts)


def _add_words(sentence: Sentence, segments: Segments, misc: list[str], tokens: range) -> None:
    """Add some tokens to a sentence."""
    rows, lines, offset = sentence.rows, sentence.lines, segments.piece.offset
    for token in tokens:
        form, extra = segments.forms[token], misc[token]
        words = segments.words.get(token, ())
        if words:
            lines.append(f"{len(rows) + 1}-{len(rows) + len(words)}\t{form}{_EMPTY}{extra}\n")
            extra = "_"
        place = offset + segments.start[token], offset + segments.end[token]
        for word in words or (form,):
            sentence.offsets.append(place)
            sentence.word_lines.append(len(lines))
            rows.append([str(len(rows) + 1), word, "_", "_", "_", "_", "_", "_", "_", extra])
            lines.append(f"{len(rows)}\t{word}{_EMPTY}{extra}\n")
    lines.append("\n")


def boundary_margins(
    tokens: np.ndarray, scores: np.ndarray, sizes: np.ndarray, ends: Sequence[int]
) -> list[np.ndarray]:
    """Return `nonproj.types.Sentence.boundary_margins` of the sentences of a text: log-odds, evidence for confidence.

    Where a treebank has raw text, all decisions are those of logistic models.  Rules are certain about tokens: a
    treebank without raw text cannot show when they are wrong.

    Parameters
    ----------
    tokens : ndarray of shape (T,), float32
        Log-odds of the least certain decision about each token; infinite where nothing was to be decided.
    scores : ndarray of shape (T,), float32
        Scores of a sentence end after each token.
    sizes : ndarray of shape (T,), int64
        The number of words of each token.
    ends : sequence of int
        For each sentence the number of tokens up to its end.

    Examples
    --------
    >>> numbers = np.array([8, 0.5, 8], np.float32), np.array([-9, 3, np.inf], np.float32)
    >>> first, second = boundary_margins(*numbers, np.ones(3, np.int64), [2, 3])
    >>> first.tolist(), second.tolist()
    ([[1000000.0, 1000000.0], [8.0, -9.0], [0.5, 3.0]], [[1000000.0, 3.0], [8.0, 1000000.0]])
    """
    last = np.cumsum(sizes) - 1
    table = np.full((int(sizes.sum()) + 1, 2), -CERTAIN, np.float32)  # no sentence ends inside a token
    table[1:, 0] = np.minimum(np.repeat(tokens, sizes), CERTAIN)
    table[1 + last, 1] = np.clip(scores, -CERTAIN, CERTAIN)
    table[0] = CERTAIN
    found, first = [], 0
    for end in ends:
        rows = table[first : last[end - 1] + 2].copy()
        rows[0, 0] = CERTAIN
        found.append(rows)
        first = int(last[end - 1]) + 1
    return found


def renumber(text: str, shift: int, document: str = "") -> str:
    """Return CoNLL-U text with ``shift`` added to every ``# sent_id`` that is a number.

    The name of a document becomes its ``# newdoc id``, and the first part of each ``# sent_id``.

    Examples
    --------
    >>> renumber("# sent_id = 1\\n# text = # sent_id = 1\\n", 5)
    '# sent_id = 6\\n# text = # sent_id = 1\\n'
    >>> renumber("# newdoc\\n# newpar\\n# sent_id = 1\\n", 0, "letters")
    '# newdoc id = letters\\n# newpar\\n# sent_id = letters-1\\n'
    """
    if document:
        text = _NEWDOC.sub(lambda _: f"# newdoc id = {document}", text)
    elif not shift:
        return text
    prefix = f"{document}-" if document else ""
    return _SENT_ID.sub(lambda match: f"# sent_id = {prefix}{int(match[1]) + shift}", text)


_NEWDOC = re.compile("^# newdoc$", re.MULTILINE)
_SENT_ID = re.compile("^# sent_id = ([0-9]+)$", re.MULTILINE)
