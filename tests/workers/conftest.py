"""The folder in which the tests of workers run."""

from pathlib import Path

import pytest
from pieces import work_in

from nonproj.workers import parsing


@pytest.fixture
def here(toy_folder, tmp_path, monkeypatch) -> Path:
    """A folder to work in, with a model and its treebank; files are cut into small pieces."""
    monkeypatch.setattr(parsing, "TEXT_PIECE", 300)
    return work_in(tmp_path, toy_folder, monkeypatch)
