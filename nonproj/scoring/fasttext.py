"""Models of fastText: vectors of words, and of others from their character n-grams (Bojanowski et al. 2017).

A model is a file of the program fastText, ``.bin``: two numbers that say what it is, the options of its training, the
dictionary, a flag for quantised matrices, and the input matrix, with a row for each word and for each bucket of
n-grams; what follows is not read.  All numbers are little-endian.  The vector of a word is the mean of its own row, if
it has one, and of those of its n-grams, which are cut from ``<word>`` and found by a hash of their bytes (FNV-1a).

The matrix is not loaded: its rows are read where they are, so memory is bounded by the vectors that are kept.
"""

from __future__ import annotations

import os
import struct
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nonproj.errors import FileError
from nonproj.kernels.kernel import kernel
from nonproj.types import Int64s, Uint8s

MAGIC = (793712314).to_bytes(4, "little")
"""The first bytes of a model."""

END = "</s>"
"""The end of a line, which has a row but no n-grams."""

_VERSIONS, _SUPERVISED = (11, 12), 3
_OPTIONS, _COUNTS, _ENTRY = struct.Struct("<12i1d"), struct.Struct("<3i2q"), struct.Struct("<qb")
_LONGEST_WORD, _LONGEST, _BLOCK, _ROWS = 4_000, 100, 1 << 20, 1_000

MOST_DIMENSIONS = 2_000


class NGrams(NamedTuple):
    """Which n-grams have rows.

    Attributes
    ----------
    shortest, longest : int
        Their numbers of characters, without any if ``longest`` is 0.
    buckets : int
        The number of their rows, which n-grams with the same hash share.
    """

    shortest: int
    longest: int
    buckets: int

    def of(self, word: str) -> np.ndarray:
        """Return the bucket of each n-gram of a word, int64.

        Examples
        --------
        >>> len(NGrams(3, 4, 1000).of("ja")), NGrams(3, 4, 1000).of("</s>").tolist()
        (3, [])
        """
        if word == END or not (self.buckets and self.longest >= max(1, self.shortest)):
            return np.zeros(0, np.int64)
        codes = np.frombuffer(f"<{word}>".encode(), np.uint8)
        found = np.empty(len(codes) * min(self.longest, len(codes)), np.int64)
        return found[: _hash(codes, self.shortest, self.longest, self.buckets, found)]


