"""The first epoch of the average: the mean by its definition, and resuming across the restart."""

import numpy as np
import pytest
import toy
from further import weights_of

from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.learning.perceptron import Perceptron
from nonproj.options.config import Config

SMALL = toy.FROM_GOLD_TAGS | {"pruner.epochs": 1, "labeler.epochs": 1, "network.epochs": 1}

SENTENCES = toy.sentences(12)


def config(**training):
    return Config().with_overrides(SMALL | {f"training.{name}": value for name, value in training.items()})


@pytest.mark.parametrize("first", [1, 3, 9])
def test_the_model_is_the_mean_of_the_weights_from_this_epoch_on(first, monkeypatch):
    weights, update = [], Perceptron.update

    def recorded(self, example):
        missed = update(self, example)
        weights.append(self.weights.astype(np.float64))
        return missed

    monkeypatch.setattr(Perceptron, "update", recorded)
    model = train(SENTENCES, config(epochs=4, average_from=first))
    assert len(weights) == 4 * len(SENTENCES)
    weights.insert(0, np.zeros_like(weights[0]))  # before the first step
    left_out = (first - 1) * len(SENTENCES) if first <= 4 else 0
    scale, mean = model.meta["scale"]["parser"], np.mean(weights[left_out:], axis=0)
    np.testing.assert_allclose(model.weights["parser"] * scale, mean, atol=0.51 * scale)


@pytest.mark.parametrize("stopped", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_resuming_before_at_and_after_the_restart_changes_nothing(stopped, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    whole = train(SENTENCES, config(epochs=4, average_from=3))
    train(SENTENCES, config(epochs=stopped, average_from=3), run=RunOptions(checkpoint=checkpoint))
    resumed = train(SENTENCES, config(epochs=4, average_from=3), run=RunOptions(checkpoint=checkpoint, resume=True))
    assert weights_of(resumed) == weights_of(whole)
