"""The measurements of production: requests at given rates, a corpus while workers die, and the installation."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from research.benchmarks import installation

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "model.nonproj"
TREEBANK = GOLDEN.with_name("input.conll")


def test_a_corpus_is_whole_after_a_death(tmp_path):
    pytest.importorskip("distributed")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("httpx")
    (tmp_path / "texts").mkdir()
    for number in range(12):
        text = "".join(f"den hund {number} ser kat.\n\n" for _ in range(300))
        (tmp_path / "texts" / f"{number}.txt").write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", "research.benchmarks.corpus"]
    words += [str(GOLDEN), str(tmp_path / "texts"), str(tmp_path / "tables")]
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


def test_the_benchmark_of_arrivals_loses_no_request_during_a_reload():
    pytest.importorskip("httpx")
    words = ["research.benchmarks.arrivals", str(GOLDEN), str(TREEBANK), "--seconds", "4", "--shares", "0.2"]
    result = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    rows = [line.split(" | ") for line in result.stdout.splitlines() if re.match(r"\| [\d.]+", line)]
    assert [row[0] for row in rows] == ["| 0.2", "| 0.5, reload"]
    assert all(int(row[8]) == 0 and float(row[1]) > 0 for row in rows)
    assert 'nonproj_reloads_total{result="succeeded"} 1.0' in result.stdout


def test_the_benchmark_of_endurance_loses_no_request_at_reloads_and_upgrades(tmp_path):
    pytest.importorskip("httpx")
    words = ["research.benchmarks.endurance", str(GOLDEN), str(TREEBANK), "--sentences", "2"]
    words += ["--minutes", "0.15", "--period", "0.05", "--reloads", "1", "--rates", "5", "10", "--sample", "0.2"]
    words += ["--memory", str(tmp_path / "memory.csv")]
    result = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    rows = [line.strip("| ").split(" | ") for line in result.stdout.splitlines() if line.startswith(("| 0", "| all"))]
    assert [row[1].strip() for row in rows] == ["reload", "upgrade", "reload", ""]
    assert sum(int(row[2]) for row in rows[:3]) == int(rows[3][2]) > 20
    assert all(int(row[8]) == 0 and float(row[9]) > 10 and float(row[10]) > 10 for row in rows)
    assert "\n2 reloads, 1 upgrades, 0 workers replaced for other reasons; " in result.stdout
    samples = (tmp_path / "memory.csv").read_text(encoding="utf-8").splitlines()
    assert samples[0] == "seconds,server,workers,count" and len(samples) > 10
    assert max(int(line.rpartition(",")[2]) for line in samples[1:]) >= 2, "old and new workers side by side"
