"""What a start of the program imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(program: str, folder: Path) -> subprocess.CompletedProcess:
    """Run a Python program that may import this package."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=folder, check=False)


PARSE = """
import sys
from nonproj.cli.main import main
words = {words!r}
sys.argv[1:] = words
assert main(None if {own} else words) == 0
"""


@pytest.mark.thorough
@pytest.mark.parametrize("own", [True, False])
def test_linear_algebra_is_not_imported_in_a_process_of_ones_own(own, tmp_path):
    """Kernels that use it can be compiled and loaded all the same."""
    (tmp_path / "a.conll").write_text("1\tRegn\t_\tN\tN\t_\t_\t_\t_\t_\n\n")
    words = ["parse", str(Path(__file__).parents[1] / "golden" / "model.nonproj"), "a.conll", "-o", "b.conll"]
    program = f"""{PARSE.format(words=words, own=own)}
assert ("scipy.linalg" in sys.modules) is not {own}
import numba
import numpy as np
for _ in range(2):
    doubled = numba.njit(lambda a: np.dot(a, np.linalg.inv(a)))(np.eye(2) * 2)
    assert np.array_equal(doubled, np.eye(2))
import scipy.linalg, scipy.linalg.cython_blas
assert scipy.linalg.inv(np.eye(2) * 2)[0, 0] == 0.5
assert len(scipy.linalg.cython_blas.__pyx_capi__) > 100 and scipy.linalg.cython_blas.__file__
"""
    assert run(program, tmp_path).returncode == 0


def test_a_name_that_is_not_there_is_an_error_as_without_waiting(tmp_path):
    program = """
from nonproj.cli.lazy_import import import_blas_when_needed
import_blas_when_needed()
from scipy.linalg import cython_blas
try:
    cython_blas.nothing
except AttributeError as error:
    raise SystemExit(5 if "nothing" in str(error) else 1)
"""
    assert run(program, tmp_path).returncode == 5
