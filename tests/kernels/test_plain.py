"""Kernels where numba's private parts are not what they were: numba compiles them as usual, and says so in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from command import ROOT, run

from nonproj.kernels.folders import PLAIN, source_digest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is nothing to compile")

PROGRAM = """
import functools, importlib, json, sys
import numpy as np

if len(sys.argv) > 1:
    module, *names, name = sys.argv[1].split(":")
    owner = functools.reduce(getattr, names, importlib.import_module(module))
    delattr(owner, name)
    if len(sys.argv) > 2:
        setattr(owner, name, eval(sys.argv[2]))

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
    env = os.environ | {"NONPROJ_CACHE": str(cache), "PYTHONPATH": str(ROOT), PLAIN: ""} | variables
    script = cache.parent / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script), *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr.splitlines()


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """The folder of what numba has compiled in its usual way."""
    cache = tmp_path_factory.mktemp("plain") / "cache"
    (total, folder, compiled), lines = call(cache, **{PLAIN: "1"})
    assert (total, compiled, lines) == (6.0, True, [])
    return cache / folder


REMOVED = [("numba.core.codegen:JITCodeLibrary",), ("numba.core.compiler:CompileResult:_reduce", "lambda self: (1, 2)")]
REMOVED_TOO = """numba.core.compiler:CompileResult:_rebuild numba.core.compiler:CompilerBase
numba.core.compiler_machinery:register_pass numba.core.registry:CPUDispatcher numba.core.runtime.nrt:rtsys
numba.core.typed_passes:NativeLowering"""
"""Private parts of numba that it does not need itself where they are, and what stands there instead, if anything."""

THOROUGH = [pytest.param((each,), marks=pytest.mark.thorough) for each in REMOVED_TOO.split()]


@pytest.mark.parametrize("removed", REMOVED + THOROUGH, ids=lambda each: each[0].rpartition(".")[2])
def test_numba_compiles_what_cannot_be_linked(removed, plain, tmp_path):
    (total, folder, compiled), (first, *others) = call(tmp_path / "cache", *removed)
    assert (total, compiled, others) == (6.0, True, [])
    assert first.startswith(f"numba {numba.__version__} has other internals (")
    assert folder == plain.name


def test_its_cache_is_in_the_same_trusted_folder_and_for_the_same_sources(plain, monkeypatch):
    monkeypatch.setenv(PLAIN, "")
    assert source_digest() != plain.name  # linked code contains nothing that could be linked again
    cache, files = plain.parent, list(plain.rglob("*.nb[ic]"))
    assert plain.stat().st_mode & 0o777 == 0o700 and files == list(cache.rglob("*.nb[ic]"))
    assert not list(cache.parent.glob("__pycache__"))
    assert call(cache, **{PLAIN: "1"}) == ([6.0, plain.name, False], [])
    for path in files:
        path.write_bytes(b"damaged")
    assert call(cache, **{PLAIN: "1"})[0] == [6.0, plain.name, True]
    plain.chmod(0o755)
    assert call(cache, **{PLAIN: "1"})[0] == [6.0, plain.name, True]


@pytest.mark.thorough
def test_the_trees_are_the_same(monkeypatch, tmp_path):
    monkeypatch.setenv(PLAIN, "1")
    monkeypatch.setenv("NONPROJ_CACHE", str(tmp_path))
    done = run("parse", str(GOLDEN / "model.nonproj"), str(GOLDEN / "input.conll"))
    assert (done.returncode, done.stdout.encode()) == (0, (GOLDEN / "pruned.conll").read_bytes())
