"""Parsing of units, which are sentences or malformed units, in the order of the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nonproj.errors import DataError
from nonproj.io.broken import MalformedUnit
from nonproj.pipeline.parser import BATCH, Parser
from nonproj.pipeline.parses import Parse
from nonproj.types import Sentence


def parse_units(
    parser: Parser, units: Iterable[Sentence | MalformedUnit | str], batch_size: int = BATCH
) -> Iterator[tuple[Sentence, Parse] | MalformedUnit | str]:
    """Yield the parse of each sentence, a `MalformedUnit` for each that cannot be parsed, and strings as is."""
    for unit, parse in parser.try_all(units, batch_size):
        if parse is None:
            yield unit
        elif isinstance(parse, DataError):
            last = unit.line + max(len(unit.lines), 1) - 1
            yield MalformedUnit(unit.path, parse.line, unit.line, last, parse.message)
        else:
            yield unit, parse
