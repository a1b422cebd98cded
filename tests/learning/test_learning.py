"""Training: results, bit-identical repetition, and continuation of interrupted runs."""

import dataclasses
import itertools
import logging

import numpy as np
import pytest
import toy
from further import Interrupt, accuracy, weights_of
from models import prepared

from nonproj.components.base import RunOptions
from nonproj.components.preparation import has_several_roots, projectivity
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, DataError, ModelError
from nonproj.io.columns import UPOS, XPOS, filled_columns
from nonproj.io.copies import with_rows
from nonproj.learning.label_numbers import label_set
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.parts.registry import PART_SETS
from nonproj.parts.space import part_space, tree_indicators
from nonproj.pipeline.parser import Parser
from nonproj.scoring.vocabulary import prefer_coarse
from nonproj.text.corpus import has_raw_text
from nonproj.trees.crossing import nonprojective

SMALL = toy.QUICK | dict.fromkeys(("features.bits", "labeler.bits", "tagger.bits"), 16) | {"pruner.bits": 14}
SMALL |= {"training.epochs": 4, "pruner.folds": 0, "labeler.epochs": 2}


def small(**changes):
    return Config().with_overrides(SMALL | {key.replace("__", "."): value for key, value in changes.items()})


def plain(**changes):
    """Options for learning from gold tags, without a tagger, a segmenter and a network."""
    none = dict.fromkeys(("tagger__epochs", "segmenter__epochs", "network__epochs"), 0)
    return small(**none | {"training__tags": "gold"} | changes)


EVERY_DAY = (("arc", "relaxed"), ("grandparent", "relaxed"), ("third", "dual"))
"""Sets of parts and decoders of training; the thorough tests try all pairs."""

PAIRS = list(itertools.product((*PART_SETS, ["arc", "grandparent"]), ("relaxed", "dual")))
PAIRS = [pytest.param(*pair, marks=[pytest.mark.thorough] * (pair not in EVERY_DAY)) for pair in PAIRS]


@pytest.mark.parametrize(("parts", "decoder"), PAIRS, ids=str)
def test_a_toy_language_is_learnt(parts, decoder):
    sentences = toy.sentences(60)
    trained = train(sentences[:45], small(parts=parts, training__decoder=decoder), held_out=sentences[45:])
    assert accuracy(trained, sentences[45:]) > 0.9
    log = trained.meta["log"]
    assert [entry["epoch"] for entry in log] == [1, 2, 3, 4] and log[-1]["mistakes"] < log[0]["mistakes"]
    assert set(log[-1]) == {"epoch", "mistakes", "uas", "las", "certified"}


@pytest.fixture(scope="module")
def whole():
    """The model that 25 sentences make."""
    return train(toy.sentences(25), small())


def test_training_depends_on_the_seed(whole):
    other = weights_of(train(toy.sentences(25), small(seed=4)))
    for name in ("parser", "pruner", "labeler", "tagger.tagger.weights", "network.words"):
        assert weights_of(whole)[name] != other[name]


def test_too_many_fine_tags_are_left_out_of_the_features():
    sentences = toy.sentences(30)
    for i, sentence in enumerate(sentences):
        for k, row in enumerate(sentence.rows):
            row[4] = f"{row[3]}{(i * 7 + k) % 40}"
    blank = [with_rows(s, [[*row[:4], "_", *row[5:]] for row in s.rows]) for s in sentences]
    pairs = (sentences, "auto"), (sentences, "coarse"), (blank, "auto"), (sentences, "fine")
    models = [train(given, plain(features__tags=name)) for given, name in pairs]
    assert [m.meta["coarse_tags"] for m in models] == [True, True, True, False]
    auto, coarse, expected, fine = map(weights_of, models)
    assert auto == coarse == expected
    assert all(fine[name] != auto[name] for name in ("parser", "pruner", "labeler"))
    stored = Parser(Model.from_bytes(models[0].to_bytes()))
    trees = [Parser(models[0]).parse(s).decoded.heads.tolist() for s in blank[:5]]
    assert [stored.parse(s).decoded.heads.tolist() for s in sentences[:5]] == trees


def test_an_interrupted_training_keeps_the_last_epoch_and_goes_on_to_the_same_model(tmp_path, whole):
    sentences, config, checkpoint = toy.sentences(25), small(), tmp_path / "checkpoint"
    two_epochs = train(sentences, small(training__epochs=2))
    stopped = train(sentences, config, run=RunOptions(checkpoint=checkpoint, progress=Interrupt("epoch 3", 1)))
    assert stopped.meta["interrupted"] and len(stopped.meta["log"]) == 2
    assert weights_of(stopped) == weights_of(two_epochs)
    resumed = train(sentences, config, run=RunOptions(checkpoint=checkpoint, resume=True))
    assert not resumed.meta["interrupted"] and resumed.to_bytes() == whole.to_bytes()


