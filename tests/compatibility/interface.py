"""The public interface as text: Python names with their parameters, commands, options, addresses of the server.

    python tests/compatibility/interface.py          # write interface.txt
    python tests/compatibility/interface.py --check  # fail unless it is complete, as before a release

Later versions must provide everything that is listed (`missing`); they may provide more.
"""

import argparse
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_suffix(".txt")
sys.path.insert(0, str(ROOT))  # the checkout's package, not an installed one

import nonproj  # noqa: E402
from nonproj.cli.arguments import Arguments  # noqa: E402
from nonproj.cli.main import build_parser  # noqa: E402
from nonproj.cli.plugins import WORKBENCH  # noqa: E402
from nonproj.options.config import options  # noqa: E402
from nonproj.server.app import routes  # noqa: E402
from nonproj.server.parameters import NAMES  # noqa: E402

MADE_BY_USERS = ("Auxiliary", "Config", "DependencyParser", "Evaluation", "Parser", "RunOptions", "Sentence")
"""The classes whose objects users make by calling them; those of others are results, whose attributes are public."""

ONLY = {
    "Auxiliary": ("origin", "sentences"),
    "Config": ("load", "with_overrides"),
    "Decoded": ("bound", "certified", "heads", "score"),
    "DependencyParser": ("evaluate", "fit", "load", "parse_all", "predict", "predict_with_certificates")
    + ("predict_with_confidence", "save", "score"),
    "Evaluation": ("add", "as_dict", "las", "table", "uas"),
    "Model": ("load", "save"),
    "Parse": ("confidence", "decoded", "labels"),
    "ParsedSentence": ("bound", "certified", "confidence", "feats", "forms", "heads", "labels", "lemmas")
    + ("others", "picture", "score", "text", "to_conllu", "to_json", "upos", "words", "xpos"),
    "Parser": ("parse", "parse_all"),
    "Sentence": ("forms", "heads", "labels"),
    "TextParser": ("marginals", "nbest", "parse", "parse_all", "pipe", "samples"),
}
"""The public attributes of classes that have others, which modules of the parser share or are parameters."""

MOST = 250
"""Lines, at most: each is kept until the next major version."""


def listing() -> list[str]:
    """Return the lines of the public interface."""
    lasting = (name for name, option in options() if not option.advanced)
    lines = [*_python(), *_command_line(build_parser(())), *(f"option {name}" for name in lasting)]
    return [*lines, *_addresses()]


def _python() -> Iterator[str]:
    """Yield a line for each public function, class, method and attribute.

    A class that users do not make, but get as a result, is named by the lines of its attributes; the parameters of a
    dataclass are attributes, too.
    """
    for name in nonproj.__all__:
        value = getattr(nonproj, name)
        if not isinstance(value, type):
            yield f"python {name}{_parameters(value)}" if callable(value) else f"python {name}"
            continue
        if issubclass(value, Exception):
            yield f"python {name} is {next(base.__name__ for base in value.__mro__[1:])}"
        if name in MADE_BY_USERS:
            yield f"python {name}{_parameters(value)}"
        for member in sorted(_members(value)):
            found = inspect.getattr_static(value, member, None)
            function = getattr(found, "__func__", found)
            is_method = isinstance(function, types.FunctionType)
            yield f"python {name}.{member}{_parameters(function, isinstance(found, staticmethod)) if is_method else ''}"


def _members(value: type) -> set[str]:
    """Return the public attributes of a class that it or another class of ours declares."""
    found: set[str] = set()
    for base in value.__mro__:
        if base.__module__.startswith("nonproj."):
            found |= vars(base).keys() | getattr(base, "__annotations__", {}).keys()
    return {name for name in found if not name.startswith("_") and name in ONLY.get(value.__name__, found)}


def _parameters(function: object, bound: bool = True) -> str:
    """Return the parameters in parentheses, without types; each default is an ellipsis."""
    found = []
    for number, parameter in enumerate(inspect.signature(function).parameters.values()):
        if number == 0 and parameter.name in ("self", "cls"):
            continue
        default = parameter.empty if parameter.default is parameter.empty else ...
        found.append(parameter.replace(annotation=parameter.empty, default=default))
    return str(inspect.Signature(found)).replace("Ellipsis", "...")


def _command_line(parser: Arguments) -> Iterator[str]:
    """Yield a line for each argument, with the commands of this package that have it.

    Spellings of one argument, such as ``-q`` and ``--quiet``, or ``--tag`` and ``--no-tag``, stand in one line.
    """
    own = {name: command for name, command in parser.commands.items() if name not in WORKBENCH}
    found: dict[str, list[str]] = {}
    for name, command in own.items():
        for text in _arguments(command):
            found.setdefault(text, []).append(name)
    for text, names in found.items():
        yield f"argument {text}: {' '.join(names)}"


