"""Kernels where numba's private parts are not what they were: numba compiles them as usual, and says so in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")

PROGRAM = """
import importlib, json, os, sys
import numba, numpy as np

module, _, name = sys.argv[1].partition(":")
if module:
    owner, names = importlib.import_module(module), name.split(".")
    for each in names[:-1]:
        owner = getattr(owner, each)
    if len(sys.argv) > 2:
        setattr(owner, names[-1], eval(sys.argv[2]))
    else:
        delattr(owner, names[-1])

from nonproj.kernels.folders import kept_in
from nonproj.kernels.kernel import compiling, kernel
from nonproj.types import ArcSpace

@kernel
def double(values):
    return 2.0 * values

@kernel
def sums(values, arcs):
    doubles = np.zeros(len(values) + len(arcs.head))
    for i in range(len(values)):
        doubles[i] = double(values[i])
    return doubles.sum(), doubles

arcs = ArcSpace(*np.zeros((5, 1), np.int32))
json.dump([sums(np.arange(3.0), arcs)[0], kept_in().name, compiling.seconds > 0.0], sys.stdout)
"""


def call(cache: Path, *words: str, **variables: str) -> tuple[list, list[str]]:
    """Run the program; return what it prints, and the lines on standard error."""
    env = os.environ | {"NONPROJ_CACHE": str(cache), "PYTHONPATH": str(ROOT)} | variables
    script = cache.parent / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script), *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr.splitlines()


BREAKS = [
    ("numba.core.codegen:JITCodeLibrary",),
    ("numba.core.caching:FunctionCache", "None"),
    ("numba.core.compiler:CompileResult._rebuild",),
    ("numba.core.compiler:CompilerBase.__init__", "lambda self, *all, new: None"),
    ("numba.core.event:register",),
]
BREAKS_TOO = [
    ("numba.core.caching:CompileResultCacheImpl",),
    ("numba.core.codegen:JITCodeLibrary._finalize_final_module", "lambda self: None"),
    ("numba.core.compiler:CompilerBase",),
    ("numba.core.compiler:CompileResult._reduce", "lambda self: (1, 2)"),
    ("numba.core.compiler:DefaultPassBuilder.define_nopython_pipeline",),
    ("numba.core.compiler:Flags",),
    ("numba.core.compiler_machinery:register_pass",),
    ("numba.core.dispatcher:Dispatcher.__init__", "lambda self, function: None"),
    ("numba.core.dispatcher:Dispatcher.get_call_template",),
    ("numba.core.event",),
    ("numba.core.registry:CPUDispatcher",),
    ("numba.core.runtime.nrt:rtsys",),
    ("numba.core.serialize:dumps",),
    ("numba.core.target_extension:dispatcher_registry",),
    ("numba.core.target_extension:jit_registry", "None"),
    ("numba.core.target_extension:target_registry", "{}"),
    ("numba.core.typed_passes:NativeLowering",),
    ("numba.core.typed_passes:NativeLowering.run_pass", "lambda self, state: False"),
    ("llvmlite.binding:parse_assembly",),
]
