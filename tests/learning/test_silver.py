"""Training on automatically parsed sentences beside those of a treebank."""

import contextlib
import dataclasses
from collections import Counter

import numpy as np
import pytest
import staged
import toy
from further import Interrupt, accuracy, blank, renamed, small, weights_of
from models import prepared

from nonproj.components import tagger
from nonproj.components.base import RunOptions
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, DataError
from nonproj.io.copies import with_rows
from nonproj.learning.corpus import SILVER, Auxiliary
from nonproj.learning.hyperparameters import AUXILIARY
from nonproj.linear.streams import Stream
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
    assert both.meta["sentences"] == 6 and "silver" not in alone.meta
    assert accuracy(both, test) > 0.95 > accuracy(alone, test) + 0.03


def test_an_epoch_takes_the_treebank_and_as_many_words_of_the_text_as_it_has_to():
    treebank, silver = toy.sentences(20), toy.sentences(90, seed=1)
    first = 2 * len(treebank)  # with gold and with predicted tags
    for share in (0.5, 2.0, 100.0):
        material = material_of(treebank, silver, treebank__silver_share=share, training__epochs=1)
        seen, count = Counter(), material.auxiliary.sentences_per_epoch
        for epoch in range(9):
            order, labeler = (material.order(epoch, stream) for stream in (Stream.PARSER, Stream.LABELER))
            assert sorted(order[order < first]) == list(range(first))
            taken = order[order >= first].tolist()
            assert len(set(taken)) == len(taken) == count and set(taken) == set(labeler[labeler >= first].tolist())
            seen.update(taken)
        words, wanted = count * sum(map(len, silver)) / len(silver), share * sum(map(len, treebank))
        assert count == 90 if share == 100 else abs(words - wanted) <= max(map(len, silver))
        assert max(seen.values()) - min(seen[i] for i in range(first, first + 90)) <= 1  # each as often as the others


def test_the_pruner_learns_from_the_treebank_alone():
    treebank, silver = toy.sentences(15), toy.sentences(15, seed=1)
    wrong = [dataclasses.replace(s, tree=np.maximum(np.arange(-1, len(s)), -1).astype(np.int32)) for s in silver]
    config = small(training__tags="gold", tagger__epochs=0, network__epochs=0)
    one, other = (learn(treebank, text, config) for text in (silver, wrong))
    np.testing.assert_array_equal(one.weights["pruner"], other.weights["pruner"])
    assert (one.weights["parser"] != other.weights["parser"]).any()


@pytest.mark.parametrize("tags", ["both", "gold"])
def test_the_text_has_tags_of_a_tagger_that_has_not_seen_it(tags, caplog):
    """But those that it has, if they are gold for the parser."""
    treebank, silver = toy.sentences(20), toy.sentences(20, seed=1)
    odd = [with_rows(s, [[*row[:3], "X", "X", *row[5:]] for row in s.rows]) for s in silver]
    materials = (material_of(treebank, each, training__tags=tags) for each in (odd, blank(silver)))
    found, bare = (material.auxiliary.sentences for material in materials)
    known = {row[3] for s in treebank for row in s.rows}
    assert {row[3] for s in bare for row in s.rows} <= known
    assert found == odd if tags == "gold" else {row[3] for s in found for row in s.rows} <= known
    assert "the automatically parsed sentences have no XPOS; the tagger does not learn from them" in caplog.messages


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


@pytest.mark.parametrize("loop", ["network 1", pytest.param("epoch 2", marks=pytest.mark.thorough)])
def test_an_interrupted_training_goes_on_to_the_same_weights(tmp_path, loop):
    treebank, silver, path = toy.sentences(12), toy.sentences(50, seed=1), tmp_path / "c"
    whole = learn(treebank, silver)
    with contextlib.suppress(KeyboardInterrupt):  # in the parser's epochs, the last complete one is the result
        learn(treebank, silver, checkpoint=path, progress=Interrupt(loop))
    resumed = learn(treebank, silver, checkpoint=path, resume=True)
    assert resumed.components == whole.components and weights_of(resumed) == weights_of(whole)
    with pytest.raises(ConfigError, match="is of other sentences or options"):
        learn(treebank, silver[1:], checkpoint=path, resume=True)


@pytest.mark.thorough
def test_confidence_is_learnt_from_held_out_sentences_of_the_treebank(few_words):
    treebank = toy.noisy_sentences(100)
    config = small(confidence__share=0.5, training__epochs=1)
    found = learn(treebank, toy.sentences(60, seed=1), config).meta["confidence"]
    alone = train(treebank, config).meta["confidence"]
    assert (found["sentences"], found["words"]) == (alone["sentences"], alone["words"])


def test_trees_with_several_roots_are_left_out(caplog):
    treebank, silver = toy.sentences(10), toy.sentences(10, seed=1)
    silver[3].tree[len(silver[3])] = 0
    for root, count in (("auto", 9), ("multi", 10)):
        config = small(parts="arc", training__epochs=1, tagger__epochs=0, treebank__root=root)
        assert learn(treebank, silver, config).meta["silver"]["sentences"] == count
    assert caplog.messages.count("1 of 10 automatically parsed sentences are left out: they have several roots") == 1


def test_what_cannot_be_learnt_from_is_refused():
    treebank, silver = toy.sentences(10), toy.sentences(10, seed=1)
    with pytest.raises(DataError, match="training needs gold heads"):
        learn(treebank, [dataclasses.replace(silver[0], tree=None)])
    with pytest.raises(ConfigError, match="no sentence to train on"):
        learn([], silver)
    with pytest.raises(ValueError, match="origin: 'gold' is invalid, 'silver' or 'related' expected"):
        Auxiliary(silver, "gold")


def test_other_labels_are_pointed_out(caplog):
    silver = toy.sentences(10, seed=1)
    for row in silver[0].rows:
        row[7] = "SBJ"
    learn(toy.sentences(10), silver, small(parts="arc", training__epochs=1, tagger__epochs=0))
    assert "automatically parsed sentences have labels that the treebank lacks: SBJ" in caplog.messages
