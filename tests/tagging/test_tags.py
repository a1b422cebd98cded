"""Tags in the pipeline: predicted where they are missing, for parsing and for training."""

import json
from pathlib import Path

import numpy as np
import pytest
import toy
from command import enter
from further import blank
from judged import text_of
from models import prepared

from nonproj.cli.main import main
from nonproj.components.tagger import pack_tags, unpack_tags
from nonproj.components.trainer import train
from nonproj.errors import ModelError
from nonproj.io.copies import with_rows
from nonproj.kernels.kernel import NOTICE
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser

SMALL = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 16, "pruner.folds": 0, "labeler.epochs": 2}
SMALL |= toy.QUICK | {"training.epochs": 4, "confidence.share": 0.0}


def columns(text: str, chosen: slice) -> list[list[str]]:
    """Some columns of the words of a file."""
    return [line.split("\t")[chosen] for line in text.splitlines() if line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_of) -> Path:
    """A folder with a treebank, with and without tags, and models with and without a tagger."""
    folder, test = tmp_path_factory.mktemp("tags"), toy.sentences(15, seed=1)
    (folder / "test.conll").write_text(text_of(*test), encoding="utf-8")
    (folder / "untagged.conll").write_text(text_of(*blank(test)), encoding="utf-8")
    (folder / "tagger.nonproj").symlink_to(model_of("complete"))
    train(toy.sentences(40), Config().with_overrides(SMALL | {"tagger.epochs": 0})).save(folder / "plain.nonproj")
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch) -> Path:
    """An empty folder to work in, with links to these files."""
    return enter(tmp_path, folder, monkeypatch)


def parse(*words: str) -> str:
    """The output of a parse."""
    assert main(["parse", *words, "-o", "out.conll"]) == 0
    return Path("out.conll").read_text(encoding="utf-8")


def test_missing_tags_are_predicted(here, capsys):
    parsed, gold = parse("tagger.nonproj", "untagged.conll"), Path("test.conll").read_text(encoding="utf-8")
    assert columns(parsed, slice(0, 6)) == columns(gold, slice(0, 6))
    assert (np.array(columns(parsed, slice(6, 8))) == columns(gold, slice(6, 8))).all(axis=1).mean() > 0.9
    assert capsys.readouterr().err in ("", f"{NOTICE}\n")


def test_given_tags_are_left_alone_and_replaced_on_request(here):
    wrong = Path("test.conll").read_text(encoding="utf-8").replace("\tNOUN\tNOUN\t", "\tDET\tDET\t")
    Path("wrong.conll").write_text(wrong, encoding="utf-8")
    assert columns(parse("tagger.nonproj", "wrong.conll"), slice(0, 6)) == columns(wrong, slice(0, 6))
    gold = columns(Path("test.conll").read_text(encoding="utf-8"), slice(0, 6))
    assert columns(parse("tagger.nonproj", "wrong.conll", "--tag"), slice(0, 6)) == gold


UNTAGGED = [
    ("tagger.nonproj", ["--no-tag"], "without --no-tag, missing tags are predicted\n"),
    ("plain.nonproj", [], "the model has no tagger\n"),
]


@pytest.mark.parametrize(("model", "words", "remedy"), UNTAGGED)
def test_without_tagging_words_stay_untagged_and_a_warning_states_the_share(here, capsys, model, words, remedy):
    """Weights of tags that are never missing in training leave all arcs and wide gaps, which a longer search closes."""
    text = Path("untagged.conll").read_text(encoding="utf-8")
    parsed = parse(model, "untagged.conll", *words, "--search-limit", str(10**9))
    assert columns(parsed, slice(0, 6)) == columns(text, slice(0, 6))
    assert capsys.readouterr().err == "100 % of the words have no tag or one unseen in training; " + remedy


def test_a_model_is_evaluated_on_predicted_tags(here, capsys):
    figures = []
    for words in (["--tag"], [], ["--no-tag"]):
        assert main(["evaluate", "-m", "tagger.nonproj", "untagged.conll", "--json", *words]) == 0
        figures.append(json.loads(capsys.readouterr().out)["without_punctuation"]["uas"])
    assert figures[0] == figures[1] > figures[2]


def test_multiword_tokens_and_comments_stay_when_tags_change(here):
    rows = (word + "\t_" * 7 + "\tA=1\n" for word in ("1-2\thundser", "1\thund", "2\tser", "3\t."))
    text = "# text = hund ser\n" + "".join(rows) + "\n"
    Path("in.conllu").write_text(text, encoding="utf-8")
    parsed = parse("tagger.nonproj", "in.conllu").splitlines()
    assert parsed[:2] == text.splitlines()[:2] and parsed[2].endswith("\tA=1")
    assert [line.split("\t")[3:5] for line in parsed[2:5]] == [["NOUN"] * 2, ["VERB"] * 2, ["PUNCT"] * 2]


def test_jackknifed_tags_are_not_the_gold_ones():
    sentences = toy.sentences(20)
    odd = [row.copy() for row in sentences[0].rows]
    odd[0][3:5] = ["ODD", "ODD"]  # in one sentence only: no tagger of the other folds can know it
    sentences[0] = with_rows(sentences[0], odd)
    config = Config().with_overrides(SMALL | {"training.tags": "predicted"})
    predicted = prepared(sentences, config)[0].tagged
    assert "ODD" not in {row[3] for row in predicted[0].rows}
    gold, own = ([row[3] for s in each for row in s.rows] for each in (sentences, predicted))
    assert np.mean([a == b for a, b in zip(gold, own, strict=True)]) > 0.9


def test_tags_of_other_sentences_are_rejected():
    sentences = toy.sentences(3)
    packed = pack_tags(sentences)
    assert [s.rows for s in unpack_tags(packed, sentences)] == [s.rows for s in sentences]
    for array in (None, packed[:-4], np.concatenate([packed, packed]), np.frombuffer(b"\xff", np.uint8)):
        with pytest.raises(ModelError, match="it has the tags of other sentences"):
            unpack_tags(array, sentences)


def test_a_treebank_without_tags_has_no_tagger():
    sentences = blank(toy.sentences(20))
    model = train(sentences, Config().with_overrides(SMALL | {"training.tags": "predicted"}))
    assert "tagger" not in model.components
    assert Parser(model).loaded.analyzer is None
    assert next(Parser(model).parse_all(sentences))[1].unknown_tags == 0
