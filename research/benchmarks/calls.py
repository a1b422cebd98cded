"""Python calls for one short text: how much of the program a sentence passes through.

    python -m research.benchmarks.calls MODEL [TEXT]

Counts the call events of `sys.setprofile` in functions of this package, compiled ones included, once everything is
loaded and compiled.  The figures depend on the version of Python: from 3.12 on, comprehensions are not calls.

With Python 3.11 the Wolof model makes 207 calls in 160 functions of 52 modules for `TEXT`, and the Welsh one 210 calls
in 163 functions of 54 modules.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import nonproj

TEXT = "Bugün hava çok güzel mi?"
"""Six words of Turkish, the question mark among them."""

WARM = 3
"""Number of calls before the one that is counted."""

_FOLDER = Path(nonproj.__file__).parent


class Calls(NamedTuple):
    """Number of calls, functions and modules in one call of the parser, or their limits."""

    calls: int
    functions: int
    modules: int


LIMITS = Calls(199, 161, 49)
"""Limits for the model of the tests: fewer than 200 calls, and no more functions and modules than were measured."""


def count(call: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Return how often each function is called, by its module's path in the package and its name."""
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        """Count a call."""
        if event == "call":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(_FOLDER):
                found[path.relative_to(_FOLDER).as_posix(), frame.f_code.co_qualname] += 1

    for _ in range(WARM):
        call()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def summary(found: Counter[tuple[str, str]]) -> Calls:
    """Return the numbers of calls, of functions and of modules."""
    return Calls(found.total(), len(found), len({module for module, _ in found}))


def by_module(found: Counter[tuple[str, str]]) -> list[str]:
    """Return a line for each module, those with most calls first: its calls, its functions, and their names."""
    modules: dict[str, list[tuple[str, int]]] = {}
    for (module, function), times in found.items():
        modules.setdefault(module, []).append((function.replace("<locals>.", ""), times))
    lines = []
    for module, functions in sorted(modules.items(), key=lambda item: -sum(times for _, times in item[1])):
        names = ", ".join(name if times == 1 else f"{name} x {times}" for name, times in functions)
        lines.append(f"{sum(times for _, times in functions):4} {len(functions):3} {module}: {names}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Print the figures and a line for each module."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="model file")
    parser.add_argument("text", nargs="?", default=TEXT, help="plain text (default: %(default)s)")
    options = parser.parse_args(arguments)
    nlp = nonproj.load(options.model)
    found = count(lambda: nlp(options.text))
    lines = ["{} calls in {} functions of {} modules".format(*summary(found)), *by_module(found)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
