"""Forged checkpoints: training resumes from them as from its own, or refuses them in one line."""

import dataclasses
import shutil

import numpy as np
import pytest
import toy
from further import weights_of

import nonproj
from nonproj.cli.main import main
from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.model.model import Model
from nonproj.options.config import Config

SMALL = {"parts": "sibling", "features.bits": 10, "pruner.bits": 10, "labeler.bits": 12, "training.epochs": 2}
OPTIONS = Config().with_overrides(toy.QUICK | SMALL | {"pruner.folds": 0, "labeler.epochs": 1})
SENTENCES = toy.sentences(8)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The path of a checkpoint after the first of two epochs."""
    path = tmp_path_factory.mktemp("original") / "a.checkpoint"
    train(SENTENCES, OPTIONS.with_overrides({"training.epochs": 1}), run=RunOptions(checkpoint=path))
    return path


@pytest.fixture
def checkpoint(original, tmp_path):
    """The path of a copy of that checkpoint, to be forged."""
    return shutil.copy(original, tmp_path / "a.checkpoint")


def forged(name, change=None):
    """Return a forgery of one array, which is removed, or changed by a function that may return another."""

    def forge(saved):
        array = np.array(saved.weights.pop(name))
        if change:
            found = change(array)
            saved.weights[name] = array if found is None else found

    return forge


STEPS, ARCS = "its number of steps is not that of its epochs", "its arcs are wrong"
TOTAL, WEIGHTS = "unfinished.total", "unfinished.weights"

FORGERIES = {
    STEPS: [
        *(lambda saved, step=step: saved.components["unfinished"].update(step=step) for step in ("x", 0, True)),
        lambda saved: saved.components["unfinished"].pop("step"),
        lambda saved: saved.meta.update(log=[{}] * 9),
        lambda saved: saved.meta.pop("log"),
    ],
    ARCS: [
        *(forged("arcs", change) for change in (lambda a: a[:0], lambda a: np.repeat(a, 2, 0))),
        *(forged("arcs", change) for change in (lambda a: a.put(1, 1 << 30), lambda a: a.put(2, -5))),
    ],
    f"{ARCS}: sentence 1 lacks some of its gold tree": [forged("arcs", lambda a: a[a[:, 0] != 0])],
    f"{ARCS}: they are not in the order of the sentences": [
        *(forged("arcs", change) for change in (lambda a: a[::-1], lambda a: a.put(0, -1), lambda a: a.put(-3, 8))),
    ],
    f"{ARCS}: three columns of integers are expected": [
        *(forged("arcs", change) for change in (lambda a: a[:, :2], np.float64, None)),
    ],
    "some weights of 'total' are too large": [
        *(forged(TOTAL, lambda a, number=number: a.put(7, number)) for number in (1e300, np.nan)),
    ],
    "some weights of 'weights' are too large": [forged(WEIGHTS, lambda a: a.put(7, -3e38))],
    "the weights of 'total' are not a table of 1024 numbers": [
        *(forged(TOTAL, change) for change in (np.float32, lambda a: a[:512], None)),
    ],
    "the weights of 'pruner' are not a table of 1024": [forged("pruner", lambda a: np.tile(a, 2))],
    "the weights of 'labeler' are not a table of 4096": [forged("labeler", np.int16), forged("labeler")],
    "it has the tags of other sentences": [forged("tag_columns", lambda a: a[:-4]), forged("tag_columns")],
    "the component 'tagger' has 'tagger.weights', which is not": [lambda saved: saved.components["tagger"].clear()],
    "a scale of the network is not a number": [lambda saved: saved.components["network"].update(scale=-1.0)],
}


@pytest.mark.parametrize("message", FORGERIES)
def test_forgeries_are_refused_in_one_line(original, checkpoint, message):
    for forge in FORGERIES[message]:
        saved = Model.load(original, mmap=False)
        forge(saved)
        saved.save(checkpoint)
        with pytest.raises(ModelError) as caught:
            train(SENTENCES, OPTIONS, run=RunOptions(checkpoint=checkpoint, resume=True))
        assert str(caught.value).startswith(f"{checkpoint}: cannot be resumed from: {message}")
        assert str(caught.value).isprintable() and len(str(caught.value)) < 500


def test_a_checkpoint_is_described_but_parses_nothing(checkpoint, capsys):
    assert main(["inspect", str(checkpoint)]) == 0
    described = f"{checkpoint}: a checkpoint of the training of a model of arc"
    assert capsys.readouterr().out.startswith(described)
    for load in (nonproj.load, nonproj.DependencyParser.load):
        with pytest.raises(ModelError, match=f"^{checkpoint}: a checkpoint, not a model; finish it"):
            load(checkpoint)


@pytest.fixture(scope="module")
def whole():
    """The model of a training that was not interrupted."""
    return train(SENTENCES, OPTIONS)


@pytest.mark.parametrize("done", ["segmenter", {}, {"confidence": True}, {"segmenter": False, "parser": True}])
def test_only_the_stages_that_come_first_are_taken_from_a_checkpoint(checkpoint, whole, done):
    """Training begins with the first stage that is missing."""
    saved = Model.load(checkpoint, mmap=False)
    saved.meta["done"] = done
    saved.save(checkpoint)
    resumed = train(SENTENCES, OPTIONS, run=RunOptions(checkpoint=checkpoint, resume=True))
    assert weights_of(resumed) == weights_of(whole)


def test_what_follows_from_sentences_and_options_is_not_taken_from_a_checkpoint(checkpoint, whole):
    """Labels, vocabularies, templates and metadata of a forged checkpoint have no effect."""
    saved = Model.load(checkpoint, mmap=False)
    vocabularies = {name: strings[::-1] for name, strings in saved.vocabularies.items()}
    meta = saved.meta | {"multi_root": True, "projective": True, "interrupted": True, "words": -1, "x": "y"}
    dataclasses.replace(saved, labels=["x"], vocabularies=vocabularies, meta=meta).save(checkpoint)
    resumed = train(SENTENCES, OPTIONS, run=RunOptions(checkpoint=checkpoint, resume=True))
    assert (resumed.labels, resumed.vocabularies, resumed.meta) == (whole.labels, whole.vocabularies, whole.meta)
    assert weights_of(resumed) == weights_of(whole)