STAGES = ["segmenter", "conventions", "tagger", "clusters", "vectors", "vocabulary", "pruner", "labeler", "crossing"]
STAGES += ["graphs", "confidence", "network", "encoder"]
THOROUGH = (pytest.param(f"{STAGES[n]} 1", n, marks=pytest.mark.thorough) for n in (6, 7, 11))


@pytest.mark.parametrize(("loop", "done"), [("tagger 1, epoch 1", 2), *THOROUGH, ("epoch 1", 13)])
def test_training_continues_with_the_stage_that_was_interrupted(tmp_path, monkeypatch, loop, done):
    sentences, config, path = toy.sentences(15), small(training__epochs=1, tagger__epochs=1), tmp_path / "checkpoint"
    monkeypatch.setattr("nonproj.tagging.learning._CHUNK", 1)
    whole, run = train(sentences, config), RunOptions(checkpoint=path, progress=Interrupt(loop, 1))
    with pytest.raises(KeyboardInterrupt):
        train(sentences, config, run=run)
    assert list(Model.load(path).meta["done"]) == STAGES[:done]
    with pytest.raises(ModelError, match="a checkpoint, not a model"):
        Parser(Model.load(path))
    run = RunOptions(checkpoint=path, resume=True, progress=Interrupt())
    resumed = train(sentences, config, run=run)
    assert run.progress.begun[0] == loop
    assert resumed.components == whole.components and weights_of(resumed) == weights_of(whole)


def test_ctrl_c_before_the_first_epoch_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        train(toy.sentences(10), small(), run=RunOptions(progress=Interrupt("epoch 1", 1)))


def test_resume_refuses_other_sentences_and_other_options(tmp_path):
    sentences, checkpoint = toy.sentences(12), tmp_path / "checkpoint"
    train(sentences, plain(training__epochs=1), run=RunOptions(checkpoint=checkpoint))
    for others, config in ((sentences[1:], plain()), (sentences, plain(training__margin=7.0))):
        with pytest.raises(ConfigError, match="is of other sentences or options; train without --resume"):
            train(others, config, run=RunOptions(checkpoint=checkpoint, resume=True))
    # More epochs of the same are what resuming is for.
    assert len(train(sentences, plain(), run=RunOptions(checkpoint=checkpoint, resume=True)).meta["log"]) == 4


def test_gold_arcs_are_among_the_candidates_whatever_the_pruner_says():
    sentences = toy.sentences(20)
    corpus, context = prepared(sentences, plain(pruner__threshold=1.0, pruner__max_heads=1, pruner__folds=3))
    for arcs, sentence in zip(corpus.numbers.spaces, sentences, strict=True):
        assert tree_indicators(part_space(arcs, "arc"), sentence.tree).sum() == len(sentence)
    assert 0 < context.meta["pruning_training"]["gold_kept"] <= 1


def test_sentences_without_heads_and_no_sentences_are_errors():
    sentences = toy.sentences(3)
    sentences[1].tree = None
    with pytest.raises(DataError, match="HEAD is absent"):
        train(sentences, small())
    with pytest.raises(ConfigError, match="there is no sentence to train on"):
        train([], small())


def with_two_roots(sentences, chosen):
    """The sentences, some of them with another root beside the first."""
    for i in chosen:
        tree = sentences[i].tree
        tree[next(m for m in range(1, len(tree)) if tree[m] != 0)] = 0
    return sentences


def test_wrong_roots_of_few_sentences_are_left_out(caplog):
    """At least five sentences, and 0.2 % of all, have several roots on purpose."""
    caplog.set_level(logging.INFO, "nonproj")
    sentences = with_two_roots(toy.sentences(12), (0, 3))
    model = train(sentences, plain(parts="arc"))
    assert (model.meta["multi_root"], model.meta["sentences"]) == (False, 10)
    first, other = (sentences[i].line + np.flatnonzero(sentences[i].heads == 0)[1] for i in (0, 3))
    train(with_two_roots(toy.sentences(12), [0]), plain(parts="arc"))
    two = "2 of 12 sentences need several roots, and are left out (treebank.root); lines"
    one = "1 of 12 sentences needs several roots, and is left out (treebank.root); line"
    assert {f"<stream>: {two} {first}, {other}", f"<stream>: {one} {first}"} <= set(caplog.messages)
    enough = with_two_roots(toy.sentences(12), range(5))
    assert has_several_roots(enough, plain(), None)
    assert "5 of 12 sentences have several roots: trees may have several" in caplog.messages
    assert not has_several_roots([*enough, *250 * toy.sentences(10)], plain(), None)


