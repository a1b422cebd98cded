"""Components of a model: their protocol, cross-fitting, and a stranger's state."""

import numpy as np
import pytest
import toy
from further import weights_of
from word_classes import WordClasses

from nonproj.components.base import FitContext, RunOptions, check_order, jackknife
from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.io.copies import with_misc
from nonproj.learning.corpus import Corpus
from nonproj.linear.folds import blocks, cross_fit
from nonproj.linear.state import KNOWN, Schema, check_state, load
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser

CONFIG = Config().with_overrides(
    toy.FROM_GOLD_TAGS | {"parts": ["arc"], "training.epochs": 1, "network.epochs": 0, "labeler.epochs": 1}
)


class Initial(WordClasses):
    """The first letter of each word, as an attribute of MISC."""

    name, misc, absent = "initial", "Initial", True
    templates = ("w.first",)
    attributes = {"first": lambda row: row[1][:1]}


class Second(WordClasses):
    """A component that needs another."""

    name, needs, misc = "second", ("initial",), "Second"
    templates, attributes = ("w.form",), {"form": lambda row: row[1]}


@pytest.fixture(name="sentences")
def fixture_sentences():
    """Return sentences in which words that begin with a certain letter have the attribute."""
    return [
        with_misc(sentence, [{"Initial": form[0] if form[0] < "n" else None} for form in sentence.forms])
        for sentence in toy.sentences(40)
    ]


@pytest.fixture(name="known", autouse=True)
def fixture_known():
    """Forget what a test registers."""
    before = dict(KNOWN)
    yield
    KNOWN.clear()
    KNOWN.update(before)


def test_a_component_is_trained_stored_loaded_and_applied(sentences, tmp_path):
    train(sentences, CONFIG, components=[Initial]).save(tmp_path / "m")
    parser = Parser(Model.load(tmp_path / "m"))
    plain = [with_misc(s, [{"Initial": None}] * len(s)) for s in sentences]
    tagged = [sentence for sentence, _ in parser.parse_all(plain)]
    assert Initial.accuracy(sentences, tagged) == 1.0
    assert "".join(tagged[0].lines) == "".join(sentences[0].lines)
    KNOWN.clear()
    with pytest.raises(ModelError, match="unknown component 'initial'; import the module that registers it"):
        Model.load(tmp_path / "m")


def test_a_component_without_anything_to_learn_is_not_stored_and_changes_nothing(sentences):
    context = FitContext(CONFIG)
    nothing = Second.fit(Corpus(sentences), context)
    assert nothing.state() is None and nothing.apply(sentences) == sentences
    assert jackknife(Second, Corpus(sentences), context, 2, overwrite=True) == sentences
    assert context.with_fitted(Second.name, nothing).fitted_as(Second) is None


def test_jackknifed_predictions_are_those_of_the_other_folds(sentences):
    context, fold = FitContext(CONFIG), blocks(len(sentences), 4)
    found = jackknife(Initial, Corpus(sentences), context, 4)
    for number in range(4):
        rest = Initial.fit(Corpus([s for s, f in zip(sentences, fold, strict=True) if f != number]), context)
        for i in np.flatnonzero(fold == number):
            assert found[i].rows == rest.apply([sentences[i]])[0].rows


def test_cross_fitting_uses_everything_where_there_is_one_fold():
    assert cross_fit(np.zeros(3, int), lambda rest: rest.tolist(), lambda model, inside: [model] * 3) == [[0, 1, 2]] * 3


def test_what_a_component_needs_comes_before_it(sentences):
    check_order([Initial, Second])
    with pytest.raises(ValueError, match="there is a component named initial already"):
        check_order([Initial, Initial])
    with pytest.raises(ValueError, match="the component second needs initial, which does not come before it"):
        train(sentences, CONFIG, components=[Second])
    late = type("Late", (Initial,), {"name": "late", "needs": ("confidence",)})
    with pytest.raises(ValueError, match="the component late needs confidence, which does not come before it"):
        train(sentences, CONFIG, components=[late])


def test_a_component_gets_what_it_needs(sentences):
    """The tagger comes before the components of others, with the tags that it predicts in cross-fitting."""
    found = {}

    class Third(Initial):
        name, needs = "third", ("tagger",)

        @classmethod
        def fit(cls, corpus, context):
            found.update(tagger=context.fitted["tagger"], tags=corpus.tagged)
            return super().fit(corpus, context)

    config = CONFIG.with_overrides({"tagger.epochs": 1, "tagger.network_epochs": 1, "training.tags": "predicted"})
    model = train(sentences, config, components=[Third])
    assert found["tagger"].columns == Parser(model).loaded.analyzer.columns
    assert [len(sentence) for sentence in found["tags"]] == [len(sentence) for sentence in sentences]


