"""The treebanks that a command reads, and ``--on-error``."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator

from nonproj.cli.common import reading_rules
from nonproj.errors import DataError, one_line
from nonproj.evaluation.certificates import ParseLog
from nonproj.io import conll
from nonproj.io.broken import STOP, read_units, sentences_in
from nonproj.io.files import Source, open_input
from nonproj.types import Sentence

log = logging.getLogger("nonproj")


class Treebanks:
    """Reads the treebanks of a command; with ``--on-error skip``, malformed sentences are left out and counted.

    Parameters
    ----------
    options : argparse.Namespace
        The options of `nonproj.cli.arguments.add_reading`, and ``on_error`` of those commands that have it.
    """

    def __init__(self, options: argparse.Namespace):
        self.options, self.skips = options, getattr(options, "on_error", STOP) != STOP
        self._log = ParseLog(None)

    def read(self, source: Source, **rules: bool) -> Iterator[Sentence]:
        """Yield the sentences of a treebank; ``rules`` are fields of `nonproj.io.checks.ReadingRules`.

        Raises `DataError` if there are none, or at the first malformed one if it stops the command.
        """
        own = reading_rules(self.options, **rules)
        if not self.skips:
            yield from conll.read(source, own)
            return
        opened, before, found = open_input(source), self._log.refused, False
        for sentence in sentences_in(read_units(opened, own), self._log.add):
            found = True
            yield sentence
        if not found:
            first = self._log.broken[before : before + 1]
            raise first[0].error() if first else DataError(opened.name, 1, "no sentences")

    def read_all(self, source: Source | None, **rules: bool) -> list[Sentence]:
        """Return all sentences of a treebank, with equal strings stored once; none without a source."""
        if source is None:
            return []
        return conll.interned(self.read(source, **rules))

    def report(self) -> int:
        """List the units that were left out, and return the exit code of a command that has otherwise succeeded."""
        if count := self._log.refused:
            list_broken(self._log)
            log.error("nonproj: %d broken sentence%s left out", count, "s" * (count != 1))
        return int(count > 0)


def list_broken(counts: ParseLog, hint: str = "") -> None:
    """Write the error of each malformed unit, and its lines; ``hint`` follows the number of unlisted ones."""
    for unit in counts.broken:
        lines = f"line {unit.first}" if unit.first == unit.last else f"lines {unit.first} to {unit.last}"
        log.error("%s", one_line(f"{unit.error()} ({lines})"))
    if counts.refused > len(counts.broken):
        log.error("and %d more%s", counts.refused - len(counts.broken), hint)
