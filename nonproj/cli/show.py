"""``nonproj show``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from nonproj.cli.common import check_outputs, progress_bar
from nonproj.cli.reading import Treebanks
from nonproj.cli.signals import heeding
from nonproj.errors import ConfigError
from nonproj.evaluation.certificates import certificate_line
from nonproj.evaluation.html.items import ReportItem, add_trees, choose, from_files, from_parses
from nonproj.io.files import open_binary, open_output
from nonproj.io.terminal import unescaped, visible
from nonproj.pictures.terminal import has_colours, to_terminal

if TYPE_CHECKING:
    from nonproj.pipeline.parser import Parser

SINGLE = (".svg", ".png", ".pdf", ".tex")
"""Formats of a single tree."""


def run(options: argparse.Namespace) -> int:
    """Draw trees: a report, a single tree, or in the terminal."""
    inputs = {"input": options.file, "gold file": options.gold, "other file": options.other, "model": options.model}
    check_outputs({"output": options.output}, inputs)
    suffix = _suffix(options)
    treebanks = Treebanks(options)
    parser, items = _items(options, treebanks)
    if options.sentence is not None:
        items = iter([choose(items, options.sentence)])
    if options.output is None:
        _draw(heeding(items))
    elif suffix == ".html":
        _write_report(options, items, parser)
    else:
        _write_single(options, items, suffix)
    return treebanks.report()


def _suffix(options: argparse.Namespace) -> str:
    """Return the format of the output; raise an error if it is unknown, or options do not fit."""
    if options.course and not options.model:
        raise ConfigError("--course", "needs a model: -m MODEL")
    if options.output is None:
        return ""
    suffix = next((each for each in (".html", *SINGLE) if options.output.lower().endswith(each)), None)
    if suffix is None:
        raise ConfigError("--output", f"{options.output!r} ends in none of .html, {', '.join(SINGLE)}")
    return suffix


def _items(options: argparse.Namespace, treebanks: Treebanks) -> tuple[Parser | None, Iterator[ReportItem]]:
    """Return the parser, if any, and the sentences with all requested trees."""
    if options.model:
        from nonproj.cli.fitting import parser_and_input  # imports kernels, which files alone do not need

        parser, source = parser_and_input(options, options.file)
        sentences = treebanks.read(source, ignore_heads=True)
        items = from_parses(parser.parse_all(progress_bar(options, source)(sentences, "parse")))
    else:
        parser, items = None, from_files(treebanks.read(options.file))
    for path, field in ((options.gold, "gold"), (options.other, "other")):
        if path:
            items = add_trees(items, treebanks.read(path, require_heads=field == "gold"), field)
    return parser, items


def _draw(items: Iterator[ReportItem]) -> None:
    """Write the trees to standard output."""
    colours, stream = has_colours(sys.stdout), unescaped(sys.stdout)
    for item in items:
        place = visible(f"{item.sentence.path}:{item.sentence.line}" + f" ({item.name})" * bool(item.name))
        lines = [place, to_terminal(item.picture(), colours), certificate_line(item.statistics, len(item.sentence))]
        stream.write("\n".join(filter(None, lines)) + "\n\n")


def _write_single(options: argparse.Namespace, items: Iterator[ReportItem], suffix: str) -> None:
    """Write the picture of the only sentence."""
    found = list(islice(items, 2))
    if len(found) > 1:
        advice = "choose one with --sentence, or write .html"
        raise ConfigError("--sentence", f"{suffix} holds one tree and {options.file} has several: {advice}")
    picture = found[0].picture()
    if suffix in (".svg", ".tex"):
        from nonproj.pictures.svg import to_svg
        from nonproj.pictures.tikz import to_tikz

        with open_output(options.output) as stream:
            stream.write(to_svg(picture) if suffix == ".svg" else to_tikz(picture))
        return
    from nonproj.pictures.images import to_pdf, to_png

    content = to_png(picture) if suffix == ".png" else to_pdf(picture)
    with open_binary(options.output) as stream:
        stream.write(content)


def _write_report(options: argparse.Namespace, items: Iterator[ReportItem], parser: Parser | None) -> None:
    """Write the report on all sentences."""
    from nonproj.evaluation.html.page import SourceNames, write_report

    names = SourceNames(options.model or options.file, options.gold, options.other)
    with open_output(options.output) as stream:
        write_report(stream, heeding(items), names, parser, _courses(options, parser))


def _courses(options: argparse.Namespace, parser: Parser | None) -> int:
    """Return the number of sentences whose course of dual decomposition is recorded; ``--sentence`` implies one."""
    if parser is None or not (options.course or options.sentence):
        return 0
    from nonproj.evaluation.html.courses import check_courses

    try:
        check_courses(parser)
    except ConfigError:
        if options.course:
            raise
        return 0
    return options.course or 1
