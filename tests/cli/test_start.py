"""What a start of the program imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(program: str, folder: Path) -> subprocess.CompletedProcess:
    """Run a Python program that may import this package."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=folder, check=False)


def test_linear_algebra_is_not_imported(tmp_path):
    """Its import takes a seventh of a short run; no kernel uses it."""
    (tmp_path / "a.conll").write_text("1\tRegn\t_\tN\tN\t_\t_\t_\t_\t_\n\n")
    words = ["parse", str(Path(__file__).parents[1] / "golden" / "model.nonproj"), "a.conll", "-o", "b.conll"]
    program = f"import sys; from nonproj.cli.main import main; assert main({words!r}) == 0"
    assert run(program, tmp_path).returncode == 0  # and compiles what is needed
    assert run(f"{program}; assert 'scipy.linalg' not in sys.modules", tmp_path).returncode == 0


def test_commands_about_files_import_no_kernels(tmp_path):
    (tmp_path / "a.conll").write_text("1\tRegn\t_\tN\tN\t_\t0\tROOT\t_\t_\n\n")
    for words in (["evaluate", "a.conll", "a.conll"], ["show", "a.conll"], ["show", "a.conll", "-o", "a.html"]):
        program = f"import sys; from nonproj.cli.main import main; assert main({words!r}) == 0"
        assert run(f"{program}; assert 'numba' not in sys.modules", tmp_path).returncode == 0
