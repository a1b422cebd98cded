"""The kernels of a distribution: which of them Python calls, and for which argument types they are compiled."""

import ast
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba


def is_kernel(node: ast.AST) -> bool:
    """Return whether a function is compiled."""
    return "kernel" in map(ast.unparse, getattr(node, "decorator_list", []))


def called_from_python(package: Path) -> set[str]:
    """Return the kernels that a function that is not compiled names: those that kernels call are compiled in them."""
    trees = {}
    for path in package.rglob("*.py"):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    kernels = {f"{name}.{node.name}" for name, tree in trees.items() for node in tree.body if is_kernel(node)}
    found = set()
    for name, tree in trees.items():
        places = {node.name: f"{name}.{node.name}" for node in tree.body if is_kernel(node)}
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
        places |= {each.asname or each.name: f"{node.module}.{each.name}" for node in imports for each in node.names}
        for node in tree.body:
            if not is_kernel(node):
                found |= {places.get(each.id, "") for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found & kernels


def kernels_of(package: ModuleType, without: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield the kernels of a package with their names, without those of some modules."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.name.endswith(".__main__") or info.name.startswith(without):
            continue
        for value in vars(importlib.import_module(info.name)).values():
            if hasattr(value, "py_func") and value.py_func.__module__ == info.name:
                yield f"{info.name}.{value.py_func.__name__}", value


def signatures(kernels: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Return the argument types that each kernel is compiled for in this process."""
    return {name: sorted(map(str, kernel.signatures)) for name, kernel in kernels}


def missed(kernels: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the kernels that this process has compiled, because the cache did not have them."""
    return [name for name, kernel in kernels if kernel.stats.cache_misses]


def returning_classes(kernels: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the kernels that return a named tuple, alone or in a tuple."""
    found = {name: [each.return_type for each in kernel.nopython_signatures] for name, kernel in kernels}
    return [name for name, types in found.items() if any(map(_has_class, types))]


def _has_class(kind: Any) -> bool:
    """Return whether a type is that of a named tuple, or of a tuple with one."""
    inner = kind if isinstance(kind, numba.types.BaseTuple) else ()
    return hasattr(kind, "instance_class") or any(map(_has_class, inner))
