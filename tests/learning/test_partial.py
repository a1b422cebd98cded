"""Learning from partial trees: updates against enumeration, and training from end to end."""

import dataclasses
import io
import logging

import naive_partial
import naive_trees
import numpy as np
import pytest
import toy
from further import weights_of
from instances import seeds
from problems import ALL_SETS, draw_tree, marked, naive_relaxed
from toy import draw_sentence
from updates import BITS, FILES, draw_update, twin_scores

from nonproj.components.base import RunOptions
from nonproj.components.preparation import projectivity
from nonproj.components.trainer import train
from nonproj.dual.options import DualOptions
from nonproj.errors import DataError, ModelError
from nonproj.io import conll
from nonproj.io.partial import with_given
from nonproj.learning.corpus import Corpus
from nonproj.learning.labeler import Labeler
from nonproj.learning.partial import allowed_by, completion_of
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.scoring.hashing import hash_tokens
from nonproj.scoring.labels import label_parts, label_scores
from nonproj.scoring.templates import attributes_of, part_templates
from nonproj.scoring.vocabulary import TokenEncoder

SMALL = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 16, "training.epochs": 3, "pruner.folds": 2}
SMALL |= {"labeler.epochs": 2, "network.epochs": 1, "network.size": 16}
SMALL |= {"tagger.epochs": 0, "segmenter.epochs": 0, "confidence.share": 0.0}


def small(**changes):
    return Config().with_overrides(SMALL | {key.replace("__", "."): value for key, value in changes.items()})


def hidden(sentences, share, bare=(), seed=0):
    """The sentences with a share of the heads and labels given; every third is whole, and some have none."""
    rng, found = np.random.default_rng(seed), []
    for i, sentence in enumerate(sentences):
        keep = ((rng.random(len(sentence)) < share) | (i % 3 == 0)) & (i not in bare)
        rows = [row if k else [*row[:6], "_", "_", *row[8:]] for row, k in zip(sentence.rows, keep, strict=True)]
        found.append(dataclasses.replace(sentence, rows=rows, tree=sentence.tree if keep.all() else None))
    return found


def draw(seed, name, n, share=0.5, **options):
    """A perceptron of random weights, and a sentence of which some heads are given, that of the last word always."""
    perceptron, example, sentence, encoder = draw_update(seed, name, n, **options)
    given = np.where(np.random.default_rng(seed + 100).random(n + 1) < share, example.heads, -1)
    given[-1] = example.heads[-1]
    allowed = np.array([[h != m and given[m] in (-1, h) for m in range(n + 1)] for h in range(n + 1)])
    allowed[:, 0] = False
    completion = completion_of(example.parts, allowed)
    return perceptron, example._replace(heads=given, completion=completion), sentence, encoder


def trees_of(example):
    """All trees over the candidate arcs with the given heads."""
    pairs, given = set(naive_trees.pairs_of(example.parts.arcs)), example.heads.tolist()
    trees = naive_partial.obeying(len(given) - 1, given)
    return [tree for tree in trees if all((tree[m], m) in pairs for m in range(1, len(tree)))]


@pytest.mark.parametrize("name", ALL_SETS)
@pytest.mark.parametrize("seed", range(5))
def test_the_completion_is_the_best_tree_with_the_given_heads(seed, name):
    _, example, _, _ = draw(seed, name, 4)
    scores = np.random.default_rng(seed).standard_normal(len(example.parts))
    tree = example.completion.best(scores, DualOptions(max_iterations=2000)).tolist()
    score = naive_trees.tree_scorer(example.parts, scores)
    assert tree in trees_of(example)
    assert score(tree) == pytest.approx(max(map(score, trees_of(example))))


