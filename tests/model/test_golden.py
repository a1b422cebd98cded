"""A stored model file: its results, to the last digit of its scores, must not change unnoticed."""

import json
from pathlib import Path

import pytest
from golden.make import FOLDER, RUNS, parse

from nonproj.model.model import Model

AGAIN = "the golden model's output has changed; if that is intended, make it again by: python tests/golden/make.py"


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("kind", ["conll", "jsonl"])
def test_the_golden_model_parses_as_it_did(name, kind, tmp_path):
    """Trees, labels, scores, bounds and iterations are those stored with the model."""
    parse(name, tmp_path)
    file = f"{name}.{kind}"
    assert (tmp_path / file).read_bytes() == (FOLDER / file).read_bytes(), AGAIN


def test_the_golden_model_is_small_and_its_sentences_are_hard():
    """Otherwise equal output would say little: there are iterations, open gaps, unknown words and many features."""
    model = Model.load(FOLDER / "model.nonproj")
    assert Path(FOLDER / "model.nonproj").stat().st_size < 100_000
    assert len(model.vocabularies["feat"]) > 5
    assert all(values.any() for values in model.weights.values())
    facts = {name: [json.loads(line) for line in (FOLDER / f"{name}.jsonl").open()] for name in RUNS}
    assert {len(listed) for listed in facts.values()} == {20}
    assert sum(fact["iterations"] > 10 for fact in facts["pruned"]) >= 5
    assert any(fact["gap"] > 1 for fact in facts["projective"])
    assert all(fact["full"] for fact in facts["full"])
