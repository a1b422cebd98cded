"""The learner of networks: steps, learning rates and means, on a network whose gradient is constant."""

from dataclasses import replace

import numpy as np
import pytest

from nonproj.networks.hyperparameters import SENTENCES, TAGS
from nonproj.networks.learner import Gradient, Learner
from nonproj.networks.rows import AdaGrad, RowGradient

ONE = np.ones((1, 1), np.float32)


class Constant:
    """A network of two numbers, whose gradients are always 1: steps are as long as their rates, up to AdaGrad's root.

    It remembers the examples of each step, and the numbers before it.
    """

    def __init__(self, sizes, **changes):
        self.hyperparameters, self.sizes = replace(TAGS, **changes), np.array(sizes)
        self.dense, self.rows = [np.zeros(1, np.float32)], [AdaGrad(np.zeros((1, 1), np.float32), 0.5)]
        self.steps, self.values = [], []

    def gradient_of(self, chosen):
        self.steps.append(chosen.tolist())
        self.values.append((float(self.dense[0][0]), float(self.rows[0].table[0, 0])))
        return Gradient(2.0 * len(chosen), 1, len(chosen), [RowGradient(ONE)], [ONE[0]])


def trained(epochs, sizes, **changes):
    network = Constant(sizes, **changes)
    numbers = [np.arange(len(sizes))] * epochs
    Learner(network, numbers, np.random.default_rng).learn("network", lambda steps, _: steps)
    return network


def test_a_step_is_of_the_examples_that_end_in_it():
    network, expected = trained(3, [50, 100, 206, 1, 99, 256, 44], batch=256), []
    for epoch in range(3):
        steps, end = {}, 0
        for number in np.random.default_rng(epoch).permutation(7).tolist():
            end += int(network.sizes[number])
            steps.setdefault((end - 1) // 256, []).append(number)
        expected += steps.values()
    assert network.steps == expected


@pytest.mark.parametrize(("warm_up", "shares"), [(0, [0, 4, 8, 10, 14, 18]), (3, [4, 8, 10, 14, 18, 20])])
def test_rates_fall_with_the_examples_that_were_seen(warm_up, shares):
    rates = {"rate": 0.01, "last_rate": 0.2, "last_row_rate": 0.5}
    network = trained(2, [1] * 10, batch=4, warm_up=warm_up, averaged=False, **rates)
    dense, rows = np.diff([*network.values, (network.dense[0][0], network.rows[0].table[0, 0])], axis=0).T
    done, rising = np.array(shares) / 20, np.minimum(np.arange(1, 7) / max(warm_up, 1), 1.0)
    np.testing.assert_allclose(dense, 0.01 * rising * (1 - 0.8 * done), rtol=1e-4)
    np.testing.assert_allclose(rows * np.sqrt(np.arange(1, 7)), 0.5 * (1 - 0.5 * done), rtol=1e-4)


def test_a_network_is_the_last_one_or_a_mean():
    last, mean = (trained(3, [1] * 3, batch=1, averaged=averaged) for averaged in (False, True))
    assert mean.values == last.values
    ends = [mean.values[6], (float(last.dense[0][0]), float(last.rows[0].table[0, 0]))]
    found = mean.dense[0][0], mean.rows[0].table[0, 0]
    np.testing.assert_allclose(found, np.mean(ends, axis=0), rtol=1e-6)


def test_an_epoch_tells_the_mean_loss_and_what_is_wrong():
    learner = Learner(Constant([1] * 5, batch=2), [np.arange(5), np.arange(0)], np.random.default_rng)
    assert [learner.epoch(number) for number in (0, 1)] == [(2.0, 3), (0.0, 0)]


def test_small_treebanks_are_learnt_in_more_epochs():
    assert [SENTENCES.epochs(6, size) for size in (1, 100_000, 10**9)] == [60, 6, 6]
    assert TAGS.epochs(7, 1) == 7