@pytest.mark.parametrize("margin", [0.0, 3.0])
@pytest.mark.parametrize("name", ALL_SETS)
def test_an_update_equals_enumeration(name, margin):
    """The update is the best obeying structure less the best one with costs at the words with a given head."""
    compared, chosen = 0, seeds(12)
    for seed in chosen:
        perceptron, example, *more = draw(seed, name, 1 + seed % 4, margin=margin, tau=0.3)
        scores, places = twin_scores(perceptron, example, *more)
        given, pairs, parts = example.heads.tolist(), naive_trees.pairs_of(example.parts.arcs), example.parts
        augmented, forced, arcs = scores.copy(), scores.copy(), parts.range("arc")
        augmented[arcs] += naive_partial.costs(pairs, given, margin)
        forced[arcs] += naive_partial.forcing(pairs, given)
        if name == "arc":
            trees = trees_of(example)
            values = sorted(map(naive_trees.tree_scorer(parts, scores), trees))
            if len(values) > 1 and values[-1] - values[-2] < 1e-9:
                continue
            problems = (scores, trees), (augmented, naive_trees.all_trees(len(given) - 1))
            both = [naive_partial.completed(parts, *problem) for problem in problems]
            gold, predicted = (marked(parts, naive_trees.part_numbers(tree, parts)) for tree in both)
        else:
            gold, predicted = (naive_relaxed(parts, each, 0.3) for each in (forced, augmented))
        delta, moved, before = gold - predicted, np.zeros(1 << BITS), perceptron.weights.copy()
        for value, found in zip(delta, places, strict=True):
            np.add.at(moved, found, value)
        missed = sum(given[m] >= 0 and value > 0 for (_, m), value in zip(pairs, delta, strict=False))
        assert perceptron.update(example) == missed
        np.testing.assert_allclose(perceptron.weights, before + moved, atol=1e-5)
        compared += 1
    assert compared >= 2 * len(chosen) / 3


def test_the_labeler_learns_given_labels_alone():
    rng = np.random.default_rng(0)
    sentence, heads = draw_sentence(rng, 4), draw_tree(rng, 4)
    encoder = TokenEncoder.from_sentences([sentence], attributes_of(FILES), 1)
    tokens, table = encoder.encode(sentence), part_templates(FILES["label"], encoder.attributes)
    labeler = Labeler(table, 3, BITS, margin=1.0)
    assert labeler.update(tokens, heads, np.array([-1, 2, -1, -1])) == 1
    before = labeler.weights.copy()
    scores = label_scores(hash_tokens(tokens, table, 1 << BITS), label_parts(heads), 3, labeler.weights)
    assert scores[1].argmax() == 2
    assert labeler.update(tokens, heads, np.full(4, -1)) == 0 and (labeler.weights == before).all()


# -- from end to end


@pytest.mark.parametrize("parts", ["arc", pytest.param("grandparent", marks=pytest.mark.thorough)])
def test_a_toy_language_is_learnt_from_some_heads(parts):
    sentences = toy.sentences(80)
    model = train(hidden(sentences[:60], 0.4), small(parts=parts), held_out=hidden(sentences[60:], 0.5))
    parser = Parser(model, tags="none")
    assert np.concatenate([parser.parse(s).decoded.heads == s.heads for s in sentences[60:]]).mean() > 0.9
    assert set(model.labels) == {label for sentence in sentences for label in sentence.labels}
    assert model.meta["log"][-1]["uas"] > 0.9


@pytest.mark.thorough
def test_tags_labels_confidence_and_text_cope():
    sentences = hidden(toy.noisy_sentences(400), 0.6, bare=range(1, 400, 7))
    for sentence in sentences[1::6]:
        sentence.rows = [[*row[:2], "_", "_", "_", *row[5:]] for row in sentence.rows]
    changes = toy.QUICK | {"pruner.folds": 2, "network.epochs": 1, "tagger.epochs": 1, "segmenter.epochs": 1}
    changes |= {"confidence.share": 0.5}
    model = train(sentences, small().with_overrides(changes), held_out=sentences[:5])
    assert "_" not in model.labels and model.component("confidence") is not None
    assert 0 < model.meta["confidence"]["words"] < 0.8 * sum(map(len, sentences))
    parse = next(Parser(model, tags="all").parse_all(toy.sentences(1)))[1]
    assert parse.confidence is not None


def test_sentences_without_a_head_change_nothing_in_the_parser(monkeypatch):
    """They are not learnt from: neither mistakes nor steps are counted for them.

    The sentences are not shuffled, because the order depends on the number of all sentences.
    """
    monkeypatch.setattr(Corpus, "order", lambda data, epoch, *_: np.flatnonzero(data.in_epoch(epoch)))
    sentences, config = toy.sentences(20), small(training__tags="gold", pruner__folds=0, network__epochs=0)
    bare = hidden(sentences, 0.0, bare=range(20))
    alone, both = (weights_of(train(each, config)) for each in (sentences, [*sentences, *bare]))
    assert alone == both


