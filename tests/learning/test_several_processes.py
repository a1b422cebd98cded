"""Training by several processes makes the same file as by one, also when it is interrupted and resumed."""

import os
import sys
import time

import pytest
import toy
from further import Interrupt

from nonproj.components import confidence
from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.workers import copies

OPTIONS = toy.QUICK | dict.fromkeys(("features.bits", "pruner.bits"), 14) | {"network.size": 16}
OPTIONS |= dict.fromkeys(("labeler.bits", "tagger.bits"), 16) | dict.fromkeys(("pruner.folds", "training.epochs"), 3)
OPTIONS |= dict.fromkeys(("tagger.epochs", "labeler.epochs"), 1) | {"confidence.share": 0.5}

ONLY_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only there are processes copied")
pytestmark = [ONLY_LINUX, pytest.mark.usefixtures("few_words")]


@pytest.fixture(autouse=True)
def copied(monkeypatch):
    """Copy this process, whatever threads other tests have left; return the calls that copies make."""
    made, begin = [], copies.Copy.__init__
    monkeypatch.setattr(copies, "can_fork", lambda: True)
    monkeypatch.setattr(copies.Copy, "__init__", lambda copy, call: made.append(call) or begin(copy, call))
    return made


SENTENCES, CONFIG = toy.noisy_sentences(50), Config().with_overrides(OPTIONS)


def learn(held_out=(), **run):
    """Train a model."""
    return train(SENTENCES, CONFIG, held_out=held_out, run=RunOptions(**run))


@pytest.fixture(scope="module")
def whole(few_words):
    """The model that one process makes."""
    model = learn()
    assert "confidence" in model.components
    return model.to_bytes()


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_several_processes_make_the_same_model(whole, copied, count):
    """Confidence is learnt beside network and parser."""
    progress = Interrupt()
    assert learn(jobs=count, progress=progress).to_bytes() == whole
    assert len(copied) > 2, "folds of tags, folds of candidates, confidence"
    network, parser, waiting = map(progress.begun.index, ("network 1", "epoch 1", "confidence"))
    assert network < parser < waiting and not any(name.startswith("confidence: ") for name in progress.begun)


@pytest.mark.thorough
def test_held_out_sentences_are_parsed_as_by_one_process():
    alone, beside = (learn(toy.noisy_sentences(80)[60:], jobs=jobs).to_bytes() for jobs in (1, 2))
    assert alone == beside


THOROUGH = [pytest.param(*each, marks=pytest.mark.thorough) for each in ((1, False), (2, True), (2, False))]


@pytest.mark.parametrize(("later", "slow"), [(1, True), *THOROUGH])
def test_an_interrupted_training_goes_on(whole, tmp_path, monkeypatch, later, slow):
    """Twice interrupted in the parser's epochs, when confidence is complete, or when it is not."""
    path = tmp_path / "checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr(copies.Copy, "is_ready", lambda copy: not slow and not list(copy.waits()))
        stopped = learn(checkpoint=path, progress=Interrupt("epoch 3", 3), jobs=2)
    assert stopped.meta["interrupted"] and len(stopped.meta["log"]) == 2
    assert ("confidence" in stopped.meta) == (not slow) == ("confidence" in Model.load(path).meta["done"])
    for progress in (Interrupt("epoch 3", 3), Interrupt()):
        resumed = learn(checkpoint=path, resume=True, progress=progress, jobs=later)
        assert [name for name in progress.begun if name.startswith(("epoch", "network"))] == ["epoch 3"]
    assert resumed.to_bytes() == whole


def test_a_signal_is_heeded_while_confidence_is_waited_for(monkeypatch):
    monkeypatch.setattr(confidence, "second_parser", lambda *_: time.sleep(100))
    with pytest.raises(KeyboardInterrupt):
        learn(progress=Interrupt("confidence"), jobs=2)


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
