"""Precompiled kernels, in the package ``nonproj-kernels``, so that the first parse compiles nothing.

They are compiled for a baseline processor, `CPU` with `FEATURES`, and are used if the processor has these features, and
if everything that the compiled code depends on is the same: the sources of kernels, the versions of Python, numba and
numpy, and numba's settings.  Otherwise, and for other argument types, kernels are compiled as usual.  Kernels in
the user's own folder, for the processor at hand, come first.  ``packaging/kernels.py`` makes the package.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite.binding

PACKAGE = "nonproj_kernels"
"""The import package with the files; nothing in it is executed but compiled kernels."""

DESCRIPTION = "target.json"
"""File with the description of the package: `TARGET`, and ``digest``, which covers the code's other dependencies."""

CPU = "x86-64-v3"
"""The processor that kernels are compiled for: Intel's since Haswell, AMD's since Excavator."""

FEATURES = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "fxsr", "lzcnt", "mmx", "movbe", "popcnt", "sahf")
FEATURES += ("sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave")

_binding: Any = llvmlite.binding

TARGET = (_binding.get_process_triple(), CPU, ",".join(f"+{feature}" for feature in FEATURES))
"""The system, processor and features that kernels are compiled for, as numba describes them in the key of a kernel."""


def describe(digest: str) -> dict[str, Any]:
    """Return the description of kernels for this system, given the digest of the code's other dependencies."""
    return {"target": list(TARGET), "digest": digest}


def find_shipped(digest: Callable[[], str]) -> Path | None:
    """Return the folder of the installed kernels if this process can use them, else None.

    Parameters
    ----------
    digest : callable
        Returns the digest that the kernels must have; called only if there are any.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder, present = Path(list(spec.submodule_search_locations)[0]), _binding.get_host_cpu_features()
    try:
        found = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not complete, or not ours
        return None
    return folder if all(map(present.get, FEATURES)) and found == describe(digest()) else None
