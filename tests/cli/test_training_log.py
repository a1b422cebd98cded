"""What ``nonproj train`` says while it trains, and what it writes into its log."""

from __future__ import annotations

import re

import pytest
from toy import QUICK, treebank

from nonproj.cli.main import main

SMALL = [f"--set={name}={value}" for name, value in QUICK.items()]
SMALL += ["--set=features.bits=16", "--set=pruner.bits=16", "--set=labeler.bits=16", "--epochs=1", "--parts=arc"]


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress")
    (folder / "train.conllu").write_text(treebank(40), encoding="utf-8")
    return ["train", str(folder / "train.conllu"), "-o", str(folder / "a.nonproj"), *SMALL]


def test_training_says_little_and_logs_everything(words, capsys):
    model = words[3]
    assert main(words) == 0
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if "compiling" not in line]
    assert lines == [f"wrote {model}; details are in {model}.log"]
    with open(f"{model}.log", encoding="utf-8") as stream:
        logged = stream.read()
    assert re.search(r"^[\d-]+ [\d:,]+ INFO training on 40 sentences, ", logged)
    assert "epoch 1: " in logged
    assert main([*words, "-v"]) == 0
    told = capsys.readouterr().err
    assert "training on 40 sentences" in told
    with open(f"{model}.log", encoding="utf-8") as stream:
        assert stream.read().count("training on 40 sentences") == 1, "of this training, not of the one before"


def test_quiet_training_leaves_no_log(words, tmp_path, capsys):
    model = str(tmp_path / "a.nonproj")
    assert main([*words[:3], model, *words[4:], "-q"]) == 0
    assert not capsys.readouterr().err and [path.name for path in tmp_path.iterdir()] == ["a.nonproj"]
