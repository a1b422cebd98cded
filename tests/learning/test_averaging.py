"""The first epoch of the average: the mean by its definition, resuming across the restart, forged steps."""

import numpy as np
import pytest
import toy

from nonproj.components.base import RunOptions
from nonproj.components.checkpoint import averaged_epochs
from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.learning.perceptron import Perceptron
from nonproj.model.model import Model
from nonproj.options.config import Config

SMALL = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 14, "pruner.folds": 0, "pruner.epochs": 1}
SMALL |= {"labeler.epochs": 1, "tagger.epochs": 0, "segmenter.epochs": 0, "training.tags": "gold"}
SMALL |= {"network.epochs": 1, "confidence.share": 0.0}
SENTENCES = toy.sentences(12)


def config(**training):
    return Config().with_overrides(SMALL | {f"training.{name}": value for name, value in training.items()})


@pytest.mark.parametrize("first", [1, 2, 3, 4, 9])
def test_the_model_is_the_mean_of_the_weights_from_this_epoch_on(first, monkeypatch):
    history, update = {}, Perceptron.update

    def recorded(self, example):
        before = self.weights.astype(np.float64)
        missed = update(self, example)
        history.setdefault(id(self), [self, before]).append(self.weights.astype(np.float64))
        return missed

    monkeypatch.setattr(Perceptron, "update", recorded)
    model = train(SENTENCES, config(epochs=4, average_from=first))
    ((_, *weights),) = history.values()  # before the first step, then after each
    assert len(weights) == 1 + 4 * len(SENTENCES)
    left_out = (first - 1) * len(SENTENCES) if first <= 4 else 0
    scale, mean = model.meta["scale"]["parser"], np.mean(weights[left_out:], axis=0)
    np.testing.assert_allclose(model.weights["parser"] * scale, mean, atol=0.51 * scale)


def test_what_is_left_out_matters():
    one, other = (train(SENTENCES, config(epochs=4, average_from=first)) for first in (1, 3))
    assert one.weights["parser"].tobytes() != other.weights["parser"].tobytes()


@pytest.mark.parametrize(
    "stopped", [pytest.param(1, marks=pytest.mark.thorough), 2, pytest.param(3, marks=pytest.mark.thorough)]
)
def test_resuming_before_at_and_after_the_restart_changes_nothing(stopped, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    whole = train(SENTENCES, config(epochs=4, average_from=3))
    train(SENTENCES, config(epochs=stopped, average_from=3), run=RunOptions(checkpoint=checkpoint))
    resumed = train(SENTENCES, config(epochs=4, average_from=3), run=RunOptions(checkpoint=checkpoint, resume=True))
    for name, weights in whole.weights.items():
        assert resumed.weights[name].tobytes() == weights.tobytes(), name


@pytest.mark.parametrize(("epochs", "first"), [(2, 3), (3, 3), (4, 3), (4, 1)])
def test_a_checkpoint_with_the_steps_of_other_epochs_is_refused(epochs, first, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    train(SENTENCES, config(epochs=epochs, average_from=first), run=RunOptions(checkpoint=checkpoint))
    saved = Model.load(checkpoint)
    unfinished = saved.components["unfinished"]
    assert unfinished["step"] == 1 + len(SENTENCES) * averaged_epochs(epochs, first)
    unfinished["step"] += len(SENTENCES)
    saved.save(checkpoint)
    with pytest.raises(ModelError, match="its number of steps is not that of its epochs"):
        train(SENTENCES, config(epochs=5, average_from=first), run=RunOptions(checkpoint=checkpoint, resume=True))
