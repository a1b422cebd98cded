"""The forward and backward pass that all networks share, against their naive twin and finite differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from instances import seeds
from naive_network import in_training, slope_at, sums_of_rows

from nonproj.networks.context_learning import ContextLayers
from nonproj.networks.hyperparameters import TAGS
from nonproj.networks.projection import Projection
from nonproj.networks.rows import AdaGrad, SparseRows, spread_rows
from nonproj.networks.training import LEAST, Dropout, HiddenLayers, NetworkInputs, softmax_loss

UNITS = 2


class Drawn:
    """A small network of random weights, its inputs, and a weight of each hidden unit in what is differentiated."""

    def __init__(self, seed, with_context, with_alone, with_vectors):
        self.rng = rng = np.random.default_rng(seed)
        width, n_words, hyper = 4, 7, replace(TAGS, width=4, layers=2)
        context = ContextLayers(hyper, 2 * UNITS, rng) if with_context else None
        projection = Projection(5, hyper, rng) if with_vectors else None
        alone = self._normal(width, 3 * UNITS) if with_alone else None
        self.layers = HiddenLayers(AdaGrad(self._normal(6, width), 0.1), context, alone, projection)
        self.more = self._normal(3, UNITS)
        n_rows = n_words * (2 + 3 * with_alone) + 3
        bounds = np.array([1, 1, 4, 7], np.int32)  # one word before all sentences, and a sentence without words
        words, items = self._rows(n_words, 6), self._rows(8, n_rows)
        self.inputs = NetworkInputs(words, (bounds[:-1], bounds[1:]), items, self._normal(n_words, 5))
        units = rng.integers(0, 3, (8, UNITS)).astype(np.float32)
        self.dropout = Dropout(context.draw() if context else None, units)
        self.weights = rng.normal(size=(8, UNITS))

    def _normal(self, *shape):
        return self.rng.normal(size=shape).astype(np.float32)

    def _rows(self, n_items, n_rows):
        """Three rows of each item, of which some are left out."""
        rows = SparseRows.of_table(self.rng.integers(0, n_rows, (n_items, 3)))
        return rows.scaled((self.rng.random(len(rows.row)) < 0.8).astype(np.float32))

    def tables(self):
        """All weights: rows, what belongs to no word, that of words alone, projection, layers in context."""
        layers = self.layers
        found = {"rows": layers.rows.table, "more": self.more}
        found |= {} if layers.alone is None else {"alone": layers.alone}
        found |= {} if layers.projection is None else {"matrix": layers.projection.matrix}
        found |= {} if layers.context is None else {f"context {i}": t for i, t in enumerate(layers.context.tables)}
        return found

    def value(self, tables):
        """The hidden layers by their definition, in float64, times their weights."""
        vectors = sums_of_rows(self.inputs.words, tables["rows"])
        if "matrix" in tables:
            vectors = [v + own @ tables["matrix"] for v, own in zip(vectors, self.inputs.vectors, strict=True)]
        sums = [vector.tolist() for vector in vectors]
        if "context 0" in tables:
            a, b, c, d, e = (tables[f"context {i}"].tolist() for i in range(5))
            sums = [[0.0] * 2 * UNITS for _ in vectors]
            units = self.dropout.context.tolist()
            for first, end in zip(*self.inputs.sentences, strict=True):
                sums[first:end] = in_training(vectors[first:end], ((a, b), (c, d), e), units)
        rows = np.reshape(sums, (-1, UNITS)).tolist()
        if "alone" in tables:
            rows += np.reshape([vector @ tables["alone"] for vector in vectors], (-1, UNITS)).tolist()
        hidden = np.maximum(sums_of_rows(self.inputs.items, np.array(rows + tables["more"].tolist())), 0.0)
        return float((hidden * self.dropout.units * self.weights).sum())


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("with_alone", [False, True])
@pytest.mark.parametrize("with_context", [False, True])
@pytest.mark.parametrize("seed", seeds(3, least=1))
def test_gradients_are_finite_differences_of_the_definition(seed, with_context, with_alone, with_vectors):
    drawn = Drawn(seed, with_context, with_alone, with_vectors)
    if with_context:  # items of the word before all sentences would depend on what no sentence defines
        inside = (drawn.inputs.items.row >= 2).astype(np.float32)
        drawn.inputs = drawn.inputs._replace(items=drawn.inputs.items.scaled(inside))
    tables = {name: table.astype(float) for name, table in drawn.tables().items()}
    layer, passed = drawn.layers.forward(drawn.inputs, drawn.dropout, drawn.more)
    assert float((layer * drawn.weights).sum()) == pytest.approx(drawn.value(tables), abs=1e-3)
    found = drawn.layers.backward(drawn.weights.astype(np.float32), passed)
    wanted = {"rows": spread_rows(drawn.inputs.words, found.vectors, 6), "more": found.more, "alone": found.alone}
    if with_vectors:
        wanted["matrix"] = drawn.layers.projection.gradient(drawn.inputs.vectors, found.vectors)
    wanted |= {f"context {i}": each for i, each in enumerate(found.context if with_context else ())}
    compared = 0
    for name, table in tables.items():
        for place in drawn.rng.permutation(np.argwhere(np.ones(table.shape)))[:16].tolist():
            slope = slope_at(table, tuple(place), lambda: drawn.value(tables))
            assert wanted[name][tuple(place)] == pytest.approx(slope, rel=1e-3, abs=2e-3), (name, place)
            compared += slope != 0.0
    assert compared > 5


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_classes_is_minus_the_log_probability_of_the_gold_ones(seed):
    rng = np.random.default_rng(seed)
    scores, gold = rng.normal(0.0, 20.0, (6, 4)).astype(np.float32), rng.integers(-1, 4, 6)
    loss, wrong, gradient = softmax_loss(scores, gold)
    expected = 0.0
    for row, number, found in zip(scores.astype(float), gold, gradient, strict=True):
        odds = [math.exp(x - row.max()) for x in row]
        expected -= math.log(odds[number] / sum(odds)) if number >= 0 else 0.0
        differences = [(number == k) - x / sum(odds) if number >= 0 else 0.0 for k, x in enumerate(odds)]
        np.testing.assert_allclose(found, differences, atol=1e-6)
    assert not ((gradient != 0) & (abs(gradient) < LEAST)).any()
    assert loss == pytest.approx(expected, rel=1e-5)
    assert wrong == sum(int(row.argmax()) != number for row, number in zip(scores, gold, strict=True))
