"""Imports of the program at its start."""

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


@pytest.mark.thorough
def test_linear_algebra_is_not_imported_in_a_process_of_ones_own(tmp_path):
    """Kernels that use it can be compiled and loaded all the same."""
    (tmp_path / "a.conll").write_text("1\tRegn\t_\tN\tN\t_\t_\t_\t_\t_\n\n")
    words = ["parse", str(Path(__file__).parents[1] / "golden" / "model.nonproj"), "a.conll", "-o", "b.conll"]
    program = f"""
import sys
from nonproj.cli.main import main
sys.argv[1:] = {words!r}
assert main() == 0
assert "numba.np.arraymath" in sys.modules and "scipy.linalg" not in sys.modules
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


def test_commands_about_files_import_no_kernels(tmp_path):
    (tmp_path / "a.conll").write_text("1\tRegn\t_\tN\tN\t_\t0\tROOT\t_\t_\n\n")
    commands = ["evaluate", "a.conll", "a.conll"], ["show", "a.conll"], ["show", "a.conll", "-o", "a.html"]
    program = f"import sys; from nonproj.cli.main import main; assert not any(map(main, {commands!r}))"
    assert run(f"{program}; assert 'numba' not in sys.modules", tmp_path).returncode == 0


def test_arguments_are_read_without_heavy_libraries_and_other_distributions(tmp_path):
    """Help, errors and our own commands need neither numpy nor the entry points of what is installed."""
    program = """
import contextlib, sys
from nonproj.cli.main import main, parse_arguments
for words in (["--help"], ["train", "--help"], ["parse", "--modle"]):
    with contextlib.suppress(SystemExit):
        main(words)
for words in (["parse", "-m", "a", "b"], ["-v", "evaluate", "a", "b"]):
    parse_arguments(words)
found = {"numpy", "numba", "sklearn", "yaml", "tqdm", "conllu", "importlib.metadata"} & set(sys.modules)
sys.exit(f"imported {found}" if found else 0)
"""
    assert run(program, tmp_path).returncode == 0
