"""Training on related treebanks beside a treebank, in its conventions."""

import contextlib
import dataclasses
import random
import re
import statistics
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import staged
import toy
from further import SMALL, Interrupt, accuracy, blank, renamed, small, weights_of
from judged import random_tree, sentence_of, text_of
from models import prepared

from nonproj.cli.main import main
from nonproj.components import conventions
from nonproj.components.base import RunOptions
from nonproj.components.conventions import with_whole_trees
from nonproj.components.parser import ParserComponent
from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.io.copies import with_rows
from nonproj.learning.conventions import TagConventions, with_known_labels
from nonproj.learning.corpus import RELATED, Auxiliary
from nonproj.learning.related_gain import RelatedGain, compare
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser
from nonproj.types import Sentence

VALUES = {"Case": ("Nom", "Acc"), "Number": ("Sing", "Plur"), "Voice": ("Act", "Pass"), "Definite": ("Ind", "Def")}


def of(upos, xpos="_", **values):
    """A tag."""
    return upos, xpos, "|".join(f"{name}={value}" for name, value in sorted(values.items())) or "_"


def random_tag(rng, uposes, names):
    values = {name: str(rng.choice(VALUES[name])) for name in names if rng.random() < 0.5}
    return of(str(rng.choice(uposes)), str(rng.choice(["a", "b"])), **values)


def learn(treebank, related, config=None, **run):
    """A model that learns from related sentences, too."""
    auxiliary = Auxiliary(related, RELATED)
    return train(treebank, config or small(), auxiliary=auxiliary, run=RunOptions(**run))


def before_parser(treebank, related, **changes):
    """The sentences that the parser learns from, with the metadata and the pruner of its model."""
    return prepared(treebank, small(**changes), Auxiliary(related, RELATED))


def stop(*_):
    """Ctrl-C."""
    raise KeyboardInterrupt


def foreign(sentences):
    """The sentences as another treebank would annotate them: other XPOS, a feature and subtypes of its own."""

    def other(row):
        feats = "Foreign=Yes" if row[3] == "NOUN" else "_"
        return [*row[:4], "x" + row[4], feats, row[6], row[7] + ":sub", *row[8:]]

    return [with_rows(s, [*map(other, s.rows)]) for s in sentences]


def translated(tag, votes, known):
    """The tag in a treebank that has each of the known ones once."""
    return TagConventions(Counter(dict.fromkeys(known, 1))).translated(tag, Counter(votes))


ODD, BARE, ACTIVE = of("V", "w", Number="Plur", Definite="Ind"), of("V", "v", Number="Plur"), of("V", "v", Voice="Act")
SINGULAR, PLURAL = (of("V", "v", Voice="Act", Number=value) for value in ("Sing", "Plur"))
NOM, ACC, OTHER, VERB = of("N", "n", Case="Nom"), of("N", "n", Case="Acc"), of("X", "x"), of("V", "v")
OLD, FLAT = ("N", "n", "num=sg|gen=c"), ("A", "a", "sg|def")


TRANSLATIONS = [
    pytest.param(ODD, {PLURAL: 30, SINGULAR: 20}, (PLURAL, SINGULAR, ACTIVE), PLURAL, id="what nearly all have"),
    pytest.param(ODD, {SINGULAR: 1}, (PLURAL, SINGULAR, ACTIVE), BARE, id="one guess says little"),
    pytest.param(of("N"), {NOM: 5, ACC: 5}, (NOM, ACC), of("N", "n"), id="a value that would have to be guessed"),
    pytest.param(of("SYM"), {NOM: 3, OTHER: 2}, (NOM, OTHER), NOM, id="the part of speech of most words"),
    pytest.param(of("V", "x"), {of("N", "n"): 9}, (of("N", "n"), VERB), VERB, id="the usual XPOS without a vote"),
    pytest.param(("N", "x", "gen=c|num=sg"), {OLD: 9}, (OLD, FLAT), OLD, id="features in the treebank's order"),
    pytest.param(("A", "x", "def|sg|odd"), {FLAT: 9}, (OLD, FLAT), FLAT, id="features without names"),
]


@pytest.mark.parametrize(("tag", "votes", "known", "expected"), TRANSLATIONS)
def test_tags_are_translated(tag, votes, known, expected):
    assert translated(tag, votes, known) == expected


