"""Vectors of words by their pieces: every word has one, even a word unseen in training.

A pretrained encoder has a row for each piece of its vocabulary, such as ``▁un`` or ``able``.  The vector of a word is
the mean of the rows of its pieces, those of the most probable segmentation by a unigram model (Kudo 2018).  A model
stores the pieces that its scripts need, with few dimensions of 8 bits, and needs neither the encoder nor its layers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple
from unicodedata import normalize

import numpy as np

from nonproj.errors import ModelError
from nonproj.io.strings import WORD, check_strings
from nonproj.kernels.kernel import kernel
from nonproj.linear.hashing import code_points_of
from nonproj.linear.state import Arrays, Fitted, Schema
from nonproj.types import Float32s, Int8s, Int32s, Int64s, Uint32s

WORD_START = "▁"
"""Character that marks the start of a word in pieces."""

DEVIATION = 24.0
"""The root mean square of the numbers in the rows of pieces, which have 8 bits."""

PROJECTION: Arrays = {"projection": ("int32", "dimensions *")}
"""The array of a network that projects vectors to its rows: a matrix times `PROJECTION_UNIT`, rounded."""

PROJECTION_UNIT = 256

_UNIT = 1.0 / 16.0
"""Factor of words' vectors, whose root mean square is less than `DEVIATION`, since they are means of several pieces."""

_UNKNOWN = -30.0
"""The score of a character that no piece has, below those of all pieces."""

_LARGEST_ROW = np.iinfo(np.int16).max


class PieceVectors(Fitted):
    """Vectors of any words, from the rows of their pieces.

    Parameters
    ----------
    pieces : sequence of str
        In the order of their code points.
    scores : ndarray of shape (n_pieces,), float32
        Log-probabilities.
    rows : ndarray of shape (n_pieces, D), int8

    Attributes
    ----------
    unit : float32
        The factor of vectors in training, such that their mean squared length is about 1.

    Examples
    --------
    >>> scores, rows = np.array([-2, -3, -1, -9], np.float32), np.array([[8, 0], [4, 4], [0, 9], [1, 1]], np.int8)
    >>> vectors = PieceVectors(["able", "un", "▁do", "▁u"], scores, rows)
    >>> vectors.of(["doable", "do", "?", "undo"]).tolist()
    [[4, 4], [0, 9], [0, 0], [4, 4]]
    """

    name: ClassVar[str] = "vectors"
    schema: ClassVar[Schema] = Schema(
        {}, {"text": ("uint8", 1), "scores": ("float32", "pieces"), "rows": ("uint8", "pieces dimensions")}
    )

    def __init__(self, pieces: Sequence[str], scores: np.ndarray, rows: np.ndarray):
        self.rows, self.scores = rows, scores
        self.unit = np.float32(_UNIT / math.sqrt(rows.shape[1]))
        self._sorted = _Pieces(*code_points_of(pieces), scores)

    @property
    def pieces(self) -> list[str]:
        """The pieces; kept as code points, because strings take four times as much memory."""
        text = self._sorted.codes.tobytes().decode("utf-32-le")
        return [text[begin:end] for begin, end in pairwise(self._sorted.ends.tolist())]

    @property
    def table(self) -> np.ndarray:
        """The rows times their unit, for the training of networks, float32[n_pieces, D]."""
        return self.rows * self.unit

    @property
    def dimensions(self) -> int:
        """D, the size of a vector."""
        return self.rows.shape[1]

    def of(self, forms: Sequence[str]) -> np.ndarray:
        """Return the vector of each word, int8[n, D]: the mean of the rows of its pieces; zeros without pieces."""
        codes, ends = code_points_of([WORD_START + WORD_START.join(normalize("NFKC", form).split()) for form in forms])
        sums = np.zeros((len(forms), self.dimensions), np.int32)
        counts = _sum_pieces(codes, ends, self._sorted, self.rows, sums)
        found: np.ndarray = np.rint(sums / np.maximum(counts, 1)[:, None]).astype(np.int8)
        return found

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return JSON values and arrays from which `from_state` restores the vectors."""
        text = np.frombuffer("\n".join(self.pieces).encode(), np.uint8)
        return {}, {"text": text, "scores": self.scores, "rows": self.rows.view(np.uint8)}

    @classmethod
    def from_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> PieceVectors:
        """Return the vectors of a `state`; raise `ModelError` if it is damaged."""
        try:
            pieces = arrays["text"].tobytes().decode().split("\n")
        except UnicodeDecodeError:
            raise ModelError("the pieces of words are damaged") from None
        scores, rows = arrays["scores"], arrays["rows"].view(np.int8)
        if len(pieces) != len(scores) or not rows.shape[1] or any(a >= b for a, b in pairwise(pieces)):
            raise ModelError("the pieces of words are not in their order, or not as many as their vectors")
        if not ((scores > _UNKNOWN) & (scores <= 0)).all():
            raise ModelError("the score of a piece is not a log-probability")
        return cls(check_strings(pieces, WORD, "the pieces of words"), scores, rows)


class _Pieces(NamedTuple):
    """The pieces for kernels: code points of all, n_pieces + 1 offsets into them, and scores."""

    codes: Uint32s
    ends: Int64s
    scores: Float32s


class ProjectedVectors(NamedTuple):
    """The vectors of words, and the matrix that projects them to the rows of a network.

    Attributes
    ----------
    vectors : PieceVectors
    matrix : ndarray of shape (D, E), int32
        See `PROJECTION`.
    """

    vectors: PieceVectors
    matrix: np.ndarray

    def rows(self, vectors: np.ndarray) -> np.ndarray:
        """Return the rows of some vectors, int32[n, E]; sums are exact, because they are integers below 2 ** 53."""
        sums = vectors.astype(np.float64) @ self.matrix.astype(np.float64)
        found: np.ndarray = np.clip(np.rint(sums / PROJECTION_UNIT), -_LARGEST_ROW, _LARGEST_ROW)
        return found.astype(np.int32)


def check_projection(
    arrays: Mapping[str, np.ndarray], schema: Arrays, table: np.ndarray, vectors: PieceVectors | None
) -> ProjectedVectors | None:
    """Return the projection among a network's arrays, None if there is none; raise `ModelError` if it does not fit.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    schema : mapping
        `PROJECTION`, or the same under another name.
    table : ndarray of shape (R, E)
        The rows of the network.
    vectors : PieceVectors or None
        Vectors of the model.
    """
    [name] = schema
    if name not in arrays:
        return None
    if vectors is None or arrays[name].shape != (vectors.dimensions, table.shape[1]):
        raise ModelError("a network projects vectors of words that are not those of the model")
    return ProjectedVectors(vectors, np.ascontiguousarray(arrays[name]))


def rounded_projection(vectors: PieceVectors, matrix: np.ndarray, scale: float) -> ProjectedVectors:
    """Return the projection of vectors by a learnt matrix, given the scale of the network's rows."""
    integers = np.rint(matrix.astype(np.float64) * (float(vectors.unit) * PROJECTION_UNIT / scale))
    return ProjectedVectors(vectors, integers.astype(np.int32))


