"""Fixtures of the systems' tests, some from the repository's own."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path += [
    str(ROOT),
    str(ROOT / "tests"),
    str(ROOT / "research" / "tests"),
]  # `research`, `toy` and `pages`, `attacking`

import instances  # noqa: E402

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as for the repository's own tests
os.environ["NONPROJ_SILENT"] = "1"  # what a test expects on standard error does not depend on what is compiled already


def pytest_configure(config) -> None:
    """Take fewer random instances if thorough tests are left out."""
    instances.set_thorough("not thorough" not in config.option.markexpr)


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of real treebanks; tests that need it are skipped without it."""
    named = os.environ.get("NONPROJ_TREEBANKS", "").split(os.pathsep)[0]
    folder = Path(named or ROOT.parent / "shared" / "treebanks")
    if not folder.is_dir():
        pytest.skip(f"no treebanks in {folder}")
    return folder


@pytest.fixture(scope="session")
def tsplib(treebanks) -> Path:
    """The folder of TSPLIB instances, next to that of the treebanks."""
    if not (treebanks.parent / "tsplib").is_dir():
        pytest.skip(f"no instances in {treebanks.parent}")
    return treebanks.parent / "tsplib"
