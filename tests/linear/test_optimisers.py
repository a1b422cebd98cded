"""Optimisers: each step by its definition, in Python's numbers."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

from nonproj.kernels.kernel import kernel
from nonproj.linear.optimisers import Adam, LaterMean, follow_rows, follow_share, run_epochs
from nonproj.linear.weights import quantise, scale_of


@pytest.mark.parametrize("seed", range(3))
def test_adam_is_that_of_its_definition(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(3, 2)).astype(np.float32)
    wanted, mean, square = table.astype(float), np.zeros((3, 2)), np.zeros((3, 2))
    adam = Adam(table)
    for number in range(1, 6):
        gradient = rng.normal(size=(3, 2)).astype(np.float32)
        adam.step(gradient, 0.01, number)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        corrected = math.sqrt(1 - 0.999**number) / (1 - 0.9**number)
        wanted += 0.01 * corrected * mean / (np.sqrt(square) + 1e-8)
    assert adam.table is table
    np.testing.assert_allclose(table, wanted, rtol=1e-4, atol=1e-5)


@kernel
def follow(gradient, square, share, rate, rows, squares, place):
    """Make a step on one row."""
    follow_share(gradient, square, share, rate, rows[place], squares, place)


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_a_row_that_is_summed_with_a_factor_follows_its_share_of_the_gradient(share):
    rng = np.random.default_rng(4)
    gradient, rows = rng.normal(size=3).astype(np.float32), rng.normal(size=(2, 3)).astype(np.float32)
    squares, before = np.array([0.5, 2.0], np.float32), rows.astype(float)
    square = np.float32((gradient**2).mean())
    follow(gradient, square, np.float32(share), 0.1, rows, squares, 1)
    total = 2.0 + (share * gradient.astype(float) ** 2 * share).mean()
    assert squares.tolist() == pytest.approx([0.5, total])
    np.testing.assert_allclose(rows[1], before[1] + 0.1 * share * gradient / math.sqrt(total), rtol=1e-5)
    np.testing.assert_array_equal(rows[0], before[0])


def test_each_piece_of_a_row_has_its_own_sum_of_squares():
    table, squares = np.zeros((2, 4), np.float32), np.array([[0.0, 0.0], [3.0, 0.0]], np.float32)
    gradient = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 2.0, 2.0]], np.float32)
    follow_rows(np.array([1, 1], np.int32), gradient, 2.0, table, squares)
    assert squares.tolist() == [[0.0, 0.0], [5.0, 4.0]]
    np.testing.assert_allclose(table[1], [1.0 + 2 / math.sqrt(5)] * 2 + [2.0] * 2, rtol=1e-6)
    assert not table[0].any()


@pytest.mark.parametrize(("epochs", "wanted"), [(1, 1.0), (2, 2.0), (3, 2.5), (5, 4.0)])
def test_the_mean_is_over_the_epochs_of_the_second_half(epochs, wanted):
    table = np.zeros(2, np.float32)
    assert LaterMean([table], epochs).tables()[0].tolist() == [0.0, 0.0]
    mean = LaterMean([table], epochs)
    for epoch in range(epochs):
        table[:] = epoch + 1
        mean.add()
    assert mean.tables()[0].tolist() == mean.tables()[0].tolist() == [wanted, wanted]


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