@kernel
def _sum_pieces(codes: Uint32s, ends: Int64s, pieces: _Pieces, rows: Int8s, sums: Int32s) -> Int64s:
    """Add the rows of the pieces of each string; return the number of its pieces, int64[n]."""
    size = codes.shape[0] + 1
    counts, score = np.zeros(sums.shape[0], np.int64), np.full(size, -np.inf)
    back, piece = np.empty(size, np.int64), np.empty(size, np.int64)  # of the best segmentation up to each place
    for s in range(sums.shape[0]):
        first, end = ends[s], ends[s + 1]
        score[first], score[first + 1 : end + 1] = 0.0, -np.inf
        for i in range(first, end):
            if score[i] + _UNKNOWN > score[i + 1]:
                score[i + 1], back[i + 1], piece[i + 1] = score[i] + _UNKNOWN, i, -1
            low, high = 0, pieces.scores.shape[0]
            for j in range(i, end):
                low = _bound(pieces, low, high, j - i, codes[j])
                high = _bound(pieces, low, high, j - i, codes[j] + 1)
                if low == high:
                    break
                if pieces.ends[low + 1] - pieces.ends[low] == j - i + 1:
                    if score[i] + pieces.scores[low] > score[j + 1]:
                        score[j + 1], back[j + 1], piece[j + 1] = score[i] + pieces.scores[low], i, low
                    low += 1
        i = end
        while i > first:
            if piece[i] >= 0:
                counts[s] += 1
                for d in range(rows.shape[1]):
                    sums[s, d] += rows[piece[i], d]
            i = back[i]
    return counts


@kernel
def _bound(pieces: _Pieces, low: int, high: int, place: int, code: int) -> int:
    """Return the first of some sorted pieces, all longer than ``place``, whose character there is at least ``code``."""
    while low < high:
        middle = (low + high) // 2
        if pieces.codes[pieces.ends[middle] + place] < code:
            low = middle + 1
        else:
            high = middle
    return low
