"""Training by several processes makes the same file as by one, also when it is interrupted and resumed."""

import sys

import pytest
import toy

from nonproj.components import confidence
from nonproj.components.trainer import train
from nonproj.options.config import Config
from nonproj.workers import copies
from nonproj.workers.processes import Processes

OPTIONS = toy.QUICK | {
    "features.bits": 14,
    "pruner.bits": 14,
    "labeler.bits": 16,
    "tagger.bits": 16,
    "tagger.epochs": 1,
    "pruner.folds": 3,
    "labeler.epochs": 2,
    "training.epochs": 3,
    "confidence.share": 0.5,
}
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


@pytest.fixture(scope="module")
def whole():
    """Sentences, options, and the model that one process makes."""
    sentences, config = toy.noisy_sentences(160), Config().with_overrides(OPTIONS)
    return sentences, config, train(sentences, config).to_bytes()


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_several_processes_make_the_same_model(whole, copied, count):
    sentences, config, wanted = whole
    with Processes(count) as processes:
        assert train(sentences, config, processes=processes).to_bytes() == wanted
    assert len(copied) > 2, "folds of tags, folds of candidates, confidence"


@pytest.mark.parametrize("later", [1, 2])
def test_an_interrupted_training_goes_on(whole, tmp_path, later):
    """In the parser's third epoch, when confidence is not complete."""
    sentences, config, wanted = whole
    path = tmp_path / "checkpoint"

    def interrupt(items, name):
        for number, item in enumerate(items):
            if name == "epoch 3" and number == 3:
                raise KeyboardInterrupt
            yield item

    with Processes(2) as processes:
        stopped = train(sentences, config, checkpoint=path, progress=interrupt, processes=processes)
    assert stopped.meta["interrupted"] and len(stopped.meta["log"]) == 2 and "confidence" not in stopped.meta
    begun = []
    with Processes(later) as processes:
        resumed = train(
            sentences,
            config,
            checkpoint=path,
            resume=True,
            progress=lambda items, name: begun.append(name) or items,
            processes=processes,
        )
    assert resumed.to_bytes() == wanted
    assert [name for name in begun if name.startswith("epoch")] == ["epoch 3"]


def test_an_error_beside_is_that_of_the_training(whole, monkeypatch):
    def fail(*_):
        raise MemoryError("none left")

    sentences, config, _ = whole
    monkeypatch.setattr(confidence, "second_parser", fail)
    with Processes(2) as processes, pytest.raises(MemoryError, match="none left"):
        train(sentences, config, processes=processes)
