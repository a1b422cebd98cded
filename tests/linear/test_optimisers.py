"""Optimisers: each step by its definition, in Python's numbers."""

import logging
import math

import numpy as np
import pytest

from nonproj.linear.optimisers import Adam, LaterMean, run_epochs
from nonproj.linear.weights import quantise, scale_of


@pytest.mark.parametrize("seed", range(3))
def test_adam_is_that_of_its_definition(seed):
    rng = np.random.default_rng(seed)
    tables = [rng.normal(size=shape).astype(np.float32) for shape in ((3, 2), (4,))]
    wanted = [(table.astype(float), np.zeros(table.shape), np.zeros(table.shape)) for table in tables]
    adam = Adam(tables)
    for number in range(1, 6):
        gradients = [rng.normal(size=table.shape).astype(np.float32) for table in tables]
        adam.step(gradients, 0.01)
        corrected = math.sqrt(1 - 0.999**number) / (1 - 0.9**number)
        for (weights, mean, square), gradient in zip(wanted, gradients, strict=True):
            mean[:], square[:] = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            weights += 0.01 * corrected * mean / (np.sqrt(square) + 1e-8)
    assert adam.tables is tables
    for table, (weights, _, _) in zip(tables, wanted, strict=True):
        np.testing.assert_allclose(table, weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("epochs", "wanted"), [(1, 1.0), (2, 2.0), (3, 2.5), (5, 4.0)])
def test_the_mean_is_over_the_epochs_of_the_second_half(epochs, wanted):
    table = np.zeros(2, np.float32)
    mean = LaterMean([table], epochs)
    for epoch in range(epochs):
        table[:] = epoch + 1
        mean.add()
    for _ in range(2):
        mean.apply()
        assert table.tolist() == [wanted, wanted]


def test_epochs_are_logged(caplog):
    met = []

    def run(number):
        met.append(number)
        return f"{number} wrong tags"

    with caplog.at_level(logging.INFO, "nonproj"):
        run_epochs("it,", range(2), run)
    assert met == [0, 1]
    assert [record.getMessage().partition(" s, ")[2] for record in caplog.records] == ["0 wrong tags", "1 wrong tags"]
    assert caplog.records[1].getMessage().startswith("it, epoch 2: ")


def test_tables_can_share_a_scale():
    tables = [np.array([[0.5, -2.0]], np.float32), np.array([1.0], np.float32)]
    scale = scale_of(*tables)
    assert [quantise(table, scale)[0].tolist() for table in tables] == [[[8192, -32767]], [16384]]
    assert quantise(np.zeros(3, np.float32), scale_of(np.zeros(3, np.float32)))[0].tolist() == [0, 0, 0]