class FastText:
    """A model of fastText.

    Parameters
    ----------
    words : list of str
        Frequent ones first.
    ngrams : NGrams
    matrix : ndarray of shape (n + ngrams.buckets, D), float32
        The rows of the n words, and then those of the buckets.
    path : str
        For messages.

    Examples
    --------
    >>> import numpy as np
    >>> model = FastText(["ja"], NGrams(3, 3, 1), np.array([[3.0, 0.0], [0.0, 3.0]], np.float32))
    >>> model.vector("ja").tolist(), model.vector("nein").tolist()
    ([1.0, 2.0], [0.0, 3.0])
    """

    def __init__(self, words: list[str], ngrams: NGrams, matrix: np.ndarray, path: str = ""):
        self.words, self.ngrams, self.matrix, self.path = words, ngrams, matrix, path
        self._number = {word: number for number, word in reversed(list(enumerate(words)))}

    @classmethod
    def read(cls, path: str | Path) -> FastText:
        """Read words and options of a model, whose matrix stays in its file.

        Raises
        ------
        FileError
            If the file is no such model, is quantised, or breaks off.
        """
        with open(path, "rb") as stream:
            head = _Head(stream, str(path))
            dimensions, ngrams = head.options()
            words, n_rows = head.dictionary()
            shape = head.shape()
            if shape != (n_rows + ngrams.buckets, dimensions):
                raise FileError(str(path), f"has a matrix of {shape[0]} by {shape[1]} numbers, which do not fit")
            begin = head.place()
        if os.path.getsize(path) < begin + 4 * shape[0] * shape[1]:
            raise FileError(str(path), "breaks off in its matrix")
        return cls(words, ngrams, np.memmap(path, "<f4", "r", begin, shape), str(path))

    def vector(self, word: str) -> np.ndarray | None:
        """Return the vector of a word, float32; None if neither it nor any n-gram of it has a row.

        Raises
        ------
        FileError
            If it has numbers that are not finite.
        """
        number, buckets = self._number.get(word), self.ngrams.of(word)
        if number is None and not len(buckets):
            return None
        rows = buckets + len(self.words) if number is None else np.append(number, buckets + len(self.words))
        total = np.zeros(self.matrix.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # infinite then, and refused
            for begin in range(0, len(rows), _ROWS):
                total += self.matrix[rows[begin : begin + _ROWS]].sum(axis=0, dtype=np.float64)
            vector: np.ndarray = (total / len(rows)).astype(np.float32)
        if not np.isfinite(vector).all():
            raise FileError(self.path, f"the vector of {word[:40]!r} has numbers that are not finite")
        return vector


class _Head:
    """What a model has before its matrix, from an open file."""

    def __init__(self, stream: BufferedReader, path: str):
        self.stream, self.path = stream, path
        self._data, self._begin = b"", 0

    def options(self) -> tuple[int, NGrams]:
        """Return the number of dimensions, and the n-grams."""
        magic, version = self._take(4), struct.unpack("<i", self._take(4))[0]
        if magic != MAGIC or version not in _VERSIONS:
            raise FileError(self.path, f"is no model of fastText of version {' or '.join(map(str, _VERSIONS))}")
        size, _, _, _, _, _, _, kind, buckets, shortest, longest, _, _ = _OPTIONS.unpack(self._take(_OPTIONS.size))
        if version == _VERSIONS[0] and kind == _SUPERVISED:
            longest = 0
        if not (2 <= size <= MOST_DIMENSIONS and buckets >= 0 and shortest >= 0 and 0 <= longest <= _LONGEST):
            raise FileError(self.path, "has options that no model of fastText has")
        return size, NGrams(shortest, longest, buckets)

    def dictionary(self) -> tuple[list[str], int]:
        """Return the words, without labels, and the number of their rows."""
        size, n_words, _, _, pruned = _COUNTS.unpack(self._take(_COUNTS.size))
        if not 0 <= n_words <= size:
            raise FileError(self.path, "has numbers of words that no model of fastText has")
        words = []
        for number in range(1, size + 1):
            end = self._find(f"word {number} of {size}")
            word = self._take(end).decode("utf-8", "replace")
            self._take(1)
            if _ENTRY.unpack(self._take(_ENTRY.size))[1] == 0:
                words.append(word)
        if len(words) != n_words:
            raise FileError(self.path, f"has {len(words)} words, {n_words} are expected")
        if pruned >= 0 or self._take(1) != b"\0":
            raise FileError(self.path, "is a quantised model of fastText (.ftz); one that is not, .bin, is expected")
        return words, n_words

    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and columns of the matrix."""
        n_rows, n_columns = struct.unpack("<2q", self._take(16))
        return n_rows, n_columns

    def place(self) -> int:
        """Return where in the file the next number is."""
        return self.stream.tell() - len(self._data) + self._begin

    def _take(self, size: int) -> bytes:
        """Return the next bytes."""
        while len(self._data) - self._begin < size:
            self._more("in its head")
        begin, self._begin = self._begin, self._begin + size
        return self._data[begin : self._begin]

    def _find(self, where: str) -> int:
        """Return the number of bytes of the string that is next, whose end is a 0."""
        while (end := self._data.find(b"\0", self._begin)) < 0:
            if len(self._data) - self._begin > _LONGEST_WORD:
                break
            self._more(f"at {where}")
        if not 0 <= end - self._begin <= _LONGEST_WORD:
            raise FileError(self.path, f"is no model of fastText: {where} has more than {_LONGEST_WORD} bytes")
        return end - self._begin

    def _more(self, where: str) -> None:
        """Read another block."""
        block = self.stream.read(_BLOCK)
        if not block:
            raise FileError(self.path, f"breaks off {where}")
        self._data, self._begin = self._data[self._begin :] + block, 0


@kernel
def _hash(codes: Uint8s, shortest: int, longest: int, buckets: int, found: Int64s) -> int:
    """Write the bucket of each n-gram of a string of UTF-8; return their number.  Its ends alone are none."""
    size, count = codes.shape[0], 0
    for begin in range(size):
        if codes[begin] & 0xC0 == 0x80:  # within a character
            continue
        key, end, length = np.uint32(2166136261), begin, 0
        while end < size and length < longest:
            key = np.uint32(_with_byte(key, codes[end]))
            end += 1
            while end < size and codes[end] & 0xC0 == 0x80:
                key = np.uint32(_with_byte(key, codes[end]))
                end += 1
            length += 1
            if length >= shortest and not (length == 1 and (begin == 0 or end == size)):
                found[count] = np.int64(key) % buckets
                count += 1
    return count


@kernel
def _with_byte(key: np.uint32, code: np.uint8) -> np.uint32:
    """Return the hash of a string with one more byte, which has a sign."""
    return np.uint32((np.uint64(key) ^ np.uint64(np.uint32(np.int8(code)))) * np.uint64(16777619))
