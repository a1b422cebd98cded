"""Training on related treebanks beside a treebank, in its conventions."""

import contextlib
import dataclasses
from collections import Counter

import numpy as np
import pytest
import toy
from further import Interrupt, accuracy, blank, renamed, small
from models import context_of

from nonproj.cli.main import main
from nonproj.components.trainer import train
from nonproj.errors import ConfigError
from nonproj.io.copies import with_rows
from nonproj.learning.conventions import translated, with_known_labels
from nonproj.model.model import Model
from nonproj.pipeline.parser import Parser

VALUES = {"Case": ("Nom", "Acc"), "Number": ("Sing", "Plur"), "Voice": ("Act", "Pass"), "Definite": ("Ind", "Def")}


def of(upos, xpos="_", **values):
    """A tag."""
    return upos, xpos, "|".join(f"{name}={value}" for name, value in sorted(values.items())) or "_"


def random_tag(rng, uposes, names):
    values = {name: str(rng.choice(VALUES[name])) for name in names if rng.random() < 0.5}
    return of(str(rng.choice(uposes)), str(rng.choice(["a", "b"])), **values)


def foreign(sentences):
    """The sentences as another treebank would annotate them: other XPOS, a feature and subtypes of its own."""
    found = []
    for s in sentences:
        rows = [
            [*row[:4], "x" + row[4], "Foreign=Yes" if row[3] == "NOUN" else "_", row[6], row[7] + ":sub", *row[8:]]
            for row in s.rows
        ]
        found.append(with_rows(s, rows))
    return found


def test_what_the_treebank_gives_nearly_all_words_with_a_tag_is_added_and_what_it_gives_none_goes():
    known = {
        of("V", "v", Voice="Act"),
        of("V", "v", Voice="Act", Number="Plur"),
        of("V", "v", Voice="Act", Number="Sing"),
    }
    tag = of("V", "w", Number="Plur", Definite="Ind")
    votes = Counter({of("V", "v", Voice="Act", Number="Plur"): 30, of("V", "v", Voice="Act", Number="Sing"): 20})
    assert translated(tag, votes, known) == of("V", "v", Number="Plur", Voice="Act")
    rare = Counter({of("V", "v", Voice="Act", Number="Sing"): 1})  # one guess says little
    assert translated(tag, rare, known) == of("V", "v", Number="Plur")


def test_a_value_that_the_tagger_would_have_to_guess_is_not_added():
    guesses = Counter({of("N", "n", Case="Nom"): 5, of("N", "n", Case="Acc"): 5})
    assert translated(of("N"), guesses, set(guesses))[2] == "_"


def test_words_without_tags_get_those_of_a_tagger(caplog):
    treebank, related = toy.sentences(20), blank(toy.sentences(20, seed=1))
    with caplog.at_level("WARNING", "nonproj"):
        data = context_of(treebank, small(), related=related).data
    known = {tuple(row[3:6]) for s in treebank for row in s.rows}
    assert {tuple(row[3:6]) for s in data.sentences[-20:] for row in s.rows} <= known
    warning = "the related treebanks' sentences have no XPOS; the tagger does not learn from them"
    assert caplog.messages.count(warning) == 1


def test_a_part_of_speech_that_the_treebank_lacks_becomes_what_its_tagger_gives_most_words():
    votes = Counter({of("N", "n", Case="Nom"): 3, of("X", "x"): 2})
    assert translated(of("SYM"), votes, set(votes)) == of("N", "n", Case="Nom")


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_the_treebank_lacks_is_in_a_translation(seed):
    rng = np.random.default_rng(seed)
    known = {random_tag(rng, ["N", "V"], ["Case", "Number"]) for _ in range(5)}
    listed = sorted(known)
    features = {feature for tag in known for feature in tag[2].split("|")} | {"_"}
    for _ in range(50):
        tag = random_tag(rng, ["N", "V", "SYM"], list(VALUES))
        votes = Counter({listed[rng.integers(len(listed))]: int(rng.integers(1, 20)) for _ in range(3)})
        upos, xpos, feats = translated(tag, votes, known)
        assert upos in {each[0] for each in known} and xpos in {each[1] for each in known}
        assert set(feats.split("|")) <= features
        assert translated((upos, xpos, feats), Counter({(upos, xpos, feats): 9}), {*known, (upos, xpos, feats)}) == (
            upos,
            xpos,
            feats,
        )


