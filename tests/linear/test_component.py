"""Components of a model: their protocol, cross-fitting, and a stranger's state."""

from __future__ import annotations

import io

import numpy as np
import pytest
from toy import treebank

from nonproj.errors import ModelError
from nonproj.io import conll
from nonproj.learning.trainer import train
from nonproj.linear.component import (
    KNOWN,
    Schema,
    Setting,
    blocks,
    check_order,
    check_state,
    cross_fit,
    jackknife,
    load,
)
from nonproj.linear.word_classes import WordClasses
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser

SMALL = {"parts": ["arc"], "features.bits": 12, "pruner.bits": 12, "labeler.bits": 16, "training.epochs": 1}
SMALL |= {"network.epochs": 0, "confidence.share": 0.0, "segmenter.epochs": 0, "tagger.epochs": 0}


class Initial(WordClasses):
    """The first letter of each word, as an attribute of MISC."""

    name, misc, absent = "initial", "Initial", True
    templates = ("w.first", "w-1.first")
    attributes = {"first": lambda row: row[1][:1]}


class Second(WordClasses):
    """A component that needs another."""

    name, needs, misc, templates, attributes = (
        "second",
        ("initial",),
        "Second",
        ("w.form",),
        {"form": lambda row: row[1]},
    )


@pytest.fixture(name="sentences")
def fixture_sentences():
    """Return sentences in which words that begin with a certain letter have the attribute."""
    found = []
    for sentence in conll.read(io.StringIO(treebank(40, 0))):
        values = [{"Initial": form[0] if form[0] < "n" else None} for form in sentence.forms]
        found.append(conll.with_misc(sentence, values))
    return found


@pytest.fixture(name="known", autouse=True)
def fixture_known():
    """Forget what a test registers."""
    before = dict(KNOWN)
    yield
    KNOWN.clear()
    KNOWN.update(before)


def test_a_component_is_trained_stored_loaded_and_applied(sentences, tmp_path):
    config = Config().with_overrides(SMALL)
    train(sentences, config, components=[Initial]).save(tmp_path / "m")
    parser = Parser(Model.load(tmp_path / "m"))
    plain = [conll.with_misc(s, [{"Initial": None}] * len(s)) for s in sentences]
    tagged = [sentence for sentence, _ in parser.parse_all(plain)]
    assert Initial.accuracy(sentences, tagged) == 1.0
    assert "".join(tagged[0].lines) == "".join(sentences[0].lines)
    KNOWN.clear()
    with pytest.raises(ModelError, match="unknown component 'initial'; import the module that registers it"):
        Model.load(tmp_path / "m")


def test_jackknifed_predictions_are_those_of_the_other_folds(sentences):
    config = Config()
    found = jackknife(Initial, sentences, Setting(config), 4)
    fold = blocks(len(sentences), 4)
    for number in range(4):
        rest = Initial.fit([s for s, f in zip(sentences, fold, strict=True) if f != number], Setting(config))
        for i in np.flatnonzero(fold == number):
            assert found[i].rows == rest.apply([sentences[i]])[0].rows


def test_cross_fitting_uses_everything_where_there_is_one_fold():
    assert cross_fit(np.zeros(3, int), lambda rest: rest.tolist(), lambda model, inside: [model] * 3) == [[0, 1, 2]] * 3


def test_what_a_component_needs_comes_before_it(sentences):
    check_order([Initial, Second])
    with pytest.raises(ValueError, match="the component second needs initial, which does not come before it"):
        check_order([Second, Initial])
    with pytest.raises(ValueError, match="there is a component named initial already"):
        check_order([Initial, Initial])
    with pytest.raises(ValueError, match="the component second needs initial, which does not come before it"):
        train(sentences, Config().with_overrides(SMALL), components=[Second])


def test_a_component_gets_what_it_needs(sentences):
    """The tagger comes before the components of others, with the tags that it predicts in cross-fitting."""
    found = {}

    class Third(Initial):
        name, needs = "third", ("tagger",)

        @classmethod
        def fit(cls, sentences, setting):
            found.update(tagger=setting.fitted["tagger"], tags=setting.predicted["tagger"])
            return super().fit(sentences, setting)

    config = Config().with_overrides(SMALL | {"tagger.epochs": 1, "training.tags": "predicted"})
    model = train(sentences, config, components=[Third])
    assert found["tagger"].columns == Parser(model).analyzer.columns
    assert [len(sentence) for sentence in found["tags"]] == [len(sentence) for sentence in sentences]
    late = type("Late", (Initial,), {"name": "late", "needs": ("confidence",)})
    with pytest.raises(ValueError, match="the component late needs confidence, which does not come before it"):
        train(sentences, config, components=[late])


def test_training_resumes_with_components_that_are_not_registered_yet(sentences, tmp_path):
    config, path = Config().with_overrides(SMALL | {"training.epochs": 2}), tmp_path / "checkpoint"
    whole = train(sentences, config, components=[Initial])
    train(sentences, config.with_overrides({"training.epochs": 1}), components=[Initial], checkpoint=path)
    KNOWN.clear()
    resumed = train(sentences, config, components=[Initial], checkpoint=path, resume=True)
    assert resumed.components == whole.components
    assert resumed.weights.keys() == whole.weights.keys()
    assert all((resumed.weights[name] == table).all() for name, table in whole.weights.items())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v, a: ([], a), "has no values"),
        (lambda v, a: ({}, a), "has no 'classes' of type list"),
        (lambda v, a: (v | {"more": 1}, a), "has a 'more'"),
        (lambda v, a: (v, {}), "has no array 'weights' of int16 with 1 dimensions"),
        (lambda v, a: (v, {"weights": a["weights"].astype(np.int32)}), "has no array 'weights' of int16"),
        (lambda v, a: (v, {"weights": a["weights"][:-1]}), "power of two"),
        (lambda v, a: (v, a | {"more": a["weights"]}), "has an array 'more', which is not its own"),
        (lambda v, a: ({"classes": [1]}, a), "a list of strings expected"),
        (lambda v, a: ({"classes": []}, a), "has 0 classes; 1 to 256 are expected"),
    ],
)
def test_a_damaged_state_is_refused_in_one_line(sentences, change, message):
    component = Initial.fit(sentences, Setting(Config()))
    with pytest.raises(ModelError) as caught:
        load(Initial, change(*component.state()))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_schema_can_allow_several_types():
    check_state(({"limit": 1}, {}), Schema({"limit": (int, float)}, {}), "it")
    with pytest.raises(ModelError, match="it has no 'limit' of type int or float"):
        check_state(({"limit": "1"}, {}), Schema({"limit": (int, float)}, {}), "it")
