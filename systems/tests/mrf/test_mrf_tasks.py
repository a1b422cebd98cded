"""Images: the fields are correct, on random and on real data."""

import naive_mrf as naive
import numpy as np
import pytest

from nonproj_systems.mrf.images import restore_binary, restore_grey, segment
from nonproj_systems.mrf.inference import infer
from nonproj_systems.mrf.linear_program import solve_program


def test_fields_of_images_have_the_scores_they_should():
    rng = np.random.default_rng(0)
    black, levels = rng.random((2, 3)) < 0.5, np.array([0.0, 5.0, 10.0])
    grey, colours, centres = 10 * rng.random((2, 3)), 255 * rng.random((2, 3, 3)), 255 * rng.random((2, 3))
    fields = (
        restore_binary(black, 0.2, 1.5),
        restore_grey(grey, levels, 3.0, 0.4, 6.0),
        segment(colours, centres, 40.0, 2.0),
    )
    edges = naive.grid_edges(2, 3)
    flat = colours.reshape(6, 3)
    contrast = np.array([((flat[i] - flat[j]) ** 2).sum() for i, j in edges])
    weights = 2.0 * np.exp(-0.5 * contrast / contrast.mean())
    for _ in range(20):
        x, y, z = rng.integers(0, 2, 6), rng.integers(0, 3, 6), rng.integers(0, 2, 6)
        first = sum(np.log(0.8 if a == b else 0.2) for a, b in zip(x, black.ravel(), strict=True))
        first += 1.5 * sum(x[i] == x[j] for i, j in edges)
        second = -0.5 * (((levels[y] - grey.ravel()) / 3.0) ** 2).sum()
        second -= 0.4 * sum(min(abs(levels[y[i]] - levels[y[j]]), 6.0) for i, j in edges)
        third = -0.5 * ((flat - centres[z]) ** 2).sum() / 40.0**2
        third += sum(w * (z[i] == z[j]) for w, (i, j) in zip(weights, edges, strict=True))
        for field, labels, expected in zip(fields, (x, y, z), (first, second, third), strict=True):
            assert abs(field.score(labels) - expected) < 1e-8


def test_a_probability_of_one_half_tells_nothing():
    with pytest.raises(ValueError, match=r"^flipped is 0\.5; a probability between 0 and 0\.5 is expected$"):
        restore_binary([[True]], 0.5, 1.0)


def test_a_real_image_is_restored_with_proof():
    """Part of a photograph, black and white, a fifth of the pixels flipped: the optimum is that of a minimum cut."""
    datasets = pytest.importorskip("sklearn.datasets")
    photo = datasets.load_sample_image("china.jpg")[100:180, 200:320].mean(axis=2)
    true = photo > np.median(photo)
    noisy = true ^ (np.random.default_rng(0).random(true.shape) < 0.2)
    found = infer(restore_binary(noisy, 0.2, 1.0))
    assert found.certified
    assert (found.labels.reshape(true.shape) != true).sum() < (noisy != true).sum()
    maxflow = pytest.importorskip("maxflow")
    cut = maxflow.Graph[float]()
    nodes = cut.add_grid_nodes(true.shape)
    cut.add_grid_edges(nodes, 1.0, symmetric=True)
    cost = np.log(np.where(noisy, 0.8, 0.2)), np.log(np.where(noisy, 0.2, 0.8))
    cut.add_grid_tedges(nodes, -cost[1], -cost[0])
    n_edges = sum(np.diff(np.indices(true.shape)[k], axis=k).size for k in (0, 1))
    assert abs(n_edges - cut.maxflow() - found.value) < 1e-6


def test_images_agree_with_the_integer_program():
    digits = pytest.importorskip("sklearn.datasets").load_digits().images[:5]
    for seed, digit in enumerate(digits):
        noisy = digit + np.random.default_rng(seed).normal(size=digit.shape, scale=4.0)
        field = restore_grey(noisy, np.arange(0, 17, 4.0), 4.0, 0.2, 8.0)
        found = infer(field, exact=True)
        assert found.certified and abs(solve_program(field, integer=True)[1] - found.value) < 1e-6
