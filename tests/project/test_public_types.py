"""Results of public calls: each class of ours that they return is in the reference of the Python interface."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nonproj
from nonproj import types as shared
from nonproj.integrations import sentences
from nonproj.io import files

ROOT = Path(__file__).resolve().parents[2]
PAGE = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("api.md", "internals.md"))
NAMES = [name for name in nonproj.__all__ if name != "__version__"]
PUBLIC = [getattr(nonproj, name) for name in NAMES]


@cache
def names_of(module: types.ModuleType) -> dict[str, object]:
    """Return the names of a module, those that only type checkers import included, and our aliases of types."""
    found = vars(shared) | vars(files) | vars(sentences) | vars(module)
    block = re.search(r"^if TYPE_CHECKING:.*\n((?:    .*\n|\n)+)", inspect.getsource(module), re.MULTILINE)
    if block:
        exec(textwrap.dedent(block[1]), found)
    return found


def classes_in(hint: object, module: str) -> set[type]:
    """Return the classes of ours that a type in a module names, by itself, as an argument, or by an alias."""
    text, found = hint if isinstance(hint, str) else getattr(hint, "__forward_arg__", ""), set()
    for value in map(names_of(importlib.import_module(module)).get, re.findall(r"\w+", text)):
        if isinstance(value, type) and value.__module__.startswith("nonproj."):
            found.add(value)
        elif isinstance(value, str) and value != hint:
            found |= classes_in(value, module)
    return found


def returned(function: object) -> set[type]:
    """Return the classes of ours that a function returns."""
    return classes_in(function.__annotations__.get("return"), function.__module__)


def public_members(value: type) -> Iterator[tuple[str, set[type]]]:
    """Yield the public attributes, properties and methods of a class, with the classes of ours that they are or return.

    Those that it inherits from another class of ours are included.
    """
    for base in value.__mro__:
        if base.__module__.startswith("nonproj."):
            for name, hint in vars(base).get("__annotations__", {}).items():
                if not name.startswith("_"):
                    yield name, classes_in(hint, base.__module__)
            for name, member in vars(base).items():
                function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                if isinstance(function, types.FunctionType) and not re.match("_(?!_(call|getitem|iter)__)", name):
                    yield name, returned(function)


def reached() -> dict[type, str]:
    """Return the classes of ours that public calls return or public attributes are, and where each is met first."""
    found: dict[type, str] = {}
    waiting = [(value, "nonproj") for value in PUBLIC if isinstance(value, type)]
    functions = [value for value in PUBLIC if isinstance(value, types.FunctionType)]
    waiting += [(each, function.__name__) for function in functions for each in returned(function)]
    while waiting:
        value, place = waiting.pop()
        if value not in found and not issubclass(value, BaseException):
            found[value] = place
            waiting += [(each, f"{value.__name__}.{name}") for name, all_ in public_members(value) for each in all_]
    return found


def test_what_public_calls_return_is_documented():
    """Exported from the package, or in a module that the reference lists, with a docstring of its own."""
    listed = set(re.findall(r"^ +(nonproj\.[\w.]+)$", PAGE, re.MULTILINE))
    exported = {value for value in PUBLIC if isinstance(value, type)}
    found = reached()
    assert len(found) > len(exported) - 6  # errors are not counted
    for value, place in found.items():
        assert inspect.getdoc(value), f"{value}, met at {place}, has no docstring"
        module = value.__module__
        assert value in exported or any(f"{module}.".startswith(f"{each}.") for each in listed), (
            f"{module}.{value.__name__}, met at {place}, is neither exported nor in docs/api.md or internals.md"
        )


def test_the_reference_lists_all_public_names():
    for name in NAMES:
        assert re.search(rf"[.`]{name}[`>]", PAGE), f"{name} is not in docs/api.md"
