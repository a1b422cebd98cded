"""Generate the pages of reference: options and advanced options from the configuration, commands from the parsers.

    python docs/reference.py            # write the pages

tests/project/test_documentation.py checks that the pages are up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the checkout's package, not an installed one

from nonproj.cli.arguments import Arguments  # noqa: E402
from nonproj.cli.main import build_parser  # noqa: E402
from nonproj.cli.plugins import WORKBENCH  # noqa: E402
from nonproj.options.config import Config, options  # noqa: E402

OPTIONS = """# Options

These options, and [the advanced ones](advanced-options.md), can be set in a configuration file or by
`--set SECTION.KEY=VALUE` ([your own treebank](treebank.md)). `docs/reference.py` generates this page.
"""

ADVANCED_OPTIONS = """# Advanced options

Sizes, thresholds, factors and the parameters of papers, which tune what [the other options](options.md) choose. They
may [change in minor versions](compatibility.md). `docs/reference.py` generates this page.
"""

COMMANDS = """# The commands

A file may be `-` (standard input or output) or end in `.gz`. The exit code is 0, or 2 after an error ([errors and
limits](errors.md)). `annotate`, `audit` and `search` are commands of [the workbench](../workbench/docs/commands.md).
`docs/reference.py` generates this page.

The package shtab writes scripts by which a shell completes commands, options and files, as in
`shtab --shell=bash nonproj.cli.main.build_parser > ~/.local/share/bash-completion/completions/nonproj`.
"""


def cell(text: str) -> str:
    """Return a text escaped for a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, ("---",) * len(head), *[tuple(map(cell, row)) for row in rows]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def value(default: object) -> str:
    """Return a default value as written in YAML."""
    words = {True: "true", False: "false", None: "null"}
    return words[default] if default is None or isinstance(default, bool) else str(default)


def allowed(expected: str) -> str:
    """Return the allowed values of an option as a table shows them.

    Examples
    --------
    >>> allowed("0 or an integer of at least 2")
    '0 or at least 2'
    """
    return re.sub(r"\b(an?|the) |\b(integer|number) (of )?", "", expected)


def option_page(head: str = OPTIONS, advanced: bool = False) -> str:
    """Return the page of the options that are advanced or are not, with one table per section of the configuration."""
    summaries = {
        field.name: field.default_factory.__doc__ for field in fields(Config) if "option" not in field.metadata
    }
    page, chosen = head, [each for each in options() if each[1].advanced == advanced]
    for section, group in groupby(chosen, key=lambda each: each[0].partition(".")[0] if "." in each[0] else ""):
        rows = [(f"`{name}`", value(option.default), option.help, allowed(option.expected)) for name, option in group]
        page += f"\n## {section}\n\n{summaries[section].splitlines()[0]}\n\n" if section else "\n## The model\n\n"
        page += table(("option", "default", "meaning", "values"), rows)
    return page


def advanced_page() -> str:
    """Return the page of the advanced options."""
    return option_page(ADVANCED_OPTIONS, advanced=True)


def invocation(action: argparse.Action) -> str:
    """Return the usage form of an argument."""
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    if action.nargs == 0:
        return ", ".join(f"`{name}`" for name in action.option_strings)
    values = action.metavar or "|".join(map(str, action.choices or [action.dest.upper()]))
    values = " ".join(values) if isinstance(values, tuple) else values
    return ", ".join(f"`{name}`" for name in [*action.option_strings[:-1], f"{action.option_strings[-1]} {values}"])


def arguments(parser: Arguments) -> list[tuple[str, str]]:
    """Return the arguments of a command, except those common to all commands."""
    common = {"help", "help_all", "verbose", "quiet"}
    shown = [each for each in parser.arguments if each.dest not in common and each.help is not argparse.SUPPRESS]
    return [(invocation(action), (action.help or "") % {"default": action.default}) for action in shown]


def commands(parser: Arguments) -> Iterator[Arguments]:
    """Yield the leaf commands of a parser, including subcommands."""
    for command in parser.commands.values():
        if command.commands:
            yield from commands(command)
        else:
            yield command


def own_parser() -> Arguments:
    """Return nonproj's parser without the commands of other packages."""
    parser = build_parser(())
    parser.commands = {name: command for name, command in parser.commands.items() if name not in WORKBENCH}
    return parser


def first_name(row: tuple[str, str]) -> str:
    """Return the first name of an argument, without its value."""
    return re.split(r"[ `]", row[0])[1]


def command_page(head: str = COMMANDS, parser: Arguments | None = None, known: Arguments | None = None) -> str:
    """Return the page of a parser's commands, by default nonproj's.

    An argument is explained at its first command, those of ``known`` included; later ones name it.
    """
    parser = parser or own_parser()
    shared = [("`-h`, `--help`", "print the usual arguments of the command and exit")]
    shared += [("`--help-all`", "print all arguments of the command and exit")]
    first = next(commands(parser))
    shared += [(invocation(each), each.help) for each in first.arguments if each.dest in ("verbose", "quiet")]
    page = f"{head}\n## All commands\n\n{table(('argument', 'meaning'), shared)}"
    before = list(commands(known))[::-1] if known else []
    first_in = {row: command.prog for command in before for row in arguments(command)}
    for command in commands(parser):
        page += f"\n## {command.prog}\n\n{command.description}\n"
        rows = arguments(command)
        if new := [row for row in rows if row not in first_in]:
            page += f"\n{table(('argument', 'meaning'), new)}"
        repeated = sorted((row for row in rows if row in first_in), key=first_in.__getitem__)
        for other, group in groupby(repeated, key=first_in.__getitem__):
            page += f"\nAs for `{other}`: {', '.join(f'`{name}`' for name in map(first_name, group))}.\n"
        first_in |= dict.fromkeys(new, command.prog)
    return page


def main() -> None:
    """Write the pages."""
    for name, page in (("options", option_page), ("advanced-options", advanced_page), ("commands", command_page)):
        (ROOT / "docs" / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