def test_one_sentence_of_many_does_not_decide_what_is_learnt():
    """A label, a lemma, a word without a tag, or where blanks are."""

    def word(columns):
        return toy.read("\t".join(columns.split()) + "\n\n")[0]

    odd, bare = word("1 a x _ m _ 0 y _ SpaceAfter=No"), [word(f"1 a _ N n{i % 90} _ 0 _ _ _") for i in range(1000)]
    assert label_set(bare) == label_set([*bare, odd]) == ["_"]
    assert filled_columns(bare) == filled_columns([*bare, odd]) == [UPOS, XPOS]
    assert prefer_coarse(bare) and prefer_coarse([*bare, odd])
    assert has_raw_text([odd]) and not has_raw_text([*bare, odd])


def test_roots_are_as_in_the_training_data():
    sentences, several = toy.sentences(12), with_two_roots(toy.sentences(12), range(5))
    given = (sentences, plain()), (several, plain()), (sentences, plain(treebank__root="multi"))
    single, *others = (train(*each) for each in given)
    assert not single.meta["multi_root"] and all(model.meta["multi_root"] for model in others)
    parser = Parser(single)
    assert all((parser.parse(s).decoded.heads == 0).sum() == 1 for s in sentences)


def test_trees_are_projective_if_next_to_no_training_arcs_cross():
    crossing = toy.sentences(40)
    projective = [sentence for sentence in crossing if not nonprojective(sentence.heads).any()]
    assert 10 < len(projective) < 30
    arcs = np.concatenate([nonprojective(sentence.heads) for sentence in crossing])
    for sentences, expected, share in ((projective, True, 0.0), (crossing, False, arcs.mean())):
        model = train(sentences, plain())
        assert (model.meta["projective"], model.meta["nonprojective_arcs"]) == (expected, share)
        assert Parser(model).request.options.projective == expected
        other = dataclasses.replace(model.config.decoding, projective=not expected)
        assert Parser(model, other).request.options.projective != expected
    del model.meta["projective"]  # as in models of before
    assert not Parser(model).request.options.projective


def test_few_crossing_arcs_make_no_tree_non_projective():
    """At least ten arcs, in five sentences: fewer, or those of one sentence with wrong heads, may be mistakes."""
    crossing = [sentence for sentence in toy.sentences(60) if nonprojective(sentence.heads).sum() == 1]
    assert projectivity(crossing[:9])[1] and not projectivity(crossing[:10])[1]
    shuffled = toy.read("".join(f"{m}\ta\t_\tN\tN\t_\t{max(m - 20, 0)}\tx\t_\t_\n" for m in range(1, 41)) + "\n")
    assert nonprojective(shuffled[0].heads).sum() >= 10 and projectivity(shuffled)[1]


def test_the_training_decoder_finds_projective_trees_however_much_is_pruned():
    strict = {"pruner.threshold": 1.0, "pruner.max_heads": 1, "training.decoder": "dual", "decoding.projective": True}
    model = train(toy.sentences(40), plain().with_overrides(strict))
    assert not any(nonprojective(Parser(model).parse(s).decoded.heads).any() for s in toy.sentences(20, seed=1))


def test_a_treebank_without_annotation_is_pointed_out(caplog):
    bare, messages = toy.sentences(3), []
    for sentence in bare:
        sentence.heads[:] = 0
        for row in sentence.rows:
            row[7] = "_"
    with caplog.at_level(logging.WARNING, "nonproj"):
        for change in (lambda: None, lambda: bare[1].heads.put(0, 2), lambda: bare[1].rows[0].__setitem__(7, "subj")):
            change()
            train(bare, plain(parts="arc"))
            messages.append(list(caplog.messages))
            caplog.clear()
    nothing = "all heads are 0 and all labels are _; a treebank with gold trees is expected"
    no_labels = "all labels are _; labels are not learnt, and parses have none"
    assert messages == [[f"<stream>: {nothing}"], [f"<stream>: {no_labels}"], []]


def test_a_parse_does_not_look_at_gold_columns(model_of):
    parser = Parser(Model.load(model_of("small")))
    for sentence in toy.sentences(20):
        before = parser.parse(sentence)
        after = parser.parse(type(sentence)([[*row[:6], "_", "_", "_", "_"] for row in sentence.rows]))
        assert (before.decoded.heads.tolist(), before.labels) == (after.decoded.heads.tolist(), after.labels)


def test_parsing_prunes_harder_than_training():
    sentences = toy.sentences(40)
    model = train(sentences, plain(decoding__threshold=0.5))
    loose = dataclasses.replace(model.config.decoding, threshold=1e-4)
    parsers, words = (Parser(model), Parser(model, loose)), sum(map(len, sentences))
    few, many = (sum(len(parse.arcs.head) for _, parse in parser.parse_all(sentences)) for parser in parsers)
    assert words <= few < many and model.meta["pruning_training"]["heads_per_word"] > few / words
