"""Numba's settings: the values of those that affect compiled code; none are read from the current folder.

Numba reads the file ``.numba_config.yaml`` in the current folder when it is imported, and again at each compilation.
A user's own Python keeps that.  But the current folder of a command may hold untrusted data, and the settings name
files that numba writes to.  Numba has no option that disables the file, but does not open it if it finds no YAML
library when it is imported.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_IRRELEVANT = re.compile(r"_.*|CPU_.*|ENABLE_AVX|CUDA_.*|GDB_.*|CACHE_.*|COLOR_.*|.*WARN.*|.*THREAD.*")
"""Settings that do not change the code, or that are part of a kernel's key, as the processor is."""


def code_settings() -> str:
    """Return numba's current values of all settings that may change the code."""
    from numba import config  # which commands that compile nothing do not need

    values = vars(config)
    return str({name: values[name] for name in _relevant(config)})


@cache
def _relevant(config: ModuleType) -> list[str]:
    """Return the names of the settings that may change the code, including those of later versions of numba."""
    return [name for name in sorted(vars(config)) if name.isupper() and not _IRRELEVANT.fullmatch(name)]


def ignore_current_folder() -> None:
    """Keep numba from reading settings from the current folder in this process, unless it is imported already."""
    if "numba" not in sys.modules:
        sys.meta_path.insert(0, _Finder())
        warnings.filterwarnings("ignore", "A Numba config file is found")  # but no YAML library


class _Finder(MetaPathFinder):
    """Finder of numba, for an import without YAML."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Return the import spec of numba, executed without YAML; None for any other module."""
        if name != "numba":
            return None
        sys.meta_path.remove(self)
        found = find_spec(name)
        if found and found.loader:
            found.loader.exec_module = partial(_without_yaml, found.loader.exec_module)  # type: ignore[method-assign]
        return found


def _without_yaml(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
    """Execute a module as if there were no YAML library."""
    library = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]  # importing it is an ImportError
    try:
        execute(module)
    finally:
        del sys.modules["yaml"]
        if library:
            sys.modules["yaml"] = library