def test_labels_lose_subtypes_that_the_treebank_lacks():
    treebank = toy.sentences(10)
    known = {label for s in treebank for label in s.labels}
    found = with_known_labels(foreign(toy.sentences(10, seed=1)), treebank)
    assert [s.labels for s in found] == [s.labels for s in toy.sentences(10, seed=1)]
    odd = with_known_labels([with_rows(s, [[*row[:7], "odd", *row[8:]] for row in s.rows]) for s in treebank], treebank)
    assert {label for s in odd for label in s.labels} <= known


def test_words_that_only_the_related_treebank_has_are_learnt_and_its_conventions_are_not():
    treebank, related, test = toy.sentences(6), toy.sentences(150, seed=1), toy.sentences(40, seed=2)
    related, test = foreign(renamed(related, "x")), renamed(test, "x")
    alone, both = train(treebank, small()), train(treebank, small(), related=related)
    assert both.meta["related"] == {"sentences": 150, "words": sum(map(len, related))}
    assert "silver" not in both.meta and both.meta["sentences"] == 6
    assert accuracy(both, test) > 0.95 > accuracy(alone, test) + 0.03
    tagged = Parser(both, tags="all").tag(blank(test))
    for column in (3, 4, 5):
        values = {row[column] for s in tagged for row in s.rows}
        assert values <= {row[column] for s in treebank for row in s.rows}
    assert set(both.labels) == {label for s in treebank for label in s.labels}


def test_an_epoch_takes_the_whole_of_the_related_treebanks():
    treebank, related = toy.sentences(10), foreign(toy.sentences(30, seed=1))
    data = context_of(treebank, small(), related=related).data
    assert data.silver == data.silver_in_epoch == 30 and data.related
    assert all(data.in_epoch(epoch).all() for epoch in range(3))


def test_the_pruner_learns_from_related_treebanks_but_not_those_of_their_own_fold():
    treebank, related = toy.sentences(15), toy.sentences(15, seed=1)
    wrong = [dataclasses.replace(s, tree=np.maximum(np.arange(-1, len(s)), -1).astype(np.int32)) for s in related]
    one, other = (train(treebank, small(training__tags="gold"), related=each) for each in (related, wrong))
    assert (one.weights["pruner"] != other.weights["pruner"]).any()


def test_an_interrupted_training_goes_on_to_the_same_weights(tmp_path):
    treebank, related, config = toy.sentences(12), foreign(toy.sentences(50, seed=1)), small()
    whole = train(treebank, config, related=related)
    for number, loop in enumerate(("tagger 1, epoch 1", "labeler 1", "epoch 2, model 1")):
        path = tmp_path / str(number)
        with contextlib.suppress(KeyboardInterrupt):  # in the parser's epochs, the last complete one is the result
            train(treebank, config, related=related, checkpoint=path, progress=Interrupt(loop))
        resumed = train(treebank, config, related=related, checkpoint=path, resume=True)
        for name, table in whole.weights.items():
            np.testing.assert_array_equal(table, resumed.weights[name])


def test_automatically_parsed_sentences_exclude_related_treebanks():
    with pytest.raises(ConfigError, match="excludes related treebanks"):
        train(toy.sentences(5), small(), silver=toy.sentences(5), related=toy.sentences(5))


def test_sentences_that_are_tested_on_are_left_out(tmp_path, capsys):
    paths = {name: tmp_path / f"{name}.conllu" for name in ("train", "test", "related")}
    for path, sentences in zip(
        paths.values(),
        (toy.sentences(30), toy.sentences(6, seed=2), toy.sentences(20, seed=1) + toy.sentences(6, seed=2)),
        strict=True,
    ):
        path.write_text("".join(line for s in sentences for line in s.lines), encoding="utf-8")
    options = [
        f"--set={key}={value}" for key, value in (toy.QUICK | {"segmenter.epochs": 0, "confidence.share": 0}).items()
    ]
    arguments = [
        "train",
        str(paths["train"]),
        "--related",
        str(paths["related"]),
        "--test",
        str(paths["test"]),
        "-o",
        str(tmp_path / "m.nonproj"),
    ]
    assert main([*arguments, *options]) == 0
    assert "are left out: they are tested on" in capsys.readouterr().err
    assert main(["train", str(paths["train"]), "--related", str(paths["train"]), "-o", str(tmp_path / "n")]) == 2
    assert "is the treebank itself" in capsys.readouterr().err
    related = Model.load(tmp_path / "m.nonproj").meta["related"]
    assert related["sentences"] <= 20 and related["treebanks"] == "related.conllu (licence unknown)"
    assert main(["inspect", "--card", str(tmp_path / "m.nonproj")]) == 0
    assert "words of related treebanks: related.conllu (licence unknown)" in capsys.readouterr().out