def test_training_resumes_with_the_trees_of_its_checkpoint_or_refuses_them(tmp_path):
    sentences, run = hidden(toy.sentences(31), 0.4, bare=(4, 10)), RunOptions(checkpoint=tmp_path / "c", resume=True)
    whole = train(sentences, small())
    train(sentences, small(training__epochs=1), run=RunOptions(checkpoint=run.checkpoint))
    saved = Model.load(run.checkpoint, mmap=False)
    assert weights_of(train(sentences, small(), run=run)) == weights_of(whole)
    trees = saved.weights["trees"]
    for wrong in (np.zeros(3, np.int32), np.full_like(trees, 1), trees - 9):
        saved.weights["trees"] = wrong
        saved.save(run.checkpoint)
        with pytest.raises(ModelError, match="cannot be resumed from: its arcs are wrong"):
            train(sentences, small(), run=run)


def read(*rows):
    """A sentence of words by their heads, labels and the last column."""
    words = enumerate(map(str.split, rows), 1)
    lines = (f"{i}\ta\t_\tN\tN\t_\t{head}\t{label}\t_\t{misc}\n" for i, (head, label, misc) in words)
    return list(conll.read(io.StringIO("".join(lines) + "\n")))


CYCLE, TWO_ROOTS = ["2 x _", "1 x _", "_ _ _"], ["0 x _", "_ _ _", "0 x _"]
FORBIDDEN, NONE = ["_ _ Head=2", "_ _ NotHead=0", "_ _ NotHead=0"], ["_ _ _"]


IMPOSSIBLE = [
    (CYCLE, {}, "<stream>:1: the given heads form a cycle: 1 <- 2 <- 1"),
    (TWO_ROOTS, {"treebank__root": "single"}, "<stream>:3: all sentences need several roots"),
    (FORBIDDEN, {"treebank__partial": "misc"}, "<stream>:1: no tree obeys the given and forbidden heads"),
    (NONE, {}, "<stream>:1: HEAD is absent for all words of all sentences"),
    (NONE, {"treebank__partial": "misc"}, "<stream>:1: Head= in MISC is absent for all words"),
    (TWO_ROOTS, {"treebank__partial": "none"}, "<stream>:1: HEAD is absent"),
]


@pytest.mark.parametrize(("rows", "changes", "message"), IMPOSSIBLE)
def test_impossible_annotation_is_an_error_with_its_line(rows, changes, message):
    with pytest.raises(DataError) as raised:
        train(read(*rows), small(**changes))
    assert str(raised.value).startswith(message)


def test_sentences_that_one_root_cannot_reach_are_left_out(caplog):
    """Whole and partial trees with two roots, and a partial one in which two words have no other possible head."""
    whole, other = ["0 x _", "1 x _", "0 x _"], ["_ _ NotHead=2", "_ _ NotHead=1|NotHead=3", "_ _ Head=1"]
    for rows, source in ((TWO_ROOTS, "head"), (whole, "head"), (other, "misc")):
        good = toy.sentences(6) if source == "head" else 6 * read("_ _ Head=0|Deprel=x")
        model = train([*good, *read(*rows)], small(parts="arc", treebank__partial=source, treebank__root="single"))
        assert model.meta["sentences"] == 6 and "1 of 7 sentences needs several roots" in caplog.messages[-1]


def test_decisions_in_misc_are_given_and_nothing_else():
    sentence = with_given(read("3 x Head=2|Deprel=y", "0 x NotHead=1", "2 x SpaceAfter=No")[0], "misc")
    assert sentence.tree.tolist() == [-1, 2, -1, -1] and sentence.labels == ["y", "_", "_"]
    assert [line.split("\t")[6] for line in sentence.lines[:3]] == ["2", "_", "_"]
    allowed = allowed_by([sentence], "misc")[0]
    assert not allowed[1, 2] and allowed[0, 2] and allowed[:, 1].tolist() == [False, False, True, False]


def test_the_log_says_what_is_given(caplog):
    caplog.set_level(logging.INFO, "nonproj")
    train([*toy.sentences(3), *read(*TWO_ROOTS)], small(parts="arc", treebank__root="multi"))
    assert "1 of 4 sentences are partial, 2 heads given; 0 sentences have no head" in caplog.text
    crossing = np.array([-1, 3, 4, -1, -1], np.int32)
    assert projectivity([dataclasses.replace(read(*TWO_ROOTS)[0], tree=crossing)]) == (0.5, True)
