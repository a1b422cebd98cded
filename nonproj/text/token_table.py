"""The tokens of a text as numbers, from which features of words and of sentence ends are made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import hash_codes
from nonproj.text.layout import MAX_HASHED, PARAGRAPH, Text, shape_hash
from nonproj.types import Int32s, Int64s, Uint8s, Uint32s

PADDING = 3
"""Rows of zeros before and after those of a table."""

_SUFFIX = 3


class TokenTable(NamedTuple):
    """The tokens of a text, one per row; `PADDING` rows of zeros precede and follow them.

    Attributes
    ----------
    word : ndarray of shape (T + 6,), uint32
        Hashes of the forms in lower case.
    shape : ndarray of shape (T + 6,), uint32
        Hashes of the kinds of their characters.
    suffix : ndarray of shape (T + 6,), uint32
        Hashes of their last three characters.
    first, last : ndarray of shape (T + 6,), uint8
        Kinds of their first and last characters.
    blanks : ndarray of shape (T + 6,), uint8
        Kinds of blanks after them: see `nonproj.text.layout`; `NO_BLANKS` inside a chunk.  The last ends a paragraph.
    size : ndarray of shape (T + 6,), int32
        Their lengths.
    decided : ndarray of shape (T + 6,), uint8
        Decisions about the places after them: see `nonproj.text.layout.Text`.
    """

    word: np.ndarray
    shape: np.ndarray
    suffix: np.ndarray
    first: np.ndarray
    last: np.ndarray
    blanks: np.ndarray
    size: np.ndarray
    decided: np.ndarray


@kernel
def token_table(
    text: Text, start: Int64s, end: Int64s
) -> tuple[Uint32s, Uint32s, Uint32s, Uint8s, Uint8s, Uint8s, Int32s, Uint8s]:
    """Return the fields of the `TokenTable` of the tokens ``start[t]:end[t]`` of a text."""
    n, kind, c = len(start) + 2 * PADDING, text.kind, 0
    word, shape, suffix = np.zeros(n, np.uint32), np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    first, last, blanks = np.zeros(n, np.uint8), np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    size, decided = np.zeros(n, np.int32), np.zeros(n, np.uint8)
    for t in range(len(start)):
        a, b, row = start[t], end[t], t + PADDING
        word[row] = hash_codes(text.lower, a, b, MAX_HASHED)
        shape[row] = shape_hash(kind, text.run, a, b)
        suffix[row] = hash_codes(text.lower, max(a, b - _SUFFIX), b, MAX_HASHED)
        first[row], last[row], size[row], decided[row] = kind[a], kind[b - 1], b - a, text.decided[b - 1]
        while c < len(text.end) and text.end[c] <= b:
            if text.end[c] == b:
                blanks[row] = text.blanks[c] if c + 1 < len(text.end) else PARAGRAPH
            c += 1
    return word, shape, suffix, first, last, blanks, size, decided
