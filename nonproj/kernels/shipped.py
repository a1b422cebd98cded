"""Precompiled kernels, in the package ``nonproj-kernels``, so that the first parse compiles nothing.

They are compiled for a baseline processor, `CPU` with `FEATURES`, and are used if the processor has these features, and
if everything that the compiled code depends on is the same: the sources of kernels and the versions of Python, numba
and numpy.  Otherwise, and for other argument types, kernels are compiled as usual.  Those in the user's own folder, for
the processor at hand, come first.  ``packaging/kernels.py`` makes the package.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding
import numba
import numpy as np

PACKAGE = "nonproj_kernels"
"""The import package with the files; nothing in it is executed but compiled kernels."""

TARGET = "target.json"
"""Its description: the fields of `Target`, and ``digest``, the result of `digest_of` for the sources."""

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


def digest_of(sources: Iterable[tuple[str, bytes]]) -> str:
    """Return a digest of everything that compiled code depends on besides the processor, 16 hexadecimal digits.

    Parameters
    ----------
    sources : iterable of (str, bytes)
        Name and text of each module that a kernel can reach.
    """
    digest = hashlib.blake2b(digest_size=8)
    numpy = ".".join(np.__version__.split(".")[:2])
    digest.update(f"{sys.implementation.name} {sys.version_info[:2]} {numba.__version__} {numpy}".encode())
    for name, text in sorted(sources):
        digest.update(name.encode())
        digest.update(text)
    return digest.hexdigest()


def find_shipped(sources: Callable[[], dict[str, bytes]], flags: Sequence[str] = ()) -> ShippedKernels | None:
    """Return the installed kernels if this process can use them, else None.

    Parameters
    ----------
    sources : callable
        Returns name and text of each module that a kernel can reach; called only if there are kernels.
    flags : sequence of str
        Environment variables that change the generated code: none may be set.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or any(map(os.environ.get, flags)):
        return None
    folder = Path(list(spec.submodule_search_locations)[0])
    try:
        facts = json.loads((folder / TARGET).read_text(encoding="utf-8"))
        target = Target(*(str(facts[name]) for name in Target._fields))
        digest = facts["digest"]
    except (OSError, ValueError, LookupError, TypeError):  # not complete, or not ours
        return None
    usable = digest == digest_of(sources().items()) and _runs_here(target)
    return ShippedKernels(folder, target) if usable else None


def _runs_here(target: Target) -> bool:
    """Return whether this machine can execute code for a target."""
    if target.triple != _binding.get_process_triple():
        return False
    present = _binding.get_host_cpu_features()
    wanted = [feature.removeprefix("+") for feature in target.features.split(",") if feature]
    return all(present.get(feature, False) for feature in wanted)
