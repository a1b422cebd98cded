"""Training on automatically parsed sentences beside those of a treebank."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
import staged
import toy
from further import Interrupt, accuracy, blank, renamed, small
from models import prepared

from nonproj.components import tagger
from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, DataError
from nonproj.io.copies import with_rows
from nonproj.learning.corpus import SILVER, Auxiliary
from nonproj.learning.hyperparameters import AUXILIARY, CONFIDENCE
from nonproj.linear.streams import Stream
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser


def learn(treebank, silver, config=None, **run):
    """A model that learns from silver sentences, too."""
    auxiliary = Auxiliary(silver, SILVER)
    return train(treebank, config or small(), auxiliary=auxiliary, run=RunOptions(**run))


def material_of(treebank, silver, **changes):
    """Sentences that the parser learns from."""
    return prepared(treebank, small(**changes), Auxiliary(silver, SILVER))[0]


def test_words_that_only_the_text_has_are_learnt():
    treebank, text, test = toy.sentences(6), toy.sentences(150, seed=1), toy.sentences(40, seed=2)
    text, test = renamed(text, "x"), renamed(test, "x")
    alone, both = (learn(treebank, silver) for silver in ([], text))
    assert both.meta["silver"] == {"sentences": 150, "words": sum(map(len, text))}
    assert both.meta["sentences"] == 6
    assert "silver" not in alone.meta
    assert accuracy(both, test) > 0.95 > accuracy(alone, test) + 0.03


def test_an_epoch_takes_the_treebank_and_as_many_words_of_the_text_as_it_has_to():
    treebank, silver = toy.sentences(20), toy.sentences(90, seed=1)
    copies = 2  # with gold and with predicted tags
    for share in (0.5, 1.0, 2.0, 100.0):
        material = material_of(treebank, silver, treebank__silver_share=share, training__epochs=1)
        first, wanted = copies * len(treebank), share * sum(map(len, treebank))
        seen = Counter()
        for epoch in range(9):
            order = material.order(epoch, Stream.PARSER)
            assert sorted(order[order < first]) == list(range(first))
            taken = order[order >= first].tolist()
            assert len(set(taken)) == len(taken) == material.auxiliary.sentences_per_epoch
            assert set(taken) == set(
                material.order(epoch, Stream.LABELER)[material.order(epoch, Stream.LABELER) >= first].tolist()
            )
            seen.update(taken)
        words = material.auxiliary.sentences_per_epoch * sum(map(len, silver)) / len(silver)
        assert (
            material.auxiliary.sentences_per_epoch == 90
            if share == 100
            else abs(words - wanted) <= max(map(len, silver))
        )
        assert max(seen.values()) - min(seen[i] for i in range(first, first + 90)) <= 1  # each as often as the others


def test_the_pruner_learns_from_the_treebank_alone():
    treebank, silver = toy.sentences(15), toy.sentences(15, seed=1)
    wrong = [dataclasses.replace(s, tree=np.maximum(np.arange(-1, len(s)), -1).astype(np.int32)) for s in silver]
    options = {"training__tags": "gold", "tagger__epochs": 0}
    one, other = (learn(treebank, text, small(**options)) for text in (silver, wrong))
    np.testing.assert_array_equal(one.weights["pruner"], other.weights["pruner"])
    assert (one.weights["parser"] != other.weights["parser"]).any()


def test_the_text_has_tags_of_a_tagger_that_has_not_seen_it():
    treebank, silver = toy.sentences(20), toy.sentences(20, seed=1)
    odd = [with_rows(s, [[*row[:3], "X", "X", *row[5:]] for row in s.rows]) for s in silver]
    material = material_of(treebank, odd, training__epochs=1)
    seen = {row[3] for sentence in material.auxiliary.sentences for row in sentence.rows}
    assert "X" not in seen
    assert material_of(treebank, odd, training__epochs=1, training__tags="gold").auxiliary.sentences == odd


@pytest.mark.parametrize(("words", "learnt"), [(140, True), pytest.param(130, False, marks=pytest.mark.thorough)])
def test_the_tagger_of_a_small_treebank_learns_from_as_many_words_of_the_text(words, learnt, monkeypatch):
    monkeypatch.setattr(tagger, "AUXILIARY", dataclasses.replace(AUXILIARY, tagger_words=words))
    treebank, silver, test = toy.sentences(20), toy.sentences(90, seed=1), toy.sentences(40, seed=2)
    assert 130 < sum(map(len, treebank)) < 140
    chosen = tagger.auxiliary_for_tagger(silver, treebank, treebank, 0)
    assert sum(map(len, chosen)) == (pytest.approx(sum(map(len, treebank)), abs=20) if learnt else 0)
    assert len({id(each) for each in chosen}) == len(chosen) < 90 and all(each in silver for each in chosen)
    odd = [with_rows(s, [[*row[:3], "X", "X", *row[5:]] for row in s.rows]) for s in silver]
    tagged = staged.tagged(Parser(learn(treebank, odd, small(training__epochs=1)), tags="all"), blank(test))
    assert ("X" in {row[3] for sentence in tagged for row in sentence.rows}) == learnt


@pytest.mark.parametrize(("loop", "ends"), [("network 1", True), ("epoch 2", False)])
def test_an_interrupted_training_goes_on_to_the_same_weights(tmp_path, loop, ends):
    treebank, silver, config = toy.sentences(12), toy.sentences(50, seed=1), small(confidence__share=0.0)
    whole, path = learn(treebank, silver, config), tmp_path / "c"
    try:
        learn(treebank, silver, config, checkpoint=path, progress=Interrupt(loop))
    except KeyboardInterrupt:
        assert ends
    resumed = learn(treebank, silver, config, checkpoint=path, resume=True)
    assert resumed.components == whole.components
    for name, table in whole.weights.items():
        np.testing.assert_array_equal(table, resumed.weights[name])
    assert Model.load(path).meta["log"]
    with pytest.raises(ConfigError, match="is of other sentences or options"):
        learn(treebank, silver[1:], config, checkpoint=path, resume=True)


@pytest.mark.thorough
def test_confidence_is_learnt_from_held_out_sentences_of_the_treebank(monkeypatch):
    few = dataclasses.replace(CONFIDENCE, min_words=50, min_wrong=1)
    monkeypatch.setattr("nonproj.components.confidence.CONFIDENCE", few)
    treebank = toy.noisy_sentences(100)
    config = small(confidence__share=0.5, training__epochs=1)
    found = learn(treebank, toy.sentences(60, seed=1), config).meta["confidence"]
    alone = train(treebank, config).meta["confidence"]
    assert (found["sentences"], found["words"]) == (alone["sentences"], alone["words"])


def test_trees_with_several_roots_are_left_out(caplog):
    treebank, silver = toy.sentences(10), toy.sentences(10, seed=1)
    two = silver[3]
    tree = two.tree.copy()
    tree[len(two)] = 0
    silver[3] = dataclasses.replace(two, tree=tree)
    with caplog.at_level("WARNING", "nonproj"):
        found = learn(treebank, silver, small(training__epochs=1))
    assert found.meta["silver"]["sentences"] == 9
    assert "1 of 10 automatically parsed sentences are left out: they have several roots" in caplog.messages
    kept = learn(treebank, silver, small(training__epochs=1, treebank__root="multi"))
    assert kept.meta["silver"]["sentences"] == 10


def test_what_cannot_be_learnt_from_is_refused():
    treebank, silver = toy.sentences(10), toy.sentences(10, seed=1)
    with pytest.raises(DataError, match="training needs gold heads"):
        learn(treebank, [dataclasses.replace(silver[0], tree=None)])
    with pytest.raises(ConfigError, match="no sentence to train on"):
        learn([], silver)


def test_auxiliary_sentences_have_a_known_origin():
    with pytest.raises(ValueError, match="origin: 'gold' is invalid, 'silver' or 'related' expected"):
        Auxiliary(toy.sentences(1), "gold")


def test_text_without_tags_is_tagged(caplog):
    treebank, silver = toy.sentences(20), blank(toy.sentences(20, seed=1))
    for tags in ("both", "gold"):
        with caplog.at_level("WARNING", "nonproj"):
            material = material_of(treebank, silver, training__epochs=1, training__tags=tags)
        assert "the automatically parsed sentences have no XPOS; the tagger does not learn from them" in caplog.messages
        caplog.clear()
        assert {row[3] for s in material.auxiliary.sentences for row in s.rows} <= {
            row[3] for s in treebank for row in s.rows
        }


def test_other_labels_are_pointed_out(caplog):
    treebank, silver = toy.sentences(10), toy.sentences(10, seed=1)
    other = [with_rows(s, s.rows) for s in silver]
    for row in other[0].rows:
        row[7] = "SBJ"
    with caplog.at_level("WARNING", "nonproj"):
        learn(treebank, other, small(training__epochs=1))
    assert "automatically parsed sentences have labels that the treebank lacks: SBJ" in caplog.messages
