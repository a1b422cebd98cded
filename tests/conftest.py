"""What several test files need."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of real treebanks; tests that want it are skipped where there is none."""
    default = Path(__file__).resolve().parents[2] / "shared" / "treebanks"
    folder = Path(os.environ.get("NONPROJ_TREEBANKS") or default)
    if not folder.is_dir():
        pytest.skip(f"no treebanks in {folder}")
    return folder
