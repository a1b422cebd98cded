"""Progress and log of ``nonproj train``."""

import io
import logging
import re

import pytest
from command import Terminal
from toy import QUICK, treebank

from nonproj.cli.main import main
from nonproj.components import progress
from nonproj.components.progress import TrainingProgress, expected_times
from nonproj.options.config import Config

SMALL = [f"--set={name}={value}" for name, value in QUICK.items()]
SMALL += ["--set=features.bits=16", "--set=pruner.bits=16", "--set=labeler.bits=16", "--epochs=1", "--parts=arc"]
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


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress")
    (folder / "train.conllu").write_text(treebank(40), encoding="utf-8")
    return ["train", str(folder / "train.conllu"), "-o", str(folder / "a.nonproj"), *SMALL]


def test_training_says_little_and_logs_everything_unless_it_is_quiet(words, tmp_path, capsys):
    model = words[3]
    assert main(words) == 0
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if "compiling" not in line]
    assert [line.partition(":")[0] for line in lines[:-1]] == COMPONENTS
    assert lines[-1] == f"wrote {model}; details are in {model}.log"
    with open(f"{model}.log", encoding="utf-8") as stream:
        logged = stream.read()
    assert re.search(r"^[\d-]+ [\d:,]+ INFO training on 40 sentences, ", logged)
    assert "epoch 1: " in logged and len(logged.splitlines()) > 2 * len(lines)
    assert main([*words, "-v"]) == 0
    told = capsys.readouterr().err
    assert "training on 40 sentences" in told and "about" not in told
    with open(f"{model}.log", encoding="utf-8") as stream:
        assert stream.read().count("training on 40 sentences") == 1, "of this training, not of the one before"
    quiet = str(tmp_path / "a.nonproj")
    assert main([*words[:3], quiet, *words[4:], "-q"]) == 0
    assert "trained" not in capsys.readouterr().err and [path.name for path in tmp_path.iterdir()] == ["a.nonproj"]
