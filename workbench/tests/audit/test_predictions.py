"""Predictions of a model for annotated sentences, and their form between processes."""

import json

import pytest

from nonproj_workbench.audit.predictions import Prediction, as_json, from_json

PREDICTION = Prediction(
    heads=[2, 0],
    labels=["nsubj", "root"],
    head_confidence=[0.9, 0.9],
    label_confidence=None,
    differences=[None, 1.5],
    certified=[False, True],
    label_margins=[0.0, 2.0],
    best_labels=["nsubj", "root"],
    tags=[("PRON", "P", "_"), ("VERB", "V", "Tense=Pres")],
    tag_margins=[5.0, 5.0],
    lemmas=["du", "se"],
    lemma_counts=[(1, 1), (9, 0)],
)


def test_predictions_survive_json_and_forgeries_are_recognised():
    values = json.loads(json.dumps(as_json(PREDICTION)))
    assert from_json(values, 2) == PREDICTION
    forged = [values | {"heads": [1]}, values | {"new": 1}, {}, values | {"label_margins": [float("nan"), 0.0]}]
    for each in [*forged, values | {"tags": [["a"], ["b"]]}]:
        with pytest.raises(ValueError):
            from_json(each, 2)
