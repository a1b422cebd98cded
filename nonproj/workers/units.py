"""Parsing of units: sentences, and malformed ones in their place, in the order of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

from nonproj.errors import DataError
from nonproj.evaluation.certificates import ParseRecord, TextOptions, annotate
from nonproj.io import conll
from nonproj.io.batches import batches
from nonproj.io.broken import COPY, MalformedUnit
from nonproj.pipeline.parser import BATCH, Parser
from nonproj.pipeline.parses import Parse
from nonproj.types import Sentence

_LONGEST_COMMENT = 10_000


def parse_units(
    parser: Parser, units: Iterable[Sentence | MalformedUnit | str], batch_size: int = BATCH
) -> Iterator[tuple[Sentence, Parse] | MalformedUnit | str]:
    """Yield the parse of each sentence, a `MalformedUnit` for each that cannot be parsed, and strings as is."""
    for group in batches(units, batch_size):
        sentences = [unit for unit in group if isinstance(unit, Sentence)]
        parsed = parser.try_all(sentences, batch_size)
        for unit in group:
            if not isinstance(unit, Sentence):
                yield unit
                continue
            sentence, parse = next(parsed)
            yield _refused(unit, parse) if isinstance(parse, DataError) else (sentence, parse)


def _refused(sentence: Sentence, error: DataError) -> MalformedUnit:
    """Return the `MalformedUnit` for a sentence that cannot be parsed."""
    last = sentence.line + max(len(sentence.lines), 1) - 1
    return MalformedUnit(sentence.path, error.line, sentence.line, last, error.message, "".join(sentence.lines))


class UnitWriter:
    """Writes parsed units; malformed ones are skipped or copied, and recorded.

    The lines of a malformed sentence are copied unchanged.  Malformed text becomes a comment above the next sentence; a
    CoNLL-U file cannot end with a comment, so after the last sentence it is only recorded.

    Parameters
    ----------
    stream : TextIO
        Its error handler must be ``surrogateescape`` if malformed sentences are copied.
    options : TextOptions
    on_record : callable
        Called with the `ParseRecord` of each sentence and the `MalformedUnit` in its place.

    Attributes
    ----------
    pending : str
        Comments waiting for a sentence.
    """

    def __init__(
        self, stream: TextIO, options: TextOptions, on_record: Callable[[ParseRecord | MalformedUnit], object]
    ):
        self.stream, self.options, self.on_record, self.pending = stream, options, on_record, ""

    def write(self, units: Iterable[tuple[Sentence, Parse] | MalformedUnit | str]) -> None:
        """Write units in order."""
        conll.write(self.items(units), self.stream, deps=self.options.deps)

    def items(self, units: Iterable[tuple[Sentence, Parse] | MalformedUnit | str]) -> Iterator[Any]:
        """Yield the arguments of `nonproj.io.conll.write`."""
        copies, plain = self.options.on_error == COPY, self.options.plain is not None
        for unit in units:
            if isinstance(unit, str):
                yield unit
            elif isinstance(unit, MalformedUnit):
                self.on_record(unit._replace(text=""))
                if copies and plain:
                    self.pending += broken_comment(unit)
                elif copies:
                    yield unit.text
            else:
                if self.pending:
                    yield self.pending
                    self.pending = ""
                yield from annotate([unit], self.options.comments, self.on_record, self.options.confidence)


def broken_comment(unit: MalformedUnit) -> str:
    """Return the CoNLL-U comment that preserves a malformed line of text.

    Examples
    --------
    >>> broken_comment(MalformedUnit("a.txt", 7, 7, 7, "byte 0xf8 is not UTF-8", "R\\udcf8d.\\n"))
    '# nonproj broken line 7 = R\\\\xf8d.\\n'
    """
    text = unit.text if unit.text and not unit.text.startswith("#") else unit.reason
    plain = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return f"# nonproj broken line {unit.line} = {' '.join(plain.split())[:_LONGEST_COMMENT]}\n"
