"""The examples of the systems, which must keep up with the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from toy import treebank

from nonproj.cli.main import main
from nonproj.io import conll
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.pipeline.stages import tag

ROOT = Path(__file__).resolve().parents[3]

SMALL = ["--set", "features.bits=16", "--set", "pruner.bits=16", "--set", "labeler.bits=16"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with treebanks and a model."""
    folder = tmp_path_factory.mktemp("examples")
    for name, count, seed in (("train", 40, 0), ("test", 6, 1)):
        (folder / f"{name}.conllu").write_text(treebank(count, seed), encoding="utf-8")
    assert main(["train", str(folder / "train.conllu"), "-o", str(folder / "my.nonproj"), "-qq", *SMALL]) == 0
    return folder


def run(name: str, folder: Path, *words: str) -> str:
    """Run an example and return its output."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "systems"))), "PYTHONUTF8": "1"}
    command = [sys.executable, str(ROOT / "systems" / "examples" / name), *words]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_all_examples_are_tested():
    here = Path(__file__).read_text(encoding="utf-8")
    examples = sorted((ROOT / "systems" / "examples").glob("*.py"))
    assert examples
    for path in examples:
        assert f'run("{path.name}"' in here, path.name


def test_consistent_tags(folder):
    """Only the tags change; a weight of 0 leaves the tagger's own, a high one makes most forms agree."""
    run("consistent_tags.py", folder, "my.nonproj", "test.conllu", "own.conllu", "--weight", "0")
    run("consistent_tags.py", folder, "my.nonproj", "test.conllu", "tied.conllu", "--weight", "1000")
    given, own, tied = (list(conll.read(folder / f"{name}.conllu")) for name in ("test", "own", "tied"))
    expected = Parser(Model.load(folder / "my.nonproj"), tags="all").run(given, until=tag).sentences
    assert [row[3:6] for s in own for row in s.rows] == [row[3:6] for s in expected for row in s.rows]
    for before, after in zip(given, tied, strict=True):
        assert [row[:3] + row[6:] for row in before.rows] == [row[:3] + row[6:] for row in after.rows]
    kinds = [{(row[1], *row[3:6]) for s in each for row in s.rows} for each in (own, tied)]
    assert len(kinds[1]) <= len(kinds[0])
