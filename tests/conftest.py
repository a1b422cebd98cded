"""What several test files need."""

import logging
import os
from pathlib import Path

import pytest

os.environ["NONPROJ_SILENT"] = "1"  # what a test expects on standard error does not depend on what is compiled already

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of real treebanks; tests that need it are skipped without it."""
    named = os.environ.get("NONPROJ_TREEBANKS", "").split(os.pathsep)[0]
    folder = Path(named or SHARED / "treebanks")
    if not folder.is_dir():
        pytest.skip(f"no treebanks in {folder}")
    return folder


@pytest.fixture(scope="session")
def released(treebanks) -> Path:
    """The folder of the treebanks of Universal Dependencies 2.12, next to that of the others, or skip the test."""
    folder = treebanks.parent / "ud"
    if not folder.is_dir():
        pytest.skip(f"no treebanks in {folder}")
    return folder


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two processes on this machine; without a dashboard it would still ask for port 8787."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless browser; the tests that need one are skipped without it."""
    from browsing import browsing

    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser
