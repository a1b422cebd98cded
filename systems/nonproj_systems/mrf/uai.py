"""Files of Markov random fields in the UAI format, and of their most probable labels (MPE)."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO

import numpy as np

from nonproj.errors import DataError, FileError
from nonproj.io.files import open_input, open_output, stream_error, text_lines
from nonproj_systems.mrf.model import MRF


class _Tokens:
    """The tokens of a file, and the line of each."""

    def __init__(self, name: str, lines: list[str]):
        # Lines that begin with a lone "c" are comments.
        rows = [[] if line[:2] in ("c ", "c\t", "c\n", "c") else line.split() for line in lines]
        self.name, self.place = name, 0
        self.tokens = [token for row in rows for token in row]
        self._ends, self._lines = np.cumsum([len(row) for row in rows], dtype=np.int64), len(lines)

    def line(self, place: int | None = None) -> int:
        """Return the line of a token, by default of the last one read."""
        place = max(self.place - 1, 0) if place is None else place
        return min(int(np.searchsorted(self._ends, place, side="right")), max(self._lines - 1, 0)) + 1

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        """Raise an error about a token, by default the last one read."""
        raise DataError(self.name, self.line(place), message)

    def word(self, what: str) -> str:
        """Return the next token; ``what`` names it in errors."""
        if self.place >= len(self.tokens):
            raise DataError(self.name, max(self._lines, 1), f"the file ends; {what} is expected")
        self.place += 1
        return self.tokens[self.place - 1]

    def integer(self, what: str, low: int, high: int) -> int:
        """Return the next token as an integer within bounds."""
        text = self.word(what)
        if not (text.isascii() and text.isdecimal() and len(text) <= 18 and low <= int(text) <= high):
            self.fail(f"{what} is {text!r}; a whole number from {low} to {high} is expected")
        return int(text)

    def numbers(self, count: int, what: str) -> np.ndarray:
        """Return the next tokens as numbers of at least 0, float64."""
        begin, end = self.place, self.place + count
        if end > len(self.tokens):
            self.place = len(self.tokens)
            self.word(f"entry {len(self.tokens) - begin + 1} of {count} of {what}")
        self.place = end
        try:
            found = np.array(self.tokens[begin:end], np.float64)
        except ValueError:
            found = np.array([_number(text) for text in self.tokens[begin:end]])
        wrong = ~((found >= 0.0) & np.isfinite(found))
        if wrong.any():
            place = begin + int(wrong.argmax())
            self.fail(f"{what} has the entry {self.tokens[place]!r}; a finite number of at least 0 is expected", place)
        return found


def _number(text: str) -> float:
    """Return a number; NaN if a token is not a number."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def read_uai(source: str | Path | BinaryIO | TextIO) -> MRF:
    """Read a pairwise field in the UAI format: scores are the logarithms of the file's entries.

    Parameters
    ----------
    source : str, Path or stream
        ``-`` is standard input; files may be compressed by gzip.

    Returns
    -------
    MRF
        Functions of the same variables are multiplied; a constant is part of the first variable's scores.

    Raises
    ------
    DataError
        With path and line: the file is malformed, or a function has more than two variables.
    FileError
        The file cannot be read, or rules out all states of a variable.

    Examples
    --------
    >>> import io
    >>> field = read_uai(io.StringIO("MARKOV\\n2\\n2 2\\n2\\n1 0\\n2 0 1\\n2\\n1 3\\n4\\n1 0 1 1\\n"))
    >>> field.n_edges, [round(float(np.exp(field.score([x, y])))) for x in (0, 1) for y in (0, 1)]
    (1, [1, 0, 3, 3])
    """
    stream, name, closing = open_input(source)
    lines: list[str] = []
    try:
        with closing:
            lines.extend(text_lines(stream))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise stream_error(error, name, len(lines)) from None
    return _parse(_Tokens(name, lines))


