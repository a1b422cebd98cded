"""The command line: order of arguments, long input, checkpoints, invalid weights."""

import argparse
import gc
import itertools
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from command import SMALL
from toy import treebank

from nonproj.cli import common
from nonproj.cli.main import main, parse_arguments
from nonproj.cli.train import config_of
from nonproj.components.continuing import continued_config
from nonproj.io import conll
from nonproj.learning.perceptron import Perceptron
from nonproj.model.model import Model
from nonproj.options.sections import TreebankConfig
from nonproj.pipeline.parser import BATCH


def test_order_of_arguments_does_not_matter(toy_folder, tmp_path):
    model, source, outputs = str(toy_folder / "toy.nonproj"), str(toy_folder / "train.conll"), []
    for i, words in enumerate(
        (
            ["-m", model, source, "-o", "OUT"],
            [model, source, "-o", "OUT"],
            ["-o", "OUT", model, source],
            [model, "-o", "OUT", "--max-iterations", "250", source],
        )
    ):
        out = tmp_path / str(i)
        assert main(["parse", *(str(out) if word == "OUT" else word for word in words)]) == 0
        outputs.append(out.read_bytes())
    assert len(outputs[0]) > 1000
    assert outputs.count(outputs[0]) == len(outputs)


def test_resumed_training_gives_the_weights_of_uninterrupted_training(toy_folder, tmp_path, capsys, monkeypatch):
    """Interrupted in the second epoch of thirty sentences; what is kept is the first."""
    target, source = tmp_path / "a.nonproj", str(toy_folder / "train.conll")
    checkpoint, update, calls = tmp_path / "a.nonproj.checkpoint", Perceptron.update, []

    def interrupted(self, example):
        calls.append(example)
        if len(calls) == 45:
            raise KeyboardInterrupt
        return update(self, example)

    arguments = ["train", source, "-o", str(target), *SMALL]
    with monkeypatch.context() as patch:
        patch.setattr(Perceptron, "update", interrupted)
        assert main(arguments) == 130

    assert len(Model.load(target).meta["log"]) == 1

    assert main(["parse", str(checkpoint), source]) == 2
    assert f"nonproj: {checkpoint}: a checkpoint, not a model" in capsys.readouterr().err

    assert main([*arguments, "--resume"]) == 0
    assert not checkpoint.exists()
    whole, resumed = Model.load(toy_folder / "toy.nonproj"), Model.load(target)
    assert resumed.meta["interrupted"] is False
    for name, weights in whole.weights.items():
        np.testing.assert_array_equal(resumed.weights[name], weights, err_msg=name)


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_input(toy_folder, tmp_path):
    """Eight times as many batches, the same memory."""
    source, out, stats = tmp_path / "many.conll", tmp_path / "out", tmp_path / "stats"
    peaks = []
    for copies in (1, 2, 2, 16, 16):  # the first run loads compiled code; peaks depend on when garbage is collected
        count = copies * BATCH
        source.write_text(copies * treebank(BATCH), encoding="utf-8")
        gc.collect()
        tracemalloc.start()
        words = ["parse", str(toy_folder / "toy.nonproj"), str(source), "-o", str(out), "--stats", str(stats)]
        assert main(words) == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert sum(1 for _ in conll.read(out)) == count == len(stats.read_text().splitlines())
    assert min(peaks[3:]) < max(peaks[1:3]) + 2e5


def test_files_of_the_configuration_belong_to_its_own_treebank(toy_folder, tmp_path, capsys):
    config = tmp_path / "c.yaml"
    config.write_text("treebank: {train: no.conll, test: no.conll, held_out: no.conll}\ntraining: {epochs: 1}\n")
    words = ["train", "-o", str(tmp_path / "m.nonproj"), "--config", str(config), "--set", "features.bits=16"]
    words += [f"--set={name}=0" for name in ("tagger.epochs", "network.epochs", "pruner.folds")]
    assert main(words) == 2
    assert capsys.readouterr().err == "nonproj: no.conll: no such file\n"
    words += [str(toy_folder / "train.conll"), "-v"]
    assert main(words) == 0
    output, error = capsys.readouterr()
    assert output == ""
    assert "training on 30 sentences" in error and "held-out UAS" not in error  # all, as by default


def test_a_named_treebank_replaces_the_files_of_the_configuration_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = {"partial": "misc", "name": "Mine", "licence": "free", "silver": "s", "silver_share": 2.0, "root": "multi"}
    files = {"train": "other", "test": "other", "held_out": "other"}
    Path("c.yaml").write_text(json.dumps({"treebank": kept | files}))
    options = parse_arguments(["train", "mine.conllu", "--config", "c.yaml", "-o", "m"])
    assert config_of(options).treebank == TreebankConfig(**kept)
    model = Model(config_of(options), {}, {}, ["x"], {}, {})
    assert continued_config(model).treebank == TreebankConfig(partial="misc", root="multi")


def test_at_least_one_sentence_is_held_out_and_its_figures_are_shown(toy_folder, tmp_path, capsys):
    """Nine sentences, of which a tenth are less than one."""
    few = tmp_path / "few.conll"
    few.write_text("".join("".join(s.lines) + "\n" for s in list(conll.read(toy_folder / "train.conll"))[:9]))
    words = ["train", str(few), "-o", str(tmp_path / "m"), "--held-out", "0.1", "--epochs=2", "--parts=arc"]
    words += [f"--set={name}.epochs=0" for name in ("tagger", "network", "segmenter")]
    assert main([*words, "--set=features.bits=16"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "held-out UAS" in line]
    assert [line[:8] for line in lines] == ["epoch 1:", "epoch 2:"]
    assert "training on 8 sentences" in (tmp_path / "m.log").read_text()
    few.write_text("".join(next(iter(conll.read(few))).lines))
    assert main(words) == 2
    assert capsys.readouterr().err == "nonproj: treebank.held_out: there is one sentence only, to learn from\n"


def test_progress_is_lines_where_standard_error_is_no_terminal(monkeypatch, capsys):
    seconds = itertools.count(0, 15)
    monkeypatch.setattr(common.time, "monotonic", lambda: next(seconds))
    shown = common.progress_bar(argparse.Namespace(quiet=0))
    assert list(shown(range(5), "parse")) == list(range(5))
    assert capsys.readouterr().err == "parse: 2 done after 0:30\nparse: 4 done after 1:00\n"
    assert list(common.progress_bar(argparse.Namespace(quiet=1))(range(5), "parse")) == list(range(5))
    assert capsys.readouterr().err == ""
