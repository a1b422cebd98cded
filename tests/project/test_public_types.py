"""Arguments and results of public calls: typed, and each class of ours in the reference of the Python interface."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import types
import typing
from pathlib import Path

from numpy.typing import NDArray

import nonproj
from nonproj import types as shared
from nonproj.integrations import sentences
from nonproj.io import files

ROOT = Path(__file__).resolve().parents[2]
PAGE = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("api.md", "internals.md"))
NAMES = [name for name in nonproj.__all__ if name != "__version__"]


def with_checked(module: types.ModuleType) -> dict[str, object]:
    """Return the names of a module, those that only type checkers import included."""
    found = {"NDArray": NDArray} | vars(module)
    block = re.search(r"^if TYPE_CHECKING:.*\n((?:    .*\n|\n)+)", inspect.getsource(module), re.MULTILINE)
    if block:
        exec(textwrap.dedent(block[1]), found)
    return found


ALIASES = {
    name: eval(value, with_checked(module))
    for module in (shared, files, sentences)
    for name, value in vars(module).items()
    if isinstance(value, str) and module.__annotations__.get(name) == "TypeAlias"
}
"""The aliases of types, which are strings, so that nothing is imported for them."""


def names_of(module_name: str) -> dict[str, object]:
    """Return the names that annotations of a module may use."""
    return with_checked(importlib.import_module(module_name)) | ALIASES


def hints(function: object) -> dict[str, object]:
    """Return the types of the parameters and of the result."""
    return typing.get_type_hints(function, names_of(function.__module__))


def classes_in(hint: object) -> set[type]:
    """Return the classes of nonproj in a type, those in its arguments included."""
    if isinstance(hint, str):
        return set()
    found = {inner for argument in typing.get_args(hint) for inner in classes_in(argument)}
    origin = typing.get_origin(hint) or hint
    return found | ({origin} if isinstance(origin, type) and origin.__module__.startswith("nonproj.") else set())


def attributes(value: type) -> dict[str, object]:
    """Return the types of the public attributes that a class of ours declares or inherits from another of ours."""
    found = {}
    for base in value.__mro__:
        if base.__module__.startswith("nonproj."):
            names = names_of(base.__module__)
            for name, hint in vars(base).get("__annotations__", {}).items():
                if not name.startswith("_"):
                    text = hint if isinstance(hint, str) else getattr(hint, "__forward_arg__", None)
                    found[name] = eval(text, names) if text else hint
    return found


def members(value: type) -> list[tuple[str, object]]:
    """Return the public methods and properties that a class of ours defines or inherits from another of ours."""
    found = []
    for base in value.__mro__:
        if base.__module__.startswith("nonproj."):
            for name, member in vars(base).items():
                if not name.startswith("_") or name in ("__init__", "__call__", "__getitem__", "__iter__"):
                    member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                    if isinstance(member, types.FunctionType):
                        found.append((f"{value.__name__}.{name}", member))
    return found


def public_functions() -> list[tuple[str, object]]:
    """Return the public functions, and the public methods of public classes."""
    found = []
    for name in NAMES:
        value = getattr(nonproj, name)
        if isinstance(value, type):
            found += members(value)
        elif isinstance(value, types.FunctionType):
            found.append((name, value))
    return found


FUNCTIONS = public_functions()


def reached() -> dict[type, str]:
    """Return the classes of ours that public calls return or public attributes are, and where each is met first."""
    found: dict[type, str] = {}
    waiting = [(value, name) for name in NAMES if isinstance(value := getattr(nonproj, name), type)]
    waiting += [(each, name) for name, f in FUNCTIONS for each in classes_in(hints(f).get("return"))]
    while waiting:
        value, place = waiting.pop()
        if value in found or issubclass(value, BaseException):
            continue
        found[value] = place
        for name, hint in attributes(value).items():
            waiting += [(each, f"{value.__name__}.{name}") for each in classes_in(hint)]
        for name, member in members(value):
            waiting += [(each, name) for each in classes_in(hints(member).get("return"))]
    return found


def test_public_functions_state_all_their_types():
    for name, function in FUNCTIONS:
        known, parameters = hints(function), inspect.signature(function).parameters
        missing = [each for each in parameters if each not in known and each not in ("self", "cls")]
        assert not missing, f"{name}: parameters without a type: {missing}"
        assert "return" in known or name.endswith(".__init__"), f"{name}: no type of the result"


def test_what_public_calls_return_is_documented():
    """Exported from the package, or in a module that the reference lists, with a docstring of its own."""
    listed = set(re.findall(r"^ +(nonproj\.[\w.]+)$", PAGE, re.MULTILINE))
    exported = {getattr(nonproj, name) for name in NAMES if isinstance(getattr(nonproj, name), type)}
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