def _parse(tokens: _Tokens) -> MRF:
    """Return the field of a file's tokens."""
    kind = tokens.word("MARKOV or BAYES")
    if kind not in ("MARKOV", "BAYES"):
        tokens.fail(f"the file begins with {kind!r}; MARKOV or BAYES is expected")
    n = tokens.integer("the number of variables", 1, 10**8)
    sizes = [tokens.integer(f"the number of states of variable {i}", 1, 10**6) for i in range(n)]
    scopes = []
    for k in range(tokens.integer("the number of functions", 0, 10**9)):
        arity = tokens.integer(f"the number of variables of function {k}", 0, n)
        if arity > 2:
            tokens.fail(f"function {k} has {arity} variables; at most 2 are expected in a pairwise field")
        scope = [tokens.integer(f"a variable of function {k}", 0, n - 1) for _ in range(arity)]
        if len(set(scope)) < arity:
            tokens.fail(f"function {k} has variable {scope[0]} twice; two different variables are expected")
        scopes.append(scope)
    unary, tables = [np.zeros(size) for size in sizes], {}
    for k, scope in enumerate(scopes):
        shape = [sizes[i] for i in scope]
        entries = tokens.integer(f"the number of entries of function {k}", 0, 10**12)
        if entries != np.prod(shape, dtype=np.int64):
            tokens.fail(f"function {k} has {entries} entries; {int(np.prod(shape))} are expected")
        with np.errstate(divide="ignore"):
            scores = np.log(tokens.numbers(entries, f"function {k}")).reshape(shape)
        if len(scope) < 2:
            unary[scope[0] if scope else 0] += scores
        else:
            key = tuple(sorted(scope))
            scores = scores if key == tuple(scope) else scores.T
            tables[key] = tables[key] + scores if key in tables else scores
    if tokens.place < len(tokens.tokens):
        tokens.word("")
        tokens.fail(f"{tokens.tokens[tokens.place - 1]!r} comes after the last function; the end is expected")
    for i, scores in enumerate(unary):
        if np.isneginf(scores).all():
            raise FileError(tokens.name, f"no state of variable {i} has a positive value; there is no solution")
    return MRF(unary, np.array(list(tables), np.int64).reshape(-1, 2), list(tables.values()))


def write_uai(field: MRF, path: str | Path) -> float:
    """Write a field in UAI format; return the difference between the scores of the field and those of the file.

    Entries are exponentials of scores, scaled so that the largest of each function is 1.

    Examples
    --------
    >>> import tempfile
    >>> field = MRF([[0.0, 1.0], [2.0, 0.0]], [[0, 1]], [np.eye(2)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     short = write_uai(field, folder + "/a.uai")
    ...     again = read_uai(folder + "/a.uai")
    >>> short, round(field.score([1, 0]) - again.score([1, 0]), 9)
    (4.0, 4.0)
    """
    graph, total = field.graph, 0.0
    unary = [graph.unary[graph.first[i] : graph.first[i + 1]] for i in range(field.n_nodes)]
    tables = (np.where(table <= field.penalty, -np.inf, table) for table in map(field.table, range(field.n_edges)))
    with open_output(path) as stream:
        stream.write(f"MARKOV\n{field.n_nodes}\n{' '.join(map(str, field.n_states.tolist()))}\n")
        stream.write(f"{field.n_nodes + field.n_edges}\n")
        stream.writelines(f"1 {i}\n" for i in range(field.n_nodes))
        stream.writelines(f"2 {i} {j}\n" for i, j in graph.ends.tolist())
        for scores in (*unary, *tables):
            top = float(scores.max())
            top = top if top > -np.inf else 0.0
            total += top
            entries = " ".join(repr(x) for x in np.exp(scores - top).ravel().tolist())
            stream.write(f"\n{scores.size}\n{entries}\n")
    return total


def write_mpe(labels, path: str | Path) -> None:
    """Write labels as the result of the task MPE: the number of variables, then the state of each.

    Examples
    --------
    >>> write_mpe([0, 2, 1], "-")
    MPE
    3 0 2 1
    """
    labels = np.asarray(labels, np.int64).tolist()
    with open_output(path) as stream:
        stream.write(f"MPE\n{' '.join(map(str, [len(labels), *labels]))}\n")