def test_words_without_tags_get_those_of_a_tagger(caplog):
    treebank, related = toy.sentences(20), blank(toy.sentences(20, seed=1))
    found = {tuple(row[3:6]) for s in before_parser(treebank, related)[0].auxiliary.sentences for row in s.rows}
    assert found <= {tuple(row[3:6]) for s in treebank for row in s.rows}
    warning = "the related treebanks' sentences have no XPOS; the tagger does not learn from them"
    assert caplog.messages.count(warning) == 1


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_the_treebank_lacks_is_in_a_translation(seed):
    rng = np.random.default_rng(seed)
    known = sorted({random_tag(rng, ["N", "V"], ["Case", "Number"]) for _ in range(5)})
    for _ in range(50):
        tag = random_tag(rng, ["N", "V", "SYM"], list(VALUES))
        votes = {known[rng.integers(len(known))]: int(rng.integers(1, 20)) for _ in range(3)}
        upos, xpos, feats = found = translated(tag, votes, known)
        assert (upos, xpos) in {each[:2] for each in known}
        assert set(feats.split("|")) <= {f for each in known if each[0] == upos for f in each[2].split("|")} | {"_"}
        assert translated(found, {found: 9}, [*known, found]) == found


REPLACED_LABELS = [
    (["root", "_"], "odd", "root"),
    (["root", "_"], "_", "_"),
    (["obl:mod", "root", "root"], "obl:arg", "obl:mod"),
    (["obl:mod", "obl:mod", "obl", "root"], "obl:arg", "obl"),
]


@pytest.mark.parametrize(("known", "label", "expected"), REPLACED_LABELS)
def test_an_unknown_label_becomes_the_most_frequent_one_of_its_kind_that_is_known(known, label, expected):
    """Labels that are not given, as in partial trees, are none."""

    def word(label):
        row = ["1", "Regn", "_", "N", "N", "_", "_" if label == "_" else "0", label, "_", "_"]
        return Sentence([row], np.array([-1, -1 if label == "_" else 0]))

    assert with_known_labels([word(label)], [word(each) for each in known])[0].labels == [expected]


def test_words_that_only_the_related_treebank_has_are_learnt_and_its_conventions_are_not():
    treebank, related, test = toy.sentences(6), toy.sentences(70, seed=1), toy.sentences(30, seed=2)
    related, test = foreign(renamed(related, "x")), renamed(test, "x")
    alone, both = train(treebank, small()), learn(treebank, related)
    assert both.meta["related"] == {"sentences": 70, "words": sum(map(len, related))}
    assert "silver" not in both.meta and both.meta["sentences"] == 6
    assert accuracy(both, test) > 0.95 > accuracy(alone, test) + 0.03
    tagged = staged.tagged(Parser(both, tags="all"), blank(test))
    for column in (3, 4, 5):
        values, known = ({row[column] for s in each for row in s.rows} for each in (tagged, treebank))
        assert values <= known
    assert set(both.labels) == {label for s in treebank for label in s.labels}


def rotated(sentences):
    """The sentences in another convention: each label stands for another one."""
    values = sorted({label for s in sentences for label in s.labels})
    other = dict(zip(values, [*values[1:], values[0]], strict=True))
    return [with_rows(s, [[*row[:7], other[row[7]], *row[8:]] for row in s.rows]) for s in sentences]


@pytest.fixture(scope="module")
def other():
    """A treebank, a related one in another convention, and a model that has learnt from both."""
    treebank, related = toy.sentences(8), rotated(toy.sentences(40, seed=1))
    return treebank, related, learn(treebank, related)


def labelled(model, sentences):
    """The share of labels that are right, of all words."""
    parses = zip(sentences, Parser(model, tags="all").parse_all(blank(sentences)), strict=True)
    return np.mean(np.concatenate([np.array(parse.labels) == s.labels for s, (_, parse) in parses]))


