"""Fuzzing of the models of the systems: a few cases of each lane, and their findings."""

import re
from pathlib import Path

import pytest
from attacking import run_cases

from research.attack.__main__ import main
from research.attack.lanes import make_lane
from systems.attack import models
from systems.attack.lanes import LANES

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def lane(tmp_path_factory):
    return make_lane("models", tmp_path_factory.mktemp("models"), LANES)


def test_nothing_fails(lane, tmp_path):
    results = run_cases(lane, tmp_path, 120)
    assert not results.failures
    assert results.tried == 120
    assert min(results.outcomes.values()) < max(results.outcomes.values()) < 120


def test_forged_models_are_of_all_kinds(lane, tmp_path, monkeypatch):
    check, reasons = models.check_message, set()

    def record(error, *rest):
        reasons.add(re.sub(r"'.*?'|\d+", "", str(error).replace(str(lane.folder), ""))[:60])
        check(error, *rest)

    monkeypatch.setattr(models, "check_message", record)
    assert not run_cases(lane, tmp_path, 60).failures
    assert len(reasons) >= 4


def test_the_program_has_its_own_lanes(tmp_path, monkeypatch, capsys):
    """Each lane runs in a separate process."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["attack", "--case", "1", "models"])
    assert main("systems.attack", LANES) == 0
    assert re.fullmatch(r"(constituency|lexicalised|translation), (accepted|rejected)\n", capsys.readouterr().out)
    for word in ("reads", "report"):
        monkeypatch.setattr("sys.argv", ["attack", word])
        with pytest.raises(SystemExit, match="2"):
            main("systems.attack", LANES)
        assert capsys.readouterr().err.startswith(f"python -m systems.attack: unknown lane '{word}'")


def test_the_page_names_all_lanes():
    page = (ROOT / "systems" / "attack" / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in LANES)
