"""Sums of sparse rows, their gradients, and steps of AdaGrad on rows, in Python's numbers."""

import math

import numpy as np
import pytest
from naive_network import rows_of_item, sums_of_rows

from nonproj.networks.rows import AdaGrad, RowGradient, SparseRows, spread_rows, sum_rows


def draw_rows(rng, n_items, n_rows):
    """Items with up to four rows, some of which repeat or are left out."""
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 5, n_items))])
    row, factor = rng.integers(0, n_rows, start[-1]), rng.normal(size=start[-1]) * (rng.random(start[-1]) < 0.7)
    return SparseRows(start, row.astype(np.int32), factor.astype(np.float32))


@pytest.mark.parametrize("seed", range(5))
def test_sums_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    rows, table = draw_rows(rng, 6, 5), rng.normal(size=(5, 3)).astype(np.float32)
    np.testing.assert_allclose(sum_rows(rows, table), sums_of_rows(rows, table.astype(float)), atol=1e-5)
    whole, plain = rng.integers(-32768, 32768, (5, 3)).astype(np.int16), rows._replace(factor=None)
    np.testing.assert_allclose(sum_rows(rows, whole), sums_of_rows(rows, whole.astype(float)), rtol=1e-5, atol=0.1)
    exact = sum_rows(plain, whole)
    assert exact.dtype == np.int32 and exact.tolist() == sums_of_rows(plain, whole.astype(int)).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_taken_and_scaled_rows_are_those_of_the_items(seed):
    rng = np.random.default_rng(seed)
    rows, chosen = draw_rows(rng, 6, 5), rng.integers(0, 6, 9)
    taken = rows.take(chosen)
    assert [rows_of_item(taken, i) for i in range(9)] == [rows_of_item(rows, item) for item in chosen]
    factor = rng.normal(size=len(taken.row)).astype(np.float32)
    assert taken.scaled(factor).factor.tolist() == (taken.factor * factor).tolist()
    assert taken._replace(factor=None).scaled(factor).factor is factor


@pytest.mark.parametrize("seed", range(5))
def test_gradients_of_rows_are_those_of_the_sums_transposed(seed):
    """The product of any gradient with the sums is that of the rows' gradient with the table."""
    rng = np.random.default_rng(seed)
    rows, table, gradient = draw_rows(rng, 6, 5), rng.normal(size=(5, 3)), rng.normal(size=(6, 3))
    found = spread_rows(rows, gradient.astype(np.float32), 5)
    assert (found * table).sum() == pytest.approx((gradient * sums_of_rows(rows, table)).sum(), abs=1e-4)


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_each_item_moves_its_rows_by_a_step_of_adagrad(seed, pieces):
    """Each piece of a row has a sum of squares; the gradient of a row is that of the item's sum times its factor."""
    rng = np.random.default_rng(seed)
    rows, table, gradient = draw_rows(rng, 6, 5), rng.normal(size=(5, 4)), rng.normal(size=(6, 4)).astype(np.float32)
    gradient[2] = 0.0
    weights, squares = table.astype(np.float32), np.full((5, pieces), 0.5)
    steps = AdaGrad(weights, 0.2, 0.5, pieces)
    steps.step(RowGradient(gradient, rows), 0.5)
    for item, row, factor in ((i, *pair) for i in range(6) for pair in rows_of_item(rows, i)):
        for piece, part in enumerate(np.split(np.arange(4), pieces)):
            change = factor * gradient[item, part].astype(float)
            squares[row, piece] += (change**2).mean()
            table[row, part] += 0.1 * change / math.sqrt(squares[row, piece] + 1e-8)
    assert steps.table is weights
    np.testing.assert_allclose(weights, table, atol=1e-5)
    np.testing.assert_allclose(steps.squares, squares, rtol=1e-5)


def test_without_rows_each_item_is_a_row_and_a_gradient_of_zeros_moves_none():
    table = np.zeros((2, 4), np.float32)
    steps = AdaGrad(table, 3.0, pieces=2)
    steps.step(RowGradient(np.array([[0.0, 0.0, 2.0, 2.0], [1.0, -1.0, 0.0, 0.0]], np.float32)))
    assert steps.squares.tolist() == [[0.0, 4.0], [1.0, 0.0]]
    np.testing.assert_allclose(table, [[0.0, 0.0, 3.0, 3.0], [3.0, -3.0, 0.0, 0.0]], rtol=1e-6)
