"""Products of matrices and exponentials in training: right, and the same whatever is computed beside them."""

import numpy as np
import pytest

from nonproj.networks.exponentials import exponentials
from nonproj.networks.products import product


def draw(seed):
    """Two matrices, of few or many rows and columns."""
    rng = np.random.default_rng(seed)
    n_rows, count, n_columns = rng.integers(0, 40, 3)
    return rng.standard_normal((n_rows, count), np.float32), rng.standard_normal((count, n_columns), np.float32)


@pytest.mark.parametrize("seed", range(20))
def test_products_are_those_of_the_definition(seed):
    left, right = draw(seed)
    np.testing.assert_allclose(product(left, right), left.astype(float) @ right.astype(float), atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_a_sum_depends_on_its_own_row_and_column_alone(seed):
    left, right = draw(seed)
    whole = product(left, right)
    assert product(np.asfortranarray(left), np.asfortranarray(right)).tobytes() == whole.tobytes()
    assert product(left[1:8], right[:, 2:21]).tobytes() == whole[1:8, 2:21].tobytes()
    assert product(left[::2], right[:, ::3]).tobytes() == whole[::2, ::3].tobytes()
    assert product(left[::-1], right[:, ::-1]).tobytes() == whole[::-1, ::-1].tobytes()
    repeated = np.broadcast_to(left[:1], left.shape), np.broadcast_to(right[:, :1], right.shape)
    assert product(*repeated).tobytes() == np.broadcast_to(whole[:1, :1], whole.shape).tobytes()


def test_matrices_of_other_shapes_have_no_product():
    with pytest.raises(ValueError, match=r"shape \(2, 3\) and \(2, 3\) have no product"):
        product(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))


def test_terms_are_added_in_order_and_rounded_once():
    """The exact sum of a term and of those before it is rounded: a product alone is not."""
    small = np.float32(2.0**-13)
    factors = np.array([[1 + small, 1]], np.float32)
    assert product(factors, np.array([[1 + small], [-1 - 2 * small]], np.float32)) == 0, "the first term is rounded"
    assert product(factors[:, ::-1], np.array([[-1 - 2 * small], [1 + small]], np.float32)) == small * small


def test_exponentials_are_exact_to_float32():
    numbers = np.linspace(-64.0, 64.0, 10001).astype(np.float32)
    np.testing.assert_allclose(exponentials(numbers), np.exp(numbers.astype(float)), rtol=1e-7)
    assert exponentials(np.array([0.0, -0.0], np.float32)).tolist() == [1.0, 1.0]
    assert exponentials(np.array([-np.inf, -1e30], np.float32)) == pytest.approx(np.exp(-64.0))
