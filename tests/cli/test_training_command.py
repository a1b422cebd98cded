"""``nonproj train``: progress and log, interrupts, files of a configuration, what a model records of its treebank."""

import io
import json
import logging
import re
from pathlib import Path

import numpy as np
import pytest
from command import ROOT, SMALL, Terminal
from scripts import imported
from toy import treebank

from nonproj.cli.main import main, parse_arguments
from nonproj.cli.provenance import provenance
from nonproj.cli.train import config_of
from nonproj.cli.treebanks import KNOWN, describe, licence_beside
from nonproj.components import progress
from nonproj.components.continuing import continued_config
from nonproj.components.progress import TrainingProgress, expected_times
from nonproj.learning.perceptron import Perceptron
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.options.sections import TreebankConfig

COMPONENTS = ["segmenter", "tagger", "pruner", "labeler", "network", "parser"]


@pytest.fixture
def clock(monkeypatch):
    """A clock, a list of one number, that stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def trained(name):
    return logging.makeLogRecord({"component": name, "levelno": logging.INFO})


def test_the_time_left_follows_the_pace_of_what_is_done(clock):
    stream = Terminal()
    shown = TrainingProgress({"tagger": 100.0, "parser": 300.0}, stream)

    def line(seconds):
        clock[0] = 100.0 + seconds
        assert list(shown.wrap([1], "epoch 1")) == [1]
        return stream.getvalue().rpartition("\033[K")[2]

    assert line(40.0) == "training: 10 %, about 6:00 left (epoch 1)"
    clock[0] = 300.0
    shown.emit(trained("tagger"))  # twice as long as expected, which itself counts for 40 seconds
    assert line(201.0) == f"training: {100 * 201 / 686:.0f} %, about 8:05 left (epoch 1)"
    line(201.4)
    assert stream.getvalue().count("\r") == 2, "twice a second at most"
    assert "about 0:26 left" in line(3000.0), "what takes longer than expected is not finished"
    shown.emit(trained("parser"))
    assert line(3001.0).endswith("training: 100 % (epoch 1)")


def test_a_message_gets_a_line_of_its_own(clock):
    stream = Terminal()
    shown = TrainingProgress({"tagger": 10.0}, stream)
    shown.emit(logging.makeLogRecord({"levelno": logging.INFO}))
    assert stream.getvalue() == ""
    shown.emit(logging.makeLogRecord({"levelno": logging.WARNING}))
    assert stream.getvalue() == "\r\033[K"
    shown.emit(logging.makeLogRecord({"levelno": logging.INFO, "msg": "epoch 1: LAS 80.00", "evaluated": True}))
    assert stream.getvalue().endswith("\r\033[Kepoch 1: LAS 80.00\n")


def test_elsewhere_there_is_a_line_for_each_component(clock):
    stream = io.StringIO()
    shown = TrainingProgress({"tagger": 100.0, "parser": 300.0}, stream)
    assert list(shown.wrap("ab", "x")) == ["a", "b"]
    clock[0] = 200.0
    shown.emit(trained("tagger"))
    shown.emit(trained("a user's own"))
    clock[0] = 500.0
    shown.emit(trained("parser"))
    assert stream.getvalue() == "tagger: trained after 1:40, about 5:00 left\nparser: trained after 6:40\n"


def test_what_is_not_trained_takes_no_time():
    options = {"training.tags": "gold", "network.epochs": 0, "confidence.share": 0.0, "training.epochs": 2}
    less, more = expected_times(Config().with_overrides(options), 1000), expected_times(Config(), 1000)
    assert less["network"] == less["confidence"] == 0.0 and less["parser"] == more["parser"] / 2
    assert more.keys() == {*COMPONENTS, "confidence"} and less["pruner"] < more["pruner"]
    encoder = Config().with_overrides({"encoder.folder": "there"})
    assert sum(expected_times(encoder, 1000).values()) > 3 * sum(more.values())
    two = expected_times(Config(), 1000, 2)
    assert list(two)[-1] == "confidence" and sum(two.values()) < 0.8 * sum(more.values())


def test_training_says_little_and_logs_everything_unless_it_is_quiet(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t").write_text(treebank(10), encoding="utf-8")
    words = ["train", "t", *SMALL[:-1], "--epochs", "1", "--parts=arc"]
    assert main([*words, "--set=training.tags=predicted", "-o", "a"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "compiling" not in line]
    assert [line.partition(":")[0] for line in lines[:-1]] == COMPONENTS
    assert lines[-1] == "wrote a; details are in a.log"
    logged = Path("a.log").read_text(encoding="utf-8")
    assert re.search(r"^[\d-]+ [\d:,]+ INFO training on 10 sentences, ", logged)
    assert "epoch 1: " in logged and len(logged.splitlines()) > 2 * len(lines)
    assert main([*words, "-v", "-o", "a"]) == main([*words, "-q", "-o", "b"]) == 0
    told = capsys.readouterr().err
    assert told.count("training on 10 sentences") == 1 and "about" not in told and not Path("b.log").exists()
    logged = Path("a.log").read_text(encoding="utf-8")
    assert logged.count("training on 10 sentences") == 1, "of this training, not of the one before"


# -- interrupts and files ----------------------------------------------------------------------------------------------


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
    resumed = Model.load(target)
    assert resumed.meta["interrupted"] is False and not checkpoint.exists()
    for name, weights in Model.load(toy_folder / "toy.nonproj").weights.items():
        np.testing.assert_array_equal(resumed.weights[name], weights, err_msg=name)


def test_a_named_treebank_replaces_the_files_of_the_configuration_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    kept = {"partial": "misc", "name": "Mine", "licence": "free", "silver": "s", "silver_share": 2.0, "root": "multi"}
    files = {"train": "other", "test": "other", "held_out": "other"}
    Path("c.yaml").write_text(json.dumps({"treebank": kept | files}))
    assert main(["train", "--config", "c.yaml", "-o", "m"]) == 2
    assert capsys.readouterr().err == "nonproj: other: no such file\n"
    options = parse_arguments(["train", "mine.conllu", "--config", "c.yaml", "-o", "m"])
    assert config_of(options).treebank == TreebankConfig(**kept)
    model = Model(config_of(options), {}, {}, ["x"], {}, {})
    assert continued_config(model).treebank == TreebankConfig(partial="misc", root="multi")


def test_at_least_one_sentence_is_held_out_and_its_figures_are_shown(tmp_path, capsys):
    """Nine sentences, of which a tenth are less than one."""
    few = tmp_path / "few.conll"
    few.write_text(treebank(9))
    words = ["train", str(few), "-o", str(tmp_path / "m"), "--held-out", "0.1", *SMALL[:-1], "--parts=arc"]
    words += [f"--set={name}.epochs=0" for name in ("tagger", "network", "segmenter")]
    assert main(words) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "held-out UAS" in line]
    assert [line[:8] for line in lines] == ["epoch 1:", "epoch 2:"]
    assert "training on 8 sentences" in (tmp_path / "m.log").read_text()
    few.write_text(treebank(1))
    assert main(words) == 2
    assert capsys.readouterr().err == "nonproj: treebank.held_out: there is one sentence only, to learn from\n"


# -- treebanks ---------------------------------------------------------------------------------------------------------


SHARED = ROOT.parent / "shared"


def test_the_treebanks_of_the_scripts_are_known():
    files = {path.stem: Config.load(path).treebank for path in (ROOT / "configs").glob("*.yaml")}
    assert set(files) >= {"danish", "dutch", "basque", "english-wsj", "english-ewt", "greek", "turkish", "smoke"}
    with imported("treebanks") as (treebanks,):
        assert len(KNOWN) == len(treebanks.TREEBANKS)
        for language, known in treebanks.TREEBANKS.items():
            code = known.code or Path(known.train).name.partition("_")[0]
            assert describe("renamed", known.train_digest) == (known.title, known.licence, code)
            named = files.get(language)
            assert named is None or (named.train, named.test) == (f"data/{known.train}", f"data/{known.test}")


@pytest.mark.skipif(not (SHARED / "ud").is_dir(), reason="the treebanks are not there")
def test_a_known_file_is_recognised_wherever_it_lies(tmp_path):
    (tmp_path / "mine.conllu").write_bytes((SHARED / "ud/Tamil-TTB/ta_ttb-ud-train.conllu").read_bytes())
    data = provenance(Config(), str(tmp_path / "mine.conllu"), None, 0)["data"]
    facts = data["name"], data["licence"], data["language"]
    assert facts == ("UD Tamil TTB 2.12", "CC BY-NC-SA 3.0, for research", "ta")


def test_training_records_what_a_folder_of_universal_dependencies_says(tmp_path, capsys):
    folder = tmp_path / "ud-treebanks-v2.99" / "UD_Faroese-Toy"
    folder.mkdir(parents=True)
    train, model = folder / "fo_toy-ud-train.conllu", tmp_path / "toy.nonproj"
    train.write_text(treebank(10), encoding="utf-8")
    readme = "License: of the scripts\n\n=== Machine-readable metadata ===\nLicense: CC BY-SA 4.0\nParallel: no\n"
    (folder / "README.md").write_text(readme, encoding="utf-8")
    assert main(["train", str(train), "-o", str(model), *SMALL]) == 0
    assert main(["inspect", "--card", str(model)]) == 0
    card = capsys.readouterr().out
    assert {"| treebank | UD Faroese Toy 2.99 |", "| language | fo |", "| licence | CC BY-SA 4.0 |"} <= {
        *card.split("\n")
    }
    config = Config().with_overrides({"treebank.name": "Mine", "treebank.licence": "none"})
    data = provenance(config, str(train), None, 0)["data"]
    assert (data["name"], data["licence"], data["language"]) == ("Mine", "none", "fo")


def test_licences(tmp_path):
    """A line in the part for programs, not in other parts; or the address of a licence of Creative Commons."""
    for name, text, expected in (
        ("README", b"other", None),
        ("README.md", b"\xff\xfe", None),
        ("README.md", b"# My data\nLicense: MIT\n", None),
        ("LICENSE.txt", b"http://creativecommons.org/licenses/by-nc-sa/2.5/ or a letter", "CC BY-NC-SA 2.5"),
        ("README.md", b"License: no\n=== Machine-readable metadata (DO NOT REMOVE!) ===\nLicense: MIT \n", "MIT"),
    ):
        (tmp_path / name).write_bytes(text)
        assert licence_beside(str(tmp_path / "train.conllu")) == expected


def test_an_unknown_treebank_has_no_licence(tmp_path):
    assert describe(str(tmp_path / "xy_other-ud-train.conllu"), "0" * 64) == ("UD xy_other", None, "xy")
    assert describe(str(tmp_path / "train.conllu"), None) == (None, None, None)
