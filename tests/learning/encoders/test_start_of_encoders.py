"""An encoder of a model, from which another one is fine-tuned."""

import numpy as np
import pytest
from fine_tuning import options
from toy import treebank

from nonproj.cli.main import main
from nonproj.components.parser import ParserComponent
from nonproj.components.trainer import train
from nonproj.evaluation.card import model_card
from nonproj.io.copies import with_rows
from nonproj.learning.corpus import RELATED, Auxiliary
from nonproj.learning.encoders.module import Bert
from nonproj.learning.encoders.start import TrainedLayers, read_start
from nonproj.learning.related_gain import RelatedGain
from nonproj.scoring.encoders.heads import sizes_of
from nonproj.scoring.encoders.scorer import EncoderScorer, numbers_of
from nonproj.tagging.tagset import TagSet

TAGGER = {"tagger__epochs": 1, "tagger__network_epochs": 0, "tagger__folds": 2, "tagger__restarts": 1}


@pytest.fixture(scope="module")
def first(folder, sentences, tmp_path_factory):
    """The file of a model that has learnt from the first half of the sentences."""
    path = tmp_path_factory.mktemp("model") / "first.nonproj"
    train(sentences[:30], options(folder, **TAGGER)).save(path)
    return path


def losses(caplog):
    """The losses of the first epoch of encoders, in the order of the log."""
    found = [message for message in caplog.messages if message.startswith("encoder, epoch 1:")]
    return [float(message.rpartition("heads ")[2].partition(",")[0]) for message in found]


def test_layers_for_other_labels_and_tags():
    """Labels and parts of tags are found by name; a new label is the one without a subtype, or the mean of all."""
    rng = np.random.default_rng(0)
    before = TagSet([("NOUN", "a", "Case=Acc"), ("NOUN", "a", "Case=Nom"), ("VERB", "b", "_")])
    after = TagSet([("VERB", "c", "_"), ("NOUN", "c", "Case=Gen"), ("NOUN", "c", "Case=Nom"), ("X", "_", "_")])
    heads = {name: rng.normal(size=shape) for name, shape in sizes_of(4, 3).items()}
    of_tags = {"tag_in": np.ones(2), "tag_output": rng.normal(size=(before.n_units, 2)).astype(np.float32)}
    layers = TrainedLayers(heads, ["nsubj", "obj", "root"], of_tags, before)
    found = layers.for_labels(["root", "obj:x", "new"])
    for names, axis in (("product weight", 0), ("head_weight modifier_weight", 1)):
        for name in (f"label_{each}" for each in names.split()):
            old, new = np.moveaxis(heads[name], axis, 0), np.moveaxis(found[name], axis, 0)
            np.testing.assert_array_equal(new[:2], old[[2, 1]])
            np.testing.assert_allclose(new[2], old.mean(axis=0))
    assert found["arc_product"] is heads["arc_product"]
    rows, old = layers.for_tags(after)["tag_output"], of_tags["tag_output"]
    for name in (("upos", "NOUN"), ("upos", "VERB"), ("feature", "Case=Nom")):
        np.testing.assert_array_equal(rows[after.named[name]], old[before.named[name]])
    assert not rows[[after.named["feature", "Case=Gen"], after.named["upos", "X"]]].any()


def test_what_was_learnt_is_where_fine_tuning_starts(folder, sentences, first, caplog):
    start, layers, model = read_start(first)
    scorer = model.loaded(EncoderScorer, len(model.labels))
    bert = Bert(start.architecture, start.arrays, 0.0)
    np.testing.assert_allclose(bert.arrays()["mix"], scorer.encoder.arrays["mix"], rtol=1e-5)
    original = read_start(folder)[0]
    assert (start.arrays["words"].shape, start.licence) == (original.arrays["words"].shape, "mit")
    assert np.abs(start.arrays["attention"] - original.arrays["attention"]).max() > 0.0
    with caplog.at_level("INFO", "nonproj"):
        for place in (folder, first):
            found = train(sentences[30:], options(place, **TAGGER))
    untrained, trained = losses(caplog)
    assert trained < 0.5 * untrained
    card = model_card("a.nonproj", found.describe(), 1)
    assert "first.nonproj (bert), licence: mit; fine-tuned on not named (licence unknown): the strictest" in card
    assert layers.tags.tags
    learnt = found.loaded(EncoderScorer, len(found.labels)).learnt
    assert set(learnt.tolist()) == set(numbers_of(sentence.forms for sentence in sentences).tolist())


def test_confidence_is_not_learnt_from_sentences_that_the_encoder_knows(folder, sentences, first, caplog):
    with caplog.at_level("INFO", "nonproj"):
        train(sentences[:30], options(first, confidence__share=0.5, **TAGGER))
    assert "15 held-out sentences are left out: the encoder has learnt from them" in caplog.messages
    assert "no confidence: 0 held-out words, 500 are needed" in caplog.messages


@pytest.mark.parametrize("helps", [True, False])
def test_the_encoder_learns_from_related_treebanks_whose_heads_help(folder, sentences, helps, monkeypatch):
    """In the labels of the treebank, with the tags that people gave, not with predicted ones."""
    monkeypatch.setattr(ParserComponent, "compare", lambda *_: RelatedGain(0.5, 0.5 + 0.1 * helps, 0.05))
    related = [with_rows(s, [[*row[:7], row[7] + ":x", *row[8:]] for row in s.rows]) for s in sentences[30:]]
    config = options(folder, training__tags="predicted", **TAGGER)
    model = train(sentences[:30], config, auxiliary=Auxiliary(related, RELATED))
    assert not any(label.endswith(":x") for label in model.labels)
    learnt = model.loaded(EncoderScorer, len(model.labels)).learnt
    expected = sentences if helps else sentences[:30]
    assert set(learnt.tolist()) == set(numbers_of(sentence.forms for sentence in expected).tolist())


def test_a_model_without_an_encoder_is_refused(model_of, tmp_path, capsys):
    path, source = model_of("small"), tmp_path / "a.conll"
    source.write_text(treebank(10), encoding="utf-8")
    assert main(["train", str(source), "-o", str(tmp_path / "b"), "--encoder", str(path)]) == 2
    assert f"{path}: a model without a pretrained encoder" in capsys.readouterr().err
