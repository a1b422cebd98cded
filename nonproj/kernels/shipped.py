"""Precompiled kernels, in the package ``nonproj-kernels``, so that the first parse compiles nothing.

They are compiled for a baseline processor, `CPU` with `FEATURES`, and are used if the processor has these features, and
if everything that the compiled code depends on is the same: the sources of kernels, the versions of Python, numba and
numpy, and numba's settings.  Otherwise, and for other argument types, kernels are compiled as usual.  Those in the
user's own folder, for the processor at hand, come first.  ``packaging/kernels.py`` makes the package.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding

PACKAGE = "nonproj_kernels"
"""The import package with the files; nothing in it is executed but compiled kernels."""

TARGET = "target.json"
"""Its description: the fields of `Target`, and ``digest``, that of everything else that the code depends on."""

CPU = "x86-64-v3"
"""The processor that kernels are compiled for: Intel's since Haswell, AMD's since Excavator."""

FEATURES = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "fxsr", "lzcnt", "mmx", "movbe", "popcnt", "sahf")
FEATURES += ("sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave")

_binding: Any = llvmlite.binding


class Target(NamedTuple):
    """Target that kernels were compiled for, as numba describes it in the key of a kernel.

    Attributes
    ----------
    triple, cpu, features : str
        LLVM's name of the system, the processor, and its features, as in ``+avx2,+fma``.
    """

    triple: str
    cpu: str
    features: str


class ShippedKernels(NamedTuple):
    """Compiled kernels.

    Attributes
    ----------
    folder : Path
        Contains their files, as `nonproj.kernels.cache.KernelFiles` names them.
    target : Target
    """

    folder: Path
    target: Target


def find_shipped(digest: Callable[[], str]) -> ShippedKernels | None:
    """Return the installed kernels if this process can use them, else None.

    Parameters
    ----------
    digest : callable
        Returns the digest that they must have; called only if there are kernels.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(list(spec.submodule_search_locations)[0])
    try:
        facts = json.loads((folder / TARGET).read_text(encoding="utf-8"))
        target = Target(*(str(facts[name]) for name in Target._fields))
        usable = facts["digest"] == digest() and _runs_here(target)
    except (OSError, ValueError, LookupError, TypeError):  # not complete, or not ours
        return None
    return ShippedKernels(folder, target) if usable else None


def _runs_here(target: Target) -> bool:
    """Return whether this machine can execute code for a target."""
    if target.triple != _binding.get_process_triple():
        return False
    present = _binding.get_host_cpu_features()
    wanted = [feature.removeprefix("+") for feature in target.features.split(",") if feature]
    return all(present.get(feature, False) for feature in wanted)
