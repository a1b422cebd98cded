"""Symmetric travelling salesman problems, read from files of TSPLIB95."""

from __future__ import annotations

import math
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from nonproj.errors import DataError
from nonproj.io.files import open_input, stream_error, text_lines
from nonproj_systems.tsp.distances import DISTANCES, distances

MAX_CITIES, MAX_WEIGHT = 3000, 10**8
"""Maximum number of cities, and maximum absolute weight: sums of weights are then exact in float64, too."""

FORMATS = {
    "FULL_MATRIX": lambda n: [(i, j) for i in range(n) for j in range(n)],
    "UPPER_ROW": lambda n: [(i, j) for i in range(n) for j in range(i + 1, n)],
    "LOWER_ROW": lambda n: [(i, j) for i in range(n) for j in range(i)],
    "UPPER_DIAG_ROW": lambda n: [(i, j) for i in range(n) for j in range(i, n)],
    "LOWER_DIAG_ROW": lambda n: [(i, j) for i in range(n) for j in range(i + 1)],
    "UPPER_COL": lambda n: [(i, j) for j in range(n) for i in range(j)],
    "LOWER_COL": lambda n: [(i, j) for j in range(n) for i in range(j + 1, n)],
    "UPPER_DIAG_COL": lambda n: [(i, j) for j in range(n) for i in range(j + 1)],
    "LOWER_DIAG_COL": lambda n: [(i, j) for j in range(n) for i in range(j, n)],
}
"""The pairs of cities in the order of the numbers, by EDGE_WEIGHT_FORMAT."""

_KEYS = ("NAME", "TYPE", "COMMENT", "DIMENSION", "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "NODE_COORD_TYPE",
         "DISPLAY_DATA_TYPE", "CAPACITY")  # fmt: skip
_SECTIONS = ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION")


class Instance(NamedTuple):
    """A symmetric travelling salesman problem.

    Attributes
    ----------
    name : str
    weights : ndarray of shape (n, n), int64
        Symmetric, 0 on the diagonal.
    points : ndarray of shape (n, 2), float64, or None
        Positions at which the cities are drawn.
    """

    name: str
    weights: np.ndarray
    points: np.ndarray | None

    def length(self, tour: np.ndarray) -> int:
        """Return the length of a tour: int64[n], each city once."""
        return int(self.weights[tour, np.roll(tour, -1)].sum())


def make_instance(weights, name: str = "", points=None) -> Instance:
    """Return the problem with given weights.

    Parameters
    ----------
    weights : array-like of shape (n, n), int
        Symmetric; the diagonal is ignored.  There are at least three cities.
    name : str
    points : array-like of shape (n, 2), optional

    Raises
    ------
    ValueError
        If the weights are not a symmetric matrix of integers, or too many or too large.

    Examples
    --------
    >>> make_instance([[0, 1, 2], [1, 0, 3], [2, 3, 0]], "triangle").length(np.array([0, 1, 2]))
    6
    """
    given = np.asarray(weights)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not 3 <= len(given) <= MAX_CITIES:
        raise ValueError(f"weights have the shape {given.shape}; (n, n) with n from 3 to {MAX_CITIES} is expected")
    if given.dtype.kind not in "iu":
        raise ValueError(f"weights are {given.dtype}; integers are expected, so multiply and round them")
    matrix = given.astype(np.int64, order="C")
    np.fill_diagonal(matrix, 0)
    if not (matrix == matrix.T).all():
        i, j = np.argwhere(matrix != matrix.T)[0]
        raise ValueError(f"the weight of ({i}, {j}) is {matrix[i, j]} and that of ({j}, {i}) is {matrix[j, i]}")
    if np.abs(matrix).max() > MAX_WEIGHT:
        raise ValueError(f"a weight is {matrix.flat[np.abs(matrix).argmax()]}; at most {MAX_WEIGHT} is expected")
    points = None if points is None else np.asarray(points, np.float64).reshape(len(matrix), 2)
    return Instance(name, matrix, points)


def read(source: str | BinaryIO) -> Instance:
    """Read a TSPLIB95 file of type TSP.

    Parameters
    ----------
    source : str or binary stream
        A path, ``-`` for standard input, or a stream; it may be compressed by gzip.

    Raises
    ------
    DataError
        The file is malformed, or of a type that is not supported; the message names file and line.
    FileError
        The file cannot be opened.

    Examples
    --------
    >>> import io
    >>> text = b"DIMENSION: 3\\nEDGE_WEIGHT_TYPE: EUC_2D\\nNODE_COORD_SECTION\\n1 0 0\\n2 3 4\\n3 0 4\\nEOF\\n"
    >>> read(io.BytesIO(text)).weights.tolist()
    [[0, 5, 4], [5, 0, 3], [4, 3, 0]]
    """
    stream, name, closing = open_input(source)
    lines: list[str] = []
    with closing:
        try:
            lines.extend(text_lines(stream, 1 << 24))
        except (OSError, UnicodeDecodeError, OverflowError, EOFError) as error:
            raise stream_error(error, name, len(lines)) from None
    return _Reader(name, lines).instance()


