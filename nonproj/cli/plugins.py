"""Plugins of other distributions: commands, and kernels to compile, as entry points of two groups."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nonproj.cli.arguments import Arguments
from nonproj.errors import DependencyError, install_distribution

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "nonproj.commands"
"""The group of commands: each entry point has the name of a command, and refers to a `Command`."""

WARMUPS = "nonproj.warmups"
"""The group of warm-ups: each entry point refers to a function that calls all kernels of its distribution."""

WORKBENCH = {
    "annotate": "correct trees in the browser",
    "audit": "find errors in the annotation of a treebank",
    "search": "find words, arcs and constructions in treebanks and parsed files",
}
"""The commands of nonproj-workbench, which ``nonproj --help`` lists even where it is not installed."""

Row: TypeAlias = tuple[str, str, Callable[[Arguments], None]]
"""Name, description, and a function that adds the arguments, as `Arguments.add_commands` expects them."""


class Command(NamedTuple):
    """A command of another distribution.

    Attributes
    ----------
    description : str
        Its line in the help, without a full stop.
    add_arguments : callable
        Adds the arguments to the command's parser; its module should import nothing heavy, so that errors in options
        are reported at once.
    module : str
        Name of the module with ``run``, which takes the parsed options and returns the exit code.
    patient : bool
        As for `nonproj.cli.signals.Signals`: whether the first Ctrl-C may take long to act.
    """

    description: str
    add_arguments: Callable[[Arguments], None]
    module: str
    patient: bool = False


def rows(named: Iterable[str]) -> list[Row]:
    """Return a row for each command in `WORKBENCH`, and for the named ones that are installed, with their arguments.

    The parser of an installed command has the default ``plugin``, a `Command`.
    """
    found: dict[str, Row] = {}
    for name, text in WORKBENCH.items():
        found[name] = (name, f"{text} (package nonproj-workbench)", lambda parser: None)
    for name in named:
        if command := find_command(name):
            found[name] = (name, command.description, functools.partial(_add, command))
    return list(found.values())


def _add(command: Command, parser: Arguments) -> None:
    """Add the arguments of a command."""
    command.add_arguments(parser)
    parser.set_defaults(plugin=command)


def find_command(name: str) -> Command | None:
    """Return the command of this name, if an installed distribution has one."""
    from importlib.metadata import entry_points  # takes 20 ms, and is needed only for commands of others

    for entry in entry_points(group=GROUP, name=name):
        return _load(entry)
    return None


def warm_ups() -> list[Callable[[], None]]:
    """Return the functions of installed distributions that compile their kernels."""
    from importlib.metadata import entry_points

    return [_load(entry) for entry in entry_points(group=WARMUPS)]


def _load(entry: EntryPoint) -> Any:
    """Return the object that an entry point names."""
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        package = entry.dist.name if entry.dist else entry.value
        message = f"{package} does not fit this version of nonproj ({error}); install both in the same version"
        raise DependencyError(f"'{entry.name}': {message}") from None


def how_to_install(name: str) -> str:
    """Return the message for a command in `WORKBENCH` that is not installed."""
    command = install_distribution("workbench")
    return f"'{name}' is a command of the package nonproj-workbench; run: {command}"
