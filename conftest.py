"""What the tests of all folders need: treebanks, and an environment in which results do not depend on the machine.

Doctests of modules that cannot be imported are left out.
"""

import gc
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more wait actively for each other, in each of the tests' processes
gc.set_threshold(20_000, 10, 50)  # a full collection goes through all that tests keep, such as modules
os.environ["NONPROJ_SILENT"] = "1"  # what a test expects on standard error does not depend on what is compiled already

SHARED = Path(__file__).resolve().parents[1] / "shared"

_LIBRARIES = {
    "nonproj/integrations/spacy.py": "spacy",
    "nonproj/learning/encoders/checkpoint.py": "torch",
    "nonproj/learning/encoders/losses.py": "torch",
    "nonproj/learning/encoders/module.py": "torch",
    "nonproj/learning/encoders/training.py": "torch",
    "nonproj/server/app.py": "prometheus_client",
    "nonproj/server/bodies.py": "python_multipart",
    "nonproj/server/connections.py": "uvicorn",
    "nonproj/server/hosts.py": "starlette",
    "nonproj/server/library.py": "uvicorn",
    "nonproj/server/monitoring.py": "prometheus_client",
    "nonproj/server/receiving.py": "starlette",
    "nonproj/server/run.py": "uvicorn",
}

collect_ignore = [path for path, library in _LIBRARIES.items() if find_spec(library) is None]


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
