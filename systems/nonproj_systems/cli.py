"""The command ``nonproj-systems``.

A system is imported only if its command is named, so ``nonproj-systems --help`` is answered at once.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from nonproj.cli.arguments import Arguments
from nonproj.cli.main import run_program, start_logging
from nonproj.cli.signals import Signals

COMMANDS: dict[str, tuple[str, str]] = {
    "constituency": ("nonproj_systems.constituency.command", "phrase structure and tags: train, parse, evaluate"),
    "lexicalised": (
        "nonproj_systems.constituency.lexicalised_command",
        "phrase structure and dependencies jointly: train, parse",
    ),
    "translate": (
        "nonproj_systems.translation.command",
        "train phrase-based translation, and translate with a proof of optimality",
    ),
    "tsp": ("nonproj_systems.tsp.command", "find tours that are proven to be shortest, for files of TSPLIB95"),
    "mrf": ("nonproj_systems.mrf.command", "find the most probable labels of a Markov random field (UAI file)"),
}
"""The module of each command, with ``add_arguments`` and ``run``, and its description."""


def build_parser(named: str = "") -> Arguments:
    """Return the parser of the command line, with the arguments of one of the `COMMANDS`."""
    parser = Arguments(
        prog="nonproj-systems",
        description="Other problems solved by dual decomposition, with proofs of optimality.",
        epilog="'nonproj-systems COMMAND --help' describes a command.  A file may be '-' (standard input or output) or"
        " .gz.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    table = [
        (name, text, importlib.import_module(module).add_arguments if name == named else lambda _: None)
        for name, (module, text) in COMMANDS.items()
    ]
    parser.add_commands("command", "COMMAND", table)
    return parser


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line; exit with code 2 if it is invalid.

    Examples
    --------
    >>> options = parse_arguments(["tsp", "--json", "berlin52.tsp"])
    >>> options.command, options.files, options.json
    ('tsp', ['berlin52.tsp'], True)
    """
    parser = build_parser(next((word for word in words if not word.startswith("-")), ""))
    parser.check_options(words)
    options, extra = parser.parse_known_args(words)
    if extra:
        parser.commands.get(options.command, parser).error(f"unknown argument {extra[0]!r}")
    if not options.command and not options.version:
        parser.error(f"a command is expected: {', '.join(parser.commands)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        By default the arguments of the process.

    Returns
    -------
    int
        The exit code, as for `nonproj.cli.main.main`.
    """
    return run_program("nonproj-systems", _run, arguments)


def _run(words: list[str], last: bool) -> int:
    """Run the command that the arguments name, and return its exit code."""
    options = parse_arguments(words)
    if options.version:
        from nonproj_systems import __version__

        sys.stdout.write(f"nonproj-systems {__version__}\n")
        return 0
    start_logging(options)
    with Signals(patient=False, last=last, name="nonproj-systems"):
        code: int = importlib.import_module(COMMANDS[options.command][0]).run(options)
        return code