def test_labels_of_another_convention_are_not_learnt_but_their_trees_are(other, monkeypatch):
    (treebank, related, model), test = other, toy.sentences(20, seed=2)
    (_, same), (corpus, _) = (before_parser(treebank, each) for each in (toy.sentences(40, seed=1), related))
    found = model.meta["labels_together"]
    assert same.meta["labels_together"]["helps"] and not found["helps"] and found["together"] < found["alone"]
    assert all((s.tree[1:] >= 0).all() and set(s.labels) == {"_"} for s in corpus.auxiliary.sentences)
    monkeypatch.setattr(conventions, "compare_labels", lambda *_: None)
    assert labelled(model, test) > 0.95 > labelled(learn(treebank, related), test)


def chains(sentences):
    """The sentences with trees in which each word depends on the one before it."""
    found = [with_rows(s, [[*row[:6], str(i), *row[7:]] for i, row in enumerate(s.rows)]) for s in sentences]
    return [dataclasses.replace(s, tree=np.arange(-1, len(s), dtype=np.int32)) for s in found]


def test_trees_of_another_convention_are_not_learnt(monkeypatch):
    """Neither heads nor labels are, but tags may be."""
    treebank, related, test = toy.sentences(20), chains(toy.sentences(40, seed=1)), toy.sentences(20, seed=2)
    alone, found = train(treebank, small()), learn(treebank, related)
    heads = found.meta["heads_together"]
    assert heads["together"] < heads["alone"] and not heads["helps"] and "labels_together" not in found.meta
    auxiliary = before_parser(treebank, related)[0].auxiliary.sentences
    assert len(auxiliary) == 40 and not any((s.tree[1:] >= 0).any() for s in auxiliary)
    assert {label for s in auxiliary for label in s.labels} == {"_"}
    monkeypatch.setattr(ParserComponent, "compare", lambda *_: RelatedGain(0.0, 1.0, 0.0))
    learnt = learn(treebank, related)
    assert accuracy(found, test) >= accuracy(alone, test) - 0.01 > accuracy(learnt, test) + 0.1


def test_heads_that_the_related_sentences_show_are_right():
    """Parsers that have learnt from copies of the held-out sentences know their random trees, others do not."""
    chance = random.Random(0)
    forms = ([f"w{number}.{i}" for i in range(8)] for number in range(12))
    treebank = [sentence_of(random_tree(chance, 8), ["dep"] * 8, each) for each in forms]
    corpus, context = prepared(treebank, small())
    found = ParserComponent.compare(*with_whole_trees(corpus.with_auxiliary(treebank), context))
    assert found.alone < 0.6 < 0.9 < found.together


def test_tags_at_random_are_not_learnt():
    treebank, related = toy.sentences(5), toy.sentences(40, seed=1)
    rng, known = np.random.default_rng(0), [row[3:6] for s in treebank for row in s.rows]
    wrong = [with_rows(s, [[*row[:3], *known[rng.integers(len(known))], *row[6:]] for row in s.rows]) for s in related]
    corpora = (before_parser(treebank, each)[0] for each in (related, wrong))
    assert [corpus.auxiliary.is_for_tagger for corpus in corpora] == [True, False]


@pytest.mark.parametrize("seed", range(10))
def test_together_needs_a_gain_of_more_than_its_standard_error(seed):
    """The error is that of the mean of the sentences' gains, if all are as long as each other."""
    rng = np.random.default_rng(seed)
    alone, together = rng.integers(0, 11, (2, 30))
    found = compare("heads", np.full(30, 10), alone, together)
    gains = [(b - a) / 10 for a, b in zip(alone.tolist(), together.tolist(), strict=True)]
    assert found.error == pytest.approx(statistics.stdev(gains) / 30**0.5)
    assert found.helps == (statistics.mean(gains) > found.error)
    assert not compare("heads", np.full(30, 10), alone, alone).helps


def test_the_pruner_learns_from_the_whole_of_related_treebanks():
    treebank, related = toy.sentences(15), foreign(toy.sentences(30, seed=1))
    (data, one), (_, other) = (before_parser(treebank, each) for each in (related, chains(related)))
    assert (one.fitted["pruner"].weights != other.fitted["pruner"].weights).any()
    assert len(data.auxiliary.sentences) == data.auxiliary.sentences_per_epoch == 30 and data.auxiliary.is_related
    assert all(data.in_epoch(epoch).all() for epoch in range(3))