@pytest.mark.thorough
def test_training_resumes_with_components_that_are_not_registered_yet(sentences, tmp_path):
    config, path = CONFIG.with_overrides({"training.epochs": 2}), tmp_path / "checkpoint"
    whole = train(sentences, config, components=[Initial])
    train(sentences, CONFIG, components=[Initial], run=RunOptions(checkpoint=path))
    KNOWN.clear()
    resumed = train(sentences, config, components=[Initial], run=RunOptions(checkpoint=path, resume=True))
    assert resumed.components == whole.components and weights_of(resumed) == weights_of(whole)


DAMAGES = [
    (lambda v, a: ([], a), "is not a record"),
    (lambda v, a: (v | {"more": 1}, a), "has 'more', which is not its own"),
    (lambda v, a: (v, {"weights": a["weights"][:-1]}), "power of two"),
    (lambda v, a: ({"classes": [1]}, a), "a list of strings expected"),
    (lambda v, a: ({"classes": []}, a), "has 0 classes; 1 to 256 are expected"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGES)
def test_a_damaged_state_is_refused_in_one_line(sentences, change, message):
    component = Initial.fit(Corpus(sentences), FitContext(Config()))
    with pytest.raises(ModelError) as caught:
        load(Initial, change(*component.state()))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_schema_can_allow_several_types():
    check_state(({"limit": 1}, {}), Schema({"limit": (int, float)}, {}), "it")
    with pytest.raises(ModelError, match="it has no 'limit' of type int or float"):
        check_state(({"limit": "1"}, {}), Schema({"limit": (int, float)}, {}), "it")


PARTS = Schema(
    {"bits": int, "part": Schema({"scale": float}, {"table": ("float64", 1)})},
    {"rows": ("int16", "rows width"), "bias": ("float32", "width"), "matrix": ("float32", "3 * width")},
    [Schema({"threshold": float}, {"more": ("uint8", 1)}, [Schema({}, {"last": ("uint8", 1)})])],
)


def parts():
    """A state of `PARTS`."""
    arrays = {"rows": np.zeros((5, 2), np.int16), "bias": np.zeros(2, np.float32), "part.table": np.zeros(4)}
    return {"bits": 1, "part": {"scale": 1.0}}, arrays | {"matrix": np.zeros((3, 7, 2), np.float32)}


BYTE, SHAPE, ESCAPED = np.zeros(1, np.uint8), "of float32 with shape", "\\x1b[2J" * 10


@pytest.mark.parametrize("more", [{}, {"more": BYTE}, {"more": BYTE, "last": BYTE}])
def test_a_state_may_have_optional_parts_each_within_the_one_before(more):
    values, arrays = parts()
    check_state((values | ({"threshold": 0.5} if more else {}), arrays | more), PARTS, "it")


WRONG_STATES = [
    ({}, {"last": BYTE}, "it has 'last', which is not its own"),
    ({"threshold": 0.5}, {}, "it has no array 'more' of uint8 with shape (*)"),
    ({}, {"more": BYTE}, "it has no 'threshold' of type float"),
    ({}, {"rows": np.zeros((5, 3), np.int16)}, f"it has no array 'bias' {SHAPE} (width = 3)"),
    ({}, {"rows": np.zeros(5, np.int16)}, "it has no array 'rows' of int16 with shape (rows, width)"),
    ({}, {"bias": np.zeros(3, np.float32)}, f"it has no array 'bias' {SHAPE} (width = 2)"),
    ({}, {"matrix": np.zeros((2, 7, 2), np.float32)}, f"it has no array 'matrix' {SHAPE} (3, *, width = 2)"),
    ({}, {"matrix": np.zeros((3, 7, 2))}, f"it has no array 'matrix' {SHAPE} (3, *, width = 2)"),
    ({}, {"part.table": np.zeros(4, "f4")}, "the 'part' of it has no array 'table' of float64 with shape (*)"),
    ({}, {"part.more": np.zeros(4)}, "the 'part' of it has 'more', which is not its own"),
    ({}, {"parts.table": np.zeros(4)}, "it has 'parts.table', which is not its own"),
    ({}, {"\x1b[2J" * 1000: np.zeros(4)}, f"it has '{ESCAPED}', which is not its own"),
    ({"part": None}, {}, "the 'part' of it is not a record"),
    ({"part": []}, {}, "the 'part' of it is not a record"),
    ({"part": {}}, {}, "the 'part' of it has no 'scale' of type float"),
    ({"part": {"scale": 1}}, {}, "the 'part' of it has no 'scale' of type float"),
    ({"part": {"scale": 1.0, "x" * 10**6: 1}}, {}, f"the 'part' of it has '{'x' * 40}', which is not its own"),
]


@pytest.mark.parametrize(("values", "arrays", "message"), WRONG_STATES)
def test_a_state_obeys_its_schema_and_its_arrays_fit_each_other(values, arrays, message):
    own = parts()
    with pytest.raises(ModelError) as caught:
        check_state((own[0] | values, own[1] | arrays), PARTS, "it")
    assert str(caught.value) == message
