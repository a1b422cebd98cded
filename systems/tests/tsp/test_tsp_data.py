"""Fetching TSPLIB95, and the experiment on it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "systems" / "data_scripts" / "tsplib.py"


def run(*arguments):
    environment = {key: value for key, value in os.environ.items() if key != "NONPROJ_TREEBANKS"}
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def pack(folder: Path, target: Path, changed: str = "", left_out: str = "") -> Path:
    """Pack a folder as the repository's ZIP file."""
    with zipfile.ZipFile(target, "w") as packed:
        for path in folder.glob("*.tsp"):
            if path.stem != left_out:
                data = path.read_bytes() + b"\n" * (path.stem == changed)
                packed.writestr(f"tsplib95-master/archives/problems/tsp/{path.name}", data)
        packed.writestr("tsplib95-master/archives/solutions/tour/a280.tsp", "another file of that name")
    return target


def test_the_archive_is_unpacked_and_checked(tsplib, tmp_path):
    archive, out = pack(tsplib, tmp_path / "a.zip"), tmp_path / "out"
    made = run("--out", out, "--archive", archive)
    assert (made.returncode, made.stdout) == (0, f"{out / 'tsplib'}\n")
    for path in tsplib.glob("*.tsp"):
        assert (out / "tsplib" / path.name).read_bytes() == path.read_bytes()
    again = run("--out", out, "--source", tmp_path)
    assert (again.returncode, again.stdout) == (0, f"{out / 'tsplib'}\n")
    used = run("--out", tmp_path / "none", "--source", tsplib)
    assert (used.returncode, used.stdout) == (0, f"{tsplib}\n") and not (tmp_path / "none").exists()


def test_wrong_archives_are_refused(tsplib, tmp_path):
    archive = pack(tsplib, tmp_path / "a.zip", changed="gr17")
    result = run("--out", tmp_path / "out", "--archive", archive)
    assert result.returncode == 2 and result.stderr.startswith("tsplib: gr17.tsp, in a.zip: SHA-256 is ")
    archive = pack(tsplib, tmp_path / "b.zip", left_out="gr17")
    result = run("--out", tmp_path / "out", "--archive", archive)
    assert result.stderr == f"tsplib: {archive}: there is no archives/problems/tsp/gr17.tsp\n"
    result = run("--out", tmp_path / "out", "--archive", SCRIPT)
    assert result.returncode == 2 and "not a ZIP file of the repository" in result.stderr
    assert not (tmp_path / "out").exists()


def test_the_file_is_downloaded(tsplib, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import tsplib as script

    monkeypatch.setattr(script, "URL", pack(tsplib, tmp_path / "a.zip").as_uri())
    assert script.fetch(tmp_path / "out") == tmp_path / "out" / "tsplib"
    assert len(list((tmp_path / "out" / "tsplib").glob("*.tsp"))) == len(script.PROBLEMS) == 43
    for name in ("tsplib", "fetch", "treebanks"):
        sys.modules.pop(name, None)


def test_the_experiment_resumes_and_its_page_has_all_problems(tsplib, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from systems.experiments import tsp

    monkeypatch.setenv("NONPROJ_TREEBANKS", str(tsplib.parent / "treebanks"))
    monkeypatch.setattr(tsp, "SHORT", ("burma14", "gr24"))
    monkeypatch.setattr(tsp, "PICTURE", "gr24")
    tsp.main(tmp_path, tmp_path, True)
    page = (tmp_path / "tsp.md").read_text()
    assert "2 of 2 tours are proven optimal" in page and "2 of 2 lengths equal" in page
    assert "\n| burma14 | 3323 |" in page and "\n| gr24 | 1272 |" in page
    assert (tmp_path / "tsp.png").is_file() and (tmp_path / "tsp.csv").read_text().count("\n") == 3
    monkeypatch.setattr(tsp, "measure", None)
    tsp.main(tmp_path, tmp_path, True)
    assert (tmp_path / "tsp.md").read_text() == page
