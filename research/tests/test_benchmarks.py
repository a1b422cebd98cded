"""Benchmarks: stages are the parser's, arithmetic is right, and small runs end with all figures."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy import raw_treebank, treebank

from nonproj.components.trainer import train
from nonproj.io import conll
from nonproj.io.lexicon import read_lexicon
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from research.benchmarks import lexicon, processes, stages
from research.benchmarks.clock import Seconds, Summary, interleave, summarise

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "model.nonproj"
SMALL = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 16, "training.epochs": 1}
SMALL |= {"pruner.folds": 0, "labeler.epochs": 1}


@pytest.fixture(scope="module")
def subject(tmp_path_factory) -> tuple[Path, Path]:
    """A small model, and a file of 80 sentences: more than one batch."""
    folder = tmp_path_factory.mktemp("bench")
    model, learnt, test = (folder / name for name in ("toy.nonproj", "train.conll", "test.conll"))
    learnt.write_text(treebank(40), encoding="utf-8")
    test.write_text(treebank(80, seed=1), encoding="utf-8")
    train(list(conll.read(learnt)), Config().with_overrides(SMALL)).save(model)
    return model, test


@pytest.fixture(scope="module")
def parser(subject) -> Parser:
    return Parser(Model.load(subject[0]))


def test_subjects_alternate_and_the_first_round_is_not_measured():
    calls = []

    def subject(name, seconds):
        times = iter(seconds)

        def run():
            calls.append(name)
            wall = next(times)
            return {"work": Seconds(wall, wall / 2)}

        return run

    found = interleave({"a": subject("a", [100, 3, 1, 2]), "b": subject("b", [100, 6, 8, 7])}, 3)
    assert calls == ["a", "b"] * 4
    assert found["a"] == {"work": Summary(1, 2, 0.5), "all": Summary(1, 2, 0.5)}
    runs = [{"a": Seconds(1, 1), "b": Seconds(9, 9)}, {"a": Seconds(8, 8), "b": Seconds(4, 4)}]
    assert summarise(runs)["all"] == Summary(10, 11, 10)


@pytest.mark.parametrize("options", [{}, {"full": True}])
def test_stages_write_what_the_parser_writes(subject, parser, options, tmp_path):
    parser = Parser(parser.model, replace(parser.model.config.decoding, **options))
    staged, whole = tmp_path / "staged", tmp_path / "whole"
    times, batches = stages.run_stages(parser, subject[1], staged)
    stages.run_whole(parser, subject[1], whole)
    assert staged.read_bytes() == whole.read_bytes()
    assert set(times) == set(stages.STAGES)
    assert [len(batch.sentences) for batch in batches] == [64, 16]


def test_processes_are_measured_without_the_memory_of_their_parent(subject, capsys):
    held = np.ones(1 << 26)  # 512 MiB
    processes.main([*map(str, subject), "--words", "100", "--repeats", "1"])
    out = capsys.readouterr().out
    assert re.search(r"^--jobs 1 .* words per second$", out, re.MULTILINE)
    assert 50 < float(re.search(r"peak memory (\d+) MiB", out)[1]) < held.nbytes / 2**20
    with pytest.raises(RuntimeError, match="no such file|No such file|there is no file"):
        processes.run(["parse", "-m", "nowhere.nonproj"])


def test_words_that_training_lacks_are_drawn(tmp_path, capsys):
    for name, word in (("train", "stor"), ("test", "Blorf")):
        (tmp_path / name).write_text(raw_treebank(9).replace("lille", word), encoding="utf-8")
    words = [str(tmp_path / "train"), str(tmp_path / "test"), "--count", "1", "-o", str(tmp_path)]
    assert lexicon.main(words) == 0 and capsys.readouterr().out.startswith("1 of 1 unknown forms, ")
    assert [each.token for each in read_lexicon(tmp_path / "words.tsv")] == ["Blorf"]
    assert (tmp_path / "test.txt").read_text(encoding="utf-8").count("Blorf")


def test_the_benchmark_of_arrivals_loses_no_request_during_a_reload():
    pytest.importorskip("httpx")
    words = ["research.benchmarks.arrivals", str(GOLDEN), str(GOLDEN.with_name("input.conll"))]
    words += ["--seconds", "4", "--shares", "0.2"]
    result = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    rows = [line.split(" | ") for line in result.stdout.splitlines() if re.match(r"\| [\d.]+", line)]
    assert [row[0] for row in rows] == ["| 0.2", "| 0.5, reload"]
    assert all(int(row[8].strip("| ")) == 0 and float(row[1]) > 0 for row in rows)
    assert 'nonproj_reloads_total{result="succeeded"} 1.0' in result.stdout
