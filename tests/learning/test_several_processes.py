"""Training by several processes makes the same file as by one, also when it is interrupted and resumed."""

import os
import sys
import time

import pytest
import toy

from nonproj.components import confidence
from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.workers import copies

OPTIONS = toy.QUICK | dict.fromkeys(("features.bits", "pruner.bits"), 14) | {"network.size": 16}
OPTIONS |= dict.fromkeys(("labeler.bits", "tagger.bits"), 16) | dict.fromkeys(("pruner.folds", "training.epochs"), 3)
OPTIONS |= dict.fromkeys(("tagger.epochs", "labeler.epochs"), 1) | {"confidence.share": 0.5}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there are processes copied")


@pytest.fixture(autouse=True)
def copied(monkeypatch):
    """Copy this process, whatever threads other tests have left; return the calls that copies make."""
    made, begin = [], copies.Copy.__init__

    def noted(copy, call):
        begin(copy, call)
        made.append(call)

    monkeypatch.setattr(copies, "can_fork", lambda: True)
    monkeypatch.setattr(copies.Copy, "__init__", noted)
    return made


SENTENCES, CONFIG = toy.noisy_sentences(160), Config().with_overrides(OPTIONS)


def learn(held_out=(), **run):
    """Train a model."""
    return train(SENTENCES, CONFIG, held_out=held_out, run=RunOptions(**run))


@pytest.fixture(scope="module")
def whole():
    """The model that one process makes."""
    return learn().to_bytes()


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_several_processes_make_the_same_model(whole, copied, count):
    assert learn(jobs=count).to_bytes() == whole
    assert len(copied) > 2, "folds of tags, folds of candidates, confidence"


@pytest.mark.thorough
def test_held_out_sentences_are_parsed_as_by_one_process():
    alone, beside = (learn(toy.noisy_sentences(180)[160:], jobs=jobs).to_bytes() for jobs in (1, 2))
    assert alone == beside


def interrupting(epoch, begun):
    """A progress bar that presses Ctrl-C in an epoch of the parser, and notes the epochs that begin."""

    def progress(items, name):
        begun.append(name)
        for number, item in enumerate(items):
            if name == epoch and number == 3:
                raise KeyboardInterrupt
            yield item

    return progress


@pytest.mark.parametrize(
    ("later", "slow"),
    [(1, True), *(pytest.param(*each, marks=pytest.mark.thorough) for each in ((1, False), (2, True), (2, False)))],
)
def test_an_interrupted_training_goes_on(whole, tmp_path, monkeypatch, later, slow):
    """Twice interrupted in the parser's epochs, when confidence is complete, or when it is not."""
    path, begun = tmp_path / "checkpoint", []
    with monkeypatch.context() as patch:
        patch.setattr(copies.Copy, "is_ready", lambda copy: not slow and not list(copy.waits()))
        stopped = learn(checkpoint=path, progress=interrupting("epoch 3", begun), jobs=2)
    assert stopped.meta["interrupted"] and len(stopped.meta["log"]) == 2
    assert ("confidence" in stopped.meta) == (not slow) == ("confidence" in Model.load(path).meta["done"])
    for epoch in ("epoch 3", ""):
        begun.clear()
        resumed = learn(checkpoint=path, resume=True, progress=interrupting(epoch, begun), jobs=later)
        assert [name for name in begun if name.startswith("epoch")] == ["epoch 3"]
        assert "network 1" not in begun
    assert resumed.to_bytes() == whole


def test_confidence_is_learnt_beside_network_and_parser():
    begun = []
    learn(progress=lambda items, name: begun.append(name) or items, jobs=2)
    network, parser, waiting = (begun.index(name) for name in ("network 1", "epoch 1", "confidence"))
    assert network < parser < waiting and not any(name.startswith("confidence: ") for name in begun)


def test_a_signal_is_heeded_while_confidence_is_waited_for(monkeypatch):
    def interrupt(items, name):
        for item in items:
            if name == "confidence":
                raise KeyboardInterrupt
            yield item

    monkeypatch.setattr(confidence, "second_parser", lambda *_: time.sleep(100))
    with pytest.raises(KeyboardInterrupt):
        learn(progress=interrupt, jobs=2)


@pytest.mark.parametrize("fault", [pytest.param("no copies", marks=pytest.mark.thorough), "dead"])
def test_without_copies_one_process_trains(whole, monkeypatch, fault):
    if fault == "no copies":
        monkeypatch.setattr(copies, "fork", lambda *_: (_ for _ in ()).throw(BlockingIOError(11, "none")))
    else:
        monkeypatch.setattr(copies, "_answer", lambda *_: os._exit(9))
    assert learn(jobs=2).to_bytes() == whole


def test_an_error_beside_is_that_of_the_training(monkeypatch):
    def fail(*_):
        raise MemoryError("none left")

    monkeypatch.setattr(confidence, "second_parser", fail)
    with pytest.raises(MemoryError, match="none left"):
        learn(jobs=2)
