"""What a start of the program imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("own", [True, False])
def test_linear_algebra_is_not_imported_in_a_process_of_ones_own(own, tmp_path):
    """In another's process it is there for kernels that need it."""
    (tmp_path / "a.conll").write_text("1\tRegn\t_\tN\tN\t_\t_\t_\t_\t_\n\n")
    words = ["parse", str(Path(__file__).parent / "golden" / "model.nonproj"), "a.conll", "-o", "b.conll"]
    program = f"""
import sys
from nonproj.cli.main import main
sys.argv[1:] = {words!r}
assert main(None if {own} else {words!r}) == 0
sys.exit("scipy.linalg" in sys.modules)
"""
    result = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=tmp_path, check=False
    )
    assert result.returncode == (0 if own else 1)
