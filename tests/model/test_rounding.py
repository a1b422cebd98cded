"""Rounding of weights: by the definition, nothing else changes, and models compress."""

import zlib

import numpy as np
import pytest
import toy

from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.evaluation.parsing import evaluate_parser
from nonproj.model.model import Model
from nonproj.model.rounding import DEAD, STEPS, WORD_STEPS, WORDS, round_table, rounded
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser


@pytest.fixture(scope="module")
def model(model_of):
    return Model.load(model_of("complete"))


def definition(values, step):
    """The nearest multiple of the step for each weight, one by one; zero for small weights."""
    size = (sum(v * v for v in values if v) / max(sum(1 for v in values if v), 1)) ** 0.5
    unit = step * size
    return [0.0 if abs(v) < DEAD * unit else unit * round(v / unit) for v in values]


@pytest.mark.parametrize("step", [0.1, 0.5, 1.0, 3.0])
def test_a_table_is_rounded_as_defined(step):
    values = np.random.default_rng(3).normal(scale=200, size=500).round()
    values[::7] = 0
    expected = np.array(definition(values.tolist(), step))
    found = round_table(values.astype(np.float32), step)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    whole = round_table(values.astype(np.int16), step)
    assert whole.dtype == np.int16 and np.abs(whole - expected).max() <= 0.5 + 1e-6


def test_tables_without_weights_or_at_the_limit_are_unharmed():
    assert not round_table(np.zeros(10, np.int16), 1.0).any()
    assert round_table(np.empty(0, np.float32), 1.0).size == 0
    limits = np.array([32767, -32768, 32000, 1], np.int16)
    assert np.abs(round_table(limits, 0.9).astype(int) - limits).max() < 0.5 * 0.9 * 32768


def test_types_shapes_and_all_else_remain(model):
    before = {name: table.copy() for name, table in model.weights.items()}
    small = rounded(model, 1.0)
    assert small.meta == model.meta | {"rounding": 1.0} and "rounding" not in model.meta
    assert {"parser", "labeler", "tagger.tagger.weights"} <= STEPS.keys() & model.weights.keys()
    for name, table in small.weights.items():
        assert model.weights[name].tobytes() == before[name].tobytes()
        assert (table.dtype, table.shape) == (before[name].dtype, before[name].shape)
        assert ((name in STEPS or name == WORDS) and before[name].any()) != np.array_equal(table, before[name])
    assert Model.from_bytes(small.to_bytes()).meta["rounding"] == 1.0
    assert rounded(model, 0.0) is model and rounded(small, 0.5) is small
    assert rounded(small, 1.0) is small, "its steps would be other ones"


@pytest.mark.parametrize("context", [0, 4])
def test_rows_of_words_are_rounded_by_their_use(context):
    small = {"network.size": 8, "network.context": context, "network.epochs": 2, "training.epochs": 1}
    model = train(toy.sentences(30), Config().with_overrides(toy.FROM_GOLD_TAGS | small))
    table, step = model.weights[WORDS], WORD_STEPS[1 if context else 0]
    assert table.any() and table.shape[1] == (context or 16)
    expected = np.reshape(definition(table.ravel().astype(float).tolist(), step), table.shape)
    expected = expected.clip(-32768, 32767)  # what has 16 bits
    assert np.abs(rounded(model, 1.0).weights[WORDS] - expected).max() <= 0.5 + 1e-6


def test_a_rounded_model_is_smaller_and_nearly_as_accurate(model):
    sizes, scores, held_out = [], [], toy.sentences(50, seed=7)
    for each in (model, rounded(model, 1.0)):
        tables = [each.weights[name].tobytes() for name in (*STEPS, WORDS) if name in each.weights]
        sizes.append(sum(len(zlib.compress(table)) for table in tables))
        scores.append(evaluate_parser(Parser(each, tags="all"), held_out).as_dict()["with_punctuation"]["las"])
    assert sizes[1] < 0.6 * sizes[0]
    assert abs(scores[1] - scores[0]) < 0.05


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_senseless_amounts_are_refused(model, amount):
    with pytest.raises(ValueError, match="amount"):
        rounded(model, amount)


def test_a_rounded_model_cannot_be_taken_for_a_checkpoint(model, tmp_path):
    rounded(model, 2.0).save(tmp_path / "small.nonproj")
    assert Model.load_trained(tmp_path / "small.nonproj").is_trained
    (tmp_path / "cut.nonproj").write_bytes((tmp_path / "small.nonproj").read_bytes()[:-5])
    with pytest.raises(ModelError):
        Model.load_trained(tmp_path / "cut.nonproj")