def _arguments(command: Arguments) -> list[str]:
    """Return the arguments of a command, each with all its spellings."""
    found: dict[tuple[str, str], list[str]] = {}
    for action in command.arguments:
        if action.help is not argparse.SUPPRESS:
            key = (action.dest, _value(action)) if action.option_strings else (action.dest, "")
            words = action.option_strings or [f"<{action.metavar}> {action.nargs or 1}"]
            found.setdefault(key, []).extend(words)
    return [", ".join(words) + value for (_, value), words in found.items()]


def _value(action: argparse.Action) -> str:
    """Return the description of an argument behind its name."""
    if action.nargs == 0:
        return ""
    return f" {{{','.join(map(str, action.choices))}}}" if action.choices else " VALUE" + "?" * (action.nargs == "?")


def _addresses() -> Iterator[str]:
    """Yield a line for each address of the server, its methods and parameters."""
    for route in routes():
        yield from (f"server {method} {route.path}" for method in sorted(set(route.methods or ()) - {"HEAD"}))
    yield from (f"server GET /process {name}" for name in NAMES)


def missing(old: list[str], new: list[str]) -> list[str]:
    """Return the promises in lines of an earlier version that a later one breaks; arguments command by command."""
    old, new = ([each for line in lines for each in _promises(line)] for lines in (old, new))
    known, by_name = set(new), {line.partition("(")[0]: line for line in new}
    return [
        line for line in old if line not in known and not _satisfies(line, by_name.get(line.partition("(")[0]), known)
    ]


def _promises(line: str) -> Iterator[str]:
    """Yield what a line promises: of an argument, each spelling for each of its commands.

    Examples
    --------
    >>> list(_promises("argument -j, --jobs VALUE: parse train"))
    ['command parse -j VALUE', 'command parse --jobs VALUE', 'command train -j VALUE', 'command train --jobs VALUE']
    """
    if not line.startswith("argument "):
        yield line
        return
    text, _, names = line.removeprefix("argument ").rpartition(": ")
    spellings, value = re.fullmatch(r"(-[\w-]+(?:, -[\w-]+)*|<.*?>)( .+)?", text).groups(default="")
    for name in names.split():
        yield from (f"command {name} {spelling}{value}" for spelling in spellings.split(", "))


def _satisfies(old: str, new: str | None, known: set[str]) -> bool:
    """Return whether a changed line still allows everything that the old one does."""
    if old.startswith("python ") and "(" in old:
        return new is not None and "(" in new and accepts(_signature(new), _signature(old))
    if old.startswith("command ") and old.endswith("}"):
        head, _, choices = old[:-1].partition(" {")
        wider = [line[len(head) + 2 : -1].split(",") for line in known if line.startswith(f"{head} {{")]
        return f"{head} VALUE" in known or any(set(choices.split(",")) <= set(each) for each in wider)
    return False


def _signature(line: str) -> inspect.Signature:
    """Return the signature in a line."""
    names: dict[str, object] = {}
    exec(f"def function({line.partition('(')[2]}: pass", names)  # lines of our own file
    return inspect.signature(names["function"])


def accepts(new: inspect.Signature, old: inspect.Signature) -> bool:
    """Return whether every call that an old signature accepts is accepted, with the same meaning, by a new one.

    Examples
    --------
    >>> from inspect import signature
    >>> accepts(signature(lambda a, b=..., *, c=...: 0), signature(lambda a, b=...: 0))
    True
    >>> accepts(signature(lambda b, a=...: 0), signature(lambda a, b=...: 0))
    False
    """
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    after, before = new.parameters, old.parameters
    for name, parameter in before.items():
        found = after.get(name)
        if found is None or (parameter.default is not parameter.empty and found.default is found.empty):
            return False
        if found.kind != parameter.kind and not (
            parameter.kind is inspect.Parameter.KEYWORD_ONLY and found.kind in positional
        ):
            return False
    order = [name for name, parameter in after.items() if parameter.kind in positional]
    wanted = [name for name, parameter in before.items() if parameter.kind in positional]
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    added = [parameter for name, parameter in after.items() if name not in before]
    return order[: len(wanted)] == wanted and all(
        parameter.default is not parameter.empty or parameter.kind in variable for parameter in added
    )


def main(arguments: list[str]) -> int:
    """Write the file, or check it; return the exit code."""
    lines = listing()
    if "--check" not in arguments:
        FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return 0
    listed = FILE.read_text(encoding="utf-8").splitlines()
    for line in sorted({*missing(listed, lines), *(set(lines) - set(listed))}):
        sys.stdout.write(f"{'not listed' if line in lines else 'missing'}: {line}\n")
    return int(set(listed) != set(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