@pytest.mark.parametrize("loop", [pytest.param("tagger 1, epoch 1", marks=pytest.mark.thorough), "epoch 2"])
def test_an_interrupted_training_goes_on_to_the_same_weights(tmp_path, other, loop):
    """Without the labels of the related treebank, which are not learnt."""
    treebank, related, whole = other
    with contextlib.suppress(KeyboardInterrupt):  # in the parser's epochs, the last complete one is the result
        learn(treebank, related, checkpoint=tmp_path / "c", progress=Interrupt(loop))
    resumed = learn(treebank, related, checkpoint=tmp_path / "c", resume=True)
    assert resumed.meta["labels_together"] == whole.meta["labels_together"] and weights_of(resumed) == weights_of(whole)


def test_a_training_that_ends_after_the_conventions_goes_on_from_their_tags(tmp_path, monkeypatch):
    treebank, related = toy.sentences(12), foreign(toy.sentences(30, seed=1))
    whole, path = learn(treebank, related), tmp_path / "c"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("nonproj.components.tagger.TaggerComponent.extend", stop)
        learn(treebank, related, checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr("nonproj.components.conventions.with_conventions", stop)  # it is not done again
        assert weights_of(learn(treebank, related, checkpoint=path, resume=True)) == weights_of(whole)
    saved = Model.load(path, mmap=False)
    saved.weights["related_tags"] = saved.weights["related_tags"][:-5]
    saved.save(path)
    with pytest.raises(ModelError, match="tags of other sentences"):
        learn(treebank, related, checkpoint=path, resume=True)


@pytest.mark.parametrize("tags", ["gold", "both"])
def test_words_without_tags_beside_tagged_ones_are_tagged_for_the_parser(tags):
    treebank, related = toy.sentences(20), toy.sentences(20, seed=1)
    half = [with_rows(s, [[*s.rows[0][:2], *"____", *s.rows[0][6:]], *s.rows[1:]]) for s in related]
    data, _ = before_parser(treebank, half, training__tags=tags)
    assert {row[3] for s in data.sentences for row in s.rows} == {row[3] for s in treebank for row in s.rows}


def test_without_a_tagger_tags_stay(caplog):
    found = learn(toy.sentences(10), toy.sentences(10, seed=1), small(tagger__epochs=0, training__epochs=1)).meta
    assert found["related"]["sentences"] == 10
    assert "no tagger is trained, so the tags of related treebanks stay as they are" in caplog.messages
    assert "tags_together" not in found and 0 < found["heads_together"]["alone"] <= 1


def test_automatically_parsed_sentences_exclude_related_treebanks(tmp_path, capsys):
    options = "--related", "r.conllu", "--set", "treebank.silver=s.conllu", "-o", str(tmp_path / "m.nonproj")
    assert main(["train", "t.conllu", *options]) == 2
    assert "treebank.silver: excludes related treebanks" in capsys.readouterr().err


def test_sentences_that_are_tested_on_are_left_out(tmp_path, capsys):
    train, test, related = (str(tmp_path / f"{name}.conllu") for name in ("train", "test", "related"))
    tested = toy.sentences(6, seed=2)
    for path, given in ((train, toy.sentences(30)), (test, tested), (related, toy.sentences(20, seed=1) + tested)):
        Path(path).write_text(text_of(*given), encoding="utf-8")
    changes = SMALL | {"training.epochs": 1, "tagger.epochs": 1}
    arguments = [f"--set={key}={value}" for key, value in changes.items()]
    model = str(tmp_path / "m.nonproj")
    assert main(["train", train, "--related", related, "--test", test, *arguments, "-o", model, "-v"]) == 0
    assert "are left out: they are in other files" in capsys.readouterr().err
    assert main(["train", train, "--related", train, "-o", str(tmp_path / "n")]) == 2
    assert "is the treebank itself" in capsys.readouterr().err
    found, others = Model.load(model).meta["related"], [sentence.forms for sentence in toy.sentences(30) + tested]
    assert found["sentences"] == sum(s.forms not in others for s in toy.sentences(20, seed=1))
    assert found["treebanks"] == "related.conllu (licence unknown)"
    assert main(["inspect", "--card", model]) == 0
    card = capsys.readouterr().out
    assert "words of related treebanks: related.conllu (licence unknown)" in card
    share = r"\d+\.\d\d %"
    assert re.search(rf"\| tags of these \| (not )?learnt: of held-out words {share} are right alone, {share} ", card)
