"""``nonproj search``."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from nonproj.cli.common import check_outputs
from nonproj.cli.reading import Treebanks
from nonproj.cli.signals import heeding
from nonproj.errors import ConfigError, counted, one_line
from nonproj.io.files import open_output
from nonproj_workbench.search.absent import absent
from nonproj_workbench.search.output import Hit, count_groups, lines_with_matches, search, table_head, table_rows
from nonproj_workbench.search.patterns import OF_BOTH
from nonproj_workbench.search.query import MOST_STEPS, Query
from nonproj_workbench.search.syntax import parse_fields

log = logging.getLogger("nonproj")


@dataclass
class _Totals:
    """The numbers of the summary."""

    sentences: int = 0
    found: int = 0
    matches: int = 0
    abandoned: int = 0

    def counted(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Yield the sentences with matches, and count all."""
        for hit in hits:
            self.sentences += 1
            self.abandoned += not hit.complete
            if hit.matches:
                self.found += 1
                self.matches += len(hit.matches)
                yield hit


def run(options: argparse.Namespace) -> int:
    """Write the sentences that match a query, a table of the matches, or their counts."""
    query = Query(options.query)
    fields = parse_fields(options.count or options.table or "form", query.names)
    uses_other = query.uses_other or any(field.attribute.other or field.attribute.key in OF_BOTH for field in fields)
    if uses_other and not options.other:
        raise ConfigError("--other", "the query is about a second tree (~ or differs), which this option gives")
    if options.other and len(options.files) > 1:
        raise ConfigError("--other", f"is about one file; {len(options.files)} are given")
    if [*options.files, options.other].count("-") > 1:
        raise ConfigError("FILE", "only one file can be standard input (-)")
    inputs = {f"input {path}": path for path in options.files} | {"other file": options.other}
    check_outputs({"output": options.output}, inputs)
    totals = _Totals()
    treebanks = Treebanks(options)
    hits = totals.counted(heeding(_hits(options, query, treebanks)))
    with open_output(options.output) as stream:
        if options.count:
            _write_rows(stream, [[field.text for field in fields] + ["matches"]])
            _write_rows(stream, ([*group, str(number)] for group, number in count_groups(query, fields, hits)))
        elif options.table:
            _write_rows(stream, [table_head(query, fields)])
            _write_rows(stream, (row for hit in hits for row in table_rows(query, fields, hit)))
        else:
            for hit in hits:
                stream.write(lines_with_matches(query, hit))
    _report(options, totals)
    if not totals.found and "-" not in options.files:
        _explain(options)
    return treebanks.report()


def _explain(options: argparse.Namespace) -> None:
    """Warn of tags, relations and forms in the query that no word has."""
    sentences = (sentence for path in options.files for sentence in Treebanks(options).read(path))
    if reason := absent(options.query, heeding(sentences)):
        log.warning("%s", one_line(reason))


def _hits(options: argparse.Namespace, query: Query, treebanks: Treebanks) -> Iterator[Hit]:
    """Yield all sentences with their matches."""
    for path in options.files:
        others = treebanks.read(options.other) if options.other else None
        yield from search(query, treebanks.read(path), others)


def _write_rows(stream: TextIO, rows: Iterable[list[str]]) -> None:
    """Write rows of a table, separated by tabs; tabs within a cell, as comments may have, are escaped."""
    for row in rows:
        stream.write("\t".join(cell.replace("\t", r"\x09") for cell in row) + "\n")


def _report(options: argparse.Namespace, totals: _Totals) -> None:
    """Write a summary to standard error."""
    if totals.abandoned:
        log.warning(
            "%d of %d sentences: search abandoned after %d steps; some matches are missing",
            *(totals.abandoned, totals.sentences, MOST_STEPS),
        )
    if not options.quiet:
        matches = f"{totals.matches:,} match{'es' * (totals.matches != 1)}"
        sentences = counted(totals.sentences, "sentence", ",")
        sys.stderr.write(f"{matches} in {totals.found:,} of {sentences}\n")
