"""The measurements of production: a corpus by a cluster with deaths of workers, and the installation."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the benchmarks are no part of the package
try:
    from benchmarks import installation
finally:
    sys.path.pop(0)

GOLDEN = ROOT / "tests" / "golden" / "model.nonproj"


def test_a_corpus_is_whole_after_a_death(tmp_path):
    pytest.importorskip("distributed")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("httpx")
    (tmp_path / "texts").mkdir()
    for number in range(12):
        text = "".join(f"den hund {number} ser kat.\n\n" for _ in range(300))
        (tmp_path / "texts" / f"{number}.txt").write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", "benchmarks.corpus", str(GOLDEN), str(tmp_path / "texts"), str(tmp_path / "tables")]
    words += ["--workers", "1", "--kill", "8", "--memory", str(tmp_path / "memory.csv")]

    def run():
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 tables, " in done.stdout and ", 0 missing or different\n" in done.stdout
    assert len((tmp_path / "memory.csv").read_text(encoding="utf-8").splitlines()) > 1
    table = parquet.read_table(tmp_path / "tables" / "3.parquet")
    parquet.write_table(table.slice(0, len(table) - 1), tmp_path / "tables" / "3.parquet")
    again = run()
    assert again.returncode == 1
    assert "0 of 12 texts to parse\n" in again.stdout and ", 1 missing or different\n" in again.stdout
    assert "3.parquet: " in again.stdout and " characters, " in again.stdout


def test_a_folder_is_served_and_a_command_is_timed(tmp_path, capsys):
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("content", encoding="utf-8")
    with installation.served(tmp_path) as url, urllib.request.urlopen(f"{url}file") as answer:
        assert answer.read() == b"content"
    code = "import os, sys; print(sys.stdin.read(), os.listdir(), os.environ['HOME'])"
    found = installation.timed("step", [sys.executable, "-c", code], tmp_path, "text")
    assert found == f"text [] {tmp_path / 'home'}\n"
    name, elapsed, used = capsys.readouterr().out.strip("|\n ").split(" | ")
    assert name == "step" and float(elapsed) >= 0 and 0 < float(used) + 0.1 < 60
    with pytest.raises(SystemExit, match=r"step: code 3\nwhy"):
        installation.timed("step", [sys.executable, "-c", "import sys; sys.stderr.write('why'); sys.exit(3)"], tmp_path)
