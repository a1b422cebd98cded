"""Reading that continues after malformed units: ``--on-error skip``.

The unit of a treebank is the sentence (`nonproj.io.blocks`); that of plain text is the line.  A unit that cannot be
read becomes a `MalformedUnit` in its place, and reading continues after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias, TypeVar

from nonproj.errors import DataError, NonprojError
from nonproj.io.blocks import Block, blocks
from nonproj.io.checks import ReadingRules
from nonproj.io.files import Source, open_input
from nonproj.io.kinds import ON_ERROR
from nonproj.types import Sentence

STOP, SKIP = ON_ERROR

T = TypeVar("T")


class MalformedUnit(NamedTuple):
    """A unit of a file that cannot be parsed.

    Attributes
    ----------
    path : str
    line : int
        The line of the error, from 1.
    first, last : int
        The lines of the unit.
    reason : str
        The error, and what is expected.
    """

    path: str
    line: int
    first: int
    last: int
    reason: str

    def error(self) -> DataError:
        """Return the error that is raised without ``--on-error``."""
        return DataError(self.path, self.line, self.reason)


def malformed(sentence: Sentence, error: DataError) -> MalformedUnit:
    """Return the `MalformedUnit` that replaces a sentence that cannot be parsed."""
    last = sentence.line + max(len(sentence.lines), 1) - 1
    return MalformedUnit(sentence.path, error.line, sentence.line, last, error.message)


Unit: TypeAlias = "Sentence | MalformedUnit | str"
"""A unit of a treebank; a string has lines without words, which are written unchanged."""


def read_units(source: Source, rules: ReadingRules, *, stop: bool = False) -> Iterator[Unit]:
    """Read a treebank, including malformed sentences; other parameters and errors as for `nonproj.io.conll.read`.

    With ``stop``, nothing is read after lines that are too long or too many.

    Yields
    ------
    Sentence, MalformedUnit or str
        In the order of the file; a string is the blank lines at its end.  A file without sentences yields none.

    Raises
    ------
    FileError
        The file cannot be read.

    Examples
    --------
    >>> import io
    >>> word = "1\\tRegn\\t_\\tN\\tNC\\t_\\t0\\tROOT\\t_\\t_\\n"
    >>> units = list(read_units(io.StringIO(f"{word}\\n1\\tto\\tfew\\n\\n{word}\\n"), ReadingRules()))
    >>> [type(unit).__name__ for unit in units], str(units[1].error())
    (['Sentence', 'MalformedUnit', 'Sentence'], '<stream>:3: 3 columns, 10 expected')
    """
    stream, name, closing = open_input(source)
    with closing:
        for block in blocks(stream, name, rules, stop=stop):
            yield from units_of(block, name, rules)


def units_of(block: Block, name: str, rules: ReadingRules) -> Iterator[Unit]:
    """Yield the sentence of a block, or the `MalformedUnit` in its place; or the blank lines at the end of a file."""
    if not block.worded and not block.problem:
        if block.first > 1:
            yield b"".join(block.lines).decode()
        return
    try:
        yield block.sentence(name, rules)
    except DataError as error:
        if block.first == 1 and block.layout is not None:  # later sentences need the names of the columns
            yield from filter(None, [block.layout.header(block.lines[0].decode(errors="replace"))])
        yield MalformedUnit(name, error.line, block.first, block.last, error.message)


def sentences_in(units: Iterable[Unit], on_broken: Callable[[MalformedUnit], object]) -> Iterator[Sentence]:
    """Yield the sentences among some units, and call ``on_broken`` with each malformed one.

    Examples
    --------
    >>> import io
    >>> broken = []
    >>> units = read_units(io.StringIO("1\\tto\\tfew\\n\\n1\\tRegn" + "\\t_" * 8 + "\\n\\n"), ReadingRules())
    >>> [sentence.forms for sentence in sentences_in(units, broken.append)], len(broken)
    ([['Regn']], 1)
    """
    for unit in units:
        if isinstance(unit, Sentence):
            yield unit
        elif isinstance(unit, MalformedUnit):
            on_broken(unit)


def until_error(units: Iterable[T], errors: list[NonprojError]) -> Iterator[T]:
    """Yield units up to the first error or malformed unit, and insert the error at the front of ``errors``.

    As it ends without raising, the units before the error can still be parsed as a batch.

    Examples
    --------
    >>> import io
    >>> errors = []
    >>> len(list(until_error(read_units(io.StringIO("1\\ta\\n"), ReadingRules()), errors))), str(errors[0])
    (0, '<stream>:1: 2 columns, 10 expected')
    """
    try:
        for unit in units:
            if isinstance(unit, MalformedUnit):
                errors.insert(0, unit.error())
                return
            yield unit
    except NonprojError as error:
        errors.insert(0, error)