class _Reader:
    """The keys and sections of a file, with their line numbers."""

    def __init__(self, path: str, lines: list[str]):
        self.path, self.end = path, max(len(lines), 1)
        self.keys: dict[str, tuple[int, str]] = {}
        self.sections: dict[str, tuple[int, list[tuple[int, str]]]] = {}
        section: list[Any] | None = None
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text == "EOF":
                self.end = number
                break
            if text[:1].isalpha() and text.lower() not in ("inf", "nan"):
                section = self._begin(number, text)
            elif section is not None:
                section.extend((number, word) for word in text.split())
            elif text:
                raise self.error(number, f"{text[:40]!r} is in no section; 'KEY: value' or a section is expected")

    def error(self, line: int, message: str) -> DataError:
        """Return the error for a line."""
        return DataError(self.path, line, message)

    def _begin(self, number: int, text: str) -> list[Any] | None:
        """Record a key, or begin a section and return the list of its words."""
        key, colon, value = (part.strip() for part in text.partition(":"))
        if key in self.keys or key in self.sections:
            raise self.error(number, f"{key} is given twice")
        if key in _SECTIONS:
            self.sections[key] = (number, [])
            return self.sections[key][1]
        if key not in _KEYS:
            raise self.error(number, f"{key!r} is not supported; known: {', '.join((*_KEYS, *_SECTIONS))}")
        if not colon:
            raise self.error(number, f"{key} has no value; '{key}: value' is expected")
        self.keys[key] = (number, value)
        return None

    def choice(self, key: str, known) -> str:
        """Return the value of a key; raise an error unless it is one of ``known``."""
        if key not in self.keys:
            raise self.error(self.end, f"{key} is missing; one of {', '.join(known)} is expected")
        line, value = self.keys[key]
        if value not in known:
            raise self.error(line, f"{key} is {value!r}; one of {', '.join(known)} is expected")
        return value

    def dimension(self) -> int:
        """Return the number of cities."""
        if "DIMENSION" not in self.keys:
            raise self.error(self.end, "DIMENSION is missing; the number of cities is expected")
        line, value = self.keys["DIMENSION"]
        n = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0
        if not 3 <= n <= MAX_CITIES:
            raise self.error(line, f"DIMENSION is {value!r}; a number from 3 to {MAX_CITIES} is expected")
        return n

    def instance(self) -> Instance:
        """Return the problem."""
        if "TYPE" in self.keys:
            self.choice("TYPE", ["TSP"])
        n = self.dimension()
        kind = self.choice("EDGE_WEIGHT_TYPE", ["EXPLICIT", *DISTANCES])
        line, name = self.keys.get("NAME", (1, ""))
        points = None
        for section in ("NODE_COORD_SECTION", "DISPLAY_DATA_SECTION"):
            if section in self.sections and points is None:
                points = self.coordinates(section, n)
        if kind == "EXPLICIT":
            weights = self.matrix(n)
        elif "NODE_COORD_SECTION" in self.sections:
            weights, line = distances(kind, points), self.sections["NODE_COORD_SECTION"][0]
            if np.abs(weights).max() > MAX_WEIGHT:
                raise self.error(line, f"a distance is {weights.max()}; at most {MAX_WEIGHT} is supported")
        else:
            raise self.error(self.end, f"NODE_COORD_SECTION is missing; {kind} needs coordinates")
        return make_instance(weights, name, points)

    def coordinates(self, section: str, n: int) -> np.ndarray:
        """Return the coordinates of all cities, float64[n, 2]."""
        begin, words = self.sections[section]
        found = np.full((n, 2), np.nan)
        for first in range(0, len(words), 3):
            line, word = words[first]
            if not (word.isascii() and word.isdigit() and 1 <= int(word[:9]) <= n):
                raise self.error(line, f"city {word!r}; a number from 1 to {n} is expected")
            city = int(word) - 1
            if not np.isnan(found[city, 0]):
                raise self.error(line, f"city {word} has coordinates twice")
            here = [number for at, number in words[first + 1 : first + 3] if at == line]
            try:
                found[city] = [float(number) for number in here]
            except ValueError:
                raise self.error(line, f"coordinates {' '.join(here)!r}; two numbers are expected") from None
            if len(here) < 2 or not (np.abs(found[city]) < 1e15).all():
                raise self.error(line, f"coordinates {' '.join(here)!r}; two finite numbers are expected")
        if len(words) != 3 * n:
            line = words[-1][0] if words else begin
            raise self.error(line, f"{section} ends after {len(words) // 3} cities; {n} are expected")
        return found

    def matrix(self, n: int) -> np.ndarray:
        """Return the weights of EDGE_WEIGHT_SECTION, int64[n, n]."""
        pairs = FORMATS[self.choice("EDGE_WEIGHT_FORMAT", FORMATS)](n)
        if "EDGE_WEIGHT_SECTION" not in self.sections:
            raise self.error(self.end, "EDGE_WEIGHT_SECTION is missing; EXPLICIT needs weights")
        begin, words = self.sections["EDGE_WEIGHT_SECTION"]
        if len(words) != len(pairs):
            line = words[-1][0] if words else begin
            raise self.error(line, f"EDGE_WEIGHT_SECTION has {len(words)} numbers; {len(pairs)} are expected")
        found = np.zeros((n, n), np.int64)
        known = np.zeros((n, n), np.bool_)
        for (i, j), (line, word) in zip(pairs, words, strict=True):
            weight = self.weight(line, word)
            if known[j, i] and i != j and found[j, i] != weight:
                raise self.error(line, f"the weight of {i + 1} and {j + 1} is {weight}, but {found[j, i]} before; "
                                 "symmetric weights are expected")  # fmt: skip
            found[i, j] = weight
            known[i, j] = True
        return np.where(known, found, found.T)

    def weight(self, line: int, word: str) -> int:
        """Return a word as a weight; raise an error unless it is an integer of at most `MAX_WEIGHT`."""
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not abs(value) <= MAX_WEIGHT or value != int(value):
            raise self.error(line, f"weight {word[:40]!r}; an integer of at most {MAX_WEIGHT} is expected")
        return int(value)
