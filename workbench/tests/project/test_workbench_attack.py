"""The attack on the workbench: a few cases of each lane, and checks that they would find errors."""

import re
import resource
import sys
from pathlib import Path

import pytest
from attacking import run_cases

from nonproj_workbench.annotation.storage import Storage
from research.attack import floods, planted
from research.attack.lanes import make_lane
from workbench.attack.lanes import LANES
from workbench.attack.planted import Imports

WORKBENCH = Path(__file__).resolve().parents[2]


@pytest.fixture
def lane(tmp_path):
    """Makes lanes, and ends them."""
    made, limits = [], resource.getrlimit(resource.RLIMIT_NOFILE)

    def make(name):
        made.append(make_lane(name, tmp_path, LANES))
        return made[-1]

    yield make
    for each in made:
        each.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_what_other_programs_write_is_kept(lane, tmp_path):
    results = run_cases(lane("changes"), tmp_path, 80)
    assert not results.failures and results.tried == 80
    assert len(results.outcomes) >= 2
    assert min(results.outcomes.values()) < max(results.outcomes.values()) < 80


@pytest.mark.thorough
def test_a_file_that_is_replaced_without_another_look_is_caught(lane, monkeypatch, tmp_path):
    monkeypatch.setattr(Storage, "_check_content", Storage._check_facts)
    assert len(run_cases(lane("changes"), tmp_path, 300, failures=3).failures) == 3


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux")
def test_floods_of_connections_do_no_harm_and_an_annotator_that_fails_is_caught(lane, monkeypatch, tmp_path):
    flooded = lane("floods")
    assert not run_cases(flooded, tmp_path, 4).failures
    assert flooded.notes["connections"] > 100
    monkeypatch.setattr(floods, "LINES", -1)
    assert "lines in the log" in run_cases(flooded, tmp_path, 1).failures[0]["what"]


@pytest.mark.thorough
@pytest.mark.parametrize("inside", ["", "."])
@pytest.mark.parametrize("name", Imports.starts)
def test_files_beside_the_data_are_not_imported(name, inside, tmp_path, monkeypatch):
    """There is a file for every module, also where this process would import it, as in an interactive session."""
    mark = planted.plant(tmp_path, planted.modules())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [inside, *sys.path])
    Imports.starts[name](tmp_path)
    assert not mark.exists()


@pytest.mark.thorough
def test_planted_modules_that_are_imported_are_caught(lane, monkeypatch, tmp_path):
    imports = lane("imports")
    assert not run_cases(imports, tmp_path, 1).failures
    monkeypatch.setattr("nonproj_workbench.annotation.retraining.python", lambda *words: [sys.executable, *words])
    (failure,) = run_cases(imports, tmp_path, 9, failures=1).failures
    assert re.search("was imported from the current folder|ImportError", failure["what"])


def test_every_helper_is_tried():
    """The lane of imports has each module that starts a Python."""
    paths = sorted((WORKBENCH / "nonproj_workbench").rglob("*.py"))
    users = [path.stem for path in paths if "import environment, python" in path.read_text(encoding="utf-8")]
    assert users == list(Imports.starts)


def test_the_page_names_all_lanes():
    page = (WORKBENCH / "attack" / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in LANES)
