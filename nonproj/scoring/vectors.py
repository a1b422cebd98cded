"""Word vectors, learnt from text without annotation (Mikolov et al. 2013; Pennington et al. 2014).

Words that occur in similar contexts have vectors that are near each other, so what a network learns about the words of
a treebank holds for words that the treebank lacks.  Networks learn a projection of them in training; a model keeps the
projected rows of its words, and neither the vectors nor the file are needed to parse.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterable, Sequence
from functools import partial
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from nonproj.errors import DataError, FileError, ModelError
from nonproj.io.strings import VOCABULARY, WORD, check_strings, fits

VECTOR = "vector"
"""The attribute of a word with the number of its vector: of its form, or else of its lower-cased form."""

MOST_DIMENSIONS = 2_000

_LONGEST_WORD = 4_000
_GZIP = b"\x1f\x8b"
_FASTTEXT = (793712314).to_bytes(4, "little")
"""The first bytes of a model of fastText."""

Stream: TypeAlias = BufferedReader | gzip.GzipFile


class WordVectors(NamedTuple):
    """The vectors of n words with D dimensions; their mean squared length is 1.

    Attributes
    ----------
    words : list of str
    table : ndarray of shape (n, D), float32
    """

    words: list[str]
    table: np.ndarray

    @classmethod
    def read(cls, path: str | Path, most: int, wanted: Iterable[str] = ()) -> WordVectors:
        """Read vectors in the text format of word2vec, which fastText's ``.vec`` and GloVe's texts share.

        Parameters
        ----------
        path : str or Path
            A file, which may be compressed with gzip.  A line is a word and its numbers, separated by blanks; the first
            line may instead give the numbers of words and dimensions.
        most : int
            Maximum number of words; files list frequent ones first.
        wanted : iterable of str
            Words that are kept beyond this limit.

        Raises
        ------
        DataError, FileError
            If the file is not in this format.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.vec"
        >>> _ = path.write_text("2 3\\nthe 1 0 0\\nhouse 0 0.5 0.5\\n", encoding="utf-8")
        >>> vectors = WordVectors.read(path, most=10)
        >>> vectors.words, vectors.table.shape
        (['the', 'house'], (2, 3))
        """
        try:
            with open(path, "rb") as stream:
                start = stream.read(len(_GZIP))
            with gzip.open(path) if start == _GZIP else open(path, "rb") as stream:
                found = _read_chosen(stream, str(path), most, set(wanted))
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FileError(str(path), f"cannot be read: {reason.lower()}") from None
        if not found:
            raise FileError(str(path), "has no word vectors")
        table = np.array(list(found.values()), np.float32)
        length = math.sqrt(float(np.square(table, dtype=np.float64).sum(axis=1).mean()))
        return cls(list(found), table / np.float32(length or 1.0))

    def of(self, forms: Sequence[str]) -> np.ndarray:
        """Return the vector of each word, float32[n, D]; zeros for words without one."""
        return chosen_rows(self.table, WordNumbers(self.words).of(forms))


class WordNumbers:
    """A numbering of words by their positions in a list.

    Parameters
    ----------
    words : sequence of str

    Examples
    --------
    >>> WordNumbers(["the", "US"]).of(["The", "US", "us"]).tolist()
    [0, 1, -1]
    """

    def __init__(self, words: Sequence[str]):
        self.words = words
        self._number = {word: number for number, word in enumerate(words)}

    def of(self, forms: Sequence[str]) -> np.ndarray:
        """Return the number of each form, or else of its lower-cased form, or else -1; int64."""
        known = self._number
        found = [number if (number := known.get(form)) is not None else known.get(form.lower(), -1) for form in forms]
        return np.array(found, np.int64)

    def text(self) -> np.ndarray:
        """Return the words as an array of a model, uint8."""
        return np.frombuffer("\n".join(self.words).encode(), np.uint8)

    @classmethod
    def from_text(cls, text: np.ndarray) -> WordNumbers:
        """Return the numbering of the words in a `text`; raise `ModelError` if it is damaged."""
        try:
            words = text.tobytes().decode().split("\n")
        except UnicodeDecodeError:
            raise ModelError("the words with vectors are damaged") from None
        if len(set(words)) < len(words):
            raise ModelError("a word has two vectors")
        return cls(check_strings(words, VOCABULARY, "the words with vectors"))


def chosen_rows(table: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return rows of a table by their numbers, zeros for negative ones."""
    found: np.ndarray = np.where(numbers[:, None] >= 0, table[numbers], table.dtype.type(0))
    return found


def _read_chosen(stream: Stream, path: str, most: int, kept: set[str]) -> dict[str, np.ndarray]:
    """Return the vectors of the first ``most`` words, and of words in ``kept`` wherever they are."""
    first = stream.readline(_LONGEST_WORD * 16)
    fields = first.split()
    header = len(fields) == 2 and all(field.isdigit() for field in fields)
    size = int(fields[1]) if header else len(fields) - 1
    found, seen, limit = dict[str, np.ndarray](), 0, _LONGEST_WORD + 40 * size
    if not first:
        return found
    if first.startswith(_FASTTEXT):
        advice = "write the vectors of words: fasttext print-word-vectors MODEL.bin < WORDS.txt > VECTORS.vec"
        raise FileError(path, f"is a model of fastText (.bin); {advice}")
    if not 2 <= size <= MOST_DIMENSIONS:
        message = f"the numbers of words and dimensions are expected, or a word and up to {MOST_DIMENSIONS} numbers"
        raise DataError(path, 1, message)
    lines = chain([b"" if header else first], iter(partial(stream.readline, limit), b""))
    for number, line in enumerate(lines, 1):
        if len(line) >= limit:
            raise DataError(path, number, f"the line is longer than {limit} bytes")
        if not line.strip():
            continue
        if seen >= most and not kept:
            break
        word = line.split(None, 1)[0].decode("utf-8", "replace")
        if (seen < most or word in kept) and word not in found and fits(word, WORD):
            vector = _of_line(line, size, path, number)
            if vector is not None:
                found[word] = vector
        seen += 1
    return found


def _of_line(line: bytes, size: int, path: str, number: int) -> np.ndarray | None:
    """Return the vector of a line; None if the word has a blank, as no token has."""
    fields = line.split()
    try:
        with np.errstate(over="ignore"):  # infinite then, and refused
            vector = np.array([float(field) for field in fields[-size:]], np.float32)
        if len(fields) <= size:
            raise ValueError
    except ValueError:
        raise DataError(path, number, f"a word and {size} numbers, separated by blanks, are expected") from None
    if not np.isfinite(vector).all():
        raise DataError(path, number, "a number is not finite")
    return vector if len(fields) == size + 1 else None
